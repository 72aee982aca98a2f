"""Rows of a run to be read one by one: those that its judge got wrong, those that changed sides
between its prompts; and what a person thinks of their labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from ...judges import InputError, IntArray
from ...optimize.word_diff import diff_words
from ..actions.compare_runs import ComparedSide
from ..actions.flips import Direction
from ..actions.run_summary import RunSummary, read_optimization
from ..actions.show_rows import Side
from .app_state import AppState
from .bench_pages import measured_of
from .matrix import Column, Matrix, RowFilter
from .paged import Paged
from .routes import Address

ROWS_PER_PAGE = 20
DIRECTIONS: Mapping[str, Direction] = {"right": "became right", "wrong": "became wrong"}
ERRORS = {"FP": "false positives", "FN": "false negatives"}
IN_SLICE = {"in": "inside the slice", "out": "outside it"}
FLIPPED = RowFilter(rows="flips")
Choices = Mapping[str, Mapping[str, str]]
"""What rows can be narrowed to: query name, value, words."""


class Flips:
    """The open rows of an optimization that changed sides.

    Args:
        state: The server's.
        run: The optimization.

    Raises:
        InputError: It has no new prompt.
    """

    def __init__(self, state: AppState, run: RunSummary) -> None:
        if run.after is None:
            raise InputError(f"run {run.run_id} has no new prompt, so that no row changed sides")
        columns = [column_of(state, run, "before"), column_of(state, run)]
        self._state, self.table = state, state.table(columns)
        self.cuts = {"in": "", "out": "none"}
        """How a filter names the rows `in` the slice of the run, which may be all, and those `out`
        of it.
        """
        if run.slice is not None and run.slice.predicate is not None:
            name = f"slice found in run {run.run_id}"
            self.cuts = {"in": f"{name}={run.slice.name}", "out": f"{name}=the rest"}
        self.n = int(self.table.both_scored.sum())
        """Rows that both answered."""
        self.right, self.wrong = (len(self.listed(direction)) for direction in DIRECTIONS)

    def listed(self, direction: str = "", row_filter: RowFilter = FLIPPED) -> IntArray:
        """Return the positions of rows, those that became wrong first; of one direction where it is
        named.
        """
        chosen = self._state.choose(self.table, row_filter)
        went_wrong = self.table.erring(chosen, 1)
        sides = {"wrong": chosen[went_wrong], "right": chosen[~went_wrong]}
        return sides[direction] if direction else np.concatenate([*sides.values()])

    def read(self, position: int) -> dict[str, Any]:  # Any: JSON
        """Return what is shown of a row."""
        row = read_row(self.table, position)
        before, after = row["bodies"]
        went_wrong = self.table.erring(np.array([position]), 1)[0]
        return {
            **row,
            "direction": DIRECTIONS["wrong" if went_wrong else "right"],
            "in_slice": not self.cuts["in"] or self.table.in_slice(self.cuts["in"])[position],
            "sides": {"before": before, "after": after},
            "rationale": diff_words(before["rationale"], after["rationale"]),
        }


def read_row(table: Matrix, position: int) -> dict[str, Any]:  # Any: JSON
    """Return what is shown of a row of a table: its texts, and what each judge says."""
    row, bodies = table.rows(np.array([position]))[0], table.bodies(position)
    with_texts = next((body for body in bodies if body and body["inputs"]), row)
    return {
        "row_id": row["row_id"],
        "error": table.error_of(position),
        "people": row["people"],
        "judge": [cell["said"] if cell else "" for cell in row["cells"]],
        "bodies": bodies,
        "inputs": with_texts.get("inputs", {}),
        "meta": with_texts.get("meta", {}),
    }


def flips(state: AppState, request: Request) -> Response:
    """Show the open rows that changed sides, narrowed as the query asks."""
    run = read_optimization(state.workspace, request.path_params["run"])
    rows = Flips(state, run)
    choices = {"direction": DIRECTIONS, "error": _errors(rows.table), "slice": IN_SLICE}
    asked = read_choices(request, choices)
    cut = rows.cuts.get(asked["slice"], "")
    row_filter = replace(FLIPPED, error=asked["error"], slice=cut)
    page = _paged(request, rows.listed(asked["direction"], row_filter))
    return state.page(
        "flips.html",
        counts=rows,
        page=page,
        rows=map(rows.read, page.items),
        choices=choices,
        asked=asked,
        run=run,
    )


def wrong(state: AppState, request: Request) -> Response:
    """Show the rows that a benchmark's judge got wrong, narrowed as the query asks, and what could
    not be read.
    """
    run = state.read(request.path_params["run"])
    measured, column = measured_of(run), column_of(state, run)
    table, head = state.table([column]), column.pages.head
    cuts = {f"{name}={one}": f"{name}: {one}" for name, values in head["cuts"] for one in values}
    choices = {"error": _errors(table), "slice": cuts}
    asked = read_choices(request, choices)
    chosen = state.choose(table, RowFilter(rows="errs", **asked))
    page = _paged(request, table.surest_first(chosen))
    return state.page(
        "bench_rows.html",
        measured=measured,
        head=head,
        wrong=len(state.choose(table, RowFilter(rows="errs"))),
        page=page,
        rows=[read_row(table, position) for position in page.items],
        choices=choices,
        asked=asked,
        run=run,
    )


def column_of(state: AppState, run: RunSummary, side: Side = "after") -> Column:
    """Return what the judge of a run said of every row that may be shown."""
    one = ComparedSide(run_id=run.run_id, side=side)
    return Column(one, state.rows("judged", one.name))


def read_choices(request: Request, choices: Choices) -> dict[str, str]:
    """Return the value of each filter that a query has; what it invents is passed over."""
    values = {name: request.query_params.get(name, "") for name in choices}
    return {name: value if value in choices[name] else "" for name, value in values.items()}


def _errors(table: Matrix) -> dict[str, str]:
    return {name: ERRORS.get(name, name) for name in table.errors}


def _paged(request: Request, positions: IntArray) -> Paged[int]:
    return Paged(positions.tolist(), request.query_params.get("page", "1"), ROWS_PER_PAGE)


ADDRESSES = (
    Address("/runs/{run}/flips", flips),
    Address("/runs/{run}/rows", wrong),
)
