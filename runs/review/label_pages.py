"""Labelling in the browser: the queues, and one row at a time, through the same functions as the terminal's."""

from __future__ import annotations

import getpass
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from ...judges import InputError, OutputScale, WorkspaceError
from ..actions.export_labels import export_labels, read_queues
from ..actions.label import LabelSession
from ..actions.label_queue import FLIPS, KIND, create_queue, list_rows, read_rows_to_label
from ..config.options import RowOptions
from ..reports.label_screen import REASONS, AnswerKeys, reading_order
from ..store.journal import RunRecord, list_runs
from ..store.labels import LabelStore, counting_records
from .app_state import AppState
from .data_files import DATA_ENDINGS, find_data_files, resolve_data_file
from .forms import field_of
from .paged import Paged
from .routes import Address
from .uploads import FOLDER

QUEUES_PER_PAGE = 30
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A button that gives a grade."""

    key: str
    grade: float
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLine:
    """A queue in the list of queues."""

    info: RunRecord
    data: str
    question: str
    design: str
    rows: int
    labelled: int
    annotators: tuple[str, ...]


def queues(state: AppState, request: Request) -> Response:
    """List the queues, newest first, and offer to make one."""
    found = list_runs(state.workspace.database)[::-1] if state.workspace.exists else ()
    page = Paged([info for info in found if info.kind == KIND], request.query_params.get("page", "1"), QUEUES_PER_PAGE)
    return HTMLResponse(
        state.render(
            "label_queues.html",
            page=page,
            lines=[_line(state, info) for info in page.items],
            files=find_data_files(state.root),
            endings=DATA_ENDINGS,
            judges=state.workspace.registry.names(),
            shares=SHARES,
            annotator=_login(),
        )
    )


def make(state: AppState, request: Request) -> Response:
    """Make a queue of the rows of a file that have no label, and go to its first row."""
    path = resolve_data_file(state.root, field_of(request, "data"))
    second = field_of(request, "second") or "none"
    if second not in SHARES:
        raise InputError(f"a second annotator labels one of {', '.join(SHARES)}")
    judge = field_of(request, "judge")
    if judge and judge not in state.workspace.registry.names():
        raise InputError(f"there is no judge {judge!r}")
    again = field_of(request, "again") == "1"
    reading = RowOptions().as_arguments()
    dataset = read_rows_to_label(state.workspace.registry, path, reading, judge=judge or None)
    config = list_rows(dataset, path=path, reading=reading, again=again, seed=int(time.time()) % 1_000_000)
    config = replace(config, question=field_of(request, "question").strip()[:500], second=SHARES[second])
    with state.writing() as workspace:
        run_id = create_queue(workspace, config)
    return RedirectResponse(_address(run_id, field_of(request, "annotator")), 303)


def row(state: AppState, request: Request) -> Response:
    """Show the row to label now; nothing of any judge is on the page."""
    session, order = _session(state, request, request.query_params.get("annotator", ""))
    with state.labelling:
        shown, last = session.next(), session.last_record
        progress = session.progress()
    scale = session.config.label_scale
    return HTMLResponse(
        state.render(
            "label_row.html",
            session=session,
            row=shown,
            inputs=[(name, shown.inputs[name]) for name in order] if shown else (),
            longest=LONGEST,
            last=last,
            progress=progress,
            answers=answers_of(scale),
            scale=scale,
            reasons=tuple(REASONS.values()),
            note=NOTES.get(request.query_params.get("said", ""), ""),
            shown_at=f"{time.time():.1f}",
            data=Path(session.config.data).name,
            deciding=session.config.design.get("kind") == FLIPS,
        )
    )


def answer(state: AppState, request: Request) -> Response:
    """Keep what an annotator said of a row, unless another window was quicker."""
    session, _ = _session(state, request, field_of(request, "annotator"))
    verb, row_id, record = field_of(request, "verb"), field_of(request, "row"), field_of(request, "record")
    if not (record.isascii() and record.isdigit() and len(record) < 16):
        raise InputError("the form does not say what it was shown after")
    said = ""
    try:
        with state.labelling:
            if session.has_answered_since(int(record)):
                said = "late"
            elif verb == "undo":
                said = "undone" if session.undo() else "nothing"
            else:
                said = _keep(session, request, verb, row_id)
            if session.next() is None:
                session.end(done=True)
            elif said == "undone":
                session.end(done=False)
    except WorkspaceError as error:
        body = state.render("label_busy.html", error=error, fields=request.state.form, action=request.url.path)
        return HTMLResponse(body, 503)
    return RedirectResponse(_address(session.run_id, session.annotator, said), 303)


def download(state: AppState, request: Request) -> Response:
    """Send the labels beside the columns of their rows."""
    run_id = state.record(request.path_params["run"]).run_id
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "labels.jsonl"
        export_labels(read_queues(state.workspace, [run_id]), out, every=False)
        named = {"content-disposition": f'attachment; filename="labels-{run_id}.jsonl"'}
        return Response(out.read_bytes(), media_type="application/jsonl", headers=named)


def use(state: AppState, request: Request) -> Response:
    """Write the labels and their rows into the workspace, and lead to a run of them."""
    run_id = state.record(request.path_params["run"]).run_id
    out = state.root / FOLDER / f"labels-{run_id}.jsonl"
    out.parent.mkdir(parents=True, exist_ok=True)
    export_labels(read_queues(state.workspace, [run_id]), out, every=False)
    return RedirectResponse(f"/start?{urlencode({'data': f'{FOLDER}/{out.name}'})}", 303)


def answers_of(scale: OutputScale) -> list[Answer]:
    """Return the buttons of a scale with the keys that the terminal has; none where grades are typed."""
    answers: list[Answer] = []
    for key, grade in AnswerKeys.of(scale).grades.items():
        if scale.kind == "binary":
            words = (scale.labels or ("No", "Yes"))[int(grade)]
        elif scale.kind == "choice":
            words = scale.labels[int(grade)]
        else:
            words = f"{grade:g} {scale.anchors.get(f'{grade:g}', '')}".strip()
        answers.append(Answer(key=key, grade=grade, words=words))
    return answers


def _keep(session: LabelSession, request: Request, verb: str, row_id: str) -> str:
    shown = session.next()
    if shown is None or shown.id != row_id:
        return "late"
    seconds = _seconds(field_of(request, "shown"))
    if verb == "skip":
        # A reason that is chosen, or one's own words.
        given = [reason.strip() for reason in request.state.form.get("reason", [""]) if reason.strip()]
        if not given:
            raise InputError("say why the row is skipped", hint="go back; the row is still there")
        return "" if session.skip(given[-1][:500], seconds=seconds) else "late"
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


def _session(state: AppState, request: Request, annotator: str) -> tuple[LabelSession, tuple[str, ...]]:
    """Return an annotator's session at a queue, and the order in which its texts are read."""
    who = annotator.strip()[:200]
    if not who:
        raise InputError("who labels?", hint="say it on the page of queues")
    run = state.record(request.path_params["run"])

    def begin() -> tuple[LabelSession, tuple[str, ...]]:
        session = LabelSession(state.workspace, run.run_id, who)
        return session, reading_order(session.rows)

    return state.sessions.get((run.run_id, who), begin)


