"""The DIRAS groups: the published figures on the real verdicts, by hand, and the published sort."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

from judgewright.judges import PROBABILITY, InputError, JudgedDataset, OutputScale
from judgewright.judges.files import load_verdicts
from judgewright.judges.published import diras
from judgewright.judges.published.diras import _quicksort

from ...judged_tables import judged_table

VERDICTS = Path(__file__).resolve().parents[3] / "../shared/data/verdicts"
HARD = "metadata.human_uncertain"

# Uncertainty, binary, calibration, ranking and mean as printed; None where the table was not
# computed from the verdicts we have. 91.10 is a misprint: the printed mean of 80.00 follows from
# 91.20.
PUBLISHED = {
    ("gpt-4-0125-preview", "confidence"): (54.01, 86.32, 91.20, 88.48, 80.00),
    ("gpt-4-nodef", "confidence"): (39.27, 84.07, 90.59, 87.57, None),
    ("gpt-3.5-turbo", "confidence"): (29.71, 45.27, 85.46, 74.16, None),
    ("gpt-4-0125-preview", "confidence_token"): (28.83, 86.32, 84.48, None, None),
}
ORDER = ("uncertainty_ap", "diras_binary", "diras_calibration", "diras_ranking", "diras_mean")


@pytest.mark.parametrize(("judge", "confidence"), PUBLISHED, ids=lambda part: str(part))
def test_the_published_figures_come_out_to_the_printed_digits(judge: str, confidence: str) -> None:
    """All four groups and the mean, times 100, with the ranking as the published table has it."""
    path = VERDICTS / f"diras_chatreport.{judge}.jsonl"
    if not path.exists():
        pytest.skip(f"shared/data/verdicts/{path.name} is not beside the checkout")
    judged = load_verdicts(
        path,
        score="verdict",
        confidence=confidence,
        group="inputs.query",
        label="metadata.gold_3way",
        label_map={"no": 0.0, "partially": 0.5, "yes": 1.0},
        threshold=0.5,
    )
    for name, printed in zip(ORDER, PUBLISHED[judge, confidence], strict=True):
        if printed is not None:
            found = diras(judged, name, HARD, as_published=True)
            assert f"{100 * found:.2f}" == f"{printed:.2f}", name


def table(*, hard: float = 0.3, groups: int = 20) -> JudgedDataset:
    """A hundred rows of yes and no with a confidence, some of them marked in words of a CSV."""
    rng = np.random.default_rng(4)
    label = (rng.random(100) < 0.4).astype(float)
    score = np.where(rng.random(100) < 0.8, label, 1 - label)
    marked = rng.random(100) < hard
    return judged_table(
        label.tolist(),
        score.tolist(),
        confidence=(np.where(marked, 0.6, 0.9) - rng.integers(0, 2, 100) / 10).tolist(),
        columns=[{HARD: "True" if mark else "no"} for mark in marked],
        groups=[f"q{i % groups}" for i in range(100)],
    )


def test_the_groups_are_scikit_learns() -> None:
    """F1, average precision, and AUROC, ECE and Brier by hand; the mean is of the four."""
    judged = table()
    marked = np.array([row.meta[HARD] == "True" for row in judged.rows])
    sure = judged.confidence
    assert diras(judged, "uncertainty_ap", HARD) == pytest.approx(
        average_precision_score(marked, 1 - sure)
    )
    assert diras(judged, "diras_binary", HARD) == pytest.approx(
        f1_score(judged.positive, judged.predicted)
    )
    right = judged.positive == judged.predicted
    gap = judged.probability - judged.positive
    error = sum(abs(gap[judged.probability == p].sum()) for p in np.unique(judged.probability))
    calibration = roc_auc_score(right, sure) + 1 - error / 100 + 1 - (gap**2).mean()
    assert diras(judged, "diras_calibration", HARD) == pytest.approx(calibration / 3)
    four = [diras(judged, f"diras_{name}", HARD) for name in ("ranking", "uncertainty")]
    four += [diras(judged, f"diras_{name}", HARD) for name in ("binary", "calibration")]
    assert diras(judged, "diras_mean", HARD) == pytest.approx(np.mean(four))


def test_a_probability_holds_its_own_confidence_and_graded_labels_their_relevance() -> None:
    """On a probability scale the score gives the confidence; labels 0..2 become 0, a half and 1."""
    labels, scores = [float(i % 3) for i in range(12)], [0.05 + i / 13 for i in range(12)]
    more = {"groups": [f"q{i // 4}" for i in range(12)], "scale": PROBABILITY}
    columns = [{"hard": i % 3 == 0} for i in range(12)]
    thirds = OutputScale(low=0, high=2, threshold=1)
    graded = judged_table(labels, scores, columns=columns, label_scale=thirds, **more)
    halves = judged_table([label / 2 for label in labels], scores, columns=columns, **more)
    for name in ORDER:
        assert diras(graded, name, "hard") == diras(halves, name, "hard")
    ranking = [diras(graded, "diras_ranking", "hard", as_published=p) for p in (True, False)]
    assert ranking[0] != ranking[1]


def test_a_figure_that_does_not_exist_says_why() -> None:
    """No hard row, one row a query, no confidence, no such column."""
    with pytest.raises(InputError, match="no row is marked uncertain"):
        diras(table(hard=0.0), "diras_mean", HARD)
    with pytest.raises(InputError, match="no two rows share a query"):
        diras(table(groups=100), "diras_ranking", HARD)
    with pytest.raises(InputError, match="no row has a column 'nope'"):
        diras(table(), "diras_mean", "nope")
    silent = judged_table([0, 1], [0, 1], columns=[{HARD: 1}] * 2)
    with pytest.raises(InputError, match="no verdict carries a confidence"):
        diras(silent, "diras_binary", HARD)


@given(st.lists(st.integers(0, 9), max_size=90))
@settings(max_examples=60, deadline=None)
def test_the_published_sort_sorts(values: list[int]) -> None:
    """Whatever it does to equal values, every position comes out once and in ascending order."""
    order = _quicksort(values)
    assert sorted(order) == list(range(len(values)))
    assert [values[i] for i in order] == sorted(values)


def test_equal_values_stand_as_the_published_sort_leaves_them() -> None:
    """Recorded from the argsort of numba 0.68, by which the published table was ranked."""
    assert _quicksort([0] * 20) == [*range(18, -1, -1), 19]
    assert _quicksort([1] * 15) == list(range(15))
    assert _quicksort([i % 3 for i in range(24)]) == [
        *(0, 15, 18, 3, 21, 6, 12, 9, 13, 19, 16, 7),
        *(4, 22, 1, 10, 20, 11, 14, 23, 8, 5, 2, 17),
    ]
