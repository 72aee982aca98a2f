"""The diff of a finished run: by word, and hunk by hunk with what each does, to be ticked and decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from ...judges import PromptError, WorkspaceError
from ...optimize.hunks import Hunk
from ...optimize.word_diff import Piece, diff_prompts, diff_words
from ..actions.run_result import Finding, finding
from .app_state import AppState
from .evidence import gate_sentences, looks_at


@dataclass(frozen=True, slots=True, kw_only=True)
class HunkLine:
    """A hunk with its words and, where the run measured it, its effect."""

    hunk: Hunk
    pieces: tuple[Piece, ...]
    effect: Mapping[str, Any] | None  # Any: JSON
    ticked: bool
    """Whether it was taken; before a decision, whether to propose it: all but those that were shown to harm."""


def diff(desk: AppState, request: Request) -> Response:
    """Show what the run wants to change, and the forms to decide about it."""
    view = desk.view(request.path_params["run"])
    found = finding(desk.place, view.info.run_id)
    hunks, why = hunk_lines(found)
    return HTMLResponse(
        desk.render(
            "diff.html",
            run=view,
            last=view.last,
            found=found,
            parts=diff_prompts(found.before, found.after) if found.after else (),
            hunks=hunks,
            unsplit=why,
            sentences=gate_sentences(found.decision),
            looks=looks_at(desk.place, view),
        )
    )


def hunk_lines(found: Finding) -> tuple[list[HunkLine], str]:
    """Return the hunks numbered as the run numbered them, or why there are none."""
    try:
        split = found.split()
    except (PromptError, WorkspaceError) as error:
        return [], str(error)
    if split is None:
        return [], "no candidate beat the prompt on validation"
    effects = {hunk["number"]: hunk for hunk in (found.measured or {"hunks": ()})["hunks"]}
    lines = [
        HunkLine(
            hunk=hunk,
            pieces=diff_words("\n".join(hunk.old), "\n".join(hunk.new)),
            effect=effects.get(hunk.number),
            ticked=_ticked(hunk.number, found, effects.get(hunk.number)),
        )
        for hunk in split.hunks
    ]
    return lines, ""


def _ticked(number: int, found: Finding, effect: Mapping[str, Any] | None) -> bool:  # Any: JSON
    if not found.verdicts:
        return effect is None or effect["mark"] != "harms"
    last = found.verdicts[-1]
    return last["verb"] == "accepted" and number in last.get("hunks", (number,))
