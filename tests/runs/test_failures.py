"""Commands that fail: one JSON object with `--json`, words on stderr, and nothing paid for in
vain.
"""

import errno
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import httpx
import pytest

from judgewright.judges import InputError
from judgewright.judges.simulated import Faults, Server, Simulated, make_app
from judgewright.runs.cli import cli
from judgewright.runs.commands.failure import report_failure
from judgewright.runs.commands.output_paths import NumberedOutFile, OutFile, OutFolder
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.plugins import brought
from judgewright.runs.store import Workspace

from .run_command import run_code as run

OUTPUTS = {"--out", "--html", "--plot", "--matrix", "--save", "--dir"}
"""Options of this name are paths that a command writes to, wherever they stand."""


def commands(group: click.Command, path: tuple[str, ...] = ()) -> dict[str, click.Command]:
    """Every command of the tree by its words."""
    if not isinstance(group, click.Group):
        return {" ".join(path): group}
    context = click.Context(group)
    found: dict[str, click.Command] = {}
    for name in group.list_commands(context):
        inner = group.get_command(context, name)
        assert inner is not None
        if not inner.hidden:  # a word that was retired says what replaced it, whatever follows
            found |= commands(inner, (*path, name))
    return found


COMMANDS = commands(cli)
WRITING = [
    (name, option.opts[0])
    for name, command in COMMANDS.items()
    for option in command.params
    if isinstance(option.type, (OutFile, OutFolder, NumberedOutFile))
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a few made-up rows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    write_demo_rows(tmp_path / "rows.jsonl", documents=20)
    return tmp_path


def error_of(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The error in the one JSON object on stdout; people read of it on stderr."""
    told = capsys.readouterr()
    body = json.loads(told.out)
    assert body["schema_version"] == 1
    error = body["error"]
    assert set(error) == {"kind", "message", "hint", "exit"}
    assert error["message"].splitlines()[0] in told.err
    return error


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - {"agents mcp"}))
def test_every_command_answers_a_usage_error_with_one_object(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same error, for people on stderr and for programs on stdout; but for the server whose
    stdout is the wire.
    """
    assert run(*name.split(), "--json", "--no-such-option") == 2
    error = error_of(capsys)
    assert (error["kind"], error["exit"]) == ("UsageError", 2)
    assert "--no-such-option" in error["message"]
    assert f"judgewright {name} --help" in error["hint"]


@pytest.mark.parametrize(
    "arguments", [("--json",), ("frobnicate", "--json"), ("runs", "--json")], ids=" ".join
)
def test_a_word_that_is_no_command_is_answered_likewise(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Before any command is found, too."""
    assert run(*arguments) == 2
    assert error_of(capsys)["kind"] == "UsageError"


def test_every_path_that_is_written_to_is_checked() -> None:
    """A new `--out` takes a type that looks before anything is paid for."""
    named = [
        (name, option.opts[0])
        for name, command in COMMANDS.items()
        for option in command.params
        if OUTPUTS & {*option.opts}
    ]
    assert {*named} <= {*WRITING}
    assert len(WRITING) >= 15


@pytest.mark.parametrize(("name", "option"), WRITING, ids=" ".join)
def test_a_path_that_cannot_be_written_is_refused_before_anything_else(
    folder: Path, name: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is read, asked or made; a file is where a folder should be, so that no user may write
    there.
    """
    assert run(*name.split(), option, "rows.jsonl/x", "--json") == 2
    error = error_of(capsys)
    assert "'rows.jsonl' is no folder" in error["message"]
    assert sorted(path.name for path in folder.iterdir()) == ["rows.jsonl"]


@pytest.mark.parametrize("option", ["--out", "--html", "--audit"])
def test_a_missing_folder_costs_no_call(
    folder: Path, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`bench --out` into a folder that is not there failed after every call had been paid for."""
    arguments = ("bench", "groundedness", "rows.jsonl", "--model", "simulated")
    assert run(*arguments, option, "missing/x.jsonl", "--json") == 2
    assert "there is no folder 'missing'" in error_of(capsys)["message"]
    assert not Workspace(folder).exists


def test_a_slice_that_cannot_be_saved_leaves_one_object(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The slices are not printed before the error that follows them."""
    assert run("slices", "rows.jsonl", "--score", "label", "--save", "99=slice.yaml", "--json") == 2
    assert error_of(capsys)["kind"] == "InputError"


@pytest.mark.parametrize(
    "option", [("--proposer", "human", "--edit"), ("--slice",), ("--loss",)], ids=" ".join
)
def test_a_file_that_is_not_text_is_the_callers_fault(
    folder: Path, option: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """An edit saved as Latin-1 was called a defect in judgewright."""
    suffix = "json" if option == ("--loss",) else "yaml"
    Path(f"latin1.{suffix}").write_bytes("criteria: naïve".encode("latin-1"))
    arguments = (
        *shlex.split("optimize groundedness rows.jsonl --objective precision --model simulated"),
    )
    assert run(*arguments, *option, f"latin1.{suffix}", "--json") == 2
    error = error_of(capsys)
    assert error["exit"] == 2
    assert f"latin1.{suffix}" in error["message"]


ASKING = {
    "bench": ("groundedness", "rows.jsonl"),
    "calibrate": ("groundedness", "rows.jsonl"),
    "loss write": ("precision",),
    "optimize": ("groundedness", "rows.jsonl", "--objective", "precision"),
    "gate": ("groundedness", "groundedness_no_reason", "rows.jsonl", "--target", "precision"),
}
"""Commands that ask a model, with what they need besides."""


def test_every_command_that_asks_a_model_is_known() -> None:
    """`data check` counts tokens and `judges add` asks where a model is named, `models add` writes
    one down.
    """
    with_model = {
        name
        for name, command in COMMANDS.items()
        if any("--model" in option.opts for option in command.params)
    }
    core = {name for name in with_model if name.split()[0] not in brought("commands")}
    assert core == {*ASKING, "data check", "models add", "judges add"}


@pytest.mark.parametrize("name", ASKING)
def test_no_model_is_asked_that_was_not_named(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A forgotten `--model` measured and optimized on a stand-in, and said so in a corner."""
    assert run(*name.split(), *ASKING[name], "--json") == 2
    error = error_of(capsys)
    assert (
        error["message"]
        == "no model is named: add --model NAME, NAME@https://host/v1, or simulated (made up, no"
        " key)"
    )
    assert not Workspace(folder).exists


def test_a_dead_endpoint_and_a_spent_budget_are_in_the_object(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The result stands there, and beside it why it is short."""
    dead = ("--model", "x@http://127.0.0.1:9/v1", "--limit", "1")
    assert run("bench", "groundedness", "rows.jsonl", *dead, "--json") == 3
    message = error_of(capsys)["message"]
    assert "endpoint" in message
    assert "given up after 4 tries" in message  # it never answered: eight tries take half a minute
    assert run(
        "optimize", "groundedness", "rows.jsonl", *dead[:2], "--objective", "precision", "--json"
    ) in (2, 3)
    error_of(capsys)
    spent = ("--model", "simulated", "--budget", "9tokens")
    assert run("bench", "groundedness", "rows.jsonl", *spent, "--json") == 3
    assert error_of(capsys)["kind"] == "BudgetSpent"


def test_a_workspace_that_cannot_be_made_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The disk's fault leaves with 3."""
    arguments = (
        *shlex.split("bench groundedness rows.jsonl --model simulated --workspace rows.jsonl/w"),
    )
    assert run(*arguments, "--json") == 3
    assert error_of(capsys)["kind"] == "WorkspaceError"


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "v.jsonl"), "OSError", 3),
        (InputError("wrong", hint="do right"), "InputError", 2),
        (click.Abort(), "Interrupted", 3),
        (KeyboardInterrupt(), "Interrupted", 3),
        (ZeroDivisionError("division by zero"), "ZeroDivisionError", 3),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_each_kind_of_error_is_one_object(
    error: BaseException, kind: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Errors of the disk, of people and of ours alike."""
    assert report_failure(error, as_json=True) == code
    found = error_of(capsys)
    assert (found["kind"], found["exit"]) == (kind, code)
    assert ("defect" in (found["hint"] or "")) is isinstance(error, ZeroDivisionError)
    assert report_failure(error, as_json=False) == code
    assert capsys.readouterr().out == ""


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C cannot be sent there")
@pytest.mark.parametrize("api", ["chat", "systemone"])
def test_stopping_a_server_is_no_failure(folder: Path, api: str) -> None:
    """`models simulate --json` says where it listens, in one object, and Ctrl-C ends it well."""
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
    code += "from judgewright.runs.cli import main;"
    code += f"main(['models', 'simulate', '--port', '0', '--json', '--api', '{api}'])"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        lines = [server.stdout.readline()]
        while lines[-1].strip() != "}":
            lines.append(server.stdout.readline())
        url = json.loads("".join(lines))["url"]
        path = {"chat": "/chat/completions"}.get(api, f"/{api}")
        assert httpx.post(url + path, json={}, trust_env=False).status_code in (400, 422)
        server.send_signal(signal.SIGINT)
        rest, complaints = server.communicate(timeout=60)
    assert json.loads("".join(lines))["url"].startswith("http://127.0.0.1:")
    assert (rest, complaints, server.returncode) == ("", "", 0)


@pytest.mark.slow
@pytest.mark.skipif(
    os.name != "posix", reason="the limit of open files is set by the system's own means"
)
def test_too_many_open_files_are_said_with_what_helps(folder: Path) -> None:
    """The endpoint is not to blame, and its hint would send people to the wrong place."""
    with Server(make_app(Simulated(), Faults.parse("latency=1"))) as server:
        words = [
            sys.executable,
            *shlex.split("-m judgewright bench groundedness rows.jsonl --concurrency 60"),
        ]
        limited = [
            "sh",
            "-c",
            'ulimit -n 50; exec "$@"',
            "sh",
            *words,
            "--model",
            f"simulated@{server.base_url}",
        ]
        ended = subprocess.run(limited, capture_output=True, check=False, text=True, timeout=120)
    assert ended.returncode == 3
    assert "hint: allow more open files (ulimit -n 4096), or lower --concurrency" in ended.stderr
