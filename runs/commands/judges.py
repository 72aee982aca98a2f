"""`judgewright judges`: list, show, compare and add judge prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import click

from ...judges.models.question import DecisionApi
from ..terminal import answer, say, say_json, say_table, say_word_diff
from .decorators import reads_workspace, takes
from .help import Group
from .judges_add import add
from .judges_cases import cases

if TYPE_CHECKING:
    from ..store.workspace import Workspace

LISTS = """\
Example:   judgewright judges list
Versions:  judgewright judges list groundedness
"""
SHOWS = """\
Example:     judgewright judges show groundedness@1349
Difference:  judgewright judges show groundedness@1349 groundedness@77ab
Question:    judgewright judges show groundedness --as question --api systemone
"""
USES = """\
Example:  judgewright judges use groundedness@1349
"""


@click.group(cls=Group)
def judges() -> None:
    """List, show, compare and add judge prompts."""


@judges.command("list", epilog=LISTS)
@click.argument("name", required=False)
@reads_workspace
def list_(name: str | None, workspace: Workspace, as_json: bool) -> None:
    """List every judge with its current version; with NAME, that judge's versions, newest first."""
    if name is not None:
        _list_versions(name, workspace, as_json=as_json)
        return
    registry = workspace.registry
    columns = ("name", "version", "inputs", "scale", "versions")
    lines: list[tuple[Any, ...]] = []  # Any: JSON
    for prompt in map(registry.get, registry.names()):
        versions = len(registry.versions(prompt.name))
        lines.append(
            (prompt.name, prompt.version, prompt.inputs, prompt.scale.describe(), versions)
        )
    if as_json:
        say_json({"judges": [dict(zip(columns, line, strict=True)) for line in lines]})
        return
    texts = [(*line[:2], ", ".join(line[2]), line[3], str(line[4])) for line in lines]
    say_table(("judge", *columns[1:]), texts, left=4)


def _list_versions(judge: str, workspace: Workspace, *, as_json: bool) -> None:
    registry = workspace.registry
    versions = registry.log(judge)
    name = versions[0].name
    lines: list[dict[str, Any]] = []  # Any: JSON
    texts: list[str] = []
    for prompt in versions:
        lines.append({"version": prompt.version, "parent": prompt.parent, "note": prompt.note})
        texts.append(f"{name}@{prompt.version}  {prompt.note}")
    answer({"log": lines}, "\n".join(texts), as_json=as_json)


@judges.command(epilog=SHOWS)
@click.argument("judge")
@click.argument("after", required=False)
@takes(
    "form",
    None,
    "Print it as a decision model is asked, for a row whose texts are empty.",
    flag="--as",
    choices=("question",),
)
@takes(
    "api",
    "decisions",
    "With --as question: the model's interface.",
    choices=get_args(DecisionApi),
)
@reads_workspace
def show(
    judge: str,
    after: str | None,
    form: str | None,
    api: DecisionApi,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Print a judge as YAML; with AFTER, what changed from JUDGE to that one."""
    from ...judges.asked_question import AskedQuestion
    from ...optimize.word_diff import diff_prompts
    from ..actions.verification import verification

    prompt = workspace.registry.get(judge)
    if form is not None:
        asked = AskedQuestion(prompt=prompt, api=api)
        body = {"name": prompt.name, "version": prompt.version, "api": api}
        body |= {"question": asked.empty_body(), "left_out": asked.left_out}
        answer(body, asked.describe(), as_json=as_json)
        return
    if after is not None:
        other = workspace.registry.get(after)
        if as_json:
            say_json({"diff": prompt.diff(other)})
        elif changes := diff_prompts(prompt, other):
            say_word_diff(changes)
        else:
            say("no difference")
        return
    verified, text = verification(workspace, prompt), prompt.to_yaml()
    body = {"name": prompt.name, "version": prompt.version, "yaml": text, "verification": verified}
    notes = [verified["note"], *([prompt.cases.describe()] if prompt.cases is not None else ())]
    lines = [text.rstrip("\n"), *(f"# {note}" for note in notes)]
    answer(body, "\n".join(lines), as_json=as_json)


@judges.command(epilog=USES)
@click.argument("judge")
@reads_workspace
def use(judge: str, workspace: Workspace, as_json: bool) -> None:
    """Make JUDGE (name@version) the current version in this workspace; this also undoes an
    accept.
    """
    from ..actions.keep_judge import make_current
    from ..actions.verification import verification

    moved = make_current(workspace, judge)
    text = (
        f"{moved.name}@{moved.version} is now what {moved.name!r} means in this workspace"
        f" (before: {moved.before})"
    )
    body = {
        "verification": verification(workspace, workspace.registry.get(moved.name)),
        "name": moved.name,
        "version": moved.version,
        "before": moved.before,
    }
    answer(body, f"{text}\n  {moved.note}", as_json=as_json)


judges.add_command(add)
judges.add_command(cases)
