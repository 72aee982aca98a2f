"""What threads that share a client are asking at the moment, so that two of them do not send the
same request.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from .counters import Call


class CallsInFlight:
    """The calls that some thread of a client is bringing to their outcomes."""

    def __init__(self) -> None:
        self._keys: set[bytes] = set()
        self._changed = threading.Condition()
        self.ended = 0
        """How often a thread let calls go; where it has changed, the call record may hold more
        answers.
        """

    @contextmanager
    def claim(self, calls: Sequence[Call]) -> Iterator[tuple[list[Call], list[Call]]]:
        """Yield the calls that are this thread's until the end of the block, and those that another
        one is asking.
        """
        with self._changed:
            mine = [call for call in calls if call.key not in self._keys]
            others = [call for call in calls if call.key in self._keys]
            self._keys.update(call.key for call in mine)
        try:
            yield mine, others
        finally:
            with self._changed:
                self._keys.difference_update(call.key for call in mine)
                self.ended += 1
                self._changed.notify_all()

    def wait(self, calls: Sequence[Call]) -> None:
        """Return once no thread is asking any of some calls; one that waits has claimed nothing."""
        keys = {call.key for call in calls}
        with self._changed:
            self._changed.wait_for(lambda: keys.isdisjoint(self._keys))
