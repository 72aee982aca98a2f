"""What pages show of a data file that follows from all of its rows: its check, with the tokens of
asking about it.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from ...judges import load_prompt
from ...judges.files import DataReport, RawRoles, judge_inputs
from ..actions.check_data import CheckOptions, TokensOf, report_on
from ..store.banks import banks_of
from ..store.workspace import Workspace
from .row_pages import Json


def names_of_check(
    workspace: Workspace, path: Path, options: CheckOptions, model: TokensOf
) -> tuple[str, ...]:
    """Return the names by which the check of a file is asked for, tokens of a model included."""
    judges = [] if options.roles.inputs else sorted(map(sorted, judge_inputs(workspace.registry)))
    roles = asdict(options.roles)
    roles |= {"inputs": dict(options.roles.inputs), "words": dict(options.roles.words)}
    prompt = options.prompt.to_yaml() if options.prompt else ""
    return str(path), json.dumps(roles), prompt, json.dumps(model), json.dumps(judges)


def checked_body(workspace: Workspace, names: tuple[str, ...]) -> dict[str, Any]:  # Any: JSON
    """Check a file; see `report_of`.

    Raises:
        InputError: A column that was named is missing.
        DataError: The file, or any of its rows, cannot be read.
    """
    path, roles, prompt, model, _ = names
    judge = load_prompt(prompt, origin="the judge", folder=banks_of(workspace)) if prompt else None
    options = CheckOptions(roles=RawRoles(**json.loads(roles)), prompt=judge)
    of = tuple(json.loads(model))
    return {"report": report_on(Path(path), options, of, workspace=workspace).to_json()}


def report_of(body: Json) -> DataReport:
    """Return the report of a check as it was written."""
    return TypeAdapter(DataReport).validate_python(body["report"])


def stat_of(path: Path) -> tuple[str, int, int]:
    """Return what changes when a file does: its path, size and time."""
    try:
        stat = path.stat()
    except OSError:
        return (str(path), 0, 0)
    return (str(path), stat.st_size, stat.st_mtime_ns)
