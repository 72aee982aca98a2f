"""Long work that a decision starts, such as a gate: one job at a time, in a thread, looked at from the page."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from ...judges import JudgewrightError, Progress
from .errors import place_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How a job ended."""

    message: str
    good: bool
    """Whether it led to what was asked for."""
    judge: str | None = None
    """The name of the judge it changed."""
    run_id: str | None = None
    """The run to look at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is being done, and how far it has come."""

    title: str
    about: str
    """The run that is decided about."""
    doing: str = ""
    done: int = 0
    total: int = 0
    run_id: str | None = None
    """The run that the job is kept in, once it has one."""
    end: Done | None = None

    @property
    def stamp(self) -> str:
        """Changes when there is more to show than numbers that count up."""
        return f"{self.title}-{self.about}-{self.run_id}-{self.end is not None}"


Report = Callable[..., None]
"""Called with the fields of `Job` that have changed."""


class JobRunner:
    """At most one job at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._ended.set()
        self._job: Job | None = None

    @property
    def job(self) -> Job | None:
        """The job at work, or the last one; None where there was none."""
        with self._lock:
            return self._job

    @property
    def busy(self) -> bool:
        """Whether something is being done."""
        return not self._ended.is_set()

    def start(self, job: Job, do: Callable[[Report], Done]) -> bool:
        """Start a job in a thread of its own, unless one is at work; say whether it was started."""
        with self._lock:
            if self.busy:
                return False
            self._job = job
            self._ended.clear()
        # No daemon: what is paid for is kept, and a program that is stopped waits for it.
        threading.Thread(target=self._do, args=(do,), name="judgewright-decision").start()
        return True

    def wait(self, seconds: float) -> bool:
        """Wait for the job at work to end, and say whether it has."""
        return self._ended.wait(seconds)

    def watch(self, doing: str, progress: Progress) -> None:
        """Take note of how far the asking has come; a `Watch`."""
        self._report(doing=doing, done=progress.done, total=progress.total)

    def _report(self, **changes: object) -> None:
        with self._lock:
            if self._job is not None:
                self._job = replace(self._job, **changes)  # type: ignore[arg-type]  # fields of Job

    def _do(self, do: Callable[[Report], Done]) -> None:
        end = Done(message="it was broken off", good=False)
        try:
            end = do(self._report)
        except JudgewrightError as error:
            hint = f" ({error.hint})" if error.hint else ""
            end = Done(message=f"{error}{hint}", good=False)
        except Exception as error:  # noqa: BLE001  # the one door around a decision: the page says it, the server lives
            end = Done(message=f"this is a defect in judgewright; please report it: {place_of(error)}", good=False)
        finally:  # whatever was raised: a job that never ends would keep out every decision after it
            self._report(end=end)
            self._ended.set()
