"""The gate's answer for people."""

from __future__ import annotations

from ..actions.bench import describe_spending
from ..actions.decide import Gated
from .printing import say_template


def say_gated(gated: Gated) -> None:
    """Print an answer of the gate."""
    answer = gated.answer
    notes = [*answer.notes, *(describe_spending(gated.stats) if gated.stats else ())]
    if gated.repeated:
        notes.append(
            f"the same question was answered in run {gated.run_id}; this is that answer, and no"
            " look is spent"
        )
    say_template("gated", gated=gated, answer=answer, decision=answer.decision, notes=notes)
