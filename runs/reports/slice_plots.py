"""One picture of slices: the metric with its interval, the errors of each kind, and the rows behind
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...judges import BoolArray, Estimate, InputError, JudgedDataset, write_beside
from ...slices import SliceReport
from ...slices.inspect_slice import MeasuredSlice

# The look of every picture, and what makes text in it inert, live in one file.
from .charts import BLUE, ORANGE, cells, fit_label
from .picture import INK, WIDTH, Picture, draw_estimate, house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME_CELLS = 60
"""Places of one line of a slice's name, which stands above its marks."""
NAME_LINES = 2
"""Lines a name may take; longer ones are cut."""
LINE, MARKS = 0.16, 0.34
"""Inches that a line of the name takes, and that the marks take."""
TOP, BOTTOM = 0.34, 0.5
BAR = 0.16
"""Inches."""
FORMATS = (".svg", ".png")


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceBar:
    """What the picture shows of one slice, or of all rows."""

    name: str
    value: Estimate
    """The metric; its n counts the rows it is about, of all rows every scored one."""
    rest: float | None
    """The metric elsewhere; None for all rows."""
    support: int
    """Scored rows."""
    fp: int
    fn: int
    state: str = ""
    """Whether it is confirmed, and on how many rows the metric is, in words."""


def tabulate_found(report: SliceReport, judged: JudgedDataset) -> list[SliceBar]:
    """Return the numbers of `plot_found`: all rows, then each slice in its order."""
    bars = [_bar("all rows", report.overall, None, judged, np.ones(len(judged.scored), np.bool_))]
    for i, found in enumerate(report.slices, 1):
        reason = "" if found.low is not None else "all rows are one group"
        value = Estimate(
            value=found.value, low=found.low, high=found.high, n=found.n, reason=reason
        )
        member = found.predicate.mask(judged.rows)
        state = f"{found.standing}, n = {found.n:,}"
        bars.append(_bar(f"{i}  {found.predicate}", value, found.rest, judged, member, state))
    return bars


def tabulate_measured(measured: MeasuredSlice, judged: JudgedDataset) -> list[SliceBar]:
    """Return the numbers of `plot_measured`: the slice, then the rows elsewhere."""
    member = measured.predicate.mask(judged.rows)
    inside = _bar(
        str(measured.predicate),
        measured.value,
        measured.rest.value,
        judged,
        member,
        f"chosen by hand, n = {measured.value.n:,}",
    )
    return [
        inside,
        _bar("elsewhere", measured.rest, None, judged, ~member, f"n = {measured.rest.n:,}"),
    ]


def plot_found(report: SliceReport, judged: JudgedDataset) -> Picture:
    """Draw the slices that a search found beside all rows."""
    return draw_slices(report.metric, tabulate_found(report, judged))


def plot_measured(measured: MeasuredSlice, judged: JudgedDataset) -> Picture:
    """Draw a slice that a person chose beside the rows elsewhere."""
    return draw_slices(measured.metric, tabulate_measured(measured, judged))


def draw_slices(metric: str, bars: Sequence[SliceBar]) -> Picture:
    """Draw one line a slice: the metric with its interval, false positives and negatives, and
    rows.
    """
    names = [_lines(bar) for bar in bars]
    # The scale from top to bottom is in inches.
    ends = np.cumsum([0.04, *(LINE * len(lines) + MARKS for lines in names)])
    height = TOP + BOTTOM + float(ends[-1])
    with house_style():
        figure = new_figure(height, constrained=False)
        panels = figure.subplots(1, 3, sharey=True, width_ratios=(5, 3.4, 1.6))
        edges = {
            "bottom": BOTTOM / height,
            "top": 1 - TOP / height,
            "left": 0.16 / WIDTH,
            "right": 1 - 0.16 / WIDTH,
        }
        figure.subplots_adjust(wspace=0.16, **edges)
        most = max(bar.support for bar in bars)
        for bar, lines, start, end in zip(bars, names, ends, ends[1:], strict=False):
            for k, line in enumerate(lines):
                place = {
                    "xycoords": ("axes fraction", "data"),
                    "va": "center",
                    "annotation_clip": False,
                }
                panels[0].annotate(line, (0, start + LINE * (k + 0.5)), **place)
            at = float(end) - 0.6 * MARKS
            draw_estimate(panels[0], at, bar.value, upright=False)
            if bar.rest is not None:
                ends_of_tick = (at - BAR / 2, at + BAR / 2)
                panels[0].plot(
                    (bar.rest, bar.rest), ends_of_tick, color=INK, alpha=0.8, linewidth=1.4
                )
            left = 0.0
            for count, colour in ((bar.fp, ORANGE), (bar.fn, BLUE)):
                share = 100 * count / bar.support if bar.support else 0.0
                panels[1].barh(
                    at, share, left=left, height=BAR, color=colour, alpha=0.85, linewidth=0
                )
                left += share
            width = bar.support / most if most else 0.0
            panels[2].barh(at, width, height=BAR, color=INK, alpha=0.2, linewidth=0)
            place = {"xycoords": ("axes fraction", "data"), "va": "center", "ha": "right"}
            panels[2].annotate(f"{bar.support:,}", (0.97, at), **place)
        _finish(panels, metric, float(ends[-1]))
    return Picture(
        figure=figure,
        title=fit_label(f"{metric} by slice", 80),
        description=_description(metric, bars),
    )


