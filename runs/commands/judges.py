"""`judgewright judges`: the shelf."""

from __future__ import annotations

from pathlib import Path

import click

from ...judges import InputError, parse_label_scale, read_small_text, write_beside
from ..actions.gate_decision import verification
from ..imports import SOURCES, TOOLS, ImportedJudge, ImportOptions, import_judge, list_installed
from ..terminal import inline, say, say_diff, say_json, say_table
from .help import Group
from .options import json_option, open_workspace, workspace_option
from .output_paths import OutFile

IMPORTS = """\
Example:    judgewright judges import trulens groundedness --with .venvs/trulens/bin/python --out trulens.yaml
No NAME:    judgewright judges import mlflow --with .venvs/mlflow/bin/python
A file:     judgewright judges import umbrela qrel_zeroshot_bing.txt --as umbrela
Of ours:    judgewright judges import export handover
"""


@click.group(cls=Group)
def judges() -> None:
    """List, show, compare and import judge prompts."""


@judges.command("list", epilog="Example:  judgewright judges list")
@workspace_option
@json_option
def list_(workspace: Path | None, as_json: bool) -> None:
    """List every judge with its current version."""
    with open_workspace(workspace) as place:
        found = [(place.registry.get(name), len(place.registry.versions(name))) for name in place.registry.names()]
    if as_json:
        keys = ("name", "version", "inputs", "scale", "versions")
        say_json(
            {
                "judges": [
                    dict(zip(keys, (p.name, p.version, p.inputs, p.scale.describe(), n), strict=True)) for p, n in found
                ]
            }
        )
        return
    lines = [(p.name, p.version, ", ".join(p.inputs), p.scale.describe(), str(n)) for p, n in found]
    say_table(("judge", "version", "inputs", "scale", "versions"), lines, left=4)


@judges.command(epilog="Example:  judgewright judges show groundedness@1349")
@click.argument("judge")
@workspace_option
@json_option
def show(judge: str, workspace: Path | None, as_json: bool) -> None:
    """Print a judge as YAML."""
    with open_workspace(workspace) as place:
        prompt = place.registry.get(judge)
        known = verification(place, prompt)
    if as_json:
        say_json({"name": prompt.name, "version": prompt.version, "yaml": prompt.to_yaml(), "verification": known})
    else:
        say(prompt.to_yaml().rstrip("\n"))
        say(f"# {known['note']}")


@judges.command(epilog="Example:  judgewright judges log groundedness")
@click.argument("judge")
@workspace_option
@json_option
def log(judge: str, workspace: Path | None, as_json: bool) -> None:
    """Print a judge's lineage, newest first."""
    with open_workspace(workspace) as place:
        lineage = place.registry.log(judge)
    if as_json:
        say_json({"log": [{"version": p.version, "parent": p.parent, "note": p.note} for p in lineage]})
    for prompt in () if as_json else lineage:
        say(f"{prompt.name}@{prompt.version}  {prompt.note}")


@judges.command(epilog="Example:  judgewright judges diff groundedness@1349 groundedness@77ab")
@click.argument("before")
@click.argument("after")
@workspace_option
@json_option
def diff(before: str, after: str, workspace: Path | None, as_json: bool) -> None:
    """Print what changed from one judge to another."""
    with open_workspace(workspace) as place:
        text = place.registry.get(before).diff(place.registry.get(after))
    if as_json:
        say_json({"diff": text})
    else:
        say_diff(text or "no difference")


@judges.command(epilog="Example:  judgewright judges use groundedness@1349")
@click.argument("judge")
@workspace_option
@json_option
def use(judge: str, workspace: Path | None, as_json: bool) -> None:
    """Make JUDGE (name@version) what its name means in this workspace: the way back from an accept, too."""
    with open_workspace(workspace) as place:
        prompt = place.registry.get(judge)
        before = place.registry.get(prompt.name).version
        place.registry.keep(prompt)
        known = verification(place, prompt)
    if as_json:
        say_json({"name": prompt.name, "version": prompt.version, "before": before, "verification": known})
    else:
        say(f"{prompt.name}@{prompt.version} is now what {prompt.name!r} means in this workspace (before: {before})")
        say(f"  {known['note']}")


