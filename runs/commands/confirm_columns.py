"""The question whether the columns of a file were guessed as a person means them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace

import click

from ...judges.files import ColumnGuess, GuessedColumns, UnclearColumnsError
from ..terminal import say, say_table

SHOWN = 32
"""Characters of a value that are shown."""


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
    elif not (sys.stdin.isatty() and sys.stdout.isatty()) or "--json" in arguments:
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
    column: str = click.prompt(f"Which column is {guess.role}?", type=choices)
    return replace(guess, candidates=(column,))


def _shown(values: Sequence[str]) -> str:
    return " | ".join(text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…" for text in values)


def _with(arguments: Sequence[str], guessed: GuessedColumns) -> list[str]:
    """Return a command with the options, before the words behind `--`."""
    words = [*arguments]
    at = words.index("--") if "--" in words else len(words)
    return [*words[:at], *guessed.options(), *words[at:]]
