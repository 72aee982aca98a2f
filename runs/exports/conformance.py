"""Run a probe: a script of ours in whatever Python or node has somebody else's tool.

It gets where things are and no key, a folder of its own to stand in, and nothing of what it prints is kept but the end
of its complaint. What it found it writes as JSON to the file that its last argument names.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from ...judges import InputError
from ..config.environment import tool_environment

MOST_ANSWER = 64_000_000
"""Bytes of what a probe found."""
MOST_COMPLAINT = 65_536
"""Bytes of what a probe complained, from the end."""


class CheckFailed(InputError):
    """A probe ran and gave no answer.

    Args:
        program: What ran it.
        said: The last line of its complaint.
        missing: Whether a module is not installed there.
    """

    def __init__(self, program: str, said: str, *, missing: bool) -> None:
        super().__init__(f"{program}: {said}")
        self.program = program
        self.said = said
        self.missing = missing


def run_check(
    program: str | None, script: Path, arguments: Sequence[str], *, scratch: Path, timeout: float
) -> dict[str, Any]:  # Any: JSON
    """Run a probe and return what it found.

    Args:
        program: A path, or a plain name to look for on the PATH; our own Python, or `node` for an .mjs, unless given.
        script: The probe.
        arguments: What it is given before the path of its answer.
        scratch: An absolute path to a folder for this probe alone, which it runs in.
        timeout: Seconds that it may take.

    Raises:
        ProbeFailed: It ran and gave no answer.
        InputError: The program cannot be run, or took too long.
    """
    program = _located(program or ("node" if script.suffix == ".mjs" else sys.executable))
    answer, heard = scratch / "found.json", scratch / "said.txt"
    # Python looks for modules beside the script, where another probe may have the tool's own name.
    copied = scratch / f"probe{script.suffix}"
    copied.write_bytes(script.read_bytes())
    try:
        with heard.open("wb") as complaints:
            ran = subprocess.run(  # noqa: S603  # our own script, by the interpreter the user names
                [program, str(copied), *arguments, str(answer)],
                cwd=scratch,
                env=tool_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                timeout=timeout,
                check=False,
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{program} did not run the probe {script.name}: {error}") from None
    found = _read_answer(answer) if ran.returncode == 0 else None
    if found is None:
        raise _failure(program, _end_of(heard))
    return found


def _located(program: str) -> str:
    # A plain name is looked for on the PATH alone: a file of that name may have come with what is probed.
    if program == Path(program).name:
        return program
    return str(Path(program).absolute())  # never resolved: an environment's Python is a link


def _read_answer(path: Path) -> dict[str, Any] | None:  # Any: JSON
    if not path.is_file() or path.stat().st_size > MOST_ANSWER:
        return None
    try:
        found = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def _failure(program: str, complaint: str) -> CheckFailed:
    said = (complaint.strip().splitlines() or ["it said nothing"])[-1][:500]
    missing = "ModuleNotFoundError" in said or any(
        sign in complaint for sign in ("ERR_MODULE_NOT_FOUND", "Cannot find module")
    )
    return CheckFailed(program, said, missing=missing)


def _end_of(path: Path) -> str:
    """Return the last of a text that may be long."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - MOST_COMPLAINT))
        return file.read().decode("utf-8", "replace")
