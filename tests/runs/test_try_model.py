"""`models test` asks one question of servers that answer, refuse and spoil it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges import InputError, ModelError
from judgewright.judges.models import Completion, Request
from judgewright.judges.simulated import Faults, Server, Simulated, make_app
from judgewright.runs.cli import main


@pytest.fixture(autouse=True)
def somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without keys, in an empty folder."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for variable in (
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "JUDGEWRIGHT_API_KEY",
        "JUDGEWRIGHT_MODELS",
    ):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


def trial(output: pytest.CaptureFixture[str], *, faults: str = "") -> dict[str, Any]:
    """Ask the served simulated model, and return the command's JSON."""
    with Server(make_app(Simulated(), Faults.parse(faults))) as server:
        main(["models", "test", f"m@{server.base_url}", "--json"])
    body: dict[str, Any] = json.loads(output.readouterr().out)
    return body


def test_one_question_is_answered_and_nothing_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    """A verdict, its tokens, and no workspace; nobody knows the price."""
    body = trial(capsys)
    assert body["verdict"] in ("grounded", "not grounded")
    assert (body["unreadable"], body["cost"], body["notes"]) == ("", None, [])
    assert body["tokens_in"] > body["tokens_out"] > 0
    assert list(Path().iterdir()) == []


def test_what_the_endpoint_refuses_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """It is found by trial, and the question is answered all the same."""
    body = trial(capsys, faults="refuse=temperature+seed+response_format")
    assert body["verdict"]
    (refused,) = (note for note in body["notes"] if note.startswith("left out"))
    assert {"temperature", "seed"} <= set(refused.replace(",", "").split())


def test_a_reply_without_a_verdict_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    """With the usual 512 tokens nothing but thoughts come back."""
    body = trial(capsys, faults="reasoning=2500,refuse=max_tokens+temperature")
    assert body["verdict"] == ""
    assert body["unreadable"].startswith("truncated: ")


def test_a_named_model_is_tested_with_its_settings(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The name at the endpoint and the price are those of the settings."""
    own = tmp_path / "config" / "judgewright" / "models.yaml"
    own.parent.mkdir(parents=True)
    with Server(make_app(Simulated())) as server:
        settings = "price: {input: 1, output: 10}, timeout: 5, model: small"
        own.write_text(f'mine: {{base_url: "{server.base_url}", {settings}}}\n')
        main(["models", "test", "mine", "--json"])
        body = json.loads(capsys.readouterr().out)
        main(["models", "test", "mine"])
    assert body["model"] == "small"
    cost = body["tokens_in"] * 1e-6 + body["tokens_out"] * 10e-6
    assert body["cost"] == pytest.approx(cost)
    assert f"a thousand such rows: ${1000 * cost:.4f}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (["gpt-4o"], InputError, "the model 'gpt-4o' needs a key"),
        (["m@http://127.0.0.1:9/v1"], ModelError, "cannot be reached"),
    ],
)
def test_what_cannot_be_asked_is_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], error: type[Exception], words: str
) -> None:
    """2 for what the user can mend, 3 for the endpoint."""
    with pytest.raises(SystemExit) as left:
        main(["models", "test", *arguments])
    assert left.value.code == (2 if error is InputError else 3)
    assert words in capsys.readouterr().err


class Slow(Simulated):
    """Takes its time for the answer."""

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Answer late."""
        await asyncio.sleep(3.0)
        return await super().complete(request, unsupported_parameters=unsupported_parameters)


def test_a_slow_model_is_never_awaited_in_silence(capsys: pytest.CaptureFixture[str]) -> None:
    """A line says what is asked of whom while the answer is awaited."""
    with Server(make_app(Slow(), Faults.parse(""))) as server:
        main(["models", "test", f"m@{server.base_url}"])
        assert f"  the test: 0/1 (asking m at {server.base_url}" in capsys.readouterr().err
