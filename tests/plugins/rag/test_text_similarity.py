"""ANLS by hand and against a distance of our own."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import InputError
from judgewright.plugins.rag.answers.text_similarity import answer_similarity, gold_answers


def _levenshtein(a: str, b: str) -> int:
    line = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, line[0] = line[0], i
        for j, y in enumerate(b, 1):
            before, line[j] = line[j], min(line[j] + 1, line[j - 1] + 1, before + (x != y))
    return line[-1]


@pytest.mark.parametrize(
    ("answer", "gold", "value"),
    [
        ("Net revenue", ["net  revenue "], 1.0),
        ("12.5 million", ["12.5 millions", "13"], 12 / 13),
        ("abcd", ["abxy"], 0.0),  # a distance of exactly one half
        ("abcde", ["abcxy"], 3 / 5),
        ("", ["something"], 0.0),
        ("", [""], 1.0),
        ("STRASSE", ["straße"], 1.0),
        ("no answer", ["42", "No Answer"], 1.0),
    ],
)
def test_the_nearest_gold_answer_counts_and_half_wrong_is_wrong(
    answer: str, gold: list[str], value: float
) -> None:
    """Case and runs of spaces are folded; a distance of half the longer text or more scores 0."""
    assert answer_similarity(answer, gold) == pytest.approx(value)


@given(
    st.text("ab \tC", max_size=12), st.lists(st.text("ab \tC", max_size=12), min_size=1, max_size=3)
)
@settings(max_examples=60, deadline=None)
def test_similarity_follows_a_plain_edit_distance(answer: str, gold: list[str]) -> None:
    """The textbook dynamic programme on the folded texts gives the same number."""
    mine = " ".join(answer.casefold().split())
    distances = []
    for text in gold:
        theirs = " ".join(text.casefold().split())
        distances.append(_levenshtein(mine, theirs) / (max(len(mine), len(theirs)) or 1))
    expected = 1 - min(distances) if min(distances) < 0.5 else 0.0
    assert answer_similarity(answer, gold) == pytest.approx(expected)


def test_bad_gold_is_refused() -> None:
    """No gold answer, and a bare text in place of a list."""
    with pytest.raises(InputError, match="no gold answer"):
        answer_similarity("a", [])
    with pytest.raises(InputError, match="list of texts"):
        answer_similarity("a", "a")


@pytest.mark.parametrize(
    ("cell", "gold"),
    [
        ("left", ("left",)),
        (42, ("42",)),
        ('["forty two", "42"]', ("forty two", "42")),
        ("[1]", ("[1]",)),
        ("[a", ("[a",)),
        (None, ("",)),
    ],
)
def test_a_cell_is_one_gold_answer_or_a_list_of_them(
    cell: str | int | None, gold: tuple[str, ...]
) -> None:
    """A list that holds no texts is a text."""
    assert gold_answers(cell) == gold
