"""The pictures of a run, a benchmark and a judge's slices, as SVG text.

They are drawn from numbers that the journal, or a function of the rooms below, already holds; each
picture says them in words too, for those who cannot see it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...judges import BoolArray, Estimate, FloatArray
from ...judges.metrics.cascade_band import ChosenBand
from ...judges.metrics.reliability_bins import Bin
from ...optimize.events import ProposalRecord, StepTaken
from ...slices import SliceReport
from ...slices.inspect_slice import MeasuredSlice
from ..actions.run_summary import RunSummary
from .drawing import BLUE, GREEN, ORANGE, WIDTH, Drawing, Scale, cells, fit_label, no_picture
from .numbers import number, p_value

Payload = Mapping[str, Any]  # Any: JSON out of the journal

MOST_SLICES = 12
MOST_WRITTEN = 10
"""Grades up to which the cells of a confusion table carry their numbers."""
MOST_STEPS = 300
"""Thresholds drawn of a curve that has more."""
NAME_CELLS = 60
"""Cells of a name that stands above its marks, with what is said of it."""
_COLOURS = (BLUE, ORANGE, GREEN)
"""Of the arms, in their order."""


def run_charts(run: RunSummary, *, yes_or_no: bool) -> dict[str, str]:
    """Draw what a run's events have so far, each chart by its name.

    Args:
        run: The run, which may be under way.
        yes_or_no: Whether its judge decides between two labels, so that there is a table of
            decisions.
    """
    drawn: dict[str, str] = {}
    if run.search_start is not None:
        drawn["trajectory"] = trajectory(run)
    if run.slice is not None and run.slice.slices:
        drawn["slices"] = slices_chart(run.slice.slices)
    closing = run.closing
    if yes_or_no and closing is not None and closing.after is not None:
        drawn["confusion"] = confusion(closing.before.pooled, closing.after.pooled)
    elif yes_or_no and run.benchmark is not None:
        drawn["confusion"] = confusion(run.benchmark)
    return drawn


def trajectory(run: RunSummary) -> str:
    """Draw the loss and the metrics of each step, of every arm; for a run under way as well."""
    first = run.search_start
    if first is None:
        return no_picture("Course of the run", "no prompt has been measured yet")
    target = run.started.objective.target if run.started else ""
    metrics = sorted(first.metrics, key=lambda metric: (metric != target, metric))
    arms = arms_of(run.steps)
    start = Point(
        step=0, loss=first.loss, metrics=first.metrics, result="the prompt as it was", kept=True
    )
    points = [start, *points_of(run.steps)]
    measured = [point for point in points if point.loss is not None]
    losses: list[str] = []
    for point in measured:
        mark = " (kept)" if point.kept and point.step and not arms else ""
        losses.append(f"{point.name} {number(point.loss, 4)}{mark}")
    rows = f" of {run.split.rows['validation']:,} rows" if run.split else ""
    where = "rows that prompts were not written from" if arms else f"the validation set{rows}"
    drawing = Drawing(
        178 + 76 * len(metrics),
        f"Course of the run on {where}",
        f"Loss by step: {'; '.join(losses)}",
    )
    across = Scale((0, max([1, *(point.step for point in points)])), 62, WIDTH - 16)
    kinds = [("start or kept", GREEN, True), ("not kept", ORANGE, False)]
    if arms:
        kinds = [(arm, _COLOURS[i % len(_COLOURS)], True) for i, arm in enumerate(arms)]
    drawing.legend(kinds, after="× never judged")
    loss_values = [(point, point.loss) for point in measured]
    _panel(drawing, "loss", loss_values, across, top=52, height=80, arms=arms)
    for point in points:
        if point.loss is None:
            at = {"x": across(point.step), "y": 150.0, "text_anchor": "middle"}
            drawing.add("text", "refused", f"{point.name}: {point.result}", **at).text = "×"
    for i, metric in enumerate(metrics):
        values = [(point, point.metrics.get(metric)) for point in measured]
        _panel(drawing, metric, values, across, top=180 + 76 * i, height=44, arms=arms)
    foot = 166 + 76 * len(metrics)
    for i in range(0, int(across.high) + 1, 1 + int(across.high) // 12):
        drawing.text(across(i), foot, str(i) if i else "start", "quiet", text_anchor="middle")
    drawing.text(4, foot, "step", "quiet")
    return drawing.svg()


def arms_of(steps: Iterable[StepTaken]) -> list[str]:
    """Return the arms of a run in their order; none of a run of an earlier version."""
    return list(dict.fromkeys(step.arm for step in steps if step.arm is not None))


def points_of(steps: Iterable[StepTaken]) -> list[Point]:
    """Return what each step of each arm came to on rows that it was not written from, all folds
    together.
    """
    together: dict[tuple[str, int], list[StepTaken]] = {}
    judged_itself = {step.arm for step in steps} - {step.arm for step in steps if step.fold}
    for step in steps:
        if step.fold is not None or step.arm in judged_itself:
            together.setdefault((step.arm or "", step.step), []).append(step)
    points: list[Point] = []
    latest: dict[tuple[str, int | None], ProposalRecord] = {}
    for (arm, number_of_step), folds in together.items():
        new = [one for one in folds if one.proposal.loss is not None]
        latest |= {(arm, one.fold): one.proposal for one in new}
        # Where a fold has nothing new it stays where it was.
        own = [latest[arm, one.fold] for one in folds if (arm, one.fold) in latest]
        judged = own if new else []
        shares = [one.validation_rows or 1 for one in judged]
        metrics: dict[str, float | None] = {}
        for metric in judged[0].metrics if judged else ():
            values = [one.metrics[metric] for one in judged]
            metrics[metric] = _mean(values, shares)
        points.append(
            Point(
                step=number_of_step,
                loss=_mean([one.loss for one in judged], shares) if judged else None,
                metrics=metrics,
                result=(judged or [folds[0].proposal])[0].result,
                kept=any(one.kept for one in judged),
                arm=arm,
            )
        )
    return points


def _mean(values: Sequence[float | None], shares: Sequence[int]) -> float | None:
    known = [
        (value, share) for value, share in zip(values, shares, strict=True) if value is not None
    ]
    total = sum(share for _, share in known)
    return sum(value * share for value, share in known) / total if total else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What there was after a step; step 0 is the first prompt."""

    step: int
    loss: float | None
    """None where nothing was judged."""
    metrics: Mapping[str, float | None]
    result: str
    kept: bool
    arm: str = ""
    """Empty for the first prompt, and in runs of earlier versions."""

    @property
    def name(self) -> str:
        """What it is called."""
        step = f"step {self.step}" if self.step else "start"
        return f"{self.arm}, {step}" if self.arm else step


