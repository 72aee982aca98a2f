"""Starting a run: data with its check, judge, model, objective as it is read, the plan, and then
the button.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from ...judges import InputError, JudgewrightError
from ...judges.files import KINDS, RawRoles, mapped_words
from ...optimize import ObjectiveWords, Unsettled
from ...optimize.losses import TARGETS, ClassNames
from ..actions.check_data import CheckOptions
from ..actions.describe_models import describe_models
from ..actions.read_objective import saved_slices
from ..actions.work_jobs import result_of
from ..config.environment import SIMULATED, Environment
from ..demo import DEMO_OPTIONS, DOCUMENTS, JUDGE, demo_rows
from ..store.jobs import Job
from .app_state import AppState
from .data_files import find_data_files, resolve_data_file
from .errors import words_of
from .forms import field_of, read_form
from .job_pages import LEADS_ON
from .model_cards import ModelCard
from .routes import Address, AsyncAddress, LiveAddress
from .row_pages import Json
from .start_columns import OF_INPUT, ColumnTable, column_names
from .start_form import (
    COLUMNS,
    GOAL,
    OTHER,
    StartForm,
    columns_of,
    fitting_judges,
    form_fields,
    goal_fields,
    read_by_model,
)
from .stream import News
from .uploads import keep_rows, keep_upload

READING = "Read the objective"
"""The title of the job in which the model reads an objective."""
NOT_CLEAR = "The objective is in words, and no reading of it is taken yet."
NO_MODEL_READING = '<div id="model-reading" hidden></div>'
"""What stands in its place while the objective has other words."""


def start(state: AppState, request: Request) -> Response:
    """Show the form, filled in as the link says, with what the run would ask and cost if the link
    wants it.
    """
    form = StartForm.of(request)
    return _planned(state, form) if request.query_params.get("plan") == "1" else _page(state, form)


def plan(state: AppState, request: Request) -> Response:
    """Lead to the plan, or to what is not clear; a page to come back to, which an answer to a form
    is not.
    """
    form = StartForm.of(request)
    anchor = "reading" if _reading(state, form).in_words else "plan"
    return RedirectResponse(f"/start?{form.query}&plan=1#{anchor}", 303)


def check(_: AppState, request: Request) -> Response:
    """Lead to the form with the data file checked as its columns were chosen."""
    return RedirectResponse(f"/start?{StartForm.of(request).query}", 303)


def _planned(state: AppState, form: StartForm) -> Response:
    try:
        config = form.config(state)
        environment = _environment(state, *config.named_models)
        config_text = json.dumps(config.to_json(), sort_keys=True)
        planned = state.rows("plan", config_text, environment=environment).head
    except Unsettled:
        return _page(state, form, problem=NOT_CLEAR)
    except JudgewrightError as error:
        return _page(state, form, problem=words_of(error))
    return _page(state, form, planned=planned)


def reading(state: AppState, request: Request) -> Response:
    """Say what the objective means as it stands, and which columns the chosen judge
    wants.
    """
    form = StartForm.of(request)
    markup = state.render(
        "start_reading.html", reading=_reading(state, form), form=form, simulated=SIMULATED
    )
    model_reading = _model_reading(state, form)
    if model_reading is not None:
        same = model_reading.objective == form.objective
        markup += (
            state.render("start_model.html", model_reading=model_reading)
            if same
            else NO_MODEL_READING
        )
    markup += state.render("start_model_card.html", card=_card(state, form), simulated=SIMULATED)
    with suppress(JudgewrightError):  # the page has said what is wrong with the file
        columns = columns_of(state, form, sent=True)
        markup += state.render("start_columns.html", columns=columns, form=form)
    return HTMLResponse(markup)


def run(state: AppState, request: Request) -> Response:
    """Put the run into the queue; the same one goes on where it was begun before, unless the form
    wants a new one.
    """
    form, again = StartForm.of(request), ["--new"] if field_of(request, "new") else []
    title = f"Improve {form.judge} on {Path(form.data).name}"
    return _queue(state, form, title, lambda: [*form.arguments(state), *again])


def measure(state: AppState, request: Request) -> Response:
    """Put the run's beginning into the queue: the benchmark, the slice and the loss, and no
    search.
    """
    form = StartForm.of(request)
    title = f"Measure {form.judge} on {Path(form.data).name}"
    return _queue(state, form, title, lambda: form.arguments(state, steps=0))


def seal(state: AppState, request: Request) -> Response:
    """Put into the queue that a holdout is set aside, and the judge measured on the other rows."""
    form = StartForm.of(request)
    title = f"Seal a holdout of {Path(form.data).name} and measure"
    return _queue(state, form, title, lambda: form.bench_arguments(state, seal=True))


def bench(state: AppState, request: Request) -> Response:
    """Put into the queue that the judge is measured; its page leads on to the figures."""
    form = StartForm.of(request)
    title = f"Measure {form.judge} on {Path(form.data).name}"
    command = partial(form.bench_arguments, state, seal=False)
    return _queue(state, form, title, command, leads_on=True)


def demo(state: AppState, request: Request) -> Response:
    """Put the demo into the queue, on rows that are written into the workspace; its page leads on
    to the run.
    """
    # Under a name of its own: what is accepted there changes no judge that is meant.
    judge = replace(state.workspace.registry.get(JUDGE), name=f"{JUDGE}_demo")
    if judge.name not in state.workspace.registry.names():
        state.workspace.registry.keep(judge)
    rows = b"".join(json.dumps(row).encode() + b"\n" for row in demo_rows(documents=DOCUMENTS))
    data = resolve_data_file(state.root, keep_rows(state.root, "made-up-rows.jsonl", rows))
    command = ["optimize", f"{judge.name}@{judge.version}", str(data), *DEMO_OPTIONS]
    title = "Try it on made-up rows"
    return _queue(state, StartForm(), title, lambda: command, leads_on=True)


async def test_model(state: AppState, request: Request) -> Response:
    """Ask the chosen model once, which may take as long as it does; lead to the form, which says
    what came back.
    """
    request.state.form = await read_form(request)
    form = StartForm.of(request)
    await asyncio.to_thread(state.trials.try_out, form.named_model, _environment(state))
    return RedirectResponse(f"/start?{form.query}#model-card", 303)


async def ask_for_columns(state: AppState, request: Request) -> Response:
    """Ask the chosen model which column is which; lead to the table with what it reads."""
    request.state.form = await read_form(request)
    form = StartForm.of(request)
    more = {name: text for name, text in form.more.items() if name not in COLUMNS}
    form = replace(form, agreed="", more=more)
    await asyncio.to_thread(read_by_model, state, form)
    return RedirectResponse(f"/start?{form.query}#columns", 303)


def ask_model(state: AppState, request: Request) -> Response:
    """Put the model's reading of the objective into the queue, and the loss that it writes."""
    form = StartForm.of(request)
    if not form.objective or not form.named_model:
        return _page(state, form, problem="Write an objective and choose a model first.")
    arguments = ["loss", "write", f"--model={_reader(form)}", f"--judge={form.prompt(state).name}"]
    arguments += [f"--target={form.more['target']}"] if form.more.get("target") else []
    arguments += [f"--guard={line}" for line in form.lines("guards")]
    arguments += [f"--floor={line}" for line in form.lines("floors")]
    # The yes is the button below the reading, which fills in what was read.
    job = state.queue(READING, [*arguments, "--yes", "--", form.objective])
    return RedirectResponse(f"/start?{replace(form, asked=job.job_id).query}#model-reading", 303)


