"""The question whether a model's reading of an objective is what the person means."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar

import click

from ...optimize import Unsettled
from ..terminal import say

Result = TypeVar("Result")


def with_confirmed_reading(
    work: Callable[[bool], Result], *, yes: bool, as_json: bool = False
) -> Result:
    """Do the work; where it stops for a yes to the model's reading, ask for one and do it again.

    Args:
        work: Given whether the model's reading is taken.
        yes: Whether the person has said so beforehand.
        as_json: Whether a program reads the output, which nobody can be asked through.

    Raises:
        Unsettled: Nobody can be asked, there is nothing to take, or the answer is no.
    """
    try:
        return work(yes)
    except Unsettled as stop:
        asking = sys.stdin.isatty() and sys.stdout.isatty() and not as_json
        if stop.reading is None or not asking:
            raise
        say(str(stop))
        if not click.confirm("Is this what you mean?", default=True):
            raise
    return work(True)