def _seconds(shown: str) -> float:
    """Return how long a row was on the screen, from when the server showed it."""
    try:
        seconds = time.time() - float(shown)
    except ValueError:
        return 0.0
    return round(min(max(seconds, 0.0), MOST_SECONDS), 1) if seconds == seconds else 0.0


def _line(state: AppState, info: RunRecord) -> QueueLine:
    records = LabelStore(state.workspace.database).records(info.run_id)
    return QueueLine(
        info=info,
        data=Path(str(info.config.get("data", ""))).name,
        question=str(info.config.get("question", "")),
        design=str(info.config.get("design", {}).get("name", info.config.get("design", {}).get("kind", ""))),
        rows=len(info.config.get("rows", ())),
        labelled=len({r.row_id for r in counting_records(records) if r.action == "label"}),
        annotators=tuple(dict.fromkeys(record.annotator for record in records)),
    )


def _address(run_id: str, annotator: str, said: str = "") -> str:
    query = {"annotator": annotator} | ({"said": said} if said else {})
    return f"/label/{run_id}?{urlencode(query)}"


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, ImportError, OSError):  # a user without a name, as in some containers
        return ""


ADDRESSES = (
    Address("/label", queues),
    Address("/label", make, "POST"),
    Address("/label/{run}", row),
    Address("/label/{run}", answer, "POST"),
    Address("/label/{run}/labels", download),
    Address("/label/{run}/use", use, "POST"),
)