def take(state: AppState, request: Request) -> Response:
    """Fill in the goal as the model read the objective, and lead to the plan."""
    form = StartForm.of(request)
    model_reading = _model_reading(state, form)
    if model_reading is None or not model_reading.body or model_reading.objective != form.objective:
        return _page(state, form, problem="The model has not read these words; ask it again.")
    objective: Mapping[str, Any] = model_reading.body["objective"]  # Any: JSON
    goal = goal_fields(objective) | {"slice": objective.get("slice") or ""}
    taken = {name: value for name, value in goal.items() if value}
    form = replace(form, asked="", more={**form.more, **taken})
    return RedirectResponse(f"/start?{form.query}&plan=1#plan", 303)


def model_reading_live(state: AppState, request: Request) -> News:
    """Tell how far the model's reading of the objective is."""
    model_reading = _model_reading(state, StartForm(asked=request.path_params["job"]))
    markup = state.render("start_model.html", model_reading=model_reading)
    return News(markup, last=model_reading is None or not model_reading.job.open)


async def upload(state: AppState, request: Request) -> Response:
    """Store a data file below the workspace and go on with it."""
    name = await keep_upload(state.root, request)
    return RedirectResponse(f"/start?{urlencode({**request.query_params, 'data': name})}", 303)


def _queue(
    state: AppState,
    form: StartForm,
    title: str,
    arguments: Callable[[], list[str]],
    *,
    leads_on: bool = False,
) -> Response:
    try:
        job = state.queue(title, arguments())
    except JudgewrightError as error:
        return _page(state, form, problem=words_of(error))
    return RedirectResponse(f"/jobs/{job.job_id}{LEADS_ON if leads_on else ''}", 303)


