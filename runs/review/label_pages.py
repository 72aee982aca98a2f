"""Labelling in the browser: the queues, and one row at a time, through the same functions as the
terminal's.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from ...judges import InputError, OutputScale, WorkspaceError
from ..labels.queue import KIND
from ..labels.session import LabelSession, login_name
from ..reports.label_screen import REASONS, AnswerKeys
from ..store.journal import RunRecord
from ..store.labels import LabelStore, counting_records
from .app_state import AppState, is_large
from .data_files import DATA_ENDINGS, find_data_files, resolve_data_file
from .forms import field_of
from .make_queue import NewQueue, make_queue, write_labels
from .paged import Paged
from .queue_rows import open_kept_queue
from .routes import Address
from .start_columns import PICK, column_table, guess_of, picked_columns
from .uploads import FOLDER
from .works import WorkWanted

QUEUES_PER_PAGE = 30
MOST_NEXT = 1_000_000
LONGEST = 50_000
"""Characters of one text of a row that are shown."""
NOTES: Mapping[str, str] = {
    "late": "Another window was quicker; nothing was entered twice.",
    "undone": "The last answer was taken back.",
    "nothing": "There is nothing to take back.",
}
"""What is said about the last answer, by what the address has of it."""
MOST_SECONDS = 24 * 3600.0
SHARES: Mapping[str, float] = {"none": 0.0, "a fifth": 0.2, "half": 0.5, "all": 1.0}
"""Of the rows, what a second annotator labels too."""


def queues(state: AppState, request: Request) -> Response:
    """List the queues, newest first, and offer to make one."""
    records = state.records()[::-1]
    page = Paged(
        [info for info in records if info.kind == KIND],
        request.query_params.get("page", "1"),
        QUEUES_PER_PAGE,
    )
    return state.page(
        "label_queues.html",
        page=page,
        lines=[_line(state, info) for info in page.items],
        files=find_data_files(state.root),
        endings=DATA_ENDINGS,
        judges=state.workspace.registry.names(),
        shares=SHARES,
        annotator=login_name(),
    )


def make(state: AppState, request: Request) -> Response:
    """Make a queue of the rows of a file that have no label, and go to its first row."""
    path = resolve_data_file(state.root, field_of(request, "data"))
    second = field_of(request, "second") or "none"
    if second not in SHARES:
        raise InputError(f"a second annotator labels one of {', '.join(SHARES)}")
    judge, annotator = field_of(request, "judge"), field_of(request, "annotator")
    if judge and judge not in state.workspace.registry.names():
        raise InputError(f"there is no judge {judge!r}")
    chosen = picked_columns(request.state.form.get(PICK, ()))
    # The next rows of a run are read as the run read them.
    if judge and not (field_of(request, "agreed") or field_of(request, "next")):
        inputs = state.workspace.registry.get(judge).inputs
        guessed = guess_of(state, path, inputs, chosen, label_needed=False)
        if not guessed.exact or chosen:
            fields = request.state.form.keys() - {PICK}
            return state.page(
                "label_columns.html",
                columns=column_table(guessed),
                sent={name: field_of(request, name) for name in sorted(fields)},
                data=path.name,
            )
    new_queue = NewQueue(
        columns=chosen,
        data=str(path),
        judge=judge,
        again=field_of(request, "again") == "1",
        question=field_of(request, "question").strip()[:500],
        second=SHARES[second],
        seed=int(time.time()) % 1_000_000,
        **_next_rows(state, request),
    )
    if is_large(path):
        raise WorkWanted(
            secrets.token_hex(8),
            make_queue,
            (state.place, new_queue),
            "Making the queue",
            leads_on=lambda run_id: _address(run_id, annotator),
        )
    return RedirectResponse(_address(make_queue(state.place, new_queue), annotator), 303)


def _next_rows(state: AppState, request: Request) -> dict[str, Any]:  # Any: fields of `NewQueue`
    """Read how many rows to draw of those that tell most about what a run left open; nothing where
    all are asked about.
    """
    number = field_of(request, "next")
    if not number:
        return {}
    if not (number.isascii() and number.isdigit() and 0 < int(number[:9]) <= MOST_NEXT):
        raise InputError(f"{number!r} is no number of rows from 1 to {MOST_NEXT:,}")
    return {"next_rows": int(number), "run": state.record(field_of(request, "run")).run_id}


def row(state: AppState, request: Request) -> Response:
    """Show the row to label now; nothing of any judge is on the page."""
    session, order = _session(state, request, request.query_params.get("annotator", ""))
    with state.labelling:
        next_row, last = session.next(), session.last_record
        progress = session.progress()
    scale = session.config.label_scale
    return state.page(
        "label_row.html",
        session=session,
        row=next_row,
        inputs=[(name, next_row.inputs[name]) for name in order] if next_row else (),
        longest=LONGEST,
        last=last,
        progress=progress,
        answers=answers_of(scale),
        scale=scale,
        reasons=tuple(REASONS.values()),
        note=NOTES.get(request.query_params.get("said", ""), ""),
        shown_at=f"{time.time():.1f}",
        data=Path(session.config.data).name,
    )


def answer(state: AppState, request: Request) -> Response:
    """Keep what an annotator said of a row, unless another window was quicker."""
    session, _ = _session(state, request, field_of(request, "annotator"))
    verb, row_id, record = (
        field_of(request, "verb"),
        field_of(request, "row"),
        field_of(request, "record"),
    )
    if not (record.isascii() and record.isdigit() and len(record) < 16):
        raise InputError("the form does not say what it was shown after")
    outcome = ""
    try:
        with state.labelling:
            if session.has_answered_since(int(record)):
                outcome = "late"
            elif verb == "undo":
                outcome = "undone" if session.undo() else "nothing"
            else:
                outcome = _keep(session, request, verb, row_id)
            if session.next() is None:
                session.end(done=True)
            elif outcome == "undone":
                session.end(done=False)
    except WorkspaceError as error:
        body = state.render(
            "label_busy.html", error=error, fields=request.state.form, action=request.url.path
        )
        return HTMLResponse(body, 503)
    return RedirectResponse(_address(session.run_id, session.annotator, outcome), 303)


def use(state: AppState, request: Request) -> Response:
    """Write the labels and their rows into the workspace, and lead to a run of them."""
    run = state.record(request.path_params["run"])
    out = state.root / FOLDER / f"labels-{run.run_id}.jsonl"
    there = f"/start?{urlencode({'data': f'{FOLDER}/{out.name}'})}"
    arguments = (state.place, run.run_id, out)
    if is_large(Path(str(run.config.get("data", "")))):
        title = "Writing the labels"
        raise WorkWanted(out, write_labels, arguments, title, leads_on=lambda _: there)
    write_labels(*arguments)
    return RedirectResponse(there, 303)


def answers_of(scale: OutputScale) -> list[dict[str, Any]]:  # Any: what the template names
    """Return the buttons of a scale with the keys that the terminal has; none where grades are
    typed.
    """
    answers: list[dict[str, Any]] = []
    for key, grade in AnswerKeys.of(scale).grades.items():
        if scale.kind == "binary":
            words = (scale.labels or ("No", "Yes"))[int(grade)]
        elif scale.kind == "choice":
            words = scale.labels[int(grade)]
        else:
            words = f"{grade:g} {scale.anchors.get(f'{grade:g}', '')}".strip()
        answers.append({"key": key, "grade": grade, "words": words})
    return answers


def _keep(session: LabelSession, request: Request, verb: str, row_id: str) -> str:
    next_row = session.next()
    if next_row is None or next_row.id != row_id:
        return "late"
    seconds = _seconds(field_of(request, "shown"))
    if verb == "skip":
        # A reason that is chosen, or one's own words.
        reasons = [
            reason.strip() for reason in request.state.form.get("reason", [""]) if reason.strip()
        ]
        if not reasons:
            raise InputError("say why the row is skipped", hint="go back; the row is still there")
        return "" if session.skip(reasons[-1][:500], seconds=seconds) else "late"
    if verb != "label":
        raise InputError(f"{verb!r} is none of label, skip and undo")
    typed = field_of(request, "grade")
    try:
        grade = float(typed)
    except ValueError:
        raise InputError(f"{typed!r} is no grade") from None
    scale = session.config.label_scale
    on_level = not scale.levels or grade in scale.levels
    if not scale.contains(grade) or not on_level:
        raise InputError(f"{typed!r} is not on {scale.describe()}")
    return "" if session.label(grade, seconds=seconds) else "late"


def _session(
    state: AppState, request: Request, annotator: str
) -> tuple[LabelSession, tuple[str, ...]]:
    """Return an annotator's session at a queue, and the order in which its texts are read."""
    who = annotator.strip()[:200]
    if not who:
        raise InputError("who labels?", hint="say it on the page of queues")
    run_id = state.record(request.path_params["run"]).run_id
    pages = state.rows("queue", run_id)

    def begin() -> LabelSession:
        return LabelSession(
            state.workspace, run_id, who, opened=open_kept_queue(state.workspace, run_id, pages)
        )

    return state.sessions.get((run_id, who), begin), tuple(pages.head["order"])


