"""Threshold retrieval: the F1 curve, the best cut-off, and fixed k beside it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_score, recall_score

from judgewright.judges import InputError
from judgewright.plugins.rag.annotation import f1_by_threshold

pairs = st.lists(
    st.tuples(st.booleans(), st.integers(0, 10), st.integers(0, 4), st.integers(1, 3)),
    min_size=2,
    max_size=60,
).filter(lambda rows: any(label for label, *_ in rows))


@given(rows=pairs)
@settings(max_examples=100, deadline=None)
def test_the_curve_is_scikit_learns_at_every_threshold(
    rows: list[tuple[bool, int, int, int]],
) -> None:
    """Precision, recall and F1 with weights, and the best of them by brute force."""
    label = np.array([r[0] for r in rows])
    probability = np.array([r[1] / 10 for r in rows])
    groups = np.unique([r[2] for r in rows], return_inverse=True)[1]
    weight = np.array([r[3] for r in rows], np.float64)
    found = f1_by_threshold(label, probability, groups, weight=weight, ks=(1,))
    assert [p.cut for p in found.points] == sorted(set(probability), reverse=True)
    for point in found.points:
        taken = probability >= point.cut
        assert point.precision == pytest.approx(precision_score(label, taken, sample_weight=weight))
        assert point.recall == pytest.approx(recall_score(label, taken, sample_weight=weight))
        assert point.f1 == pytest.approx(f1_score(label, taken, sample_weight=weight))
        assert point.documents == pytest.approx(weight[taken].sum() / found.queries)
    assert found.best.f1 == max(p.f1 for p in found.points)
    assert found.best_f1.value == pytest.approx(found.best.f1)


@given(rows=pairs, k=st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_a_fixed_k_takes_the_first_of_each_query(
    rows: list[tuple[bool, int, int, int]], k: int
) -> None:
    """By probability, ties in the order given; or by the retriever's rank where that is given."""
    label = np.array([r[0] for r in rows])
    probability = np.array([r[1] / 10 for r in rows])
    groups = np.unique([r[2] for r in rows], return_inverse=True)[1]
    taken = np.zeros(len(rows), np.bool_)
    for g in set(groups.tolist()):
        members = [i for i in range(len(rows)) if groups[i] == g]
        taken[sorted(members, key=lambda i: -probability[i])[:k]] = True
    found = f1_by_threshold(label, probability, groups, ks=(k,))
    assert found.top[0].f1 == pytest.approx(f1_score(label, taken, zero_division=0))
    given_ranks = f1_by_threshold(
        label, probability, groups, rank=np.arange(1, len(rows) + 1), ks=(k,)
    )
    assert given_ranks.top[0].f1 == pytest.approx(
        f1_score(label, np.arange(len(rows)) < k, zero_division=0)
    )


def test_queries_of_different_sizes_are_served_better_by_a_threshold() -> None:
    """One query has nine relevant passages, the next none: no k suits both, a threshold does, and
    the gain shows it.
    """
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 12)
    wanted = np.repeat(np.where(np.arange(40) % 2, 9, 0), 12)
    label = np.tile(np.arange(12), 40) < wanted
    probability = np.clip(np.where(label, 0.8, 0.2) + rng.normal(0, 0.1, len(label)), 0, 1)
    found = f1_by_threshold(label, probability, groups, ks=(1, 3, 5, 9, 12))
    assert 0.3 < found.best.cut < 0.7
    assert found.best.f1 > 0.99
    assert found.best.documents == pytest.approx(4.5, abs=0.2)
    assert found.gain.low is not None
    assert found.gain.low > 0.2
    assert "chosen on these pairs" in found.note


def test_a_long_curve_is_thinned_when_written() -> None:
    """A thousand thresholds are kept in memory and about a hundred go into JSON."""
    probability = np.linspace(0, 1, 1000)
    found = f1_by_threshold(probability > 0.5, probability, np.arange(1000) // 10)
    assert len(found.points) == 1000
    assert len(found.to_json()["curve"]) <= 110  # type: ignore[arg-type]


def test_what_gives_no_curve_is_refused() -> None:
    """No relevant pair, a missing probability, uneven arrays, no k."""
    one, group = np.array([True]), np.array([0])
    with pytest.raises(InputError, match="no pair is labelled relevant"):
        f1_by_threshold(~one, np.array([0.5]), group)
    with pytest.raises(InputError, match="no probability"):
        f1_by_threshold(one, np.array([np.nan]), group)
    with pytest.raises(InputError, match="do not match"):
        f1_by_threshold(one, np.array([0.5, 0.5]), group)
    with pytest.raises(InputError, match="numbers from 1"):
        f1_by_threshold(one, np.array([0.5]), group, ks=(0,))
    alone = f1_by_threshold(one, np.array([0.5]), group)
    assert (alone.best.f1, alone.best_f1.low) == (1.0, None)
