"""A command, run in this process."""

import click
import pytest
from click.testing import CliRunner, Result

from judgewright.runs.cli import cli, main
from judgewright.runs.store import Workspace


def run_code(*arguments: object) -> int:
    """Run a command in this process; return its exit code."""
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as left:
        return int(left.code or 0)
    return 0


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run a command in this process; return its exit code and what it printed."""
    capsys.readouterr()
    code = run_code(*arguments)
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def invoke(place: Workspace, *arguments: object, answers: str = "") -> Result:
    """Run a command in a workspace, which it opens itself; answer what it asks."""
    place.close()
    words = [*map(str, arguments), "--workspace", str(place.root)]
    command: click.Command = cli
    return CliRunner().invoke(command, words, input=answers)
