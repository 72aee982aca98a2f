"""Check how reliable a judge's figures are: repeats, annotators, the least visible change, likely
label errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...judges import reliability
from ...judges.metrics import BINARY_METRICS, as_json
from ..config.command_options import TrustOptions

if TYPE_CHECKING:
    from ...judges import JudgedArrays, JudgedDataset
    from ...judges.reliability import (
        DetectableChange,
        HumanAgreement,
        LabelAudit,
        Remeasured,
        Retest,
    )

LISTED = 20
"""Likely label errors that are written to the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReliabilityReport:
    """The answers; None for what was not asked, or cannot be known."""

    metric: str
    retest: Retest | None = None
    humans: HumanAgreement | None = None
    detectable: DetectableChange | None = None
    audit: LabelAudit | None = None
    audited: Remeasured | None = None

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the answers under `repeats`, `annotators`, `detectable_change`, `audit` and
        `audited`.
        """
        out: dict[str, Any] = {}  # Any: JSON
        if self.retest is not None:
            short = {
                "self_agreement": self.retest.self_agreement.value,
                "f1": list(self.retest.spread["f1"].values),
            }
            out["repeats"] = short | {"retest": as_json(self.retest)}
        if self.humans is not None:
            out["annotators"] = self.humans.to_json()
        if self.detectable is not None:
            out["detectable_change"] = {
                "metric": self.metric,
                "size": self.detectable.size,
                "n": self.detectable.n,
            }
        if self.audit is not None:
            out["audit"] = [suspect.to_json() for suspect in self.audit.suspects]
        if self.audited is not None:
            out["audited"] = {
                "marks": dict(self.audited.marks),
                "after": self.audited.after.to_json(),
            }
        return out


def check_reliability(
    rounds: Sequence[JudgedDataset],
    options: TrustOptions,
    *,
    metric: str = "f1",
    words: Mapping[str, float] | None = None,
    shown: Callable[[JudgedDataset], JudgedDataset] = lambda judged: judged,
) -> ReliabilityReport:
    """Check a judge that judged the same rows once or several times.

    Args:
        rounds: The same rows judged one or more times; the first is the one that is reported.
        metric: The metric that a gain is compared by.
        words: The grade that each of the annotators' words stands for.
        shown: Leaves the rows that may be shown one by one.

    Raises:
        InputError: A column of annotators does not exist, or the marked file does not fit the rows.
    """
    first = rounds[0]
    again = reliability.retest(rounds) if len(rounds) > 1 and first.scale.kind != "choice" else None
    humans = (
        reliability.human_agreement(first, options.annotators, words=words)
        if options.annotators
        else None
    )
    audit = None
    if options.audit is not None:
        audit = reliability.likely_label_errors(shown(first), limit=LISTED)
        reliability.write_audit(audit, options.audit)
    return replace(
        find_detectable(first, metric),
        retest=again,
        humans=humans,
        audit=audit,
        audited=reliability.remeasure(first, options.audited) if options.audited else None,
    )


def find_detectable(judged: JudgedArrays, metric: str) -> ReliabilityReport:
    """Say which change would show; no row is looked at by itself."""
    detectable = None
    if metric in BINARY_METRICS and judged.scale.kind != "choice":
        detectable = reliability.minimum_detectable_change(metric, judged)
    return ReliabilityReport(metric=metric, detectable=detectable)
