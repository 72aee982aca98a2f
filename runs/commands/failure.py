"""What a person or a program sees when a command fails, and the exit code."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import click

from ...judges import InputError, Interrupted, JudgewrightError, Waiting
from ...judges.errors import DEFECT, files_hint
from ..terminal import answer, say, say_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a command failed, as `--json` says it."""

    kind: str
    message: str
    hint: str | None = None
    exit: int
    """2 for a usage or input error; 3 for endpoint, disk or budget, for awaited replies, and for a
    defect.
    """
    awaits: Mapping[str, Any] | None = None  # Any: JSON
    """What the command waits for, where that is why it ended."""

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the value of the key `error`."""
        body = {"kind": self.kind, "message": self.message, "hint": self.hint, "exit": self.exit}
        return body | ({"awaits": dict(self.awaits)} if self.awaits else {})


def report_failure(error: BaseException, *, as_json: bool) -> int:
    """Print an error, for people on stderr and with `--json` as one object on stdout; return the
    exit code.

    An exception that is not one of Judgewright's is a defect: its traceback is printed, so that it
    can be reported.
    """
    failure = explain(error)
    if isinstance(error, click.ClickException):
        error.show()
    else:
        if failure.hint == DEFECT:
            say("".join(traceback.format_exception(error)), to_stderr=True)
        say(failure.message if failure.awaits else f"error: {failure.message}", to_stderr=True)
        if failure.hint:
            say(f"hint: {failure.hint}", to_stderr=True)
    if as_json:
        say_json({"error": failure.to_json()})
    return failure.exit


def answer_in_part(
    body: dict[str, Any],  # Any: JSON
    text: Callable[[], object],
    shortfall: BaseException | None,
    *,
    as_json: bool,
) -> None:
    """Print a result, and what it lacks where a budget or an endpoint ended it early; then leave
    with the exit code of that.

    Args:
        body: The result for a program; the error is added to it.
        shortfall: Why there is no more; None where nothing is missing.
    """
    if shortfall is not None:
        body = {**body, "error": explain(shortfall).to_json()}
    answer(body, text, as_json=as_json)
    if shortfall is not None:
        sys.exit(report_failure(shortfall, as_json=False))


def explain(error: BaseException) -> Failure:
    """Turn an exception into what is printed, with the exit code."""
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        again = "the same command goes on: what was answered is kept"
        return Failure(
            kind=Interrupted.__name__, message="stopped before it was done", hint=again, exit=3
        )
    kind = type(error).__name__
    if isinstance(error, click.ClickException):
        context = error.ctx if isinstance(error, click.UsageError) else None
        hint = f"`{context.command_path} --help` shows the options" if context else None
        return Failure(kind="UsageError", message=error.format_message(), hint=hint, exit=2)
    if isinstance(error, JudgewrightError):
        code = 2 if isinstance(error, InputError) else 3
        awaits = error.awaits if isinstance(error, Waiting) else None
        return Failure(
            kind=kind,
            message=str(error),
            hint=error.hint or files_hint(error),
            exit=code,
            awaits=awaits,
        )
    if isinstance(error, OSError):
        return Failure(kind=kind, message=str(error), hint=files_hint(error), exit=3)
    return Failure(kind=kind, message=f"{kind}: {error}", hint=DEFECT, exit=3)
