"""Minibatches."""

from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.optimize import minibatch


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.integers(1, 50), st.integers(0, 9))
def test_a_minibatch_is_a_subset_without_repeats_and_the_same_for_a_seed(
    weights: list[float], size: int, seed: int
) -> None:
    """Never more than asked for, never a row twice, and reproducible."""
    candidates = list(range(100, 100 + len(weights)))
    drawn = minibatch(candidates, weights, size, seed=seed)
    assert len(drawn) == len(set(drawn)) == min(size, len(weights))
    assert set(drawn) <= set(candidates)
    assert drawn == sorted(drawn) == minibatch(candidates, weights, size, seed=seed)


def test_rows_without_loss_fill_up_only_what_is_missing() -> None:
    """A row of weight 0 is drawn only after all others."""
    assert all(0 not in minibatch([0, 1, 2], [0.0, 0.5, 0.5], 2, seed=s) for s in range(200))
