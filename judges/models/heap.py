"""Work that makes many objects, and the garbage collector."""

from __future__ import annotations

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager

_lock = threading.Lock()
_blocks = 0
"""How many blocks are open; `gc.get_freeze_count` goes through every frozen object, so an inner
block must not ask.
"""
_ours = False


@contextmanager
def heap_at_rest() -> Generator[None, None, None]:
    """Keep the garbage collector from what exists already; going through it again and again is a
    fifth of a call.
    """
    global _blocks, _ours
    with _lock:
        _blocks += 1
        if _blocks == 1:
            _ours = not gc.get_freeze_count()  # else a freeze of the program's own
            if _ours:
                gc.freeze()
    try:
        yield
    finally:
        with _lock:
            _blocks -= 1
            if not _blocks and _ours:
                gc.unfreeze()


@contextmanager
def collector_paused() -> Generator[None]:
    """Make many objects that all stay, such as the rows of a file, without going through them again
    and again, which is a fifth of the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
