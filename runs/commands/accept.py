"""`judgewright diff`, `accept` and `reject`: read what a run proposes, and decide about it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NoReturn

import click

from ...judges import InputError, PromptError
from ...optimize.events import write_part
from ..actions.accept import HunkChoice, NotAccepted, accept_hunks, record_review
from ..actions.run_summary import RunSummary, read_optimization
from ..reports.gate_report import say_gated
from ..reports.run_report import say_prompt_diff
from ..reports.sentences import describe_equal_gain, describe_outcome
from ..store.workspace import Workspace
from ..terminal import answer, inline, progress_on_stderr, say, say_json
from .decorators import named_run, names, reads_workspace, takes, writes_workspace
from .help import Command
from .model_access import allow_origin_option, asking_environment


@click.command(cls=Command, epilog="Example:  judgewright diff 20261121-031502-a1b2c3")
@click.argument("run")
@reads_workspace
def diff(run: str, workspace: Workspace, as_json: bool) -> None:
    """Show what a run wants to change in its prompt, hunk by hunk, and what the gate said."""
    run = named_run(workspace, run, come_to=("decision",))
    summary = read_optimization(workspace, run)
    decision, before, after = summary.decided, summary.before, summary.after
    try:
        hunks, unsplit = _hunks(summary), None
    except PromptError as error:
        hunks, unsplit = [], str(error)
    if as_json:
        versions = {"before": before.version, "after": after.version if after else None}
        text = before.diff(after) if after else ""
        parts = {"hunks": hunks, "unsplit": unsplit, "decision": write_part(decision)}
        say_json({"prompt": versions, "diff": text, **parts})
        return
    say_prompt_diff(summary)
    if unsplit:
        say(f"\nIt cannot be adopted in parts: {unsplit}")
    if hunks:
        say(
            f"\nIts hunks; to adopt some of them: judgewright accept {run} --hunks"
            f" {hunks[0]['number']}"
        )
    for hunk in hunks:
        words = " ".join(
            (*(f"-[{text}]" for text in hunk["old"]), *(f"+[{text}]" for text in hunk["new"]))
        )
        say(f"  {hunk['number']}. {hunk['part']}, {hunk['kind']}: {inline(words)}")
    say(f"\n{describe_outcome(decision.outcome)}. {decision.reason}")
    if evidence := decision.evidence:
        for line in describe_equal_gain(evidence.equal_gain, evidence.target):
            say(f"  {line}")


def _hunks(summary: RunSummary) -> list[dict[str, Any]]:  # Any: JSON
    """Return the hunks of a run's diff."""
    diff = summary.diff()
    return [
        {
            "number": hunk.number,
            "part": hunk.part,
            "kind": hunk.kind,
            "old": list(hunk.old),
            "new": list(hunk.new),
        }
        for hunk in (diff.hunks if diff else ())
    ]


def decision_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a person's decision: who, why, which workspace, and how it is printed."""
    command = takes("comment", "", "Why.")(writes_workspace(command))
    text = "Who decides [default: git's user.name <user.email>, else your user name]."
    return takes("who", None, text, flag="--by")(command)


@click.command(
    cls=Command,
    epilog='Example:  judgewright accept 20261121-031502-a1b2c3 --hunks 1,3 --comment "reads well"',
)
@click.argument("run")
@takes(
    "hunks",
    None,
    "Adopt these hunks alone, such as 1,3: what they make goes through the gate first.",
)
@takes("budget", None, "With --hunks: a new budget for the run, what it has spent included.")
@allow_origin_option
@decision_options
def accept(
    run: str,
    hunks: str | None,
    budget: str | None,
    origins: tuple[str, ...],
    who: str | None,
    comment: str,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Adopt the prompt that a run's gate accepted: it becomes the judge's current version.

    With --hunks the chosen part of the diff makes another prompt, which is adopted if the gate
    accepts that very text; it is a look at the run's holdout, entered in the ledger. `judgewright
    diff` numbers the hunks. Exits 1 when the gate does not accept.
    """
    if hunks is None:
        if budget is not None:
            raise InputError("--budget is for --hunks; to adopt the whole diff nothing is asked")
        _review(workspace, run, adopt=True, who=who, comment=comment, as_json=as_json)
        return
    try:
        chosen = [int(number) for number in names(hunks)]
    except ValueError:
        raise InputError(f"--hunks {hunks!r} is not numbers such as 1,3") from None
    with progress_on_stderr(quiet=as_json) as watch:
        environment = asking_environment(workspace.root, origins=origins)
        run = named_run(workspace, run, come_to=("everything",))
        try:
            choice = accept_hunks(
                workspace,
                run,
                chosen,
                environment,
                who=who,
                comment=comment,
                watch=watch,
                budget=budget,
            )
        except NotAccepted as refusal:
            _refuse(run, refusal, as_json=as_json)
    _finish(choice, as_json=as_json)


@click.command(
    cls=Command,
    epilog='Example:  judgewright reject 20261121-031502-a1b2c3 --comment "rule 3 is too narrow"',
)
@click.argument("run")
@decision_options
def reject(run: str, who: str | None, comment: str, workspace: Workspace, as_json: bool) -> None:
    """Turn a run's prompt down."""
    _review(workspace, run, adopt=False, who=who, comment=comment, as_json=as_json)


def _review(
    workspace: Workspace, run: str, *, adopt: bool, who: str | None, comment: str, as_json: bool
) -> None:
    run = named_run(workspace, run, come_to=("everything",))
    try:
        adopted = record_review(workspace, run, accept=adopt, who=who, comment=comment)
    except NotAccepted as refusal:
        _refuse(run, refusal, as_json=as_json)
    spec = f"{adopted.name}@{adopted.version}" if adopted else None
    text = f"run {run} is rejected; its prompt is not registered"
    if adopted is not None:
        text = f"{spec} is now what {adopted.name!r} means in this workspace"
    body = {"run": run, "accepted": adopted is not None, "judge": spec}
    answer(body, text, as_json=as_json)


def _refuse(run: str, refusal: NotAccepted, *, as_json: bool) -> NoReturn:
    say(f"not accepted: {refusal}", to_stderr=True)
    if as_json:
        say_json({"run": run, "accepted": False, "reason": str(refusal)})
    sys.exit(1)


def _finish(choice: HunkChoice, *, as_json: bool) -> None:
    """Print what became of a choice of hunks, and leave with 1 where the gate did not accept it."""
    adopted = choice.adopted
    if as_json:
        say_json(choice.to_json())
    elif choice.gated is not None:
        say_gated(choice.gated)
    else:
        say(f"the run's own decision stands, {choice.decision.outcome}: {choice.decision.reason}")
    if adopted is None:
        sys.exit(1)
    if not as_json:
        say(
            f"{adopted.name}@{adopted.version} is now what {adopted.name!r} means in this workspace"
        )
