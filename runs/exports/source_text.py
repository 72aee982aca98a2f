"""Values as the text of a file: Python literals, docstrings and comments, JSON."""

from __future__ import annotations

import math
import re

import orjson


def text_literal(text: str, indent: int) -> str:
    """Return a string literal for a text, one line of it on each line of the module, `indent`
    spaces in.
    """
    lines = text.splitlines(keepends=True)
    if len(lines) < 2:
        return repr(text)
    margin = " " * indent
    return "(\n" + "".join(f"{margin}    {line!r}\n" for line in lines) + f"{margin})"


def literal(value: object) -> str:
    """Return a string or a tuple of strings as the formatter would write it, in double quotes where
    it can.
    """
    if isinstance(value, tuple):
        items = ", ".join(map(literal, value))
        return f"({items},)" if len(value) == 1 else f"({items})"
    source = repr(value)
    if isinstance(value, str) and source[0] == "'" and not {'"', "'", "\\"} & set(source[1:-1]):
        return f'"{source[1:-1]}"'
    return source


def number_literal(number: float) -> str:
    """Return a number as Python reads it back."""
    return repr(number) if math.isfinite(number) else f'float("{number}")'


def json_literal(value: object, indent: int = 0) -> str:
    """Return a JSON value as Python code, an item on each line."""
    if not value or not isinstance(value, dict | list):
        return literal(value)
    margin = " " * (indent + 4)
    if isinstance(value, dict):
        items = [
            f"{literal(name)}: {json_literal(item, indent + 4)}" for name, item in value.items()
        ]
        opening, closing = "{}"
    else:
        items = [json_literal(item, indent + 4) for item in value]
        opening, closing = "[]"
    return opening + "\n" + "".join(f"{margin}{item},\n" for item in items) + " " * indent + closing


def json_text(body: object) -> str:
    """Return a JSON file's text, indented and closed by a line break."""
    return orjson.dumps(body, option=orjson.OPT_INDENT_2).decode() + "\n"


def comment_text(text: str) -> str:
    """Return text for a docstring or a comment: printable, on one line, with nothing that would end
    it.
    """
    return one_line(text.replace("\\", "/").replace('"', "'"))


def one_line(text: str) -> str:
    """Return text for a comment: printable, on one line whatever a language takes for the end of
    one.
    """
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return re.sub(r"\s+", " ", printable).strip()
