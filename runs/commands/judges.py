"""`judgewright judges`: list, show, compare, switch, make, add and import judge prompts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...judges.errors import InputError
from ..terminal import inline, say, say_diff, say_json, say_table
from .help import Group
from .judges_add import add, read_fills
from .judges_new import new
from .options import json_option, read_pairs, reads_workspace
from .output_paths import OutFile

if TYPE_CHECKING:
    from ..imports import ImportedJudge
    from ..store.workspace import Workspace

SOURCES = (
    "deepeval",
    "export",
    "file",
    "langchain",
    "mlflow",
    "promptfoo",
    "ragas",
    "trulens",
    "umbrela",
)
"""The names in `imports.SOURCES`, written out: the help must not import the readers."""
IMPORTS = """\
Example:    judgewright judges import trulens groundedness --with .venvs/trulens/bin/python --out trulens.yaml
No NAME:    judgewright judges import mlflow --with .venvs/mlflow/bin/python
A file:     judgewright judges import umbrela qrel_zeroshot_bing.txt --as umbrela
Of ours:    judgewright judges import export handover
"""  # noqa: E501
TAGS = """\
Example:  judgewright judges tag groundedness@1349 production
Use it:   judgewright bench groundedness@production rows.jsonl --model NAME
Undo it:  judgewright judges tag groundedness production --remove
"""


@click.group(cls=Group)
def judges() -> None:
    """List, show, compare, make, add and import judge prompts."""


@judges.command("list", epilog="Example:  judgewright judges list")
@reads_workspace
@json_option
def list_(workspace: Workspace, as_json: bool) -> None:
    """List every judge with its current version."""
    registry = workspace.registry
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


@judges.command(epilog="Example:  judgewright judges show groundedness@1349")
@click.argument("judge")
@reads_workspace
@json_option
def show(judge: str, workspace: Workspace, as_json: bool) -> None:
    """Print a judge as YAML."""
    from ..actions.gate_decision import verification

    prompt = workspace.registry.get(judge)
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


@judges.command(epilog="Example:  judgewright judges log groundedness")
@click.argument("judge")
@reads_workspace
@json_option
def log(judge: str, workspace: Workspace, as_json: bool) -> None:
    """Print a judge's lineage, newest first."""
    lineage = workspace.registry.log(judge)
    tags = (
        workspace.registry.tags(lineage[0].name)
        if lineage[0].name in workspace.registry.names()
        else ()
    )
    labels = {p.version: [tag.label for tag in tags if tag.version == p.version] for p in lineage}
    if as_json:
        lines = ({"version": p.version, "parent": p.parent, "note": p.note} for p in lineage)
        say_json({"log": [line | {"labels": labels[str(line["version"])]} for line in lines]})
        return
    for prompt in lineage:
        marks = "".join(f" [{label}]" for label in labels[prompt.version])
        say(f"{prompt.name}@{prompt.version}{marks}  {prompt.note}")


@judges.command(epilog="Example:  judgewright judges diff groundedness@1349 groundedness@77ab")
@click.argument("before")
@click.argument("after")
@reads_workspace
@json_option
def diff(before: str, after: str, workspace: Workspace, as_json: bool) -> None:
    """Print what changed from one judge to another."""
    text = workspace.registry.get(before).diff(workspace.registry.get(after))
    if as_json:
        say_json({"diff": text})
    else:
        say_diff(text or "no difference")


@judges.command(epilog="Example:  judgewright judges use groundedness@1349")
@click.argument("judge")
@reads_workspace
@json_option
def use(judge: str, workspace: Workspace, as_json: bool) -> None:
    """Make JUDGE (name@version) the current version in this workspace; this also undoes an
    accept.
    """
    from ..actions.gate_decision import verification
    from ..actions.keep_judge import make_current

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
@json_option
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


@judges.command("import", epilog=IMPORTS)
@click.argument("tool", type=click.Choice(SOURCES))
@click.argument("name", required=False)
@click.option("--with", "interpreter", help="The Python that has the tool [default: this one].")
@click.option("--as", "new_name", help="What to call the judge [default: TOOL_NAME].")
@click.option(
    "--field",
    "fields",
    multiple=True,
    metavar="THEIRS=OURS",
    help="What to call a field, in place of a guess.",
)
@click.option(
    "--fill",
    "fills",
    multiple=True,
    metavar="THEIRS=TEXT",
    help=(
        "The text that stands for a field of theirs in every row; =@FILE reads it, = leaves the"
        " field empty."
    ),
)
@click.option(
    "--scale",
    help=(
        "LOW..HIGH@THRESHOLD, binary, probability, or low-probability where low is good [default:"
        " as the tool says]."
    ),
)
@click.option(
    "--out", type=OutFile(), help="Write the judge as YAML [default: keep it in the workspace]."
)
@reads_workspace
@json_option
def import_(
    tool: str,
    name: str | None,
    interpreter: str | None,
    new_name: str | None,
    fields: tuple[str, ...],
    fills: tuple[str, ...],
    scale: str | None,
    out: Path | None,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Import a judge that TOOL ships as a prompt, to compare with; without NAME, list what TOOL
    ships.

    NAME is a judge of the installed tool, a file, or an export of ours. The wording stays the
    tool's.
    """
    from ...judges.scale import parse_label_scale
    from ..actions.keep_judge import keep_judge
    from ..imports import ImportOptions, import_judge

    if name is None:
        _list_shipped(tool, interpreter, as_json=as_json)
        return
    options = ImportOptions(
        name=new_name,
        fields=read_pairs(fields, "--field", "THEIRS=OURS", may_be_empty=True),
        fills=read_fills(fills),
        scale=parse_label_scale(scale) if scale else None,
    )
    imported = import_judge(tool, name, options=options, interpreter=interpreter)
    path, spec = keep_judge(workspace.registry, imported.prompt, out)
    _say_imported(imported, path, spec, as_json=as_json)


judges.add_command(add)
judges.add_command(new)


def _list_shipped(tool: str, interpreter: str | None, *, as_json: bool) -> None:
    from ..imports import TOOLS, list_installed

    if tool not in TOOLS:
        raise InputError(f"{tool} needs NAME: the path of a file")
    names = list_installed(tool, interpreter)
    if as_json:
        say_json({"tool": tool, "names": names})
        return
    for judge in names:
        say(inline(judge))


def _say_imported(imported: ImportedJudge, path: str, spec: str, *, as_json: bool) -> None:
    prompt = imported.prompt
    if as_json:
        say_json(
            {
                "name": prompt.name,
                "version": prompt.version,
                "path": path,
                "tool": imported.tool,
                "place": imported.location,
                "dialect": imported.syntax,
                "inputs": prompt.inputs,
                "fields": dict(imported.fields),
                "scale": prompt.scale.describe(),
                "differences": list(imported.differences),
            }
        )
        return
    origin = f"{inline(imported.tool)}, {inline(imported.location)}"
    say(f"{prompt.name}@{prompt.version} from {origin}, written to {path}")
    say(f"  Rows need {', '.join(prompt.inputs)}.")
    for difference in imported.differences:
        say(f"  {inline(difference)}")
    if "@" in spec:
        say(
            f"  {prompt.name!r} means what it meant before; to change that: judgewright judges use"
            f" {spec}"
        )
    say(f"Compare it: judgewright bench {spec} ROWS --model NAME")
