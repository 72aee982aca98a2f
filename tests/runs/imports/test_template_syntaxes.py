"""Template syntaxes read back: what our exports write comes home, and what a template computes is
refused.
"""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from judgewright.judges import InputError
from judgewright.runs.exports import Field, Refused, double_brace, join_literals
from judgewright.runs.imports import read_double_brace, read_f_string, read_loose
from judgewright.runs.imports.placeholders import read_parts


def read_all(text: str) -> tuple[object, ...]:
    """A text in whatever syntax it is."""
    return read_parts(text, [])


def f_string(parts: tuple[object, ...]) -> str:
    """An f-string template: literal braces doubled."""
    return "".join(
        f"{{{part.name}}}"
        if isinstance(part, Field)
        else str(part).replace("{", "{{").replace("}", "}}")
        for part in parts
    )


LITERALS = st.text(alphabet="{}%#\"'\\ \n\r\ta.x漢", max_size=12)
PARTS = st.lists(
    st.one_of(LITERALS, st.sampled_from([Field("source"), Field("relevance_definition")])),
    max_size=6,
)
PAIRS = [
    (f_string, read_f_string),
    (double_brace, read_double_brace),
]


@pytest.mark.parametrize(("write", "read"), PAIRS, ids=lambda f: f.__name__)
@given(parts=PARTS)
def test_reading_is_the_inverse_of_writing(write, read, parts) -> None:
    """Whatever a syntax can carry, hostile literals included, is read back as it was."""
    parts = join_literals(parts)
    try:
        text = write(parts)
    except Refused:
        assume(False)
    assert read(text) == parts


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (read_f_string, "{source:>10}"),
        (read_f_string, "{source!r}"),
        (read_f_string, "{}"),
        (read_f_string, "an open { brace"),
        (read_all, "{{#source}}x{{/source}}"),
        (read_all, "{% if source > 1 %}x{% endif %}"),
        (read_all, "{{ source | upper }}"),
        (read_all, "{{ source(1) }}"),
    ],
)
def test_what_a_template_computes_is_refused(read, text) -> None:
    """Conditions, filters, format specs and broken templates are never guessed at."""
    with pytest.raises(InputError):
        read(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("A {source} b", ("A ", Field("source"), " b")),
        ("A {{source}} b", ("A ", Field("source"), " b")),
        ('{{source}} {"score": 1}', (Field("source"), ' {"score": 1}')),
        ('{source} {"score": 1}', (Field("source"), ' {"score": 1}')),
        ('{source} {{"score": 1}}', (Field("source"), ' {"score": 1}')),
    ],
)
def test_a_person_s_text_may_use_either_brace(text, wanted) -> None:
    """Double braces where there are any, else single ones; JSON beside them stays what it is."""
    assert read_loose(text) == wanted


def test_a_default_for_a_variable_is_the_field() -> None:
    """promptfoo rubrics of ours fall back to the output under test; the field is the row's."""
    assert read_all("{{ passage if passage is defined else output }}") == (Field("passage"),)
