"""A predicate's text is the predicate: it reads back equal and selects the rows pandas selects."""

import math

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import InputError, Row
from judgewright.judges.retrieval import words
from judgewright.slices import (
    Contains,
    Equals,
    Interval,
    Missing,
    Predicate,
    parse_predicate,
    text_of,
)

NAMES = st.text(min_size=1, max_size=12) | st.sampled_from(
    ["and", "in", "is", "missing", "contains", "a b", 'q"', "metadata.type", "statement:words"]
)
VALUES = st.text(max_size=12) | st.sampled_from(
    ["and", "Wikipedia (NQ)", "<=40", "[1, 2)", "\n", "true", "0.5"]
)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def conditions(draw: st.DrawFn) -> Equals | Missing | Interval | Contains:
    """Any condition, with any names and values."""
    column = draw(NAMES)
    kind = draw(st.integers(0, 5))
    if kind == 0:
        return Missing(column=column)
    if kind == 1:
        return Equals(column=column, value=draw(VALUES))
    if kind == 5:
        return Contains(column=column, word=draw(VALUES.filter(words)))
    low, high = sorted((draw(FINITE), draw(FINITE)))
    if kind == 2:
        return Interval(column=column, low=low)
    if kind == 3:
        return Interval(column=column, high=high)
    return Interval(
        column=column, low=low, high=high if high > low else math.nextafter(low, math.inf)
    )


@settings(max_examples=300, deadline=None)
@given(st.lists(conditions(), max_size=4))
def test_a_predicate_reads_back_from_its_text(parts: list) -> None:
    """Rendering then parsing gives an equal predicate, whatever the names and values hold."""
    predicate = Predicate(parts)
    assert parse_predicate(str(predicate)) == predicate


def test_the_readable_form_is_the_documented_one() -> None:
    """The text is what people type."""
    predicate = Predicate(
        [
            Interval(column="source_words", low=150, high=400),
            Equals(column="dataset", value="RAGTruth"),
        ]
    )
    assert str(predicate) == "dataset = RAGTruth and source_words in [150, 400)"
    assert parse_predicate("source_words in [150,400)  and dataset==RAGTruth") == predicate
    assert str(Predicate()) == "all rows"
    assert parse_predicate("all rows") == Predicate()


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("words >= 400", [400, 401.5]),
        ("words > 400", [400.0001, 500]),
        ("words < 400", [-1, 399.999]),
        ("words <= 400", [400, -5.5]),
        ("words in [0, 1)", [0, 0.999]),
        ("words = 3", [3, 3.0]),
        ("words = true", [True, "true"]),
        ("words is missing", [None, math.nan]),
        ('words = "a b"', ["a b"]),
    ],
)
def test_a_typed_condition_selects_what_it_says(text: str, holds: list) -> None:
    """Each comparison includes its rows and none of the others of this list."""
    everything = [
        400,
        401.5,
        400.0001,
        500,
        -1,
        399.999,
        -5.5,
        0,
        0.999,
        3,
        3.0,
        True,
        "true",
        None,
        math.nan,
        "a b",
    ]
    rows = [Row(id=str(i), inputs={}, meta={"words": value}) for i, value in enumerate(everything)]
    mask = parse_predicate(text).mask(rows)
    for value in holds:
        assert mask[
            next(
                i
                for i, v in enumerate(everything)
                if v is value or (v == value and type(v) is type(value))
            )
        ]
    if ">" in text or "<" in text:
        assert not any(
            mask[i] for i, v in enumerate(everything) if not isinstance(v, int | float) or v is True
        )


