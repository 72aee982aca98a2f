"""Mark a slice's errors: each is shown in two columns and asked about, and the marks are written as
JSONL.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path

from ..judges import OutputScale, write_beside
from ..judges.reliability import Finding, Mark, Suspect
from .audit import SliceAudit

SHOWN = 700
"""Characters of an input or rationale that are shown."""
KEYS: Mapping[str, Mark] = {"e": "real error", "w": "wrong label", "u": "unclear"}
QUESTION = "real (e)rror, (w)rong label, (u)nclear, Enter for later, (q)uit: "
_COLUMN = 53


def show_error(suspect: Suspect, labels: OutputScale) -> str:
    """Lay out one error in two columns: what the judge read, and what people and the judge said of
    it.

    Args:
        suspect: The error.
        labels: The scale of people's labels.
    """
    row, verdict = suspect.row, suspect.verdict
    sure = "" if suspect.confidence is None else f", confidence {suspect.confidence:.2f}"
    left: list[str] = []
    for name, text in row.inputs.items():
        left += [*_wrapped(f"{name}: {text}"), ""]
    right = [
        f"people: {row.label:g} ({_word(suspect.labelled)})",
        f"judge:  {verdict.score:g} ({_word(verdict.positive)}){sure}",
        "",
        *_wrapped(verdict.rationale or "the judge gave no reason"),
    ]
    group = f", group {row.group}" if row.group else ""
    lines = [f"row {row.id}{group}; labels are {labels.describe()}"]
    for a, b in zip_longest(left[:-1], right, fillvalue=""):
        lines.append(f"  {a:<{_COLUMN}}  {b}".rstrip())
    return "\n".join(lines)


def annotate_errors(
    audit: SliceAudit,
    labels: OutputScale,
    *,
    ask: Callable[[str], str],
    show: Callable[[str], None],
) -> Iterator[tuple[str, Finding]]:
    """Show the errors one by one, ask what each is, and yield each answer as it comes, with the
    row's id.

    Args:
        audit: What to mark.
        labels: The scale of people's labels; on more than two levels the right label is asked for.
        ask: Puts a question and returns the answer.
        show: Shows text.
    """
    listed = audit.errors.suspects
    for at, suspect in enumerate(listed, 1):
        show(f"\n[{at} of {len(listed)}] {show_error(suspect, labels)}")
        answer = _answer(ask, show)
        if answer == "q":
            return
        if answer:
            mark = KEYS[answer]
            right = _right_label(ask, show, labels) if mark == "wrong label" else None
            yield suspect.row.id, Finding(mark=mark, right_label=right)


def _answer(ask: Callable[[str], str], show: Callable[[str], None]) -> str:
    """Ask what an error is until the answer is a key, or a mark written out."""
    keys = {mark: key for key, mark in KEYS.items()}
    while True:
        answer = ask(QUESTION).strip().casefold()
        key = keys.get(answer, answer)
        if key in ("", "q", *KEYS):
            return key
        show(f"{answer[:40]!r} is none of these")


def _right_label(
    ask: Callable[[str], str], show: Callable[[str], None], labels: OutputScale
) -> float | None:
    """Ask for the label the row should have; on two classes it is the other one."""
    if labels.kind == "binary":
        return None
    while True:
        answer = ask(f"the right label ({labels.describe()}): ").strip()
        try:
            right = float(answer)
        except ValueError:
            right = float("nan")
        if labels.contains(right):
            return right
        show(f"{answer[:40]!r} is not on the scale")


def write_marks(audit: SliceAudit, findings: Mapping[str, Finding], path: Path) -> None:
    """Write the errors as JSONL with the marks made so far; `read_audit` reads them back."""
    lines = []
    for suspect in audit.errors.suspects:
        line = suspect.to_json()
        if finding := findings.get(suspect.row.id):
            line |= {"mark": finding.mark, "right_label": finding.right_label}
        lines.append(json.dumps(line, ensure_ascii=False))
    write_beside(path, "".join(f"{line}\n" for line in lines))


def _wrapped(text: str) -> list[str]:
    """Break a text into lines of a column, cut where it is long."""
    flat = " ".join(text.split())
    if len(flat) > SHOWN:
        flat = f"{flat[:SHOWN]} … ({len(flat) - SHOWN:,} more characters)"
    return textwrap.wrap(flat, _COLUMN) or [""]


def _word(positive: bool) -> str:
    return "positive" if positive else "negative"
