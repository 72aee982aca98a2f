"""Deciding between two prompts from labels of the rows where they differ: the scores, the draws,
the test.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import InputError
from judgewright.optimize import Guard
from judgewright.optimize.flips import (
    LINEAR,
    FlipDecision,
    FlipDesign,
    FlipQueue,
    GivenLabel,
    PoolRow,
    Wealth,
    allocate,
    count_flips,
    positive_rates,
    score_table,
)

RECALL = (Guard(metric="recall", margin=0.05),)
VERDICT = st.sampled_from([0, 1])


def pool(
    n: int, *, wins: float, flips: float = 0.12, seed: int = 0, size: int = 3
) -> tuple[FlipDesign, np.ndarray]:
    """A pool in which the new prompt wins so large a share of its flips, and the hidden labels of
    its rows.
    """
    rng = np.random.default_rng(seed)
    labels = rng.random(n) < 0.4
    before = np.where(rng.random(n) < 0.8, labels, ~labels)
    chance = np.where(before == labels, flips * (1 - wins) / 0.8, flips * wins / 0.2)
    after = before ^ (rng.random(n) < chance)
    rows = [PoolRow(str(i), f"g{i // size}", int(before[i]), int(after[i])) for i in range(n)]
    return made(rows, seed=seed), labels.astype(int)


def made(
    rows: list[PoolRow],
    *,
    target: str = "accuracy",
    guards: tuple[Guard, ...] = (),
    seed: int = 0,
    alpha: float = 0.03,
) -> FlipDesign:
    return FlipDesign(
        target=target,
        guards=guards,
        alpha=alpha,
        seed=seed,
        positive_from=1.0,
        rows=tuple(rows),
    )


def label_all(design: FlipDesign, labels: np.ndarray) -> tuple[FlipDecision, list[GivenLabel]]:
    """Answer every draw from the hidden labels."""
    queue = FlipQueue(design)
    labelled: list[GivenLabel] = []
    while (draw := queue.next(labelled)) is not None:
        labelled.append(GivenLabel(draw.row_id, float(labels[int(draw.row_id)])))
    return queue.decide(labelled), labelled


ROWS = st.lists(st.tuples(VERDICT, VERDICT, VERDICT), min_size=4, max_size=30)


@settings(max_examples=60)
@given(ROWS)
def test_the_scores_of_all_rows_add_up_to_the_change_of_the_metric(
    rows: list[tuple[int, int, int]],
) -> None:
    """Whatever the guess of the level in precision; in F1 where the level is that of the prompt in
    use.
    """
    before, after, label = np.array(rows).T
    cells = 3 * before + after
    counts = np.bincount(cells, minlength=9).astype(float)
    labels = np.zeros((9, 2))
    np.add.at(labels, (cells, label), 1)
    rates = labels[:, 1] / np.maximum(labels.sum(1), 1)

    def total(metric: str, share: np.ndarray) -> float:
        table = score_table(metric, 0.0, counts, share, np.zeros(9), better=True)
        return float(table[cells, label].sum())

    def hits(verdict: np.ndarray) -> int:
        return int((verdict * label).sum())

    n = len(rows)
    assert total("accuracy", rates) == pytest.approx(
        float(((after == label) * 1 - (before == label)).sum())
    )
    assert total("recall", rates) == pytest.approx(hits(after) - hits(before))
    assert total("specificity", rates) == pytest.approx(int(((1 - label) * (before - after)).sum()))
    if before.any() and after.any():
        change = hits(after) / after.sum() - hits(before) / before.sum()
        assert total("precision", np.full(9, 0.3)) == pytest.approx(n * change, abs=1e-9)
    if before.any() and label.any():
        old, new = (2 * hits(v) / (v.sum() + label.sum()) for v in (before, after))
        assert total("f1", rates) == pytest.approx(
            (new - old) * (after.sum() + label.sum()), abs=1e-9
        )


def test_rows_on_which_both_agree_score_nothing_but_in_precision() -> None:
    """So only flips are asked for."""
    counts = np.array([50.0, 5, 1, 5, 30, 1, 1, 1, 1])
    rates, errors = positive_rates(np.zeros((9, 2)))
    for metric in LINEAR:
        table = score_table(metric, 0.0, counts, rates, errors, better=True)
        assert (table[[0, 4, 8]] == 0).all() == (metric != "precision" or counts[1] == counts[3])


def test_a_row_that_one_left_unscored_counts_against_the_new_prompt() -> None:
    """As in the gate: wrong where the new one is silent, right where the old one is."""
    rates, errors = positive_rates(np.zeros((9, 2)))
    table = score_table("accuracy", 0.0, np.ones(9), rates, errors, better=True)
    assert table[2].tolist() == [-1, 0]
    assert table[5].tolist() == [0, -1]
    assert table[6].tolist() == [0, -1]
    assert table[7].tolist() == [-1, 0]
    assert table[8].tolist() == [0, 0]


@settings(max_examples=100)
@given(st.floats(0.01, 5), st.lists(st.floats(-1, 4), min_size=2, max_size=6))
def test_a_fair_bet_gains_nothing(lowest: float, values: list[float]) -> None:
    """Of values with mean 0 that keep the bound, the mean wealth after a bet is the wealth before
    it.
    """
    fair = np.array(values) - np.mean(values)
    bound = min(float(fair.min()), -0.01) * (1 + lowest)
    start = Wealth.start().bet(0.7, -1.0)
    after = [np.exp(start.bet(value, bound).now) for value in fair.tolist()]
    assert np.mean(after) == pytest.approx(np.exp(start.now))


def test_a_better_prompt_is_accepted_with_the_labels_of_some_flips() -> None:
    """No label of a row on which both agree is asked for, and far from all flips are."""
    design, labels = pool(1500, wins=0.8)
    decision, labelled = label_all(design, labels)
    rows = {row.id: row for row in design.rows}
    assert (decision.outcome, decision.accepted, decision.over) == ("accepted", True, True)
    assert decision.labels == len(labelled) < count_flips(design.rows) / 2
    assert all(rows[one.row_id].before != rows[one.row_id].after for one in labelled)


def test_a_worse_prompt_is_refused_and_a_broken_guard_refuses() -> None:
    """The first by the target, the second though the target rises."""
    design, labels = pool(1500, wins=0.2)
    decision, _ = label_all(design, labels)
    assert decision.outcome == "refused"
    assert decision.target.refuted
    rng = np.random.default_rng(1)
    truth = (rng.random(1500) < 0.5).astype(int)
    # The new prompt says no to a third of the good rows and to nearly all bad ones.
    before = np.where(rng.random(1500) < 0.4, 1, truth)
    after = truth * (rng.random(1500) < 0.7)
    rows = [PoolRow(str(i), f"g{i}", int(before[i]), int(after[i])) for i in range(1500)]
    decision, _ = label_all(made(rows, target="precision", guards=RECALL), truth)
    assert decision.outcome == "refused"
    assert decision.guards[0].refuted


def test_a_guard_is_shown_with_few_labels_of_rows_that_agree() -> None:
    """Its margin asks for some; they are drawn with a probability of their own, at least the
    floor.
    """
    design, labels = pool(3000, wins=0.75)
    queue = FlipQueue(replace(design, guards=RECALL))
    labelled: list[GivenLabel] = []
    rows = {row.id: row for row in design.rows}
    agreed = 0
    while (draw := queue.next(labelled)) is not None:
        alike = rows[draw.row_id].before == rows[draw.row_id].after
        agreed += alike
        assert 0.02 <= draw.probability < 1 if alike else draw.probability == 1
        labelled.append(GivenLabel(draw.row_id, float(labels[int(draw.row_id)])))
    decision = queue.decide(labelled)
    assert decision.accepted
    assert decision.guards[0].shown
    assert 0 < agreed < decision.labels


@pytest.mark.parametrize("target", LINEAR)
def test_the_same_labels_come_to_the_same_whatever_the_order_of_rows_and_calls(target: str) -> None:
    """A queue made anew from its JSON, rows in another order, asks and decides alike; dropping a
    label is an undo.
    """
    design, labels = pool(240, wins=0.7)
    design = replace(design, target=target, guards=(Guard(metric="specificity", margin=0.1),))
    if target == "specificity":
        design = replace(design, guards=RECALL)
    decision, labelled = label_all(design, labels)
    stored = FlipDesign.from_json(json.loads(json.dumps(design.to_json())))
    assert stored == design
    shuffled = replace(stored, rows=tuple(reversed(stored.rows)))
    assert FlipQueue(shuffled).decide(labelled) == decision
    kept = FlipQueue(shuffled)
    for end in (len(labelled) // 2, len(labelled) // 3, len(labelled) - 1):
        fresh = FlipQueue(design)
        assert kept.next(labelled[:end]) == fresh.next(labelled[:end])
        assert kept.decide(labelled[:end]) == fresh.decide(labelled[:end])
        draw = kept.next(labelled[:end])
        assert draw is not None
        assert draw.row_id == labelled[end].row_id


def test_rows_with_the_same_texts_are_asked_about_once_and_count_as_if_each_had_been() -> None:
    """The evidence is that of two rows with the same label, the number of labels is not."""
    apart, labels = pool(400, wins=0.7, flips=0.3, size=4)
    earlier = {
        row.id: rows[0].id
        for rows in zip(apart.rows[::4], apart.rows[2::4], strict=True)
        for row in rows[1:]
    }
    together = replace(
        apart, rows=tuple(replace(row, same_as=earlier.get(row.id, "")) for row in apart.rows)
    )
    said = {row.id: float(labels[int(earlier.get(row.id, row.id))]) for row in apart.rows}
    queue, asked, each = FlipQueue(together), list[GivenLabel](), list[GivenLabel]()
    while (draw := queue.next(asked)) is not None and len(asked) < 30:
        assert draw.row_id not in earlier
        asked.append(GivenLabel(draw.row_id, said[draw.row_id]))
        each += [GivenLabel(row, said[row]) for row in said if earlier.get(row, row) == draw.row_id]
        one, two = queue.decide(asked), FlipQueue(apart).decide(each)
        assert one.target == two.target
        assert one.labels == len(asked)
    assert len(each) > len(asked)
    wins = queue.wins(asked)
    assert wins.before + wins.after >= len(asked)
    stored = json.loads(json.dumps(together.to_json()))
    assert FlipDesign.from_json(stored) == together
    # A queue that was made before knows neither which texts are the same nor what a group is.
    del stored["unit"], stored["rows"]["same_as"]
    assert FlipDesign.from_json(stored) == apart


def test_labels_that_are_skipped_never_help() -> None:
    """Skipping all of them accepts nothing; a claim's evidence is never more than with the
    label.
    """
    design, labels = pool(600, wins=0.9)
    queue = FlipQueue(design)
    skipped: list[GivenLabel] = []
    while (draw := queue.next(skipped)) is not None:
        skipped.append(GivenLabel(draw.row_id, None))
    decision = queue.decide(skipped)
    assert not decision.accepted
    assert decision.skipped == decision.labels
    _, labelled = label_all(design, labels)
    some = [replace(one, label=None) if i % 3 == 0 else one for i, one in enumerate(labelled)]
    assert queue.decide(some).target.e_value <= queue.decide(labelled).target.e_value


def test_the_sealed_holdouts_labels_come_first_and_are_not_asked_for() -> None:
    """With them fewer labels are needed."""
    design, labels = pool(900, wins=0.75)
    known = [replace(row, id=f"h{row.id}", group=f"h{row.group}") for row in design.rows]
    known = [replace(row, positive=bool(y)) for row, y in zip(known, labels, strict=True)][:300]
    alone, _ = label_all(design, labels)
    helped, labelled = label_all(replace(design, rows=(*design.rows, *known)), labels)
    assert helped.decided
    assert helped.target.shown
    assert helped.holdout_labels == 300
    assert not any(one.row_id.startswith("h") for one in labelled)
    assert helped.labels < alone.labels


def test_a_corrected_label_counts_as_if_it_had_been_so_from_the_start() -> None:
    """Labels of rows that are then not drawn wait unused."""
    design, labels = pool(900, wins=0.8)
    design = replace(design, guards=RECALL)
    _, labelled = label_all(design, labels)
    corrected = [
        replace(one, label=1.0 - (one.label or 0.0)) if i < 5 else one
        for i, one in enumerate(labelled)
    ]
    decision = FlipQueue(design).decide(corrected)
    assert decision.labels + decision.unused == len(labelled)
    assert decision == FlipQueue(design).decide(list(reversed(corrected)))


def test_rows_that_agree_are_drawn_with_the_probability_that_is_stated() -> None:
    """Over many seeds, by systematic sampling within the group."""
    rows = [PoolRow(str(i), "g", 1, 1) for i in range(7)] + [
        PoolRow(str(i), "g", 0, 1) for i in range(7, 9)
    ]
    drawn, stated = 0, 0.0
    for seed in range(400):
        queue = FlipQueue(made(rows, guards=RECALL, seed=seed))
        labelled: list[GivenLabel] = []
        while (draw := queue.next(labelled)) is not None:
            if int(draw.row_id) < 7:
                drawn, stated = drawn + 1, draw.probability
            labelled.append(GivenLabel(draw.row_id, 1.0))
    assert drawn / (400 * 7) == pytest.approx(stated, abs=0.02)


def test_a_row_whose_label_cannot_matter_is_never_drawn_and_others_have_a_floor() -> None:
    """Neyman's allocation over the cells."""
    rates, errors = positive_rates(np.zeros((9, 2)))
    counts = np.full(9, 20.0)
    accuracy = score_table("accuracy", 0.0, counts, rates, errors, better=True)
    recall = score_table("recall", 0.001, counts, rates, errors, better=True)
    assert allocate(accuracy[None], rates)[[0, 4, 8]].tolist() == [0, 0, 0]
    both = allocate(np.stack([accuracy, recall]), rates)
    assert both[0] == both[4] == 0.02
    assert both[8] == 0
    assert (both[[1, 2, 3, 5, 6, 7]] == 1).all()


