"""How numbers and times are written for people; every report, page and command writes them this
way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...judges import Estimate

BRIEF = ("precision", "recall", "f1", "kappa")
"""The few metrics that stand for a judge where there is no room for all."""
NONE = "n/a"
"""Stands for a number that there is not."""
METRIC_ORDER = (
    *("precision", "recall", "specificity", "f1", "accuracy", "balanced_accuracy", "mcc", "kappa"),
    *(
        "accuracy_grades",
        "f1_macro_grades",
        "kappa_grades",
        "kappa_linear",
        "kappa_quadratic",
        "off_by_one",
        "mae",
    ),
    *("krippendorff_alpha", "auroc", "average_precision", "brier", "ece"),
    *("pearson", "spearman", "kendall_tau", "map", "ndcg@10", "ndcg_exp@10"),
)
Figure = Mapping[str, Any]  # Any: JSON; an estimate or a change with `low` and `high`


def number(value: float | None, digits: int = 3) -> str:
    """Write a number."""
    return NONE if value is None else f"{value:.{digits}f}"


def signed(value: float | None, digits: int = 3) -> str:
    """Write a change with its sign."""
    return NONE if value is None else f"{value:+.{digits}f}"


def interval(figure: Figure, *, change: bool = False, missing: str | None = None) -> str:
    """Write a 95 % interval, or why there is none.

    Args:
        figure: What has the interval; its `reason` stands for one that is missing.
        change: Whether to write signs.
        missing: Stands for a missing interval instead.
    """
    low, high = figure["low"], figure["high"]
    if low is None or high is None:
        return missing if missing is not None else figure.get("reason") or NONE
    write = signed if change else number
    return f"{write(low)} .. {write(high)}"


def span(estimate: Estimate | None, *, missing: str = "") -> str:
    """Write the 95 % interval of an estimate, or what stands for one that is missing."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return missing
    return f"{number(estimate.low)} .. {number(estimate.high)}"


def p_value(p: float | None) -> str:
    """Write a p-value, a tiny one as a bound."""
    if p is None:
        return NONE
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def p_equals(p: float) -> str:
    """Write a p-value in a sentence."""
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.4f}"


def price(dollars: float | None) -> str:
    """Write an amount of US dollars."""
    return "price unknown" if dollars is None else f"${dollars:.4f}"


def percent(share: float) -> str:
    """Write a share of 1 as per cent."""
    return f"{share:.1%}"


def count(value: int | None) -> str:
    """Write a count."""
    return NONE if value is None else f"{value:,}"


def moment(at: str | None) -> str:
    """Write a stored time to the second, in UTC."""
    return at[:19].replace("T", " ") + " UTC" if at else ""


def ordered_metrics(names: Iterable[str]) -> list[str]:
    """Return the names of metrics in the order of every report."""
    unordered = set(names)
    return [
        *(name for name in METRIC_ORDER if name in unordered),
        *sorted(unordered - set(METRIC_ORDER)),
    ]


def named_metrics(metrics: Mapping[str, float | None]) -> str:
    """Write metrics with their values in one line."""
    return ", ".join(f"{name} {number(metrics[name])}" for name in ordered_metrics(metrics))
