"""A workspace: a folder with prompt files that people keep in git, and a database of runs, calls
and looks.

The database is one SQLite file in the folder, or a PostgreSQL that many machines share. Files stay
in the folder of whoever works: prompts, slices and uploads, and in `.judgewright/` rows kept
from Python, exchanges with batch queues, pages and the output of jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

from ...judges.errors import InputError
from ..config.place import Place, ServerAddress
from .journal import RunRecord, list_runs, writing_run

if TYPE_CHECKING:
    from ...judges import Registry
    from ...optimize.holdout.ledger import History
    from .database import Database, Holder

FOLDER = ".judgewright"


class Workspace:
    """One folder with `.judgewright/` and `prompts/` (YAML), and its database; made when first
    written to.

    Args:
        place: The folder, or the folder and the address of its database.
        on_wait: Called with what a write waits for while another process writes; without it such a
            write is refused.
    """

    def __init__(
        self,
        place: Path | Place,
        *,
        on_wait: Callable[[str], None] | None = None,
    ) -> None:
        self.place = Place.of(place)
        self._on_wait = on_wait
        self._database: Database | None = None

    @property
    def root(self) -> Path:
        """The folder."""
        return self.place.root

    @property
    def folder(self) -> Path:
        """The folder of files that nobody edits."""
        return self.root / FOLDER

    @property
    def registry(self) -> Registry:
        """The prompts of this workspace and the shipped ones."""
        from ...judges.registry import Registry

        return Registry(self.root / "prompts")

    @property
    def path(self) -> Path:
        """The database file of a workspace that has one."""
        return self.folder / "judgewright.db"

    def runs(self, *kinds: str, events: Collection[str] = ()) -> tuple[RunRecord, ...]:
        """Return the runs of some kinds, oldest first, as `list_runs`; where nothing was ever
        written there are none.
        """
        return list_runs(self.database, *kinds, events=events) if self.exists else ()

    def history(self) -> History:
        """Return what the ledger knows; where nothing was ever written that is nothing.

        Raises:
            WorkspaceError: The ledger cannot be read.
        """
        from ...optimize.holdout.ledger import History
        from .ledger import HoldoutLedger

        return HoldoutLedger(self.database).history() if self.exists else History()

    @property
    def waits(self) -> bool:
        """Whether a command waits, for another one that writes or for a batch, rather than end."""
        return self._on_wait is not None

    @property
    def exists(self) -> bool:
        """Whether anything was ever written here.

        Raises:
            WorkspaceError: Its server cannot be reached.
        """
        if self._database is not None:
            return True
        if self.place.address is None:
            return self.path.is_file()
        return self.place.address.is_made()

    def require(self, hint: str = "give --workspace, or start a run here") -> None:
        """Check that it is there.

        Raises:
            InputError: There is none.
        """
        if not self.exists:
            raise InputError(f"there is no workspace at {self.place}", hint=hint)

    @property
    def database(self) -> Database:
        """The open database.

        Raises:
            WorkspaceError: It cannot be made, opened or understood.
        """
        if self._database is None:
            self._database = self._open(self._tell_holder if self._on_wait else None)
        return self._database

    def _open(self, on_busy: Callable[[Holder], None] | None) -> Database:
        if self.place.address is not None:
            return self.place.address.open(self.folder, on_busy=on_busy, on_away=self._on_wait)
        from .sqlite_database import SqliteDatabase

        return SqliteDatabase(self.path, on_busy=on_busy)

    def _tell_holder(self, holder: Holder) -> None:
        if self._on_wait is not None:
            self._on_wait(f"{writing_run(self.database, holder)}, which writes to this workspace")

    def close(self) -> None:
        """Write what is pending and close the database."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def find_workspace(
    start: Path,
    *,
    given: Path | ServerAddress | Place | None = None,
    on_wait: Callable[[str], None] | None = None,
) -> Workspace:
    """Return the given workspace, else the nearest one at or above `start`, else a new one at
    `start`.

    The folder of a workspace on a server is the nearest one at or above `start`, else `start`.
    """
    start = start.resolve()
    folders = (folder for folder in (start, *start.parents) if (folder / FOLDER).is_dir())
    if not isinstance(given, Place):
        given = Place(given) if isinstance(given, Path) else Place(next(folders, start), given)
    return Workspace(given, on_wait=on_wait)
