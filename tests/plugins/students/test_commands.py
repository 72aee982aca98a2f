"""`judgewright student`: from a verdict file to a student, its verdicts, and chats; what does not
fit is named.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import judgewright as jw
from judgewright.judges import read_prompt
from judgewright.plugins.students import read_student
from judgewright.runs.cli import main
from judgewright.runs.demo.rows import write_demo_rows

SHARED = (Path(__file__).resolve().parents[3] / "../shared/data").resolve()
TEXTS = ("--inputs", "source,statement")


def run(*arguments: str) -> int:
    """Run a command in this process and return its exit code."""
    try:
        main(list(arguments))
    except SystemExit as left:
        return int(left.code or 0)
    return 0


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The one JSON object a command printed."""
    return json.loads(capsys.readouterr().out)


def lines_of(path: str) -> list[dict[str, Any]]:
    """The lines of a JSONL file."""
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Path:
    """Rows, and the verdicts of the simulated model on them as `bench --out` writes them."""
    monkeypatch.chdir(tmp_path)
    write_demo_rows(tmp_path / "rows.jsonl", documents=60)
    assert (
        run(
            "bench",
            "groundedness",
            "rows.jsonl",
            "--model",
            "simulated",
            "--out",
            "v.jsonl",
            "--json",
        )
        == 0
    )
    capsys.readouterr()
    return tmp_path


