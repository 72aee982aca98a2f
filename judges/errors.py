"""Every error Judgewright raises on purpose.

JudgewrightError
├── InputError              a usage or input error: a file, a flag, a name (exit code 2)
│   ├── DataError           a row, with file, line and field
│   ├── PromptError         a judge prompt that cannot be used
│   └── LossError           a loss expression refused by the language or by an axiom
└── WorldError              the endpoint, the disk or the budget (exit code 3)
    ├── ModelError          a model did not answer; says whether a retry may help
    │   └── UnreachedError  the request never arrived, so that nothing was charged
    ├── BudgetSpent         the next call could exceed the budget
    ├── Waiting             replies are awaited from a batch, or from files that a person carries
    ├── Interrupted         the person asked to stop; calls in flight were recorded
    └── WorkspaceError      the database cannot be opened, read or written
        ├── DivergedError   a resumed run would not repeat what it has recorded
        └── LeaseLost       a process was taken for dead, and others have its calls
"""

from __future__ import annotations

import errno
import reprlib
from collections.abc import Mapping
from typing import Any


class JudgewrightError(Exception):
    """The root; `hint` says what to do next, in a sentence."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint

    @property
    def __notes__(self) -> list[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """What Python and notebooks print under the message; `hint` may be set late."""
        return [f"hint: {self.hint}"] if self.hint else []

    def __reduce__(self) -> tuple[Any, ...]:
        """Say how to make it again in another process, whatever its class takes."""
        return _made_again, (type(self), self.args, self.__dict__)


def _made_again(
    kind: type[JudgewrightError],
    args: tuple[Any, ...],  # Any: as an exception has them
    fields: dict[str, Any],  # Any: of its class
) -> JudgewrightError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


class InputError(JudgewrightError):
    """A file, an option or an argument cannot be used."""


class DataError(InputError):
    """A data file has rows that cannot be read; the message names file, line and field."""


class PromptError(InputError):
    """A judge prompt is incomplete, inconsistent or unknown."""


class LossError(InputError):
    """A loss expression is outside the language, out of range, or breaks an axiom."""


class WorldError(JudgewrightError):
    """The endpoint, the disk or the budget failed."""


class ModelError(WorldError):
    """A model call failed.

    Args:
        message: What happened, without key or header.
        retryable: Whether the same request may succeed later.
        status: The HTTP status, where there was one.
        retry_after: Seconds the server asked us to wait, where it did.
        refused_parameter: The parameter of the request that the error names; it may be what is
            refused.
        fatal: Whether every other request would fail as well (a wrong key, an unknown model).
        no_model: Whether something answered that may be no model at all, such as a web page.
        late: Whether no answer came within the time limit.
    """

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        status: int | None = None,
        retry_after: float | None = None,
        refused_parameter: str | None = None,
        fatal: bool = False,
        hint: str | None = None,
        no_model: bool = False,
        late: bool = False,
    ) -> None:
        super().__init__(message, hint=hint)
        self.retryable = retryable
        self.status = status
        self.retry_after = retry_after
        self.refused_parameter = refused_parameter
        self.fatal = fatal
        self.no_model = no_model
        self.late = late


class UnreachedError(ModelError):
    """The request never reached the endpoint, so that nothing can have been charged for it."""


class BudgetSpent(WorldError):
    """The budget cannot cover the next call; nothing was sent."""


class Interrupted(WorldError):
    """The person asked to stop; calls in flight were awaited and recorded."""


class Waiting(WorldError):
    """Requests were handed over and their replies have not come back; ask again to go on.

    Args:
        message: What is waited for, on one line.
        awaits: The same for a program.
    """

    def __init__(
        self, message: str, *, awaits: Mapping[str, Any], hint: str | None = None
    ) -> None:  # Any: JSON
        super().__init__(message, hint=hint)
        self.awaits = awaits


class WorkspaceError(WorldError):
    """The workspace database cannot be used."""


class DivergedError(WorkspaceError):
    """A resumed run came to other events than it had recorded; it has to start again."""


class LeaseLost(WorkspaceError):
    """A process that sends calls was not heard of for too long; others have its calls now."""


def shortened(value: Any) -> str:  # Any: JSON
    """Return a value as it is written in Python, on one line of at most 80 characters, however
    large or deep it is.
    """
    short = reprlib.Repr()
    short.maxlevel, short.maxstring, short.maxother = 3, 80, 80
    return f"{short.repr(value):.80}"


def explain_yaml_error(error: Exception, *, top_level: str = "the file") -> str:
    """Return why YAML or JSON was refused: the field (or `whole`) and its value, or the parser's
    first line.
    """
    from pydantic import ValidationError

    if isinstance(error, ValidationError):
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or top_level
        return f"{field}: {first['msg']} (got {shortened(first['input'])})"
    return next(iter(str(error).splitlines()), type(error).__name__)


DEFECT = "this is a defect in judgewright; please report it with the traceback on stderr"
"""The hint where a command failed by no fault of whoever called it."""


def files_hint(error: BaseException | None) -> str | None:
    """Say what to do where an error comes of more open files than the system allows; None for any
    other error.
    """
    while error is not None:
        if getattr(error, "errno", None) in (errno.EMFILE, errno.ENFILE):
            return (
                "allow more open files (ulimit -n 4096), or lower --concurrency; what was answered"
                " is kept"
            )
        error = error.__cause__ or error.__context__
    return None
