"""What a person wanted and how it was read, at the head of whatever is printed about it."""

from __future__ import annotations

from ...optimize import Objective
from ...optimize.events import StatedObjective
from ..terminal import inline, say


def say_objective(objective: Objective | StatedObjective) -> None:
    """Print the person's words, the reading in one sentence, and what was assumed or left out."""
    read_as = objective.read_as if isinstance(objective, StatedObjective) else objective.describe()
    if objective.text.strip():
        say(f"  objective: {inline(objective.text)}")
    say(f"  read as:   {inline(read_as)}")
    for note in objective.notes:
        say(f"  note: {inline(note)}")
