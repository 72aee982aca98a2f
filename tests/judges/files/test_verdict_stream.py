"""Verdicts read as a stream give the figures, notes and errors of the same verdicts read row by
row.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges import JudgewrightError, measure, parse_label_scale
from judgewright.judges.files import VerdictColumns, load_judges, stream_verdicts
from judgewright.judges.reliability import minimum_detectable_change

Line = dict[str, Any]


def lines_of(count: int, *, seed: int = 0, groups: int = 0) -> list[Line]:
    draw = random.Random(seed)
    lines: list[Line] = []
    for i in range(count):
        label = draw.randrange(4)
        score: Any = min(3, max(0, label + draw.choice([-1, 0, 0, 0, 1])))
        line: Line = {"id": f"row {i}", "label": label, "score": draw.choice([score] * 9 + [None])}
        line["confidence"] = round(draw.uniform(0.5, 1.0), 2)
        if groups:
            line["group"] = draw.choice([f"q{draw.randrange(groups)}"] * 9 + [""])
        lines.append(line)
    return lines


def write(path: Path, lines: list[Line]) -> Path:
    if path.suffix == ".csv":
        rows = [lines[0].keys(), *(line.values() for line in lines)]
        text = "".join(
            ",".join("" if cell is None else str(cell) for cell in row) + "\n" for row in rows
        )
        path.write_text(text)
    else:
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def same(left: object, right: object, *, place: str = "") -> None:
    """Hold two JSON values against each other, numbers to twelve digits."""
    if isinstance(left, dict) and isinstance(right, dict):
        assert left.keys() == right.keys(), place
        for key in left:
            same(left[key], right[key], place=f"{place}/{key}")
    elif isinstance(left, list | tuple) and isinstance(right, list | tuple):
        assert len(left) == len(right), place
        for i, (a, b) in enumerate(zip(left, right, strict=True)):
            same(a, b, place=f"{place}/{i}")
    elif isinstance(left, float):
        assert left == pytest.approx(right, rel=1e-12, abs=1e-14), place
    else:
        assert left == right, place


def check_same(path: Path, columns: VerdictColumns) -> None:
    """Read a file in both ways: figures and notes are the same."""
    (rows,) = load_judges(path, columns).values()
    stream = stream_verdicts(path, columns)
    assert stream.dataset.notes == rows.dataset.notes
    assert (stream.judge, stream.model, stream.simulated) == (
        rows.judge,
        rows.model,
        rows.simulated,
    )
    assert (stream.dataset.name, stream.dataset.labels, stream.scale) == (
        rows.dataset.name,
        rows.dataset.labels,
        rows.scale,
    )
    same(measure(rows).to_json(), measure(stream).to_json())


@pytest.mark.parametrize("groups", [0, 20, 250])
@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_the_figures_are_those_of_the_rows(tmp_path: Path, groups: int, suffix: str) -> None:
    path = write(tmp_path / f"verdicts{suffix}", lines_of(700, groups=groups))
    check_same(path, VerdictColumns(confidence="confidence"))
    check_same(path, VerdictColumns(threshold=1.0, label_threshold=3.0))


def test_grades_are_mapped_clipped_and_kept_to_a_stated_scale(tmp_path: Path) -> None:
    lines = lines_of(300)
    for i, line in enumerate(lines):
        line["label"] = ["no", "0.5", "YES", None, "unclear", 1][i % 6]
        line["score"] = [0, 1, "1.0", True, "false", 7, "?", -1][i % 8]
    path = write(tmp_path / "verdicts.jsonl", lines)
    label_map = {"no": 0.0, "yes": 1.0, "unclear": None}
    scale = parse_label_scale("0..1")
    check_same(path, VerdictColumns(label_map=label_map, score_map={"?": None, "7": 1.0}))
    check_same(path, VerdictColumns(label_map=label_map, scale=scale))
    check_same(path, VerdictColumns(label_map=label_map, scale=scale, clip=True))


def test_what_a_file_says_of_itself_is_the_same(tmp_path: Path) -> None:
    lines = lines_of(120)
    for i, line in enumerate(lines):
        line |= {
            "judge_model": "gpt",
            "simulated": i > 50,
            "inputs.question": "why?",
            "unscored": "refused",
        }
        line["confidence"] = [0.8, None, 1.5, "0.7"][i % 4]
        line["sampling_probability"] = 0.2 if i == 7 else 1
        if i == 7:
            line["label"] = 5
        del line["id"]
    for suffix in (".jsonl", ".csv"):
        path = write(tmp_path / f"verdicts{suffix}", lines)
        check_same(path, VerdictColumns(confidence="confidence"))


def test_probabilities_and_classes_are_read_the_same(tmp_path: Path) -> None:
    lines = lines_of(400, groups=30)
    draw = random.Random(3)
    for line in lines:
        line["label"], line["score"] = draw.randrange(2), draw.random()
    check_same(write(tmp_path / "probabilities.jsonl", lines), VerdictColumns())
    for line in lines:
        line["score"], line["classes"] = draw.randrange(3), '["a", "b", "c"]'
    check_same(write(tmp_path / "classes.jsonl", lines), VerdictColumns())


@pytest.mark.parametrize(
    "spoil",
    [
        {"label": "bad"},
        {"id": None},
        {"id": "row 1"},
        {"confidence": "much"},
        {"sampling_probability": 2},
        {"label": 40},
    ],
)
def test_what_is_wrong_is_said_the_same(tmp_path: Path, spoil: Line) -> None:
    lines = lines_of(40)
    lines[20] |= spoil
    lines[30] |= spoil
    path = write(tmp_path / "verdicts.jsonl", lines)
    columns = VerdictColumns(confidence="confidence", scale=parse_label_scale("0..3"))
    with pytest.raises(JudgewrightError) as of_rows:
        load_judges(path, columns)
    with pytest.raises(JudgewrightError) as of_stream:
        stream_verdicts(path, columns)
    assert str(of_stream.value) == str(of_rows.value)


@pytest.mark.parametrize(
    "text", ["", '{"id": 1, "label": 1}\n', '{"label": 1, "score": 1}\n{"label"', '{"score": 1}\n']
)
def test_a_file_that_cannot_be_used_is_refused_the_same(tmp_path: Path, text: str) -> None:
    path = tmp_path / "verdicts.jsonl"
    path.write_text(text)
    with pytest.raises(JudgewrightError) as of_rows:
        load_judges(path, VerdictColumns())
    with pytest.raises(JudgewrightError) as of_stream:
        stream_verdicts(path, VerdictColumns())
    assert str(of_stream.value) == str(of_rows.value)


@pytest.mark.parametrize("groups", [0, 100])
def test_the_change_that_would_show_is_the_same_but_for_what_is_drawn(
    tmp_path: Path, groups: int
) -> None:
    path = write(tmp_path / "verdicts.jsonl", lines_of(3000, groups=groups))
    (rows,) = load_judges(path, VerdictColumns()).values()
    one, other = (
        minimum_detectable_change("f1", judged)
        for judged in (rows, stream_verdicts(path, VerdictColumns()))
    )
    assert one is not None
    assert other is not None
    assert other.size == pytest.approx(one.size, rel=0.05)
    assert other.basis == one.basis
