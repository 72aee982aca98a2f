"""Bins of a reliability curve: they give back the calibration error, and are scikit-learn's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges.metrics import ece, reliability_bins, wilson


def rows(n: int = 400, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and probabilities that go together."""
    rng = np.random.default_rng(seed)
    probability = rng.random(n).round(2)
    return rng.random(n) < probability**2, probability


@given(
    pairs=st.lists(
        st.tuples(st.booleans(), st.floats(0, 1) | st.sampled_from([i / 20 for i in range(21)])),
        min_size=1,
    ),
    bins=st.integers(1, 20),
    edges=st.sampled_from(["linspace", "tenths"]),
)
@settings(max_examples=150, deadline=None)
def test_the_bins_give_back_the_calibration_error(
    pairs: list[tuple[bool, float]], bins: int, edges: str
) -> None:
    """Weighted by their rows, the distances from the diagonal are `ece`, and no row is in two bins
    or in none.
    """
    label, probability = np.array([y for y, _ in pairs]), np.array([p for _, p in pairs])
    found = reliability_bins(label, probability, bins=bins, edges=edges)  # type: ignore[arg-type]
    full = [b for b in found if b.share.n]
    error = sum(b.share.n * abs(b.share.value - b.probability) for b in full) / len(label)  # type: ignore[operator]
    assert error == pytest.approx(float(ece(label, probability, bins=bins, edges=edges)), abs=1e-12)  # type: ignore[arg-type]
    assert sum(b.share.n for b in found) == len(label)
    assert all(b.probability is None and b.share.value is None for b in found if b.share.n == 0)


def test_the_bins_are_scikit_learns_with_wilsons_intervals() -> None:
    """Shares and mean probabilities agree with `calibration_curve`."""
    from sklearn.calibration import calibration_curve

    label, probability = rows()
    found = [b for b in reliability_bins(label, probability) if b.share.n]
    shares, means = calibration_curve(label, probability, n_bins=10)
    np.testing.assert_allclose([b.share.value for b in found], shares)
    np.testing.assert_allclose([b.probability for b in found], means)
    first = found[0].share
    assert (first.low, first.high) == wilson(round(shares[0] * first.n), first.n)


def test_the_float_edge_falls_as_the_edges_say() -> None:
    """1 - 0.7 is a hair above 0.3: in the third bin with linspace's edges, in the fourth with
    tenths.
    """
    label, probability = np.array([True]), np.array([1 - 0.7])
    places = [
        [b.share.n for b in reliability_bins(label, probability, edges=edges)].index(1)
        for edges in ("linspace", "tenths")
    ]
    assert places == [2, 3]
