"""What can be set side by side: the runs of a workspace that judged rows, and its verdict files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...judges import DataError, InputError
from ..actions.compare_runs import ComparedSide, parse_side
from ..reports.run_table import RunLine
from .app_state import AppState
from .data_files import find_data_files, resolve_data_file
from .runs_page import line_of
from .start_columns import column_names

OFFERED = 60
"""Of the last runs, those that can be compared are offered."""
MOST_FILES = 40
"""Data files that are looked at for verdicts."""
_SCORES = ("score", "verdicts")
"""Columns of a verdict file, or of several judges what stands before a dot."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A judge that can be chosen."""

    side: ComparedSide
    line: RunLine | None = None
    """Of a run."""


def read_side(state: AppState, text: str) -> ComparedSide:
    """Read the name of a side as an address has it.

    Raises:
        InputError: It is none, or a file outside of the workspace.
    """
    side = parse_side(text)
    if side.file:
        resolve_data_file(state.root, side.file)
    return side


def offered_runs(state: AppState, data: str = "") -> list[Offer]:
    """Return the runs, newest first, whose judges have verdicts on rows that may be shown; of an
    optimization with a new prompt that one, then the one it began with.

    Args:
        state: The workspace.
        data: The name of their data file; any unless given.
    """
    records = [
        one
        for one in state.records()[::-1]
        if one.kind in ("bench", "optimize") and data in ("", data_of(one.config.get("data")))
    ]
    offers: list[Offer] = []
    for line in (line_of(state, one) for one in records[:OFFERED]):
        if line.comparable:
            offers.append(Offer(ComparedSide(run_id=line.info.run_id), line))
            if line.info.kind == "optimize":
                offers.append(Offer(ComparedSide(run_id=line.info.run_id, side="before"), line))
    return offers


def offered_files(state: AppState) -> list[Offer]:
    """Return the verdict files of the workspace, each of one judge or of several."""
    offers: list[Offer] = []
    for name in find_data_files(state.root)[:MOST_FILES]:
        try:
            columns = column_names(state, resolve_data_file(state.root, name))
        except (DataError, InputError):
            continue
        if ":" in name:  # what stands behind it would be a judge
            continue
        heads = [column.partition(".") for column in columns]
        judges = [judge for head, dot, judge in heads if head in _SCORES and dot]
        if "score" in columns:
            judges = [""]
        offers += [Offer(ComparedSide(file=name, judge=judge)) for judge in judges]
    return offers


def data_of(path: object) -> str:
    """Return the name of a run's data file."""
    return Path(path).name if isinstance(path, str) else ""
