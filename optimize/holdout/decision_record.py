"""What the gate decided, with its evidence; and what an accepted prompt changed on the final
rows.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ...judges import Change, EqualGain, JudgedDataset, compare, equal_gain
from ...judges.notebook_display import SIMULATED, html_table
from ..losses.objective import Objective
from ..outcome import GateOutcome
from .floors import FloorResult, value_bounds
from .guards import GuardResult
from .unanswered import AskedAgain

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Accepted, refused or undecided, with the paired evidence and one sentence why."""

    outcome: GateOutcome
    reason: str
    target: Change | None = None
    guards: tuple[GuardResult, ...] = ()
    slice_change: Change | None = None
    """The target metric's change on the optimized slice; it must not be a fall beyond chance."""
    alpha: float = 0.0
    look: int = 0
    """Which look at this holdout since the last accept this was; 0 where it stayed sealed."""
    n: int = 0
    coverage_before: float = 0.0
    coverage_after: float = 0.0
    worst_case: tuple[float, float] | None = None
    """The metric's change if every row that one side left unscored had gone against it, or for it.
    """
    rows_needed: int | None = None
    """Rows that would decide; None where it is decided, or where no number is known to."""
    simulated: bool = False
    veto: str | None = None
    """Predicate of the slice that the new prompt made worse; None where none is confirmed or
    sought.
    """
    groups_needed: int | None = None
    """Groups of those rows."""
    target_worst: Change | None = None
    """The target's change with every row that one side alone answered counted against the new
    prompt, which has to pass the same test; None where there is no such row."""
    unanswered: int = 0
    """How many such rows there are."""
    asked_again: tuple[AskedAgain, ...] = ()
    """The rounds in which rows that one side left unanswered were asked again, on both sides."""
    floors: tuple[FloorResult, ...] = ()
    equal_gain: EqualGain | None = None
    """What is left of the target's change at the same recall; it decides nothing. None of older
    decisions.
    """

    def __repr__(self) -> str:
        simulated = SIMULATED if self.simulated else ""
        look = f"look {self.look}, significance level {self.alpha:.4f}, n={self.n:,}{simulated}"
        return f"Decision({self.outcome}: {self.reason!r}; {look})"

    def _repr_html_(self) -> str:
        simulated = SIMULATED if self.simulated else ""
        title = f"{self.outcome.upper()}{simulated}"
        answered = (
            f"rows answered: {self.coverage_before:.1%} before, {self.coverage_after:.1%} after"
        )
        look = f"look {self.look} at this holdout, significance level {self.alpha:.4f}"
        return html_table(self.to_frame(), title=title, notes=(self.reason, answered, look))

    def to_frame(self) -> pd.DataFrame:
        """Return one line a comparison, those that are undefined left out.

        The target, the same at equal recall, each guard, and the slice.
        """
        import pandas as pd

        changes = [("target", self.target)]
        if self.equal_gain is not None:
            changes.append((f"at the same {self.equal_gain.held}", self.equal_gain.change))
        changes += [(f"guard, {guard.state}", guard.change) for guard in self.guards]
        changes.append(("slice", self.slice_change))
        lines = [{"role": role, **asdict(change)} for role, change in changes if change is not None]
        columns = (
            "role",
            "metric",
            "before",
            "after",
            "difference",
            "low",
            "high",
            "p",
            "n",
            "groups",
        )
        return pd.DataFrame(lines, columns=[*columns, "changed_groups"])

    @property
    def accepted(self) -> bool:
        """Whether the new prompt may replace the old one."""
        return self.outcome == "accepted"

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the decision as JSON, `accepted` first; without a look there is no evidence."""
        if not self.look:
            return {"accepted": False, "outcome": self.outcome, "reason": self.reason}
        body = asdict(self)
        for limit in (*body["guards"], *body["floors"]):
            if limit["high"] is None:
                del limit["high"]  # as the journal leaves out what is not known
        if not self.floors:
            del body["floors"]  # as decisions without one were always written
        worst_case = list(self.worst_case) if self.worst_case else None
        return {"accepted": self.accepted, **body, "worst_case": worst_case}


def final_changes(
    before: JudgedDataset, after: JudgedDataset, objective: Objective
) -> dict[str, Any]:  # Any: JSON
    """Compare target and guards on the final rows, paired, with their intervals; nothing is decided
    by them.

    Args:
        before, after: Answers to the final rows.
        objective: Which metrics, and how far a guarded one might have fallen.
    """

    def change(metric: str) -> dict[str, Any] | None:  # Any: JSON
        compared = compare(metric, before, after)
        return None if compared is None else asdict(compared)

    guards = [
        {"metric": guard.metric, "margin": guard.margin, "change": change(guard.metric)}
        for guard in objective.guards
    ]
    equal = asdict(equal_gain(objective.target, before, after))
    body: dict[str, Any] = {
        "target": change(objective.target),
        "equal_gain": equal,
        "guards": guards,
    }  # Any: JSON
    if objective.floors:
        body["floors"] = []
    for floor in objective.floors:
        value, low, _, _ = value_bounds(floor.metric, after)
        body["floors"].append(
            {"metric": floor.metric, "floor": floor.value, "value": value, "low": low}
        )
    return body