def _panel(
    drawing: Drawing,
    name: str,
    values: Sequence[tuple[Point, float | None]],
    across: Scale,
    *,
    top: float,
    height: float,
    arms: Sequence[str],
) -> None:
    """Draw one quantity over the steps; a line follows each arm, or the prompt that was best so
    far.
    """
    points = [(point, value) for point, value in values if value is not None]
    up = Scale((value for _, value in points), top + height, top)
    drawing.text(62, top - 12, name)
    drawing.grid(up, dict.fromkeys((up.high, up.low) if points else ()), left=62, digits=".3f")
    colours = {arm: _COLOURS[i % len(_COLOURS)] for i, arm in enumerate(arms)} or {"": GREEN}
    for arm, colour in colours.items():
        own = [(p, value) for p, value in points if p.kept and p.arm in ("", arm)]
        best = [(across(point.step), up(value)) for point, value in own]
        if best:
            path = _path([*best, (across(across.high), best[-1][1])], stepped=True)
            drawing.add("path", "best", d=path, fill="none", stroke=colour, stroke_width=1.6)
    for point, value in points:
        kind, colour = ("kept", GREEN) if point.kept else ("refused", ORANGE)
        colour = colours.get(point.arm, colour) if point.arm else colour
        tip = f"{point.name}: {name} {number(value, 4)}; {point.result}"
        drawing.dot(across(point.step), up(value), kind, colour, tip, filled=point.kept)


