"""Options are made from dataclasses, and help shows those that people use."""

from collections.abc import Iterator
from dataclasses import fields

import click
import pytest
from click.testing import CliRunner

from judgewright.judges import Registry
from judgewright.optimize.options import GateOptions, SearchOptions, option_fields
from judgewright.optimize.settings import RunSettings
from judgewright.runs.cli import cli
from judgewright.runs.commands.help import GROUPS
from judgewright.runs.config.optimize_options import OptimizeOptions
from judgewright.runs.store.run_config import RunConfig

MOST = 20
"""Options that `--help` of a command shows."""


def leaves(path: tuple[str, ...], command: click.Command) -> Iterator[tuple[str, click.Command]]:
    """Every command that is no group, by what is typed to call it."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            if inner.hidden:  # a word that was retired
                continue
            yield from leaves((*path, name), inner)
    else:
        yield " ".join(path), command


def test_what_a_run_stores_is_what_the_optimizer_is_handed() -> None:
    """One field is the option, the stored key and the setting; nothing is copied by hand."""
    stored = {field.name for field in fields(RunConfig)}
    settings = {field.name for field in fields(RunSettings)}
    for options in (SearchOptions, GateOptions):
        assert {field.name for field, _ in option_fields(options)} <= stored & settings
    config = RunConfig(
        prompt="", data="", objective="", model="", steps=3, slice_columns=("a",), seed=7
    )
    chosen = config.settings()
    assert (chosen.steps, chosen.slice_columns, chosen.seed) == (3, ("a",), 7)
    assert RunConfig.from_json(config.to_json()) == config


def test_every_option_of_optimize_has_a_heading() -> None:
    """A heading that `--help` does not know would hide the option."""
    assert {option.group for _, option in option_fields(OptimizeOptions)} <= set(GROUPS)


@pytest.mark.parametrize("width", [80, 110])
def test_long_help_is_in_groups_and_shows_every_option(width: int) -> None:
    """Goal first, output last; no line is wider than the terminal but the example's."""
    result = CliRunner().invoke(cli, ["optimize", "--help-all"], terminal_width=width)
    headings = [
        line.rstrip(":")
        for line in result.output.splitlines()
        if line.endswith(":") and line[0] != " "
    ]
    assert headings == [group for group in GROUPS if group in headings]
    assert headings[0] == "Goal"
    assert headings[-1] == "Output"
    help_text, example = result.output.split("  Example:")
    assert max(len(line) for line in help_text.splitlines()) <= width
    assert example.count("\n") == 1


def options_of(shown: str) -> list[str]:
    """The options that a help lists, below its first heading."""
    lines = shown.splitlines()
    first = next(i for i, line in enumerate(lines) if line.endswith(":") and line[0] != " ")
    return [line.split()[0].rstrip(",") for line in lines[first:] if line[:3] == "  -"]


@pytest.mark.parametrize(("name", "command"), list(leaves((), cli)))
def test_help_shows_at_most_twenty_options_and_help_all_every_one(
    name: str, command: click.Command
) -> None:
    """What people use fits on a screen; where that is not all of it, the help says how to see the
    rest.
    """
    spelled = [param.opts[0] for param in command.params if isinstance(param, click.Option)]
    shown = CliRunner().invoke(cli, [*name.split(), "--help"]).output
    lines = options_of(shown)
    assert len(lines) <= MOST
    if "--help-all" in lines:
        assert {*lines} - {"--help-all", "--help", "-h"} < {*spelled}
        shown = CliRunner().invoke(cli, [*name.split(), "--help-all"]).output
        lines = options_of(shown)
    visible = {
        param.opts[0]
        for param in command.params
        if isinstance(param, click.Option) and not param.hidden
    }
    assert visible <= {line.partition("/")[0] for line in lines}


def test_a_run_of_an_earlier_version_is_read() -> None:
    """Options that are gone, such as `--ablate`, stand in the record of older runs."""
    config = RunConfig(
        prompt=Registry().get("groundedness").to_yaml(), data="rows.jsonl", objective="x", model="m"
    )
    assert RunConfig.from_json({**config.to_json(), "ablate": "added"}) == config
