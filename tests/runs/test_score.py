"""`judgewright score`: one judge, several, published figures, and figures computed again."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from judgewright.judges.files import STREAMED
from judgewright.runs.cli import main

PUBLISHED = Path(__file__).resolve().parents[2] / "docs/published"
VERDICTS = Path(__file__).resolve().parents[2] / "../shared/data/verdicts"
needs_verdicts = pytest.mark.skipif(
    not VERDICTS.exists(), reason="the shared data are not beside the checkout"
)
MATRIX = str(VERDICTS / "llmjudge_test.verdicts_matrix_dev12.jsonl")


def run(*arguments: str) -> int:
    """Run `judgewright score` in this process and return its exit code."""
    try:
        main(["score", *arguments])
    except SystemExit as left:
        return int(left.code or 0)
    return 0


def parsed(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The one JSON object that was printed."""
    body = json.loads(capsys.readouterr().out)
    assert body["schema_version"] == 1
    return body


def test_the_first_sentences_name_another_threshold_and_the_worst_slice_as_bench_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A judge that grades one topic's bad rows 2 of 3 is better off with 3 than with 2."""
    rows: list[dict[str, object]] = []
    for i in range(240):
        label, topic = i % 2 * 3, "ab"[i // 2 % 2]
        score = 3 if label else (2 if topic == "a" else 0)
        rows.append({"id": f"r{i}", "label": label, "score": score, "topic": topic})
    path = tmp_path / "verdicts.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    assert run(str(path), "--scale", "0..3", "--threshold", "2", "--json") == 0
    summary = parsed(capsys)["summary"]
    assert (summary["threshold"]["current"], summary["threshold"]["threshold"]) == (2, 3)
    assert summary["worst"]["where"] == "topic = a"
    assert run(str(path), "--scale", "0..3", "--threshold", "2") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "a threshold of 3 instead of 2 would call 0 % of the bad ones good" in shown
    assert "Its precision is poorest where topic = a: 0.50" in shown


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the verdicts of two judges on the same 60 rows, `good.jsonl` and
    `poor.jsonl`.
    """
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    label = rng.integers(0, 4, 60)
    for name, noise in (("good", 1), ("poor", 4)):
        score = np.clip(label + rng.integers(-noise, noise + 1, 60), 0, 4)
        rows = [
            {
                "id": f"r{i}",
                "label": int(y),
                "score": int(s),
                "topic": "ab"[i % 2],
                "query_id": f"q{i // 6}",
            }
            for i, (y, s) in enumerate(zip(label, score, strict=True))
        ]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    return tmp_path


def test_one_judge_keeps_the_contract_of_its_json(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """n, unscored, confusion and metrics; with --by also the parts and macro F1, their mean."""
    assert run("good.jsonl", "--by", "topic", "--k", "1", "--k", "5", "--json") == 0
    body = parsed(capsys)
    assert {"n", "unscored", "confusion", "metrics", "by", "f1_macro", "reading"} <= set(body)
    assert {"ndcg@1", "ndcg@5"} <= set(body["metrics"])
    parts = [part["metrics"]["f1"]["value"] for part in body["by"].values()]
    assert body["f1_macro"]["value"] == pytest.approx(np.mean(parts))
    for name in ("precision", "recall", "balanced_accuracy", "kappa"):
        mean, parts = (
            body[f"{name}_macro"],
            [part["metrics"][name]["value"] for part in body["by"].values()],
        )
        assert mean["value"] == pytest.approx(np.mean(parts))
        assert (mean["values"], mean["of"], mean["n"]) == (2, 2, 60)
        assert mean["low"] < mean["value"] < mean["high"]
    assert sum(part["n"] for part in body["by"].values()) == body["n"] == 60
    assert run("good.jsonl", "--json") == 0
    assert "by" not in parsed(capsys)


def test_what_does_not_exist_is_na_with_the_reason(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Recall without positives and kappa of one class are no zeros: in text, JSON, page and
    leaderboard.
    """
    rows = [{"id": i, "label": 0, "score": i % 2, "set": "a"} for i in range(20)]
    never = [{"id": 20 + i, "label": i % 2, "score": 0, "set": "b"} for i in range(20)]
    Path("none.jsonl").write_text("\n".join(map(json.dumps, rows)))
    Path("never.jsonl").write_text("\n".join(map(json.dumps, never)))
    Path("both.jsonl").write_text("\n".join(map(json.dumps, rows + never)))
    assert run("none.jsonl", "--html", "page.html") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines if line.split()[:1] in (["recall"], ["kappa"])] == [
        "n/a",
        "n/a",
    ]
    assert "  n/a: recall (no row is labelled positive)" in lines
    assert "  n/a: balanced_accuracy, kappa (the labels hold only one class)" in lines
    page = Path("page.html").read_text(encoding="utf-8")
    assert "no row is labelled positive" in page
    assert run("none.jsonl", "--json") == 0
    recall = parsed(capsys)["metrics"]["recall"]
    assert recall == {
        "value": None,
        "low": None,
        "high": None,
        "n": 0,
        "reason": "no row is labelled positive",
    }
    assert run("none.jsonl", "never.jsonl", "--metric", "precision") == 0
    out = capsys.readouterr().out
    assert "n/a: precision of never (the judge calls no row positive)" in out
    assert "n/a: recall of none (no row is labelled positive)" in out
    assert run("none.jsonl", "never.jsonl", "--metric", "precision", "--json") == 0
    first, last = parsed(capsys)["leaderboard"]
    assert (first["rank"], last["rank"], last["name"]) == (1, None, "never")
    assert run("both.jsonl", "--by", "set") == 0
    out = capsys.readouterr().out
    assert "n/a: precision of b (the judge calls no row positive)" in out
    assert "n/a: kappa of a (the labels hold only one class)" in out


