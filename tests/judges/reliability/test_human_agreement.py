"""Human-human agreement: two annotators, several, and the judge beside them."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from judgewright.judges import (
    DataError,
    InputError,
    JudgedDataset,
    OutputScale,
    Scalar,
)
from judgewright.judges.files import load_verdicts
from judgewright.judges.reliability import human_agreement

from ...judged_tables import judged_table

VERDICTS = Path(__file__).resolve().parents[3] / "../shared/data/verdicts"
FOUR = OutputScale(low=1, high=4, threshold=3)
needs_verdicts = pytest.mark.skipif(
    not VERDICTS.exists(), reason="the shared data are not beside the checkout"
)


def table(notes: list[dict[str, Scalar]], said: list[int]) -> JudgedDataset:
    """Rows with annotations and a verdict each, all labelled 1."""
    return judged_table([1.0] * len(said), said, columns=notes)


def test_two_annotators_and_the_judge() -> None:
    """Agreement, kappa and the gap by hand: people agree on 4 of 6, the judge with one of two
    annotators where not.
    """
    a, b, said = [1, 1, 0, 0, 1, 0], [1, 1, 0, 0, 0, 1], [1, 1, 0, 1, 1, 1]
    judged = table([{"a": x, "b": "yes" if y else "No"} for x, y in zip(a, b, strict=True)], said)
    found = human_agreement(judged, ("a", "b"))
    assert (found.n, found.agreement.value) == (6, pytest.approx(4 / 6))
    assert found.kappa.value == pytest.approx(cohen_kappa_score(a, b))
    assert found.judge_agreement is not None
    assert found.judge_agreement.value == pytest.approx((3 + 0 + 0.5 + 0.5) / 6)
    assert found.gap is not None
    assert found.gap.value == pytest.approx(0.0)
    assert "cannot be told" in found.sentence()


def test_rows_with_fewer_annotations_count_where_there_are_two() -> None:
    """Pairs within a row are averaged; one annotation alone does not count; kappa is of the rows
    that all of them annotated.
    """
    cells = [(4, 4, 3), (1, 2, None), (4, 1, 1), (4, None, None), (None, None, None)]
    judged = table([dict(zip("abc", row, strict=True)) for row in cells], [1, 0, 0, 1, 1])
    judged = replace(judged, dataset=replace(judged.dataset, labels=FOUR))
    found = human_agreement(judged, "abc")
    assert (found.n, found.alpha_level) == (3, "ordinal")
    assert found.agreement.value == pytest.approx((1 + 1 + 1 / 3) / 3)
    assert found.kappa.n == 2
    assert found.judge_agreement is not None
    assert found.judge_agreement.value == pytest.approx((1 + 1 + 2 / 3) / 3)
    assert found.gap is not None
    assert found.gap.value is not None
    assert found.gap.value > 0


def test_alpha_is_the_krippendorff_packages() -> None:
    """Ordinal alpha of graded annotators with a gap."""
    import krippendorff

    grades = [[1, 2, 3, 3, 2, 1, 4, 1], [1, 2, 3, 3, 2, 2, 4, 1], [None, 3, 3, 3, 2, 3, 4, 2]]
    judged = table(
        [dict(zip("abc", line, strict=True)) for line in zip(*grades, strict=True)], [1] * 8
    )
    found = human_agreement(replace(judged.dataset, labels=FOUR), "abc").alpha
    expected = krippendorff.alpha(np.array(grades, np.float64), level_of_measurement="ordinal")
    assert found.value == pytest.approx(expected)


@pytest.mark.parametrize(
    ("columns", "cell", "error", "said"),
    [
        (("a", "b"), "maybe", DataError, r"'maybe' \(row 'r0', 'b'\)"),
        (("b",), 1, InputError, "not one column each"),
        (("a", "nope"), 1, InputError, "no row has a column 'nope'"),
        (("a", "a"), 1, InputError, "not one column each"),
        (("a", "b"), 5, InputError, "outside the judge's scale"),
    ],
)
def test_what_is_no_annotation_is_refused(
    columns: tuple[str, ...], cell: Scalar, error: type[Exception], said: str
) -> None:
    """The row, the column and the value are named."""
    with pytest.raises(error, match=said):
        human_agreement(table([{"a": 1, "b": cell}], [1]), columns)


def test_rows_with_one_annotation_leave_everything_undefined() -> None:
    """No NaN, and no sentence that claims anything."""
    found = human_agreement(table([{"a": 1, "b": None}, {"a": None, "b": 0}], [1, 1]), ("a", "b"))
    assert (found.n, found.agreement.value, found.kappa.value, found.alpha.value) == (
        0,
        None,
        None,
        None,
    )
    assert "nan" not in json.dumps(found.to_json()).lower()


@needs_verdicts
def test_diras_annotators_agree_as_the_file_says() -> None:
    """Of 660 real rows, decisions alike where both say yes or no, or partially on either side."""
    judged = load_verdicts(
        VERDICTS / "diras_chatreport.gpt-4-0125-preview.jsonl", score="verdict", confidence="confidence",  # noqa: E501
        group="inputs.query",
    )  # fmt: skip
    words = {"partially": 0.5, "partially yes": 0.5, "partially no": 0.5}
    found = human_agreement(judged, ("metadata.annotation_1", "metadata.annotation_2"), words=words)
    sides = [
        [
            words.get(w := str(row.meta[f"metadata.annotation_{k}"]).lower(), float(w == "yes"))
            for row in judged.rows
        ]
        for k in (1, 2)
    ]
    decided = np.array(sides) >= 0.5
    assert (found.n, found.alpha_level) == (660, "ordinal")
    assert found.agreement.value == pytest.approx((decided[0] == decided[1]).mean())
    assert found.kappa.value == pytest.approx(cohen_kappa_score(*decided))
    assert found.gap is not None
    assert found.gap.low is not None
