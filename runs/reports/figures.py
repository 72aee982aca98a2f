"""What `bench.plot()`, `report.plot()` and `run.plot()` draw, for those who work with matplotlib.

The pictures of pages and files are drawn without it (`charts.py`); the numbers are the same.
"""

# matplotlib leaves its keywords untyped.
# pyright: reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...judges import Estimate, InputError
from ...judges.extras import require_extra
from ...judges.metrics import headline_metrics
from ..terminal import inline
from .charts import MOST_SLICES, arms_of, points_of
from .drawing import fit_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...judges import Benchmark
    from ...slices import SliceReport
    from ..actions.run_summary import RunSummary

_INCHES = 8.0
_SIMULATED = " (SIMULATED)"


def plot_metrics(
    benchmark: Benchmark, metrics: Sequence[str], axes: Axes | None, *, title: str
) -> Axes:
    """Draw metrics with their intervals, one line each.

    Raises:
        InputError: There is no such metric, or matplotlib is not installed.
    """
    names = tuple(metrics) or headline_metrics(benchmark.metrics)
    if unknown := [name for name in names if name not in benchmark.metrics]:
        raise InputError(
            f"there is no metric {unknown[0]!r}", hint=f"there are {', '.join(benchmark.metrics)}"
        )
    values = [(name, benchmark.metrics[name]) for name in names]
    axes = _intervals(axes, values, filled=[True] * len(values))
    _title(axes, title, simulated=benchmark.simulated)
    return axes


def plot_slices(report: SliceReport, axes: Axes | None, *, simulated: bool) -> Axes:
    """Draw the metric on each slice with its interval; full dots are confirmed, the line is all
    rows.

    Raises:
        InputError: matplotlib is not installed.
    """
    found = report.slices[:MOST_SLICES]
    values = [
        (str(one.predicate), Estimate(value=one.value, low=one.low, high=one.high, n=one.n))
        for one in found
    ]
    axes = _intervals(axes, values, filled=[one.confirmed for one in found])
    if report.overall.value is not None:
        axes.axvline(report.overall.value, linestyle="--", color="0.5", label="all rows")
    _title(axes, f"{report.metric} by slice (full: confirmed)", simulated=simulated)
    return axes


def plot_run(run: RunSummary, axes: Axes | None) -> Axes:
    """Draw the target metric of each step on rows that its prompt was not written from, a line for
    each arm.

    Raises:
        InputError: The run measured no prompt, or matplotlib is not installed.
    """
    first = run.search_start
    if first is None:
        raise InputError("the run has measured no prompt yet, so there is nothing to draw")
    target = run.objective.target
    axes = axes or _new(3.6)
    start = first.metrics.get(target)
    points = [point for point in points_of(run.steps) if point.metrics.get(target) is not None]
    for arm in arms_of(run.steps) or [""]:
        own = [(point.step, point.metrics[target]) for point in points if point.arm == arm]
        steps, values = zip((0, start), *own, strict=True)
        axes.plot(steps, values, marker="o", label=arm or "prompts")
    if start is not None:
        axes.axhline(start, linestyle="--", color="0.5", label="the prompt as it was")
    axes.set_xticks(range(1 + max((point.step for point in points), default=0)))
    axes.set_xlabel("step")
    axes.set_ylabel(target)
    axes.legend()
    _title(axes, f"run {run.run_id}", simulated=run.simulated)
    return axes


def _intervals(
    axes: Axes | None, values: Sequence[tuple[str, Estimate]], *, filled: Sequence[bool]
) -> Axes:
    axes = axes or _new(1.2 + 0.4 * len(values))
    for at, ((_, one), full) in enumerate(zip(values, filled, strict=True)):
        if one.value is None:
            continue
        if one.low is not None and one.high is not None:
            axes.hlines(at, one.low, one.high, color="C0")
        axes.plot([one.value], [at], "o", color="C0", fillstyle="full" if full else "none")
    axes.set_yticks(range(len(values)))
    # Two dollar signs would be mathematics.
    labels = [f"{fit_label(name, 44)}  (n {one.n:,})".replace("$", r"\$") for name, one in values]
    axes.set_yticklabels(labels)
    axes.invert_yaxis()
    axes.set_xlabel("value with 95 % interval")
    return axes


def _new(height: float) -> Axes:
    require_extra("plot", "matplotlib", purpose="a plot")
    from matplotlib import pyplot

    _, axes = pyplot.subplots(figsize=(_INCHES, height), layout="constrained")
    return axes


def _title(axes: Axes, title: str, *, simulated: bool) -> None:
    axes.set_title(f"{inline(title)}{_SIMULATED * simulated}".replace("$", r"\$"))
