"""A workspace that the code of November 2026 wrote (commit 66fbad8): what it holds stays open to
every later code.

`golden/workspace-2026-11.tar.xz` holds made-up rows, the workspace of a small `demo`, and one with
a `bench`, an `optimize` that was accepted and one that was killed in its third step, all with the
simulated model. It is never made anew. `golden/workspace-2026-11-examples.tar.xz` holds a workspace
of the last code whose judges had `examples:` (commit 4dc0581e), with a benchmark, a kept rule, a
label, and an accepted version of such a judge.
"""

import asyncio
import json
import shlex
import sqlite3
import tarfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from starlette.testclient import TestClient

from judgewright.judges import Registry
from judgewright.judges.simulated import Simulated, read_request
from judgewright.runs.actions.lineage import lineage
from judgewright.runs.cli import cli, main
from judgewright.runs.config import Environment
from judgewright.runs.review import review_app
from judgewright.runs.review.judge_history import judge_history
from judgewright.runs.store.workspace import Workspace

GOLDEN = Path(__file__).parent / "golden" / "workspace-2026-11.tar.xz"
MADE_IN = "/tmp/judgewright-golden"
"""The folder that the runs name as the home of their rows."""
BENCH, FINISHED, UNFINISHED = (
    "20261122-074657-830b28",
    "20261122-074701-5956bb",
    "20261122-074728-7e7a1d",
)
DEMO = "20261122-074629-bb491c"


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    """The workspace unpacked, its runs told where their rows stand now."""
    with tarfile.open(GOLDEN) as archive:
        archive.extractall(tmp_path, filter="data")
    for folder in (tmp_path, tmp_path / "demo"):
        with sqlite3.connect(folder / ".judgewright" / "judgewright.db") as database:
            database.execute(
                "UPDATE run SET config_json = replace(config_json, ?, ?)", (MADE_IN, str(tmp_path))
            )
        database.close()
    return tmp_path


def run(folder: Path, *words: str, exit_code: int = 0) -> Result:
    """Run one command in the workspace."""
    result = CliRunner().invoke(cli, [*words, "--workspace", str(folder)])
    assert result.exit_code == exit_code, result.output
    return result


def as_json(folder: Path, *words: str, exit_code: int = 0) -> dict[str, Any]:
    """Run one command and read the object it prints."""
    return json.loads(run(folder, *words, "--json", exit_code=exit_code).stdout)


def test_every_run_is_listed_and_shown(golden: Path) -> None:
    """With its state, its events and its decision."""
    listed = {entry["run_id"]: entry["state"] for entry in as_json(golden, "runs", "list")["runs"]}
    assert listed == {BENCH: "done", FINISHED: "done", UNFINISHED: "stopped"}
    for name in listed:
        assert name in run(golden, "runs", "show", name).output
    shown = as_json(golden, "runs", "show", FINISHED)
    assert [event["kind"] for event in shown["events"]][:2] == ["started", "split"]
    assert "ACCEPTED" in run(golden, "runs", "show", FINISHED).output
    assert "precision" in run(golden / "demo", "runs", "show", DEMO).output


def test_a_run_of_then_gets_a_name_and_tags_by_which_it_is_found(golden: Path) -> None:
    """The workspace is upgraded, with a copy of what it was; every command takes the name."""
    run(golden, "runs", "name", FINISHED, "first-accept")
    run(golden, "runs", "tag", "first-accept", "november", "faq")
    run(golden, "runs", "tag", "first-accept", "faq", "--remove")
    assert as_json(golden, "runs", "tag", "latest", "november")["run"] == UNFINISHED
    listed = as_json(golden, "runs", "list", "--tag", "november")["runs"]
    assert [entry["name"] for entry in listed] == ["", "first-accept"]
    assert [entry["tags"] for entry in listed] == [["november"], ["november"]]
    assert run(golden, "runs", "list", "--tag", "none").output == "no run has tag 'none'\n"
    assert "first-accept #november" in run(golden, "runs", "list").output
    shown = run(golden, "runs", "show", "first-accept").output.splitlines()[0]
    assert shown.startswith(f"Run {FINISHED} (first-accept): optimize, done")
    assert shown.endswith("; tags: november")
    assert as_json(golden, "runs", "show", "first-accept")["name"] == "first-accept"
    assert "{+" in run(golden, "diff", "first-accept").output
    assert list((golden / ".judgewright").glob("*.backup"))


def test_a_finished_run_is_read_and_exported(golden: Path, tmp_path: Path) -> None:
    """Its diff, its flips, its report in every format."""
    assert "{+" in run(golden, "diff", FINISHED).output
    assert as_json(golden, "runs", "show", FINISHED, "--flips")["flips"]
    run(golden, "runs", "show", FINISHED, "--out", str(tmp_path / "report"))
    written = {path.suffix for path in (tmp_path / "report").rglob("*") if path.is_file()}
    assert {".html", ".md"} == written


def test_an_accept_brings_the_prompt_into_use_and_out_again(golden: Path, tmp_path: Path) -> None:
    """The decision of then is good now; the prompt leaves as a file that MLflow reads."""
    run(golden, "accept", FINISHED)
    log = run(golden, "judges", "list", "groundedness").output
    assert FINISHED in log
    run(golden, "export", "groundedness", "--to", "mlflow", "--out", str(tmp_path / "handover"))
    assert any((tmp_path / "handover").iterdir())