@pytest.mark.slow
@pytest.mark.parametrize("target", LINEAR)
def test_equal_judges_are_seldom_accepted_wherever_one_stops(target: str) -> None:
    """Verdicts swapped by a fair coin for each group: the null is exact; of 60 at most 6 at a level
    of .03.
    """
    accepted = 0
    for seed in range(60):
        design, labels = pool(360, wins=0.65, flips=0.2, seed=seed, size=4)
        coins = np.random.default_rng([seed, 9]).random(90) < 0.5
        rows: list[PoolRow] = []
        for i, row in enumerate(design.rows):
            swap = coins[i // 4]
            rows.append(replace(row, before=row.after, after=row.before) if swap else row)
        decision, _ = label_all(made(rows, target=target, seed=seed), labels)
        accepted += decision.accepted
    assert accepted <= 6


def test_a_metric_that_is_no_sum_over_rows_is_refused_with_those_that_are() -> None:
    """And so is a pool with one id twice."""
    with pytest.raises(InputError, match="kappa is no sum over rows") as error:
        made([PoolRow("1", "g", 0, 1)], target="kappa")
    assert "accuracy" in str(error.value.hint)
    with pytest.raises(InputError, match="same id"):
        made([PoolRow("1", "g", 0, 1), PoolRow("1", "h", 0, 1)])


def test_how_many_rows_are_left_at_most_is_a_bound() -> None:
    """No guess of how many it takes: of 18 queues such a guess had held in 8. Nothing once it is
    decided.
    """
    design, labels = pool(3000, wins=0.7, flips=0.2)
    queue = FlipQueue(design)
    decision, labelled = label_all(design, labels)
    first, half = (queue.decide(labelled[:count]).most_left for count in (0, len(labelled) // 2))
    assert first is not None
    assert half is not None
    assert first >= len(labelled)
    assert half >= len(labelled) - len(labelled) // 2
    assert decision.most_left is None
