"""How many calls of functions some work costs: the same on every machine, so that a slower path
shows as a number.
"""

import sys
import threading
from collections.abc import Callable


def count_calls(work: Callable[[], object]) -> int:
    """Count the calls of functions, Python's and C's, that some work makes, here and in threads
    that it starts.
    """
    counts: dict[int, int] = {}

    def note(frame: object, event: str, argument: object) -> None:
        if event in ("call", "c_call"):
            me = threading.get_ident()
            counts[me] = counts.get(me, 0) + 1

    before = sys.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    return sum(counts.values())
