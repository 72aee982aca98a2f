"""Whole runs with named models: two providers, two keys, settings of their own; resumed after the
settings changed.
"""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import judgewright as jw
from judgewright.runs.cli import main
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.store import Workspace

from .providers import Provider, serving

OBJECTIVE = (
    "--objective",
    "Precision matters most: do not call unsupported statements grounded.",
    "--target",
    "precision",
)
SETTINGS = {
    "extra_body": {"reasoning_effort": "low"},
    "max_tokens": 700,
    "optimizer_max_tokens": 3000,
}


@dataclass
class User:
    """A user with a configuration folder, a workspace, and two providers with a key each."""

    folder: Path
    judge: Provider
    writer: Provider

    def write(self, **changed: Any) -> None:  # Any: settings of the judge's model
        """Write the user's file."""
        judge = {
            "base_url": self.judge.url,
            "key_variable": "KEY_A",
            "model": "simulated",
            **SETTINGS,
            **changed,
        }
        writer = {
            "base_url": self.writer.url,
            "key_variable": "KEY_B",
            "model": "simulated",
            "temperature": 0.3,
        }
        path = self.folder / "config" / "judgewright" / "models.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            json.dumps({"small": judge, "large": writer | {"optimizer_max_tokens": 5000}})
        )

    def run(self, *arguments: str, keys: bool = True) -> int:
        """Run a command as the user, and return its exit code."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_CONFIG_HOME", str(self.folder / "config"))
            for name in (
                "JUDGEWRIGHT_MODELS",
                "OPENAI_API_KEY",
                "OPENAI_BASE_URL",
                "JUDGEWRIGHT_API_KEY",
                "KEY_B",
            ):
                patch.delenv(name, raising=False)
            patch.setenv("KEY_A", "sk-CANARY-a")
            if keys:
                patch.setenv("KEY_B", "sk-CANARY-b")
            try:
                main([*arguments, "--workspace", str(self.folder / "work")])
            except SystemExit as left:
                return int(left.code or 0)
            return 0

    def optimize(self, *more: str, keys: bool = True) -> int:
        """Start a run of one step."""
        rows = str(self.folder / "rows.jsonl")
        models = ("--model", "small", "--optimizer-model", "large", "--steps", "2", "--gate-anyway")
        return self.run("optimize", "groundedness", rows, *OBJECTIVE, *models, *more, keys=keys)

    def requests(self) -> list[dict[str, Any]]:
        """Every request that was sent, with its purpose."""
        with Workspace(self.folder / "work") as opened:
            stored = opened.database.read("SELECT purpose, request_json FROM request ORDER BY seq")
        return [{"purpose": purpose, **json.loads(body)} for purpose, body in stored]

    def copied(self, folder: Path) -> User:
        """Return the same user in front of a copy of everything."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        self.judge.seen.clear()
        self.writer.seen.clear()
        return User(folder, self.judge, self.writer)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    """A run with two named models that ended when its budget was spent."""
    folder = tmp_path_factory.mktemp("named")
    write_demo_rows(folder / "rows.jsonl", documents=60)
    with serving() as one, serving() as other:
        user = User(folder, one, other)
        user.write()
        assert user.optimize("--budget", "80000tokens") == 3
        yield user


@pytest.fixture
def user(stopped: User, tmp_path: Path) -> User:
    """A copy of it."""
    return stopped.copied(tmp_path)


def test_each_request_has_its_models_settings_and_goes_where_it_belongs(stopped: User) -> None:
    """The judge's to one provider with its key, those of the optimizer and the loss writer to the
    other.
    """
    assert set(stopped.judge.seen) <= {"Bearer sk-CANARY-a"}
    assert set(stopped.writer.seen) <= {"Bearer sk-CANARY-b"}
    requests = stopped.requests()
    assert {request["purpose"] for request in requests} >= {"judge", "loss"}
    for request in requests:
        if request["purpose"] == "judge":
            assert request["endpoint"] == stopped.judge.url
            assert (request["reasoning_effort"], request["max_tokens"]) == ("low", 700)
        else:
            assert request["endpoint"] == stopped.writer.url
            assert "reasoning_effort" not in request
            assert (request["temperature"], request["max_tokens"]) == (0.3, 5000)


@pytest.mark.slow
def test_a_run_is_resumed_with_the_settings_it_began_with(
    user: User, capsys: pytest.CaptureFixture[str]
) -> None:
    """What changed since is said; what was answered is not asked again."""
    user.write(max_tokens=900, extra_body={}, timeout=99, concurrency=3)
    before = len(user.requests())
    assert user.run("runs", "resume", "latest", "--budget", "90000000tokens") in (0, 1)
    err = capsys.readouterr().err
    assert "note: extra_body, max_tokens of the model 'small' changed since the run started" in err
    requests = user.requests()
    assert len(requests) > before
    judged = [request for request in requests if request["purpose"] == "judge"]
    assert {(request["reasoning_effort"], request["max_tokens"]) for request in judged} == {
        ("low", 700)
    }
    assert len(user.judge.seen) + len(user.writer.seen) == len(requests) - before
    assert user.run("runs", "show", "latest", "--flips") == 0
    assert "open rows" in capsys.readouterr().out


