"""Store an export in a live registry, through the tool's own client and the `push` of the module
just written.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ...judges import InputError, ModelError
from ..config.tools_file import hide_password
from .target import Target

TIMEOUT = 300.0
"""Seconds that a registry may take."""


def push_export(
    folder: Path, stem: str, target: Target, uri: str, *, interpreter: str | None = None
) -> str:
    """Push an export that was just written, with the keys that the tool finds in the environment.

    Args:
        folder: Where it was written.
        stem: The judge's name as its module has it.
        target: Its target.
        uri: The registry, as the tool names it.
        interpreter: The Python that has the tool; our own unless given.

    Returns:
        What the tool calls it there.

    Raises:
        InputError: The target has no registry, or the interpreter does not run.
        ModelError: The registry refused, or could not be reached.
    """
    if target.push is None:
        raise InputError(f"{target.tool} has no registry that an export is pushed to")
    program = interpreter or sys.executable
    if program != Path(program).name:
        program = str(Path(program).absolute())
    code = (
        "import sys\nsys.path.insert(0, '.')\nuri ="
        f" sys.argv[1]\n{target.push.replace('STEM', stem)}"
    )
    try:
        completed = subprocess.run(  # noqa: S603  # our own lines, by the interpreter the user names
            [program, "-c", code, uri],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{program} did not push to {target.tool}: {error}") from None
    if completed.returncode != 0:
        lines = completed.stderr.strip().splitlines() or ["it said nothing"]
        address = hide_password(uri)
        reason = lines[-1].replace(uri, address)[:500]
        raise ModelError(f"{target.tool} did not take the export at {address}: {reason}")
    lines = completed.stdout.strip().splitlines() or [""]
    return lines[-1]