@judges.command("import", epilog=IMPORTS)
@click.argument("tool", type=click.Choice(SOURCES))
@click.argument("name", required=False)
@click.option("--with", "interpreter", help="The Python that has the tool [default: this one].")
@click.option("--as", "called", help="What to call the judge [default: TOOL_NAME].")
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
    help="The text that stands for a field of theirs in every row; =@FILE reads it, = leaves the field empty.",
)
@click.option("--scale", help="LOW..HIGH@THRESHOLD, binary or probability [default: as the tool says].")
@click.option(
    "--out",
    type=OutFile(),
    help="Write the judge as YAML [default: keep it on the workspace's shelf].",
)
@workspace_option
@json_option
def import_(
    tool: str,
    name: str | None,
    interpreter: str | None,
    called: str | None,
    fields: tuple[str, ...],
    fills: tuple[str, ...],
    scale: str | None,
    out: Path | None,
    workspace: Path | None,
    as_json: bool,
) -> None:
    """Make a judge that TOOL ships a prompt of ours, to compare with; without NAME, list what TOOL ships.

    NAME is a judge of the installed tool, a file, or an export of ours. Its words stay the tool's.
    """
    if name is None:
        _list_shipped(tool, interpreter, as_json=as_json)
        return
    options = ImportOptions(
        name=called,
        fields=_pairs(fields, "--field"),
        fills={theirs: _text_of(text) for theirs, text in _pairs(fills, "--fill").items()},
        scale=parse_label_scale(scale) if scale else None,
    )
    found = import_judge(tool, name, options=options, interpreter=interpreter)
    if out is not None:
        write_beside(out, found.prompt.to_yaml())
        place, spec = str(out), str(out)
    else:
        with open_workspace(workspace) as home:
            taken = found.prompt.name in home.registry.names()
            place = str(home.registry.keep(found.prompt, current=not taken))
            spec = f"{found.prompt.name}@{found.prompt.version}" if taken else found.prompt.name
    _say_imported(found, place, spec, as_json=as_json)


def _list_shipped(tool: str, interpreter: str | None, *, as_json: bool) -> None:
    if tool not in TOOLS:
        raise InputError(f"{tool} needs NAME: the path of a file")
    names = list_installed(tool, interpreter)
    if as_json:
        say_json({"tool": tool, "names": names})
    for one in () if as_json else names:
        say(inline(one))


def _say_imported(found: ImportedJudge, place: str, spec: str, *, as_json: bool) -> None:
    prompt = found.prompt
    if as_json:
        told = {"name": prompt.name, "version": prompt.version, "path": place, "tool": found.tool}
        told |= {
            "place": found.location,
            "dialect": found.syntax,
            "inputs": prompt.inputs,
            "fields": dict(found.fields),
        }
        say_json(told | {"scale": prompt.scale.describe(), "differences": list(found.differences)})
        return
    say(f"{prompt.name}@{prompt.version} from {inline(found.tool)}, {inline(found.location)}, written to {place}")
    say(f"  Rows need {', '.join(prompt.inputs)}.")
    for difference in found.differences:
        say(f"  {inline(difference)}")
    if "@" in spec:
        say(f"  {prompt.name!r} means what it meant before; to change that: judgewright judges use {spec}")
    say(f"Compare it: judgewright bench {spec} ROWS --model NAME")


def _pairs(given: tuple[str, ...], option: str) -> dict[str, str]:
    for pair in given:
        if not pair.partition("=")[0] or "=" not in pair:
            raise InputError(f"{option} {pair!r} is not THEIRS={'OURS' if option == '--field' else 'TEXT'}")
    return {pair.partition("=")[0]: pair.partition("=")[2] for pair in given}


def _text_of(text: str) -> str:
    if not text.startswith("@"):
        return text
    try:
        return read_small_text(Path(text[1:]))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--fill cannot read {text[1:]!r}: {error}") from None
