"""Chosen runs side by side: what each was about, how their figures differ on the same rows, and
which rows flip.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from ...judges import InputError, JudgewrightError
from ...judges.prompt import check_name
from ...optimize.word_diff import diff_prompts
from ..actions.compare_runs import ComparedSide, parse_side
from .app_state import AppState
from .errors import words_of
from .flip_pages import DIRECTIONS
from .paged import Paged
from .routes import Address
from .row_data import changes_of, flip_of
from .row_pages import Json
from .runs_page import line_of

MOST = 6
"""Runs that are compared at once."""
OFFERED = 60
"""Of the last runs, those that can be compared are offered."""
FLIPS_PER_PAGE = 20


def compare(state: AppState, request: Request) -> Response:
    """Show runs side by side, each compared with the first; without any, offer runs to choose
    from.
    """
    sides = [
        parse_side(text) for text in dict.fromkeys(request.query_params.getlist("run")) if text
    ]
    if len(sides) > MOST:
        raise InputError(
            f"{len(sides)} runs are chosen; {MOST} stand side by side", hint="choose fewer"
        )
    if len(sides) < 2:
        return _offer(state, sides)
    columns: list[dict[str, Any]] = []  # Any: what the template names
    for side in sides:
        line = line_of(state, state.record(side.run_id))
        one: dict[str, Any] = {"side": side, "line": line, "comparison": None}
        if columns:
            try:
                comparison = state.rows("compare", sides[0].name, side.name).head
                one |= {"comparison": comparison, "changes": changes_of(comparison)}
            except JudgewrightError as error:
                one["problem"] = words_of(error)
        columns.append(one)
    return state.page(
        "compare.html",
        shown=columns,
        orders=[
            (side, _query([side, *(other for other in sides if other != side)])) for side in sides
        ],
        pairs=[urlencode({"a": sides[0].name, "b": side.name}) for side in sides],
    )


def flips(state: AppState, request: Request) -> Response:
    """Show the rows on which two runs flip."""
    query = request.query_params
    before, after = parse_side(query.get("a", "")), parse_side(query.get("b", ""))
    rows = state.rows("compare", before.name, after.name)
    direction = query.get("direction", "")
    chosen = rows.chosen(direction=DIRECTIONS.get(direction, ""))
    page = Paged(chosen, query.get("page", "1"), FLIPS_PER_PAGE)
    return state.page(
        "compare_flips.html",
        before=before,
        after=after,
        comparison=rows.head,
        direction=direction if direction in DIRECTIONS else "",
        directions=DIRECTIONS,
        page=page,
        flips=[flip_of(body) for body in page.items],
        query=urlencode({"a": before.name, "b": after.name, "direction": direction}),
        parts=_prompt_diff(state, rows.head),
    )


def _offer(state: AppState, sides: list[ComparedSide]) -> Response:
    records = state.records()[::-1]
    lines = [
        line_of(state, info) for info in records[:OFFERED] if info.kind in ("bench", "optimize")
    ]
    ticked = {side.run_id for side in sides}
    return state.page(
        "compare_choose.html", lines=[line for line in lines if line.comparable], ticked=ticked
    )


def _query(sides: list[ComparedSide]) -> str:
    return urlencode([("run", side.name) for side in sides])


def _prompt_diff(state: AppState, comparison: Json) -> object:
    """Return what differs between the prompts of two versions of one judge; empty for other
    judges.
    """
    specs = [side.partition(" on ")[0] for side in (comparison["before"], comparison["after"])]
    names = {spec.partition("@")[0] for spec in specs}
    if len(names) != 1 or specs[0] == specs[1]:
        return ()
    try:
        check_name(names.pop())
        before, after = (state.workspace.registry.get(spec) for spec in specs)
    except JudgewrightError:  # a version that nobody registered
        return ()
    return diff_prompts(before, after)


ADDRESSES = (Address("/compare", compare), Address("/compare/flips", flips))
