"""`judgewright export`: write a judge for use elsewhere, and load it there to prove that it is the
same.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import get_args

import click

from ...judges import InputError
from ...judges.models.question import DecisionApi
from ..actions.export import (
    CONFIGURED,
    MOST_ROWS,
    export_context,
    hand_over,
    read_inputs,
    tool_entry,
)
from ..actions.verification import not_adopted
from ..config.command_options import RoleOptions
from ..config.environment import read_environment
from ..exports import (
    GONE,
    TARGETS,
    Verification,
    build_manifest,
    make_files,
    read_export,
    verify_export,
)
from ..store.workspace import Workspace
from ..terminal import answer, inline, say, say_json
from .decorators import REQUIRED, json_option, options_of, reads_workspace, takes
from .help import Group
from .output_paths import OutFile

interpreter_option = takes(
    "interpreter",
    None,
    "The Python, or node, that has the tool [default: that of tools.yaml, or this one].",
    flag="--with",
)


class _WriteUnlessNamed(Group):
    """`export JUDGE --to T` writes; `export verify PATH` verifies."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        return super().resolve_command(ctx, args if args[0] in self.commands else ["judge", *args])


class _TargetName(click.Choice[str]):
    """A target's name; of one that is gone it says where its users go."""

    def __init__(self) -> None:
        super().__init__(sorted(TARGETS))

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value in GONE:
            raise InputError(GONE[value])
        return super().convert(value, param, ctx)


@click.group(
    cls=_WriteUnlessNamed,
    context_settings={"ignore_unknown_options": True},
    epilog=(
        "Example:  judgewright export groundedness --to mlflow --out handover && judgewright export"
        " verify handover"
    ),
)
def export() -> None:
    """Write a judge for another tool: `export JUDGE --to TARGET --out PATH`, then `export verify
    PATH`.
    """


@export.command(
    epilog="Example:  judgewright export groundedness --to yaml --out groundedness.yaml"
)
@click.argument("judge")
@takes("target", REQUIRED, "The tool or format.", type=_TargetName(), flag="--to")
@takes(
    "out",
    None,
    "Folder to write, with manifest.json; a name with a suffix for an export of one file"
    " [default: print it].",
    type=OutFile(makes_folder=True, may_be_folder=True),
)
@takes(
    "api",
    None,
    "Ask decision models of this interface, as a question, in place of chat models.",
    choices=get_args(DecisionApi),
)
@takes("force", False, "Overwrite what is there, also files that no export wrote.")
@click.option(
    "--push",
    "registry",
    metavar="[URI]",
    is_flag=False,
    flag_value=CONFIGURED,
    help=(
        "Also store it in the tool's registry (MLflow, TruLens, ...): at this address, or at that"
        " of tools.yaml."
    ),
)
@takes("verify", False, "Also load it in the tool; what is not the same judge is not pushed.")
@interpreter_option
@reads_workspace
def judge(
    judge: str,
    target: str,
    out: Path | None,
    api: DecisionApi | None,
    force: bool,
    registry: str | None,
    verify: bool,
    interpreter: str | None,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Write JUDGE (name, name@version or YAML file) with where it was gated, simulated models
    marked as such.

    With --verify it exits 1 where the tool does not send what Judgewright would, nor what the
    manifest declares.
    """
    chosen = TARGETS[target]
    if registry is not None and chosen.push is None:
        able = ", ".join(name for name, one in TARGETS.items() if one.push)
        raise InputError(
            f"{chosen.tool} has no registry to push to", hint=f"these have one: {able}"
        )
    prompt = workspace.registry.get(judge)
    context = export_context(workspace, prompt, api=api)
    about: dict[str, object] = {"judge": prompt.name, "version": prompt.version, "target": target}
    origin = {"provenance": dict(context.provenance)}
    if out is None and registry is None and not verify:
        context, bundle = make_files(context, chosen)
        if len(bundle.files) > 1 and not as_json:
            raise InputError(
                f"--to {target} writes {len(bundle.files)} files", hint="name a folder with --out"
            )
        if as_json:
            body = build_manifest(context, chosen, bundle)
            say_json(about | {"manifest": body} | origin | {"files": dict(bundle.files)})
        else:
            say(next(iter(bundle.files.values())).rstrip("\n"))
        return
    done = hand_over(
        context,
        chosen,
        out,
        environment=read_environment(),
        force=force,
        verify=verify,
        push=registry,
        interpreter=interpreter,
    )
    body = done.to_json()
    if as_json:
        say_json(about | body | origin | ({"path": str(out)} if out else {}))
    else:
        _say_written(body["manifest"], out)
        if note := not_adopted(workspace, prompt):
            say(f"  note: {note}")
        if done.verified:
            _say_verified(replace(done.verified, differences=()))  # they stand above
    if done.verified and not done.verified.passed:
        sys.exit(1)


def _say_written(body: Mapping[str, object], out: Path | None) -> None:
    judge, differences = body["judge"], body["declared_differences"]
    assert isinstance(judge, dict)
    assert isinstance(differences, list)
    tag = " (simulated)" if body["simulated"] else ""
    where = f" written to {out}," if out else ""
    say(f"{judge['name']}@{judge['version']}{tag}{where} for {body['tool']}")
    for difference in differences:
        say(f"  differs: {inline(str(difference))}")
    if pushed := body.get("pushed"):
        assert isinstance(pushed, dict)
        say(f"  pushed to {inline(str(pushed['to']))} as {inline(str(pushed['as']))}")
    if out is None:
        return
    say("  use it:")
    for line in str(body["usage"]).splitlines():
        say(f"    {line}")
    if TARGETS[str(body["target"])].check:
        say(f"Prove it with: judgewright export verify {out}")


def _say_verified(report: Verification) -> None:
    say(
        f"{report.judge} in {inline(report.tool)}: {report.rows} rows rendered, {report.replies}"
        " forms of reply read"
    )
    for kind, lines in (
        ("problem", report.problems),
        ("declared", report.differences),
        ("note", report.notes),
    ):
        for line in lines:
            say(f"  {kind}: {inline(line)}")
    say("verified" if report.passed else "NOT the same judge")


@export.command(
    epilog="Example:  judgewright export verify handover --with .venvs/mlflow/bin/python"
)
@click.argument("path", type=click.Path(path_type=Path, exists=True))
@interpreter_option
@takes("rows", None, f"Ask about its first {MOST_ROWS} rows too.", kind="path")
@options_of(roles=RoleOptions)
@json_option
def verify(
    path: Path,
    interpreter: str | None,
    rows: Path | None,
    roles: RoleOptions,
    as_json: bool,
) -> None:
    """Load an export in the real tool and let it ask an endpoint on this machine; compare requests,
    scores, decisions.

    Exits 0 where the tool does what Judgewright would, or what the manifest declares; 1 where it
    does not.
    """
    export = read_export(path)
    written_for = export.body["target"]
    if interpreter is None and written_for in TARGETS:
        interpreter = tool_entry(read_environment(), TARGETS[written_for]).program
    report = verify_export(
        path,
        TARGETS,
        interpreter=interpreter,
        rows=read_inputs(export.judge, rows, roles) if rows is not None else (),
    )
    body = {"passed": report.passed, **asdict(report)}
    answer(body, partial(_say_verified, report), as_json=as_json)
    if not report.passed:
        sys.exit(1)