def _path(points: Sequence[tuple[float, float]], *, stepped: bool) -> str:
    """Return the `d` of a line through points; a stepped one keeps its height up to the next."""
    (x, y), *rest = points
    path = f"M{x:.5g} {y:.5g}"
    for x, after in rest:
        path += f"L{x:.5g} {y:.5g}" if stepped and after != y else ""
        path += f"L{x:.5g} {after:.5g}"
        y = after
    return path


def confusion(before: Payload, after: Payload | None = None) -> str:
    """Draw the decisions of one benchmark, or of two side by side.

    Args:
        before, after: As `Benchmark.to_json` gives them and the journal holds them.
    """
    tables: list[list[list[int]]] = []
    for body in (before, *([after] if after else [])):
        cells_of = body["confusion"]
        tables.append([[cells_of["tn"], cells_of["fp"]], [cells_of["fn"], cells_of["tp"]]])
    return confusion_chart(tables[0], ("no", "yes"), after=tables[1] if after else None)


def confusion_chart(
    counts: Sequence[Sequence[int]],
    names: Sequence[str],
    *,
    after: Sequence[Sequence[int]] | None = None,
) -> str:
    """Draw a confusion table of any number of labels: people in lines, the judge in columns.

    Args:
        counts: Shape (K, K).
        names: Of the K labels, in order.
        after: The table of a later judge, to stand beside it.
    """
    k, labels = len(names), [fit_label(name, 12) for name in names]
    sides = [("", counts)] if after is None else [("before: ", counts), ("after: ", after)]
    described: list[str] = []
    for side, table in sides if k <= MOST_WRITTEN else ():
        for name, line in zip(labels, table, strict=True):
            parts = zip(labels, line, strict=True)
            described += [
                f"{side}people {name}, judge {other}: {count}" for other, count in parts if count
            ]
    width = 7.5 * max(map(cells, labels))
    room = WIDTH / len(sides)
    size = min(86.0, (room - width - 28) / k)
    top = 34 + (5.5 * max(map(cells, labels)) if width > size else 0)
    height = top + min(size, 56.0) * k + 8
    drawing = Drawing(height, f"Confusion matrix of {k} labels", "; ".join(described))
    for i, (side, table) in enumerate(sides):
        drawing.text(4 + room * i, 14, f"{side}people \\ judge", "quiet")
        _draw_matrix(drawing, table, labels, start=20 + width + room * i, top=top, size=size)
    return drawing.svg()


def _draw_matrix(
    drawing: Drawing,
    counts: Sequence[Sequence[int]],
    names: Sequence[str],
    *,
    start: float,
    top: float,
    size: float,
) -> None:
    """Draw the cells of a confusion table, the stronger the larger their share of the line."""
    tall, turned = min(size, 56.0), 7.5 * max(map(cells, names)) > size
    for i, (name, line) in enumerate(zip(names, counts, strict=True)):
        x, y, total = start + size * i, top + tall * i, sum(line)
        drawing.text(start - 6, y + tall / 2 + 4, name, text_anchor="end")
        middle = {"text_anchor": "middle"}
        if turned:
            middle = {"transform": f"rotate(-50 {x + size / 2:.5g} {top - 6:.5g})"}
        drawing.text(x + size / 2, top - 6, name, **middle)
        for j, count in enumerate(line):
            share, x = count / total if total else 0.0, start + size * j
            tip = f"people {name}, judge {names[j]}: {count:,} of {total:,}"
            kind, colour = ("right", BLUE) if i == j else ("wrong", ORANGE)
            box = {"x": x, "y": y, "width": size - 2, "height": tall - 2, "rx": 3.0}
            look = {"fill": colour, "fill_opacity": f"{0.08 + 0.42 * share:.3f}"}
            drawing.add("rect", kind, tip, **box, **look)
            if len(names) <= MOST_WRITTEN:
                written = {"text_anchor": "middle", "font_size": "11" if len(names) > 6 else "12"}
                drawing.text(x + size / 2, y + tall / 2, f"{count:,}", **written)
                if total:
                    drawing.text(
                        x + size / 2, y + tall / 2 + 13, f"{share:.0%}", "quiet", **written
                    )


