"""Template syntaxes: literal text that a tool gives back unaltered, and fields where its own
renderer puts the row.

Each function takes the parts of one message and, where a tool fixes the names of its variables,
`rename` from our field to its variable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from .target import Refused
from .template_parts import Field, TemplateMessage, TemplatePart

_NO_RENAMES: Mapping[str, str] = {}
# A brace beside one, a % or a # opens or closes something, and so would one beside a field; Jinja
# rewrites \r.
_JINJA_UNSAFE = re.compile(r"(?=[%#]*[{}\r])[{}%#\r]{2,}|^\}|\{\Z|\r")


def jinja(parts: Sequence[TemplatePart], rename: Mapping[str, str] = _NO_RENAMES) -> str:
    """Write for Jinja2 and Nunjucks, autoescape off; what they would read or rewrite becomes a
    string expression.
    """
    end = ""
    *before, last = parts or ("",)
    if isinstance(last, str) and last.endswith("\n"):  # Jinja drops one newline at the very end
        parts = [*before, last[:-1]]
        end = r'{{ "\n" }}'
    return _write(parts, rename, field="{{ %s }}", literal=_jinja_literal) + end


def double_brace(parts: Sequence[TemplatePart], rename: Mapping[str, str] = _NO_RENAMES) -> str:
    """Write for tools that replace `{{name}}` by pattern and have no way to escape it.

    Raises:
        Refused: The literal text holds `{{`, or a brace stands beside a field.
    """
    return _write(parts, rename, field="{{%s}}", literal=_refuse_double)


def chat_messages(
    messages: Sequence[TemplateMessage],
    syntax: Callable[[Sequence[TemplatePart], Mapping[str, str]], str],
    rename: Mapping[str, str] = _NO_RENAMES,
) -> list[dict[str, str]]:
    """Return messages as `role` and `content`, the content in a template syntax."""
    return [
        {"role": message.role, "content": syntax(message.parts, rename)} for message in messages
    ]


def _write(
    parts: Sequence[TemplatePart],
    rename: Mapping[str, str],
    *,
    field: str,
    literal: Callable[[str], str],
) -> str:
    text = ""
    for part in parts:
        if isinstance(part, Field):
            text += field % rename.get(part.name, part.name)
        else:
            text += literal(part)
    return text


def _jinja_literal(text: str) -> str:
    def quoted(match: re.Match[str]) -> str:
        unsafe = match.group().replace("\r", r"\r")
        return f'{{{{ "{unsafe}" }}}}'

    return _JINJA_UNSAFE.sub(quoted, text)


def _refuse_double(text: str) -> str:
    match = re.search(r"\{\{|\{\Z|^\}", text)
    if match:
        near = text[max(0, match.start() - 20) : match.end() + 20]
        raise Refused(
            f"the prompt's own text holds {match.group()!r} (in {near!r}), which a {{{{name}}}}"
            " template would read"
        )
    return text
