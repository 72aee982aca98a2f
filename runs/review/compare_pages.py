"""Chosen judges side by side, of runs or of verdict files: what each was about, how their figures
differ on the same rows.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import orjson
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ...judges import InputError, JudgewrightError
from ...judges.files import Problems, read_records
from ..actions.compare_runs import FILE, ComparedSide
from .app_state import AppState, is_large
from .data_files import resolve_data_file
from .errors import words_of
from .forms import field_of
from .routes import Address, AsyncAddress
from .runs_page import line_of
from .sides import offers_of, read_side
from .start_columns import OF_INPUT, PICK, column_table, guess_of, picked_columns
from .uploads import keep_rows, keep_upload

MOST = 6
"""Judges that are compared at once."""


def compare(state: AppState, request: Request) -> Response:
    """Show judges side by side, each compared with the first; without any, offer some to choose
    from.
    """
    sides = [
        read_side(state, text)
        for text in dict.fromkeys(request.query_params.getlist("run"))
        if text
    ]
    if len(sides) > MOST:
        raise InputError(
            f"{len(sides)} judges are chosen; {MOST} stand side by side", hint="choose fewer"
        )
    if len(sides) < 2:
        return _offer(state, sides)
    columns: list[dict[str, Any]] = []  # Any: what the template names
    for side in sides:
        line = None if side.file else line_of(state, state.record(side.run_id))
        one: dict[str, Any] = {"side": side, "line": line, "comparison": None}
        if columns:
            try:
                comparison = state.rows("compare", sides[0].name, side.name).head
                one["comparison"] = comparison
            except JudgewrightError as error:
                one["problem"] = words_of(error)
        columns.append(one)
    return state.page(
        "compare.html",
        shown=columns,
    )


def _offer(state: AppState, sides: list[ComparedSide]) -> Response:
    ticked, offers = {side.name for side in sides}, offers_of(state)
    others = ticked - {one.side.name for one in offers}
    unread = [side.file for side in sides if side.file and side.name in others]
    columns = None
    if unread:
        path = resolve_data_file(state.root, unread[0])
        columns = column_table(guess_of(state, path, ("score",), label_needed=False))
    return state.page(
        "compare_choose.html",
        offers=offers,
        ticked=ticked,
        columns=columns,
        file=unread[0] if unread else "",
    )


def rename(state: AppState, request: Request) -> Response:
    """Keep a copy of a verdict file whose columns have the usual names, and offer it."""
    path = resolve_data_file(state.root, field_of(request, "file"))
    chosen = picked_columns(request.state.form.get(PICK, ()))
    usual = {"id_": "id", "group": "group_id"}
    names = {
        column: usual.get(role, role.removeprefix(OF_INPUT)) for role, column in chosen.items()
    }
    if "score" not in names.values():
        raise InputError("no column is chosen as the judge's score")
    if is_large(path):
        raise InputError(f"{path.name} is too large to be copied: name its columns in the file")
    problems, lines = Problems(path), list[bytes]()
    for record in read_records(path, problems):
        cells = record.fields.items()
        kept = {name: cell for name, cell in cells if name not in {*names, *names.values()}}
        lines.append(
            orjson.dumps(kept | {names[name]: cell for name, cell in cells if name in names})
        )
    problems.check()
    name = keep_rows(state.root, f"{path.stem}-columns.jsonl", b"\n".join([*lines, b""]))
    return RedirectResponse(f"/compare?{urlencode({'run': f'{FILE}{name}'})}", 303)


async def upload(state: AppState, request: Request) -> Response:
    """Store a file of verdicts below the workspace, and offer it."""
    name = await keep_upload(state.root, request)
    return RedirectResponse(f"/compare?{urlencode({'run': f'{FILE}{name}'})}", 303)


ADDRESSES = (
    Address("/compare", compare),
    Address("/compare/columns", rename, "POST"),
    AsyncAddress("/compare/upload", upload, "POST"),
)
