"""Where the text of a row goes in a person's prompt, in the syntaxes that templates have."""

from __future__ import annotations

import re

from ...judges import InputError
from ..exports.template_parts import Field, TemplatePart, join_literals
from .jinja_templates import read_computed_jinja
from .template_syntaxes import read_loose

Parts = tuple[TemplatePart, ...]

_ESCAPED = re.compile(r"\{\{\{\{\s*([\w.]+)\s*\}\}\}\}")
_COMMENT = re.compile(r"(?<!\{)\{#-?[\s\S]*?-?#\}\n?|\{\{![\s\S]*?\}\}\n?")
_COMPUTES = re.compile(
    r"\{%|\{\{(?!\s*[\"'][^\"'\n]*[\"']\s*:)[^{}]*[|(][^{}]*\}\}"
    r"|\{\{\s*[^\W\d][\w.]*\s+[\w.\"'\[\] ]*[\w\"'\]]\s*\}\}"
)
_BLOCK = re.compile(r"\{\{[#^/]\s*\w+[^{}]*\}\}|<%(?!=)")
_DOUBLE = re.compile(r"\{\{\s*[\w.]+\s*\}\}")
_CONVERTED = re.compile(r"(?<!\{)\{([A-Za-z_][\w.]*)(?:![rsa])?(?::[^{}\s\"']{1,8})?\}(?!\})")
_AS_DOUBLE = (
    re.compile(r"\{\{\{\s*([\w.]+)\s*\}\}\}"),  # Mustache, unescaped
    re.compile(r"\{\{#\s*([\w.]+)\s*#\}\}"),  # Dify
    re.compile(r"\{\{\s*[.$@&]([\w.]+)\s*\}\}"),  # Go, Semantic Kernel, n8n
    re.compile(r"<%=\s*([\w.]+)\s*%>"),  # ERB
)
_DOLLAR = re.compile(r"(?<![\w$\\])\$([A-Za-z_]\w*)")
_OTHERS = (
    re.compile(r"(?<![\w$\\])\$\{([A-Za-z_]\w*)\}"),
    re.compile(r"%\((\w+)\)s"),
    re.compile(r"<<\s*(\w+)\s*>>"),
)
"""Syntaxes that a text is in where it has no double braces; the group is the name."""
_BY_ORDER = re.compile(r"%[-+ #0-9.]*[a-zA-Z]|\{\d*(?::[^{}]*)?\}|\[\]|\?")
"""Placeholders of C and its like, of `str.format` without names, and of queries."""


def read_parts(text: str, notes: list[str]) -> Parts:
    """Read a text in the syntax it is in: Jinja, Mustache, f-string, `${a}`, `%(a)s` or `<<a>>`.

    Args:
        text: The text.
        notes: Takes what of a Jinja template was settled, in whole sentences.

    Raises:
        InputError: The template computes something.
    """
    text = _ESCAPED.sub("\ue000\\1\ue001", _COMMENT.sub("", text))
    parts = _in_its_syntax(text, notes)
    return tuple(_restored(part) if isinstance(part, str) else part for part in parts)


def _restored(text: str) -> str:
    """Put two braces round the names that a template has in four, which are text."""
    return text.replace("\ue000", "{{").replace("\ue001", "}}")


def _in_its_syntax(text: str, notes: list[str]) -> Parts:
    for pattern in _AS_DOUBLE:
        text = pattern.sub(r"{{\1}}", text)
    if block := _BLOCK.search(text):
        raise InputError(
            f"the template computes something at {block.group()!r:.40}",
            hint="write out what it says, with {{field}} where the row's own text goes",
        )
    if _COMPUTES.search(text):
        return read_computed_jinja(text.strip("\n"), notes)
    text = text.strip("\n")
    if not _DOUBLE.search(text):
        for pattern in _OTHERS:
            if pattern.search(text):
                return cut(pattern, text)
        text = _CONVERTED.sub(r"{\1}", text)
    parts = read_loose(text)
    if not any(isinstance(part, Field) for part in parts) and len(set(_DOLLAR.findall(text))) > 1:
        return cut(_DOLLAR, text)
    return parts


def with_marks(parts: Parts, marks: dict[str, str]) -> Parts:
    """Return the parts of a text with a field in the place of each mark, such as `[REPLY]`.

    Args:
        parts: The text and its fields.
        marks: Each mark as it stands there, to the name of the field.
    """
    if not marks:
        return parts
    either = re.compile("|".join(map(re.escape, sorted(marks, key=len, reverse=True))))
    pieces: list[TemplatePart] = []
    for part in parts:
        if isinstance(part, Field):
            pieces.append(part)
            continue
        end = 0
        for match in either.finditer(part):
            pieces += [part[end : match.start()], Field(marks[match.group()])]
            end = match.end()
        pieces.append(part[end:])
    return join_literals(pieces)


def as_name(words: str) -> str:
    """Return a placeholder as the name of a field, without its marks."""
    return re.sub(r"\W+", "_", words).strip("_")


def by_order(mark: str) -> bool:
    """Whether a placeholder has no name, so that its order says what goes there, as of `%s`."""
    return _BY_ORDER.fullmatch(mark) is not None


def cut(pattern: re.Pattern[str], text: str) -> Parts:
    """Cut a text at its fields; the pattern's one group is the name."""
    pieces = enumerate(pattern.split(text))
    return tuple(Field(piece) if at % 2 else piece for at, piece in pieces if piece)
