"""Jinja templates that compute: what is the same in every row is written out, what depends on a row
is asked about.
"""

from __future__ import annotations

import pytest
from jinja2 import Environment

from judgewright.judges import InputError
from judgewright.runs.exports.template_parts import Field
from judgewright.runs.imports.jinja_templates import read_computed_jinja

CONSTANTS = """{% set most = 5 -%}
Look at {{ most }} lines.
{{ chat.client }}: {{ chat.bot }}
{% if history is defined %}Before: {{ history }}{% endif %}
"""


def written(text: str, notes: list[str] | None = None) -> str:
    """The text that is read, with each field's name in its place."""
    parts = read_computed_jinja(text, [] if notes is None else notes)
    return "".join(f"<{part.name}>" if isinstance(part, Field) else part for part in parts)


def test_constants_are_written_out_as_jinja_does() -> None:
    """With every field given, Jinja itself writes the same."""
    row = {"chat": {"client": "<chat.client>", "bot": "<chat.bot>"}, "history": "<history>"}
    notes: list[str] = []
    assert written(CONSTANTS, notes) == Environment(autoescape=False).from_string(CONSTANTS).render(
        row
    )
    assert notes == [
        "What it says where history is missing is left out: give every row a text for it."
    ]


def test_a_loop_over_a_field_is_that_field() -> None:
    """What it writes round each item is the row's to give, and that is said."""
    notes: list[str] = []
    assert written(
        "A\n{% for d in item.docs %}# {{ d.title }}\n{% endfor %}B {{ item.q }}", notes
    ) == ("A\n<item.docs>\nB <item.q>")
    assert "loop over item.docs" in notes[0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{% if item.strict %}Be stricter.{% endif %}{{ a }}", "depends on item.strict"),
        ("{% if a > 3 %}{{ a }}{% endif %}", "computes something (compare)"),
        ("{{ a + b }}", "computes something (add)"),
        ("{% include 'x' %}{{ a }}", "computes something (include)"),
        ("{{ a.upper() }}", "computes something (call)"),
        ("{% if a %}{{ a }}", "no Jinja template"),
        ("{% macro m(a) %}{{ a }}{% endmacro %}{{ m('x') }}", "computes something (macro)"),
    ],
)
def test_what_depends_on_a_row_is_refused(text: str, reason: str) -> None:
    """Nothing is guessed, and nothing is run."""
    with pytest.raises(InputError) as caught:
        read_computed_jinja(text, [])
    assert reason in str(caught.value)
