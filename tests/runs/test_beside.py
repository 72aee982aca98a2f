"""`bench --beside`: several judges on the same rows as the questions of one request."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import accuracy_score

from judgewright.judges.simulated import Server

from ..planted_decisions import requests_to
from ..scripted_decisions import ScriptedDecisions
from .run_command import run

ROWS = 60
TRIAD = ("--label", "grounded", "--beside", "context_relevance=relevant,answer_relevance")
COLUMNS = ("--column", "source=text", "--column", "passage=text", "--column", "statement=answer")
BENCH = ("bench", "groundedness", "rows.jsonl", "--model", "one", *TRIAD, *COLUMNS)


def shares(question: Any, state: Any) -> list[float]:
    """Say good of a judge's rows by a number in its query, and not by its neighbours' words."""
    number = int(state["query"].split()[-1])
    divisor = 3 if "groundedness" in question.instructions else 2
    return [0.02, 0.08, 0.2, 0.7] if number % divisor else [0.7, 0.2, 0.08, 0.02]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Stand in a folder with rows for the triad, and name a System One model `one`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUDGEWRIGHT_MODELS", str(tmp_path / "models.yaml"))
    lines = [
        {
            "query": f"What is number {i}",
            "text": f"Text of {i}.",
            "answer": f"Answer {i}.",
            "grounded": 3 * (i % 4 > 0),
            "relevant": 3 * (i % 2),
        }
        for i in range(ROWS)
    ]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    with Server(ScriptedDecisions("systemone", shares, model="m").app()) as serving:
        address = f"{{base_url: {serving.base_url!r}, model: m, api: systemone}}"
        Path("models.yaml").write_text(f"one: {address}\n", encoding="utf-8")
        yield serving


def test_the_triad_is_measured_against_its_own_labels_by_one_request_a_row(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each judge has figures of its own, equal to scikit-learn's; the three questions are shown
    once, and asking again sends nothing.
    """
    code, out, err = run(capsys, *BENCH)
    assert code == 0, err
    assert requests_to(server) == ROWS
    assert err.count("is asked this") == 1
    assert err.count("type: score") == 3
    assert out.count("asked in the same requests") == 2
    body = json.loads(run(capsys, *BENCH, "--json")[1])
    assert requests_to(server) == ROWS
    names = [name.partition("@")[0] for name in body["beside"]]
    assert names == ["context_relevance", "answer_relevance"]
    labels = {
        column: [i % k > 0 for i in range(ROWS)] for column, k in (("grounded", 4), ("relevant", 2))
    }
    said = {k: [i % k > 0 for i in range(ROWS)] for k in (2, 3)}
    expected = [("grounded", 3), ("relevant", 2), ("grounded", 2)]
    for one, (column, k) in zip([body, *body["beside"].values()], expected, strict=True):
        accuracy = one["metrics"]["accuracy"]
        assert accuracy["n"] == ROWS
        assert accuracy["value"] == pytest.approx(accuracy_score(labels[column], said[k]))


def test_the_run_of_each_judge_shows_the_verdicts_that_it_measured(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    """Slices read the answers about the shared state from the record; nobody is asked again."""
    run(capsys, *BENCH)
    runs = json.loads(run(capsys, "runs", "list", "--json")[1])["runs"]
    for one in runs:
        code, out, err = run(capsys, "slices", one["run_id"])
        assert (code, f"{ROWS} scored" in out) == (0, True), err
    assert requests_to(server) == ROWS


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--model", "simulated"), "--beside is for a decision model"),
        (("--by-claim",), "--beside"),
        (("--out", "verdicts.jsonl"), "--beside"),
        (("--column", "passge=text"), "no input 'passge'"),
    ],
)
def test_what_has_no_sense_beside_others_is_refused_before_anything_is_sent(
    server: Server, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], why: str
) -> None:
    """With what to do instead, or the name that is wrong."""
    code, _, err = run(capsys, *BENCH, *words)
    assert (code, why in err) == (2, True), err
    assert requests_to(server) == 0
