"""A judge whose replies cannot be read stops after twenty, shows one and names the option that
helps.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges import BINARY, Registry
from judgewright.judges.models import Completion, Request
from judgewright.judges.simulated import Server, Simulated, make_app
from judgewright.runs.cli import main
from judgewright.runs.demo import write_demo_rows

from .run_command import run

Says = Callable[[str], str]


class Sloppy(Simulated):
    """Writes its verdicts in a way of its own."""

    def __init__(self, says: Says) -> None:
        super().__init__()
        self._says = says
        self.calls = 0

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Answer, and write it anew."""
        self.calls += 1
        completion = await super().complete(request, unsupported_parameters=unsupported_parameters)
        return replace(completion, text=self._says(completion.text))


@pytest.fixture
def bench(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, dict[str, Any]]]:
    """Run `bench` on some sixty rows, and return its exit code and what it printed."""
    write_demo_rows(tmp_path / "rows.jsonl", documents=60)

    def run(model: str, *options: str) -> tuple[int, dict[str, Any]]:
        code = 0
        words = ["bench", "groundedness", str(tmp_path / "rows.jsonl"), "--model", model, *options]
        try:
            main([*words, "--workspace", str(tmp_path), "--json"])
        except SystemExit as left:
            code = int(left.code or 0)
        return code, json.loads(capsys.readouterr().out)

    return run


def mumble(text: str) -> str:
    """Name no grade."""
    return f"The statement is what it is ({len(text) % 7} words of it)."


def test_replies_that_cannot_be_read_stop_after_twenty(
    bench: Callable[..., tuple[int, dict[str, Any]]],
) -> None:
    """Exit code 3, one of them shown; with the option all rows are asked, and no reply is paid for
    twice.
    """
    model = Sloppy(mumble)
    with Server(make_app(model)) as server:
        code, body = bench(f"m@{server.base_url}", "--concurrency", "4")
        assert code == 3
        assert (
            "11 of the judge's first 11 replies cannot be read; the rest was not sent"
            in body["error"]["message"]
        )
        assert "The statement is what it is" in body["error"]["message"]
        assert "--max-unreadable 20" in body["error"]["hint"]
        assert model.calls < 20
        code, body = bench(f"m@{server.base_url}", "--concurrency", "4", "--max-unreadable", "20")
    assert (code, body["n"]) == (0, 0)
    assert model.calls == body["unscored"]["parse"] >= 60


def test_what_is_nearly_json_is_repaired_and_counted(
    bench: Callable[..., tuple[int, dict[str, Any]]],
) -> None:
    """Comments and a comma too many: the same verdicts as without them, said to be repaired."""
    with Server(make_app(Sloppy(lambda text: text.replace("}", ", // so\n}")))) as server:
        code, body = bench(f"m@{server.base_url}")
    assert (code, body["unscored"]) == (0, {})
    assert body["repaired"] == body["n"] >= 60
    plain = bench("simulated")[1]
    assert (plain["confusion"], plain["repaired"]) == (body["confusion"], 0)


def test_the_terminal_says_how_many_are_repaired(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a note below the table."""
    write_demo_rows(tmp_path / "rows.jsonl", documents=20)
    with Server(make_app(Sloppy(lambda text: text.replace('"', "'")))) as server:
        words = ("groundedness", str(tmp_path / "rows.jsonl"), "--model", f"m@{server.base_url}")
        main(["bench", *words, "--workspace", str(tmp_path)])
    assert (
        "verdicts are repaired: their replies left one reading once mended"
        in capsys.readouterr().out
    )


def test_the_hint_for_the_simulated_model_names_a_real_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No reply clause would help: it writes no verdict in the form of one's own prompt."""
    write_demo_rows(tmp_path / "rows.jsonl", documents=60)
    prompt = Registry().get("groundedness")
    own = replace(
        prompt,
        scale=replace(BINARY, labels=("FAIL", "PASS")),
        criteria="Say PASS if the statement is supported, else FAIL.",
        reply="",
        reply_schema={},
        reply_mark="last word",
    )
    own.write(tmp_path / "own.yaml")
    words = ("bench", str(tmp_path / "own.yaml"), str(tmp_path / "rows.jsonl"))
    code, _, errors = run(capsys, *words, "--model", "simulated", "--workspace", str(tmp_path))
    assert code == 3
    assert "in no form of your own: measure this judge with a real model" in errors
    assert "reply_mark" not in errors
