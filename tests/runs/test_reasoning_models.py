"""Whole runs with models that think before they answer, over HTTP."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges.models import Completion, Request
from judgewright.judges.simulated import Faults, Server, Simulated, make_app
from judgewright.runs.cli import main
from judgewright.runs.demo import write_demo_rows

REFUSES = "refuse=max_tokens+temperature"


@dataclass
class Run:
    """A folder with a few rows, and what the last command printed."""

    folder: Path
    output: pytest.CaptureFixture[str]
    body: dict[str, Any] = field(default_factory=dict)

    def command(self, *words: str) -> int:
        """Run a command in the folder; its JSON is then in `body`."""
        code = 0
        try:
            main([*words, "--workspace", str(self.folder), "--json"])
        except SystemExit as left:
            code = int(left.code or 0)
        self.body = json.loads(self.output.readouterr().out)
        return code

    def optimize(self, *options: str) -> int:
        """Optimize in two steps."""
        objective = (
            "--objective",
            "Precision matters most: do not call unsupported statements grounded.",
            "--target",
            "precision",
        )
        rows = str(self.folder / "rows.jsonl")
        return self.command(
            "optimize", "groundedness", rows, *objective, "--steps", "2", "--gate-anyway", *options
        )

    def events(self, kind: str) -> list[dict[str, Any]]:
        """The events of that kind of the last run."""
        main(["runs", "show", self.body["run"], "--workspace", str(self.folder), "--json"])
        events = json.loads(self.output.readouterr().out)["events"]
        return [event["payload"] for event in events if event["kind"] == kind]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Sixty documents' rows."""
    write_demo_rows(tmp_path / "rows.jsonl", documents=60)
    return Run(tmp_path, capsys)


class Thinking(Simulated):
    """Thinks in its reply, and the chat template has opened the tag."""

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Answer after a closing tag."""
        completion = await super().complete(request, unsupported_parameters=unsupported_parameters)
        draft = 'A draft: {"score": 3} <IMPROVED_VARIABLE>Be lenient.</IMPROVED_VARIABLE>'
        return replace(completion, text=f"{draft}\n</think>\n\n{completion.text}")


def test_a_reasoner_judges_writes_the_loss_and_proposes(run: Run) -> None:
    """2,500 tokens of thinking, neither `max_tokens` nor `temperature` allowed: every role gets its
    answers.
    """
    with Server(make_app(Simulated(), Faults.parse(f"reasoning=2500,{REFUSES}"))) as server:
        assert run.optimize("--model", f"reasoner@{server.base_url}", "--max-tokens", "4096") in (
            0,
            1,
        )
    assert run.body["dropped"] == ["max_tokens_name", "temperature"]
    (loss,) = run.events("loss")
    assert loss["written_by"] not in ("default", "person")
    assert "cut off" not in str(loss["refusals"])
    written = [step for step in run.events("step") if step["arm"] != "cases"]
    assert all(step["criteria"] for step in written if step["step"] == 1)


def test_thinking_in_the_reply_reaches_nobody(run: Run) -> None:
    """The verdict, the loss and the new criteria are what stands after it."""
    with Server(make_app(Thinking())) as server:
        assert run.optimize("--model", f"thinker@{server.base_url}") in (0, 1)
    thought = [run.events(kind) for kind in ("loss", "step")]
    assert run.optimize("--model", "simulated") in (0, 1)
    assert [run.events(kind) for kind in ("loss", "step")] == thought


def test_an_optimizer_without_room_says_what_to_raise(run: Run) -> None:
    """9,000 tokens of thinking are more than twice 4,096: the default loss, no proposal, and
    why.
    """
    with Server(make_app(Simulated(), Faults.parse("reasoning=9000"))) as server:
        run.optimize("--model", "simulated", "--optimizer-model", f"reasoner@{server.base_url}")
    (loss,) = run.events("loss")
    assert loss["written_by"] == "default"
    said = json.dumps([loss, *run.events("step")])
    assert "8,192 tokens of reasoning" in said
    assert "optimizer_max_tokens" in said
