"""A verdict file of a judge that chooses among classes is read as one: its numbers are names, and
no grades.
"""

import json
from pathlib import Path

import pytest

from judgewright.judges import DataError, InputError
from judgewright.judges.files import load_verdicts

from .run_command import run

CLASSES = ["orders", "inventory", "support"]


def write(path: Path, *, name: str = "classes", wrong: int = 2, **more: object) -> Path:
    """Write 240 rows; those labelled 0 are called 2 where they come from the south."""
    lines: list[dict[str, object]] = []
    for i in range(240):
        label, south = i % 3, i % 2 == 0
        score = wrong if label == 0 and south else label
        line: dict[str, object] = {
            "id": f"q{i}",
            "label": label,
            "score": score,
            "region": "south" if south else "east",
        }
        lines.append({**line, name: json.dumps(CLASSES), **more})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_slices_finds_the_confused_pair_and_score_the_classes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing speaks of a threshold or of positives."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "v.jsonl")
    code, out, err = run(capsys, "slices", "v.jsonl")
    assert code == 0, err
    assert "orders -> support" in out
    assert "region = south" in out
    assert "precision" not in out
    code, _, err = run(capsys, "slices", "v.jsonl", "--metric", "precision")
    assert code == 2
    assert "precision" in err
    code, out, err = run(capsys, "score", "v.jsonl")
    assert code == 0, err
    assert "accuracy_grades" in out
    assert "chooses among orders, inventory, support" in out
    write(tmp_path / "w.jsonl", wrong=0)
    code, out, err = run(capsys, "gate", "v.jsonl", "w.jsonl", "--target", "recall[orders]")
    assert code == 0, err
    assert "recall[orders] rose 0.500 -> 1.000" in out


def test_what_bench_wrote_is_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The classes stand in the file, whoever reads it."""
    monkeypatch.chdir(tmp_path)
    words = {"orders": "invoice", "inventory": "stock", "support": "ticket"}
    rows = [
        {
            "id": f"q{i}",
            "question": f"Show the {words[label]} of week {i}?",
            "label": label,
            "group_id": f"g{i}",
        }
        for i in range(30)
        for label in [CLASSES[i % 3]]
    ]
    (tmp_path / "rows.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
    )
    code, _, err = run(
        capsys, "bench", "routing", "rows.jsonl", "--model", "simulated", "--out", "v.jsonl"
    )
    assert code == 0, err
    judged = load_verdicts(tmp_path / "v.jsonl")
    assert judged.scale.kind == "choice"
    assert set(CLASSES) < set(judged.scale.labels)
    assert [judged.scale.labels[int(label)] for label in judged.label] == [
        row["label"] for row in rows
    ]


def test_a_place_beyond_the_classes_and_a_stated_scale_are_refused(tmp_path: Path) -> None:
    """They would be read as grades."""
    with pytest.raises(DataError, match="4 is no place among the 3 classes"):
        load_verdicts(write(tmp_path / "v.jsonl", wrong=4))
    with pytest.raises(InputError, match="no order"):
        load_verdicts(write(tmp_path / "v.jsonl"), threshold=1)
    assert load_verdicts(write(tmp_path / "v.jsonl", classes="blue")).scale.kind == "graded"
