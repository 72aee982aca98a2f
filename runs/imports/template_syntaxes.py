"""The simplest template syntaxes, as literal text and fields.

Lenient where tools are: spaces inside a field's braces do not matter. What a template computes
(format specs, conversions) is refused, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from string import Formatter

from ...judges import PLACEHOLDER, InputError
from ..exports.template_parts import Field, TemplatePart, join_literals, split_placeholders

Parts = tuple[TemplatePart, ...]
TemplateReader = Callable[[str], Parts]

_NAME = r"[^\W\d][\w.]*"
_DOUBLE = re.compile(rf"\{{\{{\s*({_NAME})\s*\}}\}}")
_SINGLE = re.compile(rf"(?<!\{{)\{{({_NAME})\}}(?!\}})")
_DOLLAR = re.compile(r"\$(?:\$|(?P<a>[A-Za-z_]\w*)|\{(?P<b>[A-Za-z_]\w*)\})")


def our_template(parts: Iterable[TemplatePart]) -> str:
    """Write parts as a template of ours, with `{{name}}`.

    Raises:
        InputError: Literal text holds what our templates would take for a field; they have no way
            to escape it.
    """
    parts = join_literals(parts)
    text = "".join(f"{{{{{part.name}}}}}" if isinstance(part, Field) else part for part in parts)
    if join_literals(split_placeholders(text)) != parts:
        placeholders = [match.group() for match in PLACEHOLDER.finditer(text)]
        raise InputError(
            f"the text around the fields holds braces that would be read as fields: {placeholders}"
        )
    return text


def read_f_string(text: str) -> Parts:
    """Read a `str.format` or f-string template.

    Raises:
        InputError: It is none, or a field is computed.
    """
    try:
        pieces = list(Formatter().parse(text))
    except ValueError as error:
        raise InputError(f"the text is no f-string template: {error}") from None
    parts: list[TemplatePart] = []
    for literal, name, spec, conversion in pieces:
        parts.append(literal)
        if name is None:
            continue
        if spec or conversion or not re.fullmatch(_NAME, name):
            raise InputError(
                f"the field {{{name}{conversion or ''}{spec or ''}}} is computed by the template"
            )
        parts.append(Field(name))
    return join_literals(parts)


def read_double_brace(text: str) -> Parts:
    """Read a template in which a tool replaces `{{name}}` by pattern; all else is literal."""
    return _read(_DOUBLE, text, lambda match: Field(match.group(1)))


def read_single_brace(text: str) -> Parts:
    """Read a text in which `{name}` is replaced and every other brace is literal."""
    return _read(_SINGLE, text, lambda match: Field(match.group(1)))


def read_dollar(text: str) -> Parts:
    """Read a `string.Template`: `$name` and `${name}`; `$$` is a dollar."""
    return _read(
        _DOLLAR,
        text,
        lambda match: Field(match["a"] or match["b"]) if match["a"] or match["b"] else "$",
    )


def read_loose(text: str) -> Parts:
    """Read a person's text: `{{name}}` where it has any, else `{name}` with every other brace
    literal.
    """
    parts = read_double_brace(text)
    if any(isinstance(part, Field) for part in parts):
        return parts
    try:
        return read_f_string(text)
    except InputError:
        return read_single_brace(text)


def _read(
    pattern: re.Pattern[str], text: str, part_of: Callable[[re.Match[str]], TemplatePart]
) -> Parts:
    parts: list[TemplatePart] = []
    end = 0
    for match in pattern.finditer(text):
        parts += [text[end : match.start()], part_of(match)]
        end = match.end()
    return join_literals([*parts, text[end:]])
