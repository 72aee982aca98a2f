"""Enter what one workspace knows in another one."""

from __future__ import annotations

from ...judges import InputError
from ..store.jobs import JobQueue
from ..store.merging import Merged, merge
from ..store.workspace import Workspace


def merge_workspaces(source: Workspace, target: Workspace) -> tuple[Merged, int]:
    """Enter runs, calls, labels, looks and jobs that have ended; return what was new, and how many
    jobs.

    Raises:
        InputError: There is no such source, both are the same, or a run or look has gone two ways:
            nothing was entered.
        WorkspaceError: Somebody works on one of the runs, or a workspace cannot be read or written.
    """
    source.require()
    if source.is_also(target):
        raise InputError(f"{source.place} cannot be merged into itself")
    merged = merge(source.database, target.database)
    return merged, JobQueue(target.place, None).take_over(JobQueue(source.place, None))
