"""Template dialects read back: what a tool's template says, as literal text and fields.

The inverse of `exports/dialects.py`, and lenient where tools are: spaces inside a field's braces do not matter. What a
template computes (conditions, loops, filters, format specs) is refused, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from string import Formatter

from ...judges import InputError
from ..exports.template_parts import Field, TemplatePart

Segments = tuple[TemplatePart, ...]
Dialect = Callable[[str], Segments]

_NAME = r"[A-Za-z_][A-Za-z0-9_.]*"
_DOUBLE = re.compile(rf"\{{\{{\s*({_NAME})\s*\}}\}}")
_SINGLE = re.compile(rf"(?<!\{{)\{{({_NAME})\}}(?!\}})")
_MUSTACHE = re.compile(r"\{\{\{\s*(?P<raw>[^{}]*?)\s*\}\}\}|\{\{(?P<tag>[^{}]*?)\}\}")
_DEFAULT = rf"(?: if {_NAME} is defined else {_NAME})?"
_JINJA = re.compile(rf'\{{\{{\s*(?:"(?P<text>(?:[^"\\]|\\.)*)"|(?P<name>{_NAME}){_DEFAULT})\s*\}}\}}')
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def read_f_string(text: str) -> Segments:
    """Read a `str.format` or f-string template.

    Raises:
        InputError: It is none, or a field is computed.
    """
    out: list[TemplatePart] = []
    try:
        parts = list(Formatter().parse(text))
    except ValueError as error:
        raise InputError(f"the text is no f-string template: {error}") from None
    for literal, name, spec, conversion in parts:
        out.append(literal)
        if name is not None:
            if spec or conversion or not re.fullmatch(_NAME, name):
                raise InputError(f"the field {{{name}{conversion or ''}{spec or ''}}} is computed by the template")
            out.append(Field(name))
    return joined(out)


def read_double_brace(text: str) -> Segments:
    """Read a template in which a tool replaces `{{name}}` by pattern; all else is literal."""
    return _read(_DOUBLE, text, lambda found: Field(found.group(1)))


def read_single_brace(text: str) -> Segments:
    """Read a text in which `{name}` is replaced and every other brace is literal."""
    return _read(_SINGLE, text, lambda found: Field(found.group(1)))


def read_mustache(text: str) -> Segments:
    """Read a Mustache template: `{{name}}`, `{{{name}}}` and `{{&name}}`.

    Raises:
        InputError: It has sections, comments or partials.
    """

    def segment(found: re.Match[str]) -> TemplatePart:
        name = (found.group("raw") if found.group("tag") is None else found.group("tag").strip().lstrip("& ")) or ""
        if not re.fullmatch(_NAME, name):
            raise InputError(f"the Mustache tag {found.group()!r:.60} is no plain field")
        return Field(name)

    return _read(_MUSTACHE, text, segment)


def read_jinja(text: str) -> Segments:
    """Read a Jinja2 or Nunjucks template of fields and string expressions, as `exports.dialects.jinja` writes it.

    Raises:
        InputError: It has statements, filters or other expressions.
    """

    def segment(found: re.Match[str]) -> TemplatePart:
        if found.group("name") is not None:
            return Field(found.group("name"))
        return re.sub(r"\\(.)", lambda e: _ESCAPES.get(e.group(1), e.group(1)), found.group("text"), flags=re.DOTALL)

    # Jinja drops one line break at the end of a template.
    segments = _read(_JINJA, text.removesuffix("\n"), segment)
    at = 0
    for found in _JINJA.finditer(text):
        _refuse_statement(text[at : found.start()])
        at = found.end()
    _refuse_statement(text[at:])
    return segments


def read_loose(text: str) -> Segments:
    """Read a person's text: `{{name}}` where it has any, else `{name}` with every other brace literal."""
    doubled = read_double_brace(text)
    if any(isinstance(segment, Field) for segment in doubled):
        return doubled
    try:
        return read_f_string(text)
    except InputError:
        return read_single_brace(text)


DIALECTS: dict[str, Dialect] = {
    "f-string": read_f_string,
    "jinja2": read_jinja,
    "mustache": read_mustache,
}
"""Dialects by the names that LangChain gives them."""


def joined(segments: list[TemplatePart]) -> Segments:
    """Join literals that stand side by side, and leave out empty ones."""
    out: list[TemplatePart] = []
    for segment in segments:
        last = out[-1] if out else None
        if isinstance(segment, str) and isinstance(last, str):
            out[-1] = last + segment
        elif segment != "":
            out.append(segment)
    return tuple(out)


def _read(pattern: re.Pattern[str], text: str, segment: Callable[[re.Match[str]], TemplatePart]) -> Segments:
    out: list[TemplatePart] = []
    at = 0
    for found in pattern.finditer(text):
        out += [text[at : found.start()], segment(found)]
        at = found.end()
    return joined([*out, text[at:]])


def _refuse_statement(literal: str) -> None:
    if found := re.search(r"\{[{%#]", literal):
        near = literal[found.start() : found.start() + 40]
        raise InputError(f"the template computes something at {near!r}; only plain fields are read")
