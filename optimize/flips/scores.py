"""Metrics as sums over rows, so that one row's score is known from its two verdicts and its label.

A row lies in one of nine cells: no, yes or unscored by the prompt in use, and the same by the new
one. Within a cell the score depends on the label alone, and "the metric did not rise" is "the mean
score is at most 0". Rows on which both agree score 0 in accuracy, recall, specificity and F1
whatever their label; in precision they score little.

A margin m is tested linearly too, as in E[y (b - a + m)] > 0 for recall, not as a ratio. What is
estimated beside (the common level of precision, and the F1 of the prompt in use) comes from the
labels before the bet. In precision an error of it makes noise only, for the shares of yes are
counted over the whole pool. In F1 it matters as far as one prompt says yes oftener than the other:
there the bet takes the F1 that is two standard errors less favourable to its claim.

A row left unscored by one prompt alone counts against the new one, as in the gate; one that neither
scored is left out.
"""

from __future__ import annotations

import numpy as np

from ...judges import PROBABILITY_METRICS, FloatArray, InputError

NO, YES, UNSCORED = range(3)
CELLS = 9
LINEAR = ("accuracy", "precision", "recall", "specificity", "f1")
"""The metrics that are sums over rows."""
CAUTION = 2.0
"""Standard errors by which the F1 of the prompt in use is taken to be less favourable."""
PRIOR_LABELS = 2.0
"""What the first guess of a cell's share of positive labels weighs, in labels."""


def cell_of(before: int | None, after: int | None) -> int:
    """Return the cell of a row with these verdicts: 1, 0 or None."""
    old = UNSCORED if before is None else before
    new = UNSCORED if after is None else after
    return 3 * old + new


def _verdicts_by_label() -> tuple[FloatArray, FloatArray]:
    """Return the verdicts of both as they count, for label no and yes; shape (cells, 2) each."""
    before, after = np.zeros((CELLS, 2)), np.zeros((CELLS, 2))
    for old in (NO, YES, UNSCORED):
        for new in (NO, YES, UNSCORED):
            for label in (0, 1):
                before[3 * old + new, label] = label if old == UNSCORED else old
                after[3 * old + new, label] = 1 - label if new == UNSCORED else new
    return before, after


BEFORE, AFTER = _verdicts_by_label()
BOTH_UNSCORED = cell_of(None, None)
DISAGREED = np.array([cell // 3 != cell % 3 for cell in range(CELLS)])
"""Cells in which the two do not say the same."""
FLIPPED = np.array([cell in (cell_of(0, 1), cell_of(1, 0)) for cell in range(CELLS)])
_LABEL = np.array([0.0, 1.0])
_FIRST_GUESS = np.array(
    [0.2 if cell == cell_of(0, 0) else 0.8 if cell == cell_of(1, 1) else 0.5 for cell in range(9)]
)


def require_linear(metric: str) -> None:
    """Make sure a metric is a sum over rows.

    Raises:
        InputError: It is not; the message lists those that are.
    """
    if metric in PROBABILITY_METRICS:
        raise InputError(
            f"{metric} is of the probabilities, which change where no verdict flips",
            hint=(
                f"take {', '.join(LINEAR[:-1])} or {LINEAR[-1]}, or label a holdout for judgewright"
                " gate"
            ),
        )
    if metric not in LINEAR:
        raise InputError(
            f"{metric} is no sum over rows, so flips alone cannot decide about it",
            hint=(
                f"take {', '.join(LINEAR[:-1])} or {LINEAR[-1]}, or label a holdout for judgewright"
                " gate"
            ),
        )


def positive_rates(labels: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Guess each cell's share of positive labels, and the standard error of the guess; shape
    (cells,) each.

    Args:
        labels: How many labels were no and yes in each cell; shape (cells, 2).
    """
    n = labels.sum(1) + PRIOR_LABELS
    rates = (labels[:, 1] + PRIOR_LABELS * _FIRST_GUESS) / n
    return rates, np.sqrt(rates * (1 - rates) / n)


def score_table(
    metric: str,
    margin: float,
    counts: FloatArray,
    rates: FloatArray,
    errors: FloatArray,
    *,
    better: bool,
) -> FloatArray:
    """Return what a row scores for label no and yes; shape (cells, 2).

    Args:
        metric: One of `LINEAR`.
        margin: How much the metric may fall.
        counts: Rows in each cell of the whole pool; shape (cells,).
        rates, errors: As `positive_rates` returns them.
        better: Whether the claim is that the new prompt is better (by more than minus the margin);
            else the score of the claim that it is worse.
    """
    match metric:
        case "accuracy":
            scores = (AFTER == _LABEL) * 1.0 - (BEFORE == _LABEL) + margin
        case "recall":
            scores = _LABEL * (AFTER - BEFORE + margin)
        case "specificity":
            scores = (1 - _LABEL) * (BEFORE - AFTER + margin)
        case "precision":
            scores = _precision(counts, rates) + margin
        case "f1":
            level = _cautious_f1(counts, rates, errors, better=better)
            scores = (AFTER - BEFORE) * (2 * _LABEL - level) + margin * (AFTER + _LABEL)
        case _:
            raise ValueError(f"{metric!r} is no sum over rows")
    scores[BOTH_UNSCORED] = 0.0
    return scores if better else -scores


def _precision(counts: FloatArray, rates: FloatArray) -> FloatArray:
    (yes_before, hits_before), (yes_after, hits_after) = (
        _yes(BEFORE, counts, rates),
        _yes(AFTER, counts, rates),
    )
    level = (hits_before + hits_after) / (yes_before + yes_after)
    rows = counts.sum() - counts[BOTH_UNSCORED]
    return (_LABEL - level) * rows * (AFTER / yes_after - BEFORE / yes_before)


def _yes(verdicts: FloatArray, counts: FloatArray, rates: FloatArray) -> tuple[float, float]:
    """Return how often a prompt says yes, which needs no label but for unscored rows, and the hits
    expected of it.
    """
    hits = float((counts * rates * verdicts[:, 1])[:BOTH_UNSCORED].sum())
    false = float((counts * (1 - rates) * verdicts[:, 0])[:BOTH_UNSCORED].sum())
    # A prompt that never says yes has no precision; one row keeps the score finite.
    return max(hits + false, 1.0), hits


def _cautious_f1(
    counts: FloatArray, rates: FloatArray, errors: FloatArray, *, better: bool
) -> float:
    scored = counts.copy()
    scored[BOTH_UNSCORED] = 0.0
    yes, hits = _yes(BEFORE, counts, rates)
    both = yes + float(scored @ rates)
    level = 2 * hits / both
    slope = scored * (2 * BEFORE[:, 1] - level) / both
    error = float(np.sqrt(np.sum((slope * errors) ** 2)))
    oftener = _yes(AFTER, counts, rates)[0] > yes
    caution = CAUTION * error if oftener == better else -CAUTION * error
    return min(max(level + caution, 0.0), 1.0)
