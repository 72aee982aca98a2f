"""The long check of a workspace: what opening it does not read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...judges import WorkspaceError
from ..store import CallStore, Database, HoldoutLedger, RunJournal, Workspace, list_runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was checked."""

    name: str
    about: str
    """What was held against what."""
    checked: int
    damaged: int
    detail: str = ""
    """The first fault."""


def check_workspace(workspace: Workspace) -> Iterator[Check]:
    """Check file, references, replies, runs and the ledger of looks; yield each check when it is
    done.

    Raises:
        WorkspaceError: The database cannot be opened.
    """
    database = workspace.database
    checks: tuple[tuple[str, str, Callable[[Database], tuple[int, list[str]]]], ...] = (
        ("file", "every page and index of the database", _check_file),
        ("references", "attempts and events, with the calls and runs they name", _check_references),
        ("replies", "every reply, with its hash; a damaged one is asked for again", _check_replies),
        ("runs", "the events of every run, with their chain of hashes", _check_runs),
        ("looks", "the ledger of looks, with its chain of hashes", _check_looks),
    )
    for name, about, check in checks:
        try:
            checked, faults = check(database)
        except WorkspaceError as error:
            checked, faults = 0, [str(error)]
        detail = faults[0] if faults else ""
        yield Check(name=name, about=about, checked=checked, damaged=len(faults), detail=detail)


def _check_file(database: Database) -> tuple[int, list[str]]:
    return database.find_faults()


def _check_references(database: Database) -> tuple[int, list[str]]:
    faults = [
        f"line {row} of {table} names what is not there" for table, row in database.read(_ORPHANS)
    ]
    return database.read(_REFERENCES)[0][0], faults


def _check_replies(database: Database) -> tuple[int, list[str]]:
    return CallStore(database, "").find_damaged()


def _check_runs(database: Database) -> tuple[int, list[str]]:
    faults: list[str] = []
    runs = list_runs(database)
    for run in runs:
        try:
            RunJournal(database, run.run_id).events()
        except WorkspaceError as error:
            faults.append(str(error))
    return len(runs), faults


def _check_looks(database: Database) -> tuple[int, list[str]]:
    return HoldoutLedger(database).verify(), []


_ORPHANS = """
SELECT 'event', seq FROM event WHERE NOT EXISTS (SELECT 1 FROM run WHERE run.run_id = event.run_id)
UNION ALL SELECT 'label', seq FROM label WHERE NOT EXISTS (SELECT 1 FROM run WHERE run.run_id = label.queue)
UNION ALL SELECT 'label', seq FROM label
    WHERE replaces IS NOT NULL AND NOT EXISTS (SELECT 1 FROM label AS earlier WHERE earlier.seq = label.replaces)
UNION ALL SELECT 'call', seq FROM call
    WHERE frame IS NOT NULL AND NOT EXISTS (SELECT 1 FROM request_frame WHERE hash = call.frame)
UNION ALL SELECT 'attempt', seq FROM attempt
    WHERE state = 'done' AND NOT EXISTS (SELECT 1 FROM call WHERE call.key = attempt.key)
"""  # noqa: E501
_REFERENCES = "SELECT (SELECT count(*) FROM attempt) + (SELECT count(*) FROM event)"