def _seconds(since: str) -> float:
    """Return how long a row was on the screen, from when the server showed it."""
    try:
        seconds = time.time() - float(since)
    except ValueError:
        return 0.0
    return round(min(max(seconds, 0.0), MOST_SECONDS), 1) if seconds == seconds else 0.0


def _line(state: AppState, info: RunRecord) -> dict[str, Any]:  # Any: what the template names
    records = LabelStore(state.workspace.database).records(info.run_id)
    labelled = {one.row_id for one in counting_records(records) if one.action == "label"}
    return {
        "info": info,
        "data": Path(str(info.config.get("data", ""))).name,
        "question": str(info.config.get("question", "")),
        "design": str(info.config["design"].get("name", info.config["design"]["kind"])),
        "rows": info.config["rows"],
        "labelled": len(labelled),
        "annotators": list(dict.fromkeys(record.annotator for record in records)),
    }


def _address(run_id: str, annotator: str, outcome: str = "") -> str:
    query = {"annotator": annotator} | ({"said": outcome} if outcome else {})
    return f"/label/{run_id}?{urlencode(query)}"


ADDRESSES = (
    Address("/label", queues),
    Address("/label", make, "POST"),
    Address("/label/{run}", row),
    Address("/label/{run}", answer, "POST"),
    Address("/label/{run}/use", use, "POST"),
)
