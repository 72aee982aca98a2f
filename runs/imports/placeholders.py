"""Where the text of a row goes in a template, in the syntaxes that templates have.

Lenient where tools are: spaces inside a field's braces do not matter. What a template computes
(format specs, conversions) is refused, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from string import Formatter

from ...judges import PLACEHOLDER, InputError
from ..exports.template_parts import Field, TemplatePart, join_literals, split_placeholders
from .jinja_templates import read_computed_jinja

Parts = tuple[TemplatePart, ...]
TemplateReader = Callable[[str], Parts]

_NAME = r"[^\W\d][\w.]*"
_DOUBLE = re.compile(rf"\{{\{{\s*({_NAME})\s*\}}\}}")
_SINGLE = re.compile(rf"(?<!\{{)\{{({_NAME})\}}(?!\}})")
_ESCAPED = re.compile(r"\{\{\{\{\s*([\w.]+)\s*\}\}\}\}")
_COMMENT = re.compile(r"(?<!\{)\{#-?[\s\S]*?-?#\}\n?|\{\{![\s\S]*?\}\}\n?")
_COMPUTES = re.compile(
    r"\{%|\{\{(?!\s*[\"'][^\"'\n]*[\"']\s*:)[^{}]*[|(][^{}]*\}\}"
    r"|\{\{\s*[^\W\d][\w.]*\s+[\w.\"'\[\] ]*[\w\"'\]]\s*\}\}"
)
_BLOCK = re.compile(r"\{\{[#^/]\s*\w+[^{}]*\}\}|<%(?!=)")
_ANY_DOUBLE = re.compile(r"\{\{\s*[\w.]+\s*\}\}")
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
    re.compile(r"%<(\w+)>s"),  # Ruby
    re.compile(r"%\{(\w+)\}"),
    re.compile(r"<<\s*(\w+)\s*>>"),
)
"""Syntaxes that a text is in where it has no double braces; the group is the name."""
_BY_ORDER = re.compile(r"%[-+ #0-9.]*[a-zA-Z]|\{\d*(?::[^{}]*)?\}|\[\]|\?")
"""Placeholders of C and its like, of `str.format` without names, and of queries."""


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
    return cut(_DOUBLE, text)


def read_single_brace(text: str) -> Parts:
    """Read a text in which `{name}` is replaced and every other brace is literal."""
    return cut(_SINGLE, text)


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
    if not _ANY_DOUBLE.search(text):
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
    longest_first = map(re.escape, sorted(marks, key=len, reverse=True))
    either = re.compile(f"({'|'.join(longest_first)})")
    pieces: list[TemplatePart] = []
    for part in parts:
        inner = (part,) if isinstance(part, Field) else cut(either, part)
        pieces += (Field(marks.get(p.name, p.name)) if isinstance(p, Field) else p for p in inner)
    return join_literals(pieces)


def as_name(words: str) -> str:
    """Return a placeholder as the name of a field, without its marks."""
    return re.sub(r"\W+", "_", words).strip("_")


def by_order(mark: str) -> bool:
    """Whether a placeholder has no name, so that its order says what goes there, as of `%s`."""
    return _BY_ORDER.fullmatch(mark) is not None


def cut(pattern: re.Pattern[str], text: str) -> Parts:
    """Cut a text at its fields; what a group of the pattern matches is the name."""
    parts: list[TemplatePart] = []
    end = 0
    for match in pattern.finditer(text):
        parts += [text[end : match.start()], Field(match[match.lastindex or 0])]
        end = match.end()
    return join_literals([*parts, text[end:]])
