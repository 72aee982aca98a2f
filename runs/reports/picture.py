"""A drawn picture: how it looks, how it stands in a page as SVG or alone as PNG, and what it may
not do.

Text from rows and files is inert in it: no mathematics, no markup, no control characters.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...judges import Estimate
from .charts import BLUE

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#010101"
"""Drawn as the colour of the text around the picture, so that it can be read on light and on dark
pages.
"""
WIDTH = 4.6
"""Inches; narrow, so that its text can still be read when a telephone shrinks it."""

FONT = 9.0
"""Points."""
_RC = {
    "svg.fonttype": "none",
    "svg.hashsalt": "judgewright",
    "text.parse_math": False,
    "font.size": FONT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A drawn figure with the words for those who cannot see it."""

    figure: Figure
    title: str
    description: str

    def to_svg(self, *, prefix: str = "picture") -> str:
        """Return an `<svg>` element; give each one of a page a prefix of its own, as ids may not
        meet.
        """
        out = io.BytesIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        with house_style():
            self.figure.savefig(out, format="svg", transparent=True, metadata=nothing)
        return _for_a_page(out.getvalue(), prefix, self.title, self.description)

    def to_png(self, *, dpi: int = 150) -> bytes:
        """Return a PNG file's content, on white."""
        out = io.BytesIO()
        with house_style():
            self.figure.savefig(
                out, format="png", dpi=dpi, facecolor="white", metadata={"Software": None}
            )
        return out.getvalue()


def new_figure(height: float, *, constrained: bool = True) -> Figure:
    """Return an empty figure of our width; height in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(WIDTH, height), layout="constrained" if constrained else None)


@contextmanager
def house_style() -> Iterator[None]:
    """Draw as we do, whatever the person's own matplotlibrc says, and leave their settings as they
    were.
    """
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        # The page has letters that the font for measuring lacks.
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_RC)  # pyright: ignore[reportCallIssue, reportArgumentType]  # its keys are a Literal
        yield


def _for_a_page(svg: bytes, prefix: str, title: str, description: str) -> str:
    """Make matplotlib's file an element that disturbs nothing around it.

    Its style sheet would reach the whole page, its ids would meet those of the next picture, and
    its colours and font would ignore the page's.
    """
    from xml.etree import ElementTree

    root = ElementTree.fromstring(svg)  # noqa: S314  # our own file, made a moment ago
    for parent in [*root.iter()]:
        for child in [*parent]:
            if child.tag.endswith("}style"):
                parent.remove(child)
    wanted = set(re.findall(r'(?:url\(|href=")#(\w+)', svg.decode("utf-8")))
    for element in root.iter():
        element.tag = element.tag.partition("}")[2]
        element.text = (element.text or "").strip()
        element.tail = None
        _adapt(element, prefix, wanted)
    _introduce(root, prefix, title, description)
    return ElementTree.tostring(root, encoding="unicode")


def _adapt(element: Element, prefix: str, wanted: set[str]) -> None:
    found = {
        name.partition("}")[2] or name: " ".join(value.split())
        for name, value in element.attrib.items()
    }
    element.attrib.clear()
    for name, value in found.items():
        if name == "id":
            if value in wanted:
                element.set("id", f"{prefix}-{value}")
        elif name in ("href", "clip-path"):
            element.set(name, value.replace("#", f"#{prefix}-", 1))
        elif name == "style":
            inked = value.replace(INK, "currentColor")
            element.set(
                "style", re.sub("font-family: [^;]+", "font-family: system-ui, sans-serif", inked)
            )
        else:
            element.set(name, value)


def _introduce(root: Element, prefix: str, title: str, description: str) -> None:
    from xml.etree.ElementTree import Element

    for name in ("width", "height"):
        root.set(name, f"{float(root.attrib[name].removesuffix('pt')) * 4 / 3:.0f}")
    root.set("xmlns", "http://www.w3.org/2000/svg")
    root.set("style", "stroke-linejoin: round; stroke-linecap: butt; color: inherit")
    root.set("role", "img")
    root.set("aria-label", title)
    root.set("aria-describedby", f"{prefix}-said")
    for name, text in (("desc", description), ("title", title)):
        words = Element(name)
        words.text = text
        if name == "desc":
            words.set("id", f"{prefix}-said")
        root.insert(0, words)


def draw_estimate(axes: Axes, at: float | None, estimate: Estimate, *, upright: bool) -> None:
    """Draw a value and its interval; without an interval the dot is hollow, without a value there
    is none.
    """
    if at is None or estimate.value is None:
        if not upright:
            axes.annotate(
                "n/a", (0.5, at or 0), xycoords=("axes fraction", "data"), va="center", ha="center"
            )
        return
    hollow = estimate.low is None or estimate.high is None
    if estimate.low is not None and estimate.high is not None:
        span = ((at, at), (estimate.low, estimate.high))
        axes.plot(
            *(span if upright else span[::-1]), color=BLUE, linewidth=1.6, solid_capstyle="butt"
        )
    place = (at, estimate.value) if upright else (estimate.value, at)
    axes.plot(
        *place, marker="o", markersize=5, color=BLUE, markerfacecolor="none" if hollow else BLUE
    )