def reliability(bins: Sequence[Bin]) -> str:
    """Draw how often people say yes where the judge's probability of yes lies in a bin, with
    Wilson's interval.

    Args:
        bins: As `reliability_bins` and `bins_of_verdicts` give them.
    """
    described: list[str] = []
    for one in bins:
        if one.share.n:
            share = f"{one.share.n} rows, {number(one.share.value, 2)} positive"
            described.append(f"{one.low:.2g} to {one.high:.2g}: {share}")
    if not described:
        return no_picture("Reliability", "no verdict carries a probability")
    title = "Reliability: share people call positive, by the judge's probability"
    drawing = Drawing(300, title, "; ".join(described))
    across, up = Scale((0, 1), 46, WIDTH - 14), Scale((0, 1), 252, 34)
    drawing.grid(up, (0.0, 0.25, 0.5, 0.75, 1.0))
    drawing.ticks(across, 270, (0.0, 0.25, 0.5, 0.75, 1.0))
    drawing.line(across(0), up(0), across(1), up(1), "diagonal", stroke_dasharray="4 4")
    for one in bins:
        share, value = one.share, one.share.value
        if one.probability is None or value is None:
            continue
        x = across(one.probability)
        if share.low is not None and share.high is not None:
            ends = x, up(share.low), x, up(share.high)
            drawing.line(*ends, "interval", stroke=BLUE, stroke_width="1.6")
        tip = f"probability {one.low:.2g} to {one.high:.2g}: {value:.0%} of {share.n:,} rows"
        drawing.dot(x, up(value), "bin", BLUE, tip)
    drawing.legend([("the judge", BLUE, True)], after="upwards: people's yes")
    middle = (across(0) + across(1)) / 2
    drawing.text(middle, 292, "judge's probability of yes", "quiet", text_anchor="middle")
    return drawing.svg()


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

    def describe(self, used: float | None) -> str:
        """Say where F1 is highest, and which threshold is in use."""
        at, highest = self.threshold[self.best], self.f1[self.best]
        in_use = "No single threshold gives the verdicts"
        if used is not None:
            in_use = f"The threshold in use is {used:g}"
        return f"F1 is highest on these rows at {at:.4g}, where it is {highest:.3f}. {in_use}."


def threshold_curve(label: BoolArray, score: FloatArray) -> ThresholdCurve:
    """Return precision, recall and F1 at each distinct score; some row is labelled positive."""
    from sklearn import metrics  # pyright: ignore[reportMissingTypeStubs]

    curve = metrics.precision_recall_curve(label, score)  # pyright: ignore[reportUnknownMemberType]
    precision, recall, threshold = curve
    both = precision + recall
    f1 = np.divide(2 * precision * recall, both, out=np.zeros_like(both), where=both > 0)
    # Behind the last threshold the library adds a point where nothing is positive.
    return ThresholdCurve(
        threshold=threshold, precision=precision[:-1], recall=recall[:-1], f1=f1[:-1]
    )


