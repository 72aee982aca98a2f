"""What a person sees when a command fails, and the exit code."""

from __future__ import annotations

import traceback

from ...judges import InputError, JudgewrightError
from ..terminal import say, say_json


def report_failure(error: Exception, *, as_json: bool) -> int:
    """Print an error and return the exit code: 2 for the caller's fault, 3 for the world's.

    An error that is not ours is a defect: it is printed with its traceback, so that it can be reported.
    """
    if not isinstance(error, JudgewrightError):
        if isinstance(error, OSError):
            say(f"error: {error}", to_stderr=True)
            return 3
        say("".join(traceback.format_exception(error)), to_stderr=True)
        say("error: this is a defect in judgewright; please report it with the lines above", to_stderr=True)
        return 3
    code = 2 if isinstance(error, InputError) else 3
    say(f"error: {error}", to_stderr=True)
    if error.hint:
        say(f"hint: {error.hint}", to_stderr=True)
    if as_json:
        say_json({"error": {"kind": type(error).__name__, "message": str(error), "hint": error.hint, "exit": code}})
    return code
