"""A process of its own for work on many rows, so that the server stays small and quick.

`python -m judgewright.runs.review.prepare` reads a pickled call from its server, and writes what came of it.
"""

from __future__ import annotations

import asyncio
import io
import os
import pickle
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ...judges import InputError, JudgewrightError, WorkspaceError
from ..actions.row_pages import RowQuery, make_row_pages
from ..store.workspace import Workspace


async def prepare(root: Path, query: RowQuery, variables: Mapping[str, str]) -> None:
    """Have the rows of a query worked out by another process.

    Raises:
        InputError: There are no such rows, or they have changed.
        WorkspaceError: They cannot be read or kept.
    """
    await work_apart(keep_rows, root, query, variables=variables)


async def work_apart(work: Callable[..., Any], *arguments: object, variables: Mapping[str, str]) -> Any:
    """Call a function of a module in another process, and return what it returns.

    Raises:
        InputError: It raised one.
        WorkspaceError: It raised another of ours, or ended otherwise.
    """
    # -P: a module in the working folder, which may be somebody else's workspace, is never imported.
    command = [sys.executable, "-P", "-m", __name__]
    pipe, nowhere = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, stderr=nowhere, env=dict(variables)
    )
    said, _ = await process.communicate(_packed((work, arguments)))
    if process.returncode:
        raise WorkspaceError("the rows could not be read: the process that read them ended", hint="look again")
    returned, is_input, hint = pickle.loads(said)  # noqa: S301  # from our own process
    if is_input is None:
        return returned
    raise (InputError if is_input else WorkspaceError)(returned, hint=hint)


def _packed(value: object) -> bytes:
    into = io.BytesIO()
    pickler = pickle.Pickler(into)
    pickler.dispatch_table = {MappingProxyType: _proxy}
    pickler.dump(value)
    return into.getvalue()


def _proxy(proxy: MappingProxyType[object, object]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return _proxied, (dict(proxy),)


def _proxied(values: dict[object, object]) -> MappingProxyType[object, object]:
    return MappingProxyType(values)  # whose own name is nowhere to be looked up


def keep_rows(root: Path, query: RowQuery) -> None:
    """Work out what is shown of a query's rows, and keep it."""
    with Workspace(root) as workspace:
        make_row_pages(workspace, query)


def main() -> None:
    """Do what stdin says, and say on stdout what came of it."""
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints
    work, arguments = pickle.load(sys.stdin.buffer)  # noqa: S301  # from our own server
    try:
        told = work(*arguments), None, None
    except JudgewrightError as error:
        told = str(error), isinstance(error, InputError), error.hint
    with answer:
        answer.write(_packed(told))


if __name__ == "__main__":
    main()
