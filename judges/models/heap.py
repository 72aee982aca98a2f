"""Work that makes many objects, and the garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def heap_at_rest() -> Generator[None, None, None]:
    """Keep the garbage collector from what exists already; going through it again and again is a fifth of a call."""
    ours = not gc.get_freeze_count()  # else an outer block's, or a freeze of the program's own
    if ours:
        gc.freeze()
    try:
        yield
    finally:
        if ours:
            gc.unfreeze()
