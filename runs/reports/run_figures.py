"""The figures that stand first on a run's page, whatever the run has come to: the judge as it is,
what the open rows promise of the new prompt, what the holdout measured, and what was spent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...judges import InputError
from ...judges.metrics import headline_metrics
from ...judges.metrics.catalog import sign_of
from ...optimize.events import Json
from ..actions.run_summary import RunSummary
from ..config.environment import parse_budget
from .numbers import count, price

Z = 1.959964
"""Standard errors on each side of a 95 % interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureLine:
    """One metric of a run."""

    metric: str
    role: str
    """What the run wants of it, in words; empty where it wants nothing."""
    before: Json
    """The judge as it is, on the open rows: value, interval, n."""
    promised: Json | None
    """The change that the open rows promise: difference and interval."""
    measured: Json | None
    """The change on the holdout: difference, interval, before and after."""


def figures_of(run: RunSummary) -> tuple[FigureLine, ...]:
    """Return a run's figures, what it wants to improve first; none before its benchmark."""
    if run.benchmark is None:
        return ()
    metrics, roles = run.benchmark["metrics"], _roles(run)
    promised, measured = _promised(run), _measured(run)
    names = dict.fromkeys((*roles, *headline_metrics(metrics)))
    return tuple(
        FigureLine(
            metric=name,
            role=roles.get(name, ""),
            before=metrics[name],
            promised=promised.get(name),
            measured=measured.get(name),
        )
        for name in names
        if name in metrics
    )


def _roles(run: RunSummary) -> dict[str, str]:
    """Return what a run wants of each metric, its target first."""
    if run.started is None:
        return {}
    stated = run.started.objective
    roles = {stated.target: "to improve"}
    for guard in stated.guards:
        worse = "fall" if sign_of(guard.metric) > 0 else "rise"
        roles[guard.metric] = f"may {worse} by {guard.margin:g}"
    for floor in stated.floors or ():
        at_least = f"at least {floor.value:g}"
        roles[floor.metric] = ", ".join(filter(None, (roles.get(floor.metric), at_least)))
    return roles


def _promised(run: RunSummary) -> Mapping[str, Json]:
    """Return what the open rows promise of each metric of the objective, with its interval."""
    if run.chances is None or run.chances.chosen is None:
        return {}
    estimate = run.chances.estimate
    return {
        name: {
            "difference": change,
            "low": change - Z * estimate["error"][name],
            "high": change + Z * estimate["error"][name],
        }
        for name, change in estimate["expected"].items()
    }


def _measured(run: RunSummary) -> Mapping[str, Json]:
    """Return what the gate measured on the holdout of each metric of the objective."""
    evidence = None if run.decision is None else run.decision.evidence
    if evidence is None:
        return {}
    changes = (evidence.target, *(guard.change for guard in evidence.guards))
    return {change["metric"]: change for change in changes if change}


def budget_left(run: RunSummary) -> str:
    """Say what is left of the run's budget; empty where it has none, or where a price is
    unknown.
    """
    try:
        allowance = parse_budget(run.record.config.get("budget"))
    except InputError:
        return ""
    if allowance.money is not None and run.calls.known_cost is not None:
        left = max(allowance.money - run.calls.known_cost, 0.0)
        return f"{price(left)} of {price(allowance.money)} left"
    if allowance.tokens is not None:
        left = max(allowance.tokens - run.calls.tokens, 0)
        return f"{count(left)} of {count(allowance.tokens)} tokens left"
    return ""
