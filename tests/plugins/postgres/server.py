"""A PostgreSQL of Debian's package, started for tests in a folder of its own, by a user who is not
root.
"""

import os
import secrets
import shutil
import subprocess
import tempfile
from pathlib import Path

from judgewright.plugins.postgres.address import PostgresAddress, parse_postgres

USER = "judge"
_MEMORY = Path("/dev/shm")


def find_programs() -> Path | None:
    """Return the folder of the newest server's programs; None where the package is not
    installed.
    """
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4])
    )
    return found[-1].parent if found else None


class PostgresServer:
    """One server on a Unix socket, or on a port of 127.0.0.1 as well; nothing of it outlives the
    tests.

    Args:
        settings: As in `postgresql.conf`; by default nothing is forced to the disk, for speed.
    """

    def __init__(
        self, programs: Path, *, port: int | None = None, settings: tuple[str, ...] = ("fsync=off",)
    ) -> None:
        self.folder = Path(
            tempfile.mkdtemp(prefix="jw-pg-", dir=_MEMORY if _MEMORY.is_dir() else "/tmp")
        )
        self._programs, self._port, self._settings = programs, port, settings
        self.ready: str | None = None
        """A database that others are copied from."""
        # It refuses to be root's.
        self._user = "postgres" if os.geteuid() == 0 else None
        if self._user:
            shutil.chown(self.folder, self._user)
        self._call(
            "initdb",
            "-A",
            "trust",
            "-U",
            USER,
            "-E",
            "UTF8",
            "--locale",
            "C.UTF-8",
            "--no-sync",
            "-N",
        )
        self.start()
        self.say("CREATE DATABASE empty")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        listen = "127.0.0.1" if self._port else ""
        words = [f"-k {self.folder} -c listen_addresses='{listen}' -p {self._port or 5432}"]
        words += [f"-c {setting}" for setting in self._settings]
        self._call("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", " ".join(words), "start")

    def stop(self, how: str = "immediate") -> None:
        """Stop it as a crash would, or `fast`, which tells every connection."""
        self._call("pg_ctl", "-w", "-m", how, "stop")

    def remove(self) -> None:
        """Stop it and remove its folder."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def say(self, sql: str, *, database: str = "postgres") -> str:
        """Run a statement with `psql`, which is no part of what is tested, and return what it
        prints.
        """
        words = [
            "-X",
            "-At",
            "-v",
            "ON_ERROR_STOP=1",
            "-h",
            str(self.folder),
            "-U",
            USER,
            "-d",
            database,
        ]
        done = subprocess.run(
            [str(self._programs / "psql"), *words, "-p", str(self._port or 5432), "-c", sql],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def dump(self, database: str) -> str:
        """Return all that a database holds, as `pg_dump` writes it."""
        words = ["-h", str(self.folder), "-U", USER, "-p", str(self._port or 5432), database]
        done = subprocess.run(
            [str(self._programs / "pg_dump"), *words], capture_output=True, text=True, check=True
        )
        return done.stdout

    def new(self, *, like: str = "template1") -> str:
        """Make a database and return its name."""
        name = f"t{secrets.token_hex(6)}"
        self.say(f"CREATE DATABASE {name} TEMPLATE {like}")
        return name

    def url(self, name: str) -> str:
        """Return the address of a database."""
        return f"postgresql://{USER}@/{name}?host={self.folder}&port={self._port or 5432}"

    def address(self, name: str) -> PostgresAddress:
        """Return the same as a value."""
        return parse_postgres(self.url(name))

    def _call(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), "-D", str(self.folder / "data"), *arguments]
        done = subprocess.run(
            command,
            user=self._user,
            cwd="/",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
