"""How a page is made: templates that escape everything, and the few ways in which numbers are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..reports.gate_sentences import P_MEANS
from ..reports.numbers import number
from ..reports.terminal_report import METRIC_ORDER
from ..terminal import visible

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

Payload = Mapping[str, Any]  # Any: JSON out of the journal


class Exact(str):
    """Text for a form field: escaped as all text is, with its control characters as they are."""

    __slots__ = ()


def open_templates() -> Environment:
    """Return the templates; a name that is missing is an error, and no text from a row or a model is markup."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader(__package__ or "", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    templates.filters |= {
        "number": number,
        "signed": signed,
        "interval": interval,
        "p_value": p_value,
        "moment": moment,
        "count": lambda value: f"{value:,}",
        "percent": lambda value: f"{value:.1%}",
        "metrics": ordered_metrics,
        "plain": lambda value: f"{value:g}",
        "exact": Exact,
        "drawn": drawn,
    }
    templates.globals["p_means"] = P_MEANS
    return templates


def _shown(value: object) -> object:
    """Make control and bidirectional characters visible, as the terminal does."""
    # `Markup` says that it is markup by this method, and text does not have it.
    if isinstance(value, str) and not isinstance(value, Exact) and not hasattr(value, "__html__"):
        return visible(value)
    return value


def drawn(svg: str) -> Markup:
    """Let a chart of `runs/reports/charts.py` stand in the page; it escapes its own text; nothing else comes here."""
    from markupsafe import Markup

    return Markup(svg)  # noqa: S704  # our own drawing


def signed(value: float | None, digits: int = 3) -> str:
    """Write a change with its sign."""
    return "n/a" if value is None else f"{value:+.{digits}f}"


def interval(estimate: Payload, *, change: bool = False) -> str:
    """Write the 95 % interval of an estimate or a change, or why there is none."""
    if estimate["low"] is None:
        return estimate.get("reason") or "n/a"
    plus = "+" if change else ""
    return f"{estimate['low']:{plus}.3f} .. {estimate['high']:{plus}.3f}"


def p_value(p: float | None) -> str:
    """Write a p value, tiny ones as a bound."""
    if p is None:
        return "n/a"
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def moment(at: str | None) -> str:
    """Write a time of the journal to the second."""
    return at[:19].replace("T", " ") + " UTC" if at else ""


def ordered_metrics(found: Iterable[str]) -> list[str]:
    """Return the names of metrics in the order of every report."""
    names = set(found)
    return [*(name for name in METRIC_ORDER if name in names), *sorted(names - set(METRIC_ORDER))]
