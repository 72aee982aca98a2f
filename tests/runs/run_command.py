"""A command, run in this process."""

import pytest

from judgewright.runs.cli import main


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
