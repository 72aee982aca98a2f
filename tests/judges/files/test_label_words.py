"""Words of labels: one reader, a table of pairs and scales, and the option to type for all
others.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import yaml

from judgewright.judges import DataError, Dataset, OutputScale, load_dataset, load_verdicts
from judgewright.judges.files import VerdictColumns, load_as_said, parse_grade_map, stream_verdicts
from judgewright.judges.files.label_words import (
    _read_table,
    folded,
    map_hint,
    words_in,
    write_grade_map,
)

TABLE = yaml.safe_load((Path(__file__).parent / "label_words.yaml").read_text(encoding="utf-8"))
BINARY = OutputScale(kind="binary", threshold=1.0)
GRADES = OutputScale(low=0, high=3, threshold=2.0)


def write(path: Path, labels: list[str]) -> Path:
    """A table of comments, each with a label."""
    lines = [f'q{n},A canteen with {n} tables.,"{label}"' for n, label in enumerate(labels * 4)]
    path.write_text("\n".join(["id,text,label", *lines]), encoding="utf-8")
    return path


def read(path: Path, scale: OutputScale = BINARY, **more: object) -> Dataset:
    return load_as_said(path, {"columns": {}, **more}, inputs=("text",), scale=scale)


@pytest.mark.parametrize(("labels", "expected"), TABLE["clear"])
def test_words_that_are_clear_by_themselves_are_read(
    tmp_path: Path, labels: list[str], expected: list[float | None]
) -> None:
    """As a label of a data file and of a verdict file, as a score, and as a stream."""
    data = read(write(tmp_path / "rows.csv", labels))
    assert [row.label for row in data.rows[: len(labels)]] == expected
    verdicts = load_verdicts(write(tmp_path / "v.csv", labels), score="label")
    assert [row.label for row in verdicts.dataset.rows[: len(labels)]] == expected
    streamed = stream_verdicts(tmp_path / "v.csv", VerdictColumns(score="label"))
    assert set(streamed.score.tolist()) == set(verdicts.score.tolist())
    assert streamed.dataset.notes == verdicts.dataset.notes


@pytest.mark.parametrize(("labels", "expected", "scale"), TABLE["scales"])
def test_scales_have_their_own_grades(
    tmp_path: Path, labels: list[str], expected: list[float] | None, scale: str
) -> None:
    """Also where the judge has another scale; a word that goes with two numbers is none."""
    path = write(tmp_path / "rows.csv", labels)
    if expected is None:
        with pytest.raises(DataError, match="neither a number"):
            read(path, GRADES)
        return
    verdicts, streamed = (
        load_verdicts(path, score="label"),
        stream_verdicts(path, VerdictColumns(score="label")),
    )
    assert verdicts.scale.describe().startswith(scale)
    assert (streamed.scale, streamed.dataset.notes) == (verdicts.scale, verdicts.dataset.notes)
    data = read(path, GRADES)
    assert [row.label for row in data.rows[: len(labels)]] == expected
    assert data.labels.describe().startswith(scale)
    assert any(note.startswith("labels were read as numbers: ") for note in data.notes)


@pytest.mark.parametrize(("labels", "option"), TABLE["open"])
def test_other_words_are_asked_about_with_the_whole_option(
    tmp_path: Path, labels: list[str], option: str
) -> None:
    """The option that the message shows is read, once its question marks are filled in."""
    path = write(tmp_path / "rows.csv", labels)
    with pytest.raises(DataError) as error:
        read(path)
    assert error.value.hint is not None
    _, shown = shlex.split(error.value.hint.partition(": ")[2])
    assert shown == option
    numbers = iter("10101")
    typed = "".join(next(numbers) if char == "?" else char for char in shown)
    data = read(path, label_map=typed)
    assert {row.label for row in data.rows} <= {0.0, 1.0}
    mapped = parse_grade_map(typed, option="--label-map")
    assert list(mapped) == [label.casefold() for label in labels]
    assert parse_grade_map(write_grade_map(mapped), option="--label-map") == mapped


def test_a_map_may_leave_rows_without_a_label(tmp_path: Path) -> None:
    """`none` is no label, here as in `score`."""
    data = read(
        write(tmp_path / "rows.csv", ["factual", "unclear"]), label_map="factual=1,unclear=none"
    )
    assert [row.label for row in data.rows[:2]] == [1.0, None]
    assert "labels were mapped: factual as 1, unclear as nothing" in data.notes


@pytest.mark.parametrize(
    "labels",
    [
        ["2024-01-05", "2024-02-06"],
        ["[1, 0]", "[0, 1]"],
        ["3", "bad"],
        ["1", "pass"],
        ["0", "3 apples"],
    ],
)
def test_what_only_looks_like_a_grade_is_refused(tmp_path: Path, labels: list[str]) -> None:
    """Dates, lists, a word among numbers."""
    with pytest.raises(DataError):
        read(write(tmp_path / "rows.csv", labels), GRADES)


def test_running_text_is_no_label(tmp_path: Path) -> None:
    """The option would be longer than the file."""
    with pytest.raises(DataError) as error:
        read(
            write(
                tmp_path / "rows.csv",
                [f"The answer has {n} faults and a long reason why." for n in range(30)],
            )
        )
    assert error.value.hint == "is it the right column? name it with --label COLUMN"


def test_a_judge_that_chooses_has_its_classes_only(tmp_path: Path) -> None:
    """`yes` is none of them."""
    classes = OutputScale(kind="choice", labels=("billing", "shipping"))
    assert [
        row.label
        for row in read(write(tmp_path / "a.csv", ["Billing", "shipping"]), classes).rows[:2]
    ] == [0, 1]
    with pytest.raises(
        DataError, match="'yes' is neither a number nor one of 'billing', 'shipping'"
    ):
        read(write(tmp_path / "b.csv", ["billing", "yes"]), classes)


def test_the_table_contradicts_itself_nowhere() -> None:
    """No word is good in one pair and bad in another, and each is written as cells are compared."""
    import yaml

    from judgewright.judges.files import label_words

    table = yaml.safe_load(
        (Path(label_words.__file__).parent / "label_words.yaml").read_text("utf-8")
    )
    pairs, scales = _read_table()
    for pair in table["pairs"]:
        for grade, words in enumerate(pair):
            for word in words:
                assert pairs[word] == grade
    for word in [*pairs, *(word for scale in scales for word in scale)]:
        assert folded(word) == word


def test_an_empty_column_says_nothing() -> None:
    """And neither does one of numbers."""
    given = {"yes": 1.0}
    assert words_in([], given) == given
    assert map_hint([None, "", 1, "2.5"], given) is None


def test_python_takes_a_map_as_a_dict(tmp_path: Path) -> None:
    """The same reading as the option's."""
    import judgewright as jw

    rows = jw.load_rows(
        write(tmp_path / "rows.csv", ["factual", "hallucinated"]),
        label_map={"factual": 1, "hallucinated": 0},
    )
    assert rows.reading["label_map"] == "factual=1,hallucinated=0"


def test_labels_that_spare_the_judges_lowest_grade_are_noted(tmp_path: Path) -> None:
    """1, 2 and 3 may be a scale of their own."""
    data = read(write(tmp_path / "rows.csv", ["1", "2", "3"]), GRADES)
    assert "no label is 0: if people graded 1..3, say --label-scale 1..3" in data.notes
    with pytest.raises(DataError) as error:
        load_dataset(write(tmp_path / "five.csv", ["1", "5"]), inputs=("text",), scale=GRADES)
    assert error.value.hint == "give the scale of the labels: --label-scale 1..5"
