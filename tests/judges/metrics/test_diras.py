"""The DIRAS groups: the published figures on the real verdicts, and the pulls behind the
intervals.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import InputError
from judgewright.judges.metrics import RelevanceRows, diras, ece
from judgewright.judges.metrics.diras import _auroc, _average_precision, _ece, _quicksort

VERDICTS = Path(__file__).resolve().parents[3] / "../shared/data/verdicts"
GRADES = {"yes": 1.0, "partially": 0.5, "no": 0.0}

# Uncertainty, binary, calibration, ranking and mean as printed; None where the table was not
# computed from the verdicts we have. 91.10 is a misprint: the printed mean of 80.00 follows from
# 91.20.
PUBLISHED = {
    ("gpt-4-0125-preview", "confidence"): (54.01, 86.32, 91.20, 88.48, 80.00),
    ("gpt-4-nodef", "confidence"): (39.27, 84.07, 90.59, 87.57, None),
    ("gpt-3.5-turbo", "confidence"): (29.71, 45.27, 85.46, 74.16, None),
    ("gpt-4-0125-preview", "confidence_token"): (28.83, 86.32, 84.48, None, None),
}
ORDER = ("diras_uncertainty", "diras_binary", "diras_calibration", "diras_ranking", "diras_mean")


def _lines(judge: str) -> list[dict[str, Any]]:  # Any: JSON as the file has it
    path = VERDICTS / f"diras_chatreport.{judge}.jsonl"
    if not path.exists():
        pytest.skip(f"shared/data/verdicts/{path.name} is not beside the checkout")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _rows(judge: str, confidence: str = "confidence") -> RelevanceRows:
    lines = _lines(judge)
    predicted = np.array([line["verdict"] == 1 for line in lines])
    sure = np.array([line[confidence] for line in lines], np.float64)
    return RelevanceRows(
        grade=np.array([GRADES[line["metadata"]["gold_3way"]] for line in lines]),
        relevant=np.array([line["label"] == 1 for line in lines]),
        predicted=predicted,
        confidence=sure,
        probability=np.where(predicted, sure, 1 - sure),
        uncertain=np.array([line["metadata"]["human_uncertain"] == 1 for line in lines]),
        query=np.unique([line["inputs"]["query"] for line in lines], return_inverse=True)[1],
    )


def _made_up(n: int, seed: int = 0) -> RelevanceRows:
    rng = np.random.default_rng(seed)
    predicted = rng.random(n) < 0.4
    sure = rng.integers(5, 11, n) / 10
    return RelevanceRows(
        grade=rng.choice([0, 0.5, 1], n),
        relevant=np.where(rng.random(n) < 0.8, predicted, ~predicted),
        predicted=predicted,
        confidence=sure,
        probability=np.where(predicted, sure, 1 - sure),
        uncertain=rng.random(n) < 0.3,
        query=np.arange(n) % max(1, n // 8),
    )


@pytest.mark.parametrize(("judge", "confidence"), PUBLISHED, ids=lambda part: str(part))
def test_the_published_figures_come_out_to_the_printed_digits(judge: str, confidence: str) -> None:
    """All four groups and the mean, times 100, with the ranking as the published table has it."""
    found = diras(_rows(judge, confidence), as_published=True)
    for name, printed in zip(ORDER, PUBLISHED[judge, confidence], strict=True):
        if printed is not None:
            assert f"{100 * (found[name].value or 0):.2f}" == f"{printed:.2f}", name


def _weighted(name: str) -> Callable[[np.ndarray, np.ndarray, np.ndarray], float]:
    from sklearn import metrics as sk

    return {"auroc": sk.roc_auc_score, "ap": sk.average_precision_score}[name]  # type: ignore[return-value]


@pytest.mark.parametrize(("name", "ours"), [("auroc", _auroc), ("ap", _average_precision)])
def test_pulls_are_what_a_little_more_weight_does(
    name: str, ours: Callable[..., tuple[float, np.ndarray]]
) -> None:
    """Scikit-learn's weighted metric moves by pull / n per unit of weight."""
    rng = np.random.default_rng(7)
    label, score = rng.random(60) < 0.4, rng.integers(0, 8, 60) / 8
    value, pull = ours(label, score)
    theirs = _weighted(name)
    assert value == pytest.approx(theirs(label, score, sample_weight=np.ones(60)))
    assert pull.mean() == pytest.approx(0, abs=1e-12)
    for i in range(60):
        weight = np.ones(60)
        weight[i] += 1e-6
        moved = (theirs(label, score, sample_weight=weight) - value) / 1e-6
        assert moved == pytest.approx(pull[i] / 60, abs=1e-5)


