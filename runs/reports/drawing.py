"""An SVG picture that is being drawn: shapes, text, scales and legends.

Lines and letters take the colour of the text around them, so that a picture stands on a light and
on a dark page; every shape has a class that a page's style sheet may colour otherwise. There is no
script, no style sheet and no address in a picture, and the same numbers give the same bytes.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

from ...judges import InputError, write_beside
from ..terminal import inline

WIDTH = 440.0
"""Units; narrow, so that its text can still be read when a telephone shrinks it."""
FONT = 12.0
BLUE, ORANGE, GREEN = "#1f84c7", "#d55e00", "#009e73"
"""After Okabe and Ito: told apart by the colour-blind, and at 3:1 or better on white and on
near-black.
"""
LABEL_CELLS = 28
"""Cells a label may take (a wide character takes two); longer ones are cut."""
_INK = "currentColor"


class Drawing:
    """An `<svg>` element; text in it is escaped by the XML writer. One with links is a `group`."""

    def __init__(self, height: float, title: str, description: str, role: str = "img") -> None:
        label = f"{fit_label(title, 120)}. {fit_label(description, 4_000)}"
        self._root = Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "class": "chart",
                "viewBox": f"0 0 {WIDTH:g} {height:g}",
                "width": f"{WIDTH:g}",
                "height": f"{height:g}",
                "font-family": "system-ui, sans-serif",
                "font-size": f"{FONT:g}",
                "fill": _INK,
                "role": role,
                "aria-label": label,
            },
        )

    def add(self, tag: str, kind: str, tip: str = "", /, **given: float | str) -> Element:
        """Add a shape of a class, with what it says when pointed at."""
        attributes = {"class": f"chart-{kind}"}
        for name, value in given.items():
            text = f"{value:.5g}" if isinstance(value, float) else str(value)
            attributes[name.replace("_", "-")] = text
        shape = SubElement(self._root, tag, attributes)
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
        self,
        x: float,
        y: float,
        kind: str,
        colour: str,
        tip: str = "",
        *,
        filled: bool = True,
        href: str = "",
    ) -> None:
        """Draw a dot, full or hollow; one with an address is a link, with room to be hit."""
        root = self._root
        if href:
            link = {"href": href, "aria-label": fit_label(tip, 300)}
            self._root = SubElement(root, "a", link)
            self.add("circle", "room", cx=x, cy=y, r=12.0, fill_opacity="0")
        fill = colour if filled else "none"
        self.add("circle", kind, tip, cx=x, cy=y, r=4.0, fill=fill, stroke=colour, stroke_width=1.6)
        self._root = root

    def ticks(self, across: Scale, y: float, values: Iterable[float]) -> None:
        """Write values below a horizontal scale."""
        for value in values:
            self.text(across(value), y, f"{value:.3g}", "quiet", text_anchor="middle")

    def grid(
        self, up: Scale, values: Iterable[float], *, left: float = 46.0, digits: str = "g"
    ) -> None:
        """Draw faint lines across at values of a vertical scale, each with its number."""
        for value in values:
            self.line(left, up(value), WIDTH - 8, up(value), "axis")
            self.text(left - 8, up(value) + 4, f"{value:{digits}}", "quiet", text_anchor="end")

    def legend(self, kinds: Iterable[tuple[str, str, bool]], *, after: str = "") -> None:
        """Name the kinds of dots at the top: words, colour, and whether they are full."""
        x = 8.0
        for words, colour, filled in kinds:
            self.dot(x, 12, "legend", colour, filled=filled)
            self.text(x + 9, 16, words, "quiet")
            x += 26 + 6.4 * len(words)
        if after:
            self.text(x, 16, after, "quiet")

    def svg(self) -> str:
        """Return the element as text."""
        return tostring(self._root, encoding="unicode")


class Scale:
    """Places values along a stretch of the picture."""

    def __init__(self, values: Iterable[float], start: float, end: float) -> None:
        numbers = list(values)
        self.low, self.high = min(numbers, default=0.0), max(numbers, default=1.0)
        self._start, self._end = start, end

    def __call__(self, value: float) -> float:
        if self.high == self.low:
            return (self._start + self._end) / 2
        return self._start + (value - self.low) / (self.high - self.low) * (self._end - self._start)

    @property
    def three(self) -> tuple[float, float, float]:
        """Its ends and its middle."""
        return self.low, (self.low + self.high) / 2, self.high


def no_picture(title: str, why: str) -> str:
    """Return a line that says why there is nothing to draw."""
    drawing = Drawing(32, title, why)
    drawing.text(4, 20, why, "quiet")
    return drawing.svg()


def write_picture(svg: str, path: Path) -> None:
    """Write a picture to a file.

    Raises:
        InputError: The file does not end in .svg, or cannot be written.
    """
    if path.suffix.lower() != ".svg":
        raise InputError(f"a picture is an .svg file, not {path.name!r}")
    try:
        write_beside(path, svg + "\n")
    except OSError as error:
        raise InputError(f"cannot write the picture to {str(path)!r}: {error.strerror}") from None


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
