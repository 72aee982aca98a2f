"""The one writer of a workspace: a lock the operating system releases when its holder dies."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import sys
import threading
import time
from pathlib import Path

from ...judges import WorkspaceError

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

    def acquire(self, *, wait: float = 0.0) -> None:
        """Take the lock, trying for `wait` seconds; does nothing when it is held already.

        Raises:
            WorkspaceError: Another handle holds it; the message names the process.
        """
        with self._guard:
            if self._descriptor is not None:
                return
            descriptor = self._open()
            try:
                self._take(descriptor, time.monotonic() + wait)
            except WorkspaceError:
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

    def _open(self) -> int:
        try:
            return os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise WorkspaceError(f"cannot open the lock {self._path}: {error.strerror}") from error

    def _take(self, descriptor: int, until: float) -> None:
        while True:
            try:
                _try_lock(descriptor)
            except OSError as error:
                if error.errno not in _BUSY:
                    raise WorkspaceError(f"cannot lock {self._path}: {error.strerror}") from error
                if time.monotonic() >= until:
                    raise self._refused() from None
                time.sleep(0.02)
            else:
                self._sign(descriptor)
                return

    def _sign(self, descriptor: int) -> None:
        # Who holds the lock is said to people; a disk too full to say it does not forbid the work.
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.lseek(descriptor, 0, os.SEEK_SET)
            os.write(descriptor, f"{os.getpid()} {socket.gethostname()}\n".encode())

    def _refused(self) -> WorkspaceError:
        try:
            pid, _, host = self._path.read_text(encoding="utf-8").strip().partition(" ")
        except OSError:
            pid, host = "", ""
        holder = f"process {pid} on {host}" if pid else "another process"
        return WorkspaceError(
            f"{holder} is writing to the workspace {self._path.parent}",
            hint="wait until it ends, or stop it; reading is possible meanwhile",
        )
