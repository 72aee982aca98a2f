"""Rows by prompts: what each judge says of each row beside what people say, narrowed as the query
asks; and one row with every judge's reasons.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from urllib.parse import urlencode

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from ...judges import InputError, IntArray, JudgewrightError
from ..actions.compare_runs import ComparedSide
from .app_state import AppState
from .errors import words_of
from .matrix import Column, Matrix, RowFilter
from .paged import Paged
from .routes import Address
from .sides import Offer, data_of, offered_files, offered_runs, read_side

ROWS_PER_PAGE = 200
SHOWN_FIRST = 5
"""Judges that are shown until somebody chooses, the newest."""
MOST = 20
"""Judges that stand side by side."""


def matrix(state: AppState, request: Request) -> Response:
    """Show the rows of a data file by the judges that judged them."""
    data, sides, offers = _asked(state, request)
    columns, problems = _columns(state, sides)
    datas = dict.fromkeys(
        data_of(one.config.get("data"))
        for one in state.records()[::-1]
        if one.kind in ("bench", "optimize")
    )
    shown = {
        "data": data,
        "datas": [name for name in datas if name],
        "offers": offers,
        "ticked": {side.name for side in sides},
        "problems": problems,
        "columns": columns,
        "most": MOST,
    }
    if not columns:
        return state.page("matrix.html", **shown, total=0)
    table, wanted = _matrix(state, columns), _filter(request)
    positions = _chosen(state, table, columns, wanted)
    page = Paged(range(len(positions)), request.query_params.get("page", "1"), ROWS_PER_PAGE)
    return state.page(
        "matrix.html",
        **shown,
        total=table.total,
        wanted=wanted,
        cuts=list(dict.fromkeys(cut for column in columns for cut in column.cuts)),
        counts=table.counts(positions),
        page=page,
        rows=table.rows(positions[page.first : page.first + ROWS_PER_PAGE]),
        query=_query(data, sides, wanted),
    )


def rows(state: AppState, request: Request) -> Response:
    """Return the markup of one window of rows, which the page fetches as it is scrolled."""
    data, sides, _ = _asked(state, request)
    columns, _ = _columns(state, sides)
    if not columns:
        raise InputError("there are no such rows")
    table, wanted = _matrix(state, columns), _filter(request)
    positions = _chosen(state, table, columns, wanted)
    page = Paged(range(len(positions)), request.query_params.get("page", "1"), ROWS_PER_PAGE)
    return state.page(
        "matrix_rows.html",
        page=page,
        rows=table.rows(positions[page.first : page.first + ROWS_PER_PAGE]),
        query=_query(data, sides, wanted),
    )


def row(state: AppState, request: Request) -> Response:
    """Show one row: its texts, and the verdict and reasons of each judge."""
    data, sides, _ = _asked(state, request)
    columns, problems = _columns(state, sides)
    table = _matrix(state, columns) if columns else None
    position = table.position_of(request.query_params.get("row", "")) if table else None
    if table is None or position is None:
        raise InputError("there is no such row among those that may be shown")
    wanted = _filter(request)
    positions = _chosen(state, table, columns, wanted)
    at = int(positions.searchsorted(position))
    beside = {
        "previous": positions[at - 1 : at] if at else positions[:0],
        "next": positions[positions > position][:1],
    }
    bodies = table.bodies(position)
    first = next(body for body in bodies if body)
    return state.page(
        "matrix_row.html",
        row=table.rows(np.array([position]))[0],
        row_body=first,
        bodies=bodies,
        columns=columns,
        problems=problems,
        beside={name: table.rows(one)[0].key for name, one in beside.items() if len(one)},
        at=at,
        of=len(positions),
        page=at // ROWS_PER_PAGE + 1,
        query=_query(data, sides, wanted),
    )


def _asked(state: AppState, request: Request) -> tuple[str, list[ComparedSide], list[Offer]]:
    """Return the data file that is asked about, the judges, and those that can be chosen.

    Raises:
        InputError: A name is no judge's, or there are too many.
    """
    query = request.query_params
    sides = [read_side(state, text) for text in dict.fromkeys(query.getlist("judge")) if text]
    data = query.get("data", "")
    if not data:
        runs = [side.run_id for side in sides if side.run_id] or [
            one.run_id for one in state.records()[::-1] if one.kind in ("bench", "optimize")
        ]
        data = data_of(state.record(runs[0]).config.get("data")) if runs else ""
    offers = [*offered_runs(state, data), *offered_files(state)]
    sides = sides or [offer.side for offer in offers[:SHOWN_FIRST]]
    if len(sides) > MOST:
        raise InputError(
            f"{len(sides)} judges are chosen; {MOST} stand side by side", hint="choose fewer"
        )
    return data, sides, offers


def _columns(
    state: AppState, sides: list[ComparedSide]
) -> tuple[list[Column], list[tuple[str, str]]]:
    """Return the judges whose rows can be shown, and why others cannot."""
    columns: list[Column] = []
    problems: list[tuple[str, str]] = []
    for side in sides:
        try:
            pages = state.rows("judged", side.name)
        except JudgewrightError as error:
            problems.append((side.name, words_of(error)))
            continue
        if pages.head["rows"]:
            columns.append(Column(side, pages))
        else:
            problems.append((side.name, f"no row may be shown ({pages.head['note']})"))
    return columns, problems


def _identity(columns: list[Column]) -> tuple[object, ...]:
    return tuple((column.side.name, column.pages.identity) for column in columns)


def _matrix(state: AppState, columns: list[Column]) -> Matrix:
    return state.matrices.get(_identity(columns), lambda: Matrix(columns))


def _chosen(state: AppState, table: Matrix, columns: list[Column], wanted: RowFilter) -> IntArray:
    return state.chosen_rows.get((_identity(columns), wanted), lambda: table.choose(wanted))


def _filter(request: Request) -> RowFilter:
    asked = {name: request.query_params.get(name, "") for name in asdict(RowFilter())}
    return replace(RowFilter(**asked), words=asked["words"][:200])


def _query(data: str, sides: list[ComparedSide], wanted: RowFilter) -> str:
    narrowed = [(name, value) for name, value in asdict(wanted).items() if value]
    judges = [("judge", side.name) for side in sides]
    return urlencode([("data", data), *judges, *narrowed], errors="surrogatepass")


ADDRESSES = (
    Address("/matrix", matrix),
    Address("/matrix/rows", rows),
    Address("/matrix/row", row),
)
