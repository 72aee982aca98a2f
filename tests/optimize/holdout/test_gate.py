"""The gate: what it accepts, refuses and leaves undecided, and how often it is wrong."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from judgewright.judges import BINARY, Dataset, JudgedDataset, OutputScale, Row, Unscored, Verdict
from judgewright.judges.metrics import compare, point, rows_needed
from judgewright.optimize.holdout import Decision, decide
from judgewright.optimize.losses import Objective, read_objective

ORACLES = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "oracles.json"
OBJECTIVE = read_objective("improve precision", target="precision", guards=("recall:-0.05",))


def judged(
    labels: np.ndarray,
    predicted: np.ndarray,
    groups: np.ndarray | None = None,
    missing: frozenset[int] = frozenset(),
    language: np.ndarray | None = None,
) -> JudgedDataset:
    """A table of binary labels and verdicts."""
    groups = np.arange(len(labels)) if groups is None else groups
    meta = [
        {} if language is None else {"language": int(language[i]), "length": i % 7}
        for i in range(len(labels))
    ]
    rows = tuple(
        Row(id=f"r{i}", inputs={"x": "x"}, label=float(y), group=f"g{g}", meta=meta[i])
        for i, (y, g) in enumerate(zip(labels, groups, strict=True))
    )
    answers = tuple(
        (
            Unscored(row_id=f"r{i}", reason="parse")
            if i in missing
            else Verdict(row_id=f"r{i}", score=3.0 * p, positive=bool(p))
        )
        for i, p in enumerate(predicted)
    )
    return JudgedDataset(
        dataset=Dataset(rows=rows, labels=BINARY), answers=answers, scale=OutputScale()
    )


def decided(
    labels: np.ndarray,
    old: np.ndarray,
    new: np.ndarray,
    objective: Objective = OBJECTIVE,
    in_slice: np.ndarray | None = None,
) -> Decision:
    """What the gate decides about two sets of verdicts, at a level of .03."""
    sides = judged(labels, old), judged(labels, new)
    return decide(*sides, objective, alpha=0.03, in_slice=in_slice)


def noisy(rng: np.random.Generator, labels: np.ndarray, fpr: float, fnr: float) -> np.ndarray:
    """Verdicts with these error rates."""
    wrong = rng.random(len(labels)) < np.where(labels, fnr, fpr)
    return labels ^ wrong


def test_a_large_gain_is_accepted_and_the_same_loss_refused() -> None:
    """Half of the false positives gone, recall untouched: accepted; the other way round:
    refused.
    """
    rng = np.random.default_rng(0)
    labels = rng.random(800) < 0.5
    old = noisy(rng, labels, 0.4, 0.1)
    new = old & ~((rng.random(800) < 0.5) & ~labels)
    assert decided(labels, old, new).outcome == "accepted"
    back = decided(labels, new, old)
    assert (back.outcome, back.accepted) == ("refused", False)


def test_identical_verdicts_are_undecided_as_nothing_speaks_against_them() -> None:
    """Nothing changed, so there is nothing to accept, and no evidence against it either."""
    labels = np.arange(100) % 2 == 0
    side = judged(labels, labels)
    decision = decide(side, side, OBJECTIVE, alpha=0.05)
    assert decision.outcome == "undecided"
    assert "no verdict" in decision.reason


@pytest.mark.parametrize("target", ["precision", "specificity", "accuracy"])
def test_a_fall_that_may_be_chance_is_undecided(target: str) -> None:
    """Six verdicts got worse and three better: no bound lies under zero."""
    labels = np.arange(120) % 2 == 0
    old = labels ^ (np.arange(120) % 5 == 1)
    new = old.copy()
    wrong, right = np.flatnonzero(~labels & ~old)[:6], np.flatnonzero(~labels & old)[:3]
    new[wrong], new[right] = True, False
    decision = decided(labels, old, new, read_objective("", target=target))
    assert decision.target is not None
    assert decision.target.gain < 0
    assert (decision.outcome, decision.rows_needed) == ("undecided", None)
    assert "may be chance" in decision.reason
    new[np.flatnonzero(~labels & ~old)] = True
    sure = decided(labels, old, new, read_objective("", target=target))
    assert sure.outcome == "refused"
    assert "by at least" in sure.reason


def test_fewer_than_twenty_groups_are_undecided_however_bad_the_estimate() -> None:
    """Eighteen of eighteen verdicts gone wrong."""
    labels = np.ones(18, bool)
    decision = decided(labels, labels, ~labels, read_objective("", target="recall"))
    assert decision.outcome == "undecided"
    assert "only 18 groups" in decision.reason


def test_a_guard_is_broken_only_beyond_what_chance_explains() -> None:
    """A measured loss of the margin is undecided; thrice that on many rows is a refusal, with its
    bound.
    """
    labels = np.arange(400) % 2 == 0
    old = labels | (np.arange(400) % 4 == 1)
    new = labels.copy()
    positives = np.flatnonzero(labels)
    new[positives[:10]] = False
    near = decided(labels, old, new)
    assert near.guards[0].change is not None
    assert near.guards[0].change.difference == pytest.approx(-0.05)
    assert (near.outcome, near.guards[0].state) == ("undecided", "undecided")
    new[positives[:30]] = False
    far = decided(labels, old, new)
    assert (far.outcome, far.guards[0].state) == ("refused", "broken")
    assert far.guards[0].high is not None
    assert far.guards[0].high < -0.05
    assert "recall fell by at least" in far.reason
    assert "the guard allows less than 0.050" in far.reason


def test_a_broken_guard_refuses_whatever_the_gain() -> None:
    """Precision bought with twenty points of recall is refused, and the sentence says so."""
    rng = np.random.default_rng(1)
    labels = rng.random(1000) < 0.5
    old = noisy(rng, labels, 0.4, 0.05)
    new = old & ~(rng.random(1000) < np.where(labels, 0.2, 0.7))
    decision = decided(labels, old, new)
    assert decision.outcome == "refused"
    assert "recall" in decision.reason


def test_a_small_gain_is_undecided_and_says_how_many_rows_it_would_take() -> None:
    """Too little evidence is not a no."""
    labels = np.arange(200) % 2 == 0
    old = np.ones(200, bool)
    new = old.copy()
    new[[1, 3]] = False
    decision = decided(labels, old, new)
    assert decision.outcome == "undecided"
    assert decision.rows_needed is not None
    assert decision.rows_needed > 200


def test_one_number_of_rows_would_decide_for_target_and_guards_alike() -> None:
    """The larger of what the test of the target and those of the guards want is told, once, in
    whole groups.
    """
    rng = np.random.default_rng(5)
    labels = rng.random(600) < 0.5
    old = noisy(rng, labels, 0.40, 0.20)
    new = (old & ~((rng.random(600) < 0.06) & ~labels)) ^ ((rng.random(600) < 0.04) & labels)
    tight = read_objective(
        "improve precision", target="precision", guards=("recall:-0.03", "f1:-0.012")
    )
    sides = [judged(labels, said, np.arange(600) // 2) for said in (old, new)]
    decision = decide(*sides, tight, alpha=0.0304)
    assert decision.target is not None
    assert decision.target.p > 0.0304
    assert [guard.state for guard in decision.guards] == ["undecided", "undecided"]
    assert decision.rows_needed == 2 * (decision.groups_needed or 0)
    alone = [
        decide(*sides, replace(tight, guards=(guard,)), alpha=0.0304).rows_needed
        for guard in tight.guards
    ]
    assert decision.rows_needed == max(rows for rows in alone if rows)
    assert decision.reason.count("would decide") == 1
    assert (
        f"about {decision.rows_needed:,} holdout rows in {decision.groups_needed:,} groups"
        in decision.reason
    )


def test_five_flips_the_same_way_are_undecided_at_the_first_look() -> None:
    """One way in 32 to swap the five groups is as good: above .0304, whatever the standard error
    says; six decide.
    """
    labels = np.arange(200) % 2 == 0
    for flips, outcome, p in ((5, "undecided", 1 / 32), (6, "accepted", 1 / 64)):
        old = labels.copy()
        old[1 : 2 * flips : 2] = True
        decision = decide(
            judged(labels, old), judged(labels, labels), replace(OBJECTIVE, guards=()), alpha=0.0304
        )
        assert decision.target is not None
        assert decision.target.swap_p == p
        assert decision.outcome == outcome


def test_no_number_of_rows_is_given_where_these_rows_cannot_tell_it() -> None:
    """A drop nearly as large as the guard, or a gain far inside its error: a sentence instead of a
    million rows.

    Not that more rows would not decide: on few rows nobody knows.
    """
    labels = np.arange(2000) % 2 == 0
    old = np.ones(2000, bool)
    new = old.copy()
    new[1::4] = False  # half of the false positives are mended
    new[:98:2] = False  # and 49 of 1,000 positives lost: a drop of .049 where the guard is .05
    near = decided(labels, old, new)
    assert (near.outcome, near.rows_needed) == ("undecided", None)
    assert near.reason.endswith(
        "these rows cannot tell how many more would decide: the measured drop in recall is about as"
        " large as the guard"
    )
    churn = np.arange(2000) % 10 == 3
    idle = old.copy()
    idle[np.flatnonzero(churn & ~labels)[:60]] = False
    before = old.copy()
    before[np.flatnonzero(churn & ~labels)[60:119]] = False
    small = decided(labels, before, idle)
    assert (small.outcome, small.rows_needed, small.groups_needed) == ("undecided", None, None)
    assert small.reason.endswith(
        "these rows cannot tell how many more would decide: the measured gain is small beside its"
        " error"
    )


@pytest.mark.slow
def test_the_rows_needed_are_those_at_which_the_gate_says_yes_in_four_of_five_runs() -> None:
    """The projection against the gate itself: judged on as many rows as it asked for, 80 % are
    accepted.
    """
    rng = np.random.default_rng(16)
    free = replace(OBJECTIVE, guards=())

    def sides(rows: int) -> tuple[JudgedDataset, JudgedDataset]:
        labels = np.arange(rows) % 2 == 0
        old = noisy(rng, labels, 0.4, 0.1)
        flips = (rng.random(rows) < np.where(old, 0.10, 0.03)) & ~labels
        return judged(labels, old), judged(labels, old ^ flips)

    # The change that was seen is taken for the true one: so give it the true one, of very many
    # rows.
    change = compare("precision", *sides(40_000))
    assert change is not None
    needed = rows_needed(change, 0.0304)
    assert needed is not None
    accepted = sum(decide(*sides(needed), free, alpha=0.0304).accepted for _ in range(100))
    assert 66 <= accepted <= 94


def test_few_groups_and_low_coverage_are_undecided() -> None:
    """Under twenty groups, or under 95 % of the rows answered, there is no decision."""
    rng = np.random.default_rng(2)
    labels = rng.random(600) < 0.5
    old = noisy(rng, labels, 0.5, 0.05)
    new = old & ~((rng.random(600) < 0.6) & ~labels)
    few = np.arange(600) % 15
    assert (
        "15 groups"
        in decide(judged(labels, old, few), judged(labels, new, few), OBJECTIVE, alpha=0.03).reason
    )
    gone = frozenset(range(40))
    low = decide(judged(labels, old), judged(labels, new, missing=gone), OBJECTIVE, alpha=0.03)
    assert low.outcome == "undecided"
    assert "answered" in low.reason
    assert low.worst_case is not None
    assert low.worst_case[0] < low.target.difference < low.worst_case[1]  # type: ignore[union-attr]


def test_a_slice_that_got_worse_refuses() -> None:
    """The metric may rise overall; falling on the slice that was optimized is a refusal."""
    rng = np.random.default_rng(3)
    labels = rng.random(1000) < 0.5
    inside = np.arange(1000) < 200
    old = noisy(rng, labels, 0.4, 0.02)
    better_outside = old & ~((rng.random(1000) < 0.7) & ~labels & ~inside)
    new = better_outside | ((rng.random(1000) < 0.5) & ~labels & inside)
    decision = decided(labels, old, new, in_slice=inside)
    assert decision.outcome == "refused"
    assert "slice" in decision.reason


def test_a_slice_that_fell_by_chance_is_told_and_not_refused() -> None:
    """The point estimate fell by two rows of many: accepted, and told with digits enough to see
    it.
    """
    rng = np.random.default_rng(32)
    labels = rng.random(4000) < 0.5
    inside = np.arange(4000) < 2000
    old = noisy(rng, labels, 0.4, 0.02)
    new = old & ~((rng.random(4000) < 0.7) & ~labels & ~inside)
    negatives = np.flatnonzero(inside & ~labels & ~old)
    new[negatives[:2]] = True
    new[np.flatnonzero(inside & ~labels & old)[:1]] = False
    decision = decided(labels, old, new, in_slice=inside)
    change = decision.slice_change
    assert change is not None
    assert change.difference < 0
    assert f"{change.before:.3f}" == f"{change.after:.3f}"
    assert decision.outcome == "accepted"
    assert (
        f"precision {change.before:.4f} -> {change.after:.4f}, not shown to be a fall (at most"
        " +0.00" in decision.reason
    )


@pytest.mark.slow
def test_without_a_change_on_the_slice_hardly_any_prompt_is_refused_for_it() -> None:
    """Noise alone moves the slice down in half of the runs; at most one in ten is refused for it
    (one in twenty by design)."""
    rng = np.random.default_rng(32)
    refused = 0
    for _ in range(60):
        labels = rng.random(1500) < 0.5
        inside = np.arange(1500) < 500
        old = noisy(rng, labels, 0.4, 0.05)
        flips = inside & (rng.random(1500) < np.where(old == labels, 0.04, 0.04 * 0.775 / 0.225))
        new = (old & ~((rng.random(1500) < 0.6) & ~labels & ~inside)) ^ flips
        decision = decided(labels, old, new, WIDE, in_slice=inside)
        refused += "fell on the slice" in decision.reason
    assert refused <= 6


def test_a_slice_of_one_group_is_told_without_an_interval() -> None:
    """One group gives no standard error; the decision is still finite JSON."""
    rng = np.random.default_rng(9)
    labels = rng.random(800) < 0.5
    old = noisy(rng, labels, 0.4, 0.05)
    new = old & ~((rng.random(800) < 0.5) & ~labels)
    groups = np.where(np.arange(800) < 12, 0, np.arange(800))
    inside = groups == 0
    decision = decide(
        judged(labels, old, groups),
        judged(labels, new, groups),
        OBJECTIVE,
        alpha=0.03,
        in_slice=inside,
    )
    assert decision.slice_change is not None
    assert decision.slice_change.groups == 1
    assert (decision.slice_change.se, decision.slice_change.low) == (None, None)
    json.dumps(decision.to_json(), allow_nan=False)


def test_errors_made_unreadable_win_nothing() -> None:
    """A prompt that answers garbage where it would be wrong is undecided: its gain may be what it
    left out.
    """
    rng = np.random.default_rng(10)
    labels = rng.random(1000) < 0.5
    old = noisy(rng, labels, 0.4, 0.05)
    new = old.copy()
    false_positives, negatives = np.flatnonzero(old & ~labels), np.flatnonzero(~old & ~labels)
    new[rng.choice(false_positives, 48, replace=False)] = False
    hidden = frozenset(rng.choice(negatives, 48, replace=False).tolist())
    decision = decide(
        judged(labels, old), judged(labels, new, missing=hidden), OBJECTIVE, alpha=0.03
    )
    assert decision.outcome == "undecided"
    assert "unanswered" in decision.reason


def silenced(rng: np.random.Generator, share: float) -> tuple[JudgedDataset, JudgedDataset]:
    """Two judges of one quality on 2,000 rows in groups of two; the new one's false positives
    cannot be read on a share of the rows."""
    groups = np.arange(2000) // 2
    labels = rng.random(2000) < 0.5
    old = labels ^ (rng.random(2000) < 0.2)
    new = old ^ (rng.random(2000) < np.where(old == labels, 0.05 / 0.8, 0.05 / 0.2))
    false_positives = rng.permutation(np.flatnonzero(new & ~labels))
    hidden = frozenset(false_positives[: int(share * 2000)].tolist())
    return judged(labels, old, groups), judged(labels, new, groups, missing=hidden)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.045, 0.01])
def test_errors_made_unreadable_are_accepted_no_more_often_than_by_chance(share: float) -> None:
    """An equal prompt that hides its false positives: at most five in a hundred (half of the runs
    were, at 4.5 %).
    """
    rng = np.random.default_rng(3)
    accepted = sum(
        decide(*silenced(rng, share), OBJECTIVE, alpha=0.0304).accepted for _ in range(40)
    )
    assert accepted <= 4


def test_a_guard_does_not_hold_where_unanswered_rows_could_break_it() -> None:
    """Recall is untouched on the rows that were read, and 3 % of the rows, all of them positive,
    were not.
    """
    rng = np.random.default_rng(14)
    labels = rng.random(1500) < 0.5
    old = noisy(rng, labels, 0.4, 0.02)
    new = old & ~((rng.random(1500) < 0.7) & ~labels)
    hidden = frozenset(rng.permutation(np.flatnonzero(labels))[:45].tolist())
    decision = decide(
        judged(labels, old), judged(labels, new, missing=hidden), OBJECTIVE, alpha=0.0304
    )
    (guard,) = decision.guards
    assert guard.low is not None
    assert guard.worst_low is not None
    assert guard.worst_low < -0.05 < guard.low
    assert (decision.outcome, guard.state) == ("undecided", "undecided")
    assert (decision.unanswered, decision.rows_needed) == (45, None)
    assert decision.reason.endswith(
        "in recall is not ruled out where 45 unanswered rows count against the new prompt"
    )
    with_all = decide(judged(labels, old), judged(labels, new), OBJECTIVE, alpha=0.0304)
    assert (with_all.outcome, with_all.unanswered, with_all.target_worst) == ("accepted", 0, None)


def test_a_slice_left_unanswered_is_undecided() -> None:
    """No verdict on the optimized slice means no word about it."""
    rng = np.random.default_rng(11)
    labels = rng.random(1000) < 0.5
    old = noisy(rng, labels, 0.4, 0.05)
    new = old & ~((rng.random(1000) < 0.8) & ~labels)
    inside = np.arange(1000) < 20
    after = judged(labels, new, missing=frozenset(range(20)))
    assert (
        decide(judged(labels, old), after, OBJECTIVE, alpha=0.03, in_slice=inside).outcome
        == "undecided"
    )


def test_a_guard_does_not_hold_on_a_handful_of_rows() -> None:
    """With eight positive rows and no flip among them, a loss of five points of recall is not ruled
    out.
    """
    rng = np.random.default_rng(12)
    labels = np.arange(1000) < 8
    old = labels | (rng.random(1000) < 0.3)
    new = labels | (old & (rng.random(1000) < 0.5))
    decision = decided(labels, old, new)
    assert decision.guards[0].state == "undecided"
    assert not decision.accepted


@pytest.mark.slow
def test_a_few_dominating_groups_do_not_decide() -> None:
    """Two huge groups whose flips share a sign by chance: seldom accepted, whatever the number of
    rows.
    """
    rng = np.random.default_rng(13)
    groups = np.concatenate([np.repeat([0, 1], 400), np.arange(2, 42)])
    accepted = 0
    objective = replace(OBJECTIVE, guards=())
    for _ in range(200):
        labels = rng.random(len(groups)) < 0.5
        old = noisy(rng, labels, 0.4, 0.1)
        helps = (rng.random(42) < 0.5)[groups]
        flips = (rng.random(len(groups)) < 0.15) & ~labels
        new = np.where(flips & helps, False, np.where(flips & ~helps, True, old))
        accepted += decide(
            judged(labels, old, groups), judged(labels, new, groups), objective, alpha=0.0304
        ).accepted
    assert accepted <= 14


def test_the_paired_difference_and_its_error_agree_with_a_bootstrap() -> None:
    """Published oracles: the difference to the digit, the interval to bootstrap accuracy."""
    if not ORACLES.exists():
        pytest.skip("shared/data is not beside this checkout")
    cases = [
        c
        for c in json.loads(ORACLES.read_text())["cases"]
        if c["metric"].startswith("paired_delta_")
    ]
    assert cases
    for case in cases:
        name = case["metric"].removeprefix("paired_delta_")
        gold, a, b = (np.array(case["inputs"][k], bool) for k in ("gold", "a", "b"))
        change = compare(name, judged(gold, a), judged(gold, b))
        assert change is not None
        assert change.difference == pytest.approx(case["expected"]["delta"], abs=1e-9)
        interval = case["expected"]["bootstrap95"]["percentile"]
        assert change.low == pytest.approx(interval["low"], abs=0.006)
        assert change.high == pytest.approx(interval["high"], abs=0.006)


def test_mcnemar_would_accept_what_f1_refuses() -> None:
    """The oracle's trap: accuracy rises, F1 falls; the gate looks at the metric that was asked
    for.
    """
    if not ORACLES.exists():
        pytest.skip("shared/data is not beside this checkout")
    case = next(
        c for c in json.loads(ORACLES.read_text())["cases"] if c["id"] == "mcnemar_vs_f1_trap#0"
    )
    gold, a, b = (np.array(case["inputs"][k], bool) for k in ("gold", "a", "b"))
    objective = read_objective("improve f1", target="f1", guards=())
    assert decide(judged(gold, a), judged(gold, b), objective, alpha=0.05).outcome == "refused"


def accepts(structure: np.ndarray, runs: int, *, seed: int, spread: float = 0.0) -> int:
    """How many of `runs` comparisons of a prompt with itself, asked twice, are accepted."""
    rng = np.random.default_rng(seed)
    objective = replace(OBJECTIVE, guards=(replace(OBJECTIVE.guards[0], margin=0.2),))
    accepted = 0
    for _ in range(runs):
        labels = rng.random(len(structure)) < 0.5
        pull = rng.normal(0, spread, structure.max() + 1)[structure]
        chance = 1 / (1 + np.exp(-(np.where(labels, 2.0, -0.6) + pull)))
        base = rng.random(len(structure)) < chance
        sides = [base ^ (rng.random(len(structure)) < 0.08) for _ in range(2)]
        decision: Decision = decide(
            judged(labels, sides[0], structure),
            judged(labels, sides[1], structure),
            objective,
            alpha=0.05,
        )
        accepted += decision.accepted
    return accepted


@pytest.mark.slow
def test_a_prompt_compared_with_itself_is_seldom_accepted() -> None:
    """500 comparisons of identical prompts with noisy verdicts at alpha .05: at most 33 accepts,
    some but not none.
    """
    accepted = accepts(np.arange(400), 500, seed=4)
    assert 3 <= accepted <= 33


@pytest.mark.slow
def test_the_error_rate_holds_on_clustered_rows() -> None:
    """73 groups of unequal size with group effects, like TREC-DL's queries: at most 33 of 500."""
    rng = np.random.default_rng(5)
    structure = np.repeat(np.arange(73), rng.integers(2, 30, 73))
    assert accepts(structure, 500, seed=6, spread=1.0) <= 33


