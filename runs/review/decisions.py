"""What a person decides: accept some or all hunks, reject, or try an own edit. Nothing is accepted
past the gate.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ...judges import InputError, write_beside
from ..actions.optimize import require_edit
from ..actions.run_summary import read_optimization
from ..store.run_names import mark_run
from .app_state import AppState
from .forms import field_of
from .next_run import hunk_comments
from .routes import Address


def decide(state: AppState, request: Request) -> Response:
    """Accept the ticked hunks or the whole diff, or reject the run."""
    run_id = state.read(request.path_params["run"]).run_id
    verb = field_of(request, "verb")
    there = f"/runs/{run_id}?job="
    comments = [
        field_of(request, "comment"),
        *(f"hunk {n}: {comment}" for n, comment in hunk_comments(request).items()),
    ]
    words = [f"--comment={'; '.join(filter(None, comments))}"]
    if who := field_of(request, "who"):
        words.append(f"--by={who}")
    if verb == "reject":
        return _queue(state, "Reject the run", ["reject", run_id, *words], run_id, there)
    if verb == "accept-whole":
        return _queue(state, "Accept the whole diff", ["accept", run_id, *words], run_id, there)
    if verb != "accept":
        raise InputError(f"{verb!r} is none of accept, accept-whole and reject")
    numbers = request.state.form.get("hunk", [])
    if not all(n.isascii() and n.isdigit() and len(n) < 6 for n in numbers):
        raise InputError(f"hunks {', '.join(numbers)!r} are not numbers")
    chosen = sorted({int(n) for n in numbers})
    hunks = f"--hunks={','.join(map(str, chosen))}"
    title = f"Accept {_named(chosen)}"
    command = ["accept", run_id, hunks, *words, *state.origin_flags]
    return _queue(state, title, command, run_id, there)


def edit(state: AppState, request: Request) -> Response:
    """Send a person's own criteria through the whole path, as a run of its own."""
    run_id = state.read(request.path_params["run"]).run_id
    criteria = require_edit(
        read_optimization(state.workspace, run_id), field_of(request, "criteria")
    )
    state.jobs.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = state.jobs.folder / f"criteria-{hashlib.sha256(criteria.encode()).hexdigest()[:16]}.txt"
    write_beside(file, criteria)
    comment = f"--comment={field_of(request, 'comment')}"
    arguments = ["runs", "edit", run_id, str(file), comment, *state.origin_flags]
    return _queue(state, "Try your edit", arguments, run_id, "/jobs/")


def name(state: AppState, request: Request) -> Response:
    """Give a run the name and the tags that the form has."""
    run_id = state.record(request.path_params["run"]).run_id
    words = field_of(request, "name").strip(), field_of(request, "tags").split()
    mark_run(state.workspace.database, run_id, name=words[0], tags=words[1])
    return RedirectResponse(f"/runs/{run_id}", 303)


def _queue(
    state: AppState, title: str, arguments: Sequence[str], run_id: str, there: str
) -> Response:
    """Put a command into the queue, and lead to the page that says what becomes of it."""
    job = state.queue(title, arguments, about=run_id)
    return RedirectResponse(f"{there}{job.job_id}", 303)


def _named(numbers: Sequence[int]) -> str:
    return f"{'hunk' if len(numbers) == 1 else 'hunks'} {', '.join(map(str, numbers)) or 'none'}"


ADDRESSES = (
    Address("/runs/{run}/decide", decide, "POST"),
    Address("/runs/{run}/edit", edit, "POST"),
    Address("/runs/{run}/name", name, "POST"),
)
