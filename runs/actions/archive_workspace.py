"""Take old runs out of a workspace, into another one that keeps them."""

from __future__ import annotations

import contextlib
import sqlite3

from ...judges import InputError
from ..store.archiving import Archived, archive
from ..store.workspace import Workspace


def archive_workspace(source: Workspace, target: Workspace, *, before: str) -> Archived:
    """Enter the runs that were done before a time in the target, and take them out of the source.

    Args:
        source: The workspace.
        target: The archive, made where it is not there.
        before: The time in UTC, in ISO 8601.

    Raises:
        InputError: There is no such source, both are the same, or the archive tells a run in another way.
        WorkspaceError: Somebody works on one of the runs, or a workspace cannot be read or written.
    """
    if not source.exists:
        raise InputError(f"there is no workspace at {source.place}")
    if source.is_also(target):
        raise InputError(f"{source.place} cannot be its own archive")
    archived = archive(source.database, target.database, before=before)
    if archived.runs and source.place.address is None:
        # A file keeps its size until it is written anew; where there is no room for that, it is used again.
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(source.path)) as connection:
            connection.execute("VACUUM")
    return archived
