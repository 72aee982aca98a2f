"""Pairs to annotate: drawn with known chances, estimated honestly, and queued for review."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import BINARY, InputError
from judgewright.plugins.rag.annotation import (
    Item,
    SamplePlan,
    draw_ranks,
    estimate_from_sample,
    pair_dataset,
    pair_id,
    sample_pairs,
)


class ByNumber:
    """Ranks documents by the number of the query: the nearest first."""

    name = "by number"

    def __init__(self, size: int) -> None:
        self.size = size

    def scores(self, query: str) -> np.ndarray:
        """Minus the distance."""
        return -np.abs(np.arange(self.size) - float(query))


def items(count: int, field: str) -> list[Item]:
    """Items whose text is their number."""
    return [Item(id=f"{field[0]}{i}", text=str(i), inputs={field: str(i)}) for i in range(count)]


@given(
    documents=st.integers(1, 400),
    k=st.integers(1, 30),
    per_query=st.integers(2, 40),
)
@settings(max_examples=150, deadline=None)
def test_as_many_are_drawn_outside_as_inside_where_there_are_enough(
    documents: int, k: int, per_query: int
) -> None:
    """Distinct ranks, the right numbers on each side, and weights that stand for exactly every
    document.
    """
    plan = SamplePlan(k=k, per_query=per_query)
    drawn = draw_ranks(documents, plan, np.random.default_rng(1))
    top = min(k, documents)
    inside = [r for r in drawn if r < top]
    assert len(inside) == min((per_query + 1) // 2, top)
    assert len(drawn) - len(inside) == min(per_query // 2, documents - top)
    assert all(0 <= r < documents and 0 < p <= 1 for r, p in drawn.items())
    if len(drawn) > len(inside) or documents == top:
        assert sum(1 / p for p in drawn.values()) == pytest.approx(documents)


def test_the_inclusion_probability_is_how_often_a_rank_is_drawn() -> None:
    """Over four thousand draws of thirty documents every rank comes as often as its probability
    says.
    """
    plan = SamplePlan(k=4, per_query=6)
    rng = np.random.default_rng(0)
    times, stated = np.zeros(30), np.zeros(30)
    for _ in range(4000):
        for r, p in draw_ranks(30, plan, rng).items():
            times[r] += 1
            stated[r] = p
    np.testing.assert_allclose(times / 4000, stated, atol=0.035)
    assert (stated > 0).all()
    bands = np.split(stated[4:], np.flatnonzero(np.diff(stated[4:])) + 1)
    assert len(bands) == 3
    assert all(len(a) < len(b) for a, b in pairwise(bands))


def test_a_query_is_drawn_alike_whatever_stands_beside_it() -> None:
    """The same seed gives the same pairs, alone or among others; another seed gives others."""
    documents, plan = items(50, "passage"), SamplePlan(k=5, per_query=8, seed=3)
    many = [
        p
        for p in sample_pairs(items(4, "query"), documents, ByNumber(50), plan)
        if p.query.id == "q2"
    ]
    alone = list(sample_pairs(items(4, "query")[2:3], documents, ByNumber(50), plan))
    assert many == alone
    assert [p.rank for p in alone] == sorted(p.rank for p in alone)
    assert [p.inside for p in alone] == [True] * 4 + [False] * 4
    other = SamplePlan(k=5, per_query=8, seed=4)
    assert list(sample_pairs(items(4, "query")[2:3], documents, ByNumber(50), other)) != alone


def test_pairs_become_rows_with_their_chances() -> None:
    """Inputs of both sides, and the query as group."""
    pairs = list(
        sample_pairs(
            items(2, "query"), items(30, "passage"), ByNumber(30), SamplePlan(k=2, per_query=2)
        )
    )
    first = pairs[0]
    dataset = pair_dataset(pairs, BINARY)
    row = dataset.rows[0]
    assert row.inputs == {"query": "0", "passage": first.document.text}
    assert (row.label, row.group) == (None, "q0")
    assert (row.meta["inclusion"], row.meta["inside"]) == (0.5, True)


@given(
    pairs=st.sets(
        st.tuples(st.text("a/%2F", max_size=4), st.text("a/%2F", max_size=4)),
        min_size=2,
        max_size=30,
    )
)
@settings(max_examples=100, deadline=None)
def test_no_two_pairs_share_an_id(pairs: set[tuple[str, str]]) -> None:
    """Whatever stands in the ids of query and document."""
    assert len({pair_id(*pair) for pair in pairs}) == len(pairs)


def test_the_sample_estimates_what_the_whole_corpus_holds() -> None:
    """On sixty queries over two hundred documents the interval covers the true recall; a plain
    share overstates it.
    """
    rng, size, plan = np.random.default_rng(2), 200, SamplePlan(k=5, per_query=16)
    chance = 0.8 / (1 + np.arange(size) / 6)
    relevant = rng.random((60, size)) < chance
    truth = relevant[:, :5].sum() / relevant.sum()
    drawn = [(q, r, p) for q in range(60) for r, p in draw_ranks(size, plan, rng).items()]
    query, ranks, inclusion = (np.array(column) for column in zip(*drawn, strict=True))
    said = relevant[query, ranks]
    found = estimate_from_sample(ranks < 5, said, inclusion, query, documents=size)
    assert found.recall.low is not None
    assert found.recall.low < truth < found.recall.high  # type: ignore[operator]
    assert found.relevant_per_query.low < relevant.sum(1).mean() < found.relevant_per_query.high  # type: ignore[operator]
    assert (ranks < 5)[said].mean() > found.recall.high  # type: ignore[operator]


def test_estimates_without_relevant_pairs_or_verdicts_have_a_reason() -> None:
    """None, never NaN."""
    nothing = estimate_from_sample(*(np.empty(0),) * 3, np.empty(0, np.int64), documents=9)  # type: ignore[arg-type]
    assert "no pair has a verdict" in nothing.recall.reason
    none = estimate_from_sample(
        np.array([True, False]),
        np.array([False, False]),
        np.array([0.5, 0.5]),
        np.array([0, 1]),
        documents=4,
    )
    assert (none.recall.value, none.relevant_per_query.value) == (None, 0.0)
    assert "no sampled pair is relevant" in none.recall.reason


def test_plans_that_make_no_sample_are_refused() -> None:
    """One pair cannot be on both sides, and a top of nothing is none."""
    with pytest.raises(InputError, match="inside and outside"):
        SamplePlan(per_query=1)
    with pytest.raises(InputError, match="k 0"):
        SamplePlan(k=0)
