"""What a person decides: accept some or all hunks, reject, or try an own edit. Nothing is accepted past the gate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from ...judges import InputError
from ...optimize.events import RunEvent, Started
from ..actions.accept import accept_hunks, record_review
from ..actions.optimize import start_run
from ..actions.run_summary import read_optimization
from ..store.journal import list_runs
from ..store.run_config import RunConfig
from .app_state import AppState
from .forms import field_of
from .jobs import Done, Job, Report
from .routes import Address

PATIENCE = 0.4
"""Seconds to wait for a decision, so that a quick one is seen at once."""


def decide(state: AppState, request: Request) -> Response:
    """Accept the ticked hunks or the whole diff, or reject the run."""
    run_id = state.read(request.path_params["run"]).run_id
    verb, who, comment = field_of(request, "verb"), field_of(request, "who") or None, field_of(request, "comment")
    if verb in ("reject", "accept-whole"):
        accept = verb == "accept-whole"
        job = Job(title="Accepting the whole diff" if accept else "Rejecting", about=run_id)
        return _start(state, job, lambda _: _review(state, run_id, accept=accept, who=who, comment=comment))
    if verb != "accept":
        raise InputError(f"{verb!r} is none of accept, accept-whole and reject")
    numbers = request.state.form.get("hunk", [])
    if not all(n.isascii() and n.isdigit() and len(n) < 6 for n in numbers):
        raise InputError(f"hunks {', '.join(numbers)!r} are not numbers")
    chosen = sorted({int(n) for n in numbers})
    return _start(
        state,
        Job(title=f"Accepting {_named(chosen).lower()}", about=run_id, doing="composing the prompt"),
        lambda _: _accept(state, run_id, chosen, who=who, comment=comment),
    )


def edit(state: AppState, request: Request) -> Response:
    """Send a person's own criteria through the whole path, as a run of its own."""
    run_id = state.read(request.path_params["run"]).run_id
    run = read_optimization(state.workspace, run_id)
    start = run.after or run.before
    # A browser sends the line ends of a form as CR LF, whatever the text had.
    criteria = field_of(request, "criteria").replace("\r\n", "\n").strip()
    comment = field_of(request, "comment")
    if not criteria:
        raise InputError("the criteria are empty; a judge needs some")
    if criteria == start.criteria.strip():
        raise InputError("the criteria are as they were; there is nothing to try")
    edited = run.before.edited(
        criteria=criteria, system=start.system, reply=start.reply, note=comment or f"a person's edit of run {run_id}"
    )
    edited = replace(edited, examples=start.examples)
    config = run.config.for_edit(edited.to_yaml())
    job = Job(title="Trying your edit", about=run_id, doing="measuring it on validation rows, then the gate")
    return _start(state, job, lambda report: _try_edit(state, config, report))


def _start(state: AppState, job: Job, do: Callable[[Report], Done]) -> Response:
    if not state.jobs.start(job, do):
        message = "Something is being decided at this moment. Wait until it is done, then decide again."
        return HTMLResponse(state.render("error.html", title="One thing at a time", message=message), 409)
    state.jobs.wait(PATIENCE)
    return RedirectResponse("/work", 303)


def _review(state: AppState, run_id: str, *, accept: bool, who: str | None, comment: str) -> Done:
    """Adopt the prompt that the run's own gate has judged, which needs no hunks, or turn it down."""
    with state.writing() as workspace:
        adopted = record_review(workspace, run_id, accept=accept, who=who, comment=comment)
    if adopted is None:
        return Done(message="The run is rejected; its prompt is not registered.", good=True, run_id=run_id)
    message = f"The whole diff: {adopted.name}@{adopted.version} is now what {adopted.name!r} means in this workspace."
    return Done(message=message, good=True, judge=adopted.name, run_id=run_id)


def _try_edit(state: AppState, config: RunConfig, report: Report) -> Done:
    # To start a run is to name its models; these were named by whoever wrote the workspace.
    state.environment.require_named(*config.named_models, who="your edit")
    with state.writing() as workspace:

        def on_event(event: RunEvent) -> None:
            if isinstance(event, Started):
                report(run_id=list_runs(workspace.database)[-1].run_id)

        result = start_run(workspace, config, state.environment, watch=state.jobs.watch, on_event=on_event)
    decision = result.run.decided
    tail = "Accept it on its own page." if decision.accepted else "The registry is as it was."
    message = f"The gate says {decision.outcome}: {decision.reason}. {tail}"
    return Done(message=message, good=decision.accepted, run_id=result.run_id)


def _accept(state: AppState, run_id: str, chosen: list[int], *, who: str | None, comment: str) -> Done:
    with state.writing() as workspace:
        choice = accept_hunks(
            workspace, run_id, chosen, state.environment, who=who, comment=comment, watch=state.jobs.watch
        )
    taken = f"{_named(choice.hunks)} of {choice.of}" if choice.gated else "All hunks"
    outcome = f"{taken}: the gate says {choice.decision.outcome}: {choice.decision.reason}."
    gated_run = choice.gated.run_id if choice.gated else run_id
    if choice.adopted is None:
        return Done(message=f"{outcome} The registry is as it was.", good=False, run_id=gated_run)
    name, version = choice.adopted.name, choice.adopted.version
    message = f"{outcome} {name}@{version} is now what {name!r} means in this workspace."
    return Done(message=message, good=True, judge=name, run_id=gated_run)


def _named(numbers: Sequence[int]) -> str:
    return f"{'Hunk' if len(numbers) == 1 else 'Hunks'} {', '.join(map(str, numbers)) or 'none'}"


ADDRESSES = (Address("/runs/{run}/decide", decide, "POST"), Address("/runs/{run}/edit", edit, "POST"))
