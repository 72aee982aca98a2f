"""One connection to a PostgreSQL, which takes the statements that SQLite takes; and how long to
wait for a server.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Generator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ...judges import WorkspaceError
from ...runs.store.database import Holder
from ...runs.store.writer import Cursor

if TYPE_CHECKING:
    import psycopg
    from psycopg.adapt import Loader

    from .address import PostgresAddress

OLDEST = 130000
"""The oldest server, as it numbers its versions: it can say whether a transaction was committed."""
_LOOK = 5.0
"""Seconds between two looks at a server that was given up."""
_NAME = re.compile(r"judgewright (\d+) (.*)")
_AWAY = ("57P01", "57P02", "57P03", "53300")
"""It shuts down, crashed, starts up, or has no connection left; what fails without a code is the
connection itself.
"""
_AGAIN = ("40001", "40P01")
"""The transaction stood in another one's way; the same again may pass."""


class ServerError(WorkspaceError):
    """What a server or the way to it answered, in our words, and whether asking again may help."""

    code: str = ""
    """Its SQLSTATE; empty where the connection itself failed."""
    away: bool = False
    """Whether it could not be asked: it is gone, or starts up."""
    worth_repeating: bool = False
    """Whether a transaction failed only because of another one."""


class Session:
    """A connection; it takes statements with question marks, as `Connection` says.

    Raises:
        ServerError: The server cannot be reached, or does not let us in.
        WorkspaceError: It is too old, or does not store UTF-8.
    """

    def __init__(self, address: PostgresAddress, *, reading: bool) -> None:
        import psycopg

        self._address, self._reading, self._errors = address, reading, psycopg.Error
        self.name = f"judgewright {os.getpid()} {socket.gethostname()[:30]}"
        # Without them a connection that a router has forgotten would hold its claims, or be waited
        # for, for hours.
        alive = {
            "keepalives_idle": 20,
            "keepalives_interval": 5,
            "keepalives_count": 4,
            "tcp_user_timeout": 40_000,
        }
        with self._translating():
            self._connection = psycopg.connect(
                **{**alive, **address.connecting},  # type: ignore[arg-type]  # all are libpq's own
                autocommit=True,
                application_name=self.name,
                client_encoding="utf8",
            )
        info = self._connection.info
        if info.server_version < OLDEST or info.parameter_status("server_encoding") != "UTF8":
            self._connection.close()
            raise WorkspaceError(
                f"{address} is PostgreSQL {info.server_version // 10000} with encoding "
                f"{info.parameter_status('server_encoding')}",
                hint=(
                    "a workspace needs PostgreSQL 13 or newer, and a database with ENCODING 'UTF8'"
                ),
            )
        self.pid = info.backend_pid
        self._connection.adapters.register_loader("numeric", _number_loader())
        self.script(
            "SET tcp_keepalives_idle = 20; SET tcp_keepalives_interval = 5; SET"
            " tcp_keepalives_count = 4"
        )
        if reading:
            self.script("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Cursor:  # Any: SQL values
        """Run one statement."""
        values = [int(value) if isinstance(value, bool) else value for value in parameters]
        with self._translating():
            return self._connection.execute(_translated(sql), values)

    def script(self, sql: str) -> None:
        """Run several statements without values, which are one message to the server."""
        with self._translating():
            self._connection.execute(sql.encode())

    def begin(self) -> str:
        """Begin a transaction and its first savepoint, and return the number that the server knows
        it by.
        """
        with self._translating():
            cursor = self._connection.execute("BEGIN; SELECT pg_current_xact_id(); SAVEPOINT item")
        cursor.nextset()
        row = cursor.fetchone()
        assert row is not None
        return str(row[0])

    def was_committed(self, number: str) -> bool:
        """Whether a transaction was, waiting while it is about to be; False where this server does
        not know it.
        """
        while True:
            try:
                status = self.execute(
                    "SELECT pg_xact_status(CAST(CAST(? AS TEXT) AS xid8))", (number,)
                ).fetchone()[0]
            except ServerError as error:
                if error.code == "22023":  # a number that it has not come to
                    return False
                raise
            if status != "in progress":
                return status == "committed"
            time.sleep(0.1)

    def close(self) -> None:
        """Close the connection; what it had claimed is free when this returns, unless the
        connection was lost.
        """
        with contextlib.suppress(ServerError):
            if not self._reading:
                self.script("SELECT pg_advisory_unlock_all()")
        self._connection.close()

    @contextlib.contextmanager
    def _translating(self) -> Generator[None]:
        try:
            yield
        except self._errors as error:
            raise _explain(str(self._address), error) from error


def _number_loader() -> type[Loader]:
    """Sums of whole numbers come as `numeric`, and are read as the numbers that SQLite gives."""
    from psycopg.adapt import Loader

    class Number(Loader):
        def load(self, data: bytes | bytearray | memoryview) -> int | float:
            text = bytes(data).decode()
            return int(text) if text.lstrip("-").isdecimal() else float(text)

    return Number


@lru_cache(maxsize=512)
def _translated(sql: str) -> bytes:
    return sql.replace("%", "%%").replace("?", "%s").encode()


def lock_of(what: str) -> tuple[str, tuple[str]]:
    """Return the number of an advisory lock as a term of SQL, and its value; schemas of one
    database have their own.
    """
    return "hashtextextended(current_schema() || '/' || CAST(? AS TEXT), 0)", (what,)


def holder_of(name: str | None) -> Holder:
    """Return the process whose connection has a name that `Session` gave it."""
    match = _NAME.fullmatch(name or "")
    return Holder(pid=int(match[1]), host=match[2]) if match else Holder(pid=None, host="")


class Patience:
    """For how long a server that has answered before is waited for; shared by all that ask it.

    Args:
        name: Of the server.
        seconds: From its first silence on.
        on_wait: Told once each time that it begins to be waited for.
    """

    def __init__(
        self, name: str, seconds: float, on_wait: Callable[[str], None] | None = None
    ) -> None:
        self._name, self._seconds, self._on_wait = name, seconds, on_wait
        self._lock = threading.Lock()
        self._since: float | None = None
        self._looked = 0.0
        self._pause = 0.05

    def answered(self) -> None:
        """Take note that the server answers."""
        if self._since is not None:
            with self._lock:
                self._since, self._pause = None, 0.05

    def wait(self, error: ServerError) -> None:
        """Wait a little before it is asked again.

        Raises:
            WorkspaceError: It has been away for too long.
        """
        with self._lock:
            at = time.monotonic()
            first = self._since is None
            if self._since is None:
                self._since = at
            if at - self._since > self._seconds:
                self._looked = at
                raise self._given_up(str(error.__cause__).strip().partition("\n")[0])
            self._pause = min(1.0, self._pause * 2)
            pause = self._pause
        if first and self._on_wait is not None:
            self._on_wait(f"{self._name}, which does not answer (for up to {self._seconds:g} s)")
        time.sleep(pause)

    def require_hope(self) -> None:
        """Refuse to ask a server again that was given up a moment ago: each try may take seconds.

        Raises:
            WorkspaceError: It was.
        """
        with self._lock:
            since, at = self._since, time.monotonic()
            if since is not None and at - since > self._seconds and at - self._looked < _LOOK:
                raise self._given_up("it was asked a moment ago")

    def _given_up(self, why: str) -> WorkspaceError:
        return WorkspaceError(
            f"{self._name} has not answered for {self._seconds:g} s: {why}",
            hint=(
                "what was committed is kept; once it answers, give the command again or"
                " `judgewright runs resume`"
            ),
        )


def _explain(name: str, error: psycopg.Error) -> ServerError:
    """Say an error of the server's in our words, without the values of a row; the one place where
    that is done.
    """
    from psycopg import InterfaceError, OperationalError

    code, connection = error.sqlstate or "", isinstance(error, OperationalError | InterfaceError)
    problem, hint = next(
        (words for start, words in _WORDS.items() if code.startswith(start)),
        ("cannot be used", None),
    )
    if connection and not code:
        problem, hint = (
            "cannot be reached",
            "look at its address, the user's rights, and the password in PGPASSWORD",
        )
    first = (error.diag.message_primary or str(error)).strip().partition("\n")[0]
    translated = ServerError(f"{name} {problem}: {first}", hint=hint)
    translated.code = code
    translated.away = connection and (not code or code in _AWAY or code.startswith("08"))
    translated.worth_repeating = code in _AGAIN
    return translated


_WORDS: dict[str, tuple[str, str | None]] = {
    "53100": (
        "could not be written, its disk is full",
        "free some space; everything committed is kept",
    ),
    "53300": (
        "has no connection left",
        "raise max_connections, or let fewer processes work at once",
    ),
    "28": (
        "does not let this user in",
        "look at the password in PGPASSWORD or ~/.pgpass, and at pg_hba.conf",
    ),
    "42501": ("does not allow this", "let the user own the database or a schema of its own"),
    "3D000": ("cannot be reached", "make the database: createdb NAME"),
    "25006": ("is read-only", "give the address of the server that takes writes"),
    "XX001": ("is damaged", "put a backup in its place"),
    "XX002": ("is damaged", "REINDEX, or put a backup in its place"),
}
