"""What pages show of a data file that follows from all of its rows: its check, and the tokens of
asking about it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from ...judges import load_prompt
from ...judges.files import (
    DataReport,
    RawRoles,
    TokenSummary,
    count_row_tokens,
    judge_inputs,
    read_raw_rows,
)
from ..actions.check_data import CheckOptions, look_at_rows, open_raw
from ..store.workspace import Workspace
from .row_pages import Json


def names_of_check(workspace: Workspace, path: Path, options: CheckOptions) -> tuple[str, ...]:
    """Return the names by which the check of a file is asked for; its model and its judge's words
    do not matter.
    """
    known = [] if options.roles.inputs else sorted(map(sorted, judge_inputs(workspace.registry)))
    return (str(path), _as_text(options.roles), json.dumps([options.prompt is None, known]))


def names_of_tokens(path: Path, options: CheckOptions, model: str) -> tuple[str, ...]:
    """Return the names by which the tokens of a file are asked for."""
    return (
        str(path),
        _as_text(options.roles),
        options.prompt.to_yaml() if options.prompt else "",
        model,
    )


def read_file_pages(
    workspace: Workspace, kind: str, names: tuple[str, ...]
) -> dict[str, Any]:  # Any: JSON
    """Check a file, or count its tokens; see `report_of`.

    Raises:
        InputError: A column that was named is missing.
        DataError: The file, or any of its rows, cannot be read.
    """
    path, roles = Path(names[0]), RawRoles(**json.loads(names[1]))
    raw = open_raw(
        workspace, read_raw_rows(path, roles, judges=judge_inputs(workspace.registry)), path
    )
    if kind == "tokens":
        prompt = load_prompt(names[2], origin="the judge") if names[2] else None
        return {"tokens": asdict(count_row_tokens(raw.rows, model=names[3], prompt=prompt))}
    scan_all, _ = json.loads(names[2])
    report = look_at_rows(
        raw, path, CheckOptions(roles=roles), registry=workspace.registry, scan_all=scan_all
    )
    return {"report": report.to_json()}


def report_of(check: Json, tokens: Json) -> DataReport:
    """Return the report of a check that was kept, with the tokens that were."""
    report = TypeAdapter(DataReport).validate_python(check["report"])
    return replace(report, tokens=TypeAdapter(TokenSummary).validate_python(tokens["tokens"]))


def stat_of(path: Path) -> tuple[str, int, int]:
    """Return what changes when a file does: its path, size and time."""
    try:
        stat = path.stat()
    except OSError:
        return (str(path), 0, 0)
    return (str(path), stat.st_size, stat.st_mtime_ns)


def _as_text(roles: RawRoles) -> str:
    return json.dumps(asdict(roles) | {"inputs": dict(roles.inputs), "words": dict(roles.words)})
