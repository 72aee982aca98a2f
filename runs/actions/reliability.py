"""How far a judge's figures can be trusted: repeats, annotators, the least change that shows, likely label errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...judges import JudgedDataset
from ...judges.metrics import BINARY_METRICS
from ...judges.reliability import (
    HumanAgreement,
    LabelAudit,
    Noise,
    Remeasured,
    Retest,
    human_agreement,
    likely_label_errors,
    minimum_detectable_change,
    noise_note,
    read_audit,
    remeasure,
    retest,
    write_audit,
)

LISTED = 20
"""Likely label errors that are written to the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReliabilityOptions:
    """What to find out beside the figures themselves."""

    metric: str = "f1"
    gain: float | None = None
    """The gain somebody asks for, to be held against the noise."""
    annotators: tuple[str, ...] = ()
    """Columns of single annotators, or one column of lists."""
    words: Mapping[str, float] | None = None
    """What annotators' words stand for."""
    audit: Path | None = None
    """Where to write the likely label errors."""
    audited: Path | None = None
    """Such a file, with a person's marks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReliabilityReport:
    """What was found; None for what was not asked, or cannot be known."""

    metric: str
    retest: Retest | None
    humans: HumanAgreement | None
    detectable: Noise | None
    warning: str | None
    """That the gain asked for is below the noise, where it is."""
    audit: LabelAudit | None
    audited: Remeasured | None

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what there is, under `repeats`, `annotators`, `detectable_change`, `noise`, `audit` and `audited`."""
        out: dict[str, Any] = {}  # Any: JSON
        if self.retest is not None:
            values = self.retest.spread["f1"].values if "f1" in self.retest.spread else ()
            short = {"self_agreement": self.retest.self_agreement.value, "f1": list(values)}
            out["repeats"] = short | {"retest": self.retest.to_json()}
        if self.humans is not None:
            out["annotators"] = self.humans.to_json()
        if self.detectable is not None:
            out["detectable_change"] = {"metric": self.metric, "size": self.detectable.size, "n": self.detectable.n}
        if self.warning is not None:
            out["noise"] = self.warning
        if self.audit is not None:
            out["audit"] = [suspect.to_json() for suspect in self.audit.suspects]
        if self.audited is not None:
            out["audited"] = {"marks": dict(self.audited.marks), "after": self.audited.after.to_json()}
        return out


def check_reliability(
    rounds: Sequence[JudgedDataset],
    asked: ReliabilityOptions,
    *,
    shown: Callable[[JudgedDataset], JudgedDataset] = lambda judged: judged,
) -> ReliabilityReport:
    """Answer the questions about a judge that was asked once or several times.

    Args:
        rounds: The same rows judged one or more times; the first is the one that is reported.
        asked: The questions.
        shown: Leaves the rows that may be shown one by one.

    Raises:
        InputError: A column of annotators does not exist, or the marked file does not fit the rows.
    """
    first = rounds[0]
    decides = first.scale.kind != "choice"
    again = retest(rounds) if len(rounds) > 1 and decides else None
    humans = human_agreement(first, asked.annotators, words=asked.words) if asked.annotators else None
    known = asked.metric in BINARY_METRICS and decides
    detectable = minimum_detectable_change(asked.metric, first) if known else None
    noises = (again and again.noise(asked.metric), detectable)
    warning = noise_note(asked.metric, asked.gain, *noises) if asked.gain is not None and known else None
    audit = likely_label_errors(*map(shown, rounds), limit=LISTED) if asked.audit else None
    if audit is not None and asked.audit is not None:
        write_audit(audit, asked.audit)
    return ReliabilityReport(
        metric=asked.metric,
        retest=again,
        humans=humans,
        detectable=detectable,
        warning=warning,
        audit=audit,
        audited=remeasure(first, read_audit(asked.audited)) if asked.audited else None,
    )
