"""The result of a search for slices: each slice, the columns left out, and what judges said of the
rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..judges import Estimate
from ..judges.metrics import as_json
from ..judges.notebook_display import html_table
from .consistency import Consistency
from .effect import CALIBRATION, ERRORS, Direction, Parts
from .significance import ALPHA, LIKELY
from .slice import Predicate

if TYPE_CHECKING:
    import pandas as pd

SliceEvidence = Literal["confirmed", "likely", "exploratory"]
KEYS = (
    *("predicate", "n", "support", "metric", "value", "rest", "low", "high", "p", "direction"),
    *("parts", "expected_gain", "consistency", "confirmed", "prompt_target", "evidence", "bound"),
    "within",
)
"""What a slice has as JSON."""


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
    """One-sided, clustered by group and corrected for every candidate that was searched."""
    direction: Direction | None
    """Which errors prevail among those that the metric counts, where one kind does with p < .05."""
    fp_share: float | None
    """Share of false positives among the errors that the metric counts."""
    direction_p: float
    consistency: Consistency | None
    """How widely the direction holds; None without one."""
    parts: Parts | None
    bound: float
    """The metric is at least so poor, by the 95 % lower bound of the gap that holds for all
    candidates at once.
    """
    expected_gain: float
    """How much the whole metric would rise if the slice did as well as the rest, less what
    selection flattered.
    """
    gain_low: float
    """The same by the bound."""
    within: Predicate | None
    """The stronger slice that it lies inside, of which it is the poorer part."""
    confusion: str | None = None
    """Of a choice: people's class and the judge's, `billing -> technical`, which are its errors'
    direction.
    """

    def __repr__(self) -> str:
        return f"FoundSlice({self.describe()!r})"

    @property
    def confirmed(self) -> bool:
        """Whether it is confirmed: of tables without a slice, one in twenty confirms any."""
        return self.p < ALPHA

    @property
    def evidence(self) -> SliceEvidence:
        """How sure it is; of tables without a slice, one in four calls any likely or confirms
        it.
        """
        if self.confirmed:
            return "confirmed"
        return "likely" if self.p < LIKELY else "exploratory"

    @property
    def prompt_target(self) -> bool:
        """Whether a prompt could fix it: confirmed, errors of one kind everywhere, not only the
        base rate's doing.
        """
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
        """Whether more of the gap comes from how many rows are positive than from either kind of
        error.
        """
        return self.parts is not None and self.parts.prevalence <= min(
            self.parts.tpr, self.parts.fpr
        )

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
            return f"{self.evidence}, not confirmed"
        if self.direction is None:
            return "neither kind of error clearly prevails"
        spread = self.consistency
        if spread is not None and not spread.halves:
            return f"its {self.errors} gather in one half of the rows only"
        if spread is not None and not spread.holds:
            share = f"{spread.agreeing or 0:.0%} of the {spread.origins} values of {spread.origin}"
            return f"its {self.errors} gather in only {share}"
        if self.is_base_rate:
            return "the gap is mostly the base rate's, not the judge's"
        return f"its {self.errors} are not what lowers it"

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the slice with the keys of the command's contract."""
        texts = {
            "predicate": str(self.predicate),
            "direction": self.confusion or self.direction,
            "within": self.within and str(self.within),
        }
        return {
            name: texts[name] if name in texts else as_json(getattr(self, name)) for name in KEYS
        }

    def describe(self) -> str:
        """Describe the slice in a sentence."""
        share = "no errors"
        if self.confusion is not None:
            share = self.confusion
        elif self.fp_share is not None:
            share = f"{self.fp_share:.0%} of its errors are false positives"
        bound = f" (95 % bound {self.bound:.3f})" if self.confirmed else ""
        return (
            f"{self.predicate}: {self.metric} {self.value:.3f}{bound} against {self.rest:.3f}"
            f" elsewhere (n = {self.n}; {share}; {self.evidence}, p = {self.p:.2g})"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputLevel:
    """The metric where an output of a judge has some values."""

    predicate: Predicate
    value: Estimate
    """Its n counts rows of the metric's denominator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOutput:
    """What a judge said of the rows, and the metric at its values: calibration, and never a slice
    to fix.
    """

    column: str
    reason: str
    """How it is known that a judge said it."""
    levels: tuple[OutputLevel, ...]

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the output and its levels."""
        levels = [
            {"predicate": str(level.predicate), **level.value.to_json()} for level in self.levels
        ]
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
        """Return one line a slice, the best first: the metric inside with its interval and n, and
        elsewhere.
        """
        import pandas as pd

        columns = (
            "predicate",
            "metric",
            "value",
            "low",
            "high",
            "n",
            "support",
            "rest",
            "p",
            "direction",
        )
        lines = [one.to_json() for one in self.slices]
        return pd.DataFrame(
            lines, columns=[*columns, "expected_gain", "confirmed", "prompt_target"]
        )

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