def _page(
    state: AppState, form: StartForm, *, planned: Json | None = None, problem: str = ""
) -> Response:
    """Render the form with whatever is known by now."""
    models = [model for model in describe_models(_environment(state)) if model.named is not None]
    values: dict[str, Any] = {"check": None, "check_problem": "", "judges": [], "price": None}
    columns: ColumnTable | None = None
    if form.data:
        try:
            judges = fitting_judges(state, form.path(state))
            names = column_names(state, form.path(state))
            if not form.judge and set(judges[0][0].inputs) <= set(names):
                form = replace(form, judge=judges[0][0].name)
            form = replace(
                form, model=form.model or SIMULATED
            )  # what the list then shows as chosen
            values["judges"], columns = judges, columns_of(state, form)
            values |= _checked(state, form, columns)
        except JudgewrightError as error:
            values["check_problem"] = words_of(error)
    filled = {
        name: getattr(form, name) for name in ("way", "judge", "model", "other", "objective")
    } | dict(form.more)
    model_reading = _model_reading(state, form)
    body = state.render(
        "start.html",
        ways=not (form.way or form.data),
        card=_card(state, form) if form.data else None,
        carried="".join(f"&{urlencode({name: value})}" for name, value in filled.items() if value),
        form=form,
        files=find_data_files(state.root),
        models=models,
        columns=columns,
        simulated=SIMULATED,
        other=OTHER,
        fields=form_fields(),
        beside=(*COLUMNS, *GOAL),
        goal=[field for field in form_fields()["Goal"] if field.name in GOAL],
        metrics=_metrics(state, form),
        not_clear=NOT_CLEAR,
        kinds=KINDS,
        reading=_reading(state, form) if form.objective else None,
        plan=planned,
        model_reading=model_reading
        if model_reading is not None and model_reading.objective == form.objective
        else None,
        problem=problem,
        **values,
    )
    return HTMLResponse(body, 400 if problem else 200)


def _card(state: AppState, form: StartForm) -> ModelCard | None:
    """Return what is known of the model that is chosen; None where none is."""
    name = form.named_model or ("" if form.model == OTHER else SIMULATED)
    return state.trials.card(name, _environment(state)) if name else None


def _environment(state: AppState, *models: str) -> Environment:
    return state.environment.in_workspace(state.root).naming(*models)


