"""The gain over the old judge's curve, in counts: against scikit-learn, by hand, and where there is
none.
"""

import numpy as np
import pytest
import sklearn.metrics

from judgewright.judges import (
    BINARY,
    PROBABILITY,
    DecisionRule,
    JudgedDataset,
    OutputScale,
    compare,
    equal_gain,
)

from ...judged_tables import judged_table

GRADES = OutputScale(kind="graded", low=0, high=3, threshold=2)
SCORES = {
    "precision": sklearn.metrics.precision_score,
    "specificity": lambda *sides, **weights: sklearn.metrics.recall_score(
        *sides, pos_label=0, **weights
    ),
    "f1": sklearn.metrics.f1_score,
    "accuracy": sklearn.metrics.accuracy_score,
    "balanced_accuracy": sklearn.metrics.balanced_accuracy_score,
    "kappa": sklearn.metrics.cohen_kappa_score,
    "mcc": sklearn.metrics.matthews_corrcoef,
    "recall": sklearn.metrics.recall_score,
}


def judged(
    labels, scores, scale: OutputScale = BINARY, *, confidence=None, groups: int = 1
) -> JudgedDataset:
    """A judge's answers; a score of None is unscored, and `groups` rows make a group."""
    shared = [f"g{i // groups}" for i in range(len(labels))]
    return judged_table(
        labels, scores, groups=shared, confidence=confidence, scale=scale, label_scale=BINARY
    )


def drawn(
    count: int, seed: int, *, scale: OutputScale = GRADES, groups: int = 3
) -> tuple[JudgedDataset, JudgedDataset]:
    """An old judge on a scale, and a better one that says yes more often."""
    rng = np.random.default_rng(seed)
    labels = rng.random(count) < 0.4
    line = 1.4 * labels + rng.normal(0.8, 0.9, count)
    scores = np.clip(np.round(line), 0, 3) if scale.levels else 1 / (1 + np.exp(1.4 - line))
    better = 1.8 * labels + 0.5 * (line - 1.4 * labels) + rng.normal(0.4, 0.5, count) >= 1.6
    return judged(labels, scores, scale, groups=3), judged(labels, better, groups=3)


@pytest.mark.parametrize("scale", [GRADES, PROBABILITY], ids=lambda scale: scale.kind)
@pytest.mark.parametrize("metric", SCORES)
def test_the_old_value_is_that_of_scikit_learns_curve_in_counts(
    metric: str, scale: OutputScale
) -> None:
    for seed in range(5):
        before, after = drawn(240, seed, scale=scale)
        fpr, tpr, _ = sklearn.metrics.roc_curve(
            before.positive, before.score, drop_intermediate=False
        )
        positives = int(before.positive.sum())
        negatives = 240 - positives
        # Neither the point that calls every row positive nor the one that calls none so is a
        # threshold's.
        points = np.round(np.stack([tpr * positives, fpr * negatives], 1)[1:-1])
        (_, new_fp), (_, new_tp) = sklearn.metrics.confusion_matrix(after.positive, after.predicted)
        if metric == "recall":
            best = {
                fp: max(tp for tp, other in points if other == fp) for fp in np.unique(points[:, 1])
            }
            fp, tp = new_fp, np.interp(new_fp, list(best), list(best.values()))
        else:
            best = {
                tp: min(fp for other, fp in points if other == tp) for tp in np.unique(points[:, 0])
            }
            tp, fp = new_tp, np.interp(new_tp, list(best), list(best.values()))
        table = [negatives - fp, fp, positives - tp, tp]
        expected = SCORES[metric]([0, 0, 1, 1], [0, 1, 0, 1], sample_weight=table)
        gain = equal_gain(metric, before, after)
        change = compare(metric, before, after)
        assert gain.change is not None
        assert change is not None
        assert gain.change.before == pytest.approx(expected, abs=1e-12)
        assert gain.change.after == change.after
        assert gain.change.difference == pytest.approx(change.after - expected, abs=1e-12)
        assert gain.held == ("false positive rate" if metric == "recall" else "recall")
        assert gain.at == pytest.approx(
            new_fp / negatives if metric == "recall" else new_tp / positives
        )


