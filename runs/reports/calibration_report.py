"""A fitted decision rule as tables for a terminal: threshold, metrics and reliability curve before
and after.
"""

from __future__ import annotations

from ...judges import Estimate
from ...judges.metrics.cascade_band import ChosenBand
from ...judges.metrics.reliability_bins import Bin
from ..actions.calibrate import CalibrationRun
from .numbers import number, percent, span
from .printing import say_template


def say_calibration(result: CalibrationRun, *, title: str) -> None:
    """Print a fitted rule: the threshold, the metrics and the reliability curve before and
    after.
    """
    metrics = result.calibrated.shown()
    figures = [(name, one.to_json()) for name, sides in metrics.items() for one in sides if one]
    bins = []
    for old, new in zip(*result.reliability, strict=True):
        if old.share.n or new.share.n:
            bins.append((f"{old.low:.1f} .. {old.high:.1f}", *_bin_cells(old), *_bin_cells(new)))
    say_template(
        "calibration",
        title=title,
        result=result,
        fitted=result.calibrated,
        lines=[(name, *_cells(old), *_cells(new)) for name, (old, new) in metrics.items()],
        figures=figures,
        bins=bins,
    )
    if result.band is not None and result.cascade is not None:
        _say_band(result.band, f"{result.cascade.name}@{result.cascade.version}", result)


def _say_band(band: ChosenBand, judge: str, result: CalibrationRun) -> None:
    points = (band.curve[0], band.point, band.curve[-1])
    names = ("no row", f"{band.point.low:.4g} to {band.point.high:.4g}", "every row")
    lines: list[tuple[str, ...]] = []
    for name, at, agreed in zip(names, points, (band.fast, band.cascade, band.slow), strict=True):
        lines.append((name, percent(at.share), *_cells(agreed), number(at.cost)))
    say_template("cascade", judge=judge, result=result, lines=lines)


def _cells(estimate: Estimate | None) -> tuple[str, str, str]:
    if estimate is None:
        return "n/a", "", ""
    return number(estimate.value), span(estimate), f"{estimate.n:,}"


def _bin_cells(one: Bin) -> tuple[str, ...]:
    value, interval, n = _cells(one.share)
    return (n, number(one.probability), value, interval) if one.share.n else ("0", "", "", "")
