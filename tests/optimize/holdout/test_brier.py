"""The Brier score at the gate, which is better low: as target and as guard, in the search, the plan
and the chance.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import permutation_test, ttest_rel

from judgewright.judges import (
    BINARY,
    PROBABILITY,
    Dataset,
    InputError,
    JudgedDataset,
    Row,
    Verdict,
    compare,
)
from judgewright.judges.metrics import count_cells, permutation_p
from judgewright.optimize import Belief, Changes, chance_of
from judgewright.optimize.holdout import decide
from judgewright.optimize.holdout.power import guard_needs, perfect_gain, smallest_gain
from judgewright.optimize.losses import Grades, Guard, default_loss, read_objective
from judgewright.optimize.losses.axioms import axiom_faults
from judgewright.optimize.threshold import NoThreshold, choose_threshold

HONEST = read_objective("make its confidence honest", target="brier")


def judged(
    labels: np.ndarray,
    decisions: np.ndarray,
    confidence: np.ndarray | None,
    groups: np.ndarray | None = None,
) -> JudgedDataset:
    """Binary labels and verdicts with a confidence each; none where there is None."""
    groups = np.arange(len(labels)) if groups is None else groups
    rows = tuple(
        Row(id=str(i), inputs={}, label=float(y), group=f"g{g}")
        for i, (y, g) in enumerate(zip(labels, groups, strict=True))
    )
    sure = [None] * len(rows) if confidence is None else confidence.tolist()
    answers = tuple(
        Verdict(row_id=row.id, score=float(p), positive=bool(p), confidence=c)
        for row, p, c in zip(rows, decisions, sure, strict=True)
    )
    return JudgedDataset(dataset=Dataset(rows=rows, labels=BINARY), answers=answers, scale=BINARY)


def drawn(n: int = 400, seed: int = 0) -> tuple[JudgedDataset, JudgedDataset]:
    """An overconfident judge, and the same decisions with a confidence that is lower where it
    errs.
    """
    rng = np.random.default_rng(seed)
    labels = rng.random(n) < 0.5
    wrong = rng.random(n) < 0.25
    sure = np.clip(0.95 + rng.normal(0, 0.02, n), 0, 1)
    honest = np.where(wrong, 0.6, 0.85) + rng.normal(0, 0.05, n)
    return judged(labels, labels ^ wrong, sure), judged(labels, labels ^ wrong, honest)


def squared(table: JudgedDataset) -> np.ndarray:
    """The squared error of every row, by hand."""
    probability = [v.confidence if v.positive else 1 - v.confidence for v in table.verdicts]
    return (np.array(probability) - table.positive) ** 2


def test_the_change_is_that_of_a_paired_t_test() -> None:
    """A fall is a gain; p is SciPy's of the rows' differences."""
    before, after = drawn()
    change = compare("brier", before, after)
    theirs = ttest_rel(squared(before), squared(after), alternative="greater")
    assert change is not None
    assert change.difference == pytest.approx((squared(after) - squared(before)).mean())
    assert change.gain == -change.difference > 0
    assert change.p == pytest.approx(theirs.pvalue, rel=1e-9)
    back = compare("brier", after, before)
    assert back is not None
    assert back.p > 0.999


def test_group_swaps_agree_with_scipy() -> None:
    """Every way to swap eight groups."""
    before, after = drawn(24, seed=3)
    groups = np.repeat(np.arange(8), 3)
    old, new = (np.bincount(groups, weights=squared(table)) for table in (before, after))
    theirs = permutation_test(
        (old, new),
        lambda a, b, axis: (a - b).mean(axis),
        permutation_type="samples",
        alternative="greater",
    )
    cells = [count_cells("brier", table, groups) for table in (before, after)]
    assert permutation_p("brier", *cells) == pytest.approx(theirs.pvalue)


def test_an_honest_judge_is_accepted_and_the_way_back_refused() -> None:
    """The reason names a fall as the gain that it is."""
    before, after = drawn()
    decision = decide(before, after, HONEST, alpha=0.03)
    assert decision.outcome == "accepted"
    assert "brier fell" in decision.reason
    assert decide(after, before, HONEST, alpha=0.03).outcome == "refused"
    assert "no verdict" in decide(before, before, HONEST, alpha=0.03).reason


def test_a_guard_on_it_holds_breaks_and_stays_open() -> None:
    """`may rise by at most 0.02` is non-inferiority of the fall."""
    before, after = drawn()
    precise = read_objective("raise accuracy; brier may rise by at most 0.02")
    assert precise.guards == (Guard(metric="brier", margin=0.02),)
    worse = decide(after, before, precise, alpha=0.03).guards[0]
    assert (worse.metric, worse.state) == ("brier", "broken")
    assert decide(before, after, precise, alpha=0.03).guards[0].state == "held"


def test_a_verdict_without_a_confidence_counts_as_certain_and_no_confidence_at_all_decides_nothing() -> (  # noqa: E501
    None
):
    """Leaving it out where it would be low gains nothing."""
    before, after = drawn()
    silent = replace(after, answers=tuple(replace(one, confidence=None) for one in after.verdicts))
    assert compare("brier", before, silent) is None
    decision = decide(before, silent, HONEST, alpha=0.03)
    assert decision.outcome == "undecided"
    assert "probability" in decision.reason
    partly = replace(after, answers=(*after.verdicts[:1], *silent.verdicts[1:]))
    change = compare("brier", before, partly)
    assert change is not None
    assert change.after == pytest.approx((squared(after)[0] + after.wrong[1:].sum()) / 400)


def test_the_chance_of_a_gain_is_that_of_its_fall() -> None:
    """The better judge has a large chance, the poorer one none; what is measured is the change as
    it is.
    """
    before, after = drawn(200)
    for sides, lowest, highest in (((before, after), 0.9, 1.0), ((after, before), 0.0, 0.01)):
        changes = Changes.of(*sides, HONEST)
        assert changes is not None
        chance = chance_of(changes, HONEST, Belief.of(changes, tried=1), alpha=0.03, groups=200)
        change = compare("brier", *sides)
        assert change is not None
        assert lowest <= chance.target <= highest
        assert chance.measured["brier"] == pytest.approx(change.difference)


def test_the_plan_knows_the_smallest_fall() -> None:
    """More rows show a smaller one; an edit that mends every verdict shows the most there is."""
    before, _ = drawn(800)
    few, many = (
        smallest_gain("brier", before, churn=0.2, alpha=0.03, rows=rows) for rows in (200, 3000)
    )
    perfect = perfect_gain("brier", before, alpha=0.03, rows=200)
    assert few is not None
    assert many is not None
    assert perfect is not None
    assert 0 < many < few < perfect
    assert perfect == pytest.approx(squared(before).mean() - ((1 - before.confidence) ** 2).mean())
    (need,) = guard_needs([Guard(metric="brier", margin=0.02)], before, churn=0.2)
    assert need.rows is not None
    bare = judged(before.positive, before.predicted, None)
    with pytest.raises(InputError, match="brier"):
        smallest_gain("brier", bare, churn=0.2, alpha=0.03, rows=200)


@pytest.mark.parametrize("direction", [None, "fp", "fn"])
@pytest.mark.parametrize("scale", [BINARY, PROBABILITY])
def test_its_default_loss_passes_its_own_checks(direction: str | None, scale: object) -> None:
    """It is the squared error where the confidence is above a half."""
    objective = replace(HONEST, direction=direction)  # type: ignore[arg-type]
    loss = default_loss(objective)
    assert axiom_faults(loss.expression, loss.declares, Grades.of(scale)) == ()  # type: ignore[arg-type]


def test_no_threshold_changes_it() -> None:
    """And the run says so."""
    before, _ = drawn()
    found = choose_threshold(before, before, HONEST)
    assert isinstance(found, NoThreshold)
    assert "probabilities" in found.reason