def test_nothing_is_said_where_nothing_changed(
    user: User, capsys: pytest.CaptureFixture[str]
) -> None:
    """A time limit or a price changes no answer."""
    user.write(timeout=99, price={"input": 1, "output": 2})
    user.run("runs", "resume", "latest", "--budget", "150001tokens")
    assert "changed since the run started" not in capsys.readouterr().err


@pytest.mark.parametrize("change", ["model", "base_url", "gone"])
def test_a_name_that_now_means_another_model_is_refused(
    user: User, capsys: pytest.CaptureFixture[str], change: str
) -> None:
    """Nothing is sent, and the message says what it meant; one that is gone is not asked at
    OpenAI.
    """
    if change == "model":
        user.write(model="gpt-9")
    elif change == "base_url":
        user.write(base_url=user.writer.url, key_variable="KEY_B")
    else:
        (user.folder / "config" / "judgewright" / "models.yaml").write_text("")
    assert user.run("runs", "resume", "latest", "--budget", "90000000tokens") == 2
    err = capsys.readouterr().err
    assert f"asked simulated at {user.judge.url}; 'small' now means" in err
    assert ("means small at https://api.openai.com/v1" in err) == (change == "gone")
    assert user.judge.seen == user.writer.seen == []


def test_the_optimizers_missing_key_is_named_before_the_judge_is_paid(
    user: User, capsys: pytest.CaptureFixture[str]
) -> None:
    """No run is made."""
    assert user.optimize("--seed", "3", keys=False) == 2
    err = capsys.readouterr().err
    assert "the model 'large' needs a key" in err
    assert "KEY_B" in err
    assert user.judge.seen == user.writer.seen == []


@pytest.mark.parametrize("command", [("optimize",), ("optimize", "--plan")])
def test_a_temperature_that_the_settings_overrule_is_refused(
    user: User, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    """Whoever types one wants it."""
    rows = str(user.folder / "rows.jsonl")
    models = ("--model", "small", "--optimizer-model", "large", "--temperature", "0.9")
    assert user.run(*command, "groundedness", rows, *OBJECTIVE, *models) == 2
    err = capsys.readouterr().err
    assert "--temperature 0.9 has no effect: the settings of the model 'large' say 0.3" in err
    assert user.judge.seen == user.writer.seen == []


def test_the_python_face_takes_a_name_and_the_teams_settings(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The workspace's file is read there too."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(user.folder / "config"))
    monkeypatch.setenv("KEY_A", "sk-CANARY-a")
    monkeypatch.delenv("JUDGEWRIGHT_MODELS", raising=False)
    (user.folder / "work" / "models.yaml").write_text("small: {max_tokens: 11, temperature: 0.4}\n")
    seen = len(user.requests())
    rows = jw.load_rows(user.folder / "rows.jsonl", limit=10)
    jw.bench("groundedness", rows, model="small", workspace=user.folder / "work")
    new = user.requests()[seen:]
    assert {(request["temperature"], request["max_tokens"]) for request in new} == {(0.4, 700)}


def test_every_command_takes_a_name(user: User) -> None:
    """And asks with its settings."""
    rows, seen = str(user.folder / "rows.jsonl"), len(user.requests())
    small = ("--model", "small", "--limit", "12")
    assert user.run("bench", "groundedness", rows, *small, "--max-tokens", "650") == 0
    assert (
        user.run("calibrate", "groundedness", rows, "--model", "small", "--max-tokens", "651") == 0
    )
    assert (
        user.run(
            *shlex.split("loss write precision --model large --slice"),
            "a test",
            "--judge",
            "groundedness",
        )
        == 0
    )
    new = user.requests()[seen:]
    limits = {
        (request["purpose"], request["max_tokens"], request.get("reasoning_effort"))
        for request in new
    }
    assert limits == {("judge", 650, "low"), ("judge", 651, "low"), ("loss", 5000, None)}


def test_bench_says_what_the_endpoint_ignores_and_refuses(
    user: User, capsys: pytest.CaptureFixture[str]
) -> None:
    """With how many replies show it."""
    rows = str(user.folder / "rows.jsonl")
    options = shlex.split("--model small --limit 20 --max-unreadable 20")
    with serving(Provider(refuses="temperature+seed", garbles=True)) as strange:
        user.write(base_url=strange.url, model="strange")
        assert user.run("bench", "groundedness", rows, *options) == 0
    out = capsys.readouterr().out
    assert "left out because the endpoint refuses them: seed, temperature" in out
    assert "ignored by the endpoint: response_format in 20 replies" in out
