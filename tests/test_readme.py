"""The README tells the truth: its commands exist with these options, its files are there."""

import re
import shlex
from pathlib import Path

import click
import pytest

from judgewright.runs.cli import cli

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = "\n".join(re.findall(r"^```\n(.*?)^```", README, re.DOTALL | re.MULTILINE)).replace("\\\n", " ")
COMMANDS = [line.removesuffix(" &") for line in BLOCKS.splitlines() if line.startswith("judgewright ")]


def test_the_readme_shows_commands() -> None:
    """A first run, its siblings, and what to do with the result."""
    assert len(COMMANDS) >= 9


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_the_readme_parses(line: str) -> None:
    """Command, options and values are what the command line accepts; nothing is run."""
    words = shlex.split(line)[1:]
    command: click.Command = cli
    with click.Context(cli) as context:
        while isinstance(command, click.Group):
            found = command.get_command(context, words.pop(0))
            assert found is not None, line
            command = found
        command.make_context("judgewright", list(words), parent=context, resilient_parsing=False)


@pytest.mark.parametrize("target", sorted(set(re.findall(r"`([\w./-]+\.(?:md|ipynb))`", README))))
def test_what_the_readme_points_to_is_there(target: str) -> None:
    """Documents and notebooks named in the README exist."""
    assert (ROOT / target).is_file()


@pytest.mark.parametrize("target", sorted(set(re.findall(r"make (\w+)", README))))
def test_make_targets_of_the_readme_exist(target: str) -> None:
    """`make demo` and `make test` are targets."""
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