def test_every_page_opens(golden: Path) -> None:
    """The list of runs, and each run."""
    app = review_app(golden, token="t0ken", port=8399, environment=Environment())
    with TestClient(app, base_url="http://127.0.0.1:8399", follow_redirects=False) as page:
        page.cookies.set("judgewright-8399", "t0ken")
        listed = page.get("/")
        assert listed.status_code == 200
        for name in (BENCH, FINISHED, UNFINISHED):
            assert name in listed.text
            assert page.get(f"/runs/{name}").status_code == 200


def test_a_finished_call_is_not_paid_for_again(golden: Path) -> None:
    """The same bench over the same rows is answered from the store."""
    again = as_json(
        golden,
        "bench",
        "groundedness",
        str(golden / "rows.jsonl"),
        *shlex.split("--model simulated --limit 80"),
    )
    assert (again["n"], again["calls"]) == (80, 0)


def test_the_simulated_model_answers_as_it_did(golden: Path) -> None:
    """Every stored call; where an answer has changed, `judges/simulated/rules.yaml` needs a new
    version.
    """
    with sqlite3.connect(golden / ".judgewright" / "judgewright.db") as database:
        calls = database.execute(
            "SELECT request_json, response_json FROM call WHERE state = 'done'"
        ).fetchall()
    simulated = Simulated()
    for request_json, response_json in calls:
        request = read_request(json.loads(request_json))
        reply = asyncio.run(simulated.complete(request)).text
        stored = json.loads(response_json)["text"]
        assert _value(reply) == _value(stored)
    assert len(calls) == 1430


def _value(reply: str) -> Any:  # Any: JSON
    """What a reply says; stored requests have their keys sorted, so that the fields of a reply may
    change places.
    """
    return json.loads(reply) if reply.startswith("{") else reply


def test_a_new_run_starts(golden: Path) -> None:
    """Beside the old ones, on the same rows, which stay in their parts; their looks count."""
    rows = str(golden / "rows.jsonl")
    objective = "do not call unsupported statements grounded"
    words = [
        "optimize",
        "groundedness",
        rows,
        "--model",
        "simulated",
        "--objective",
        objective,
        "--yes",
        "--slice",
        "all",
    ]
    new = CliRunner().invoke(
        cli, [*words, "--steps", "1", "--seed", "2", "--workspace", str(golden), "--json"]
    )
    assert new.exit_code in (0, 1, 4), new.output
    run_id = json.loads(new.stdout)["run"]
    assert run_id not in {BENCH, FINISHED, UNFINISHED}
    splits = [
        as_json(golden, "runs", "show", name)["events"][1]["payload"] for name in (FINISHED, run_id)
    ]
    assert splits[0]["seals"] == splits[1]["seals"]


def test_an_unfinished_run_goes_on_or_says_how_to_start_anew(
    golden: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ends with a decision, or is refused with the command that begins again; its finished calls
    stay kept.
    """
    with suppress(SystemExit):
        main(["runs", "resume", UNFINISHED, "--workspace", str(golden), "--json"])
    answer = json.loads(capsys.readouterr().out)
    if "decision" in answer:
        assert answer["decision"]["outcome"] in ("accepted", "refused", "undecided")
    else:
        assert "diverged" in answer["error"]["message"]
        assert (
            "start anew with: judgewright optimize groundedness@134907a0740b rows.jsonl"
            in answer["error"]["hint"]
        )


EXAMPLES = Path(__file__).parent / "golden" / "workspace-2026-11-examples.tar.xz"
WITH_EXAMPLES, ACCEPTED = "0c2e31a72cfa", "04cfe2fc26d8"
"""Versions of then: the judge that was shipped, and the one that a run found."""


def test_a_judge_with_examples_shows_cases_and_is_found_by_all_that_was_kept_of_it(
    tmp_path: Path,
) -> None:
    """By its version of then, as the parent of what came of it, with its kept rule, its
    runs, and what the gate said.
    """
    with tarfile.open(EXAMPLES) as archive:
        archive.extractall(tmp_path, filter="data")
    registry = Registry(tmp_path / "prompts")
    accepted, first = registry.log("context_relevance")
    assert (accepted.former, first.former) == (ACCEPTED, WITH_EXAMPLES)
    assert registry.get(f"context_relevance@{WITH_EXAMPLES}") == first
    assert first == Registry().get("context_relevance")
    assert first.cases == accepted.cases is not None
    assert registry.kept_rule(first) is not None
    assert registry.kept_rule(accepted) is not None
    page = as_json(tmp_path, "judges", "show", f"context_relevance@{ACCEPTED}")
    assert ACCEPTED in page["verification"]["note"]
    assert [one["outcome"] for one in page["verification"]["gated_on"]] == ["accepted"]
    (tree_first, tree_second) = lineage(Workspace(tmp_path), "context_relevance")
    assert (tree_second.parent, tree_second.outcome) == (tree_first.version, "accepted")
    assert "{+" in run(tmp_path, "diff", "latest").output
    history = judge_history(Workspace(tmp_path), "context_relevance")
    assert history[1].decided
    assert all(one.figures for one in history)
    rows = str(tmp_path / "rows.jsonl")
    measured = run(tmp_path, "bench", "context_relevance", rows, "--model", "simulated")
    assert "decided by the kept rule" in measured.output
