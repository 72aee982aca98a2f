"""Choosing the threshold: guarded, and honest about what it gains."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import precision_score, recall_score

from judgewright.judges import (
    BINARY,
    PROBABILITY,
    Dataset,
    DecisionRule,
    InputError,
    JudgedDataset,
    OutputScale,
    Platt,
    Row,
    Splits,
    Unscored,
    Verdict,
    compare,
    split_dataset,
)
from judgewright.optimize import (
    ChosenThreshold,
    Guard,
    NoThreshold,
    Objective,
    choose_threshold,
    read_objective,
)

PRECISION = read_objective("raise precision", target="precision", guards=("recall:-0.05",))
LEVELS = OutputScale(low=0, high=4, threshold=2)


def splits(n: int = 1500, per_group: int = 2, seed: int = 0) -> Splits:
    """A dataset of two classes, split."""
    labels = np.random.default_rng(seed).random(n) < 0.5
    made = (
        Row(id=f"r{i}", inputs={"x": f"row number {i}"}, label=float(y), group=f"g{i // per_group}")
        for i, y in enumerate(labels)
    )
    return split_dataset(Dataset.of(made, labels=BINARY), near_duplicates=False)


def judged(rows: Dataset, scores: np.ndarray, scale: OutputScale = LEVELS) -> JudgedDataset:
    """Verdicts of these scores."""
    answers = tuple(
        Verdict(row_id=row.id, score=float(s), positive=scale.positive(float(s)), confidence=0.9)
        for row, s in zip(rows.rows, scores, strict=True)
    )
    return JudgedDataset(dataset=rows, answers=answers, scale=scale)


def graded(rows: Dataset, *, shift: float, rng: np.random.Generator) -> JudgedDataset:
    """Grades that lie two apart for the two labels, moved by a shift."""
    label = np.array([row.label for row in rows.rows])
    return judged(
        rows, np.clip(np.round(1 + 2 * label + shift + rng.normal(0, 0.8, len(label))), 0, 4)
    )


def test_an_edit_that_only_moves_the_scores_gains_nothing_once_both_are_retuned() -> None:
    """A prompt that grades everything one lower looks more precise, until each side has the
    threshold it deserves.
    """
    parts, rng = splits(3000), np.random.default_rng(0)
    lenient = graded(parts.validation, shift=1, rng=rng)
    strict = judged(parts.validation, np.maximum(lenient.score - 1, 0))
    f1 = read_objective("raise f1", target="f1")
    old, new = choose_threshold(lenient, lenient, f1), choose_threshold(lenient, strict, f1)
    assert isinstance(old, ChosenThreshold)
    assert isinstance(new, ChosenThreshold)
    assert old.rule.threshold == new.rule.threshold + 1
    at_old, retuned = compare("f1", lenient, strict), compare("f1", old.judged, new.judged)
    assert at_old is not None
    assert retuned is not None
    assert at_old.low is not None
    assert at_old.low > 0.02
    assert abs(retuned.difference) < 0.01


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(0, 0.2), st.booleans())
def test_the_chosen_threshold_is_the_best_that_keeps_the_guard(
    seed: int, margin: float, share: bool
) -> None:
    """Tried one by one with scikit-learn: no allowed threshold has a higher precision."""
    parts, rng = splits(400, seed=seed), np.random.default_rng(seed)
    rows = parts.validation
    label = np.array([row.label for row in rows.rows])
    if share:
        scores = np.round(np.clip(0.5 * label + rng.random(len(label)) * 0.6 - 0.05, 0, 1), 2)
        table = judged(rows, scores, PROBABILITY)
        thresholds = {0.5, *((np.unique(scores)[:-1] + np.unique(scores)[1:]) / 2)}
    else:
        table, thresholds = graded(rows, shift=0.5, rng=rng), {1.0, 2.0, 3.0, 4.0}
    objective = Objective(
        text="", target="precision", direction="fp", guards=(Guard(metric="recall", margin=margin),)
    )
    found = choose_threshold(table, table, objective)
    assert isinstance(found, ChosenThreshold)

    def figures(threshold: float) -> tuple[float, float]:
        said = table.score >= threshold
        return precision_score(label, said, zero_division=0), recall_score(label, said)

    floor = figures(table.scale.threshold)[1] - margin
    best = max(
        precision for precision, recall in map(figures, thresholds) if recall >= floor - 1e-12
    )
    precision, recall = figures(found.rule.threshold)
    assert precision == pytest.approx(best)
    assert recall >= floor - 1e-9


def test_the_retuned_figures_do_not_flatter_noise() -> None:
    """Scores that know nothing: chosen on the same rows a threshold seems to help; cross-fitted it
    does not.
    """
    gains, flattered = [], []
    for seed in range(20):
        parts, rng = splits(400, seed=seed), np.random.default_rng(seed)
        table = judged(parts.validation, rng.random(len(parts.validation)), PROBABILITY)
        objective = Objective(text="", target="accuracy", direction=None)
        found = choose_threshold(table, table, objective)
        assert isinstance(found, ChosenThreshold)
        change = compare("accuracy", table, found.judged)
        assert change is not None
        gains.append(change.after - 0.5)
        flattered.append(
            float(((table.score >= found.rule.threshold) == table.positive).mean()) - 0.5
        )
    assert np.mean(flattered) > 0.03
    assert np.mean(gains) < 0.01


def test_a_target_of_one_side_without_a_guard_is_chosen_for_f1() -> None:
    """Precision alone would be best where hardly anything passes."""
    parts = splits()
    table = graded(parts.validation, shift=0.5, rng=np.random.default_rng(2))
    found = choose_threshold(table, table, Objective(text="", target="precision", direction="fp"))
    assert isinstance(found, ChosenThreshold)
    assert found.metric == "f1"
    assert "f1" in found.notes[0]


def test_a_kept_calibration_stays_and_is_named() -> None:
    """The rule in force decides at the old thresholds; its calibration is in the new rules as
    well.
    """
    parts, rng = splits(), np.random.default_rng(3)
    rule = DecisionRule(threshold=0.6, calibration=Platt(slope=0.7, intercept=0.2))
    label = np.array([row.label for row in parts.validation.rows])
    scores = np.clip(0.3 + 0.4 * label + rng.normal(0, 0.2, len(label)), 0, 1)
    table = judged(parts.validation, scores, PROBABILITY).under(rule)
    found = choose_threshold(table, table, PRECISION)
    assert isinstance(found, ChosenThreshold)
    assert (found.old, found.rule.calibration) == (rule, rule.calibration)
    assert "calibration" in found.notes[0]


def test_what_has_no_threshold_says_so() -> None:
    """Labels without an order, and a metric of grades."""
    parts = splits()
    choice = OutputScale(kind="choice", low=0, high=1, labels=("no", "yes"), threshold=1)
    table = judged(parts.validation, np.zeros(len(parts.validation)), choice)
    found = choose_threshold(table, table, PRECISION)
    assert isinstance(found, NoThreshold)
    assert "without an order" in found.reason
    grades = graded(parts.validation, shift=0, rng=np.random.default_rng(5))
    off = choose_threshold(grades, grades, Objective(text="", target="off_by_one", direction=None))
    assert isinstance(off, NoThreshold)
    assert "off_by_one" in off.reason


def test_by_claim_none_is_chosen() -> None:
    parts = splits()
    table = graded(parts.validation, shift=0, rng=np.random.default_rng(5))
    found = choose_threshold(table, table, PRECISION, claims=True)
    assert isinstance(found, NoThreshold)
    assert "by claim" in found.reason


def test_unscored_rows_stay_unscored() -> None:
    """A row without a verdict gets none, and helps to choose nothing."""
    parts, rng = splits(), np.random.default_rng(6)
    before = graded(parts.validation, shift=1, rng=rng)
    silent = replace(
        before,
        answers=(Unscored(row_id=before.answers[0].row_id, reason="parse"), *before.answers[1:]),
    )
    found = choose_threshold(before, silent, PRECISION)
    assert isinstance(found, ChosenThreshold)
    assert found.judged.unscored == {"parse": 1}
    assert choose_threshold(before, silent, PRECISION) == found


def test_tables_that_do_not_belong_together_are_refused() -> None:
    """Another rule, or other rows, on one side."""
    parts = splits()
    table = graded(parts.validation, shift=0, rng=np.random.default_rng(7))
    for other in (table.under(DecisionRule(threshold=3)), table.only(range(10))):
        with pytest.raises(InputError, match="differ in their rows"):
            choose_threshold(table, other, PRECISION)
