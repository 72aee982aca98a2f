"""A command, run in this process."""

import pytest

from judgewright.runs.cli import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run a command in this process; return its exit code and what it printed."""
    capsys.readouterr()
    code = 0
    try:
        main(list(arguments))
    except SystemExit as left:
        code = int(left.code or 0)
    printed = capsys.readouterr()
    return code, printed.out, printed.err