def write_picture(picture: Picture, path: Path) -> None:
    """Write a picture as SVG or PNG, by the file's ending.

    Raises:
        InputError: The ending is neither, or the file cannot be written.
    """
    kind = path.suffix.lower()
    if kind not in FORMATS:
        raise InputError(f"a picture is .svg or .png, not {path.name!r}")
    try:
        if kind == ".svg":
            write_beside(path, picture.to_svg(prefix="slices") + "\n")
        else:
            path.write_bytes(picture.to_png())
    except OSError as error:
        raise InputError(f"cannot write the picture to {str(path)!r}: {error.strerror}") from None


def _bar(
    name: str,
    value: Estimate,
    rest: float | None,
    judged: JudgedDataset,
    member: BoolArray,
    state: str = "",
) -> SliceBar:
    y, p = judged.positive[member], judged.predicted[member]
    return SliceBar(
        name=name,
        value=value,
        rest=rest,
        support=int(member.sum()),
        fp=int((p & ~y).sum()),
        fn=int((~p & y).sum()),
        state=state,
    )


def _lines(bar: SliceBar) -> list[str]:
    """A slice's name and state on one line or two; a name that is too long is cut, the state never
    is.
    """
    ending = f", {bar.state}" if bar.state else ""
    name = fit_label(bar.name, NAME_CELLS * NAME_LINES)
    if cells(name + ending) <= NAME_CELLS:
        return [name + ending]
    first = _first_line(name)
    rest = name[len(first) :].strip()
    if not rest:
        return [first, bar.state]
    return [first, fit_label(rest, NAME_CELLS - cells(ending)) + ending]


def _first_line(name: str) -> str:
    """Return what of a name stands on its first line, up to a blank where there is one."""
    widths = accumulate(cells(letter) for letter in name)
    fits = name[: sum(width <= NAME_CELLS for width in widths)]
    return fits if fits == name or " " not in fits else fits.rpartition(" ")[0]


def _finish(panels: Sequence[Axes], metric: str, height: float) -> None:
    from matplotlib.patches import Patch

    values, errors, rows = panels
    for axes in panels:
        axes.set(ylim=(height, 0))
        # A name runs across all three panels.
        axes.patch.set_visible(False)
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0, labelleft=False)
    values.set_xlabel(fit_label(f"{metric} (tick: rest of the data)", 40))
    values.grid(axis="x", color=INK, alpha=0.15, linewidth=0.6)
    values.locator_params(axis="x", nbins=5)
    errors.set_xlabel("errors, % of rows")
    errors.set_xlim(left=0)
    errors.locator_params(axis="x", nbins=4)
    rows.set(xlabel="rows", xlim=(0, 1), xticks=())
    named = ((ORANGE, "false positives"), (BLUE, "false negatives"))
    kinds = [Patch(color=colour, alpha=0.85, label=kind) for colour, kind in named]
    panels[0].figure.legend(
        handles=kinds, loc="upper left", ncols=2, frameon=False, borderaxespad=0.2
    )


def _description(metric: str, bars: Sequence[SliceBar]) -> str:
    said = []
    for bar in bars:
        rest = "" if bar.rest is None else f", {bar.rest:.4f} elsewhere"
        state = f", {bar.state}" if bar.state else ""
        counts = f"{bar.support} rows, {bar.fp} false positives, {bar.fn} false negatives"
        said.append(
            f"{fit_label(bar.name, 300)}: {fit_label(metric)} {bar.value}{rest}; {counts}{state}"
        )
    return f"{'. '.join(said)}."
