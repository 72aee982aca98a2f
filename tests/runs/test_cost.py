"""What a run took for what it gained: recomputed by hand from the events."""

from typing import Any

from judgewright.runs.actions import CostSummary
from judgewright.runs.reports.sentences import describe_cost
from judgewright.runs.store import CallSummary

from .stored_events import EVIDENCE, run_of


def summary(**counts: Any) -> CallSummary:
    """Calls of a run."""
    return CallSummary(**{"done": 900, "attempts": 900, "cost": 1.8, "tokens": 1, **counts})


def cost_of(*, accepted: bool, **counts: Any) -> CostSummary:
    """A run that ended with a decision."""
    decision = {
        "accepted": accepted,
        **EVIDENCE,
        "target": {"metric": "precision", "difference": 0.045},
    }
    return run_of(("decision", decision), calls=summary(**counts)).cost


def test_calls_and_money_are_divided_by_the_accepted_points() -> None:
    """4.5 points for 900 calls and $1.80."""
    found = cost_of(accepted=True)
    assert found.calls_per_point == 200
    assert found.cost_per_point is not None
    assert abs(found.cost_per_point - 0.4) < 1e-12
    assert describe_cost(found) == (
        "900 calls; 200 calls and $0.4000 for each of 4.5 accepted points"
    )


def test_nothing_accepted_and_unknown_prices_are_said() -> None:
    """No points, no figure a point; a call without a price leaves the money unknown, not nought."""
    found = cost_of(accepted=False, unpriced=3)
    assert (found.points, found.calls_per_point, found.cost, found.cost_per_point) == (
        None,
        None,
        None,
        None,
    )
    assert found.to_json()["cost_per_point"] is None
    assert "price unknown" in describe_cost(cost_of(accepted=True, unpriced=3))


def test_the_cost_is_known_where_every_answer_has_a_price() -> None:
    """Nothing is summed up around a call whose price is unknown; calls for nothing cost nothing."""
    assert summary().known_cost == 1.8
    assert summary(cost=0.0).known_cost == 0.0
    assert summary(unpriced=1).known_cost is None
