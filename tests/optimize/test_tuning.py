"""Tuning: halves that share no group, what a trial is worth, and the choice of one that asks little."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from judgewright.judges import BINARY, Dataset, JudgedDataset, Row, Verdict
from judgewright.judges.errors import InputError
from judgewright.optimize import Gepa, Goal, Loss, Rewrite, RunSettings, Target, TextGrad, read_objective
from judgewright.optimize.losses.expression import compile_expression
from judgewright.optimize.tuning import Knobs, best_for_less, halve, loss_fall, mean_loss

AIM = Goal(
    objective=read_objective("accuracy"),
    target=Target(name="all rows", why="", predicate=None),
    loss=Loss(expression=compile_expression("1 - correct")),
)


def dataset(groups: list[int], labels: list[bool]) -> Dataset:
    """Rows of these groups and labels whose texts have nothing in common."""
    rows = [
        Row(
            id=f"r{i}",
            inputs={"claim": f"word{i} other{i} third{i} fourth{i}"},
            label=float(label),
            group=f"g{group}" if group else "",
        )
        for i, (group, label) in enumerate(zip(groups, labels, strict=True))
    ]
    return Dataset.of(rows, labels=BINARY)


def judged(wrong: list[bool], groups: list[int]) -> JudgedDataset:
    """A judge that is wrong on some of the rows; all of them are positive."""
    data = dataset(groups, [True] * len(wrong))
    answers = tuple(
        Verdict(row_id=row.id, score=float(not w), positive=not w) for row, w in zip(data.rows, wrong, strict=True)
    )
    return JudgedDataset(dataset=data, answers=answers, scale=BINARY)


@given(st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=2, max_size=60), st.randoms())
def test_halves_are_all_rows_share_no_group_and_do_not_depend_on_the_order(drawn: list[tuple[int, bool]], rng) -> None:  # type: ignore[no-untyped-def]
    """Every row is in one half, every group on one side, the halves differ by no more than the largest group."""
    data = dataset([group for group, _ in drawn], [label for _, label in drawn])
    names = [row.group or row.id for row in data.rows]
    if len(set(names)) < 2:
        with pytest.raises(InputError, match="one group"):
            halve(data)
        return
    one, other = halve(data)
    assert sorted(row.id for half in (one, other) for row in half.rows) == sorted(row.id for row in data.rows)
    sides = [{row.group or row.id for row in half.rows} for half in (one, other)]
    assert sides[0].isdisjoint(sides[1])
    assert min(len(one), len(other)) > 0
    shuffled = list(data.rows)
    rng.shuffle(shuffled)
    again = halve(Dataset.of(shuffled, labels=BINARY))
    assert [half.content_hash for half in again] == [one.content_hash, other.content_hash]


def test_halves_are_alike_in_size_and_labels() -> None:
    """Of two hundred rows in groups of five, with a third positive, each half has half of both kinds."""
    data = dataset([1 + i // 5 for i in range(200)], [i // 5 % 3 == 0 for i in range(200)])
    for half in halve(data):
        assert abs(len(half) - 100) <= 5
        assert abs(sum(row.label == 1.0 for row in half.rows) - 35) <= 5


def test_rows_that_are_nearly_the_same_stay_together() -> None:
    """A row and its copy with another id are never on both sides."""
    text = " ".join(f"w{i}" for i in range(60))
    rows = [Row(id=f"r{i}", inputs={"claim": text if i < 2 else f"{i} is alone here"}, label=1.0) for i in range(8)]
    sides = [{row.id for row in half.rows} for half in halve(Dataset.of(rows, labels=BINARY))]
    assert any({"r0", "r1"} <= side for side in sides)


@pytest.mark.parametrize("size", [1, 4])
def test_the_fall_of_the_loss_has_the_interval_of_a_paired_t_test_over_groups(size: int) -> None:
    """For groups of one size, SciPy's one-sample t-test on group means is the same interval."""
    rng = np.random.default_rng(size)
    groups = [1 + i // size for i in range(40 * size)]
    before, after = (judged(list(rng.random(40 * size) < share), groups) for share in (0.5, 0.3))
    falls = (before.score != before.label).astype(float) - (after.score != after.label).astype(float)
    means = falls.reshape(-1, size).mean(1)
    low, high = stats.ttest_1samp(means, 0.0).confidence_interval(0.95)
    found = loss_fall(AIM, before, after)
    assert (found.value, found.low, found.high) == pytest.approx((falls.mean(), low, high))
    assert found.n == 40 * size


def test_a_fall_that_cannot_be_told_has_a_reason_and_no_interval() -> None:
    """No changed row, one group, no common row: never an interval of no width."""
    same = judged([True, False, False], [0, 0, 0])
    assert loss_fall(AIM, same, same).reason == "the loss of every row changed alike, or of none"
    one = (judged([True, True], [1, 1]), judged([False, True], [1, 1]))
    assert loss_fall(AIM, *one).reason == "one group cannot show the spread"
    assert loss_fall(AIM, one[0].only([0]), one[1].only([])).value is None


@pytest.mark.parametrize(
    ("calls", "chosen"),
    [([900, 300, 10], 1), ([300, 280, 10], 0), ([200, 300, 10], 0), ([900, 300, 300], 1)],
)
def test_a_trial_that_cannot_be_told_from_the_best_and_saves_calls_is_chosen(calls: list[int], chosen: int) -> None:
    """One wrong row more is within a standard error, ten are not, whatever they save; a few calls are no saving."""
    tables = [judged([i < wrong for i in range(100)], [0] * 100) for wrong in (20, 21, 30)]
    assert [mean_loss(AIM, table) for table in tables] == [0.2, 0.21, 0.3]
    assert best_for_less(AIM, tables, calls) == chosen
    assert best_for_less(AIM, tables[::-1], calls[::-1]) == 2 - chosen


def test_a_judge_that_answered_nothing_has_no_loss() -> None:
    """An empty table is refused and not given a loss of zero."""
    with pytest.raises(InputError, match="no verdict"):
        mean_loss(AIM, judged([True], [0]).only([]))


def test_settings_are_read_off_a_walk_and_put_into_its_proposer() -> None:
    """TextGrad has all three, rewriting two, and a search none."""
    settings = RunSettings(batch=5)
    assert Knobs.of(TextGrad(gradients=3), settings) == Knobs(batch=5, temperature=0.7, gradients=3)
    knobs = Knobs(batch=9, temperature=0.2, gradients=None)
    assert knobs.proposer(Rewrite()) == Rewrite(temperature=0.2)
    assert Knobs(batch=9, temperature=0.2, gradients=2).proposer(TextGrad()) == TextGrad(temperature=0.2, gradients=2)
    with pytest.raises(InputError, match="'gepa' has none"):
        Knobs.of(Gepa(), settings)
