"""Values as the text of a file: comments and JSON."""

from __future__ import annotations

import re

import orjson


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
