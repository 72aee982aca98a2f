"""The result of a search for slices: each slice, the columns left out, and what judges said of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ..judges import Estimate
from ..judges.notebook_display import html_table
from .consistency import Consistency
from .effect import ERRORS, Direction, Parts
from .significance import ALPHA
from .slice import Predicate

if TYPE_CHECKING:
    import pandas as pd

CALIBRATION = "The judge's own outputs: calibration, not a cause"
"""What stands over the metric at the values of judges' outputs, wherever it is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut:
    """What a slice does on the rows that did not propose it."""

    n: int
    value: float
    rest: float
    p: float
    """One-sided and cluster-robust, before correction."""
    gain: float
    """How much the whole metric would rise if the slice did as well as the rest."""
    gain_low: float
    """The same by the lower 95 % bound of the gap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSlice:
    """A slice in which the metric is poorer than elsewhere."""

    predicate: Predicate
    n: int
    """Rows of the slice in the metric's denominator."""
    support: int
    """All scored rows of the slice."""
    metric: str
    value: float
    """The metric on the slice, all rows."""
    rest: float
    """The metric on the rows outside."""
    low: float | None
    """The 95 % interval of `value`, clustered by group."""
    high: float | None
    p: float
    """On held-out rows, corrected for all proposals."""
    direction: Direction | None
    """Which errors prevail, where one kind does on held-out rows with p < .05."""
    fp_share: float | None
    """Share of false positives among the slice's errors on held-out rows."""
    direction_p: float
    consistency: Consistency | None
    """How widely the direction holds; None without one."""
    parts: Parts | None
    held_out: HeldOut
    confusion: str | None = None
    """Of a choice: people's class and the judge's, `billing -> technical`, which are its errors' direction."""

    def __repr__(self) -> str:
        return f"FoundSlice({self.describe()!r})"

    @property
    def confirmed(self) -> bool:
        """Whether held-out rows confirm it at 5 %, corrected."""
        return self.p < ALPHA

    @property
    def expected_gain(self) -> float:
        """How much the whole metric would rise if the slice did as well as the rest, by the held-out effect."""
        return self.held_out.gain

    @property
    def prompt_target(self) -> bool:
        """Whether a prompt could fix it: confirmed, errors of one kind everywhere, not only the base rate's doing."""
        if not self.confirmed or self.direction is None:
            return False
        if self.consistency is None or not self.consistency.holds:
            return False
        return self.parts is None or self.parts.judges_doing(self.direction)

    @property
    def leaning(self) -> Direction | None:
        """Which errors most of its errors are, where those are what lowers the metric."""
        if self.fp_share is None or self.fp_share == 0.5:
            return None
        own: Direction = "fp" if self.fp_share > 0.5 else "fn"
        return own if self.parts is None or self.parts.judges_doing(own) else None

    @property
    def is_base_rate(self) -> bool:
        """Whether more of the gap comes from how many rows are positive than from either kind of error."""
        return self.parts is not None and self.parts.prevalence <= min(self.parts.tpr, self.parts.fpr)

    @property
    def errors(self) -> str:
        """The errors that prevail, in words."""
        return f"errors {self.confusion}" if self.confusion else ERRORS[self.direction]

    @property
    def why_no_target(self) -> str:
        """Why a prompt change cannot fix this slice; empty if it can."""
        if self.prompt_target:
            return ""
        if not self.confirmed:
            return "not confirmed on the held-out rows"
        if self.direction is None:
            return "no errors on held-out rows" if self.fp_share is None else "neither kind of error surely prevails"
        spread = self.consistency
        if spread is not None and not spread.halves:
            return f"its {self.errors} prevail in one half of the rows only"
        if spread is not None and not spread.holds:
            share = f"{spread.agreeing or 0:.0%} of the {spread.origins} values of {spread.origin}"
            return f"its {self.errors} prevail in only {share}"
        if self.is_base_rate:
            return "the gap is mostly the base rate's, not the judge's"
        return f"its {self.errors} are not what lowers it"

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the slice with the keys of the command's contract."""
        return {
            "predicate": str(self.predicate),
            "n": self.n,
            "support": self.support,
            "metric": self.metric,
            "value": self.value,
            "rest": self.rest,
            "low": self.low,
            "high": self.high,
            "p": self.p,
            "direction": self.confusion or self.direction,
            "parts": self.parts and asdict(self.parts),
            "expected_gain": self.expected_gain,
            "consistency": self.consistency and asdict(self.consistency),
            "confirmed": self.confirmed,
            "prompt_target": self.prompt_target,
        }

    def describe(self) -> str:
        """Describe the slice in a sentence."""
        share = "no errors held out"
        if self.confusion is not None:
            share = self.confusion
        elif self.fp_share is not None:
            share = f"{self.fp_share:.0%} of its errors are false positives"
        state = "confirmed" if self.confirmed else "not confirmed"
        return (
            f"{self.predicate}: {self.metric} {self.value:.3f} against {self.rest:.3f} elsewhere "
            f"(n = {self.n}; {share}; {state}, p = {self.p:.2g})"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputLevel:
    """The metric where an output of a judge has some values."""

    predicate: Predicate
    value: Estimate
    """Its n counts rows of the metric's denominator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOutput:
    """What a judge said of the rows, and the metric at its values: calibration, and never a slice to fix."""

    column: str
    reason: str
    """How it is known that a judge said it."""
    levels: tuple[OutputLevel, ...]

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the output and its levels."""
        levels = [{"predicate": str(level.predicate), **level.value.to_json()} for level in self.levels]
        return {"column": self.column, "reason": self.reason, "levels": levels}


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceReport:
    """The slices found, the best first, and what the search did not look at."""

    slices: tuple[FoundSlice, ...]
    left_out: Mapping[str, str]
    """Columns that were not searched, each with the reason."""
    notes: tuple[str, ...]
    metric: str
    """The metric whose slices were searched."""
    overall: Estimate
    judge_outputs: tuple[JudgeOutput, ...] = ()
    """What judges said of the rows, this one's own outputs first; never searched."""

    def __repr__(self) -> str:
        confirmed = sum(one.confirmed for one in self.slices)
        overall = f"{self.metric} {self.overall}, n={self.overall.n:,}"
        return f"SliceReport({overall}; slices={len(self.slices)}, confirmed={confirmed})"

    def _repr_html_(self) -> str:
        tables = [html_table(self.to_frame(), title=repr(self), notes=self.notes)]
        if self.judge_outputs:
            tables.append(html_table(self.outputs_frame(), title=CALIBRATION))
        return "".join(tables)

    def outputs_frame(self) -> pd.DataFrame:
        """Return one line a level of what judges said: the metric there with its interval and n."""
        import pandas as pd

        columns = ("output", "predicate", "metric", "value", "low", "high", "n")
        lines: list[dict[str, object]] = []
        for output in self.judge_outputs:
            for level in output.to_json()["levels"]:
                lines.append({"output": output.column, "metric": self.metric, **level})
        return pd.DataFrame(lines, columns=list(columns))

    def to_frame(self) -> pd.DataFrame:
        """Return one line a slice, the best first: the metric inside with its interval and n, and elsewhere."""
        import pandas as pd

        columns = ("predicate", "metric", "value", "low", "high", "n", "support", "rest", "p", "direction")
        lines = [one.to_json() for one in self.slices]
        return pd.DataFrame(lines, columns=[*columns, "expected_gain", "confirmed", "prompt_target"])

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the report as the command prints it."""
        return {
            "schema_version": 1,
            "metric": self.metric,
            "overall": self.overall.to_json(),
            "slices": [one.to_json() for one in self.slices],
            "left_out": dict(self.left_out),
            "judge_outputs": [output.to_json() for output in self.judge_outputs],
            "notes": list(self.notes),
        }
