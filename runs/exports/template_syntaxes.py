"""Template dialects: literal text that a tool gives back unaltered, and fields where its own renderer puts the row.

Each function takes the segments of one message and, where a tool fixes the names of its variables, `rename` from our
field to its variable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from .target import Refused
from .template_parts import Field, TemplatePart

_NONE: Mapping[str, str] = {}
# A brace beside one, a % or a # opens or closes something, and so would one beside a field; Jinja rewrites \r.
_JINJA_UNSAFE = re.compile(r"(?=[%#]*[{}\r])[{}%#\r]{2,}|^\}|\{\Z|\r")


def f_string(segments: Sequence[TemplatePart], rename: Mapping[str, str] = _NONE) -> str:
    """Write for `str.format` and f-string templates: literal braces doubled, fields as `{name}`."""
    return _write(segments, rename, field="{%s}", literal=lambda text: text.replace("{", "{{").replace("}", "}}"))


def jinja(segments: Sequence[TemplatePart], rename: Mapping[str, str] = _NONE) -> str:
    """Write for Jinja2 and Nunjucks, autoescape off; what they would read or rewrite becomes a string expression."""
    *before, last = segments or ("",)
    if isinstance(last, str) and last.endswith("\n"):  # Jinja drops one newline at the very end
        return _write([*before, last[:-1]], rename, field="{{ %s }}", literal=_jinja_literal) + r'{{ "\n" }}'
    return _write(segments, rename, field="{{ %s }}", literal=_jinja_literal)


nunjucks = jinja
"""Nunjucks reads what `jinja` writes."""


def mustache(segments: Sequence[TemplatePart], rename: Mapping[str, str] = _NONE) -> str:
    """Write for Mustache: fields as `{{{name}}}`, which escapes no HTML.

    Raises:
        Refused: The literal text holds `{{`, or a brace stands beside a field.
    """
    return _write(segments, rename, field="{{{%s}}}", literal=_refuse_double("Mustache"))


def double_brace(segments: Sequence[TemplatePart], rename: Mapping[str, str] = _NONE) -> str:
    """Write for tools that replace `{{name}}` by pattern and have no way to escape it.

    Raises:
        Refused: The literal text holds `{{`, or a brace stands beside a field.
    """
    return _write(segments, rename, field="{{%s}}", literal=_refuse_double("a {{name}} template"))


def _write(
    segments: Sequence[TemplatePart], rename: Mapping[str, str], *, field: str, literal: Callable[[str], str]
) -> str:
    def parts() -> Iterator[str]:
        for segment in segments:
            yield field % rename.get(segment.name, segment.name) if isinstance(segment, Field) else literal(segment)

    return "".join(parts())


def _jinja_literal(text: str) -> str:
    def quoted(found: re.Match[str]) -> str:
        shown = found.group().replace("\r", r"\r")
        return f'{{{{ "{shown}" }}}}'

    return _JINJA_UNSAFE.sub(quoted, text)


def _refuse_double(dialect: str) -> Callable[[str], str]:
    def literal(text: str) -> str:
        if found := re.search(r"\{\{|\{\Z|^\}", text):
            near = text[max(0, found.start() - 20) : found.end() + 20]
            raise Refused(f"the prompt's own text holds {found.group()!r} (in {near!r}), which {dialect} would read")
        return text

    return literal
