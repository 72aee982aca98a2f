"""Where a workspace is: what a person writes after `--workspace`, in JUDGEWRIGHT_WORKSPACE, or as
`workspace=`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ...judges import InputError
from ..plugins import brought, load

if TYPE_CHECKING:
    from ..store.database import Database, Holder


class ServerAddress(Protocol):
    """The database of a workspace on a server, as a plug-in reads its address; two addresses of one
    database are equal, and `str` finds it again without showing a password.
    """

    @property
    def secrets(self) -> Mapping[str, str]:
        """The variables that another process needs to open it too."""
        ...

    def is_made(self) -> bool:
        """Whether a workspace was ever stored there.

        Raises:
            WorkspaceError: The server cannot be reached.
        """
        ...

    def open(
        self,
        folder: Path,
        *,
        on_busy: Callable[[Holder], None] | None = None,
        on_away: Callable[[str], None] | None = None,
        lent: bool = False,
    ) -> Database:
        """Open the database.

        Args:
            folder: Where the files that belong to it are on this machine.
            on_busy: See `Database.claim`.
            on_away: Called with the server that is waited for when it does not answer any more.
            lent: Whether another process has opened it for this one: then it is not upgraded.

        Raises:
            WorkspaceError: It cannot be reached, or understood.
        """
        ...


@dataclass(frozen=True, slots=True)
class Place:
    """A folder, and the server that has the workspace's database where it is no file in the
    folder.
    """

    root: Path
    address: ServerAddress | None = None

    def __str__(self) -> str:
        """What finds it again when written after `--workspace` in this folder."""
        return str(self.address or self.root)

    @classmethod
    def of(cls, location: Path | Place) -> Place:
        """Return the place, or that of a workspace which is all in one folder."""
        return location if isinstance(location, Place) else cls(location)

    @property
    def secrets(self) -> Mapping[str, str]:
        """The variables that another process needs to open it too."""
        return self.address.secrets if self.address else {}


def read_place(text: str | Path) -> Path | ServerAddress:
    """Read the folder of a workspace, or the address of its server.

    Raises:
        InputError: It begins as an address, and no plug-in reads it.
    """
    scheme, is_address, _ = str(text).partition("://")
    if isinstance(text, Path) or not is_address:
        return Path(text)
    stores = brought("stores")
    if scheme not in stores:
        raise InputError(
            f"no plug-in opens a workspace at {scheme}://...",
            hint="name a folder; for postgresql://..., pip install 'judgewright[postgres]'",
        )
    return load(stores[scheme])(text)
