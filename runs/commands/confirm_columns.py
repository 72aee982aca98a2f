"""The question whether the columns of a file were guessed as a person means them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from ...judges.files import ColumnGuess, GuessedColumns, UnclearColumnsError
from ..config.command_options import AskOptions, RoleOptions
from ..config.environment import read_environment
from ..terminal import say, say_table

if TYPE_CHECKING:
    from ..store.workspace import Workspace

SHOWN = 32
"""Characters of a value that are shown."""


def add_model_reading(
    error: UnclearColumnsError, workspace: Workspace, values: Mapping[str, object]
) -> None:
    """Have the model of a command read the header, if it has one; a plan asks nobody.

    Args:
        error: Why the command stopped; it gets what the model reads.
        workspace: Where the reply is recorded.
        values: What the command was given, by parameter.
    """
    from ..actions.read_columns import take_reading

    given = [*values.values()]
    models = next((one for one in given if isinstance(one, AskOptions)), None)
    if models is None or values.get("plan"):
        return
    judge = values.get("judge")
    prompt = workspace.registry.get(judge) if isinstance(judge, str) else None
    environment = read_environment().in_workspace(workspace.root).naming(models.model)
    for note in take_reading(error, workspace, prompt, models, environment):
        say(f"note: {note}", to_stderr=True)
    if any(isinstance(one, RoleOptions) and one.label_map for one in given):
        error.take(replace(error.guessed, label_map={}))


def with_agreed_columns(error: UnclearColumnsError, arguments: Sequence[str]) -> list[str]:
    """Return the command with the options that name the columns of its file, where a person agrees
    to them, or has said `--yes` and nothing is in doubt.

    Args:
        error: Why the command stopped, before it did anything.

    Raises:
        UnclearColumnsError: Nobody agrees; where no one can be asked its hint is the whole command.
    """
    guessed = error.guessed
    if guessed.sure and "--yes" in arguments:
        say(f"note: columns guessed: {guessed.describe()}", to_stderr=True)
    elif (
        guessed.no_rows or not (sys.stdin.isatty() and sys.stdout.isatty()) or "--json" in arguments
    ):
        if guessed.complete:
            command = shlex.join(["judgewright", *_with(arguments, guessed)])
            error.hint = "; ".join([f"did you mean  {command}", *guessed.doubts()])
        raise error
    else:
        guessed = _agreed(error)
    return _with(arguments, guessed)


def _agreed(error: UnclearColumnsError) -> GuessedColumns:
    guessed = error.guessed
    say(str(error).partition(". The columns are ")[0])
    lines = [
        (one.role, column, _shown(guessed.contents[column].first_values), one.said)
        for one in guessed.guesses
        for column in one.candidates
    ]
    say_table(("read as", "column", "its first values", "because of"), lines, left=4)
    if guessed.labels:
        say(f"  label values: {guessed.labels}")
    guesses = tuple(_chosen(one, [*guessed.contents]) for one in guessed.guesses)
    if not click.confirm("Are these the columns?", default=True):
        raise error
    return replace(guessed, guesses=guesses)


def _chosen(guess: ColumnGuess, columns: list[str]) -> ColumnGuess:
    """Return the guess with the column that a person chooses where it is open."""
    if guess.column or not guess.needed:
        return guess
    choices = click.Choice(guess.candidates or columns)
    question = f"Which column is {guess.role}? ({guess.why})"
    column: str = click.prompt(question, type=choices)
    return replace(guess, candidates=(column,))


def _shown(values: Sequence[str]) -> str:
    return " | ".join(text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…" for text in values)


def _with(arguments: Sequence[str], guessed: GuessedColumns) -> list[str]:
    """Return a command with the options, before the words behind `--`."""
    words = [*arguments]
    at = words.index("--") if "--" in words else len(words)
    return [*words[:at], *guessed.options(), *words[at:]]
