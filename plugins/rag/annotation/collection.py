"""Queries, a corpus and labels of their pairs, read from files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ....judges.errors import InputError
from ....judges.files import (
    Problems,
    Roles,
    mapped_words,
    read_records,
    read_table,
    words_of,
)
from ....judges.prompt import JudgePrompt
from ....judges.scale import OutputScale, infer_label_scale, parse_label_scale
from .annotate import Item

QUERY_NAMES = ("query", "question")
PASSAGE_NAMES = ("passage", "paragraph", "text", "document", "source", "context")
QUERY_IDS = ("query_id", "qid", "id")
DOCUMENT_IDS = ("document_id", "doc_id", "docid", "passage_id", "pid", "id")


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionFiles:
    """The files that queries, corpus and labels are read from."""

    queries: Path
    corpus: Path
    labels: Path | None = None
    columns: Mapping[str, str]
    """A judge's input to the column that holds it, where the two differ in name."""
    query_id: str | None = None
    """The column of the id; None takes the first of `QUERY_IDS` that is there, else line numbers.
    """
    document_id: str | None = None
    label: str = "label"
    label_scale: str | None = None
    label_map: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Queries and documents as a judge needs them, and people's labels of pairs of them."""

    queries: tuple[Item, ...]
    documents: tuple[Item, ...]
    labels: Mapping[tuple[str, str], float]
    """By query id and document id."""
    label_scale: OutputScale
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """One file: which of the judge's inputs it fills, from which columns."""

    path: Path
    inputs: Mapping[str, str]
    id: str | None
    what: str


def read_collection(prompt: JudgePrompt, sources: CollectionFiles) -> Collection:
    """Read queries, documents and labels.

    An input called like a query is read from QUERIES, one called like a passage from CORPUS, and
    any other, such as a relevance definition, from the first of the two that has it. Texts that
    repeat are kept once.

    Raises:
        InputError: An input is in neither file, or one of the files fills none.
        DataError: A file cannot be read.
    """
    for name in sources.columns:
        if name not in prompt.inputs:
            raise InputError(
                f"the judge has no input {name!r}; its inputs are {', '.join(prompt.inputs)}"
            )
    query_side, document_side = _sides(prompt, sources)
    queries, query_ids, query_notes = _items(query_side, QUERY_NAMES)
    documents, document_ids, document_notes = _items(document_side, PASSAGE_NAMES)
    labels: dict[tuple[str, str], float] = {}
    scale, notes = prompt.scale, [*query_notes, *document_notes]
    if sources.labels is not None:
        grades, scale = _read_labels(sources.labels, prompt.scale, sources)
        unknown = 0
        for (query, document), grade in grades.items():
            if query in query_ids and document in document_ids:
                labels[query_ids[query], document_ids[document]] = grade
            else:
                unknown += 1
        notes.append(f"{len(labels):,} pairs have a label, read as {scale.describe()}")
        if unknown:
            notes.append(
                f"labels of pairs that are not in QUERIES and CORPUS, left out: {unknown:,}"
            )
    return Collection(
        queries=queries, documents=documents, labels=labels, label_scale=scale, notes=tuple(notes)
    )


def _sides(prompt: JudgePrompt, sources: CollectionFiles) -> tuple[_Side, _Side]:
    columns = columns_of(sources.queries), columns_of(sources.corpus)
    inputs: tuple[dict[str, str], dict[str, str]] = {}, {}
    for name in prompt.inputs:
        side, column = _side_and_column(name, sources.columns.get(name), columns)
        inputs[side][name] = column
    for side, path in enumerate((sources.queries, sources.corpus)):
        if not inputs[side]:
            raise InputError(
                f"{path} fills none of the judge's inputs {', '.join(prompt.inputs)}",
                hint=(
                    "annotate needs a judge of pairs, such as context_relevance; --column"
                    " INPUT=COLUMN maps a column"
                ),
            )
    ids = (
        sources.query_id or first_of(QUERY_IDS, columns[0]),
        sources.document_id or first_of(DOCUMENT_IDS, columns[1]),
    )
    return (
        _Side(path=sources.queries, inputs=inputs[0], id=ids[0], what="queries"),
        _Side(path=sources.corpus, inputs=inputs[1], id=ids[1], what="documents"),
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


def _items(
    side: _Side, search_names: Sequence[str]
) -> tuple[tuple[Item, ...], dict[str, str], list[str]]:
    """Return the items, the item's id for each id of the file, and notes on how the file was
    read.
    """
    table = read_table(side.path, Roles(inputs=side.inputs, label="", id=side.id))
    searched = next((name for name in side.inputs if name in search_names), next(iter(side.inputs)))
    items: dict[tuple[str, ...], Item] = {}
    ids: dict[str, str] = {}
    for draft in table.drafts:
        item = Item(id=draft.id, text=draft.inputs[searched], inputs=draft.inputs)
        # A repeated text would be retrieved, and paid for, twice; its labels go to the first of
        # them.
        ids[draft.id] = items.setdefault(tuple(draft.inputs.values()), item).id
    notes = [f"{side.what}: {note}" for note in table.notes]
    repeats = len(table.drafts) - len(items)
    if repeats:
        notes.append(f"{side.what} whose text repeats an earlier one, left out: {repeats:,}")
    return tuple(items.values()), ids, notes


def _read_labels(
    path: Path, scale: OutputScale, sources: CollectionFiles
) -> tuple[dict[tuple[str, str], float], OutputScale]:
    columns = columns_of(path)
    query = sources.query_id or first_of(QUERY_IDS[:-1], columns) or QUERY_IDS[0]
    document = sources.document_id or first_of(DOCUMENT_IDS[:-1], columns) or DOCUMENT_IDS[0]
    stated = parse_label_scale(sources.label_scale) if sources.label_scale else None
    roles = Roles(
        label=sources.label,
        aside=(query, document),
        needed={
            query: "--query-id COLUMN",
            document: "--document-id COLUMN",
            sources.label: "--label COLUMN",
        },
        words=mapped_words(sources.label_map, words_of(stated or scale)),
        low_is_good=stated is not None and stated.low_is_good,
    )
    table = read_table(path, roles)
    grades: dict[tuple[str, str], float] = {}
    for draft in table.drafts:
        if draft.label is None:
            continue
        if stated is not None and not stated.contains(draft.label):
            raise InputError(
                f"{path}: the label {draft.label:g} is outside the scale ({stated.describe()})"
            )
        grades[str(draft.aside[query]), str(draft.aside[document])] = draft.label
    if not grades:
        raise InputError(f"{path}: no pair has a label in column {sources.label!r}")
    return grades, stated or infer_label_scale(table.grades, scale)