def test_between_two_thresholds_counts_are_mixed() -> None:
    """At 3 the old judge finds 2 of 4 with no false positive, at 2 all 4 with 4; the new one finds
    3 with 1.
    """
    labels = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    before = judged(labels, [3, 3, 2, 2, 2, 2, 2, 2, 0, 0], GRADES)
    after = judged(labels, [1, 1, 1, 0, 1, 0, 0, 0, 0, 0])
    gain = equal_gain("precision", before, after)
    assert gain.at == 0.75
    assert gain.change is not None
    assert (gain.change.before, gain.change.after) == pytest.approx((3 / 5, 0.75))
    recall = equal_gain("recall", before, after).change
    assert recall is not None
    assert (recall.before, recall.after) == pytest.approx((2.5 / 4, 0.75))


@pytest.mark.parametrize("metric", SCORES)
def test_another_threshold_of_the_same_answers_gains_nothing(metric: str) -> None:
    before, _ = drawn(300, 1)
    for threshold in (1, 2, 3):
        change = equal_gain(metric, before, before.under(DecisionRule(threshold=threshold))).change
        assert change is not None
        assert change.difference == pytest.approx(0, abs=1e-12)
        assert change.low is None


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["precision", "recall", "kappa"])
@pytest.mark.parametrize("scale", [GRADES, PROBABILITY], ids=lambda scale: scale.kind)
def test_the_error_is_that_of_drawing_groups_again(metric: str, scale: OutputScale) -> None:
    before, after = drawn(600, 3, scale=scale)
    rng = np.random.default_rng(0)
    gains = []
    for _ in range(200):
        groups = rng.integers(0, 200, 200)
        rows = (3 * groups[:, None] + np.arange(3)).ravel()
        again = [
            judged(side.positive[rows], side.score[rows], side.scale, groups=3)
            for side in (before, after)
        ]
        if drawn_again := equal_gain(metric, *again).change:
            gains.append(drawn_again.difference)
    assert len(gains) > 180
    change = equal_gain(metric, before, after).change
    assert change is not None
    assert change.se == pytest.approx(np.std(gains), rel=0.25)
    assert change.low is not None
    assert change.high is not None
    assert change.low < change.difference < change.high
    assert (change.n, change.groups) == (600, 200)


def test_where_there_is_no_figure_the_reason_is_given() -> None:
    labels = [1, 1, 1, 0, 0, 0]
    grades = judged(labels, [3, 2, 1, 2, 1, 0], GRADES)
    all_yes, all_no = judged(labels, [1] * 6), judged(labels, [0] * 6)
    reasons = {
        equal_gain(
            "precision", judged(labels, [1, 1, 0, 1, 0, 0]), all_yes
        ).reason: "one threshold",
        equal_gain("precision", judged(labels, [2] * 6, GRADES), all_yes).reason: "one threshold",
        equal_gain("f1", grades, all_no).reason: "recall of 0.333 to 1.000",
        equal_gain("recall", grades, all_yes).reason: "false positive rate of 0.000 to 0.667",
        equal_gain("precision", grades, all_no).reason: "calls no row positive",
        equal_gain("off_by_one", grades, grades).reason: "no threshold changes off_by_one",
        equal_gain("brier", grades, grades).reason: "no threshold changes brier",
        equal_gain(
            "f1", judged([0] * 6, [3, 2, 1, 2, 1, 0], GRADES), judged([0] * 6, [1] * 6)
        ).reason: "no row is labelled positive",
        equal_gain(
            "recall", judged([1] * 6, [3, 2, 1, 2, 1, 0], GRADES), judged([1] * 6, [1] * 6)
        ).reason: "labelled negative",
    }
    for reason, part in reasons.items():
        assert part in reason
    assert equal_gain("f1", grades, all_no).at == 0
    assert equal_gain("f1", grades, all_no).change is None
    choice = OutputScale(kind="choice", labels=("a", "b"))
    assert (
        equal_gain(
            "recall[a]", judged(labels, labels, choice), judged(labels, labels, choice)
        ).change
        is None
    )
