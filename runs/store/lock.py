"""The one writer of a workspace: a lock the operating system releases when its holder dies."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from ...judges import WorkspaceError
from .database import Holder

_PAUSE = 0.02
"""Seconds between two tries to take the lock."""
_BUSY = {errno.EAGAIN, errno.EACCES, errno.EWOULDBLOCK, errno.EDEADLK}

if sys.platform == "win32":
    import msvcrt

    # Far behind the text, because Windows forbids others to read a locked byte.
    _BYTE = 1 << 20

    def _try_lock(descriptor: int) -> None:
        os.lseek(descriptor, _BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _try_lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class WriterLock:
    """An exclusive lock on a file, held by one open handle at a time, in this process or another.

    The file stays behind when the lock is released; only the lock on it counts, so that a killed
    process leaves nothing to clean up. It does not promise anything on network file systems that
    ignore locks.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._guard = threading.Lock()

    def acquire(
        self, *, wait: float = 0.0, on_busy: Callable[[Holder], None] | None = None
    ) -> None:
        """Take the lock; does nothing when it is held already.

        Args:
            wait: Seconds to go on trying.
            on_busy: Where given, it is tried for as long as it takes, and this is told once for
                whom. Which of several that wait comes next is not promised.

        Raises:
            WorkspaceError: Another handle holds it; the message names the process.
        """
        with self._guard:
            if self._descriptor is not None:
                return
            descriptor = self._open()
            try:
                self._take(descriptor, time.monotonic() + wait, on_busy)
            except BaseException:
                os.close(descriptor)
                raise
            self._descriptor = descriptor

    def release(self) -> None:
        """Give the lock back; does nothing when it is not held."""
        with self._guard:
            if self._descriptor is not None:
                # Closing is what releases: nobody can be told of a failure that matters here.
                with contextlib.suppress(OSError):
                    os.close(self._descriptor)
                self._descriptor = None

    def holder(self) -> Holder | None:
        """Return who holds the lock now; None where nobody does. The file's text alone may be of a
        dead process.
        """
        if self._descriptor is not None:
            return Holder(pid=os.getpid(), host=socket.gethostname())
        try:
            descriptor = os.open(self._path, os.O_RDWR)
        except OSError:
            return None
        try:
            _try_lock(descriptor)
        except OSError:
            return self._holder()
        finally:
            os.close(descriptor)
        return None

    def _open(self) -> int:
        try:
            return os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise WorkspaceError(f"cannot open the lock {self._path}: {error.strerror}") from error

    def _take(
        self, descriptor: int, until: float, on_busy: Callable[[Holder], None] | None
    ) -> None:
        is_told = False
        while not self._try(descriptor):
            if on_busy is not None and not is_told:
                on_busy(self._holder())
                is_told = True
            elif on_busy is None and time.monotonic() >= until:
                raise WorkspaceError(
                    f"{self._holder()} is writing to the workspace {self._path.parent}",
                    hint="wait until it ends, or stop it; reading is possible meanwhile",
                )
            time.sleep(_PAUSE)

    def _try(self, descriptor: int) -> bool:
        try:
            _try_lock(descriptor)
        except OSError as error:
            if error.errno in _BUSY:
                return False
            raise WorkspaceError(f"cannot lock {self._path}: {error.strerror}") from error
        self._sign(descriptor)
        return True

    def _sign(self, descriptor: int) -> None:
        # Who holds the lock is said to people; a disk too full to say it does not forbid the work.
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.lseek(descriptor, 0, os.SEEK_SET)
            os.write(descriptor, f"{os.getpid()} {socket.gethostname()}\n".encode())

    def _holder(self) -> Holder:
        try:
            pid, _, host = self._path.read_text(encoding="utf-8").strip().partition(" ")
        except (OSError, UnicodeDecodeError):
            pid, host = "", ""
        return Holder(pid=int(pid) if pid.isdecimal() else None, host=host)
