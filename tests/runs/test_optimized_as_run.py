"""`optimize --by-claim` and `--confidence tok`: a judge is optimized as `bench` runs it."""

import json
from pathlib import Path

import pytest

from judgewright.runs.demo import write_demo_rows

from .run_command import run

RUN = (
    "--objective",
    "precision matters most",
    "--target",
    "precision",
    "--model",
    "simulated",
    "--steps",
    "1",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Made-up rows."""
    monkeypatch.chdir(tmp_path)
    write_demo_rows(tmp_path / "rows.jsonl", documents=40)
    return tmp_path


@pytest.mark.timeout(300)
def test_a_claim_level_judge_and_one_of_token_confidences_are_optimized(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The benchmark of the run is of the judge as `bench` asks it in the same way; `plan` says what
    claims cost.
    """
    for options in (
        ("--by-claim", "--splitter", "model"),
        ("--confidence", "tok"),
    ):
        code, out, err = run(
            capsys, "optimize", "--plan", "groundedness", "rows.jsonl", *RUN[:-2], *options
        )
        assert code == 0, err
        assert ("by claim: " in out) == ("--by-claim" in options)
        code, out, err = run(
            capsys, "optimize", "groundedness", "rows.jsonl", *RUN, *options, "--json"
        )
        assert code in (0, 1, 4), err
        body = json.loads(out)
        assert ("by claim (model, trivial model, min)" in body["benchmark"]["judge"]) == (
            "--by-claim" in options
        )
        code, out, err = run(capsys, "diff", body["run"])
        assert code == 0, err


def test_a_judge_that_cannot_be_asked_so_is_refused_before_a_run_is_made(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One without a statement has no claims."""
    code, _, err = run(
        capsys,
        "optimize",
        "context_relevance",
        "rows.jsonl",
        "--column",
        "query=statement",
        "--column",
        "passage=source",
        "--by-claim",
        *RUN,
    )
    assert code == 2
    assert "has no input 'statement' to split" in err
    code, out, _ = run(capsys, "runs", "list", "--json")
    assert "optimize" not in out