@pytest.mark.slow
def test_a_six_point_gain_is_found_at_two_thousand_rows() -> None:
    """Planted +6 points of precision with a tenth of churn: accepted in at least 90 % of runs."""
    rng = np.random.default_rng(7)
    found = 0
    for _ in range(60):
        labels = rng.random(2000) < 0.5
        old = noisy(rng, labels, 0.40, 0.10)
        new = old & ~((rng.random(2000) < 0.28) & ~labels)
        flips = rng.random(2000) < 0.02
        found += decide(
            judged(labels, old), judged(labels, new ^ flips), OBJECTIVE, alpha=0.0304
        ).accepted
    assert found >= 54


def test_the_change_is_the_difference_of_the_two_points() -> None:
    """before, after and difference are the metric itself on the rows both answered."""
    rng = np.random.default_rng(8)
    labels = rng.random(300) < 0.4
    a, b = noisy(rng, labels, 0.3, 0.2), noisy(rng, labels, 0.2, 0.2)
    change = compare("kappa", judged(labels, a), judged(labels, b, missing=frozenset({0, 5})))
    keep = np.array([i not in {0, 5} for i in range(300)])
    assert change is not None
    assert change.n == 298
    assert change.before == pytest.approx(point("kappa", labels[keep], a[keep]))
    assert change.after == pytest.approx(point("kappa", labels[keep], b[keep]))


