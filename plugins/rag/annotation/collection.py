"""Queries and a corpus, read from files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ....judges.errors import InputError
from ....judges.files import (
    Problems,
    Roles,
    read_records,
    read_table,
)
from ....judges.prompt import JudgePrompt
from .annotate import Item

QUERY_NAMES = ("query", "question")
PASSAGE_NAMES = ("passage", "paragraph", "text", "document", "source", "context")
QUERY_IDS = ("query_id", "qid", "id")
DOCUMENT_IDS = ("document_id", "doc_id", "docid", "passage_id", "pid", "id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Queries and documents as a judge needs them."""

    queries: tuple[Item, ...]
    documents: tuple[Item, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """One file: which of the judge's inputs it fills, from which columns."""

    path: Path
    inputs: Mapping[str, str]
    id: str | None
    what: str


def read_collection(
    prompt: JudgePrompt, queries: Path, corpus: Path, columns: Mapping[str, str]
) -> Collection:
    """Read queries and documents.

    An input called like a query is read from QUERIES, one called like a passage from CORPUS, and
    any other, such as a relevance definition, from the first of the two that has it. Texts that
    repeat are kept once.

    Args:
        prompt: The judge.
        queries: The file QUERIES.
        corpus: The file CORPUS.
        columns: A judge's input to the column that holds it, where the two differ in name.

    Raises:
        InputError: An input is in neither file, or one of the files fills none.
        DataError: A file cannot be read.
    """
    for name in columns:
        if name not in prompt.inputs:
            raise InputError(
                f"the judge has no input {name!r}; its inputs are {', '.join(prompt.inputs)}"
            )
    query_side, document_side = _sides(prompt, queries, corpus, columns)
    query_items, query_notes = _items(query_side, QUERY_NAMES)
    documents, document_notes = _items(document_side, PASSAGE_NAMES)
    return Collection(
        queries=query_items, documents=documents, notes=(*query_notes, *document_notes)
    )


def _sides(
    prompt: JudgePrompt, queries: Path, corpus: Path, mapped: Mapping[str, str]
) -> tuple[_Side, _Side]:
    columns = columns_of(queries), columns_of(corpus)
    inputs: tuple[dict[str, str], dict[str, str]] = {}, {}
    for name in prompt.inputs:
        side, column = _side_and_column(name, mapped.get(name), columns)
        inputs[side][name] = column
    for side, path in enumerate((queries, corpus)):
        if not inputs[side]:
            raise InputError(
                f"{path} fills none of the judge's inputs {', '.join(prompt.inputs)}",
                hint=(
                    "annotate needs a judge of pairs, such as context_relevance; --column"
                    " INPUT=COLUMN maps a column"
                ),
            )
    ids = first_of(QUERY_IDS, columns[0]), first_of(DOCUMENT_IDS, columns[1])
    return (
        _Side(path=queries, inputs=inputs[0], id=ids[0], what="queries"),
        _Side(path=corpus, inputs=inputs[1], id=ids[1], what="documents"),
    )


def columns_of(path: Path) -> tuple[str, ...]:
    """Return the columns of the first record; a file without one has none."""
    first = next(read_records(path, Problems(path)), None)
    return tuple(first.fields) if first is not None else ()


def _side_and_column(
    name: str, mapped: str | None, columns: tuple[tuple[str, ...], tuple[str, ...]]
) -> tuple[int, str]:
    """Return the side, 0 queries or 1 corpus, and the column that fill an input."""
    family = next((names for names in (QUERY_NAMES, PASSAGE_NAMES) if name in names), (name,))
    candidates = (mapped,) if mapped else (name, *family)
    order = {QUERY_NAMES: (0,), PASSAGE_NAMES: (1,)}.get(family, (0, 1))
    for side in order:
        column = first_of(candidates, columns[side])
        if column is not None:
            return side, column
    files, contents = [], []
    for side in order:
        file = ("QUERIES", "CORPUS")[side]
        files.append(file)
        contents.append(f"{file} has {', '.join(columns[side]) or 'nothing'}")
    message = (
        f"the judge's input {name!r} is no column of {' and '.join(files)}: {'; '.join(contents)}"
    )
    raise InputError(message, hint=f"map it: --column {name}=COLUMN")


def first_of(names: Sequence[str], columns: Sequence[str]) -> str | None:
    """Return the first of the names that is a column; None where none is."""
    return next((name for name in names if name in columns), None)


def _items(side: _Side, search_names: Sequence[str]) -> tuple[tuple[Item, ...], list[str]]:
    """Return the items, and notes on how the file was read."""
    table = read_table(side.path, Roles(inputs=side.inputs, label="", id=side.id))
    searched = next((name for name in side.inputs if name in search_names), next(iter(side.inputs)))
    items: dict[tuple[str, ...], Item] = {}
    for draft in table.drafts:
        item = Item(id=draft.id, text=draft.inputs[searched], inputs=draft.inputs)
        # A repeated text would be retrieved, and paid for, twice.
        items.setdefault(tuple(draft.inputs.values()), item)
    notes = [f"{side.what}: {note}" for note in table.notes]
    repeats = len(table.drafts) - len(items)
    if repeats:
        notes.append(f"{side.what} whose text repeats an earlier one, left out: {repeats:,}")
    return tuple(items.values()), notes
