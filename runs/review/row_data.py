"""What pages show that follows from all rows of a run or of a file: worked out once and kept to be
read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from ...judges import Dataset, InputError, by_column
from ...optimize.holdout.ledger import MAX_LOOKS
from ...optimize.holdout.look_counting import LookRequest, requested_look
from ..actions.compare_runs import compare_runs, parse_side
from ..actions.run_summary import read_run
from ..actions.show_rows import shown_rows
from ..config.environment import Environment, read_environment
from ..config.place import Place
from ..labels.queue import KIND, QueueConfig
from ..store.banks import banks_of
from ..store.journal import RunRecord, get_run
from ..store.ledger import HoldoutLedger
from ..store.run_config import RunConfig
from ..store.sealed_rows import SEAL_FIRST
from ..store.workspace import Workspace
from .file_data import checked_body, stat_of
from .judged_rows import judged_rows
from .plan_pages import planned_body, stamp_of_plan
from .queue_rows import queue_items
from .row_pages import (
    Arrays,
    RowItem,
    RowPages,
    read_row_pages,
    write_row_pages,
)

FORMAT = 14
"""Raised when the same rows are told otherwise."""
ReadRun = Callable[[str], RunRecord]
"""Returns a run by its id."""
Kind = Literal["slices", "compare", "looks", "queue", "check", "plan", "judged"]
_OF_FILES = ("check", "plan")
"""Kinds that are about a file and no run."""
_OF_SIDES = ("compare", "judged")
"""Kinds that are about sides of runs, or judges of verdict files."""
TITLES: Mapping[Kind, str] = {
    "slices": "Measuring the judge on each value of the column",
    "compare": "Comparing two judges row by row",
    "looks": "Counting who has looked at this run's sealed rows",
    "queue": "Opening the queue",
    "check": "Checking the data file",
    "plan": "Planning the run",
    "judged": "Reading what a judge said of each row",
}
"""What a visitor is told while it is worked out."""
LEAST_ROWS = 10
"""Values of a column with fewer rows are measured together."""
_FILES = ("data", "audited", "holdout")
"""Fields of a configuration that name files of rows."""


@dataclass(frozen=True, slots=True)
class RowQuery:
    """What is wanted.

    A benchmark's slices by a column, two sides compared, the looks at a run's holdout, a queue of
    rows to label, all rows of a side with its verdicts; or the check of a data file, and the plan
    of a run.

    Args:
        kind: Which of them.
        names: A run; a run and a column; one or two sides; what `file_data.py` returns for a file;
            or the configuration of a run, as JSON.
        environment: Of the command that a plan is for.
    """

    kind: Kind
    names: tuple[str, ...]
    environment: Environment | None = field(default=None, compare=False)

    def config(self, banks: Path | None = None) -> RunConfig:
        """Return the configuration of the run that a plan is for; its judge may need its banks."""
        return RunConfig.from_json(json.loads(self.names[0]), banks)

    @property
    def data(self) -> Path:
        """The file that a check, a count or a plan is about."""
        return Path(self.config().data if self.kind == "plan" else self.names[0])

    @property
    def runs(self) -> tuple[str, ...]:
        """The runs that it is about."""
        if self.kind in _OF_FILES:
            return ()
        if self.kind in _OF_SIDES:
            sides = map(parse_side, self.names)
            return tuple(side.run_id for side in sides if not side.file)
        return self.names[:1]

    @property
    def verdict_files(self) -> tuple[str, ...]:
        """The verdict files that it is about, below the workspace."""
        sides = map(parse_side, self.names if self.kind in _OF_SIDES else ())
        return tuple(side.file for side in sides if side.file)


def find_row_pages(
    workspace: Workspace, query: RowQuery, record: ReadRun | None = None
) -> RowPages | None:
    """Return what was kept of the rows; None where nothing was, or the runs, the files or what is
    sealed changed since.

    Args:
        workspace: Where it is kept.
        query: What is wanted.
        record: Returns what the workspace knows of a run, where it is at hand.

    Raises:
        InputError: There is no such run.
    """
    return read_row_pages(_path(workspace, query), _stamp(workspace, query, record))


def make_apart(place: Place, query: RowQuery, origins: Sequence[str]) -> None:
    """Do the same in a process of its own, where somebody started the server with these origins."""
    if query.kind == "plan":
        environment = read_environment().in_workspace(place.root)
        named = environment.naming(*query.config().named_models, origins=origins)
        query = replace(query, environment=named)
    with Workspace(place) as workspace:
        make_row_pages(workspace, query)


def make_row_pages(workspace: Workspace, query: RowQuery) -> None:
    """Work out what a page shows of rows, from the files and the recorded answers, and keep it.

    Raises:
        InputError: There are no such rows, or they have changed.
        ModelError: An answer is not in the record.
        WorkspaceError: It cannot be kept.
    """
    stamp = _stamp(workspace, query)
    items: list[RowItem] = []
    arrays: Arrays = {}
    if query.kind == "plan":
        head = planned_body(workspace, query.config(banks_of(workspace)), _environment(query))
    elif query.kind in _OF_FILES:
        head = checked_body(workspace, query.names)
    elif query.kind == "judged":
        head, items, arrays = judged_rows(workspace, parse_side(query.names[0]))
    elif query.kind == "queue":
        head, items = _queue(workspace, query.names[0])
    else:
        head = _HEADS[query.kind](workspace, *query.names)
    write_row_pages(_path(workspace, query), stamp, head, items, arrays)


def keep_queue(workspace: Workspace, run_id: str, config: QueueConfig, dataset: Dataset) -> None:
    """Keep the rows of a queue that was just made, so that they need not be read again.

    Raises:
        WorkspaceError: It cannot be kept.
    """
    query = RowQuery("queue", (run_id,))
    head, items = queue_items(config, dataset)
    write_row_pages(_path(workspace, query), _stamp(workspace, query), head, items)


def bytes_to_read(workspace: Workspace, query: RowQuery) -> int:
    """Return how large the files are that have to be read for it."""
    if query.kind in _OF_FILES:
        return stat_of(query.data)[1]
    runs = (get_run(workspace.database, run_id) for run_id in query.runs)
    files = [path for run in runs for path in _files_of(run)]
    files += [workspace.root / name for name in query.verdict_files]
    return sum(stat_of(path)[1] for path in files)


def _slices(workspace: Workspace, run_id: str, column: str) -> dict[str, Any]:  # Any: JSON
    judged = shown_rows(workspace, read_run(workspace, run_id)).judged
    parts = by_column(judged, column, least=LEAST_ROWS)
    return {"tables": {value: part.to_json() for value, part in parts.items()}}


def _compare(workspace: Workspace, before: str, after: str) -> dict[str, Any]:  # Any: JSON
    return compare_runs(workspace, parse_side(before), parse_side(after)).to_json()


def _looks(workspace: Workspace, run_id: str) -> dict[str, Any]:  # Any: JSON
    """Count the looks at a run's holdout, those at other holdouts with its rows and measured
    prompts among them.
    """
    run, ledger = read_run(workspace, run_id), HoldoutLedger(workspace.database)
    if run.split is None:
        raise InputError(f"run {run_id} has no holdout yet")
    holdout = run.split.seals["holdout"]
    request = LookRequest(
        holdout=holdout, run_id="", before=run.before.version, after="", purpose="gate", line=""
    )
    history = ledger.history()
    look = requested_look(history, request)
    remaining = max(0, MAX_LOOKS - look.number + 1)
    return {"so_far": len(history.looks(holdout)), "left": remaining, "next_alpha": look.alpha}


def _queue(workspace: Workspace, run_id: str) -> tuple[dict[str, Any], list[RowItem]]:
    run = get_run(workspace.database, run_id)
    if run.kind != KIND:
        raise InputError(f"run {run_id} is no queue of rows to label but a run of `{run.kind}`")
    config = QueueConfig.from_json(run.config)
    return queue_items(config, config.dataset())


_HEADS = {"slices": _slices, "compare": _compare, "looks": _looks}
"""Kinds that have no rows."""


def _path(workspace: Workspace, query: RowQuery) -> Path:
    digest = hashlib.blake2b(
        json.dumps([query.kind, *query.names]).encode(), digest_size=12
    ).hexdigest()
    return workspace.folder / "pages" / f"{digest}.db"


def _stamp(workspace: Workspace, query: RowQuery, record: ReadRun | None = None) -> str:
    """Return what changes when the rows could be told otherwise: the runs, their files, and what is
    sealed.
    """
    parts: list[object] = [FORMAT]
    if query.kind == "plan":
        config = query.config(banks_of(workspace))
        return json.dumps([FORMAT, *stamp_of_plan(workspace, config, _environment(query))])
    read = workspace.database.read
    if query.kind in _OF_FILES:
        sealed_first = workspace.exists and read(_SEALED_FIRST)[0][0]
        parts.append(read(_SEALINGS)[0][0] if sealed_first else 0)
        return json.dumps([*parts, stat_of(query.data)])
    for run_id in query.runs:
        run = record(run_id) if record else get_run(workspace.database, run_id)
        parts.append(run.run_id)
        # How far people are in a queue says nothing of its rows, and a run at work has the holdout
        # that it was given.
        if query.kind not in ("queue", "looks"):
            parts += [run.state, run.updated, read(_EVENTS, (run.run_id,))[0][0]]
        parts += [stat_of(path) for path in _files_of(run)]
    parts += [stat_of(workspace.root / name) for name in query.verdict_files]
    if query.kind != "queue" and workspace.exists:
        parts.append(read(_LEDGER if query.kind == "looks" else _SEALINGS)[0][0])
    return json.dumps(parts)


def _environment(query: RowQuery) -> Environment:
    return query.environment or read_environment()


def _files_of(run: RunRecord) -> list[Path]:
    named = (run.config.get(name) for name in _FILES)
    return [Path(path) for path in named if isinstance(path, str) and path]


_LEDGER = "SELECT count(*) FROM ledger"
_EVENTS = "SELECT count(*) FROM event WHERE run_id = ? AND kind <> 'decided'"
_SEALED_FIRST = f"""
SELECT count(*) FROM ledger WHERE entry_json LIKE '%"{SEAL_FIRST} (%'
"""  # noqa: S608 - our own words
_SEALINGS = """SELECT count(*) FROM ledger WHERE entry_json LIKE '%"entry": "rows"%'"""
