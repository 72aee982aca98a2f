"""Rankings against scikit-learn, against all orders of tied documents, and their answers where
nothing is relevant.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import FloatArray, InputError
from judgewright.judges.metrics import (
    Ranking,
    ndcg,
    ranking_metrics,
)
from judgewright.judges.metrics.ranking import average_precision

from ...judged_tables import ranking_of_run

documents = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([0.1, 0.5, 0.9])), min_size=1, max_size=6
)


def one_query(grade: list[float], score: list[float]) -> Ranking:
    """Make a ranking of one query."""
    return Ranking(
        query=np.zeros(len(grade), np.int64),
        grade=np.array(grade, float),
        score=np.array(score, float),
    )


def _over_all_orders(ranking: Ranking, metric: Callable[[Ranking], FloatArray]) -> float:
    """Average a metric over every order that the scores allow, each order made strict."""
    found = []
    for order in permutations(range(len(ranking.score))):
        listed = ranking.score[list(order)]
        if (np.diff(listed) <= 0).all():
            strict = np.empty(len(order))
            strict[list(order)] = -np.arange(len(order))
            found.append(
                float(metric(Ranking(query=ranking.query, grade=ranking.grade, score=strict))[0])
            )
    return float(np.mean(found))


@pytest.mark.parametrize(
    "metric",
    [
        ndcg,
        lambda r: ndcg(r, 2, gain="exponential"),
        average_precision,
        lambda r: average_precision(r, threshold=2),
    ],
    ids=["ndcg", "ndcg_exp@2", "ap", "ap_rel2"],
)
@given(documents)
@settings(max_examples=25, deadline=None)
def test_tied_documents_count_as_the_mean_of_all_their_orders(
    metric: Callable[[Ranking], FloatArray], rows: list[tuple[int, float]]
) -> None:
    """The value with ties is the average of the metric without ties, over every order the scores
    allow.
    """
    ranking = one_query([float(g) for g, _ in rows], [s for _, s in rows])
    assert float(metric(ranking)[0]) == pytest.approx(_over_all_orders(ranking, metric), abs=1e-12)


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=2, max_size=12),
        min_size=1,
    )
)
@settings(max_examples=40, deadline=None)
def test_ndcg_of_many_queries_equals_scikit_learn(queries: list[list[tuple[int, int]]]) -> None:
    """Each query gets what ndcg_score gives it alone, ties and cut-off included, 0 where it gives
    0.
    """
    from sklearn.metrics import ndcg_score

    query = np.concatenate([np.full(len(rows), code) for code, rows in enumerate(queries)])
    grade, score = np.array([row for rows in queries for row in rows], np.float64).T
    shuffled = np.random.default_rng(0).permutation(len(query))
    ranking = Ranking(query=query[shuffled], grade=grade[shuffled], score=score[shuffled])
    for k in (None, 1, 3):
        expected = [
            ndcg_score([[g for g, _ in rows]], [[s for _, s in rows]], k=k) for rows in queries
        ]
        np.testing.assert_allclose(ndcg(ranking, k), expected, atol=1e-12)
    gained = [ndcg_score([[2**g - 1 for g, _ in rows]], [[s for _, s in rows]]) for rows in queries]
    np.testing.assert_allclose(ndcg(ranking, gain="exponential"), gained, atol=1e-12)


def test_a_judged_document_that_the_run_lacks_counts_in_the_ideal() -> None:
    """The best document is missing, so that even a perfect order of the rest stays below 1."""
    grades = {"q": {"a": 3.0, "b": 2.0, "c": 0.0}}
    full = ranking_of_run(grades, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}})
    short = ranking_of_run(grades, {"q": {"b": 2.0, "c": 1.0}})
    assert ndcg(full)[0] == 1.0
    assert ndcg(short)[0] == pytest.approx(2 / (3 + 2 / np.log2(3)))
    assert average_precision(short)[0] == 0.5


def test_a_query_without_a_relevant_document_counts_zero_and_is_named() -> None:
    """The mean is over all judged queries; a query that the run lacks counts 0 too, one nobody
    judged not at all.
    """
    judged = {"good": {"a": 1.0, "b": 0.0}, "none": {"a": 0.0}, "absent": {"a": 1.0}}
    found = ranking_metrics(
        ranking_of_run(judged, {"good": {"a": 2.0, "b": 1.0}, "other": {"z": 1.0}}), at=(1, 5)
    )
    assert list(found) == ["ndcg@1", "ndcg_exp@1", "ndcg@5", "ndcg_exp@5", "map"]
    for estimate in found.values():
        assert estimate.value == pytest.approx(1 / 3)
        assert estimate.reason == "1 of 3 queries have no relevant document and count 0"
        assert estimate.n == 4
        assert estimate.low is not None
        assert estimate.high is not None
        assert 0 <= estimate.low < 1 / 3 < estimate.high <= 1


def test_odd_rankings_have_stated_answers() -> None:
    """No query: undefined. One query: no interval. All perfect: not certain. A cut-off below 1 is
    refused.
    """
    empty = ranking_of_run({}, {"q": {"a": 1.0}})
    assert {e.reason for e in ranking_metrics(empty).values()} == {"no query has a judged document"}
    nothing = ranking_metrics(ranking_of_run({"q": {"a": 0.0}, "r": {"b": 0.0}}, {"q": {"a": 1.0}}))
    assert {(e.value, e.reason) for e in nothing.values()} == {
        (None, "no query has a relevant document")
    }
    one = ranking_metrics(one_query([1, 0], [2, 1]))["map"]
    assert (one.value, one.low, one.reason) == (
        1.0,
        None,
        "the figure rests on one unit, which cannot show the spread",
    )
    perfect = Ranking(
        query=np.repeat(np.arange(10), 2), grade=np.tile([1.0, 0], 10), score=np.tile([1.0, 0], 10)
    )
    low = ranking_metrics(perfect)["ndcg@10"].low
    assert low is not None
    assert 0.6 < low < 0.8
    with pytest.raises(InputError, match="first 0 documents"):
        ndcg(perfect, 0)
    with pytest.raises(InputError, match="2 queries, 1 grades"):
        Ranking(query=np.zeros(2, np.int64), grade=np.zeros(1), score=np.zeros(2))


def test_grades_too_high_for_a_power_of_two_still_rank() -> None:
    """On a scale of 0..100000 exponential gains neither overflow nor lose the order; negative
    grades gain nothing.
    """
    assert ndcg(one_query([100_000, 99_999, 0], [3, 2, 1]), gain="exponential")[0] == 1.0
    swapped = ndcg(one_query([100_000, 99_999, 0], [2, 3, 1]), gain="exponential")[0]
    assert swapped == pytest.approx((0.5 + 1 / np.log2(3)) / (1 + 0.5 / np.log2(3)))
    assert ndcg(one_query([-3, 1], [1, 2]))[0] == 1.0
