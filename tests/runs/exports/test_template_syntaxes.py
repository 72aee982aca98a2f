"""Literal text comes back from each renderer as it went in, whatever it looks like."""

from __future__ import annotations

from collections.abc import Sequence

import jinja2
from hypothesis import given
from hypothesis import strategies as st

from judgewright.judges import load_prompt
from judgewright.judges.plain_cases import ROW_HEADING
from judgewright.runs.exports import (
    Field,
    Refused,
    TemplatePart,
    double_brace,
    fill,
    jinja,
    join_literals,
    template_messages,
)

PIECES = ["{\n", *"{}%#\n\r a\\\"'-$é漢", "{{", "}}", "{%", "{#"]
LETTERS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=12).map("".join)
TEXTS = st.lists(st.one_of(LETTERS, st.just(Field("x"))), min_size=1, max_size=6)
ROW = '<{{a}}> {x} {% b %}\r\n"quoted" {# c #}'
ENVIRONMENT = jinja2.Environment(autoescape=False)


def expected(parts: Sequence[TemplatePart]) -> str:
    """What every renderer has to make of it."""
    return "".join(ROW if isinstance(part, Field) else part for part in parts)


@given(TEXTS)
def test_jinja_gives_back_what_went_in(parts: list[TemplatePart]) -> None:
    """Jinja's own lexer, carriage returns and the last newline included."""
    parts = join_literals(parts)
    assert ENVIRONMENT.from_string(jinja(parts)).render(x=ROW) == expected(parts)


@given(TEXTS)
def test_replaced_names_give_back_what_went_in_or_are_refused(parts: list[TemplatePart]) -> None:
    """One replace of `{{x}}`; text that holds it, or a brace that would join it, is refused."""
    parts = join_literals(parts)
    try:
        text = double_brace(parts)
    except Refused:
        assert any(
            "{{" in p or p.startswith("}") or p.endswith("{") for p in parts if isinstance(p, str)
        )
    else:
        assert ROW.join(text.split("{{x}}")) == expected(parts)


def test_the_reference_is_the_prompt_but_for_the_fences() -> None:
    """System text and fixed cases as they are; only fields of the row are open."""
    prompt = load_prompt(
        "format: 1\nname: p\nsystem: s {{source}}\ncriteria: c\ntemplate: 'A {{source}} B"
        " {{source}}'\nreply: answer {{source}}\ncases:\n  by: fixed\n  balanced: false\n  rows:\n"
        "  - {inputs: {source: 'e {{source}}'}, label: 3}\n"
    )
    messages = template_messages(prompt)
    filled = fill(messages, {"source": "row"})
    assert [m["role"] for m in filled] == ["system", "user"]
    assert "s {{source}}" in filled[0]["content"]
    shown, _, row = filled[1]["content"].partition(f"{ROW_HEADING}\n\n")
    assert "\ne {{source}}\n" in shown
    assert row == "A <source>\nrow\n</source> B <source>\nrow\n</source>\n\nanswer {{source}}"
