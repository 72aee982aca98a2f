"""The run after this one: what a person said about its hunks is the objective, and the rest is
filled in as it was.
"""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ...judges import InputError
from ...optimize import ObjectiveWords
from ..actions.describe_models import describe_models
from ..actions.read_objective import saved_slices
from ..actions.run_summary import RunSummary, read_optimization
from ..config.environment import SIMULATED
from ..store.run_command import typed_values
from .app_state import AppState
from .data_files import resolve_data_file
from .forms import field_of
from .routes import Address
from .start_form import GOAL, OTHER, form_fields, goal_fields

MOST_CHARACTERS = 4_000
"""Of an objective, as the form takes it."""
_OF_HUNK = re.compile(r"comment-([0-9]{1,5})")


def hunk_comments(request: Request) -> dict[int, str]:
    """Return what a form says about single hunks, by their numbers."""
    comments: dict[int, str] = {}
    for name in request.state.form:
        if (match := _OF_HUNK.fullmatch(name)) and (
            words := " ".join(field_of(request, name).split())
        ):
            comments[int(match.group(1))] = words
    return dict(sorted(comments.items()))


def next_run(state: AppState, request: Request) -> Response:
    """Lead to the form that starts a run, filled in."""
    run = read_optimization(state.workspace, request.path_params["run"])
    comments = [*hunk_comments(request).values(), " ".join(field_of(request, "comment").split())]
    objective = " ".join(_sentence(words) for words in comments if words) or run.objective.text
    if len(objective) > MOST_CHARACTERS:
        raise InputError(
            f"the comments have {len(objective):,} characters; an objective has {MOST_CHARACTERS:,}"
            " at most"
        )
    fields = _filled_in(state, run, objective)
    if field_of(request, "gate_anyway") == "yes":
        fields["gate_anyway"] = "yes"
    return RedirectResponse(f"/start?{urlencode(fields)}", 303)


def _sentence(words: str) -> str:
    return words if words[-1] in ".!?。！？" else f"{words}."


def _filled_in(state: AppState, run: RunSummary, objective: str) -> dict[str, str]:
    """Return the fields of the form by name."""
    config = run.config
    models = describe_models(state.environment.in_workspace(state.root))
    model_names = {SIMULATED, *(model.name for model in models if model.named is not None)}
    fields = {
        "way": "improve",
        "objective": objective,
        "judge": config.judge.name,
        "data": _data_below(state.root, Path(config.data)),
    }
    fields |= (
        {"model": config.model}
        if config.model in model_names
        else {"model": OTHER, "other": config.model}
    )
    offered = {field.name for group in form_fields().values() for field in group} - {
        *GOAL,
        "proposer",
    }
    typed = typed_values(config)
    if run.only_measured:
        offered -= {"steps"}
    fields |= {name: "\n".join(values) for name, values in typed.items() if name in offered}
    if config.proposer != "human":  # who wrote that run's prompt is not there to write the next
        fields["proposer"] = config.proposer
    fields |= _goal_of(state, run, objective)
    return {name: value for name, value in fields.items() if value}


def _data_below(root: Path, path: Path) -> str:
    """Return the data file as the form names it; empty where it lies elsewhere, so that it is
    chosen again.
    """
    root = root.resolve()
    try:
        return (
            resolve_data_file(root, path.relative_to(root).as_posix()).relative_to(root).as_posix()
        )
    except (ValueError, InputError):
        return ""


def _goal_of(state: AppState, run: RunSummary, objective: str) -> dict[str, str]:
    """Return the run's target and limits where the comments are no objective in exact words: the
    goal then stays as it was.
    """
    try:
        ObjectiveWords(text=objective).read(run.config.judge, slices=saved_slices(state.workspace))
    except InputError:
        return goal_fields(asdict(run.objective))
    return {}


ADDRESSES = (Address("/runs/{run}/next", next_run, "POST"),)
