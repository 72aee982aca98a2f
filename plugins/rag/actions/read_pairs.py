"""Read pairs of query and document from data files, verdict files and annotations, however their
columns are named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ....judges import InputError
from ....judges.files import Problems, Roles, read_grade, read_table, unit_of
from ....judges.files.problems import shorten
from ..annotation.collection import (
    DOCUMENT_IDS,
    PASSAGE_NAMES,
    QUERY_IDS,
    QUERY_NAMES,
    columns_of,
    first_of,
)

PREFIXES = ("", "inputs.", "metadata.")
"""Before the name of a column, so that verdict files and annotations are read as they are."""
ROLES: Mapping[str, Sequence[str]] = {
    "query": QUERY_NAMES,
    "document": PASSAGE_NAMES,
    "query_id": QUERY_IDS[:-1],
    "document_id": DOCUMENT_IDS[:-1],
}
"""What a column may be, and what it is called where nobody says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairColumns:
    """Which columns are read."""

    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    """The column of one of `ROLES`, where it is called otherwise."""
    label: str = "label"
    label_needed: bool = True
    numbers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Columns of numbers that must be there, each with the option that names it otherwise."""
    optional: Sequence[str] = ()
    """Columns of numbers that may be there."""

    def __post_init__(self) -> None:
        for name in self.columns:
            if name not in ROLES:
                raise InputError(f"--column {name!r} is none of {', '.join(ROLES)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PairLine:
    """One pair as it stands in a file."""

    path: Path
    at: int
    id: str
    query: str
    """What the query is called: its id, else its text."""
    document: str
    """Likewise; the line's id where no column has the document's."""
    texts: tuple[str, str] | None
    """Of query and document, where both are there."""
    label: float | None
    numbers: Mapping[str, float]
    """By column; without those that are empty."""
    simulated: bool

    @property
    def place(self) -> str:
        """The file and the line."""
        return f"{self.path}, {unit_of(self.path)} {self.at}"


def read_pairs(path: Path, pair_columns: PairColumns, notes: list[str]) -> list[PairLine]:
    """Read the pairs of a file.

    Args:
        path: The file.
        wanted: What is read.
        notes: Told how it was read.

    Raises:
        InputError: No column says which query a pair has.
        DataError: The file, or any of its lines, cannot be used; up to ten problems are named.
    """
    there = columns_of(path)
    column_by_role: dict[str, str] = {}
    for role, names in ROLES.items():
        usual = first_of([prefix + name for name in names for prefix in PREFIXES], there)
        if column := pair_columns.columns.get(role, usual):
            column_by_role[role] = column
    query = column_by_role.get("query_id", column_by_role.get("query"))
    if query is None and there:
        raise InputError(
            f"{path}: no column says which query a pair has; the columns are {', '.join(there)}",
            hint="name it: --column query=COLUMN or --column query_id=COLUMN",
        )
    needed = {column: f"--column {role}=COLUMN" for role, column in column_by_role.items()} | dict(
        pair_columns.numbers
    )
    if pair_columns.label_needed:
        needed[pair_columns.label] = "--label COLUMN"
    numbers = [*pair_columns.numbers, *(name for name in pair_columns.optional if name in there)]
    roles = Roles(
        label=pair_columns.label,
        aside=tuple(dict.fromkeys([*column_by_role.values(), *numbers])),
        needed=needed,
    )
    table = read_table(path, roles)
    notes += [f"{path.name}: {note}" for note in table.notes]
    problems = Problems(path)
    seen: dict[tuple[str, str], int] = {}
    pairs: list[PairLine] = []
    for draft in table.drafts:
        cells = {
            role: "" if (cell := draft.aside[column]) is None else str(cell)
            for role, column in column_by_role.items()
        }
        name = cells.get("query_id", cells.get("query", "")).strip()
        document = cells.get("document_id", draft.id)
        if not name:
            problems.add(draft.at, f"field {query!r} is empty: every pair needs its query")
        elif (
            "document_id" in cells
            and (before := seen.setdefault((name, document), draft.at)) != draft.at
        ):
            problems.add(
                draft.at,
                f"the pair of query {name!r} and document {document!r} stands on line {before} too",
            )
        read: dict[str, float] = {}
        for column in numbers:
            try:
                number = read_grade(draft.aside[column], {})
            except ValueError:
                problems.add(
                    draft.at, f"field {column!r}: {shorten(draft.aside[column])} is not a number"
                )
            else:
                read |= {} if number is None else {column: number}
        texts = cells.get("query", ""), cells.get("document", "")
        pairs.append(
            PairLine(
                path=path,
                at=draft.at,
                id=draft.id,
                query=name,
                document=document,
                texts=texts if all(text.strip() for text in texts) else None,
                label=draft.label,
                numbers=read,
                simulated=draft.meta.get("simulated") is True,
            )
        )
    problems.check(hint="leave a number empty where there is none")
    return pairs


def same_text(text: str) -> str:
    """Return what two texts share that differ in white space alone."""
    return " ".join(text.split())
