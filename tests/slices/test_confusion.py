"""Slices where one class is called a certain other."""

from __future__ import annotations

import numpy as np
import pytest

from judgewright.judges import Dataset, InputError, JudgedDataset, OutputScale, Row, Verdict
from judgewright.slices import confused_pairs, find_confusions

SCALE = OutputScale(kind="choice", labels=("orders", "support", "staff"))


def judged(seed: int, *, planted: bool) -> JudgedDataset:
    """Eight hundred rows, a twelfth of them wrong; planted, orders from the south are mostly called
    support.
    """
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, 800, p=(0.5, 0.35, 0.15))
    south, web = rng.random(800) < 0.3, rng.random(800) < 0.5
    verdicts = np.where(rng.random(800) < 1 / 12, (labels + rng.integers(1, 3, 800)) % 3, labels)
    if planted:
        verdicts = np.where(south & (labels == 0) & (rng.random(800) < 0.7), 1, verdicts)
    rows = tuple(
        Row(
            id=str(i),
            inputs={},
            label=float(labels[i]),
            group=f"g{i // 2}",
            meta={
                "region": "south" if south[i] else "north",
                "channel": "web" if web[i] else "app",
            },
        )
        for i in range(800)
    )
    answers = tuple(
        Verdict(row_id=str(i), score=float(code), positive=True) for i, code in enumerate(verdicts)
    )
    return JudgedDataset(dataset=Dataset(rows=rows, labels=SCALE), answers=answers, scale=SCALE)


def test_a_planted_confusion_is_confirmed_where_it_is_and_has_its_pair() -> None:
    """Its direction is the pair of classes, and nothing is called a false positive."""
    report = find_confusions(judged(1, planted=True))
    best = report.slices[0]
    assert str(best.predicate) == "region = south"
    assert best.prompt_target
    assert best.confusion == best.to_json()["direction"] == "orders -> support"
    assert best.metric == "orders not called support"
    assert best.value < 0.45 < 0.9 < best.rest
    assert "false" not in best.describe()
    assert "orders -> support" in report.notes[0]


def test_without_one_hardly_anything_is_confirmed() -> None:
    """Of forty tables without a slice few confirm any, although several pairs are searched."""
    confirmed = sum(
        any(one.confirmed for one in find_confusions(judged(k, planted=False)).slices)
        for k in range(40)
    )
    assert confirmed <= 4


def test_a_metric_of_one_class_counts_its_own_errors() -> None:
    """Recall counts rows of the class that are called another, precision others that are called
    it.
    """
    table = judged(1, planted=True)
    assert {pair.label for pair in confused_pairs(table, "recall[orders]")} == {"orders"}
    assert {pair.verdict for pair in confused_pairs(table, "precision[orders]")} == {"orders"}
    assert all("orders" in pair.name for pair in confused_pairs(table, "f1[orders]"))
    assert len(confused_pairs(table, "accuracy_grades")) == 6


def test_a_judge_that_decides_yes_or_no_confuses_no_classes() -> None:
    """It is refused by what its scale is."""
    table = judged(1, planted=False)
    yes_no = JudgedDataset(dataset=table.dataset, answers=table.answers, scale=OutputScale(high=2))
    with pytest.raises(InputError, match=r"0\.\.2"):
        find_confusions(yes_no)
