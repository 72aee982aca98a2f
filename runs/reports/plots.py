"""Pictures of a judge's measurements, and the numbers they show; each stands in a page as SVG or
alone as PNG.

A picture is drawn from numbers that a function here or in `judges` returns, so a test can hold them
without looking at it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...judges import BoolArray, Estimate, FloatArray, InputError
from ...judges.metrics import ece
from ...judges.metrics.reliability_bins import reliability_bins
from .charts import BLUE, GREEN, ORANGE, cells, fit_label
from .picture import FONT, INK, WIDTH, Picture, draw_estimate, house_style, new_figure

if TYPE_CHECKING:
    from ...judges.metrics.calibration_error import Edges

MOST_WRITTEN = 10
"""Grades up to which the cells of a confusion chart carry their numbers."""
MOST_STEPS = 300
"""Thresholds drawn of a curve that has more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdCurve:
    """What precision, recall and F1 would be if every score at or above a threshold were positive;
    shape (T,).
    """

    threshold: FloatArray
    """The distinct scores in ascending order."""
    precision: FloatArray
    recall: FloatArray
    f1: FloatArray

    @property
    def best(self) -> int:
        """Where F1 is highest; the lowest such threshold. Chosen and measured on the same rows, so
        it flatters.
        """
        return int(np.argmax(self.f1))


def threshold_curve(label: BoolArray, score: FloatArray) -> ThresholdCurve:
    """Return precision, recall and F1 at each distinct score; equal scores fall on one side
    together.

    Raises:
        InputError: No row is labelled positive, so that recall does not exist.
    """
    positives = int(np.sum(label))
    if positives == 0:
        raise InputError("no row is labelled positive, so there is no recall at any threshold")
    threshold, rank = np.unique(score, return_inverse=True)
    taken = np.cumsum(np.bincount(rank)[::-1])[::-1]
    found = np.cumsum(np.bincount(rank, weights=label)[::-1])[::-1]
    return ThresholdCurve(
        threshold=threshold,
        precision=found / taken,
        recall=found / positives,
        f1=2 * found / (taken + positives),
    )


def reliability_curve(
    label: BoolArray, probability: FloatArray, *, bins: int = 10, edges: Edges = "linspace"
) -> Picture:
    """Draw `reliability_bins` against the diagonal of a judge that can be believed, with the rows
    of each bin below.

    Raises:
        InputError: There is no row, or a probability is outside [0, 1].
    """
    if len(label) == 0:
        raise InputError("no verdict carries a probability, so there is nothing to draw")
    error = float(ece(label, probability, bins=bins, edges=edges))
    found = [b for b in reliability_bins(label, probability, bins=bins, edges=edges) if b.share.n]
    with house_style():
        figure = new_figure(4.4)
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        upper.plot((0, 1), (0, 1), color=INK, alpha=0.5, linewidth=1, linestyle=(0, (4, 3)))
        means = [(b.probability, b.share.value) for b in found if b.probability is not None]
        upper.plot(*zip(*means, strict=True), color=BLUE, linewidth=1, alpha=0.6)
        for b in found:
            draw_estimate(upper, b.probability, b.share, upright=True)
        upper.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.04), ylabel="share people call positive")
        upper.set_title(f"ECE {error:.3f} ({bins} bins, edges {edges})", loc="left", fontsize=FONT)
        heights = [b.share.n for b in found]
        lower.bar(
            [b.low for b in found],
            heights,
            width=1 / bins,
            align="edge",
            color=BLUE,
            alpha=0.7,
            linewidth=0,
        )
        lower.set(xlabel="judge's probability of positive", ylabel="rows")
        lower.locator_params(axis="y", nbins=3, integer=True)
    said = "; ".join(
        f"{b.low:.2g} to {b.high:.2g}: {b.share.n} rows, {b.share.value:.0%} positive"
        for b in found
    )
    return Picture(
        figure=figure,
        title=f"Reliability curve, expected calibration error {error:.3f}",
        description=f"{bins} bins of equal width, edges {edges}, Wilson intervals. {said}.",
    )


def confusion_chart(counts: Sequence[Sequence[int]], names: Sequence[str]) -> Picture:
    """Draw a confusion table: the human label in rows, the judge's in columns, shaded by the share
    of the row.

    Args:
        counts: Shape (K, K).
        names: Of the K labels, in order.
    """
    k = len(names)
    shown = [fit_label(name, 12) for name in names]
    with house_style():
        from matplotlib.patches import Rectangle

        figure = new_figure(1.0 + min(3.6, 1.1 * k))
        axes = figure.subplots()
        for i, line in enumerate(counts):
            for j, count in enumerate(line):
                share = count / sum(line) if sum(line) else 0.0
                cell = Rectangle(
                    (j + 0.02, i + 0.02), 0.96, 0.96, facecolor=(BLUE, 0.06 + 0.44 * share)
                )
                cell.set(
                    edgecolor=(ORANGE, 0.9) if i == j else (INK, 0.25),
                    linewidth=1.2 if i == j else 0.6,
                )
                axes.add_patch(cell)
                if k <= MOST_WRITTEN:
                    small, up = FONT if k <= 6 else 7.0, "bottom" if sum(line) else "center"
                    axes.text(
                        j + 0.5, i + 0.5, f"{count:,}", ha="center", va=up, fontsize=small + 1
                    )
                    if sum(line):
                        axes.text(
                            j + 0.5,
                            i + 0.54,
                            f"{share:.0%}",
                            ha="center",
                            va="top",
                            fontsize=small - 1,
                        )
        turned = max(map(len, shown)) * k > 40
        axes.set_xticks(np.arange(k) + 0.5, shown)
        if turned:
            for written in axes.get_xticklabels():
                written.set(rotation=60, ha="right", rotation_mode="anchor")
        axes.set_yticks(np.arange(k) + 0.5, shown)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set(xlim=(0, k), ylim=(k, 0), xlabel="judge", ylabel="people")
    said = "; ".join(
        f"people {shown[i]}, judge {shown[j]}: {count}"
        for i, line in enumerate(counts)
        for j, count in enumerate(line)
        if count and k <= MOST_WRITTEN
    )
    return Picture(figure=figure, title=f"Confusion matrix of {k} labels", description=said)


