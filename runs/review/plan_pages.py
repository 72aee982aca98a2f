"""The plan of a run as the page shows it: it follows from all rows, and so it is worked out once
and kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...judges import Progress
from ..actions.plan import Plan, Span, plan_run
from ..actions.read_objective import saved_slices
from ..config.environment import Environment
from ..reports.plan_report import detectable_in_words
from ..store.run_config import RunConfig
from ..store.sides import SIDES_FILE
from ..store.workspace import Workspace
from .row_pages import RowPages, read_row_pages, write_row_pages

FORMAT = 2
"""Raised when the same plan is told otherwise."""
_RECORDED = (
    "SELECT count(*), max(updated) FROM run",
    "SELECT max(seq) FROM call",
    "SELECT count(*) FROM ledger",
    "SELECT max(seq) FROM label",
)


def find_plan(workspace: Workspace, config: RunConfig, environment: Environment) -> RowPages | None:
    """Return the plan that was kept; None where there is none, or something it rests on has changed
    since.
    """
    return read_row_pages(_path(workspace, config), _stamp(workspace, config, environment))


def keep_plan(
    workspace: Workspace,
    config: RunConfig,
    environment: Environment,
    doing: Callable[[str], None] = lambda words: None,
) -> None:
    """Plan a run without asking any model, and keep what the page shows of it.

    Raises:
        InputError: The run could not start: the data, a name or the split cannot be used.
        WorkspaceError: It cannot be kept.
    """
    stamp = _stamp(workspace, config, environment)
    doing(
        f"Reading {Path(config.data).name}, splitting its rows and counting what the run would ask"
    )
    planned = plan_run(workspace, config, environment, pilot=False, watch=_unwatched)
    write_row_pages(_path(workspace, config), stamp, shown_plan(planned), ())


def shown_plan(planned: Plan) -> dict[str, Any]:  # Any: JSON
    """Return what the page shows of a plan."""
    return {
        "simulated": planned.simulated,
        "objective": planned.objective.describe(),
        "takes": {
            name: _span(span)
            for name, span in (("calls", planned.calls), ("tokens", planned.tokens))
        },
        "money": _span(planned.money),
        "reason": planned.money.reason,
        "budget": planned.budget.note,
        "shows": detectable_in_words(planned.detectable, sum(planned.sizes.values())),
        "sizes": planned.sizes,
        "lines": [
            {
                "what": x.what,
                "who": x.who,
                "calls": x.calls,
                "tokens_in": x.tokens_in,
                "tokens_out": x.tokens_out,
            }
            for x in planned.lines
        ],
        "notes": list(planned.notes),
    }


def _span(span: Span) -> list[float | None]:
    return [span.p50, span.p95, span.at_most]


def _unwatched(doing: str, progress: Progress) -> None:
    """Take note of nothing: a plan asks no model."""


def _path(workspace: Workspace, config: RunConfig) -> Path:
    asked = json.dumps(["plan", config.to_json()], sort_keys=True)
    digest = hashlib.blake2b(asked.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
    return workspace.folder / "pages" / f"{digest}.db"


def _stamp(workspace: Workspace, config: RunConfig, environment: Environment) -> str:
    """Return what changes when the plan might: the files it reads, what is recorded, and what
    models cost.
    """
    data = Path(config.data)
    files = [
        data,
        data.with_name(SIDES_FILE),
        environment.prices,
        environment.models,
        environment.shared,
    ]
    files += [Path(config.audited) if config.audited else None]
    files += sorted(workspace.folder.glob("*.json"))
    told: list[object] = [FORMAT, *(_stat(path) for path in files if path is not None)]
    told.append(sorted(saved_slices(workspace).items()))
    if workspace.exists:
        told += [workspace.database.read(query)[0] for query in _RECORDED]
    return json.dumps(told)


def _stat(path: Path) -> tuple[str, int, int]:
    try:
        stat = path.stat()
    except OSError:
        return (str(path), 0, 0)
    return (str(path), stat.st_size, stat.st_mtime_ns)