def test_the_calibration_error_ends_its_bins_at_tenths() -> None:
    """1 - 0.7 falls into the bin above 0.3, as in the published figures; the pulls have mean 0."""
    probability = np.array([0.3, 1 - 0.7, 0.35, 0.25])
    label = np.array([True, False, False, True])
    value, pull = _ece(probability - label, probability)
    # Bins of {.3, .25} and of {.3 and a bit, .35}; the edges of `ece` part them elsewhere.
    assert value == pytest.approx((abs(2 - 0.55) + 0.65) / 4) != ece(label, probability)
    assert pull.mean() == pytest.approx(0, abs=1e-12)


@given(st.lists(st.integers(0, 9), max_size=90))
@settings(max_examples=60, deadline=None)
def test_the_published_sort_sorts(values: list[int]) -> None:
    """Whatever it does to equal values, every position comes out once and in ascending order."""
    order = _quicksort(values)
    assert sorted(order) == list(range(len(values)))
    assert [values[i] for i in order] == sorted(values)


@pytest.mark.parametrize(
    ("values", "order"),
    [
        ([0] * 20, [*range(18, -1, -1), 19]),
        (
            [i % 3 for i in range(24)],
            [0, 15, 18, 3, 21, 6, 12, 9, 13, 19, 16, 7, 4, 22, 1, 10, 20, 11, 14, 23, 8, 5, 2, 17],
        ),
        ([1] * 15, list(range(15))),
    ],
)
def test_equal_values_stand_as_the_published_sort_leaves_them(
    values: list[int], order: list[int]
) -> None:
    """Recorded from the argsort of numba 0.68, by which the published table was ranked."""
    assert _quicksort(values) == order


def test_missing_parts_are_named_and_take_the_mean_with_them() -> None:
    """No hard row, only right verdicts, or one row a query: the group and the mean are None, the
    rest is there.
    """
    rows = _made_up(80)
    easy = diras(replace(rows, uncertain=np.zeros(80, np.bool_)))
    assert easy["diras_uncertainty"].reason == "no row is marked uncertain"
    assert (easy["diras_mean"].value, easy["diras_mean"].reason) == (
        None,
        "there is no diras_uncertainty",
    )
    assert easy["diras_binary"].value is not None
    right = diras(replace(rows, relevant=rows.predicted))
    assert "every verdict is right" in right["diras_calibration"].reason
    apart = diras(replace(rows, query=np.arange(80)))
    assert "no two rows share a query" in apart["diras_ranking"].reason
    one = diras(replace(rows, query=np.zeros(80, np.int64)))
    assert {estimate.reason for estimate in one.values()} == {
        "the figure rests on one unit, which cannot show the spread"
    }
    never = diras(replace(rows, predicted=np.zeros(80, np.bool_), relevant=np.arange(80) == 90))
    assert never["diras_binary"].reason == "no row is positive, neither by label nor by verdict"
    empty = np.zeros(0)
    none = diras(
        RelevanceRows(
            grade=empty,
            relevant=empty.astype(bool),
            predicted=empty.astype(bool),
            confidence=empty,
            probability=empty,
            uncertain=empty.astype(bool),
            query=empty.astype(np.int64),
        )
    )
    assert all(estimate.value is None and estimate.reason for estimate in none.values())
    with pytest.raises(InputError, match="differ in length"):
        replace(rows, query=np.zeros(3, np.int64))
    with pytest.raises(InputError, match=r"outside \[0, 1\]"):
        replace(rows, confidence=rows.confidence * 100)
