"""How far a judge's figures can be trusted, as lines and tables for a terminal."""

from __future__ import annotations

from pathlib import Path

from ...judges import Estimate
from ...judges.reliability import LabelAudit, Remeasured, Retest
from ..actions.reliability import ReliabilityReport
from ..terminal import inline, say, say_table
from .numbers import number

SHOWN = 8
"""Likely label errors that are printed; the file has more."""
WIDTH = 60
"""Characters of a rationale that are printed."""


def say_reliability(found: ReliabilityReport, *, audit: Path | None = None) -> None:
    """Print what was found, the warning about the noise last but for the list."""
    lines: list[str] = []
    if found.retest is not None:
        lines += _repeats(found.retest, found.metric)
    if found.humans is not None:
        lines.append(f"people: {found.humans.sentence()}")
        lines.append(
            f"  Cohen's kappa {_said(found.humans.kappa)}; Krippendorff's alpha"
            f" {_said(found.humans.alpha)}"
        )
        if noise := found.humans.noise(found.metric):
            lines.append(
                f"  {noise.basis}: {noise.size:.3f} between the kindest and the hardest of them"
            )
    if found.detectable is not None and found.warning is None:
        lines.append(
            f"a gain below {found.detectable.size:.3f} would not show: {found.detectable.basis}"
        )
    if found.warning is not None:
        lines.append(found.warning)
    if lines:
        say("\nHow far to trust it")
    for line in lines:
        say(f"  {line}")
    if found.audited is not None:
        _say_audited(found.audited)
    if found.audit is not None:
        _say_audit(found.audit, audit)


def _repeats(found: Retest, metric: str) -> list[str]:
    spread = found.spread.get(metric)
    said = [
        f"repeats: over {found.rounds} rounds the decision never changed on"
        f" {_said(found.self_agreement)} of {found.n:,} rows (kappa {_said(found.kappa)}, same"
        f" grade {_said(found.grade_agreement)})"
    ]
    if spread is not None:
        values = ", ".join(number(value) for value in spread.values)
        said.append(f"  {metric} of the rounds: {values} (standard deviation {_said(spread.sd)})")
    return said


def _said(estimate: Estimate) -> str:
    if estimate.value is None:
        return f"n/a ({estimate.reason})"
    spread = "" if estimate.low is None else f" [{estimate.low:.3f}, {estimate.high:.3f}]"
    return f"{estimate.value:.3f}{spread}"


def _say_audited(found: Remeasured) -> None:
    marks = ", ".join(f"{n} {mark}" for mark, n in found.marks.items())
    say(f"\nWith the audited labels ({marks})")
    lines = []
    for name in ("precision", "recall", "f1", "kappa"):
        before, after = found.before.metrics.get(name), found.after.metrics.get(name)
        if before is not None and after is not None:
            lines.append((name, _said(before), _said(after)))
    say_table(("metric", "before", "after"), lines)
    for note in found.notes:
        say(f"  note: {note}")


def _say_audit(found: LabelAudit, path: Path | None) -> None:
    say(
        f"\nLikely label errors: {found.found} of {found.n:,} labels are contradicted, the most"
        " confident first"
    )
    told = any(suspect.verdict.rationale for suspect in found.suspects)
    head = ("row", *(("what the judge says",) if told else ()), "label", "verdict", "confidence")
    lines = []
    for suspect in found.suspects[:SHOWN]:
        reason = inline(suspect.verdict.rationale)
        cut = reason if len(reason) <= WIDTH else f"{reason[: WIDTH - 1]}…"
        sides = (
            number(suspect.row.label, 1),
            str(int(suspect.verdict.positive)),
            number(suspect.confidence, 2),
        )
        lines.append((suspect.row.id, *((cut,) if told else ()), *sides))
    say_table(head, lines, left=1 + told)
    for note in found.notes:
        say(f"  note: {note}")
    if path is not None:
        say(
            f"  {len(found.suspects)} rows written to {path}: mark them, and read them back with"
            " --audited"
        )
