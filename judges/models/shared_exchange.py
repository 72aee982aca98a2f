"""Run tasks together, so that what they ask through files goes out together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import TypeVar

from ..errors import Waiting

T = TypeVar("T")

GROUP: ContextVar[dict[object, Callable[[], None]] | None] = ContextVar("group", default=None)
"""What the exchanges of the tasks of `ask_together` have to send, while the tasks run."""


def ask_together(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """Run tasks that do not need each other's results, and return these in order.

    What they ask through batches or files goes out together. A task runs again then, until its
    replies are there, and must not have effects of its own. Single calls are simply made task by
    task.

    Raises:
        Waiting: Replies are missing.
    """
    while True:
        outer = GROUP.get()
        group: dict[object, Callable[[], None]] = {} if outer is None else outer
        results: list[T] = []
        waiting: Waiting | None = None
        token = GROUP.set(group)
        try:
            for task in tasks:
                try:
                    results.append(task())
                except Waiting as error:
                    waiting = waiting or error
        finally:
            GROUP.reset(token)
        if waiting is None:
            return results
        if outer is not None:  # the larger group sends
            raise waiting
        for send in group.values():
            send()
