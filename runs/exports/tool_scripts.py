"""Run a script of ours in the Python or node that has somebody else's tool.

The script gets paths and no key, and a folder of its own to run in; of what it prints only the end
of its error output is kept. It writes its answer as JSON to the file that its last argument names.
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

SHARED_NAME = "script_shared.py"
"""What the scripts of a folder have in common; it is copied along with each."""
MAX_ANSWER_BYTES = 64_000_000
MAX_ERROR_BYTES = 65_536
"""Of the error output, from its end."""


class ToolScriptFailed(InputError):
    """A script ran and gave no answer.

    Args:
        program: What ran it.
        reason: The last line of its error output.
        missing: Whether a module is not installed there.
    """

    def __init__(self, program: str, reason: str, *, missing: bool) -> None:
        super().__init__(f"{program}: {reason}")
        self.program = program
        self.reason = reason
        self.missing = missing


def run_tool_script(
    program: str | None, script: Path, arguments: Sequence[str], *, scratch: Path, timeout: float
) -> dict[str, Any]:  # Any: JSON
    """Run a script and return its answer.

    Args:
        program: A path, or a plain name to look for on the PATH; our own Python, or `node` for an
            .mjs, unless given.
        script: The script.
        arguments: What it is given before the path of its answer.
        scratch: An absolute path to a folder for this script alone, which it runs in.
        timeout: Seconds that it may take.

    Raises:
        ToolScriptFailed: It ran and gave no answer.
        InputError: The program cannot be run, or took too long.
    """
    program = program or ("node" if script.suffix == ".mjs" else sys.executable)
    # A plain name is looked for on the PATH alone: the export may hold a file of that name.
    if program != Path(program).name:
        program = str(Path(program).absolute())  # never resolved: an environment's Python is a link
    answer, errors = scratch / "answer.json", scratch / "errors.txt"
    # Python imports from the script's folder first, where another script may have the tool's own
    # name.
    copied = scratch / f"tool_script{script.suffix}"
    copied.write_bytes(script.read_bytes())
    shared = script.with_name(SHARED_NAME)
    if shared.is_file():
        (scratch / SHARED_NAME).write_bytes(shared.read_bytes())
    try:
        with errors.open("wb") as error_output:
            completed = subprocess.run(  # noqa: S603  # our own script, by the interpreter the user names
                [program, str(copied), *arguments, str(answer)],
                cwd=scratch,
                env=tool_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=error_output,
                timeout=timeout,
                check=False,
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{program} did not run {script.name}: {error}") from None
    body = _read_answer(answer) if completed.returncode == 0 else None
    if body is None:
        raise _failure(program, _end_of(errors))
    return body


def _read_answer(path: Path) -> dict[str, Any] | None:  # Any: JSON
    if not path.is_file() or path.stat().st_size > MAX_ANSWER_BYTES:
        return None
    try:
        body = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError:
        return None
    return body if isinstance(body, dict) else None


def _failure(program: str, errors: str) -> ToolScriptFailed:
    lines = errors.strip().splitlines() or ["it said nothing"]
    reason = lines[-1][:500]
    signs = ("ERR_MODULE_NOT_FOUND", "Cannot find module")  # node says it lines before the last
    missing = "ModuleNotFoundError" in reason or any(sign in errors for sign in signs)
    return ToolScriptFailed(program, reason, missing=missing)


def _end_of(path: Path) -> str:
    """Return the last bytes of a file that may be long."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - MAX_ERROR_BYTES))
        return file.read().decode("utf-8", "replace")
