"""Small pictures of a run as SVG text: selectable, without script or style sheet, the same each
time.

They are drawn from numbers that the journal, or a function of the rooms below, already holds; each
picture says them in words too, for those who cannot see it. Lines and letters take the colour of
the text around them, so that a picture stands on a light and on a dark page; every shape has a
class that a page's style sheet may colour otherwise.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from ...judges.metrics.reliability_bins import Bin
from ..actions.run_summary import RunSummary
from ..terminal import inline
from .numbers import number, p_value, step_result

Payload = Mapping[str, Any]  # Any: JSON out of the journal

WIDTH = 440.0
"""Units; narrow, so that its text can still be read when a telephone shrinks it."""
FONT = 12.0
BLUE, ORANGE, GREEN = "#1f84c7", "#d55e00", "#009e73"
"""After Okabe and Ito: told apart by the colour-blind, and at 3:1 or better on white and on
near-black.
"""
LABEL_CELLS = 28
"""Cells a label may take (a wide character takes two); longer ones are cut."""
MOST_SLICES = 12
_INK = "currentColor"
_BLOCKS = "▁▂▃▄▅▆▇█"


class _Drawing:
    """An `<svg>` element that is being drawn; text in it is escaped by the XML writer."""

    def __init__(self, height: float, title: str, description: str) -> None:
        shape = {
            "viewBox": f"0 0 {WIDTH:g} {height:g}",
            "width": f"{WIDTH:g}",
            "height": f"{height:g}",
        }
        font = {"font-family": "system-ui, sans-serif", "font-size": f"{FONT:g}", "fill": _INK}
        said = {
            "role": "img",
            "aria-label": f"{fit_label(title, 120)}. {fit_label(description, 4_000)}",
        }
        self._root = Element(
            "svg",
            {"xmlns": "http://www.w3.org/2000/svg", "class": "chart", **shape, **font, **said},
        )

    def add(self, tag: str, kind: str, tip: str = "", /, **given: float | str) -> Element:
        """Add a shape of a class, with what it says when pointed at."""
        named = {
            name.replace("_", "-"): f"{v:.5g}" if isinstance(v, float) else str(v)
            for name, v in given.items()
        }
        shape = SubElement(self._root, tag, {"class": f"chart-{kind}", **named})
        if tip:
            SubElement(shape, "title").text = fit_label(tip, 300)
        return shape

    def text(
        self, x: float, y: float, words: str, kind: str = "label", **given: float | str
    ) -> None:
        """Write a line of text."""
        quiet = {"fill_opacity": "0.72"} if kind == "quiet" else {}
        self.add("text", kind, x=x, y=y, **quiet, **given).text = fit_label(words, 80)

    def line(
        self, x1: float, y1: float, x2: float, y2: float, kind: str, **given: float | str
    ) -> None:
        """Draw a straight line, thin and faint unless told otherwise."""
        look = {"stroke": _INK, "stroke_opacity": "0.3" if kind == "axis" else "0.8", **given}
        self.add("line", kind, x1=x1, y1=y1, x2=x2, y2=y2, **look)

    def dot(
        self, x: float, y: float, kind: str, colour: str, tip: str = "", *, filled: bool = True
    ) -> None:
        """Draw a dot, full or hollow."""
        fill = colour if filled else "none"
        self.add("circle", kind, tip, cx=x, cy=y, r=4.0, fill=fill, stroke=colour, stroke_width=1.6)

    def svg(self) -> str:
        """Return the element as text."""
        return tostring(self._root, encoding="unicode")


class _Scale:
    """Places values along a stretch of the picture."""

    def __init__(self, values: Iterable[float], start: float, end: float) -> None:
        found = list(values)
        self.low, self.high = min(found, default=0.0), max(found, default=1.0)
        self._start, self._end = start, end

    def __call__(self, value: float) -> float:
        if self.high == self.low:
            return (self._start + self._end) / 2
        return self._start + (value - self.low) / (self.high - self.low) * (self._end - self._start)


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
    """Draw the validation loss and the metrics of each step, and which steps were kept; for a run
    under way as well.
    """
    first = run.search_start
    if first is None:
        return _nothing(
            "Course of the run", "no prompt has been measured on the validation rows yet"
        )
    target = run.started.objective.target if run.started else ""
    metrics = sorted(first.metrics, key=lambda metric: (metric != target, metric))
    rows = f" of {run.split.rows['validation']:,} rows" if run.split else ""
    points = [
        _Point(
            step=0, loss=first.loss, metrics=first.metrics, result="the prompt as it was", kept=True
        )
    ]
    for step in run.steps:
        proposal = step.proposal
        if proposal.loss is not None:
            points.append(
                _Point(
                    step=step.step,
                    loss=proposal.loss,
                    metrics=proposal.metrics,
                    result=step_result(proposal.result),
                    kept=proposal.kept,
                )
            )
    losses = []
    for point in points:
        kept = " (kept)" if point.kept and point.step else ""
        losses.append(f"{_name_step(point.step)} {number(point.loss, 4)}{kept}")
    drawing = _Drawing(
        178 + 76 * len(metrics),
        f"Course of the run on the validation set{rows}",
        f"Loss by step: {'; '.join(losses)}",
    )
    across = _Scale((0, max([1, *(step.step for step in run.steps)])), 62, WIDTH - 16)
    _legend(
        drawing,
        (("start or kept", GREEN, True), ("not kept", ORANGE, False)),
        after="× never validated",
    )
    _panel(drawing, "loss", [(point, point.loss) for point in points], across, top=52, height=80)
    for step in run.steps:
        if step.proposal.loss is None:
            tip = f"step {step.step}: {step_result(step.proposal.result)}"
            drawing.add(
                "text", "refused", tip, x=across(step.step), y=150.0, text_anchor="middle"
            ).text = "×"
    for i, metric in enumerate(metrics):
        values = [(point, point.metrics.get(metric)) for point in points]
        _panel(drawing, metric, values, across, top=180 + 76 * i, height=44)
    foot = 166 + 76 * len(metrics)
    for i in range(0, int(across.high) + 1, 1 + int(across.high) // 12):
        drawing.text(across(i), foot, str(i) if i else "start", "quiet", text_anchor="middle")
    drawing.text(4, foot, "step", "quiet")
    return drawing.svg()


def sparkline(values: Sequence[float | None]) -> str:
    """Return one block a value, between the least and the most of them; × where there is none."""
    known = [value for value in values if value is not None]
    height = _Scale(known, 0, len(_BLOCKS) - 1)
    return "".join("×" if value is None else _BLOCKS[round(height(value))] for value in values)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Point:
    """A prompt that was measured on the validation rows."""

    step: int
    """0 for the first prompt."""
    loss: float
    metrics: Mapping[str, float | None]
    result: str
    kept: bool


def _panel(
    drawing: _Drawing,
    name: str,
    values: Sequence[tuple[_Point, float | None]],
    across: _Scale,
    *,
    top: float,
    height: float,
) -> None:
    """Draw one quantity over the steps; a line follows the prompt that was best so far."""
    points = [(point, value) for point, value in values if value is not None]
    up = _Scale((value for _, value in points), top + height, top)
    drawing.text(62, top - 12, name)
    for value in dict.fromkeys((up.high, up.low) if points else ()):
        drawing.line(62, up(value), WIDTH - 8, up(value), "axis")
        drawing.text(54, up(value) + 4, number(value), "quiet", text_anchor="end")
    path, best = "", None
    for point, value in points:
        if point.kept:
            if best is not None:
                path += f"L{across(point.step):.5g} {best:.5g}"
            best = up(value)
            path += f"{'L' if path else 'M'}{across(point.step):.5g} {best:.5g}"
    if best is not None:
        path += f"L{across(across.high):.5g} {best:.5g}"
        drawing.add("path", "best", d=path, fill="none", stroke=GREEN, stroke_width=1.6)
    for point, value in points:
        kind, colour = ("kept", GREEN) if point.kept else ("refused", ORANGE)
        tip = f"{_name_step(point.step)}: {name} {number(value, 4)}; {point.result}"
        drawing.dot(across(point.step), up(value), kind, colour, tip, filled=point.kept)


def _name_step(i: int) -> str:
    return f"step {i}" if i else "start"


def confusion(before: Payload, after: Payload | None = None) -> str:
    """Draw the decisions of one benchmark, or of two side by side: people in lines, the judge in
    columns.

    Args:
        before, after: As `Benchmark.to_json` gives them and the journal holds them.
    """
    sides = [("before", before), *([("after", after)] if after else [])]
    told = "; ".join(
        f"{name}, {body['n']:,} rows:"
        f" {', '.join(f'{count} {cell}' for cell, count in body['confusion'].items())}"
        for name, body in sides
    )
    drawing = _Drawing(200, "Decisions against people's labels", told)
    for y, words in ((90, "no"), (160, "yes")):
        drawing.text(4, y - 7, "people", "quiet")
        drawing.text(4, y + 8, words)
    for i, (name, body) in enumerate(sides):
        left = 58 + 196 * i
        drawing.text(left, 16, f"{name}, n = {body['n']:,}" if after else f"n = {body['n']:,}")
        _table(drawing, left, body["confusion"], before["confusion"] if i else None)
    return drawing.svg()


def _table(
    drawing: _Drawing, left: float, cells: Mapping[str, int], old: Mapping[str, int] | None
) -> None:
    for j, words in enumerate(("judge: no", "judge: yes")):
        drawing.text(left + 90 * j + 43, 42, words, "quiet", text_anchor="middle")
    for i, line in enumerate((("tn", "fp"), ("fn", "tp"))):
        total = sum(cells[cell] for cell in line)
        for j, cell in enumerate(line):
            x, y, share = left + 90.0 * j, 54.0 + 70 * i, cells[cell] / total if total else 0.0
            kind, colour = ("right", BLUE) if i == j else ("wrong", ORANGE)
            tip = (
                f"{cell.upper()}: {cells[cell]:,} of {total:,} rows that people call"
                f" {'yes' if i else 'no'}"
            )
            strong = f"{0.08 + 0.42 * share:.3f}"
            drawing.add(
                "rect",
                kind,
                tip,
                x=x,
                y=y,
                width=86.0,
                height=66.0,
                rx=3.0,
                fill=colour,
                fill_opacity=strong,
            )
            drawing.text(
                x + 43, y + 20, f"{cells[cell]:,}", text_anchor="middle", font_weight="600"
            )
            drawing.text(
                x + 43, y + 37, f"{cell.upper()}, {share:.0%}", "quiet", text_anchor="middle"
            )
            if old:
                moved = f"{cells[cell] - old[cell]:+,}".replace(
                    "-", "−"
                )  # a true minus, as wide as the plus
                drawing.text(x + 43, y + 54, moved, "quiet", text_anchor="middle")


def reliability(before: Sequence[Bin], after: Sequence[Bin] = ()) -> str:
    """Draw how often people say yes where the judge's probability of yes lies in a bin, with
    Wilson's interval.

    Args:
        before, after: As `bins_of_verdicts` gives them.
    """
    first = ("before", ORANGE, before, -2.5) if after else ("the judge", BLUE, before, 0.0)
    sides = [first, *([("after", BLUE, after, 2.5)] if after else [])]
    told = "; ".join(
        f"{name}, {b.low:.2g} to {b.high:.2g}: {b.share.n} rows, {number(b.share.value, 2)}"
        " positive"
        for name, _, bins, _ in sides
        for b in bins
        if b.share.n
    )
    if not told:
        return _nothing("Reliability", "no verdict carries a probability")
    drawing = _Drawing(
        300, "Reliability: share people call positive, by the judge's probability", told
    )
    across, up = _Scale((0, 1), 46, WIDTH - 14), _Scale((0, 1), 252, 34)
    for value in (0.0, 0.25, 0.5, 0.75, 1.0):
        drawing.line(46, up(value), WIDTH - 14, up(value), "axis")
        drawing.text(38, up(value) + 4, f"{value:g}", "quiet", text_anchor="end")
        drawing.text(across(value), 270, f"{value:g}", "quiet", text_anchor="middle")
    drawing.line(across(0), up(0), across(1), up(1), "diagonal", stroke_dasharray="4 4")
    for name, colour, bins, shift in sides:
        for b in bins:
            if b.probability is not None:
                _reliable(drawing, name, colour, b, (across(b.probability) + shift, up))
    _legend(
        drawing,
        [(name, colour, name == "after") for name, colour, *_ in sides],
        after="upwards: people's yes",
    )
    drawing.text(
        (across(0) + across(1)) / 2,
        292,
        "judge's probability of yes",
        "quiet",
        text_anchor="middle",
    )
    return drawing.svg()


def _reliable(
    drawing: _Drawing, name: str, colour: str, b: Bin, place: tuple[float, _Scale]
) -> None:
    (x, up), share = place, b.share
    if share.value is None:
        return
    if share.low is not None and share.high is not None:
        drawing.line(x, up(share.low), x, up(share.high), name, stroke=colour, stroke_width="1.6")
    tip = f"{name}, probability {b.low:.2g} to {b.high:.2g}: {share.value:.0%} of {share.n:,} rows"
    drawing.dot(x, up(share.value), name, colour, tip, filled=name == "after")


def slices_chart(found: Sequence[Payload]) -> str:
    """Draw the metric on each slice that a search found, with its interval, and a tick for the rows
    outside it.

    Args:
        found: As `FoundSlice.to_json` gives them and the journal's event `slice` holds them.
    """
    shown = found[:MOST_SLICES]
    if not shown:
        return _nothing("Slices", "no slice was searched, or none was found")
    metric = shown[0]["metric"]
    told = "; ".join(
        f"{s['predicate']}: {s['value']:.3f} against {s['rest']:.3f}, n {s['n']:,}" for s in shown
    )
    drawing = _Drawing(58 + 42 * len(shown), f"{metric} by slice", told)
    ends = (v for s in shown for v in (s["value"], s["rest"], s["low"], s["high"]) if v is not None)
    across = _Scale((0, 1, *ends), 8, WIDTH - 70)
    _legend(
        drawing, (("confirmed", BLUE, True), ("not confirmed", BLUE, False)), after="| rows outside"
    )
    drawing.text(WIDTH - 8, 16, "n", "quiet", text_anchor="end")
    for i, s in enumerate(shown):
        y = 58.0 + 42 * i
        drawing.text(4, y - 14, fit_label(s["predicate"], 58))
        drawing.line(across(across.low), y, across(across.high), y, "axis")
        drawing.line(across(s["rest"]), y - 7, across(s["rest"]), y + 7, "rest", stroke_width="2")
        if s["low"] is not None and s["high"] is not None:
            drawing.line(
                across(s["low"]), y, across(s["high"]), y, "slice", stroke=BLUE, stroke_width="2.4"
            )
        tip = f"{metric} {s['value']:.3f} here, {s['rest']:.3f} outside; p {p_value(s['p'])}"
        if s.get("bound") is not None:
            tip += f"; surely {s['bound']:.3f}; {s['standing']}"
        drawing.dot(across(s["value"]), y, "slice", BLUE, tip, filled=bool(s["confirmed"]))
        drawing.text(WIDTH - 8, y + 4, f"{s['n']:,}", "quiet", text_anchor="end")
    foot = 48.0 + 42 * len(shown)
    for value in (across.low, (across.low + across.high) / 2, across.high):
        drawing.text(across(value), foot + 6, f"{value:g}", "quiet", text_anchor="middle")
    return drawing.svg()


def _legend(drawing: _Drawing, kinds: Iterable[tuple[str, str, bool]], *, after: str) -> None:
    x = 8.0
    for words, colour, filled in kinds:
        drawing.dot(x, 12, "legend", colour, filled=filled)
        drawing.text(x + 9, 16, words, "quiet")
        x += 26 + 6.4 * len(words)
    drawing.text(x, 16, after, "quiet")


def _nothing(title: str, why: str) -> str:
    drawing = _Drawing(32, title, why)
    drawing.text(4, 20, why, "quiet")
    return drawing.svg()


def cells(text: str) -> int:
    """Return how many cells a text takes; a wide character takes two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def fit_label(text: str, most: int = LABEL_CELLS) -> str:
    """Return one visible line of at most so many cells; XML allows neither U+FFFE nor U+FFFF."""
    line = inline(text[: 4 * most]).replace("\ufffe", r"\u{fffe}").replace("\uffff", r"\u{ffff}")
    if cells(line) <= most and len(text) <= 4 * most:
        return line
    widths = accumulate(cells(letter) for letter in line)
    return f"{line[: sum(width < most for width in widths)]}…"
