"""Choosing the threshold again after an edit: on validation rows alone, guarded, and honest about what it gains."""

from __future__ import annotations

import json
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
    Guard,
    NoThreshold,
    Objective,
    TunedThresholds,
    read_objective,
    tune_threshold,
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
    return judged(rows, np.clip(np.round(1 + 2 * label + shift + rng.normal(0, 0.8, len(label))), 0, 4))


def test_an_edit_that_only_moves_the_scores_gains_nothing_once_both_are_retuned() -> None:
    """A prompt that grades everything one lower looks more precise, until each side has the threshold it deserves."""
    parts, rng = splits(3000), np.random.default_rng(0)
    lenient = graded(parts.validation, shift=1, rng=rng)
    strict = judged(parts.validation, np.maximum(lenient.score - 1, 0))
    found = tune_threshold(lenient, strict, parts, read_objective("raise f1", target="f1"))
    assert isinstance(found, TunedThresholds)
    assert found.before.threshold == found.after.threshold + 1
    at_old, retuned = found.at_old["f1"], found.retuned["f1"]
    assert at_old is not None
    assert retuned is not None
    assert at_old.low is not None
    assert at_old.low > 0.02
    assert abs(retuned.difference) < 0.01
    assert found.at_old["f1"] == compare("f1", lenient, strict)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(0, 0.2), st.booleans())
def test_the_chosen_threshold_is_the_best_that_keeps_the_guard(seed: int, margin: float, share: bool) -> None:
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
    objective = Objective(text="", target="precision", direction="fp", guards=(Guard(metric="recall", margin=margin),))
    found = tune_threshold(table, table, parts, objective)
    assert isinstance(found, TunedThresholds)

    def figures(threshold: float) -> tuple[float, float]:
        said = table.score >= threshold
        return precision_score(label, said, zero_division=0), recall_score(label, said)

    floor = figures(table.scale.threshold)[1] - margin
    best = max(precision for precision, recall in map(figures, thresholds) if recall >= floor - 1e-12)
    precision, recall = figures(found.after.threshold)
    assert precision == pytest.approx(best)
    assert recall >= floor - 1e-9
    assert found.before == found.after


def test_only_validation_rows_are_read() -> None:
    """A table that holds another row is refused, whatever part the row is of."""
    parts, rng = splits(), np.random.default_rng(1)
    table = graded(parts.validation, shift=0, rng=rng)
    trained = graded(parts.train, shift=0, rng=rng)
    for before, after in ((trained, trained), (table, trained)):
        with pytest.raises(InputError, match="not a validation row"):
            tune_threshold(before, after, parts, PRECISION)
    mixed = replace(parts.validation, rows=(*parts.validation.rows[:5], Row(id="sealed", inputs={"x": "?"}, label=1.0)))
    poisoned = graded(mixed, shift=0, rng=rng)
    with pytest.raises(InputError, match="'sealed' is not a validation row"):
        tune_threshold(poisoned, poisoned, parts, PRECISION)


def test_the_retuned_figures_do_not_flatter_noise() -> None:
    """Scores that know nothing: chosen on the same rows a threshold seems to help; cross-fitted it does not."""
    gains, flattered = [], []
    for seed in range(20):
        parts, rng = splits(400, seed=seed), np.random.default_rng(seed)
        table = judged(parts.validation, rng.random(len(parts.validation)), PROBABILITY)
        objective = Objective(text="", target="accuracy", direction=None)
        found = tune_threshold(
            table, judged(parts.validation, rng.random(len(table.answers)), PROBABILITY), parts, objective
        )
        assert isinstance(found, TunedThresholds)
        change = found.retuned["accuracy"]
        assert change is not None
        gains.append(change.after - 0.5)
        flattered.append(float(((table.score >= found.before.threshold) == table.positive).mean()) - 0.5)
    assert np.mean(flattered) > 0.03
    assert np.mean(gains) < 0.01


def test_a_target_of_one_side_without_a_guard_is_chosen_for_f1() -> None:
    """Precision alone would be best where hardly anything passes."""
    parts = splits()
    table = graded(parts.validation, shift=0.5, rng=np.random.default_rng(2))
    found = tune_threshold(table, table, parts, Objective(text="", target="precision", direction="fp"))
    assert isinstance(found, TunedThresholds)
    assert found.metric == "f1"
    assert "f1" in found.notes[0]
    assert set(found.at_old) == {"precision"}


def test_a_kept_calibration_stays_and_is_named() -> None:
    """The rule in force decides at the old thresholds; its calibration is in the new rules as well."""
    parts, rng = splits(), np.random.default_rng(3)
    rule = DecisionRule(threshold=0.6, calibration=Platt(slope=0.7, intercept=0.2))
    label = np.array([row.label for row in parts.validation.rows])
    scores = np.clip(0.3 + 0.4 * label + rng.normal(0, 0.2, len(label)), 0, 1)
    table = judged(parts.validation, scores, PROBABILITY).under(rule)
    found = tune_threshold(table, table, parts, PRECISION)
    assert isinstance(found, TunedThresholds)
    assert (found.old, found.after.calibration) == (rule, rule.calibration)
    assert "calibrate" in found.notes[0]
    change = found.at_old["precision"]
    assert change is not None
    assert change.before == pytest.approx(precision_score(label == 1, table.predicted))


def test_what_has_no_threshold_says_so() -> None:
    """Labels without an order, and a metric of grades."""
    parts = splits()
    choice = OutputScale(kind="choice", low=0, high=1, labels=("no", "yes"), threshold=1)
    table = judged(parts.validation, np.zeros(len(parts.validation)), choice)
    found = tune_threshold(table, table, parts, PRECISION)
    assert isinstance(found, NoThreshold)
    assert "without an order" in found.reason
    grades = graded(parts.validation, shift=0, rng=np.random.default_rng(5))
    off = tune_threshold(grades, grades, parts, Objective(text="", target="off_by_one", direction=None))
    assert isinstance(off, NoThreshold)
    assert "off_by_one" in off.reason


def test_unscored_rows_are_left_out_and_the_result_is_json() -> None:
    """A row without a verdict on one side is in no comparison."""
    parts, rng = splits(), np.random.default_rng(6)
    before, after = (graded(parts.validation, shift=shift, rng=rng) for shift in (1, 0))
    silent = replace(after, answers=(Unscored(row_id=after.answers[0].row_id, reason="parse"), *after.answers[1:]))
    found = tune_threshold(before, silent, parts, PRECISION)
    assert isinstance(found, TunedThresholds)
    assert found.n == len(parts.validation) - 1
    assert all(
        change is not None and change.n == found.n for change in (*found.at_old.values(), *found.retuned.values())
    )
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["rules"]["old"]["threshold"] == 2
    assert tune_threshold(before, silent, parts, PRECISION) == found


def test_tables_that_do_not_belong_together_are_refused() -> None:
    """Another rule, or other rows, on one side."""
    parts = splits()
    table = graded(parts.validation, shift=0, rng=np.random.default_rng(7))
    for other in (table.under(DecisionRule(threshold=3)), table.only(range(10))):
        with pytest.raises(InputError, match="differ in their rows"):
            tune_threshold(table, other, parts, PRECISION)
