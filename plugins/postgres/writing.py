"""How writes are committed to a PostgreSQL: again where another transaction stood in the way or the
server was away.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Sequence

from ...judges import WorkspaceError
from ...runs.store.writer import Connection, Write, error_of_write
from .session import Patience, ServerError, Session, lock_of

_RETAKE = 10.0
"""Seconds for which a claim is tried again after the connection that held it was lost."""


class Transactions:
    """A `Committer` whose connection is made anew where it was lost.

    Args:
        name: What messages call the database.
        connect: Makes a connection.
        claimed: What this process has claimed, which a new connection claims again before it
            writes.
    """

    def __init__(
        self,
        name: str,
        connect: Callable[[], Session],
        patience: Patience,
        claimed: Collection[str],
    ) -> None:
        self._name, self._connect = name, connect
        self._patience, self._claimed = patience, claimed
        self._session: Session | None = None
        self._last_pid = 0

    def commit(self, batch: Sequence[Write]) -> None:
        """See `Committer.commit`."""
        in_doubt = ""  # the number of the transaction whose end this does not know
        while True:
            try:
                session = self._connected()
                if in_doubt and session.was_committed(in_doubt):
                    return
                in_doubt = ""
                number = session.begin()
                for i, write in enumerate(batch):
                    if i:
                        session.script("RELEASE item; SAVEPOINT item")
                    self._try(session, write)
                in_doubt = number
                session.script("COMMIT")
                self._patience.answered()
                return
            except Exception as error:  # noqa: BLE001  # the door around a commit: its writes fail, the next go on
                if not self._goes_on(error, batch):
                    return
                if isinstance(error, ServerError) and not error.away:
                    in_doubt = ""  # the server itself said that it failed

    def close(self) -> None:
        """See `Committer.close`."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _try(self, session: Session, write: Write) -> None:
        """Run one write; whatever it raises, the others of its commit are kept."""
        write.error = None
        try:
            if write.alone:
                term, values = lock_of(write.alone)
                session.execute(f"SELECT pg_advisory_xact_lock({term})", values)
            write.value = write.work(session)
        except (
            Exception
        ) as error:  # the door around a write: the others may hold replies that were paid for
            if isinstance(error, ServerError) and (error.away or error.worth_repeating):
                raise
            write.error = error_of_write(error)
            session.script("ROLLBACK TO item")

    def _goes_on(self, error: Exception, batch: Sequence[Write]) -> bool:
        """Make ready to commit again what could not be; else set the error of each write and return
        False.
        """
        if isinstance(error, ServerError) and error.worth_repeating:
            self._roll_back()
            return True
        if isinstance(error, ServerError) and error.away:
            self.close()
            try:
                self._patience.wait(error)
            except WorkspaceError as given_up:
                error = given_up
            else:
                return True
        else:
            self._roll_back()
        for write in batch:
            write.error = write.error or error_of_write(error)
        return False

    def _roll_back(self) -> None:
        try:
            if self._session is not None:
                self._session.script("ROLLBACK")
        except ServerError:
            self.close()

    def _connected(self) -> Session:
        """Return the connection, a new one with all that this process had claimed.

        Raises:
            WorkspaceError: Another process has claimed some of it meanwhile.
        """
        if self._session is not None:
            return self._session
        self._patience.require_hope()
        session = self._connect()
        try:
            for what in sorted(self._claimed):
                self._claim_again(session, what)
        except BaseException:
            session.close()
            raise
        self._session, self._last_pid = session, session.pid
        return session

    def _claim_again(self, session: Session, what: str) -> None:
        until = time.monotonic() + _RETAKE
        while not try_claim(session, what):
            # The server may not have noticed yet that our old connection is gone.
            with contextlib.suppress(ServerError):
                session.execute(_END_OLD, (self._last_pid, session.name))
            if time.monotonic() > until:
                raise WorkspaceError(
                    f"another process went on with {what} while {self._name} was away",
                    hint="look at `judgewright runs list`; resume it when the other one has ended",
                )
            time.sleep(0.1)


def try_claim(connection: Connection, what: str) -> bool:
    """Claim something for a connection, until it is closed; False where another one has."""
    term, values = lock_of(f"claim {what}")
    return connection.execute(f"SELECT pg_try_advisory_lock({term})", values).fetchone()[0]


_END_OLD = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = ? AND application_name = ?"
)
