"""`judgewright export`: write a judge for use elsewhere, and load it there to prove that it is the same."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import click

from ...judges import InputError
from ..actions.export import export_context
from ..exports import TARGETS, build_manifest, push_export, read_export, verify_export, write_export
from ..exports.judge_module import stem
from ..store.workspace import Workspace
from ..terminal import inline, say, say_json
from .help import Group
from .options import json_option, reads_workspace
from .output_paths import OutFile


class _WriteUnlessNamed(Group):
    """`export JUDGE --to T` writes; `export verify PATH` verifies."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        return super().resolve_command(ctx, args if args[0] in self.commands else ["judge", *args])


@click.group(
    cls=_WriteUnlessNamed,
    context_settings={"ignore_unknown_options": True},
    epilog="Example:  judgewright export groundedness --to mlflow --out handover && judgewright export verify handover",
)
def export() -> None:
    """Write a judge for another tool: `export JUDGE --to TARGET --out PATH`, then `export verify PATH`."""


@export.command(epilog="Example:  judgewright export groundedness --to messages --out groundedness.json")
@click.argument("judge")
@click.option("--to", "target", type=click.Choice(sorted(TARGETS)), required=True, help="The tool or format.")
@click.option(
    "--out",
    type=OutFile(makes_folder=True, may_be_folder=True),
    help="Folder to write, with manifest.json; a name with a suffix for an export of one file [default: print it].",
)
@click.option("--force", is_flag=True, help="Overwrite what is there, also files that no export wrote.")
@click.option("--push", "uri", help="Also store it in the tool's registry at this address (MLflow, TruLens, ...).")
@click.option("--with", "interpreter", help="With --push: the Python that has the tool [default: this one].")
@reads_workspace
@json_option
def judge(
    judge: str,
    target: str,
    out: Path | None,
    force: bool,
    uri: str | None,
    interpreter: str | None,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Write JUDGE (name, name@version or YAML file) with where it was gated, simulated models marked as such."""
    if uri is not None and (out is None or TARGETS[target].push is None):
        able = ", ".join(name for name, one in TARGETS.items() if one.push)
        raise InputError("--push needs a folder (--out) and a tool with a registry", hint=f"these have one: {able}")
    prompt = workspace.registry.get(judge)
    context = export_context(workspace, prompt)
    files: dict[str, str] = {}
    if out is not None:
        written = write_export(context, TARGETS[target], out, force=force)
        body, text = written.body, None
        if uri is not None:
            name = push_export(written.folder, stem(prompt), TARGETS[target], uri, interpreter=interpreter)
            body = body | {"pushed": {"to": uri, "as": name}}
    else:
        bundle = TARGETS[target].write(context)
        if len(bundle.files) > 1 and not as_json:
            raise InputError(f"--to {target} writes {len(bundle.files)} files", hint="name a folder with --out")
        body, text = build_manifest(context, TARGETS[target], bundle), next(iter(bundle.files.values()))
        files = dict(bundle.files)
    if as_json:
        told = {"judge": prompt.name, "version": prompt.version, "target": target, "manifest": body}
        say_json(told | {"provenance": dict(context.provenance)} | ({"path": str(out)} if out else {"files": files}))
    elif text is not None:
        say(text.rstrip("\n"))
    else:
        _say_written(body, str(out))


def _say_written(body: Mapping[str, object], out: str) -> None:
    judge, differences = body["judge"], body["declared_differences"]
    assert isinstance(judge, dict)
    assert isinstance(differences, list)
    tag = " (gated on a simulated model)" if body["simulated"] else ""
    say(f"{judge['name']}@{judge['version']}{tag} written to {out}, for {body['tool']}")
    for difference in differences:
        say(f"  differs: {inline(str(difference))}")
    if pushed := body.get("pushed"):
        assert isinstance(pushed, dict)
        say(f"  pushed to {inline(str(pushed['to']))} as {inline(str(pushed['as']))}")
    say("  use it:")
    for line in str(body["usage"]).splitlines():
        say(f"    {line}")
    if TARGETS[str(body["target"])].check:
        say(f"Prove it with: judgewright export verify {out}")


@export.command(epilog="Example:  judgewright export verify handover --with .venvs/mlflow/bin/python")
@click.argument("path", type=click.Path(path_type=Path, exists=True))
@click.option("--to", "target", type=click.Choice(sorted(TARGETS)), help="The tool it was written for, to make sure.")
@click.option("--with", "interpreter", help="The Python, or node, that has the tool [default: this one].")
@json_option
def verify(path: Path, target: str | None, interpreter: str | None, as_json: bool) -> None:
    """Load an export in the real tool, render rows that are hard to render, and read replies back.

    Exits 0 where the tool sends what Judgewright would, or what the manifest declares; 1 where it does not.
    """
    if target and target != (written_for := read_export(path).body["target"]):
        raise InputError(f"{path} was written for {written_for}, not for {target}")
    report = verify_export(path, TARGETS, interpreter=interpreter)
    if as_json:
        say_json({"passed": report.passed, **asdict(report)})
    else:
        say(f"{report.judge} in {inline(report.tool)}: {report.rows} rows rendered, {report.replies} replies read")
        for kind, lines in (("problem", report.problems), ("declared", report.differences), ("note", report.notes)):
            for line in lines:
                say(f"  {kind}: {inline(line)}")
        say("verified" if report.passed else "NOT the same judge")
    if not report.passed:
        sys.exit(1)