def test_an_absent_column_is_missing_and_equals_nothing() -> None:
    """A row without the column is in no slice but the missing one."""
    row = [Row(id="1", inputs={}, meta={})]
    assert Predicate([Missing(column="a")]).mask(row).tolist() == [True]
    assert Predicate([Equals(column="a", value="None")]).mask(row).tolist() == [False]
    assert Predicate([Interval(column="a", low=0)]).mask(row).tolist() == [False]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["x", "y", None]), st.integers(0, 9) | st.none()),
        min_size=1,
        max_size=30,
    )
)
def test_masks_agree_with_pandas(table: list) -> None:
    """A conjunction selects the rows that pandas selects."""
    rows = [Row(id=str(i), inputs={}, meta={"a": a, "b": b}) for i, (a, b) in enumerate(table)]
    frame = pd.DataFrame(table, columns=["a", "b"])
    expected = (
        (frame["a"] == "x") & (frame["b"].astype(float) >= 2) & (frame["b"].astype(float) < 7)
    )
    assert parse_predicate("b in [2, 7) and a = x").mask(rows).tolist() == expected.tolist()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "a =",
        "a = b c",
        "a = b or c = d",
        "a in [2, 1)",
        "a in (1, 2]",
        "a >= x",
        "a >= nan",
        "a != b",
        "a contains",
        'a contains "..."',
        "a contains b c",
        '"a = b',
        "= b",
    ],
)
def test_a_text_that_is_no_predicate_is_refused(text: str) -> None:
    """The error quotes the text and shows an example."""
    with pytest.raises(InputError):
        parse_predicate(text)


def test_numbers_are_compared_by_value_and_not_by_type() -> None:
    """A whole float and an integer are the same value; truth values are words."""
    assert [text_of(v) for v in (3, 3.0, 0.5, True, False, "3")] == [
        "3",
        "3",
        "0.5",
        "true",
        "false",
        "3",
    ]


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("statement contains refund", ["A refund.", "REFUND!", "no-refund", "refund refund"]),
        ('statement contains "refund policy"', ["The Refund: policy holds", "refund policy"]),
        ("statement contains café", ["Café noir"]),
        ("statement contains 10", ["10 days", "in 10.5 h"]),
    ],
)
def test_a_text_contains_whole_words_in_a_row(text: str, holds: list[str]) -> None:
    """Case and punctuation do not count, parts of words do not either; no text, no word."""
    every = [
        *(
            "A refund.",
            "REFUND!",
            "no-refund",
            "refund refund",
            "refunded",
            "The Refund: policy holds",
            "policy refund",
        ),
        *("refund policy", "Café noir", "cafe", "10 days", "100", "in 10.5 h", ""),
    ]
    expected = set(holds)
    if text == "statement contains refund":
        expected |= {value for value in every if "refund" in value.lower() and value != "refunded"}
    mask = parse_predicate(text).mask([Row(id="1", inputs={"statement": value}) for value in every])
    assert {value for value, inside in zip(every, mask, strict=True) if inside} == expected
    assert parse_predicate(text).mask([Row(id="1", inputs={})]).tolist() == [False]


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.text(alphabet="abc .-", max_size=15), min_size=1, max_size=20),
    st.sampled_from(["a", "ab", "c"]),
)
def test_words_in_texts_agree_with_pandas(texts: list[str], word: str) -> None:
    """`contains` selects what a search for the whole word selects."""
    rows = [Row(id=str(i), inputs={"statement": text}) for i, text in enumerate(texts)]
    expected = pd.Series(texts).str.contains(rf"\b{word}\b")
    assert (
        Predicate([Contains(column="statement", word=word)]).mask(rows).tolist()
        == expected.tolist()
    )
    stored = [
        Row(id=row.id, inputs={}, meta={"statement": row.inputs["statement"]}) for row in rows
    ]
    assert (
        Predicate([Contains(column="statement", word=word)]).mask(stored).tolist()
        == expected.tolist()
    )


def test_the_example_with_features_of_texts_reads_and_selects() -> None:
    """Names of features need no quotes."""
    predicate = parse_predicate("statement:words >= 3 and statement:numbers_in_source = false")
    assert str(predicate) == "statement:numbers_in_source = false and statement:words >= 3"
    texts = [("He paid 5 euro", "5"), ("He paid 6 euro", "5"), ("6", "5"), ("He paid much", "5")]
    rows = [Row(id="1", inputs={"statement": a, "source": b}) for a, b in texts]
    assert predicate.mask(rows).tolist() == [False, True, False, False]
