"""The question whether the columns of a file were guessed as a person means them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

import click

from ...judges.files import GuessedColumns, UnclearColumnsError
from ..terminal import say, say_table

SHOWN = 32
"""Characters of a value that are shown."""


def with_agreed_columns(error: UnclearColumnsError, arguments: Sequence[str]) -> list[str]:
    """Return the command with the options that name the columns of its file, where a person agrees
    to them, or has said `--yes` and nothing is in doubt.

    Args:
        error: Why the command stopped, before it did anything.
        arguments: The words of the command.

    Raises:
        UnclearColumnsError: Nobody agrees; where no one can be asked its hint is the whole command.
    """
    guessed = error.guessed
    if not guessed.complete:
        raise error
    if guessed.sure and "--yes" in arguments:
        say(f"note: columns guessed: {guessed.describe()}", to_stderr=True)
    elif not (sys.stdin.isatty() and sys.stdout.isatty()) or "--json" in arguments:
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
        (one.role, one.column or "none", _shown(guessed.values.get(one.column, ())), one.said)
        for one in guessed.guesses
        if one.column or one.needed
    ]
    say_table(("read as", "column", "its first values", "because of"), lines, left=4)
    if guessed.labels:
        say(f"  label values: {guessed.label_line()}")
    for one in guessed.guesses:
        if one.others:
            choices = click.Choice([one.column, *one.others])
            column = click.prompt(f"Which is {one.role}?", type=choices, default=one.column)
            guessed = guessed.with_column(one.role, column)
    if not click.confirm("Are these the columns?", default=True):
        raise error
    return guessed


def _shown(values: Sequence[str]) -> str:
    return " | ".join(text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…" for text in values)


def _with(arguments: Sequence[str], guessed: GuessedColumns) -> list[str]:
    """Return a command with the options, before the words behind `--`."""
    words = [*arguments]
    at = words.index("--") if "--" in words else len(words)
    return [*words[:at], *(word for one in guessed.options() for word in one), *words[at:]]
