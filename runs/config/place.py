"""Where a workspace is: what a person writes after `--workspace`, in JUDGEWRIGHT_WORKSPACE, or as
`workspace=`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .postgres_address import PostgresAddress, is_postgres, parse_postgres


@dataclass(frozen=True, slots=True)
class Place:
    """A folder, and the PostgreSQL that has the workspace's database where it is no file in the
    folder.
    """

    root: Path
    address: PostgresAddress | None = None

    def __str__(self) -> str:
        """What finds it again when written after `--workspace` in this folder."""
        return str(self.address or self.root)

    @classmethod
    def of(cls, place: Path | Place) -> Place:
        """Return the place, or that of a workspace which is all in one folder."""
        return place if isinstance(place, Place) else cls(place)

    @property
    def secrets(self) -> dict[str, str]:
        """The variables that another process needs to open it too."""
        return (
            {"PGPASSWORD": self.address.password} if self.address and self.address.password else {}
        )


def read_place(given: str | Path) -> Path | PostgresAddress:
    """Read the folder of a workspace, or the address of its PostgreSQL.

    Raises:
        InputError: It begins as an address and is none.
    """
    return parse_postgres(given) if isinstance(given, str) and is_postgres(given) else Path(given)
