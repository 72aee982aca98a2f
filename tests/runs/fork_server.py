"""The command as a child of a process that has imported all it needs: a kill then costs no start of
an interpreter.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

SCRIPT = """
import json, os, runpy, sys, threading
import pandas, scipy.stats, sklearn.feature_extraction.text
import judgewright.optimize.loop, judgewright.runs.commands.gate, judgewright.runs.commands.optimize
import judgewright.runs.actions.gate, judgewright.runs.actions.optimize, judgewright.runs.store.sqlite_database
import judgewright.judges.simulated.model, judgewright.judges.models.plain_transport
from judgewright.runs.cli import main

assert threading.active_count() == 1
for line in sys.stdin:
    folder, words = json.loads(line)
    pid = os.fork()
    if pid == 0:
        os.chdir(folder)
        for number, name in enumerate((os.devnull, "said.txt", "errors.txt")):
            os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), number)
        code = 0
        try:
            main(words) if words[0] != "python" else runpy.run_path(words[1])
        except SystemExit as left:
            code = left.code or 0
        sys.stdout.flush()
        os._exit(code)
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""  # noqa: E501


class ForkServer:
    """Starts one command after the other; `fork_server` makes and ends it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._said: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._pid = 0
        self._folder = Path()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._said.put(int(line))

    def start(self, folder: Path, *words: str) -> None:
        """Start `judgewright` with these words in a folder; the one before has ended."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps((str(folder), words)) + "\n")
        self._process.stdin.flush()
        self._folder = folder
        self._pid = self._said.get(timeout=60)

    def ended(self, seconds: float) -> int | None:
        """Return the command's exit code, or None where it has not ended within so many seconds."""
        try:
            return self._said.get(timeout=seconds)
        except queue.Empty:
            return None

    def kill(self) -> None:
        """Kill the command as `kill -9` does; it may have ended since it was looked at."""
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        self._said.get(timeout=60)

    def finish(self, *codes: int) -> dict[str, Any]:  # Any: JSON
        """Wait for the command to end well, with one of some codes, and return what it printed."""
        code = self.ended(600)
        assert code in codes, (code, (self._folder / "errors.txt").read_text())
        return json.loads((self._folder / "said.txt").read_text())


@contextmanager
def fork_server() -> Iterator[ForkServer]:
    """Start the process that has everything imported."""
    words = [sys.executable, "-c", SCRIPT]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield ForkServer(process)
        finally:
            process.kill()
