"""A metric over the versions of a judge and the runs that measured them, with links to these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...optimize.events import Json
from .drawing import BLUE, GREEN, ORANGE, WIDTH, Drawing, Scale
from .numbers import interval, number

_COLOURS = (BLUE, ORANGE, GREEN)
_OTHERS = "currentColor"
_LINE = 18
"""Height of a line of the legend."""
_LEFT = 52.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredVersion:
    """One version of a judge as one run measured it."""

    version: str
    data: str
    """On which rows."""
    model: str
    simulated: bool
    run_id: str
    figure: Json
    """The metric: value, interval, n."""


def versions_chart(metric: str, measured: Sequence[MeasuredVersion]) -> str:
    """Draw a metric of a judge's versions, each dot a run, with its interval.

    Args:
        metric: Its name.
        measured: In the order of the versions.
    """
    versions = list(dict.fromkeys(one.version for one in measured))
    data = list(dict.fromkeys(one.data for one in measured))
    named = dict(zip(data, _COLOURS, strict=False))
    legend = [*named.items(), *([("other rows", _OTHERS)] if len(data) > len(named) else [])]
    top = 20.0 + _LINE * (len(legend) + any(one.simulated for one in measured))
    foot = top + 170.0
    said = "; ".join(map(_describe, measured))
    title = f"{metric.replace('_', ' ')} by version"
    drawing = Drawing(foot + 74, title, said, role="group")
    for i, (words, colour) in enumerate(legend):
        drawing.dot(10, 14 + _LINE * i, "legend", colour)
        drawing.text(20, 18 + _LINE * i, words, "quiet")
    if any(one.simulated for one in measured):
        drawing.text(4, 18 + _LINE * len(legend), "hollow: simulated, made up", "quiet")
    ends = [one.figure[name] for one in measured for name in ("low", "value", "high")]
    up = Scale([end for end in ends if end is not None], foot, top)
    drawing.grid(up, up.three, left=_LEFT, digits=".2f")
    slot = (WIDTH - _LEFT - 8) / len(versions)
    for i, version in enumerate(versions):
        runs = [one for one in measured if one.version == version]
        middle = _LEFT + slot * (i + 0.5)
        turned = {"text_anchor": "end", "transform": f"rotate(-35 {middle:.5g} {foot + 18:.5g})"}
        drawing.text(middle + 4, foot + 18, version, **turned)
        step = min(26.0, slot / len(runs))
        for j, one in enumerate(runs):
            x = middle + step * (j - (len(runs) - 1) / 2)
            _draw_run(drawing, x, up, one, named.get(one.data, _OTHERS))
    return drawing.svg()


def _draw_run(drawing: Drawing, x: float, up: Scale, one: MeasuredVersion, colour: str) -> None:
    figure = one.figure
    if figure["low"] is not None:
        drawing.line(x, up(figure["low"]), x, up(figure["high"]), "interval", stroke=colour)
    drawing.dot(
        x,
        up(figure["value"]),
        "run",
        colour,
        _describe(one),
        filled=not one.simulated,
        href=f"/runs/{one.run_id}",
    )


def _describe(one: MeasuredVersion) -> str:
    spread = interval(one.figure, missing="no interval")
    simulated = " (simulated)" if one.simulated else ""
    return (
        f"{one.version} on {one.data} with {one.model}{simulated}: {number(one.figure['value'])}"
        f" ({spread}), run {one.run_id}"
    )
