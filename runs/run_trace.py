"""What may be recorded of a run as it goes; a plug-in records it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ..judges import InputError, Model
from ..optimize.journal import Event
from .config.environment import TraceSettings
from .plugins import brought, load


class RunTrace:
    """What is recorded of one run; this one records nothing."""

    def model(self, model: Model) -> Model:
        """Return the model, with a span for each try."""
        return model

    def step(self, event: Event) -> None:
        """Take note that the step ended whose event was written."""


@contextmanager
def trace_run(settings: TraceSettings, run_id: str, kind: str) -> Generator[RunTrace]:
    """Record a run from here to the end of the block.

    Args:
        settings: Where spans go.
        kind: Of the run, such as `bench`.

    Raises:
        InputError: No plug-in records runs, or it cannot.
    """
    if not settings.on:
        yield RunTrace()
        return
    tracer = next(iter(brought("tracers").values()), None)
    if tracer is None:
        raise InputError(
            "no plug-in records runs", hint="unset JUDGEWRIGHT_TRACE and JUDGEWRIGHT_LOG"
        )
    with load(tracer)(settings, run_id, kind) as trace:
        yield trace
