"""What a run spent for what it gained, beside what asking every row for every candidate would have taken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ...optimize import Event
from .calls import CallSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class CostSummary:
    """A run's calls and money, all sittings together."""

    calls: int
    """Paid for by this run; what the workspace had already was free."""
    cost: float | None
    """US dollars; None where a price is unknown."""
    points: float | None
    """By how many points the target metric rose on the holdout; None where the gate did not accept."""
    raced: int
    """Verdicts that choosing among candidates looked at, from the record or paid for: the screenings', the races', and
    those that validating a race's winner took beyond them."""
    unraced: int
    """Verdicts that judging every validation row for every candidate would have taken."""

    @property
    def calls_per_point(self) -> float | None:
        """Calls for each accepted point."""
        return self.calls / self.points if self.points else None

    @property
    def cost_per_point(self) -> float | None:
        """Dollars for each accepted point."""
        return self.cost / self.points if self.points and self.cost is not None else None

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the figures by name."""
        return asdict(self) | {"calls_per_point": self.calls_per_point, "cost_per_point": self.cost_per_point}

    def __str__(self) -> str:
        parts = [f"{self.calls:,} calls paid for"]
        if self.points:
            money = "price unknown" if self.cost_per_point is None else f"${self.cost_per_point:.4f}"
            parts.append(f"{self.calls_per_point:,.0f} calls and {money} for each of {self.points:.1f} accepted points")
        if self.unraced:
            parts.append(f"candidates took {self.raced:,} verdicts; asking every row for each takes {self.unraced:,}")
        return "; ".join(parts)


def thrift(events: Iterable[Event], calls: CallSummary) -> CostSummary:
    """Add up what a run spent and gained.

    Args:
        events: Its journal.
        calls: Its calls.
    """
    raced = unraced = 0
    decision: Mapping[str, Any] = {}
    for event in events:
        if event.kind == "step" and "race" in event.payload:
            race = event.payload["race"]
            entrants = race["standings"][1:]  # the first is the current prompt, which is in the record
            whole = race["full_calls"] // len(race["standings"])
            # The winner is validated on every row, however soon it won.
            raced += sum(whole if standing["dropped"] is None else standing["rows"] for standing in entrants)
            raced += race.get("screened", 0)
            unraced += whole * len(entrants)
        elif event.kind == "decision":
            decision = event.payload
    points = 100 * decision["target"]["difference"] if decision.get("accepted") else None
    return CostSummary(calls=calls.done, cost=calls.known_cost, points=points, raced=raced, unraced=unraced)
