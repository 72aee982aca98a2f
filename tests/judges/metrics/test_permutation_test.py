"""The exact test by group swaps: against SciPy's, against enumeration by hand, and its error
rate.
"""

from itertools import product

import numpy as np
import pytest
from scipy.stats import permutation_test

from judgewright.judges import (
    BINARY,
    JudgedDataset,
    OutputScale,
    compare,
    point,
    with_permutation_p,
)
from judgewright.judges.metrics import FEW_GROUPS, changed_groups, count_cells, permutation_p

from ...judged_tables import judged_table

METRICS = (
    "precision",
    "recall",
    "specificity",
    "f1",
    "accuracy",
    "balanced_accuracy",
    "kappa",
    "mcc",
)


def judged(
    labels: np.ndarray, said: np.ndarray, groups: np.ndarray, scale: OutputScale = BINARY
) -> JudgedDataset:
    """Answers to rows in groups; labels and verdicts on one scale."""
    return judged_table(labels, said, groups=[f"g{g}" for g in groups], scale=scale)


def drawn(
    seed: int, groups: int, better: float = 0.05
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Labels, groups of unequal size, and two judges' verdicts, the second one wrong less often by
    `better`.
    """
    rng = np.random.default_rng(seed)
    where = np.repeat(np.arange(groups), rng.integers(2, 12, groups))
    labels = rng.random(len(where)) < 0.5
    old, new = (labels ^ (rng.random(len(where)) < wrong) for wrong in (0.3, 0.3 - better))
    return labels, where, old, new


@pytest.mark.parametrize("metric", METRICS)
def test_it_agrees_with_scipy_on_every_swap(metric: str) -> None:
    """SciPy swaps the two samples' observations; an observation is a group here, so it is given by
    its number.
    """
    for seed in range(3):
        labels, groups, old, new = drawn(seed, 9, better=0.15)

        def difference(
            first: np.ndarray,
            second: np.ndarray,
            labels: np.ndarray = labels,
            groups: np.ndarray = groups,
            old: np.ndarray = old,
            new: np.ndarray = new,
        ) -> float:
            sides = [np.where((chosen >= 9)[groups], new, old) for chosen in (first, second)]
            before, after = (point(metric, labels, side) for side in sides)
            assert before is not None
            assert after is not None
            return after - before

        numbers = np.arange(9), np.arange(9) + 9
        theirs = permutation_test(
            numbers,
            difference,
            permutation_type="samples",
            alternative="greater",
            vectorized=False,
            n_resamples=np.inf,
        )
        a, b = (judged(labels, side, groups) for side in (old, new))
        ours = permutation_p(
            metric, count_cells(metric, a, a.groups), count_cells(metric, b, b.groups)
        )
        assert ours == pytest.approx(theirs.pvalue, abs=1e-12)


def test_grades_are_swapped_too() -> None:
    """off_by_one by enumeration: the mean of near hits, every way to swap six groups."""
    rng = np.random.default_rng(4)
    scale = OutputScale(low=0, high=3, threshold=2)
    groups = np.repeat(np.arange(6), 4)
    labels, old = rng.integers(0, 4, 24), rng.integers(0, 4, 24)
    new = np.where(rng.random(24) < 0.5, labels, old)
    before, after = (np.abs(side - labels) <= 1 for side in (old, new))
    moves = [float((after - before.astype(int))[groups == g].sum()) for g in range(6)]
    sums = [
        sum(sign * move for sign, move in zip(signs, moves, strict=True))
        for signs in product((1, -1), repeat=6)
    ]
    a, b = (judged(labels, side, groups, scale) for side in (old, new))
    ours = permutation_p(
        "off_by_one", count_cells("off_by_one", a, a.groups), count_cells("off_by_one", b, b.groups)
    )
    assert ours == pytest.approx(np.mean(np.array(sums) >= sums[0] - 1e-9))


def test_draws_come_near_the_exact_value_and_are_the_same_every_time() -> None:
    """Past fifteen groups 10,000 ways are drawn, from a seed; what was seen is one of them, so that
    p is never 0.
    """
    labels, groups, old, new = drawn(7, 18, better=0.1)
    cells = [count_cells("f1", judged(labels, side, groups), groups) for side in (old, new)]
    p = permutation_p("f1", *cells)
    assert p == permutation_p("f1", *cells)
    exact = permutation_p("f1", *cells, draws=400_000, seed=5)
    assert p == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 10_000))
    gain = [np.zeros((28, 4), int), np.zeros((28, 4), int)]
    gain[0][:, 0], gain[0][:, 2], gain[1][:, 0], gain[1][:, 3] = 1, 1, 1, 1
    assert permutation_p("accuracy", *gain) == pytest.approx(1 / 10_000)


def test_the_larger_p_stands_only_where_few_groups_changed() -> None:
    """Under thirty changed groups the change says both; from thirty on it is left as it is."""
    few = drawn(1, 20, better=0.1)
    sides = [judged(few[0], side, few[1]) for side in few[2:]]
    change = compare("f1", *sides)
    assert change is not None
    both = with_permutation_p(change, *sides)
    assert both is not None
    assert both.swap_p is not None
    assert both.p == max(change.p, both.swap_p)
    many = drawn(1, 80, better=0.1)
    sides = [judged(many[0], side, many[1]) for side in many[2:]]
    change = compare("f1", *sides)
    assert change is not None
    cells = [count_cells("f1", side, sides[0].groups) for side in sides]
    assert changed_groups("f1", *cells).sum() >= FEW_GROUPS
    assert with_permutation_p(change, *sides) == change
    assert with_permutation_p(None, *sides) is None


def test_five_flips_are_no_evidence_by_swaps() -> None:
    """Each of five groups mended: one way in 32 is as good, whatever a standard error says."""
    labels = np.zeros(200, bool)
    labels[100:] = True
    old = labels.copy()
    old[:5] = True
    groups = np.arange(200)
    change = with_permutation_p(
        compare("precision", *(s := [judged(labels, side, groups) for side in (old, labels)])), *s
    )
    assert change is not None
    assert change.swap_p == 1 / 32
    assert change.p >= 1 / 32
