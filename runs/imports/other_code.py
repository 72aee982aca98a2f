"""A prompt that stands as a string in the source of a language other than Python and JavaScript."""

from __future__ import annotations

import ast
import json
import re
import textwrap
from collections.abc import Iterator

from ...judges import InputError

TEXTS = (
    *(
        "",
        ".txt",
        ".text",
        ".md",
        ".mdx",
        ".markdown",
        ".rst",
        ".adoc",
        ".prompt",
        ".prompty",
        ".tmpl",
        ".tpl",
    ),
    *(
        ".template",
        ".jinja",
        ".jinja2",
        ".j2",
        ".njk",
        ".mustache",
        ".hbs",
        ".handlebars",
        ".liquid",
        ".ejs",
    ),
    *(".erb", ".twig", ".html", ".xml"),
)
"""Endings of files that hold a prompt and nothing else."""
_STRINGS = (
    r'"""(?P<text>[\s\S]*?)"""',
    r"'''(?P<text>[\s\S]*?)'''",
    r'(?P<hash>#+)"(?P<text>[\s\S]*?)"(?P=hash)',
    r"`(?P<text>[^`]*)`",
    r"<<[~-]?\s?[\"']?(?P<end>[A-Z]\w*)[\"']?[^\n]*\n(?P<text>[\s\S]*?)\n[ \t]*(?P=end)\b",
    r"<!\[CDATA\[(?P<text>[\s\S]*?)\]\]>",
    r'@?"(?P<text>(?:[^"\\]|\\.|"")*)"',
    r"'(?P<text>(?:[^'\\]|\\.|'')*)'",
)
"""Strings over several lines, as the usual languages write them."""
_SHORTEST = 80


def read_string(text: str) -> str:
    """Return the one long string of a source file, with its common indent taken off.

    Raises:
        InputError: It holds none, or several.
    """
    found = sorted(set(_strings(text)), key=len, reverse=True)
    if not found:
        raise InputError(
            "it holds no string over several lines", hint="save the prompt as a .txt file"
        )
    if len(found) > 1 and len(found[1]) > len(found[0]) / 3:
        raise InputError(
            f"it holds {len(found)} long strings", hint="save the prompt alone, as a .txt file"
        )
    return found[0]


def _strings(text: str) -> Iterator[str]:
    rest = text
    for pattern in _STRINGS:
        for match in re.finditer(pattern, rest):
            words = textwrap.dedent(match["text"].strip("\n") + "\n").strip("\n")
            if "\n" in words and len(words) >= _SHORTEST:
                yield words
        rest = re.sub(
            pattern, lambda match: match.group() if "\n" not in match.group() else "", rest
        )


def notebook_text(text: str) -> str:
    """Return all cells of a notebook, texts and commands as comments and code, without what they
    gave out.
    """
    cells = [
        ("".join(cell.get("source", ())), cell.get("cell_type"))
        for cell in json.loads(text).get("cells", [])
    ]
    no_code = {"code": r"(?m)^(?=[ \t]*[%!])"}
    return "\n\n".join(
        re.sub(no_code.get(str(kind), "(?m)^"), "# ", source) for source, kind in cells
    )


def notebook_code(text: str) -> str:
    """Return the Python of a notebook's cells, one after the other; lines and cells that are none
    are left out.
    """
    cells = json.loads(text).get("cells", [])
    sources = ["".join(cell.get("source", ())) for cell in cells if cell.get("cell_type") == "code"]
    return "\n\n".join(
        filter(_is_python, (re.sub(r"(?m)^[ \t]*[%!].*$", "", source) for source in sources))
    )


def _is_python(code: str) -> bool:
    try:
        ast.parse(code)
    except SyntaxError:
        return False
    return True
