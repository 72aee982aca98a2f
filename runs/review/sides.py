"""What can be set side by side: the runs of a workspace that judged rows, and its verdict files."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ...judges import JudgewrightError
from ..actions.compare_runs import ComparedSide, parse_side
from ..reports.run_table import RunLine
from ..store.journal import RunRecord
from .app_state import AppState, is_large
from .data_files import find_data_files, resolve_data_file
from .runs_page import line_of
from .start_columns import column_names

OFFERED = 60
"""Of the last runs, those that can be compared are offered."""
MOST_FILES = 40
"""Data files that are looked at for verdicts."""


class Offer(NamedTuple):
    """A judge that can be chosen; of a run with its line."""

    side: ComparedSide
    line: RunLine | None = None


def read_side(state: AppState, text: str) -> ComparedSide:
    """Read the name of a side as an address has it.

    Raises:
        InputError: It is none, or a file outside of the workspace.
    """
    side = parse_side(text)
    if side.file:
        resolve_data_file(state.root, side.file)
    return side


def runs_with_rows(state: AppState, data: str = "") -> list[RunRecord]:
    """Return the runs that judge rows, newest first; of one data file where its name is given."""
    newest = state.records()[::-1]
    judging = [one for one in newest if one.kind in ("bench", "optimize")]
    return [one for one in judging if data in ("", data_of(one))]


def offers_of(state: AppState, data: str = "") -> list[Offer]:
    """Return the judges with verdicts on rows that may be shown: those of runs, newest first, of an
    optimization as it ended and as it began; then those of verdict files.
    """
    offers: list[Offer] = []
    for line in (line_of(state, one) for one in runs_with_rows(state, data)[:OFFERED]):
        if line.comparable:
            offers.append(Offer(ComparedSide(run_id=line.info.run_id), line))
            if line.info.kind == "optimize":
                offers.append(Offer(ComparedSide(run_id=line.info.run_id, side="before"), line))
    for name in find_data_files(state.root)[:MOST_FILES]:
        path = resolve_data_file(state.root, name)
        if is_large(path) and path.name.endswith((".json", ".json.gz")):  # read whole, if at all
            continue
        try:
            columns = column_names(state, path)
        except JudgewrightError:
            continue
        judges = [column.removeprefix("verdicts.") for column in columns if "verdicts." in column]
        judges = [""] if "score" in columns else judges
        # What stands behind a colon would be a judge.
        offers += [Offer(ComparedSide(file=name, judge=one)) for one in judges if ":" not in name]
    return offers


def data_of(run: RunRecord) -> str:
    """Return the name of a run's data file."""
    path = run.config.get("data")
    return Path(path).name if isinstance(path, str) else ""
