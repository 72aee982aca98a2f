"""Try a person's own criteria on the terms of a run: same rows, goal and gate, as a run of its
own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...judges import InputError
from ...judges.models import Watch, unwatched
from ..config.environment import Environment
from ..store.workspace import Workspace
from .optimize import OnEvent, RunResult, start_run
from .run_summary import RunSummary, read_optimization


def try_edit(
    workspace: Workspace,
    run_id: str,
    criteria: str,
    environment: Environment,
    *,
    comment: str = "",
    watch: Watch = unwatched,
    on_event: OnEvent = lambda _: None,
    tell: Callable[[str], None] = lambda _: None,
) -> RunResult:
    """Send a person's criteria through validation and the gate, in place of those that a run ended
    with.

    Args:
        criteria: The whole text.
        comment: Why; kept as the note of the edited prompt.
        tell: As `start_run` takes it: the same edit again goes on with its run.

    Raises:
        InputError: There is no such run, the criteria are empty or as they were, or only the
            workspace names the address of a model.
        WorldError: The endpoint, the budget or the disk stopped it; the new run can be resumed.
    """
    run = read_optimization(workspace, run_id)
    criteria = require_edit(run, criteria)
    start = run.after or run.before
    edited = run.before.edited(
        criteria=criteria,
        system=start.system,
        reply=start.reply,
        note=comment or f"a person's edit of run {run_id}",
    )
    edited = replace(edited, examples=start.examples, cases=start.cases)
    config = run.config.for_edit(edited.to_yaml())
    # To start a run is to name its models; these were named by whoever wrote the workspace.
    environment.require_named(*config.named_models, who="your edit")
    return start_run(workspace, config, environment, watch=watch, on_event=on_event, tell=tell)


def require_edit(run: RunSummary, criteria: str) -> str:
    """Return the criteria as a prompt has them.

    Raises:
        InputError: They are empty, or as they were.
    """
    # A browser sends the line ends of a form as CR LF, whatever the text had.
    criteria = criteria.replace("\r\n", "\n").strip()
    if not criteria:
        raise InputError("the criteria are empty; a judge needs some")
    if criteria == (run.after or run.before).criteria.strip():
        raise InputError("the criteria are as they were; there is nothing to try")
    return criteria