def f1_by_threshold(curve: ThresholdCurve, *, used: float | None = None) -> str:
    """Draw precision, recall and F1 over the threshold, with the threshold in use marked."""
    positions = np.unique(np.linspace(0, len(curve.threshold) - 1, MOST_STEPS).round().astype(int))
    drawing = Drawing(270, "Precision, recall and F1 by threshold", curve.describe(used))
    across = Scale((float(curve.threshold[0]), float(curve.threshold[-1])), 46, WIDTH - 14)
    up = Scale((0, 1), 220, 34)
    drawing.grid(up, (0.0, 0.5, 1.0))
    few = len(curve.threshold) <= 12
    drawing.ticks(across, 238, curve.threshold.tolist() if few else across.three)
    drawing.text((46 + WIDTH) / 2, 258, "positive at or above", "quiet", text_anchor="middle")
    # Between two scores every threshold cuts alike; grades have nothing between them.
    stepped = not (few and bool((curve.threshold % 1 == 0).all()))
    kinds = (("precision", BLUE, "5 2"), ("recall", ORANGE, "1 3"), ("f1", GREEN, "none"))
    for name, colour, dashes in kinds:
        values = getattr(curve, name)[positions]
        points = [
            (across(t), up(v)) for t, v in zip(curve.threshold[positions], values, strict=True)
        ]
        look = {"fill": "none", "stroke": colour, "stroke_width": 1.8, "stroke_dasharray": dashes}
        drawing.add("path", name, name, d=_path(points, stepped=stepped), **look)
    if used is not None and across.low <= used <= across.high:
        drawing.line(across(used), up(0), across(used), up(1), "used")
    after = "" if used is None else f"| in use: {used:g}"
    names = [(name.upper() if name == "f1" else name, colour, True) for name, colour, _ in kinds]
    drawing.legend(names, after=after)
    return drawing.svg()


def cascade_curve(band: ChosenBand) -> str:
    """Draw agreement by cost, or by the slow model's share, and the band that was chosen."""
    priced = band.point.cost is not None
    what = "dollars for a thousand rows" if priced else "share of rows for the slow model"
    chosen = f"chosen: {band.point.low:.3g} to {band.point.high:.3g}"
    drawing = Drawing(270, f"Agreement with people by {what}", chosen)
    at = [(one.cost or 0.0) if priced else one.share for one in band.curve]
    across = Scale(at, 46, WIDTH - 22)
    up = Scale((one.agreement for one in band.curve), 220, 34)
    drawing.grid(up, up.three, digits=".3f")
    drawing.ticks(across, 238, across.three)
    drawing.text((46 + WIDTH) / 2, 258, what, "quiet", text_anchor="middle")
    points = [(across(x), up(one.agreement)) for x, one in zip(at, band.curve, strict=True)]
    line = _path(points, stepped=False)
    drawing.add("path", "curve", d=line, fill="none", stroke=BLUE, stroke_width=1.8)
    drawing.dot(*points[band.curve.index(band.point)], "used", ORANGE, chosen)
    drawing.legend([(chosen, ORANGE, True)])
    return drawing.svg()


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRow:
    """A metric on one slice, one value or one judge, as a picture shows it."""

    name: str
    value: Estimate
    rest: float | None = None
    """The metric elsewhere."""
    sure: bool = True
    """Whether its dot is full."""
    remark: str = ""
    """What else is said where one points at it."""


def slices_chart(slices: Sequence[Payload], *, overall: Estimate | None = None) -> str:
    """Draw the metric on each slice that a search found.

    Args:
        slices: As `FoundSlice.to_json` gives them and the journal's event `slice` holds them.
        overall: Of all rows, drawn as a line.
    """
    rows: list[MetricRow] = []
    for one in slices[:MOST_SLICES]:
        estimate = Estimate(value=one["value"], low=one["low"], high=one["high"], n=one["n"])
        sure = bool(one["confirmed"])
        remark = f"p {p_value(one['p'])}, {'confirmed' if sure else 'not confirmed'}"
        rows.append(
            MetricRow(
                name=one["predicate"], value=estimate, rest=one["rest"], sure=sure, remark=remark
            )
        )
    if not rows:
        return no_picture("Slices", "no slice was searched, or none was found")
    return metric_rows(f"{slices[0]['metric']} by slice", rows, overall=overall)


