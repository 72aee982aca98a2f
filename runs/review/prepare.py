"""A process of its own for work on many rows, so that the server stays small and quick.

`python -m judgewright.runs.review.prepare` reads from its server what is wanted, as JSON, and writes what came of it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from ...judges import InputError, JudgewrightError, WorkspaceError, load_prompt
from ...judges.files import RawRoles
from ..actions.check_data import CheckOptions, check_file
from ..actions.row_pages import RowQuery, make_row_pages
from ..config.environment import read_environment
from ..config.place import Place
from ..config.postgres_address import parse_postgres
from ..store.workspace import Workspace

Json = Mapping[str, Any]  # Any: JSON


async def prepare(place: Path | Place, query: RowQuery, variables: Mapping[str, str]) -> None:
    """Have the rows of a query worked out by another process.

    Raises:
        InputError: There are no such rows, or they have changed.
        WorkspaceError: They cannot be read or kept.
    """
    await work_apart("rows", asked_rows(place, query), variables)


def asked_rows(place: Path | Place, query: RowQuery) -> Json:
    """Say which rows another process is to work out."""
    return {**_where(place), "kind": query.kind, "names": query.names}


def asked_check(place: Path | Place, path: Path, options: CheckOptions) -> Json:
    """Say which data file another process is to check."""
    prompt = options.prompt.to_yaml() if options.prompt else None
    roles = asdict(options.roles)
    return {**_where(place), "path": str(path), "roles": roles, "prompt": prompt, "model": options.model}


def _where(place: Path | Place) -> Json:
    place = Place.of(place)
    return {"root": str(place.root), "address": str(place.address or "")}


def _place(asked: Json) -> Place:
    return Place(Path(asked["root"]), parse_postgres(asked["address"]) if asked["address"] else None)


async def work_apart(what: str, asked: Json, variables: Mapping[str, str]) -> Json:
    """Have another process do something, and return what came of it.

    Raises:
        InputError: It raised one.
        WorkspaceError: It raised another of our errors, or ended otherwise.
    """
    # -P: a module in the working folder, which may be somebody else's workspace, is never imported.
    command = [sys.executable, "-P", "-m", __name__, what]
    pipe, nowhere = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, stderr=nowhere, env=dict(variables)
    )
    said, _ = await process.communicate(json.dumps(asked).encode())
    if process.returncode:
        raise WorkspaceError("the rows could not be read: the process that read them ended", hint="look again")
    told = cast("dict[str, Any]", json.loads(said))
    if (error := told.get("error")) is None:
        return told
    raise (InputError if error["input"] else WorkspaceError)(error["message"], hint=error["hint"])


def _rows(asked: Json) -> Json:
    with Workspace(_place(asked)) as workspace:
        make_row_pages(workspace, RowQuery(asked["kind"], tuple(asked["names"])))
    return {}


def _check(asked: Json) -> Json:
    place, model = _place(asked), asked["model"]
    prompt = load_prompt(asked["prompt"], origin="the judge") if asked["prompt"] else None
    options = CheckOptions(roles=RawRoles(**asked["roles"]), prompt=prompt, model=model)
    environment = read_environment().in_workspace(place.root).naming(*([model] if model else []))
    with Workspace(place) as workspace:
        report, price = check_file(Path(asked["path"]), options, registry=workspace.registry, environment=environment)
    return {"report": report.to_json(), "price": asdict(price) if price else None}


_WORK: Mapping[str, Callable[[Json], Json]] = {"rows": _rows, "check": _check}


def main(what: str) -> None:
    """Do what is wanted, and say on stdout what came of it."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints
    try:
        told = _WORK[what](json.load(sys.stdin))
    except JudgewrightError as error:
        told = {"error": {"message": str(error), "hint": error.hint, "input": isinstance(error, InputError)}}
    with answer:
        json.dump(told, answer)


if __name__ == "__main__":
    main(sys.argv[1])
