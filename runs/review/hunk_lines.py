"""The hunks of a finished run's diff, each with its words and what it does, to be ticked and
commented on.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...judges import PromptError, WorkspaceError
from ...optimize.events import Json
from ...optimize.hunks import Hunk
from ...optimize.word_diff import Piece, diff_words
from ..actions.run_summary import RunSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class HunkLine:
    """A hunk with its words and, where the run measured it, its effect."""

    hunk: Hunk
    pieces: tuple[Piece, ...]
    effect: Json | None
    ticked: bool
    """Whether it was taken; before a decision, whether to propose it: all but those that were shown
    to harm.
    """


def hunk_lines(run: RunSummary) -> tuple[list[HunkLine], str]:
    """Return the hunks numbered as the run numbered them, or why there are none."""
    try:
        diff = run.diff()
    except (PromptError, WorkspaceError) as error:
        return [], str(error)
    if diff is None:
        return [], "there is no new prompt"
    effects = {hunk["number"]: hunk for hunk in run.hunks.hunks} if run.hunks else {}

    def is_ticked(number: int) -> bool:
        if not run.reviews:
            return number not in effects or effects[number]["mark"] != "harms"
        last = run.reviews[-1]
        return last.verb == "accepted" and (last.hunks is None or number in last.hunks)

    lines = [
        HunkLine(
            hunk=hunk,
            pieces=diff_words("\n".join(hunk.old), "\n".join(hunk.new)),
            effect=effects.get(hunk.number),
            ticked=is_ticked(hunk.number),
        )
        for hunk in diff.hunks
    ]
    return lines, ""
