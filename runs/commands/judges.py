"""`judgewright judges`: list, show, compare, label and add judge prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..terminal import say, say_json, say_table, say_word_diff
from .decorators import reads_workspace
from .help import Group
from .judges_add import add

if TYPE_CHECKING:
    from ...judges import Registry
    from ..store.workspace import Workspace

LISTS = """\
Example:   judgewright judges list
Versions:  judgewright judges list groundedness
"""
SHOWS = """\
Example:     judgewright judges show groundedness@1349
Difference:  judgewright judges show groundedness@1349 groundedness@77ab
"""
TAGS = """\
Example:  judgewright judges tag groundedness@1349 production
Use it:   judgewright bench groundedness@production rows.jsonl --model NAME
Undo it:  judgewright judges tag groundedness production --remove
"""


@click.group(cls=Group)
def judges() -> None:
    """List, show, compare, label and add judge prompts."""


@judges.command("list", epilog=LISTS)
@click.argument("name", required=False)
@reads_workspace
def list_(name: str | None, workspace: Workspace, as_json: bool) -> None:
    """List every judge with its current version; with NAME, that judge's versions, newest first."""
    registry = workspace.registry
    if name is not None:
        _say_versions(registry, name, as_json=as_json)
        return
    prompts = [(registry.get(name), len(registry.versions(name))) for name in registry.names()]
    columns = ("name", "version", "inputs", "scale", "versions")
    if as_json:
        values = [(p.name, p.version, p.inputs, p.scale.describe(), n) for p, n in prompts]
        say_json({"judges": [dict(zip(columns, line, strict=True)) for line in values]})
        return
    lines = [
        (p.name, p.version, ", ".join(p.inputs), p.scale.describe(), str(n)) for p, n in prompts
    ]
    say_table(("judge", *columns[1:]), lines, left=4)


def _say_versions(registry: Registry, judge: str, *, as_json: bool) -> None:
    versions = registry.log(judge)
    named = versions[0].name in registry.names()
    tags = registry.tags(versions[0].name) if named else ()
    lines: list[dict[str, Any]] = []  # Any: JSON
    for prompt in versions:
        labels = [tag.label for tag in tags if tag.version == prompt.version]
        lines.append(
            {
                "version": prompt.version,
                "parent": prompt.parent,
                "note": prompt.note,
                "labels": labels,
            }
        )
    if as_json:
        say_json({"log": lines})
        return
    for line in lines:
        marks = "".join(f" [{label}]" for label in line["labels"])
        say(f"{versions[0].name}@{line['version']}{marks}  {line['note']}")


@judges.command(epilog=SHOWS)
@click.argument("judge")
@click.argument("after", required=False)
@reads_workspace
def show(judge: str, after: str | None, workspace: Workspace, as_json: bool) -> None:
    """Print a judge as YAML; with AFTER, what changed from JUDGE to that one."""
    from ...optimize.word_diff import diff_prompts
    from ..actions.verification import verification

    prompt = workspace.registry.get(judge)
    if after is not None:
        other = workspace.registry.get(after)
        if as_json:
            say_json({"diff": prompt.diff(other)})
        elif changes := diff_prompts(prompt, other):
            say_word_diff(changes)
        else:
            say("no difference")
        return
    verified = verification(workspace, prompt)
    if as_json:
        say_json(
            {
                "name": prompt.name,
                "version": prompt.version,
                "yaml": prompt.to_yaml(),
                "verification": verified,
            }
        )
    else:
        say(prompt.to_yaml().rstrip("\n"))
        say(f"# {verified['note']}")


@judges.command(epilog="Example:  judgewright judges use groundedness@1349")
@click.argument("judge")
@reads_workspace
def use(judge: str, workspace: Workspace, as_json: bool) -> None:
    """Make JUDGE (name@version) the current version in this workspace; this also undoes an
    accept.
    """
    from ..actions.keep_judge import make_current
    from ..actions.verification import verification

    moved = make_current(workspace, judge)
    if as_json:
        verified = verification(workspace, workspace.registry.get(moved.name))
        say_json(
            {
                "name": moved.name,
                "version": moved.version,
                "before": moved.before,
                "verification": verified,
            }
        )
    else:
        before = f"(before: {moved.before})"
        say(
            f"{moved.name}@{moved.version} is now what {moved.name!r} means in this workspace"
            f" {before}"
        )
        say(f"  {moved.note}")


@judges.command(epilog=TAGS)
@click.argument("judge")
@click.argument("label")
@click.option(
    "--remove", is_flag=True, help="Take the label away from the version of JUDGE that has it."
)
@reads_workspace
def tag(judge: str, label: str, remove: bool, workspace: Workspace, as_json: bool) -> None:
    """Put LABEL, such as production, on JUDGE (name@version); the version that had it loses it.

    NAME@LABEL then means that version in every command. A label does not change what NAME alone
    means; `use` does.
    """
    from ..actions.keep_judge import put_label

    if remove:
        name = judge.partition("@")[0]
        workspace.registry.untag(name, label)
        if as_json:
            say_json({"name": name, "label": label, "version": None})
        else:
            say(f"no version of {name!r} has the label {label!r} any more")
        return
    moved = put_label(workspace, judge, label)
    if as_json:
        say_json(
            {"name": moved.name, "label": label, "version": moved.version, "before": moved.before}
        )
    else:
        say(
            f"{moved.name}@{label} is now {moved.name}@{moved.version} (before:"
            f" {moved.before or 'none'})"
        )
        say(f"  {moved.note}")


judges.add_command(add)
