"""Test ids: the same in every process, at every second, or workers that collect for themselves
disagree.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
def test_ids_do_not_depend_on_when_or_by_whom_they_are_collected(
    request: pytest.FixtureRequest,
) -> None:
    """Whatever this session collected is collected again, seconds later, by a process with other
    hash seeds.
    """
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests",
    ]
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    again = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert again.returncode == 0, again.stdout[-2000:]
    lines = again.stdout.splitlines()
    assert {item.nodeid for item in request.session.items} <= set(lines)
