"""Figures of others computed again: what counts as equal, what is said of the rest."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgewright.judges.errors import DataError
from judgewright.judges.published.expected import Line, check_expected, read_expected

VERDICTS = Path(__file__).resolve().parents[3] / "../shared/data/verdicts"
needs_verdicts = pytest.mark.skipif(not VERDICTS.exists(), reason="the shared data are not beside the checkout")

ROWS = [(1, 1)] * 6 + [(0, 1)] * 3 + [(1, 0)] * 2 + [(0, 0)] * 9
"""Labels and scores: precision 6/9, recall 6/8, F1 12/17."""


def check(folder: Path, figures: dict[str, object], *, name: str = "mine.jsonl") -> list[Line]:
    """Write the rows and expectations about them, and compute."""
    rows = [{"id": i, "label": y, "score": s} for i, (y, s) in enumerate(ROWS)]
    (folder / name).write_text("\n".join(json.dumps(row) for row in rows))
    (folder / "expected.json").write_text(json.dumps({name: figures}))
    return list(check_expected(folder / "expected.json", folder))


@needs_verdicts
def test_every_published_figure_is_found_again() -> None:
    """Nothing differs; the one misprint is explained by the figure that should stand there."""
    lines = check_expected(VERDICTS / "expected.json", VERDICTS)
    asked = json.loads((VERDICTS / "expected.json").read_text())
    assert {(file, figure) for file, figures in asked.items() for figure in figures} <= {
        (line.file, line.figure) for line in lines
    }
    assert [line for line in lines if not line.accepted] == []
    assert [(line.figure, line.published) for line in lines if line.status == "misprint"] == [
        ("diras: diras_calibration", Decimal("91.10"))
    ]
    assert all(line.n for line in lines)


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({"published": 0.7059, "computed": 0.705882, "status": "exact"}, "equal"),
        ({"published": 0.71, "computed": None, "status": "exact"}, "equal"),
        ({"published": None, "computed": 0.705882, "status": "no-published-value"}, "equal"),
        ({"published": 0.7060, "computed": None, "status": "exact"}, "equal"),  # JSON keeps no final zero: 0.706
        ({"published": 0.7061, "computed": None, "status": "exact"}, "differs"),
        ({"published": 0.7059, "computed": 0.705982, "status": "exact"}, "differs"),
        ({"published": 0.8059, "computed": 0.705882, "status": "exact"}, "differs"),
        ({"published": 0.8059, "computed": 0.705882, "status": "misprint: a slip"}, "misprint"),
        ({"published": 0.8059, "computed": None, "status": "misprint: a slip"}, "differs"),
        ({"published": None, "computed": None, "status": "exact"}, "not computed"),
        ({"published": [1, 2], "computed": None, "status": "exact"}, "differs"),
    ],
)
def test_a_figure_is_equal_to_the_digits_that_were_printed(
    tmp_path: Path, said: dict[str, object], status: str
) -> None:
    """Half a unit of the last digit, against the published and the computed figure; a misprint needs the right one."""
    (line,) = check(tmp_path, {"f1": said | {"definition": "binary F1"}})
    assert line.status == status
    assert line.accepted == (status in ("equal", "misprint"))
    assert line.ours == pytest.approx(12 / 17)
    assert (line.n, line.definition) == (20, "binary F1")
    json.dumps(line.to_json(), allow_nan=False)


@given(value=st.floats(0.001, 0.999), digits=st.integers(1, 6))
def test_a_figure_rounded_to_its_digits_is_the_same_figure(value: float, digits: int) -> None:
    """Whatever the figure and the digits; one unit further it is another."""
    from judgewright.judges.published.expected import _same

    printed = round(Decimal(value), digits)
    unit = Decimal(1).scaleb(-digits)
    assert _same(value, printed)
    assert not _same(value, printed + unit + unit)


def test_a_judge_that_says_nothing_new_is_computed_by_its_metrics_name(tmp_path: Path) -> None:
    """A figure without a recipe is one of our metrics, or is named as unknown; so is a file that is missing."""
    lines = check(
        tmp_path,
        {
            "Balanced accuracy": {"published": 0.75, "computed": None},
            "recall": {"published": 75.0, "computed": None, "definition": "recall x100"},
            "Label counts 0..3": {"published": [11, 9, 0, 0], "computed": [11, 9, 0, 0]},
            "Elo": {"published": 1200, "computed": None},
        },
    )
    assert [line.status for line in lines] == ["equal", "equal", "equal", "not computed"]
    assert "'Elo'" in lines[3].remark
    body = {"gone.jsonl": {"f1": {"published": 0.5}}}
    (tmp_path / "expected.json").write_text(json.dumps(body))
    (line,) = check_expected(tmp_path / "expected.json", tmp_path)
    assert (line.status, line.n) == ("not computed", None)
    assert "no such file" in line.remark


def test_a_matrix_needs_the_judge_that_a_figure_names(tmp_path: Path) -> None:
    """Out-of-range grades are counted nowhere and clipped everywhere else."""
    rows = [{"id": i, "label": i % 4, "verdicts": {"a": s, "b": 0}} for i, s in enumerate((0, 1, 2, 7, 0, 0, 3, 3))]
    (tmp_path / "my_matrix.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    figures = {
        "a: label counts 0..3": {"published": [3, 1, 1, 2]},
        "a: kappa 4-point": {"published": 0.6667},
        "c: kappa 4-point": {"published": 0.5},
    }
    (tmp_path / "expected.json").write_text(json.dumps({"my_matrix.jsonl": figures}))
    lines = check_expected(tmp_path / "expected.json", tmp_path)
    assert [line.status for line in lines] == ["equal", "equal", "not computed"]
    assert "no judge 'c'" in lines[2].remark


@pytest.mark.parametrize("body", ["[1]", '{"a": 3}', '{"a": {"f1": 3}}', '{"a": {"f1": {"published": "x"}}}', "{", ""])
def test_a_file_of_another_shape_is_refused(tmp_path: Path, body: str) -> None:
    """With the shape it should have."""
    path = tmp_path / "expected.json"
    path.write_text(body)
    with pytest.raises(DataError, match="not a file of expectations"):
        read_expected(path)
    with pytest.raises(DataError, match="cannot be read"):
        read_expected(tmp_path / "none.json")
