"""A process of its own that works out what a page shows of many rows, so that the server stays small and quick.

`python -m judgewright.runs.review.prepare ROOT KIND NAME...` keeps the rows, or prints why it cannot.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from ...judges import InputError, JudgewrightError, WorkspaceError
from ..actions.row_pages import RowQuery, make_row_pages
from ..store.workspace import Workspace


async def prepare(root: Path, query: RowQuery, variables: Mapping[str, str]) -> None:
    """Have the rows of a query worked out by another process.

    Raises:
        InputError: There are no such rows, or they have changed.
        WorkspaceError: They cannot be read or kept.
    """
    # -P: a module in the working folder, which may be somebody else's workspace, is never imported.
    command = [sys.executable, "-P", "-m", __name__, str(root), query.kind, *query.names]
    nowhere = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *command, stdin=nowhere, stdout=asyncio.subprocess.PIPE, stderr=nowhere, env=dict(variables)
    )
    said, _ = await process.communicate()
    if process.returncode == 0:
        return
    try:
        told = cast("dict[str, Any]", json.loads(said))
        kind = InputError if told["input"] else WorkspaceError
        error = kind(told["message"], hint=told["hint"])
    except (ValueError, KeyError, TypeError):
        error = WorkspaceError("the rows could not be read: the process that read them ended", hint="look again")
    raise error


def main(arguments: list[str]) -> int:
    """Work out a query and keep it; say on stdout what went wrong."""
    root, kind, *names = arguments
    try:
        with Workspace(Path(root)) as workspace:
            make_row_pages(workspace, RowQuery(cast("Any", kind), tuple(names)))
    except JudgewrightError as error:
        print(json.dumps({"message": str(error), "hint": error.hint, "input": isinstance(error, InputError)}))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
