"""`export --verify`, `--push` and the file that says where the tools are."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges import InputError
from judgewright.runs.config.tools_file import ToolEntry, hide_password, read_tools

from .run_command import run

Export = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Export:
    """The command, with a configuration folder of its own; it returns the exit code and what it
    printed.
    """
    monkeypatch.setenv("JUDGEWRIGHT_MODELS", str(tmp_path / "config" / "models.yaml"))
    (tmp_path / "config").mkdir()

    def call(*arguments: str) -> tuple[int, dict[str, Any]]:
        code, out, _ = run(
            capsys,
            "export",
            "groundedness",
            *arguments,
            "--workspace",
            str(tmp_path / "work"),
            "--json",
        )
        return code, json.loads(out)

    return call


def test_an_export_is_verified_where_it_lies_or_in_no_folder_at_all(
    tmp_path: Path, export: Export
) -> None:
    """Without --out nothing is left behind; with it the folder, or the file, is the one that was
    loaded.
    """
    code, told = export("--to", "python", "--verify")
    assert (code, told["verified"]["passed"]) == (0, True)
    assert [path.name for path in tmp_path.iterdir()] == ["config"]
    for place in (tmp_path / "out", tmp_path / "messages.json"):
        code, told = export("--to", "jinja", "--verify", "--out", str(place))
        assert (code, told["path"], told["verified"]["rows"]) == (0, str(place), 8)
        assert place.exists()


def test_the_program_of_the_users_file_is_the_one_that_is_run(
    tmp_path: Path, export: Export
) -> None:
    """--with goes before the file."""
    (tmp_path / "config" / "tools.yaml").write_text("python: {with: /nowhere/python}\n")
    code, told = export("--to", "python", "--verify")
    assert (code, "/nowhere/python" in told["error"]["message"]) == (2, True)
    assert export("--to", "python", "--verify", "--with", sys.executable)[0] == 0
    (tmp_path / "config" / "tools.yaml").write_text("pythn: {with: /nowhere/python}\n")
    assert (
        "'pythn' is no export target" in export("--to", "python", "--verify")[1]["error"]["message"]
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--to", "mlflow", "--push"), "no registry is named for mlflow"),
        (("--to", "ragas", "--push"), "Ragas 0.4 has no registry"),
        (("--to", "markdown", "--verify"), "no tool to load"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything(
    tmp_path: Path, export: Export, arguments: tuple[str, ...], message: str
) -> None:
    """No folder is written and no program run."""
    code, told = export(*arguments)
    assert (code, message in told["error"]["message"]) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["config"]


def test_tools_are_read_by_name(tmp_path: Path) -> None:
    """A missing or empty file names none."""
    path = tmp_path / "tools.yaml"
    assert read_tools(None) == read_tools(path) == {}
    path.write_text("# none yet\n")
    assert read_tools(path) == {}
    path.write_text("mlflow: {with: /a/python, push: http://b}\nlangfuse:\n  push: https://c\n")
    assert read_tools(path) == {
        "mlflow": ToolEntry(program="/a/python", registry="http://b"),
        "langfuse": ToolEntry(registry="https://c"),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\nmlflow: [", "line 2: not YAML"),
        ("mlflow: python", "line 1: mlflow is not a list of names"),
        ("- mlflow", "line 1: the file is not a list of names"),
        ("? [a]\n: {}", "line 1: a list or a mapping"),
        ("\nmlflow: {python: /a}", "line 2, mlflow.python: python is none of with, push"),
        ("mlflow: {with: /a, with: /b}", "stands twice"),
        ("mlflow: {push: a}\nmlflow: {push: b}", "line 2: 'mlflow' stands twice"),
        (
            "mlflow: {with: venv/bin/python}",
            "line 1, mlflow.with: 'venv/bin/python' is a relative path",
        ),
        ("mlflow: {push: [a]}", "line 1, mlflow.push: a line of text"),
        ('mlflow: {push: "a\\nb"}', "a line of text"),
        ("mlflow: {push: ''}", "a line of text"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, text: str, message: str) -> None:
    """File, line and field."""
    path = tmp_path / "tools.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=r"tools\.yaml") as caught:
        read_tools(path)
    assert message in str(caught.value)


def test_a_file_that_others_may_write_to_names_no_program(tmp_path: Path) -> None:
    """Nor one that is too long, no text, or no file."""
    path = tmp_path / "tools.yaml"
    path.write_text("mlflow: {with: /a}")
    path.chmod(0o666)
    with pytest.raises(InputError, match="every user may write"):
        read_tools(path)
    path.chmod(0o600)
    for content in (b"\xff", b"#" * 200_000):
        path.write_bytes(content)
        with pytest.raises(InputError):
            read_tools(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(InputError):
        read_tools(path)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://localhost:5000", "http://localhost:5000"),
        ("postgresql://ada:s3@cret@db/x", "postgresql://***@db/x"),
        ("https://h/x?token=abc&y=z", "https://h/x?token=***&y=***"),
        ("sqlite:///a/b.db", "sqlite:///a/b.db"),
    ],
)
def test_a_password_is_not_shown(address: str, shown: str) -> None:
    """What stands before an @, and what a query says."""
    assert hide_password(address) == shown
