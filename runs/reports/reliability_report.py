"""How far a judge's figures can be trusted, as lines and tables for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .numbers import BRIEF, number
from .printing import say_template

if TYPE_CHECKING:
    from pathlib import Path

    from ...judges import Estimate
    from ...judges.reliability import LabelAudit, Remeasured
    from ..actions.check_reliability import ReliabilityReport

SHOWN = 8
"""Likely label errors that are printed; the file has more."""
WIDTH = 60
"""Characters of a rationale that are printed."""


def say_reliability(report: ReliabilityReport, *, audit: Path | None = None) -> None:
    """Print what was found, the list last."""
    spread = report.retest.spread.get(report.metric) if report.retest else None
    say_template(
        "reliability",
        found=report,
        retest=report.retest,
        spread=spread,
        rounds=", ".join(number(value) for value in spread.values) if spread else "",
        humans=report.humans,
        figure=_figure,
        audited=_audited_lines(report.audited) if report.audited else (),
        suspects=_suspect_lines(report.audit) if report.audit else (),
        has_reasons=_has_reasons(report.audit) if report.audit else False,
        path=audit,
    )


def _figure(estimate: Estimate) -> str:
    if estimate.value is None:
        return f"n/a ({estimate.reason})"
    spread = "" if estimate.low is None else f" [{estimate.low:.3f}, {estimate.high:.3f}]"
    return f"{estimate.value:.3f}{spread}"


def _audited_lines(audited: Remeasured) -> list[tuple[str, str, str]]:
    lines: list[tuple[str, str, str]] = []
    for name in BRIEF:
        before, after = audited.before.metrics.get(name), audited.after.metrics.get(name)
        if before is not None and after is not None:
            lines.append((name, _figure(before), _figure(after)))
    return lines


def _has_reasons(audit: LabelAudit) -> bool:
    return any(suspect.verdict.rationale for suspect in audit.suspects)


def _suspect_lines(audit: LabelAudit) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = []
    for suspect in audit.suspects[:SHOWN]:
        reason, verdict = suspect.verdict.rationale, str(int(suspect.verdict.positive))
        cut = reason if len(reason) <= WIDTH else f"{reason[: WIDTH - 1]}…"
        sides = (number(suspect.row.label, 1), verdict, number(suspect.confidence, 2))
        lines.append((suspect.row.id, *((cut,) if _has_reasons(audit) else ()), *sides))
    return lines
