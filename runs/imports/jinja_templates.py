"""Jinja templates that compute: what is the same in every row is written out, a part that shows a
field is that field.

The template is parsed, and nothing of it is run. A condition that only asks whether a field is
there is taken as true, a loop over a field is that field, and each such choice is said. A condition
on anything else has to be settled first.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import lazy_loader  # pyright: ignore[reportMissingTypeStubs]

from ...judges import InputError
from ..exports.template_parts import Field, TemplatePart, join_literals

if TYPE_CHECKING:
    import jinja2
    import jinja2.nodes
else:
    jinja2 = lazy_loader.load("jinja2")

_FILTERS = frozenset(
    ("trim", "safe", "e", "escape", "string", "default", "d", "tojson", "join", "indent")
)
_ALL_GIVEN = "What it says where {} is missing is left out: give every row a text for it."


def read_computed_jinja(text: str, notes: list[str]) -> tuple[TemplatePart, ...]:
    """Read a Jinja template with statements as text and fields.

    Args:
        text: The template.
        notes: Takes what was settled, in whole sentences.

    Raises:
        InputError: It is no Jinja, or what it shows cannot be told without a row.
    """
    try:
        tree = jinja2.Environment(autoescape=False).parse(text)
    except jinja2.TemplateSyntaxError as error:
        raise InputError(f"line {error.lineno}: it is no Jinja template: {error.message}") from None
    outputs = tree.find_all(jinja2.nodes.Output)
    written_names = {name.name for output in outputs for name in output.find_all(jinja2.nodes.Name)}
    settled: dict[str, None] = {}
    parts = join_literals(_Reader(settled, written_names).parts(tree.body))
    notes += [note for note in settled if note not in notes]
    return parts


def one_field(name: str) -> str:
    """Say that what a loop writes is one field."""
    return f"Its loop over {name} is one field here: give it the text that the loop writes."


class _Reader:
    """Writes out a tree; names that the template sets itself are known."""

    def __init__(self, settled: dict[str, None], field_names: Collection[str]) -> None:
        self._settled = settled
        self._shown = field_names
        """The names that the template shows somewhere."""
        self._known: dict[str, list[TemplatePart]] = {}

    def parts(self, body: Sequence[jinja2.nodes.Node]) -> list[TemplatePart]:
        """Return what nodes write."""
        written: list[TemplatePart] = []
        for node in body:
            if isinstance(node, jinja2.nodes.Output):
                for part in node.nodes:
                    written += self._value(part)
            elif isinstance(node, jinja2.nodes.Assign) and isinstance(
                node.target, jinja2.nodes.Name
            ):
                self._known[node.target.name] = self._value(node.node)
            elif isinstance(node, jinja2.nodes.If):
                written += self._branch(node)
            elif isinstance(node, jinja2.nodes.For):
                field = _field(node.iter)
                self._settled[one_field(field.name)] = None
                written += [field, "\n"]
            else:
                raise _computed(node)
        return written

    def _branch(self, node: jinja2.nodes.If) -> list[TemplatePart]:
        """Return the branch of a condition that asks whether a field is there which the template
        shows.
        """
        test, turned = node.test, False
        while isinstance(test, jinja2.nodes.And):
            test = test.right  # "x is defined and x"
        if isinstance(test, jinja2.nodes.Not):
            test, turned = test.node, True
        if isinstance(test, jinja2.nodes.Test) and test.name in ("defined", "none"):
            test, turned = test.node, turned ^ (test.name == "none")
        field = _field(test)
        branch = self.parts(node.else_ if turned else node.body)
        if field.name not in self._shown and field not in branch:
            raise InputError(
                f"line {node.lineno}: what it says depends on {field.name}, which it does not show",
                hint=(
                    "write the prompt as it is for the rows that you have: with that part, or"
                    " without it"
                ),
            )
        self._settled[_ALL_GIVEN.format(field.name)] = None
        return branch

    def _value(self, node: jinja2.nodes.Node) -> list[TemplatePart]:
        if isinstance(node, jinja2.nodes.TemplateData):
            return [node.data]
        if isinstance(node, jinja2.nodes.Const):
            return [str(node.value)]
        if isinstance(node, jinja2.nodes.Name) and node.name in self._known:
            return self._known[node.name]
        if (
            isinstance(node, jinja2.nodes.Filter)
            and node.node is not None
            and node.name in _FILTERS
        ):
            note = f"Its filter {node.name} is left out: give the text as it should be shown."
            self._settled[note] = None
            return self._value(node.node)
        if isinstance(node, jinja2.nodes.CondExpr | jinja2.nodes.Or):
            self._settled[_ALL_GIVEN.format("a field")] = None
            return self._value(node.expr1 if isinstance(node, jinja2.nodes.CondExpr) else node.left)
        return [_field(node)]


def _field(node: jinja2.nodes.Node) -> Field:
    names: list[str] = []
    inner = node
    while isinstance(inner, jinja2.nodes.Getattr | jinja2.nodes.Getitem):
        if isinstance(inner, jinja2.nodes.Getattr):
            names.append(inner.attr)
        elif isinstance(inner.arg, jinja2.nodes.Const) and isinstance(inner.arg.value, str):
            names.append(inner.arg.value)
        elif not isinstance(inner.arg, jinja2.nodes.Slice):
            raise _computed(node)
        inner = inner.node
    if not isinstance(inner, jinja2.nodes.Name):
        raise _computed(node)
    return Field(".".join([inner.name, *reversed(names)]))


def _computed(node: jinja2.nodes.Node) -> InputError:
    return InputError(
        f"line {node.lineno}: the template computes something ({type(node).__name__.lower()})",
        hint="write out what it computes as text, with {{ field }} where the row's own text goes",
    )
