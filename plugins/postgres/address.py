"""Where a PostgreSQL is and who asks it, from what a person writes after `--workspace`. The
password is never shown.
"""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ...judges import InputError
from ...judges.extras import require_extra

if TYPE_CHECKING:
    from ...runs.store.database import Database, Holder

_ENCRYPTED = ("require", "verify-ca", "verify-full")
_SECRET = ("password", "sslpassword")
_PROGRAM_WORDS = frozenset({"application_name", "client_encoding", "autocommit", "replication"})


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """One database of one server, as libpq names it."""

    url: str
    """What a person may see and a workspace may keep: no password."""
    parameters: Mapping[str, str]
    """What libpq is told, but for the password; the rest it takes from PG* variables and ~/.pgpass.
    """
    password: str = field(default="", repr=False)

    def __str__(self) -> str:
        return self.url

    @property
    def digest(self) -> str:
        """A short name of the database, whoever asks it, fit for a file name."""
        identity = [
            self.parameters.get(name, "")
            for name in ("host", "hostaddr", "port", "dbname", "options", "service")
        ]
        return hashlib.blake2b("\0".join(identity).encode(), digest_size=6).hexdigest()

    @property
    def secrets(self) -> Mapping[str, str]:
        """See `ServerAddress.secrets`."""
        return {"PGPASSWORD": self.password} if self.password else {}

    def is_made(self) -> bool:
        """See `ServerAddress.is_made`."""
        from .database import PostgresDatabase

        return PostgresDatabase.is_made(self)

    def open(
        self,
        folder: Path,
        *,
        on_busy: Callable[[Holder], None] | None = None,
        on_away: Callable[[str], None] | None = None,
        lent: bool = False,
    ) -> Database:
        """See `ServerAddress.open`."""
        from .database import PostgresDatabase

        return PostgresDatabase(self, folder, on_busy=on_busy, on_away=on_away, lent=lent)

    @property
    def connecting(self) -> dict[str, str]:
        """All that is needed to connect."""
        return {**self.parameters, **({"password": self.password} if self.password else {})}


def parse_postgres(text: str) -> PostgresAddress:
    """Read an address such as `postgresql://judge@db.example.org/judging?sslmode=verify-full`.

    Off this machine the connection is encrypted: `sslmode` is `require` unless the address asks for
    more.

    Raises:
        InputError: It is none, asks for no encryption, or psycopg is not installed.
    """
    require_extra("postgres", "psycopg", purpose="a workspace on PostgreSQL")
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    safe_text = _shown(text)
    if safe_text.endswith("://..."):
        raise InputError(
            "this is no address of a PostgreSQL",
            hint=(
                "such as postgresql://user@host:5432/database; in a password, :/?#[]@ are written"
                " %3A and so on"
            ),
        )
    try:
        # Without what the environment says: that is libpq's, when it connects.
        parsed = {
            name: str(value) for name, value in conninfo_to_dict(text).items() if value is not None
        }
    except (ProgrammingError, UnicodeError):  # whose message may quote the password
        raise InputError(
            f"{safe_text!r} is no address of a PostgreSQL",
            hint="such as postgresql://user@host:5432/database",
        ) from None
    if own := sorted(_PROGRAM_WORDS & parsed.keys()):
        raise InputError(f"{safe_text!r}: {own[0]} is not for the address to say")
    password = parsed.pop("password", "")
    if "sslpassword" in parsed:
        raise InputError(
            "an address holds no sslpassword",
            hint="keep the client's key without one, or use ~/.pgpass",
        )
    host = (
        ",".join(parsed[name] for name in ("host", "hostaddr") if name in parsed)
        or _host_of_environment()
    )
    mode = parsed.get("sslmode", "") or _mode_of_environment()
    if "service" in parsed or not _is_here(host):
        if parsed.get("sslmode") and mode not in _ENCRYPTED:
            raise InputError(
                f"{safe_text!r}: sslmode={mode} may send all in the clear to another machine",
                hint=(
                    "leave it out for `require`, or give verify-full, which also checks who answers"
                ),
            )
        parsed["sslmode"] = mode if mode in _ENCRYPTED else "require"
    parsed.setdefault("connect_timeout", "10")
    return PostgresAddress(url=safe_text, parameters=parsed, password=password)


def _defaults() -> Mapping[str, str]:
    from psycopg.pq import Conninfo

    return {
        option.keyword.decode(): (option.val or b"").decode() for option in Conninfo.get_defaults()
    }


def _host_of_environment() -> str:
    defaults = _defaults()
    return defaults.get("hostaddr", "") or defaults.get("host", "")


def _mode_of_environment() -> str:
    return _defaults().get("sslmode", "")


def _is_here(hosts: str) -> bool:
    """Whether every host is this machine; none at all is libpq's own socket."""
    return all(_is_loopback(host) for host in hosts.split(",") if host)


def _is_loopback(host: str) -> bool:
    if host.startswith(("/", "@")) or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _shown(text: str) -> str:
    """Return an address without its password, wherever in it that stands."""
    try:
        parts = urlsplit(text)
        user, at, host = parts.netloc.rpartition("@")
        query = parts.query.split("&") if parts.query else []
        words = (word for word in query if word.partition("=")[0].lower() not in _SECRET)
        safe_query = "&".join(words)
        # An at sign further on is what a password that is not quoted leaves behind.
        if "@" not in parts.path + safe_query:
            address = f"{parts.scheme}://{user.partition(':')[0]}{at}{host}{parts.path}"
            return f"{address}?{safe_query}" if safe_query else address
    except ValueError:
        pass
    return f"{text.partition('://')[0]}://..."