def test_files_are_ranked_and_compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Best first by the metric asked for, each two tested on common rows, thresholds for single
    judges.
    """
    assert (
        run("poor.jsonl", "good.jsonl", "--metric", "accuracy", "--scale", "0..4@2", "--json") == 0
    )
    body = parsed(capsys)
    assert [(line["name"], line["rank"]) for line in body["leaderboard"]] == [
        ("good", 1),
        ("poor", 2),
    ]
    (pair,) = body["pairs"]
    assert (pair["first"], pair["second"], pair["n"], pair["groups"]) == ("good", "poor", 60, 10)
    accuracy = {
        line["name"]: line["benchmark"]["metrics"]["accuracy"]["value"]
        for line in body["leaderboard"]
    }
    assert pair["difference"] == pytest.approx(accuracy["good"] - accuracy["poor"])
    assert (
        run("poor.jsonl", "good.jsonl", "--threshold", "2", "--threshold", "poor=4", "--json") == 0
    )
    cut = {line["name"]: line["benchmark"]["confusion"] for line in parsed(capsys)["leaderboard"]}
    assert cut["poor"]["tp"] + cut["poor"]["fp"] < cut["good"]["tp"] + cut["good"]["fp"]
    assert cut["poor"]["tp"] + cut["poor"]["fn"] == cut["good"]["tp"] + cut["good"]["fn"]


def test_published_figures_stand_in_the_table_without_a_rank(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Marked, with their source and data, beside one judge of ours or alone."""
    assert run("good.jsonl", "--published", f"{PUBLISHED}/context_relevance.yaml") == 0
    out = capsys.readouterr().out
    lines = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert "good" in lines["1"]
    assert "published" in lines
    assert "UMBRELA [1]" in out
    assert "[1] TREC-DL 2021 and 2022" in out
    assert "no rank and no interval" in out
    files = [f"{PUBLISHED}/{name}.yaml" for name in ("groundedness", "diras")]
    assert run("--published", files[0], "--published", files[1], "--json") == 0
    rows = parsed(capsys)["leaderboard"]
    assert all(row["published"] for row in rows)
    assert {row["set"] for row in rows} == {"groundedness", "diras"}