def rewritten(seed: int, rows: int = 2400) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Labels, verdicts before and after, and languages: false positives mended all over, language 2
    broken.
    """
    rng = np.random.default_rng(seed)
    labels, language = rng.random(rows) < 0.5, rng.integers(0, 8, rows)
    old = noisy(rng, labels, 0.40, 0.10)
    new = old & ~((rng.random(rows) < 0.4) & ~labels & (language != 2))
    return (
        labels,
        old,
        np.where((language == 2) & (rng.random(rows) < 0.35) & (old == labels), ~old, new),
        language,
    )


WIDE = replace(OBJECTIVE, guards=(replace(OBJECTIVE.guards[0], margin=0.2),))


def test_a_slice_that_is_confirmed_broken_is_a_veto() -> None:
    """Precision rises and the guard holds, but language 2 is broken: refused, its predicate named
    and nothing more.
    """
    labels, old, new, language = rewritten(0)
    sides = [judged(labels, said, language=language) for said in (old, new)]
    decision = decide(*sides, WIDE, alpha=0.03)
    assert decision.target is not None
    assert decision.target.p < 0.0001
    assert [guard.state for guard in decision.guards] == ["held"]
    assert (decision.outcome, decision.veto) == ("refused", "language = 2")
    assert decision.reason.endswith(
        "; but where language = 2, more verdicts went wrong than were fixed"
    )
    assert decision.to_json()["veto"] == "language = 2"
    assert decide(*sides, WIDE, alpha=0.03) == decision
    without = np.flatnonzero(language != 2)
    healthy = decide(*(side.only(without) for side in sides), WIDE, alpha=0.03)
    assert (healthy.outcome, healthy.veto) == ("accepted", None)


def test_a_column_left_out_makes_no_veto() -> None:
    """A person may exclude a column; one that the holdout does not have is no matter."""
    labels, old, new, language = rewritten(0)
    sides = [judged(labels, said, language=language) for said in (old, new)]
    assert decide(*sides, WIDE, alpha=0.03, exclude=("language", "nowhere")).accepted


def test_no_slice_is_looked_for_where_the_answer_is_no_already() -> None:
    """A refused or undecided candidate learns nothing about the holdout's slices."""
    labels, old, new, language = rewritten(0)
    sides = [judged(labels, said, language=language) for said in (old, new)]
    spent = decide(*sides, WIDE, alpha=1e-40)
    assert (spent.outcome, spent.veto) == ("undecided", None)
    back = decide(*reversed(sides), WIDE, alpha=0.03)
    assert (back.outcome, back.veto) == ("refused", None)


