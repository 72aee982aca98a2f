"""Rows by prompts: what each judge says of each row beside what people say, narrowed as the query
asks; and one row with every judge's reasons.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any
from urllib.parse import urlencode

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from ...judges import InputError, IntArray, JudgewrightError
from .app_state import AppState
from .errors import words_of
from .matrix import Column, Matrix, RowFilter
from .paged import Paged
from .routes import Address
from .sides import data_of, offers_of, read_side, runs_with_rows

ROWS_PER_PAGE = 200
SHOWN_FIRST = 5
"""Judges that are shown until somebody chooses, the newest."""
MOST = 20
"""Judges that stand side by side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a query asks to see."""

    data: str
    """The name of the data file."""
    columns: list[Column]
    problems: dict[str, str]
    """Why others of the judges cannot be shown, by their names."""
    wanted: RowFilter
    table: Matrix
    positions: IntArray
    """Of the rows that are asked for."""

    @property
    def query(self) -> str:
        """The query that asks for the same."""
        judges = [*(column.side.name for column in self.columns), *self.problems]
        asked = [("data", self.data), *(("judge", name) for name in judges)]
        asked += [(name, value) for name, value in asdict(self.wanted).items() if value]
        return urlencode(asked, errors="surrogatepass")


def matrix(state: AppState, request: Request) -> Response:
    """Show the rows of a data file by the judges that judged them."""
    view = _view(state, request)
    cuts = [
        (name, tuple(values)) for one in view.columns for name, values in one.pages.head["cuts"]
    ]
    return state.page(
        "matrix.html",
        **_window(view, request),
        datas=[name for name in dict.fromkeys(map(data_of, runs_with_rows(state))) if name],
        offers=offers_of(state, view.data),
        most=MOST,
        cuts=dict.fromkeys(cuts),
        counts=view.table.counts(view.positions) if view.columns else [],
    )


def rows(state: AppState, request: Request) -> Response:
    """Return the markup of one window of rows, which the page fetches as it is scrolled."""
    return state.page("matrix_rows.html", **_window(_view(state, request), request))


def row(state: AppState, request: Request) -> Response:
    """Show one row: its texts, and the verdict and reasons of each judge."""
    view, key = _view(state, request), request.query_params.get("row", "")
    found = view.table.find(key)
    if found is None:
        raise InputError("there is no such row among those that may be shown")
    at = int(view.positions.searchsorted(found))
    beside = {"prev": view.positions[max(at - 1, 0) : at]}
    beside["next"] = view.positions[view.positions > found][:1]
    return state.page(
        "matrix_row.html",
        view=view,
        row=view.table.rows(np.array([found]))[0],
        bodies=view.table.bodies(found),
        near={name: one[0]["key"] for name, pos in beside.items() if (one := view.table.rows(pos))},
        at=at,
        page=at // ROWS_PER_PAGE + 1,
    )


def _window(view: View, request: Request) -> dict[str, Any]:  # Any: what the templates name
    every = range(len(view.positions))
    page = Paged(every, request.query_params.get("page", "1"), ROWS_PER_PAGE)
    shown = view.positions[page.first : page.first + ROWS_PER_PAGE]
    return {"view": view, "page": page, "rows": view.table.rows(shown)}


def _view(state: AppState, request: Request) -> View:
    """Read the rows that a query asks for.

    Raises:
        InputError: A name is no judge's, or there are too many.
    """
    query = request.query_params
    sides = [read_side(state, text) for text in dict.fromkeys(query.getlist("judge")) if text]
    datas = {data_of(state.record(side.run_id)) for side in sides if side.run_id}
    data = query.get("data", "") or next(iter(datas or map(data_of, runs_with_rows(state))), "")
    if not sides or (datas and data not in datas):  # another file was chosen
        sides = [offer.side for offer in offers_of(state, data)[:SHOWN_FIRST]]
    if len(sides) > MOST:
        raise InputError(
            f"{len(sides)} judges are chosen; {MOST} stand side by side", hint="choose fewer"
        )
    columns: list[Column] = []
    problems: dict[str, str] = {}
    for side in sides:
        try:
            pages = state.rows("judged", side.name)
        except JudgewrightError as error:
            problems[side.name] = words_of(error)
            continue
        if pages.head["rows"]:
            columns.append(Column(side, pages))
        else:
            problems[side.name] = f"no row may be shown ({pages.head['note']})"
    asked = {name: query.get(name, "") for name in asdict(RowFilter())}
    wanted = replace(RowFilter(**asked), words=asked["words"][:200])
    table = state.table(columns)
    return View(
        data=data,
        columns=columns,
        problems=problems,
        wanted=wanted,
        table=table,
        positions=state.choose(table, wanted),
    )


ADDRESSES = (
    Address("/matrix", matrix),
    Address("/matrix/rows", rows),
    Address("/matrix/row", row),
)
