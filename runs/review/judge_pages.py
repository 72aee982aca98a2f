"""The judges: their versions with authors and figures, the difference between any two, and
the way back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ...judges import InputError, JudgePrompt
from ...judges.asked_question import AskedQuestion
from ...judges.prompt import check_name
from ...optimize.word_diff import diff_prompts, prompt_parts
from ..actions.keep_judge import make_current
from ..reports.numbers import BRIEF
from ..reports.versions_chart import MeasuredVersion, versions_chart
from .app_state import AppState
from .errors import words_of
from .forms import field_of
from .judge_history import VersionHistory, judge_history
from .paged import Paged
from .routes import Address

VERSIONS_PER_PAGE = 20
SHOWN = (*BRIEF, "accuracy_grades", "kappa_grades")
"""Metrics of a version that are shown; a version has the first four, or, of a choice, the last two.
"""
MOST_RUNS = 6
"""Of a version, the newest, in the picture."""
MOST_DOTS = 60
VERSION = re.compile(r"[0-9a-f]{4,12}")
"""As an address or a form may have one."""


def judges(state: AppState, request: Request) -> Response:
    """List the judges."""
    registry = state.workspace.registry
    listed = [(registry.get(name), registry.versions(name)) for name in registry.names()]
    return state.page("judges.html", judges=listed)


def judge(state: AppState, request: Request) -> Response:
    """Show a judge's versions as a line, newest last, and the text of the current one."""
    name = name_of(request)
    history = judge_history(state.workspace, name)
    registry = state.workspace.registry
    current = registry.get(name) if name in registry.names() else None
    page = Paged(history, request.query_params.get("page", "1"), VERSIONS_PER_PAGE)
    asked = request.query_params.get("metric", "")
    return state.page(
        "judge.html",
        name=name,
        page=page,
        kept=[one.node.version for one in history if one.node.kept],
        current=current,
        question=_question(current) if current else "",
        parts=prompt_parts(current) if current else (),
        brief=SHOWN,
        **_over_versions(history, asked),
    )


def _question(prompt: JudgePrompt) -> str:
    """Return the judge as a decision model is asked, or why none can be."""
    try:
        return AskedQuestion(prompt=prompt, api="decisions").describe()
    except InputError as error:
        return words_of(error)


def chart(state: AppState, request: Request) -> Response:
    """Return a metric of a judge over its versions, which other pages fetch."""
    name = name_of(request)
    over = _over_versions(judge_history(state.workspace, name), "")
    return state.page("judge_chart.html", name=name, **over)


def _over_versions(history: Sequence[VersionHistory], metric: str) -> dict[str, object]:
    """Return what the template of a metric over versions names.

    Args:
        history: The versions.
        metric: Which one; where none of them has it, the first that one has.
    """
    figures = [
        (one.node.version, figure) for one in history for figure in one.figures[:MOST_RUNS][::-1]
    ]
    offered = [name for name in SHOWN if any(name in one["metrics"] for _, one in figures)]
    metric = metric if metric in offered else next(iter(offered), "")
    measured = [
        MeasuredVersion(
            version=version,
            figure=one["metrics"][metric],
            **{name: one[name] for name in ("data", "model", "simulated", "run_id")},
        )
        for version, one in figures
        if one["metrics"].get(metric, {}).get("value") is not None
    ][-MOST_DOTS:]
    drawn = versions_chart(metric, measured) if len(measured) > 1 else ""
    return {"metric": metric, "metrics": offered, "measured": measured, "picture": drawn}


def difference(state: AppState, request: Request) -> Response:
    """Show word by word what differs between two versions."""
    name, registry = name_of(request), state.workspace.registry
    before, after = (
        registry.get(f"{name}@{version_of(request.query_params.get(side, ''))}")
        for side in ("from", "to")
    )
    versions = [prompt.version for prompt in registry.versions(name)]
    return state.page(
        "judge_diff.html",
        name=name,
        before=before,
        after=after,
        parts=diff_prompts(before, after),
        kept=versions,
    )


def use(state: AppState, request: Request) -> Response:
    """Make a version what the judge's name means."""
    name, version = name_of(request), version_of(field_of(request, "version"))
    make_current(state.workspace, f"{name}@{version}", expected=field_of(request, "expected"))
    return RedirectResponse(f"/judges/{name}", 303)


def name_of(request: Request) -> str:
    """Return the judge's name that an address has."""
    # A name and no more: the registry would take `x.yaml` for a file of the folder the server was
    # started in.
    return check_name(request.path_params["name"])


def version_of(text: str) -> str:
    """Return a version that an address or a form has."""
    if not VERSION.fullmatch(text):
        raise InputError(f"{text!r} is no version", hint="choose one of the judge's page")
    return text


ADDRESSES = (
    Address("/judges", judges),
    Address("/judges/{name}", judge),
    Address("/judges/{name}/chart", chart),
    Address("/judges/{name}/diff", difference),
    Address("/judges/{name}/use", use, "POST"),
)
