"""The plan of a run as the page shows it: it follows from all rows, and so it is worked out once
and kept.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..actions.plan import plan_run
from ..actions.read_objective import saved_slices
from ..config.environment import Environment
from ..reports.plan_report import detectable_in_words
from ..store.run_config import RunConfig
from ..store.workspace import Workspace
from .file_data import stat_of

_RECORDED = (
    "SELECT count(*), max(updated) FROM run",
    "SELECT max(seq) FROM call",
    "SELECT count(*) FROM ledger",
    "SELECT max(seq) FROM label",
)


def planned_body(
    workspace: Workspace, config: RunConfig, environment: Environment
) -> dict[str, Any]:  # Any: JSON
    """Plan a run without asking any model, and return what the page shows of it.

    Raises:
        InputError: The run could not start: the data, a name or the split cannot be used.
    """
    planned = plan_run(workspace, config, environment)
    shows = detectable_in_words(planned.detectable, sum(planned.sizes.values()))
    return {**planned.to_json(), "objective": planned.objective.describe(), "shows": shows}


def stamp_of_plan(
    workspace: Workspace, config: RunConfig, environment: Environment
) -> list[object]:
    """Return what changes when the plan might: the files it reads, what is recorded, and what
    models cost.
    """
    data = Path(config.data)
    files = [
        data,
        environment.models,
        environment.shared,
    ]
    files += [Path(config.audited) if config.audited else None]
    files += sorted(workspace.folder.glob("*.json"))
    stamp: list[object] = [stat_of(path) for path in files if path is not None]
    stamp.append(sorted(saved_slices(workspace).items()))
    if workspace.exists:
        stamp += [workspace.database.read(query)[0] for query in _RECORDED]
    return stamp