def plot_found(report: SliceReport) -> str:
    """Draw the slices that a search found beside all rows."""
    return slices_chart([one.to_json() for one in report.slices], overall=report.overall)


def plot_measured(measured: MeasuredSlice) -> str:
    """Draw a slice that a person chose beside the rows elsewhere."""
    values = {str(measured.predicate): measured.value, "elsewhere": measured.rest}
    return metric_intervals(f"{measured.metric} by slice", values)


def metric_intervals(
    metric: str, values: Mapping[str, Estimate], *, overall: Estimate | None = None
) -> str:
    """Draw a metric of judges, or on each value of a column, with its interval and n.

    Args:
        metric: Its name.
        values: From the top in this order.
        overall: Of all rows, drawn as a line.
    """
    rows = [MetricRow(name=name, value=value) for name, value in values.items()]
    return metric_rows(metric, rows, overall=overall)


def metric_rows(title: str, rows: Sequence[MetricRow], *, overall: Estimate | None = None) -> str:
    """Draw one line a row: the metric with its interval, a tick for the rest of the data, and how
    many rows there are.
    """
    drawing = Drawing(64 + 42 * len(rows), title, "; ".join(map(_describe_row, rows)))
    estimates = [row.value for row in rows] + ([overall] if overall else [])
    ends = [v for one in estimates for v in (one.value, one.low, one.high) if v is not None]
    rests = [row.rest for row in rows if row.rest is not None]
    across = Scale((0, 1, *ends, *rests), 8, WIDTH - 70)
    kinds: list[tuple[str, str, bool]] = []
    if not all(row.sure for row in rows):
        kinds = [("confirmed", BLUE, True), ("not confirmed", BLUE, False)]
    drawing.legend(kinds, after="| rest of the data" if rests else "")
    drawing.text(WIDTH - 8, 16, "n", "quiet", text_anchor="end")
    foot = 48.0 + 42 * len(rows)
    if overall is not None and overall.value is not None:
        x = across(overall.value)
        drawing.line(x, 24, x, foot - 8, "overall", stroke_dasharray="4 4")
        drawing.text(x, 20, f"all {overall.value:.3f}", "quiet", text_anchor="middle")
    for i, row in enumerate(rows):
        y = 58.0 + 42 * i
        drawing.text(4, y - 14, fit_label(row.name, NAME_CELLS))
        drawing.text(WIDTH - 8, y + 4, f"{row.value.n:,}", "quiet", text_anchor="end")
        _draw_estimate(drawing, across, y, row)
    drawing.ticks(across, foot + 6, across.three)
    return drawing.svg()


def _draw_estimate(drawing: Drawing, across: Scale, y: float, row: MetricRow) -> None:
    """Draw a value with its interval; without one the dot is hollow, without a value there is
    none.
    """
    drawing.line(across(across.low), y, across(across.high), y, "axis")
    if row.rest is not None:
        x = across(row.rest)
        drawing.line(x, y - 7, x, y + 7, "rest", stroke_width="2")
    one = row.value
    if one.value is None:
        middle = across((across.low + across.high) / 2)
        drawing.text(middle, y + 4, "n/a", text_anchor="middle")
        return
    has_interval = one.low is not None and one.high is not None
    if one.low is not None and one.high is not None:
        ends = across(one.low), y, across(one.high), y
        drawing.line(*ends, "slice", stroke=BLUE, stroke_width="2")
    tip = f"{_describe_row(row)}{f'; {row.remark}' if row.remark else ''}"
    drawing.dot(across(one.value), y, "slice", BLUE, tip, filled=has_interval and row.sure)


def _describe_row(row: MetricRow) -> str:
    words = f"{fit_label(row.name, 200)}: {row.value}, n {row.value.n:,}"
    return words if row.rest is None else f"{words}, {row.rest:.4f} elsewhere"
