"""How a run ends: six words that mean one thing each, wherever they stand, and their exit codes."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse

from judgewright.judges.simulated import Server, Simulated, make_app
from judgewright.optimize import RUN_OUTCOMES, exit_code
from judgewright.optimize.events import ProposalRecord
from judgewright.optimize.outcome import why_no_candidate
from judgewright.runs.demo import write_demo_rows

from .run_command import run_code as run
from .stored_events import EVIDENCE, run_of

TOO_LONG = "request (9632 tokens) exceeds the available context size (4096)"


def refusing_long(app: Any, *, characters: int) -> Any:
    """The server of an app with a small context: it refuses what is longer."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        if len(body) > characters:
            await JSONResponse({"error": {"message": TOO_LONG}}, status_code=400)(
                scope, receive, send
            )
            return
        sent = False

        async def again() -> Any:
            nonlocal sent
            if sent:
                return await receive()
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        await app(scope, again, send)

    return answer


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a few made-up rows."""
    monkeypatch.chdir(tmp_path)
    write_demo_rows(tmp_path / "rows.jsonl", documents=60)
    return tmp_path


OPTIMIZE = (
    *shlex.split("optimize groundedness rows.jsonl --objective 'raise precision'"),
    *shlex.split("--model simulated"),
)


def test_every_outcome_has_one_exit_code() -> None:
    codes = {outcome: exit_code(outcome) for outcome in RUN_OUTCOMES}
    assert codes == {
        "accepted": 0,
        "refused": 1,
        "undecided": 1,
        "no candidate": 1,
        "failed": 3,
        "not sent": 4,
    }


def test_a_failed_optimizer_is_said_with_its_cause_and_what_helps_and_no_gate_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The endpoint's own words, the option that makes the request shorter, and the setting of the
    server.
    """
    with Server(refusing_long(make_app(Simulated()), characters=6_000)) as server:
        failing = ("--proposer", "textgrad", "--optimizer-model", f"small@{server.base_url}")
        assert run(*OPTIMIZE, "--steps", "2", *failing) == 3
    said = capsys.readouterr().out
    end = said[said.index("\n5. ") :].split("\n\n")[0]
    assert end.startswith("\n5. FAILED\n")
    assert TOO_LONG in end
    assert "--brief-tokens" in end
    assert "llama.cpp -c" in end
    assert "gate" not in end.lower().replace("--gate-anyway", "")
    assert run("diff", "latest", "--json") == 0
    decision = json.loads(capsys.readouterr().out)["decision"]
    assert (decision["outcome"], decision["accepted"]) == ("failed", False)
    assert run("diff", "latest") == 0
    assert "Failed. " in capsys.readouterr().out
    assert run("runs", "show", "latest", "--out", "report", "--format", "md") == 0
    assert "**FAILED.**" in next(Path("report").glob("*.md")).read_text()


def test_a_threshold_that_is_sent_in_place_of_a_prompt_says_why_there_is_none(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The gate decides about another threshold alone; that the optimizer model failed is said
    beside it.
    """
    with Server(refusing_long(make_app(Simulated()), characters=6_000)) as server:
        failing = ("--proposer", "textgrad", "--optimizer-model", f"small@{server.base_url}")
        assert run(*OPTIMIZE, "--steps", "1", *failing, "--gate-anyway", "--json") in (0, 1)
    decision = json.loads(capsys.readouterr().out)["decision"]
    assert decision["outcome"] in ("accepted", "refused", "undecided")
    assert "it is another threshold alone, as the search found no new prompt" in decision["reason"]
    assert TOO_LONG in decision["reason"]


def test_a_threshold_that_is_sent_in_place_of_kept_prompts_does_not_deny_them() -> None:
    """There was a new prompt, and the threshold alone had the better chance."""
    proposals = [
        ProposalRecord(result="judged"),
        ProposalRecord(result="tried before"),
        ProposalRecord(result="tried before"),
    ]
    outcome, reason = why_no_candidate(proposals)
    assert outcome == "no candidate"
    assert reason == "none of the new prompts (1) did better on the rows it was not written from"


def test_a_search_without_a_candidate_says_why_and_no_gate_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What became of the proposals, and what may help."""
    assert run(*OPTIMIZE, *shlex.split("--steps 1 --proposer cases --seed 1")) == 1
    said = capsys.readouterr().out
    end = said[said.index("\n5. ") :].split("\n\n")[0]
    assert end.startswith("\n5. NO CANDIDATE\n")
    assert "none of the new prompts (2) did better on the rows it was not written from" in end
    assert "gate" not in end.lower().replace("--gate-anyway", "")


def test_what_earlier_runs_called_a_refusal_without_evidence_is_no_candidate() -> None:
    """Stored runs keep their events; no gate had looked."""
    reason = "no candidate beat the prompt on validation"
    decision = {"accepted": False, "outcome": "refused", "reason": reason}
    assert run_of(("decision", decision)).decided.outcome == "no candidate"
    assert run_of(("decision", decision | EVIDENCE)).decided.outcome == "refused"
