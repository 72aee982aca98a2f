"""Handing a version of a judge over to a tool: what differs there, the archive, loading it there,
its registry.
"""

from __future__ import annotations

import re
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ...judges import InputError
from ..actions.export import export_context, tool_entry
from ..config.tools_file import EXAMPLE, hide_password
from ..exports import TARGETS, ExportContext, Refused, Target, named_target, pack_export
from ..store.jobs import Job
from .app_state import AppState
from .forms import field_of
from .job_pages import handed_over
from .judge_pages import name_of, version_of
from .routes import Address
from .row_pages import Json

MOST_SHOWN = 20_000
"""Characters of a file that are shown."""


def tools(state: AppState, request: Request) -> Response:
    """List the tools that a version can be handed to, with how many differences each declares."""
    context = _context(state, request)
    prompt, rule = context.prompt, context.rule
    key = (prompt.name, prompt.version, rule.version)
    offers = state.offers.get(key, lambda: [_offer(context, one) for one in TARGETS.values()])
    return state.page("handover.html", context=context, offers=offers)


def _offer(context: ExportContext, target: Target) -> Json:
    """Try what a tool would make of a judge; nothing is written."""
    try:
        packed = pack_export(context, target)
    except Refused as error:
        return {"target": target, "refused": str(error), "files": 0, "differences": ()}
    differences = packed.body["declared_differences"]
    return {
        "target": target,
        "refused": "",
        "files": len(packed.files) - 1,
        "differences": list(differences),
    }


def tool(state: AppState, request: Request) -> Response:
    """Show what a tool would get: first what is not the same there, then the files."""
    context, target = _context(state, request), _target(request)
    values: dict[str, Any] = {"context": context, "target": target, "packed": None, "refused": ""}
    try:
        values["packed"] = pack_export(context, target)
    except Refused as error:
        values["refused"] = str(error)
    entry = tool_entry(state.environment, target)
    return state.page(
        "handover_tool.html",
        most=MOST_SHOWN,
        loads=target.check is not None and bool(entry.program or not target.requires),
        registry=hide_password(entry.registry) if entry.registry and target.push else "",
        tools_file=str(state.environment.tools),
        example=_example(target),
        last=_last_jobs(state, context, target),
        **values,
    )


def archive(state: AppState, request: Request) -> Response:
    """Send the files as one archive."""
    packed = pack_export(_context(state, request), _target(request))
    named = {"content-disposition": f'attachment; filename="{packed.name}.zip"'}
    return Response(packed.to_zip(), media_type="application/zip", headers=named)


def verify(state: AppState, request: Request) -> Response:
    """Have the tool load it, as a job."""
    context, target = _context(state, request), _target(request)
    return _queue(
        state, context, target, f"Verify {context.prompt.name} in {target.tool}", ["--verify"]
    )


def ask_push(state: AppState, request: Request) -> Response:
    """Ask once more before anything leaves this machine."""
    context, target = _context(state, request), _target(request)
    packed = pack_export(context, target)
    registry = _registry(state, target)
    return state.page(
        "handover_push.html", context=context, target=target, packed=packed, registry=registry
    )


def push(state: AppState, request: Request) -> Response:
    """Store it in the registry that the question named, as a job; it is verified before."""
    context, target = _context(state, request), _target(request)
    if field_of(request, "to") != _registry(state, target):
        raise InputError("tools.yaml names another registry by now", hint="go back and look again")
    title = f"Push {context.prompt.name} to {target.tool}"
    return _queue(state, context, target, title, ["--verify", "--push"])


def _context(state: AppState, request: Request) -> ExportContext:
    name, version = name_of(request), version_of(request.path_params["version"])
    prompt = state.workspace.registry.get(f"{name}@{version}")
    runs = state.records()
    # Where it was gated stands in the runs; they are all read only when one of them has something
    # new.
    stamp = (name, version, len(runs), max((run.updated for run in runs), default=""))
    return state.exports.get(stamp, lambda: export_context(state.workspace, prompt))


def _target(request: Request) -> Target:
    return named_target(request.path_params["target"])


def _registry(state: AppState, target: Target) -> str:
    """Return the registry without its password."""
    entry = tool_entry(state.environment, target)
    if target.push is None or not entry.registry:
        raise InputError(
            f"no registry is named for {target.tool}",
            hint=f"in {state.environment.tools}: {EXAMPLE}",
        )
    return hide_password(entry.registry)


def _example(target: Target) -> str:
    """Return a line of tools.yaml for a tool, without a registry where it has none."""
    line = EXAMPLE.replace("mlflow", target.name)
    return line if target.push else re.sub(r", push: [^}]+", "", line)


def _queue(
    state: AppState, context: ExportContext, target: Target, title: str, flags: list[str]
) -> Response:
    prompt = context.prompt
    job = state.queue(
        title, ["export", f"{prompt.name}@{prompt.version}", f"--to={target.name}", *flags]
    )
    return RedirectResponse(f"/jobs/{job.job_id}", 303)


def _last_jobs(state: AppState, context: ExportContext, target: Target) -> dict[str, Job]:
    """Return the last job that verified this export and the last that pushed it, by what they
    did.
    """
    address = f"/judges/{context.prompt.name}/handover/{context.prompt.version}/{target.name}"
    last: dict[str, Job] = {}
    for job in state.jobs.list():
        if handed_over(job) == address and state.jobs.is_ours(job):
            last["push" if "--push" in job.arguments else "verify"] = job
    return last


_PLACE = "/judges/{name}/handover/{version}"
ADDRESSES = (
    Address(_PLACE, tools),
    Address(f"{_PLACE}/{{target}}", tool),
    Address(f"{_PLACE}/{{target}}/archive", archive),
    Address(f"{_PLACE}/{{target}}/verify", verify, "POST"),
    Address(f"{_PLACE}/{{target}}/push", ask_push),
    Address(f"{_PLACE}/{{target}}/push", push, "POST"),
)
