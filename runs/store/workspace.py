"""A workspace: a folder with one SQLite file of runs, calls and looks, and prompt files that people keep in git."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from .database import Database
from .journal import writing_run
from .lock import Holder

if TYPE_CHECKING:
    from ...judges import Registry

FOLDER = ".judgewright"


class Workspace:
    """One folder with `.judgewright/` (database) and `prompts/` (YAML); made when first written to.

    Args:
        on_wait: Called with what a write waits for while another process writes; without it such a write is refused.
        on_upgrade: Told how far the upgrade of a large workspace is, which an older version made.
    """

    def __init__(
        self,
        root: Path,
        *,
        on_wait: Callable[[str], None] | None = None,
        on_upgrade: Callable[[str], None] | None = None,
    ) -> None:
        self.root = root
        self._on_wait = on_wait
        self._on_upgrade = on_upgrade
        self._database: Database | None = None

    @property
    def registry(self) -> Registry:
        """The prompts of this workspace and the shipped ones."""
        from ...judges.registry import Registry

        return Registry(self.root / "prompts")

    @property
    def path(self) -> Path:
        """The database file."""
        return self.root / FOLDER / "judgewright.db"

    @property
    def waits(self) -> bool:
        """Whether a command waits, for another one that writes or for a batch, rather than end."""
        return self._on_wait is not None

    @property
    def exists(self) -> bool:
        """Whether anything was ever written here."""
        return self.path.is_file()

    @property
    def database(self) -> Database:
        """The open database.

        Raises:
            WorkspaceError: It cannot be made, opened or understood.
        """
        if self._database is None:
            on_busy = self._tell if self._on_wait else None
            self._database = Database(self.path, on_busy=on_busy, on_upgrade=self._on_upgrade)
        return self._database

    def _tell(self, holder: Holder) -> None:
        if self._on_wait is not None:
            self._on_wait(writing_run(self.database, holder))

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
    given: Path | None = None,
    on_wait: Callable[[str], None] | None = None,
    on_upgrade: Callable[[str], None] | None = None,
) -> Workspace:
    """Return the given workspace, else the nearest one at or above `start`, else a new one at `start`."""
    start = start.resolve()
    found = (folder for folder in (start, *start.parents) if (folder / FOLDER).is_dir())
    return Workspace(given or next(found, start), on_wait=on_wait, on_upgrade=on_upgrade)
