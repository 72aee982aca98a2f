"""The hunks of a finished run's diff, each with its words, to be ticked and commented on."""

from __future__ import annotations

from dataclasses import dataclass

from ...judges import PromptError
from ...optimize.hunks import Hunk
from ...optimize.word_diff import Piece, diff_cases, diff_words
from ..actions.run_summary import RunSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class HunkLine:
    """A hunk with its words."""

    hunk: Hunk
    pieces: tuple[Piece, ...]
    ticked: bool
    """Whether it was taken; before a decision each of them is."""


def hunk_lines(run: RunSummary) -> tuple[list[HunkLine], str]:
    """Return the hunks, or why there are none."""
    try:
        diff = run.diff()
    except PromptError as error:
        return [], str(error)
    if diff is None:
        return [], "there is no new prompt"

    def is_ticked(number: int) -> bool:
        if not run.reviews:
            return True
        last = run.reviews[-1]
        return last.verb == "accepted" and (last.hunks is None or number in last.hunks)

    lines: list[HunkLine] = []
    for hunk in diff.hunks:
        lay = diff_cases if hunk.part == "cases" else diff_words
        pieces = lay("\n".join(hunk.old), "\n".join(hunk.new))
        lines.append(HunkLine(hunk=hunk, pieces=pieces, ticked=is_ticked(hunk.number)))
    return lines, ""