def f1_by_threshold(curve: ThresholdCurve, *, chosen: float | None = None) -> Picture:
    """Draw precision, recall and F1 over the threshold, with the threshold in use marked."""
    kept = np.unique(np.linspace(0, len(curve.threshold) - 1, MOST_STEPS).round().astype(np.int64))
    few = len(kept) <= 12
    graded = few and bool((curve.threshold % 1 == 0).all())
    lines = (
        ("precision", BLUE, (0, (5, 2)), "s"),
        ("recall", ORANGE, (0, (1, 1.5)), "^"),
        ("f1", GREEN, "-", "o"),
    )
    with house_style():
        figure = new_figure(3.2)
        axes = figure.subplots()
        for name, colour, dashes, marker in lines:
            axes.plot(
                curve.threshold[kept],
                getattr(curve, name)[kept],
                label=name.upper() if name == "f1" else name,
                color=colour,
                linestyle=dashes,
                linewidth=2 if name == "f1" else 1.4,
                marker=marker if few else None,
                # Between two scores every threshold cuts alike; grades have nothing between them.
                drawstyle="default" if graded else "steps-pre",
            )
        if few:
            axes.set_xticks(curve.threshold, [f"{t:.3g}" for t in curve.threshold])
        if chosen is not None:
            axes.axvline(chosen, color=INK, linewidth=1, alpha=0.7)
            place = {"xy": (chosen, 0.02), "xytext": (3, 0), "textcoords": "offset points"}
            axes.annotate(f"in use: {chosen:g}", **place)
        axes.set(ylim=(0, 1.03), xlabel="positive at or above", ylabel="value")
        figure.legend(loc="outside upper left", ncols=3, frameon=False)
    at = curve.best
    best = (
        f"F1 is highest on these rows at {curve.threshold[at]:.4g}, where it is {curve.f1[at]:.3f}"
    )
    used = (
        "No single threshold gives the verdicts"
        if chosen is None
        else f"The threshold in use is {chosen:g}"
    )
    return Picture(
        figure=figure,
        title="Precision, recall and F1 by threshold",
        description=f"{best}. {used}.",
    )


def metrics_by_slice(
    metric: str, values: Mapping[str, Estimate], *, overall: Estimate | None = None
) -> Picture:
    """Draw a metric on each value of a column, with its interval and n, beside the line of all
    rows.
    """
    return _dots(f"{metric} by value", metric, values, overall)


def metric_intervals(metric: str, judges: Mapping[str, Estimate]) -> Picture:
    """Draw a leaderboard: one dot with its interval for each judge, from the top in the order
    given.
    """
    return _dots(f"{metric} by judge", metric, judges, None)


def _dots(
    title: str, metric: str, values: Mapping[str, Estimate], overall: Estimate | None
) -> Picture:
    names = [fit_label(name) for name in values]
    with house_style():
        height = 0.75 + 0.26 * max(1, len(names))
        figure = new_figure(height, constrained=False)
        axes = figure.subplots()
        # Margins are counted, not measured: the font at hand may lack the letters of a label, and
        # its widths then lie.
        left = (0.3 + 0.082 * max(map(cells, names), default=0)) / WIDTH
        figure.subplots_adjust(
            left=left, right=1 - 0.75 / WIDTH, bottom=0.48 / height, top=1 - 0.27 / height
        )
        for i, estimate in enumerate(values.values()):
            draw_estimate(axes, i, estimate, upright=False)
            axes.annotate(
                f"{estimate.n:,}", (1.02, i), xycoords=("axes fraction", "data"), va="center"
            )
        axes.annotate(
            "n", (1.02, 1), xycoords="axes fraction", xytext=(0, 4), textcoords="offset points"
        )
        if overall is not None and overall.value is not None:
            axes.axvline(overall.value, color=INK, alpha=0.6, linewidth=1, linestyle=(0, (4, 3)))
            said = {"xytext": (0, 4), "textcoords": "offset points", "ha": "center"}
            axes.annotate(
                f"all {overall.value:.3f}",
                (overall.value, 1),
                xycoords=("data", "axes fraction"),
                **said,
            )
        axes.set_yticks(range(len(names)), names)
        axes.set(ylim=(len(names) - 0.4, -0.6), xlabel=fit_label(metric))
        axes.grid(axis="x", color=INK, alpha=0.15, linewidth=0.6)
        axes.tick_params(axis="y", length=0)
    description = "; ".join(
        f"{name}: {estimate}, n {estimate.n}"
        for name, estimate in zip(names, values.values(), strict=True)
    )
    return Picture(figure=figure, title=fit_label(title, 80), description=description)
