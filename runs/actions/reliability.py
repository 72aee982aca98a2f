"""How far a judge's figures can be trusted: repeats, annotators, the least change that shows, likely label errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...judges import Estimate, JudgedDataset
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
from ..reports.terminal_report import number
from ..terminal import inline, say, say_table

SHOWN = 8
"""Likely label errors that are printed; the file has more."""
LISTED = 20
WIDTH = 60
"""Characters of a rationale that are printed."""


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


def say_reliability(found: ReliabilityReport, *, audit: Path | None = None) -> None:
    """Print what was found, the warning about the noise last but for the list."""
    lines: list[str] = []
    if found.retest is not None:
        lines += _repeats(found.retest, found.metric)
    if found.humans is not None:
        lines.append(f"people: {found.humans.sentence()}")
        lines.append(f"  Cohen's kappa {_said(found.humans.kappa)}; Krippendorff's alpha {_said(found.humans.alpha)}")
        if noise := found.humans.noise(found.metric):
            lines.append(f"  {noise.basis}: {noise.size:.3f} between the kindest and the hardest of them")
    if found.detectable is not None and found.warning is None:
        lines.append(f"a gain below {found.detectable.size:.3f} would not show: {found.detectable.basis}")
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
        f"repeats: over {found.rounds} rounds the decision never changed on {_said(found.self_agreement)} of "
        f"{found.n:,} rows (kappa {_said(found.kappa)}, same grade {_said(found.grade_agreement)})"
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
    say(f"\nLikely label errors: {found.found} of {found.n:,} labels are contradicted, the most confident first")
    told = any(suspect.verdict.rationale for suspect in found.suspects)
    head = ("row", *(("what the judge says",) if told else ()), "label", "verdict", "confidence")
    lines = []
    for suspect in found.suspects[:SHOWN]:
        reason = inline(suspect.verdict.rationale)
        cut = reason if len(reason) <= WIDTH else f"{reason[: WIDTH - 1]}…"
        sides = (number(suspect.row.label, 1), str(int(suspect.verdict.positive)), number(suspect.confidence, 2))
        lines.append((suspect.row.id, *((cut,) if told else ()), *sides))
    say_table(head, lines, left=1 + told)
    for note in found.notes:
        say(f"  note: {note}")
    if path is not None:
        say(f"  {len(found.suspects)} rows written to {path}: mark them, and read them back with --audited")
