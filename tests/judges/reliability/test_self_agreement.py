"""Test-retest: agreement with oneself, and the spread of a metric."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, f1_score

from judgewright.judges import (
    InputError,
    JudgedDataset,
    Row,
    Unscored,
    group_codes,
)
from judgewright.judges.metrics import as_json, clustered_se, influence
from judgewright.judges.reliability import minimum_detectable_change, retest

from ...judged_tables import judged_table

Said = list[int | None]


def table(labels: list[int | None], said: Said, groups: list[str] | None = None) -> JudgedDataset:
    """Rows with labels and answers; None is a row without a label, or unscored."""
    return judged_table(labels, said, groups=groups, judge="j")


def noisy(seed: int, n: int, rounds: int, flip: float) -> list[JudgedDataset]:
    """A judge that is right on four rows in five, and in each round flips some verdicts at
    random.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    base = np.where(rng.random(n) < 0.8, labels, 1 - labels)
    return [
        table(labels.tolist(), np.where(rng.random(n) < flip, 1 - base, base).tolist())
        for _ in range(rounds)
    ]


@given(
    said=st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 1)), min_size=3, max_size=40
    ).filter(lambda rows: all(len(set(column)) == 2 for column in zip(*rows, strict=True)))
)
@settings(max_examples=60, deadline=None)
def test_kappa_between_rounds_is_scikit_learns(said: list[tuple[int, int, int]]) -> None:
    """The mean of Cohen's kappa over the three pairs of rounds."""
    columns = [list(column) for column in zip(*said, strict=True)]
    found = retest([table([0, 1] * len(said), [*c, *c]) for c in columns]).kappa
    expected = np.mean([cohen_kappa_score(a, b) for a, b in itertools.combinations(columns, 2)])
    assert found.value == pytest.approx(expected)


def test_the_spread_is_of_the_rows_every_round_answered() -> None:
    """F1 of each round and its deviation agree with scikit-learn and NumPy."""
    rounds = noisy(seed=1, n=200, rounds=4, flip=0.1)
    answers = (Unscored(row_id="r0", reason="parse"), *rounds[2].answers[1:])
    rounds[2] = replace(rounds[2], answers=answers)
    found = retest(rounds)
    spread = found.spread["f1"]
    expected = [f1_score(r.label[-199:], r.predicted[-199:]) for r in rounds]
    assert spread.values == pytest.approx(expected)
    assert spread.sd.value == pytest.approx(np.std(expected, ddof=1))
    assert (spread.sd.n, found.n) == (4, 199)
    assert spread.sd.low is not None
    assert spread.sd.low < spread.sd.value < spread.sd.high  # type: ignore[operator]
    votes = {name: sum(scores) for name, scores in found.flips.items()}
    assert found.self_agreement.value == pytest.approx(1 - len(votes) / 199)
    assert set(votes.values()) <= {1.0, 2.0, 3.0}
    assert [*votes.values()] == sorted(votes.values(), key=lambda n: abs(2 * n - 4))


def test_a_judge_that_never_changes_agrees_with_itself() -> None:
    """Agreement is whole with a lower end below 1."""
    one = table([1, 0, 1, 0], [1, 0, 0, 0])
    found = retest([one, one])
    assert (found.self_agreement.value, found.kappa.value, found.flips) == (1.0, 1.0, {})
    assert found.self_agreement.low is not None
    assert found.self_agreement.low < 1


@pytest.mark.parametrize(("positive", "low"), [(1, None), (3, 0.4753), (15, 0.7730)])
def test_kappa_without_a_change_is_as_certain_as_the_decisions_are_even(
    positive: int, low: float | None
) -> None:
    """Thirty rows answered alike twice have Wilson's interval of 4q(1 - q) 30 rows on kappa's
    range.
    """
    decisions: Said = [int(i < positive) for i in range(30)]
    kappa = retest([table([0, 1] * 15, decisions)] * 2).kappa
    assert kappa.value == 1.0
    assert kappa.low == (None if low is None else pytest.approx(low, abs=1e-4))


def test_what_cannot_be_measured_is_none_with_a_reason() -> None:
    """No common row, one decision throughout, an undefined metric: never NaN."""
    nothing = retest([table([1, 0], [1, None]), table([1, 0], [None, 0])])
    assert (nothing.n, nothing.self_agreement.value, nothing.kappa.value) == (0, None, None)
    assert nothing.spread["f1"].sd.reason
    same = retest([table([1, 0], [1, 1])] * 2)
    assert same.kappa.value is None
    assert "one and the same decision" in same.kappa.reason
    assert "nan" not in str(as_json(same))


def test_rounds_must_be_of_the_same_rows() -> None:
    """One round, or other rows, are refused."""
    with pytest.raises(InputError, match="1 round"):
        retest([table([1], [1])])
    with pytest.raises(InputError, match="same rows"):
        retest([table([1], [1]), table([1, 0], [1, 0])])


@pytest.mark.parametrize(("n", "points"), [(1000, 2.5), (5000, 1.1)])
def test_the_detectable_change_is_that_of_the_simulated_tables(n: int, points: float) -> None:
    """F1 of a judge with precision and recall of .8 on balanced classes, as in part 4 of
    SLICES_AND_STATS.md.
    """
    labels = [1, 1, 1, 1, 1, 0, 0, 0, 0, 0] * (n // 10)
    said = [1, 1, 1, 1, 0, 1, 0, 0, 0, 0] * (n // 10)
    found = minimum_detectable_change("f1", table(labels, said))
    assert found is not None
    assert 100 * found.size == pytest.approx(points, rel=0.12)
    assert f"{n:,} rows" in found.basis


def test_what_groups_share_before_and_after_does_not_count() -> None:
    """Queries on which the judge errs on every other row widen the interval of F1 more than that of
    a difference.
    """
    labels, said = [1, 0] * 500, [1, 0] * 250 + [1, 1, 0, 0] * 125
    judged = table(labels, said, [f"g{i // 20}" for i in range(1000)])
    own = clustered_se(influence("f1", judged.positive, judged.predicted), judged.groups)
    found = minimum_detectable_change("f1", judged)
    assert found is not None
    assert found.size < 0.6 * 2.49 * own


def test_without_errors_or_groups_no_change_is_detectable() -> None:
    """None, and a metric of grades is refused."""
    assert minimum_detectable_change("f1", table([0, 1], [0, 1])) is None
    assert minimum_detectable_change("f1", table([0, 1, 1], [0, 0, 1], ["g", "g", "g"])) is None
    assert minimum_detectable_change("recall", table([0, 0], [0, 1])) is None
    with pytest.raises(InputError, match="not a metric of decisions"):
        minimum_detectable_change("off_by_one", table([0, 1], [0, 1]))


def test_rows_without_a_group_are_their_own() -> None:
    """Codes in order of first appearance."""
    rows = [
        Row(id=i, inputs={}, group=g) for i, g in (("a", "x"), ("b", ""), ("c", "x"), ("x", ""))
    ]
    assert group_codes(rows).tolist() == [0, 1, 0, 2]
