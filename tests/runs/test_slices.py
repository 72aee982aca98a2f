"""`judgewright slices`: a table to sign, a closer look, and slices that other commands can take."""

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from judgewright.judges import load_verdicts, split_dataset
from judgewright.optimize import open_rows
from judgewright.runs.actions import read_optimization
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.reports import WIDTH
from judgewright.runs.store import Workspace
from judgewright.slices import parse_predicate, read_slice

from .run_command import run_code


def run(*arguments: str) -> int:
    """Run `judgewright slices` in this process and return its exit code."""
    return run_code("slices", *arguments)


def parsed(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The one JSON object that was printed."""
    body = json.loads(capsys.readouterr().out)
    assert body["schema_version"] == 1
    return body


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """3,000 verdicts: bad rows let through where `kind = a`, and a base-rate decoy where `origin =
    poor`.
    """
    rng = np.random.default_rng(0)
    n = 3000
    kind, origin = rng.choice(["a", "b", "c"], n), rng.choice(["poor", "rich"], n)
    label = rng.random(n) < np.where(origin == "poor", 0.2, 0.6)
    said = np.where(label, rng.random(n) > 0.1, rng.random(n) < np.where(kind == "a", 0.5, 0.12))
    lines = [
        {
            "id": f"r{i}",
            "label": int(label[i]),
            "score": int(said[i]),
            "sure": round(0.5 + float(rng.random()) / 2, 3),
            "query_id": f"q{i // 3}",
            "inputs": {
                "query": f"what is {i // 3}?",
                "passage": f"The passage {i} says \x1b[2Jthis.\nAnd that.",
            },
            "metadata": {"kind": str(kind[i]), "origin": str(origin[i])},
        }
        for i in range(n)
    ]
    path = tmp_path_factory.mktemp("verdicts") / "verdicts.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines))
    return path


def test_the_table_says_what_a_careful_analyst_would_sign(
    verdicts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The true slice is the one to optimize on, the decoy is shown with why it is not; figures,
    notes, a last word.
    """
    assert run(str(verdicts), "--no-text") == 0
    out = capsys.readouterr().out
    assert all(len(line) <= WIDTH for line in out.splitlines())
    assert out.splitlines()[0] == "verdicts.jsonl: where precision is poorer than elsewhere"
    lines = [
        line.split()
        for line in out[: out.index("for a prompt")].splitlines()
        if line[:4].strip().isdecimal()
    ]
    assert len(lines) <= 6
    assert lines[0][1:4] == ["metadata.kind", "=", "a"]
    assert any(line[1:4] == ["metadata.origin", "=", "poor"] for line in lines)
    assert {line[-1] for line in lines} == {"confirmed"}
    assert "no: the gap is mostly the base rate's" in " ".join(out.split())
    assert "yes: false positives prevail" in out
    assert "rows that share the same query_id are one group (1,000 groups)" in out
    assert "candidate slices on" in out
    last = " ".join(out[out.index("What to optimize on: ") :].split())
    assert "slice 1" in last
    assert "metadata.kind = a" in last
    assert "metadata.origin = poor is lower" in last
    assert last.endswith(".")


def test_the_json_carries_what_the_table_shows(
    verdicts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The contract's keys, and beside them the numbers, reasons and the slice to optimize on."""
    assert run(str(verdicts), "--no-text", "--json") == 0
    body = parsed(capsys)
    assert {
        "slices",
        "left_out",
        "notes",
        "metric",
        "overall",
        "reading",
        "optimize_on",
        "why",
    } <= set(body)
    assert body["optimize_on"] == "metadata.kind = a"
    assert [s["number"] for s in body["slices"]] == list(range(1, len(body["slices"]) + 1))
    assert all((s["why_no_target"] is None) == s["prompt_target"] for s in body["slices"])
    assert all(s["gain_low"] <= s["expected_gain"] for s in body["slices"])


def test_nothing_is_advised_where_nothing_is_confirmed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Noise: the last line says so, and nothing can be saved by default."""
    rng = np.random.default_rng(1)
    lines = [
        {
            "id": i,
            "label": int(rng.random() < 0.5),
            "score": int(rng.random() < 0.5),
            "kind": "abcdefgh"[i % 8],
        }
        for i in range(800)
    ]
    path = tmp_path / "noise.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    assert run(str(path), "--save", str(tmp_path / "s.yaml")) == 2
    captured = capsys.readouterr()
    assert "What to optimize on: nothing yet." in captured.out
    assert "no slice is confirmed as a target" in captured.err
    assert not (tmp_path / "s.yaml").exists()


def test_a_slice_of_ones_own_is_measured_and_says_it_was_chosen(
    verdicts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In words and as JSON, from an expression or a saved slice."""
    assert run(str(verdicts), "--where", "metadata.kind = b") == 0
    out = capsys.readouterr().out
    assert "chosen by hand" in out
    assert "not corrected" in out
    assert "precision elsewhere" in out
    assert run(str(verdicts), "--where", "metadata.kind = b", "--json") == 0
    body = parsed(capsys)
    assert body["chosen_by_hand"] is True
    judged = load_verdicts(verdicts)
    inside = np.array([row.meta["metadata.kind"] == "b" for row in judged.rows])
    assert body["value"]["value"] == pytest.approx(
        judged.positive[inside & judged.predicted].mean()
    )
    assert body["value"]["n"] == (inside & judged.predicted).sum()


def test_the_rows_of_a_slice_come_errors_first_and_inert(
    verdicts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Escapes stay visible; the surest error first; --errors leaves the right ones out."""
    sure = ("--confidence", "sure")
    assert run(str(verdicts), *sure, "--rows", "metadata.kind = a", "--limit", "3") == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\\x1b[2J" in out
    assert "false positive" in out
    assert "query: what is" in out
    assert (
        run(str(verdicts), *sure, "--rows", "metadata.kind = a", "--limit", "5000", "--json") == 0
    )
    body = parsed(capsys)
    kinds = [row["outcome"] != "right" for row in body["rows"]]
    assert kinds == sorted(kinds, reverse=True)
    assert (len(kinds), sum(kinds)) == (body["support"], body["errors"])
    confidences = [row["confidence"] for row in body["rows"] if row["outcome"] != "right"]
    assert confidences == sorted(confidences, reverse=True)
    assert (
        run(str(verdicts), "--rows", "metadata.kind = a", "--errors", "--limit", "5000", "--json")
        == 0
    )
    assert [row["outcome"] for row in parsed(capsys)["rows"]].count("right") == 0


def test_the_saved_target_is_what_was_advised(
    verdicts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a number; with --where it is that one, never confirmed."""
    assert run(str(verdicts), "--no-text", "--save", str(tmp_path / "target.yaml"), "--json") == 0
    assert str(read_slice(str(tmp_path / "target.yaml"))) == parsed(capsys)["optimize_on"]
    own = tmp_path / "own.yaml"
    assert run(str(verdicts), "--where", "metadata.kind = b", "--save", str(own)) == 0
    assert read_slice(str(own)) == parse_predicate("metadata.kind = b")
    assert yaml.safe_load(own.read_text())["found"]["confirmed"] is False


def test_a_picture_is_written(verdicts: Path, tmp_path: Path) -> None:
    """Of the slices found, or of one's own."""
    picture = tmp_path / "p.svg"
    assert run(str(verdicts), "--no-text", "--plot", str(picture)) == 0
    first = picture.read_bytes()
    assert run(str(verdicts), "--where", "metadata.kind = a", "--plot", str(picture)) == 0
    second = picture.read_bytes()
    assert first != second
    assert all(content.startswith(b"<svg") for content in (first, second))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--metric", "f11"), "f11"),
        (("--where", "all rows", "--rows", "1"), "--rows"),
        (("--limit", "3"), "--rows"),
        (("--errors",), "--rows"),
        (("--tree", "1"), "`--tree` was removed"),
        (("--rows", "1", "--plot", "x.svg"), "--plot"),
        (("--rows", "99"), "99"),
        (("--save", "99=x.yaml"), "99"),
        (("--where", "metadata.kid = a"), "'metadata.kid'"),
        (("--where", "metadata.kind = z"), "no row is in"),
        (("--where", "metadata.kind"), "cannot be read"),
        (("--where", "gone.yaml"), "'gone.yaml'"),
        (("--where", "all rows", "--plot", "x.png"), "x.png"),
        (("--columns", "kid"), "'kid'"),
        (("--metric", "ece"), "--confidence"),
        (("--clip",), "scale"),
        (("--label-map", "x"), "--label-map"),
        (("--scale", "0-3"), "'0-3'"),
    ],
)
def test_what_cannot_be_asked_is_named(
    verdicts: Path, arguments: tuple[str, ...], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong input exits with 2 and a message, never a traceback."""
    assert run(str(verdicts), "--no-text", *arguments) == 2
    err = capsys.readouterr().err
    assert named in err
    assert "Traceback" not in err


def test_a_run_shows_its_open_rows_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No row of holdout or final is listed, counted or searched; reading options are refused."""
    write_demo_rows(tmp_path / "rows.jsonl", documents=90)
    place = str(tmp_path / "work")
    words = "--model simulated --steps 0 --objective precision --json --workspace"
    run_code("optimize", "groundedness", tmp_path / "rows.jsonl", *shlex.split(words), place)
    name = parsed(capsys)["run"]
    with Workspace(Path(place)) as workspace:
        config = read_optimization(workspace, name).config
    parts = split_dataset(config.dataset(), shares=config.shares)
    assert run(name, "--workspace", place, "--rows", "all rows", "--limit", "5000", "--json") == 0
    shown = {row["id"] for row in parsed(capsys)["rows"]}
    assert shown == {row.id for row in open_rows(parts).rows}
    assert len(shown) < len(config.dataset())
    assert run(name, "--workspace", place) == 0
    out = capsys.readouterr().out
    assert "[SIMULATED: says nothing about real models]" in out
    assert "holdout and final stay sealed" in out
    assert run(name, "--workspace", place, "--threshold", "0") == 2
    assert "--threshold says how a verdict file is read" in capsys.readouterr().err
