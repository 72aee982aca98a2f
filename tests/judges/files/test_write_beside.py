"""What processes that are killed while they write leave behind, and for how long."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from judgewright.judges.files.write_beside import draft_beside, write_beside

_KILLED_AT_FLUSH = """
import os, signal, sys
from pathlib import Path
from judgewright.judges.files.write_beside import write_beside
os.fsync = lambda file: os.kill(os.getpid(), signal.SIGKILL)
write_beside(Path(sys.argv[1]), "new")
"""
_WRITES = """
import sys
from pathlib import Path
from judgewright.judges.files.write_beside import write_beside
write_beside(Path(sys.argv[1]), "newer")
"""
_WAITS = """
import sys
from pathlib import Path
from judgewright.judges.files.write_beside import draft_beside
draft_beside(Path(sys.argv[1])).write_text("half")
print("written", flush=True)
sys.stdin.read()
"""


def _run(script: str, path: Path) -> int:
    return subprocess.run([sys.executable, "-c", script, str(path)], check=False).returncode


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be asked for there")
def test_a_later_write_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    path = tmp_path / "judge.yaml"
    path.write_text("old")
    assert _run(_KILLED_AT_FLUSH, path) == -signal.SIGKILL
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2
    assert _run(_WRITES, tmp_path / "another.yaml") == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["another.yaml", "judge.yaml"]


def test_the_draft_of_a_process_that_lives_stays(tmp_path: Path) -> None:
    path = tmp_path / "judge.yaml"
    with subprocess.Popen(
        [sys.executable, "-c", _WAITS, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"written\n"
        assert _run(_WRITES, path) == 0
        assert len(list(tmp_path.iterdir())) == 2
        with contextlib.suppress(BrokenPipeError):
            writer.communicate()


def test_files_of_another_machine_or_another_program_stay(tmp_path: Path) -> None:
    name = draft_beside(tmp_path / "a").name
    machine = name.split(".")[-2].split("-")[0]
    other = tmp_path / name.replace(machine, "0" * 8)
    other.write_text("")
    (tmp_path / ".somebody.tmp").write_text("")
    assert _run(_WRITES, tmp_path / "b") == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(
        [other.name, ".somebody.tmp", "b"]
    )


def test_a_write_replaces_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for text in ("one", "two"):
        write_beside(path, text)
    assert path.read_text() == "two"
    assert list(tmp_path.iterdir()) == [path]
