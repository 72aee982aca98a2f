"""Text as Python carries it: string literals, docstrings, comments."""

from __future__ import annotations

import re


def python_text(text: str, indent: int) -> str:
    """Return a string literal for a text, one line of it on each line of the module, `indent` spaces in."""
    lines = text.splitlines(keepends=True)
    if len(lines) < 2:
        return repr(text)
    room = " " * indent
    return "(\n" + "".join(f"{room}    {line!r}\n" for line in lines) + f"{room})"


def plain(text: str) -> str:
    """Return text for a docstring or a comment: printable, on one line, with nothing that would end it."""
    return one_line(text.replace("\\", "/").replace('"', "'"))


def one_line(text: str) -> str:
    """Return text for a comment: printable, on one line whatever a language takes for the end of one."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text)
    return re.sub(r"\s+", " ", shown).strip()