def _checked(state: AppState, form: StartForm, columns: ColumnTable) -> dict[str, Any]:
    """Check the data file as its columns were chosen, or are guessed."""
    path = form.path(state)
    # A judge that there is not is for the plan to complain of.
    prompt = form.prompt(state) if form.judge in state.workspace.registry.names() else None
    read = {line.role: line.name for line in columns.lines}
    # Where a column is still to be chosen the check shows what it finds.
    prompt = None if columns.missing else prompt
    roles = RawRoles(
        inputs={name: read[f"{OF_INPUT}{name}"] for name in prompt.inputs} if prompt else {},
        label=read.get("label"),
        words=mapped_words(columns.label_map),
        id=read.get("id_"),
        group=form.more.get("group", read.get("group")),
    )
    model = form.named_model or None
    options = CheckOptions(roles=roles, prompt=prompt, model=model)
    report, price = state.check(path, options, _environment(state, *([model] if model else [])))
    return {"check": report, "price": price}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What an objective in exact words means, or what is wrong with it."""

    read_as: str = ""
    notes: tuple[str, ...] = ()
    problem: str = ""
    in_words: bool = False
    """Whether a model has to read it, or the person to choose the metric."""
    errors: str = ""
    """What the errors that it fights are, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReading:
    """How the model reads an objective, and the loss that it writes, as far as it has answered."""

    job: Job
    objective: str
    """The words that it was given."""
    ahead: int
    """Jobs that come before it."""
    simulated: bool
    """Whether it is the simulated one, which reads only the sentences of its table."""
    body: Mapping[str, Any]  # Any: JSON
    """What the job printed; empty before it has ended."""
    open_questions: tuple[str, ...] = ()
    """What is open, line by line, where the reading does not settle what is meant."""


def _model_reading(state: AppState, form: StartForm) -> ModelReading | None:
    """Return the reading of the job that the form names; None where there is no such job."""
    jobs = [job for job in state.jobs.list() if job.open or job.job_id == form.asked]
    for job in jobs:
        if job.job_id == form.asked and job.title == READING and state.jobs.is_ours(job):
            ahead = sum(
                other.state in ("queued", "running") and other.seq < job.seq for other in jobs
            )
            body = {} if job.open else result_of(state.jobs, job)
            error: Mapping[str, Any] = body.get("error") or {}  # Any: JSON
            asks_back = error.get("kind") == Unsettled.__name__
            return ModelReading(
                job=job,
                objective=job.arguments[-1],
                ahead=ahead,
                simulated=f"--model={SIMULATED}" in job.arguments,
                body=body if job.good else {},
                open_questions=tuple(str(error["message"]).splitlines()) if asks_back else (),
            )
    return None


def _metrics(state: AppState, form: StartForm) -> tuple[str, ...]:
    """Return the metrics that a person may choose as the target."""
    try:
        classes = ClassNames.of(form.prompt(state).scale)
    except InputError:
        classes = None
    return tuple(classes.metrics) if classes else TARGETS


def _reading(state: AppState, form: StartForm) -> Reading:
    if not form.objective and "target" not in form.more:
        return Reading()
    try:
        judge = form.prompt(state) if form.judge else None
        objective = _objective_words(form).read(judge, slices=saved_slices(state.workspace))
    except Unsettled:
        return Reading(in_words=True)
    except JudgewrightError as error:
        return Reading(problem=words_of(error))
    return Reading(
        read_as=objective.describe(),
        notes=tuple(objective.notes),
        errors=_ERRORS.get(objective.direction or "", ""),
    )


_ERRORS = {
    "fp": "False positive: the judge says yes where people say no.",
    "fn": "False negative: the judge says no where people say yes.",
}


def _objective_words(form: StartForm) -> ObjectiveWords:
    return ObjectiveWords(
        text=form.objective,
        target=form.more.get("target"),
        guards=form.lines("guards"),
        floors=form.lines("floors"),
    )


def _reader(form: StartForm) -> str:
    """Return the model that reads the objective in the run: the optimizer's."""
    return form.more.get("optimizer_model") or form.named_model


ADDRESSES = (
    Address("/start", start),
    Address("/start/plan", plan, "POST"),
    Address("/start/check", check, "POST"),
    Address("/start/reading", reading, "POST"),
    Address("/start/run", run, "POST"),
    Address("/start/measure", measure, "POST"),
    Address("/start/seal", seal, "POST"),
    Address("/start/bench", bench, "POST"),
    Address("/start/demo", demo, "POST"),
    AsyncAddress("/start/test", test_model, "POST"),
    AsyncAddress("/start/columns", ask_for_columns, "POST"),
    Address("/start/ask", ask_model, "POST"),
    Address("/start/take", take, "POST"),
    LiveAddress("/start/ask/{job}/live", model_reading_live),
    AsyncAddress("/start/upload", upload, "POST"),
)
