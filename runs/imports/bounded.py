"""Reading a hostile file ends: with an error where it is nested too deeply, or takes too long."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager

from ...judges import InputError

LONGEST = 60.0
"""Seconds that reading a prompt may take; the longest of the known prompts takes two."""
_HINT = "put the prompt alone into a text file with {field} in it"


@contextmanager
def bounded(seconds: float = LONGEST) -> Generator[None]:
    """End what is done within after some seconds; only in the main thread, and where the system has
    such an alarm.

    Raises:
        InputError: It took longer, or was nested too deeply.
    """
    alarm = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()

    def ring(*_: object) -> None:
        raise InputError(
            f"reading it takes more than {seconds:g} seconds, so it is hardly a prompt",
            hint=_HINT,
        )

    before = (
        (signal.signal(signal.SIGALRM, ring), signal.setitimer(signal.ITIMER_REAL, seconds))
        if alarm
        else None
    )
    try:
        yield
    except (RecursionError, MemoryError):
        raise InputError("it is nested too deeply to be read", hint=_HINT) from None
    finally:
        if before:
            signal.setitimer(signal.ITIMER_REAL, *before[1])
            signal.signal(signal.SIGALRM, before[0])
