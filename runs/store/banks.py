"""Large banks of decided cases: stored texts of judges name them by their version.

A bank stands once in the database, for all runs that use it, and as a file in the folder of banks,
for whoever reads a text; what the folder lacks, such as a bank of another machine, comes from the
database.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ...judges import JudgePrompt, WorkspaceError, write_beside
from ...judges.cases import BANKS, bank_path
from ...optimize.holdout.bank_rows import bank_fingerprints, rows_of_bank
from ...optimize.holdout.sides import SeenRows
from .ledger import HoldoutLedger
from .sealed_rows import sealed_rows
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
            ((text,),) = workspace.database.read(_FIND, (version,))
            try:
                folder.mkdir(parents=True, exist_ok=True)
                write_beside(path, text)
            except OSError as error:
                raise WorkspaceError(f"cannot write {path}: {error.strerror}") from error
    return folder


def keep_banks(workspace: Workspace, *prompts: JudgePrompt) -> None:
    """Enter the banks of some prompts, before anything is entered that names them; the ledger is
    told that their rows are open, so that none is ever sealed.

    Rows that are sealed already stay so: `hide_sealed` leaves them out.

    Raises:
        WorkspaceError: The database or the folder cannot be written.
    """
    for prompt in prompts:
        if prompt.cases is None:
            continue
        bank = prompt.large_bank
        if bank is not None and not workspace.database.read(_FIND, (bank.version,)):
            values = (bank.version, bank.to_text())
            workspace.database.submit(
                lambda connection, values=values: connection.execute(_KEEP, values)
            ).result()
        for seen in rows_seen(workspace, prompt):
            HoldoutLedger(workspace.database).remember(seen)
    banks_of(workspace)


def rows_seen(workspace: Workspace, prompt: JudgePrompt) -> tuple[SeenRows, ...]:
    """Return the rows of a prompt's bank, but for those that are sealed, as the ledger is told of
    them; nothing where it knows them already.
    """
    rows = rows_of_bank(prompt)
    if rows is None or workspace.history().memory(rows.name) is not None:
        return ()
    sealed = sealed_rows(workspace, rows)
    seen = tuple(row for row, out in zip(rows.rows, sealed, strict=True) if not out)
    fingerprints = bank_fingerprints(replace(rows, rows=seen))
    return (SeenRows(run_id=rows.name, open=fingerprints),)


def hide_sealed(workspace: Workspace, prompt: JudgePrompt) -> JudgePrompt:
    """Return the same version that does not show the decided cases which are sealed here, or stand
    in the group of a sealed row or are nearly the same.

    Raises:
        WorkspaceError: The ledger cannot be read.
    """
    rows = rows_of_bank(prompt)
    if rows is None or prompt.cases is None:
        return prompt
    sealed = sealed_rows(workspace, rows)
    return prompt.hiding(
        [case.key for case, out in zip(prompt.cases.bank.cases, sealed, strict=True) if out]
    )


def hidden_notes(*prompts: JudgePrompt) -> tuple[str, ...]:
    """Say how many decided cases of which prompt are not shown."""
    return tuple(
        f"{len(prompt.hidden_cases):,} of the {len(prompt.cases.bank):,} decided cases of"
        f" {prompt.name}@{prompt.version} are not shown: they, their groups or near-duplicates are"
        " sealed here"
        for prompt in prompts
        if prompt.cases is not None and prompt.hidden_cases
    )


_FIND = "SELECT body FROM bank WHERE version = ?"
_KEEP = "INSERT INTO bank (version, body) VALUES (?, ?) ON CONFLICT DO NOTHING"