def test_a_slice_of_few_groups_is_never_told() -> None:
    """Language 2 is the matter of nineteen groups: too few to refuse by, or to be named; of forty
    it is a veto.
    """
    labels, old, new, language = rewritten(1)
    alone = np.arange(len(labels))
    for groups_inside, veto in ((19, None), (40, "language = 2")):
        groups = np.where(language == 2, len(labels) + alone % groups_inside, alone)
        decision = decide(
            *(judged(labels, s, groups, language=language) for s in (old, new)), WIDE, alpha=0.03
        )
        assert decision.veto == veto
        assert decision.accepted == (veto is None)


@pytest.mark.slow
def test_the_veto_does_not_eat_a_true_gain() -> None:
    """+6 points of precision with churn, and columns that say nothing: still accepted in 90 % of
    runs.
    """
    rng = np.random.default_rng(21)
    found = 0
    for _ in range(40):
        labels, language = rng.random(2000) < 0.5, rng.integers(0, 8, 2000)
        old = noisy(rng, labels, 0.40, 0.10)
        new = (old & ~((rng.random(2000) < 0.28) & ~labels)) ^ (rng.random(2000) < 0.02)
        sides = [judged(labels, said, language=language) for said in (old, new)]
        found += decide(*sides, OBJECTIVE, alpha=0.0304).accepted
    assert found >= 36
