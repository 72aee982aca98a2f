"""Large banks of decided cases: stored texts of judges name them by their version.

A bank stands once in the database, for all runs that use it, and as a file in the folder of banks,
for whoever reads a text; what the folder lacks, such as a bank of another machine, comes from the
database.
"""

from __future__ import annotations

from pathlib import Path

from ...judges import JudgePrompt, WorkspaceError, write_beside
from ...judges.cases import BANKS, bank_path
from .workspace import Workspace


def banks_of(workspace: Workspace) -> Path:
    """Return the folder in which `load_prompt` finds the banks that texts of a workspace name.

    Raises:
        WorkspaceError: It cannot be written, or the database cannot be read.
    """
    folder = workspace.root / "prompts" / BANKS
    versions = workspace.database.read("SELECT version FROM bank") if workspace.exists else []
    for (version,) in versions:
        path = bank_path(folder, version)
        if not path.is_file():
            _fetch(workspace, version, path)
    return folder


def _fetch(workspace: Workspace, version: str, path: Path) -> None:
    ((text,),) = workspace.database.read("SELECT body FROM bank WHERE version = ?", (version,))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_beside(path, text)
    except OSError as error:
        raise WorkspaceError(f"cannot write {path}: {error.strerror}") from error


def keep_banks(workspace: Workspace, *prompts: JudgePrompt) -> None:
    """Enter the banks of some prompts, before anything is entered that names them.

    Raises:
        WorkspaceError: The database or the folder cannot be written.
    """
    for prompt in prompts:
        bank = prompt.large_bank
        if bank is not None and not workspace.database.read(_FIND, (bank.version,)):
            values = (bank.version, bank.to_text())
            workspace.database.submit(
                lambda connection, values=values: connection.execute(_KEEP, values)
            ).result()
    banks_of(workspace)


_FIND = "SELECT 1 FROM bank WHERE version = ?"
_KEEP = "INSERT INTO bank (version, body) VALUES (?, ?) ON CONFLICT DO NOTHING"
