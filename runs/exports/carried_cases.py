"""The decided cases of a judge in its export: the bank as a file, and how the reader beside it
shows them.
"""

from __future__ import annotations

from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

from ...judges import WAYS, JudgePrompt, bank_path
from .target import Refused

CHOOSER = "plain_cases.py"
"""What chooses and writes the cases, of which an export carries the source."""
_OURS = {
    "near": "shows each row those that are most like it, and never a near-duplicate of it",
    "random": "draws them anew for each row, and never a near-duplicate of it",
    "fixed": "leaves out those that are near-duplicates of it",
}


def require_carried(prompt: JudgePrompt) -> None:
    """Refuse a judge whose cases nothing but an embeddings model can choose.

    Raises:
        Refused: They are chosen by one.
    """
    if prompt.cases is not None and prompt.cases.by not in WAYS:
        raise Refused(
            f"{prompt.name!r} chooses its decided cases by the embeddings model"
            f" {prompt.cases.by!r}, which an export cannot ask",
            hint="export a version whose cases are chosen by near, fixed or random",
        )


def bank_files(prompt: JudgePrompt) -> dict[str, str]:
    """Return the bank of a judge as a file of its export, which its YAML and its reader name;
    nothing of a judge without cases.
    """
    if prompt.cases is None:
        return {}
    bank = prompt.cases.bank
    return {bank_path(Path(), bank.version).name: bank.to_text()}


def chooser_files(prompt: JudgePrompt) -> dict[str, str]:
    """Return the same and the file that chooses of them, for a reader in Python."""
    if prompt.cases is None:
        return {}
    text = (files("judgewright.judges") / CHOOSER).read_text(encoding="utf-8")
    return {CHOOSER: text, **bank_files(prompt)}


def cases_body(prompt: JudgePrompt) -> dict[str, Any]:  # Any: JSON
    """Return what `judge.json` says of the cases, as `read_choice` reads it."""
    if prompt.cases is None:
        return {}
    shown, (bank,) = prompt.shown_cases, bank_files(prompt)
    showing = asdict(shown.showing)
    del showing["verdicts"], showing["decisions"]  # which a label has, and not each case
    labels = {case.label: shown.said_of(case) for case in prompt.cases.bank.cases}
    return {"cases": {"bank": bank, "showing": showing, "labels": labels}}


def same_cases_note(prompt: JudgePrompt, where: str) -> tuple[str, ...]:
    """Say what a prompt that is one text for all rows makes of a judge's cases.

    Args:
        prompt: The judge.
        where: Where that is.
    """
    if prompt.cases is None:
        return ()
    return (
        f"The same decided cases stand before every row {where}, the first ones of the bank;"
        f" Judgewright {_OURS[prompt.cases.by]}.",
    )
