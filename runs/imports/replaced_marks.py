"""Marks in a prompt that its code replaces by a value: `JUDGE.replace("<DOC>", doc)`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from ..exports.template_parts import Field, TemplatePart, join_literals
from .placeholders import as_name

_MARK = re.compile(r"[^\w\s]{1,4}\s?(?:\w[\w .-]{0,40})\s?[^\w\s]{0,4}|_{0,3}[A-Z][A-Z0-9_]{2,40}")
"""A name between signs, after one, or in capitals: no words that code merely cleans up."""
_QUOTED = r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"|`[^`$]*`"
_REPLACES = re.compile(
    rf"\.replace(?:All)?\(\s*(?:(?P<string>{_QUOTED})|/(?P<pattern>(?:[^/\\\n]|\\.)+)/\w*|(?P<name>[A-Za-z_$][\w$]*))"
    rf"\s*,\s*(?!{_QUOTED}|null\b|undefined\b)[^\s)]"
)


def python_marks(tree: ast.AST, named: Mapping[str, ast.expr]) -> list[str]:
    """Return the marks that a Python file replaces by something other than a constant text.

    Args:
        tree: The file.
        named: What each name of it is assigned.
    """
    return list(dict.fromkeys(mark for mark in _in_calls(tree, named) if name_of_mark(mark)))


def _in_calls(tree: ast.AST, named: Mapping[str, ast.expr]) -> Iterator[str]:
    """Yield what calls replace; where a loop does it, the keys of the file's dictionaries."""
    nodes = list(ast.walk(tree))
    for node in nodes:
        match node:
            case ast.Call(func=ast.Attribute(attr="replace" | "sub"), args=[mark, value, *_]):
                value = named.get(value.id, value) if isinstance(value, ast.Name) else value
                if isinstance(value, ast.Constant):
                    continue
                known = named.get(mark.id) if isinstance(mark, ast.Name) else mark
                if isinstance(known, ast.Constant) and isinstance(known.value, str):
                    yield known.value
                elif isinstance(mark, ast.Name) and known is None:
                    yield from _keys(nodes)
            case _:
                pass


def _keys(nodes: Sequence[ast.AST]) -> Iterator[str]:
    for node in nodes:
        for key in node.keys if isinstance(node, ast.Dict) else ():
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value


def javascript_marks(text: str, constants: Mapping[str, str]) -> list[str]:
    """Return the marks that a JavaScript file replaces by something other than a constant text.

    Args:
        text: The file.
        constants: Each constant text by its name, with its quotes.
    """
    marks: dict[str, None] = {}
    for match in _REPLACES.finditer(text):
        string = match["string"] or constants.get(match["name"] or "", "")
        mark = re.sub(r"\\(.)", r"\1", match["pattern"]) if match["pattern"] else string[1:-1]
        if name_of_mark(mark):
            marks[mark] = None
    return list(marks)


def with_marks(parts: Sequence[TemplatePart], marks: Sequence[str]) -> tuple[TemplatePart, ...]:
    """Return the parts of a text with a field in the place of each mark."""
    found = [
        mark for mark in marks if any(isinstance(part, str) and mark in part for part in parts)
    ]
    if not found:
        return tuple(parts)
    either = "|".join(map(re.escape, sorted(found, key=len, reverse=True)))
    filled: list[TemplatePart] = []
    for part in parts:
        if isinstance(part, Field):
            filled.append(part)
            continue
        for at, piece in enumerate(re.split(f"({either})", part)):
            filled.append(Field(name_of_mark(piece)) if at % 2 else piece)
    return join_literals(filled)


def name_of_mark(mark: str) -> str:
    """Return the name of the field for a mark; empty where it does not look like one."""
    name = as_name(mark) if _MARK.fullmatch(mark) else ""
    return name if name.isidentifier() and len(name) > 1 else ""