def test_a_student_is_trained_measured_and_used_like_any_judge(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its held-out figures are those of `score`; it judges rows by command and from Python."""
    given = ("students", "train", "v.jsonl", "--rows", "rows.jsonl", *TEXTS)
    assert run(*given, "--out", "s.json", "--held-out", "h.jsonl", "--json") == 0
    body = printed(capsys)
    assert (body["simulated"], body["inputs"], body["folds"]) == (True, ["source", "statement"], 5)
    assert body["rows"] == sum(line["verdict"] is not None for line in lines_of("v.jsonl"))
    read = ("--score", "verdict", "--confidence", "confidence", "--group", "group", "--json")
    assert run("score", "h.jsonl", *read) == 0
    scored = printed(capsys)["metrics"]
    assert run("score", "v.jsonl", *read) == 0
    teacher = printed(capsys)["metrics"]
    for metric in ("precision", "recall", "f1", "kappa", "accuracy"):
        assert body["by_people"]["student"][metric]["value"] == pytest.approx(
            scored[metric]["value"]
        )
        assert body["by_people"]["teacher"][metric]["value"] == pytest.approx(
            teacher[metric]["value"]
        )
    difference = scored["f1"]["value"] - teacher["f1"]["value"]
    assert body["f1_difference"]["value"] == pytest.approx(difference)
    low, high = body["f1_difference"]["low"], body["f1_difference"]["high"]
    # By the interval: an estimate near enough shows nothing where the interval reaches further.
    assert body["within_5_points"] is (True if low >= -0.05 else False if high < -0.05 else None)
    assert run("students", "judge", "s.json", "rows.jsonl", "--out", "mine.jsonl", "--json") == 0
    assert printed(capsys)["decided"] == len(lines_of("rows.jsonl"))
    bench = jw.bench(read_student(Path("s.json")), "rows.jsonl", workspace=folder)
    assert [a.positive for a in bench.judged.answers] == [
        bool(line["verdict"]) for line in lines_of("mine.jsonl")
    ]  # type: ignore[union-attr]
    assert run("slices", "mine.jsonl", "--score", "verdict", "--group", "group", "--json") == 0
    capsys.readouterr()
    assert run(*given) == 0
    out = capsys.readouterr().out
    assert "[SIMULATED: says nothing about real models]" in out


def test_chats_are_written_with_the_judge_that_goes_with_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Grades where the teacher gave grades; no row in both parts; sealed rows in none."""
    given = ("students", "data", "v.jsonl", "--judge", "groundedness", "--rows", "rows.jsonl")
    assert run(*given, "--score", "score", "--out", "chats", "--json") == 0
    body = printed(capsys)
    assert body["simulated"] is True
    assert body["scale"].startswith("0..3")
    train, held_out = lines_of("chats/train.jsonl"), lines_of("chats/held_out.jsonl")
    assert (len(train), len(held_out)) == (body["train"], body["held_out"])
    users = [{chat["messages"][1]["content"] for chat in part} for part in (train, held_out)]
    assert not users[0] & users[1]
    rows = lines_of("chats/held_out_rows.jsonl")
    assert all(
        line["source"] in chat["messages"][1]["content"]
        for line, chat in zip(rows, held_out, strict=True)
    )
    labels = {line["id"]: line["label"] for line in lines_of("rows.jsonl")}
    assert all(line["label"] == labels[line["id"]] for line in rows)
    bench = (
        "bench",
        "chats/student.yaml",
        "chats/held_out_rows.jsonl",
        "--model",
        "simulated",
        "--json",
    )
    assert run(*bench) == 0
    assert printed(capsys)["groups"] == body["groups"]["held_out"]
    prompt = read_prompt(Path("chats/student.yaml"))
    assert train[0]["messages"][0]["content"] == prompt.system_text()
    assert {json.loads(chat["messages"][-1]["content"])["score"] for chat in train} <= {0, 1, 2, 3}
    assert run(*given, "--out", "decisions", "--json") == 0
    assert printed(capsys)["scale"].startswith("0/1")
    replies = [
        json.loads(chat["messages"][-1]["content"]) for chat in lines_of("decisions/train.jsonl")
    ]
    assert {reply["score"] for reply in replies} == {0, 1}


def test_what_does_not_fit_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What to do is said; nothing is written."""
    Path("other.jsonl").write_text(
        '{"id": "nobody", "source": "a", "statement": "b", "label": 1}\n'
    )
    Path("s.json").write_text("{}")
    train, rows = ("students", "train", "v.jsonl"), ("--rows", "rows.jsonl")
    cases = {
        (*train, "--out", "x.json"): "rows have the texts none, and a student reads two",
        (*train, *rows): "--rows needs the texts that are read from it",
        (*train, *TEXTS): "no row with a verdict has the texts 'source' and 'statement'",
        (*train, "--rows", "other.jsonl", *TEXTS): "it has none of the rows of v",
        (*train, *rows, "--inputs", "source"): "--inputs names 1 texts, and a student reads two",
        (*train, *rows, "--inputs", "source,claim"): "the column 'claim' is missing",
        (*train, *rows, *TEXTS, "--metric", "bleu"): "--metric 'bleu' is none of",
        (*train, *rows, *TEXTS, "--score", "grade"): "the column 'grade' is missing",
        ("students", "judge", "s.json", "rows.jsonl", "--out", "x.jsonl"): "s.json is no student",
        (
            "students",
            "judge",
            "none.json",
            "rows.jsonl",
            "--out",
            "x.jsonl",
        ): "cannot read the student 'none.json'",
        (
            "students",
            "data",
            "v.jsonl",
            "--judge",
            "groundedness",
            "--out",
            "c",
        ): "there is no text 'source'",
        ("students", "data", "v.jsonl", "--judge", "nobody", "--out", "c"): "nobody",
    }
    for given, message in cases.items():
        assert run(*given, "--json") == 2, given
        assert message in printed(capsys)["error"]["message"], given
    assert not any(Path(name).exists() for name in ("x.json", "x.jsonl", "c"))


def test_on_published_verdicts_the_student_is_within_five_points_of_its_teacher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The figures of docs/how-to/student.md."""
    verdicts = SHARED / "verdicts" / "mtrag_faithfulness.rl-f.jsonl"
    if not verdicts.exists():
        pytest.skip("shared/data/verdicts is not beside the checkout")
    monkeypatch.chdir(tmp_path)
    assert run("students", "train", str(verdicts), *TEXTS, "--json") == 0
    body = printed(capsys)
    f1 = {name: side["f1"]["value"] for name, side in body["by_people"].items()}
    assert f1["teacher"] == pytest.approx(0.938, abs=5e-4)
    assert f1["always yes"] == pytest.approx(0.916, abs=5e-4)
    assert f1["student"] == pytest.approx(0.937, abs=5e-3)
    assert body["within_5_points"] is True
    assert body["simulated"] is False
