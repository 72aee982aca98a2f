"""ANLS by hand and against a distance of our own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import InputError
from judgewright.judges.metrics import anls, answer_similarity


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


def test_the_average_has_an_interval_over_items_or_groups() -> None:
    """Wilson's ends with Student's t; items that share a document widen it; nothing to average says
    so.
    """
    from scipy import optimize, stats

    answers = ["right", "wrong answer", "righ", "no"] * 10
    values = [answer_similarity(answer, ["right"]) for answer in answers]
    found = anls(answers, [["right"]] * 40)
    mean, error = np.mean(values), stats.sem(values) * stats.t.ppf(0.975, 39)

    def too_far(true: float) -> float:
        return (mean - true) ** 2 - error**2 * true * (1 - true) / (mean * (1 - mean))

    low, high = optimize.brentq(too_far, 0, mean), optimize.brentq(too_far, mean, 1)
    assert (found.value, found.n) == (pytest.approx(np.mean(values)), 40)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-6)
    grouped = anls(sorted(answers), [["right"]] * 40, np.arange(40) // 10)
    assert (grouped.high or 0) - (grouped.low or 0) > high - low
    assert anls([], []).reason == "there is no answer"
    assert anls(["a"], [["a"]]).reason == "one unit cannot show the spread"


def test_bad_gold_is_refused() -> None:
    """No gold answer, a bare text in place of a list, and lists of different length."""
    with pytest.raises(InputError, match="no gold answer"):
        anls(["a"], [[]])
    with pytest.raises(InputError, match="list of texts"):
        anls(["a"], ["a"])
    with pytest.raises(InputError, match="1 answers for 2"):
        anls(["a"], [["a"], ["b"]])
