"""The detectable gain: the closed form where there is one, groups that make it larger, and None where there is none."""

import math
from dataclasses import replace
from statistics import NormalDist

import pytest

from judgewright.judges import BINARY, Dataset, Judged, Row, Verdict
from judgewright.judges.errors import InputError
from judgewright.optimize.detectable import smallest_gain


def table(labels: list[int], said: list[int]) -> Judged:
    """Answers to independent binary rows."""
    rows = tuple(Row(id=str(i), inputs={}, label=label) for i, label in enumerate(labels))
    answers = tuple(Verdict(row_id=row.id, score=s, positive=bool(s)) for row, s in zip(rows, said, strict=True))
    return Judged(dataset=Dataset(rows=rows, labels=BINARY), answers=answers, scale=BINARY)


@pytest.mark.parametrize(("rows", "churn"), [(500, 0.25), (2000, 0.25), (2000, 0.5), (600, 0.01)])
def test_the_gain_of_accuracy_agrees_with_the_closed_form(rows: int, churn: float) -> None:
    """Independent rows: the flips of churn and gain scatter by 2ce + d - d squared, and d is z standard errors."""
    labels = [1, 0] * 1000
    judged = table(labels, [1 - label if i % 5 == 0 else label for i, label in enumerate(labels)])
    z = NormalDist().inv_cdf(1 - 0.03) + NormalDist().inv_cdf(0.8)
    gain = 0.1
    for _ in range(200):
        gain = z * math.sqrt((2 * churn * 0.2 + gain - gain**2) / rows)
    found = smallest_gain("accuracy", judged, churn=churn, alpha=0.03, rows=rows)
    assert found == pytest.approx(gain, rel=0.05)


def test_a_gain_that_no_edit_could_show_is_none() -> None:
    """Four errors in a hundred rows: mending all of them would not be told from none on thirty."""
    labels = [1, 0] * 50
    judged = table(labels, [1 - label if i < 4 else label for i, label in enumerate(labels)])
    assert smallest_gain("accuracy", judged, churn=0.25, alpha=0.03, rows=30) is None
    assert smallest_gain("accuracy", table(labels, labels), churn=0.25, alpha=0.03, rows=3000) is None
    with pytest.raises(InputError, match="off_by_one"):
        smallest_gain("off_by_one", judged, churn=0.25, alpha=0.03, rows=3000)


def test_rows_that_come_in_groups_show_less() -> None:
    """The same verdicts in groups of four show a larger gain only, and more rows a smaller one."""
    labels = [1, 0] * 300
    judged = table(labels, [1 - label if i % 20 < 4 else label for i, label in enumerate(labels)])
    grouped = replace(
        judged,
        dataset=Dataset(
            rows=tuple(replace(row, group=str(int(row.id) // 4)) for row in judged.dataset.rows), labels=BINARY
        ),
    )
    alone, together, more = (
        smallest_gain("f1", one, churn=0.25, alpha=0.03, rows=rows)
        for one, rows in ((judged, 600), (grouped, 600), (judged, 2400))
    )
    assert alone is not None
    assert together is not None
    assert more is not None
    assert more < alone
    assert together > 1.05 * alone
