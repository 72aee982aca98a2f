"""Judges on a decision model from the first figure to the next, over HTTP."""

import json
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges import DecisionRule, Registry, load_dataset
from judgewright.judges.files import count_row_tokens
from judgewright.judges.simulated import DecisionService, Server
from judgewright.runs.actions import read_run
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.store import CallStore, Workspace, list_runs

from .decision_server import MENDS, DecisionServer, decision_server
from .fork_server import fork_server
from .run_command import run

JUDGE = Registry().get("groundedness")
BENCH = ("bench", "groundedness", "rows.jsonl", "--model", "one")
OBJECTIVE = shlex.split("--objective 'raise precision' --guard recall=0.1 --steps 1")
OPTIMIZE = ("optimize", *BENCH[1:], *OBJECTIVE)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DecisionServer]:
    """Stand in a folder with rows, whose `models.yaml` names a decision model and a chat model."""
    monkeypatch.chdir(tmp_path)
    models = tmp_path / "own" / "models.yaml"
    models.parent.mkdir()
    monkeypatch.setenv("JUDGEWRIGHT_MODELS", str(models))
    write_demo_rows(tmp_path / "rows.jsonl", documents=100)
    with decision_server(tmp_path / "rows.jsonl", models) as serving:
        yield serving


def test_a_judge_is_shown_as_the_question_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """As YAML with a line on what falls away, and as JSON; nobody is asked."""
    show = ("judges", "show", "groundedness", "--as", "question", "--api", "systemone")
    code, out, _ = run(capsys, *show)
    assert code == 0
    assert "type: score" in out
    assert out.splitlines()[-1].startswith("# not sent: ")
    _, out, _ = run(capsys, *show, "--json")
    body = json.loads(out)
    assert body["question"]["state"] == {"source": "", "statement": ""}
    assert len(body["question"]["questions"]["q0"]["criteria"]) == 4
    assert "reasons and stated confidence" in body["left_out"]


def test_the_question_is_shown_once_before_it_is_paid_for(
    server: DecisionServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the first bench of a judge on a model, on stderr; a second one says nothing of it."""
    code, _, err = run(capsys, *BENCH)
    assert code == 0
    assert "one is asked this" in err
    assert "# not sent: " in err
    calls = len(server.decided)
    _, _, err = run(capsys, *BENCH)
    assert "is asked this" not in err
    assert len(server.decided) == calls


def test_a_decision_model_does_not_write_the_wording(
    server: DecisionServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is asked: name a chat model; and what is not sent is not rewritten."""
    code, _, err = run(capsys, *OPTIMIZE)
    assert (code, "--optimizer-model" in err) == (2, True)
    code, _, err = run(capsys, *OPTIMIZE, "--optimizer-model", "chat", "--editable", "reply")
    assert (code, "no reply clause" in err) == (2, True)
    assert (server.decided, server.written) == ([], [])


def test_a_check_of_the_rows_counts_and_prices_questions(
    server: DecisionServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a decision model is sent, and not the messages of a chat model."""
    words = ("data", "check", "rows.jsonl", "--judge", "groundedness", "--model", "one", "--json")
    body = json.loads(run(capsys, *words)[1])
    rows = load_dataset(Path("rows.jsonl"), inputs=JUDGE.inputs, scale=JUDGE.scale).rows
    counted = count_row_tokens(rows, model="one-1.0", prompt=JUDGE, api="systemone")
    assert body["tokens"]["total"] == body["price"]["tokens_in"] == counted.total
    assert body["price"]["replies"] == 16 * len(rows)


def test_a_chat_setting_of_a_decision_server_is_told_to_name_the_interface(
    server: DecisionServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """It answers 404 where a chat model would be."""
    with Server(DecisionService("systemone").app()) as decisions:
        code, _, err = run(capsys, *BENCH[:-1], f"m@{decisions.base_url}")
    assert code == 3
    assert "judgewright models add NAME --api" in err


def test_a_plan_prices_questions_and_says_how_fast_they_were_answered(
    server: DecisionServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tokens of the question, few for an answer, no price for these; a target of probabilities."""
    run(capsys, *BENCH)
    Path("own.yaml").write_text(replace(JUDGE, reply_schema={"score": "score"}).to_yaml())
    plan = ("--target", "brier", "--optimizer-model", "chat", "--plan")
    code, out, err = run(capsys, "optimize", "own.yaml", *OPTIMIZE[2:], *plan)
    assert code == 0, err
    assert "a verdict is taken to have 16 tokens" in out
    assert "one: its last 200 calls took " in out
    sent = [len(json.dumps(json.loads(body), indent=None)) / 4 for body in server.decided]
    rows = load_dataset(Path("rows.jsonl"), inputs=JUDGE.inputs, scale=JUDGE.scale).rows
    counted = count_row_tokens(rows, model="one-1.0", prompt=JUDGE, api="systemone")
    assert counted.total == pytest.approx(sum(sent), rel=0.15)
    assert counted.total < count_row_tokens(rows, model="one-1.0", prompt=JUDGE).total


def test_a_judge_is_measured_cut_reworded_gated_and_adopted(
    server: DecisionServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Over HTTP, with probabilities all the way; the cut goes with the adopted version."""

    def ask(*words: str) -> Any:
        code, out, err = run(capsys, *words, "--json")
        assert code == 0, err
        return json.loads(out)

    ask(*BENCH)
    assert "threshold: 0.5 -> " in run(capsys, "calibrate", *BENCH[1:])[1]
    ended = ask(*OPTIMIZE, "--optimizer-model", "chat")
    assert ended["decision"]["accepted"]
    writing = "\n".join(server.written)
    assert "judge's probabilities: 0: 0." in writing
    assert "P(positive) 0." in writing
    for absent in ("judge's reason:", "How it must answer", "reply format"):
        assert absent not in writing
    for sent in ("No steps to go through", "beginning in this order", "writes no word"):
        assert sent in writing
    events = ask("runs", "show", ended["run"])["events"]
    steps = [e["payload"] for e in events if e["kind"] == "step"]
    assert {step["arm"] for step in steps} == {"study", "textgrad"}
    _, _, after = ask("accept", ended["run"])["judge"].partition("@")
    assert Path(f"prompts/groundedness/{after}.cut.yaml").exists()
    assert not Path(f"prompts/groundedness/{after}.rule.yaml").exists()
    asked = len(server.decided)
    assert ask(*BENCH)["metrics"]["precision"]["value"] > 0.9
    assert MENDS in server.decided[-1]
    assert len(server.decided) == len({*server.decided}) >= asked


def test_a_run_that_is_killed_goes_on_and_pays_for_nothing_twice(server: DecisionServer) -> None:
    """SIGKILL at four places of `optimize`, on the judge's and on the optimizer's calls."""
    words = (*OPTIMIZE, "--optimizer-model", "chat", "--json", "--concurrency", "4")
    here = Path.cwd()
    with fork_server() as commands:
        for aim in (40, 150, 260, 380):
            commands.start(here, *words)
            while len(server.decided) < aim:
                assert commands.ended(0.005) is None
            commands.kill()
        commands.start(here, *words)
        commands.finish(0, 1, 4)
    with Workspace(here) as place:
        (one,) = list_runs(place.database)
        summary = CallStore(place.database, one.run_id).summary()
        started = read_run(place, one.run_id).started
    assert started is not None
    assert started.rule == DecisionRule(threshold=0.5).version, "of the probability"
    twice = len(server.decided) - len({*server.decided})
    assert summary.repeated == 0
    # What a kill finds on the wire, and what was answered and is not yet written down.
    assert twice <= summary.in_doubt <= 4 * 2 * 4