def test_a_score_map_may_be_for_one_judge(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The other judge's scores stay what they are."""
    binary = ("--label-map", "0=0,1=0,2=1,3=1", "--score-map", "0=0,1=0,2=1,3=1,4=1")
    assert (
        run(
            "good.jsonl", "poor.jsonl", *binary, "--score-map", "poor:0=1,1=1,2=0,3=0,4=0", "--json"
        )
        == 0
    )
    turned = {
        line["name"]: line["benchmark"]["confusion"] for line in parsed(capsys)["leaderboard"]
    }
    assert run("good.jsonl", "poor.jsonl", *binary, "--json") == 0
    straight = {
        line["name"]: line["benchmark"]["confusion"] for line in parsed(capsys)["leaderboard"]
    }
    assert turned["good"] == straight["good"]
    assert (turned["poor"]["tp"], turned["poor"]["fp"]) == (
        straight["poor"]["fn"],
        straight["poor"]["tn"],
    )


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((), "nothing to score"),
        (("good.jsonl", "--threshold", "high"), "'high'"),
        (("good.jsonl", "--threshold", "bad=2"), "'bad'"),
        (("good.jsonl", "--score-map", "bad:1=2"), "'bad'"),
        (("good.jsonl", "--score-map", "1"), "--score-map"),
        (("good.jsonl", "--label-map", "x"), "--label-map"),
        (("good.jsonl", "--scale", "0-3"), "'0-3'"),
        (("good.jsonl", "--clip"), "scale"),
        (("good.jsonl", "--aggregate", "median", "--by", "topic"), "'median'"),
        (("good.jsonl", "--aggregate", "max"), "--by"),
        (("good.jsonl", "--by", "topic", "--by", "id"), "--by"),
        (("good.jsonl", "poor.jsonl", "--by", "topic"), "--by"),
        (("good.jsonl", "poor.jsonl", "--html", "x.html"), "--html"),
        (("good.jsonl", "poor.jsonl", "--metric", "f11"), "'f11'"),
        (("good.jsonl", "--published", "triad.yaml"), "triad.yaml"),
        (("good.jsonl", "--expected", "e.json"), "folder"),
        (("good.jsonl", "missing.jsonl"), "missing.jsonl"),
    ],
)
def test_what_cannot_be_asked_is_named(
    folder: Path, arguments: tuple[str, ...], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong input exits with 2 and a message, never a traceback."""
    assert run(*arguments) == 2
    err = capsys.readouterr().err
    assert named in err
    assert "Traceback" not in err


def test_hostile_names_cannot_drive_the_terminal(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A judge called by an escape sequence and a line break stays on its line of the table."""
    rows = [
        {
            "id": i,
            "label": i % 2,
            "verdicts": {"a\x1b[2J\nb": i % 2, "c": 1},
            "topic\x1b]0;x\x07": "t",
        }
        for i in range(4)
    ]
    Path("m.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    assert run("m.jsonl", "--score", "verdicts") == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert any(line.strip().startswith("1") and "b" in line for line in out.splitlines())


def test_a_figure_that_differs_leaves_with_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And is said to; in JSON every line and the counts. What cannot be computed fails nothing, but
    where nothing could be compared, that is no yes.
    """
    assert run("good.jsonl", "--json") == 0
    f1 = parsed(capsys)["metrics"]["f1"]["value"]
    rule = {"metric": "f1", "threshold": 2}
    right = {
        "f1": {
            "published": round(f1, 4),
            "computed": round(f1, 6),
            "definition": "as everywhere",
            "rule": rule,
        }
    }
    Path("e.json").write_text(json.dumps({"good.jsonl": right}))
    assert run("--expected", "e.json", ".") == 0
    out = capsys.readouterr().out
    assert "1 of 1 figures equal to the digits that were printed" in out
    wrong = {"f1": {"published": 0.99, "rule": rule}}
    Path("e.json").write_text(json.dumps({"good.jsonl": right, "poor.jsonl": wrong}))
    assert run("--expected", "e.json", ".", "--json") == 1
    body = parsed(capsys)
    assert body["counts"] == {"equal": 1, "misprint": 0, "differs": 1, "not computed": 0}
    assert [line["status"] for line in body["expected"]] == ["equal", "differs"]
    Path("e.json").write_text(json.dumps({"good.jsonl": right | {"odd": {"published": 0.5}}}))
    assert run("--expected", "e.json", ".") == 0
    assert "1 of 2 figures equal to the digits that were printed, 1 not" in capsys.readouterr().out
    Path("e.json").write_text(json.dumps({"gone.jsonl": wrong}))
    assert run("--expected", "e.json", ".") == 1  # nothing was checked


@needs_verdicts
def test_a_real_matrix_is_a_leaderboard(capsys: pytest.CaptureFixture[str]) -> None:
    """Twelve judges with intervals, the distance of each from the best, and how many pairs
    differ.
    """
    assert run(MATRIX, "--score", "verdicts.*", "--scale", "0..3", "--metric", "kappa") == 0
    out = capsys.readouterr().out
    assert "of 66 pairs differ in kappa" in out
    ranks = [
        line.split()[:2]
        for line in out.splitlines()
        if line.split()[:1] and line.split()[0].isdigit()
    ]
    assert [int(rank) for rank, _ in ranks[:12]] == list(range(1, 13))
    assert ranks[0][1] == "h2oloo-fewself"


def test_a_large_file_is_measured_without_its_rows_and_gives_the_same_figures(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Texts make the file so large that it is read as a stream; without them the same rows are read
    one by one.
    """
    lines = [json.loads(line) for line in (folder / "good.jsonl").read_text().splitlines()]
    lines = [line | {"id": f"{line['id']} {i}"} for i in range(50) for line in lines]
    for line in lines[:60]:
        line["score"] = None
    (folder / "rows").mkdir()
    for place, text in ((folder, "x" * 12_000), (folder / "rows", "")):
        body = "".join(json.dumps(line | {"answer": text}) + "\n" for line in lines)
        (place / "large.jsonl").write_text(body)
    assert (folder / "large.jsonl").stat().st_size > STREAMED
    bodies = []
    for name in ("large.jsonl", "rows/large.jsonl"):
        assert run(name, "--group", "query_id", "--json") == 0
        bodies.append(parsed(capsys))
    changes = [body.pop("detectable_change")["size"] for body in bodies]
    assert changes[0] == pytest.approx(changes[1], rel=0.1)
    figures = [body.pop("metrics") for body in bodies]
    assert "summary" not in bodies[0]
    del bodies[1]["summary"]  # which takes the rows
    assert bodies[0] == bodies[1]
    assert figures[0].keys() == figures[1].keys()
    for name, figure in figures[0].items():
        numbers = [figure.pop(key) for key in ("value", "low", "high")]
        assert numbers == pytest.approx(
            [figures[1][name].pop(key) for key in ("value", "low", "high")], rel=1e-9
        )
        assert figure == figures[1][name]
    assert run("large.jsonl", "--group", "query_id") == 0
    said = capsys.readouterr().out
    assert "2,940 rows scored in 10 groups, 60 unscored (60 parse)" in said
    assert (
        run("large.jsonl", "--group", "query_id", "--by", "topic", "--html", "page.html", "--json")
        == 0
    )
    assert set(parsed(capsys)["by"]) == {"a", "b"}
