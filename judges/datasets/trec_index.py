"""TREC collections by name, through `ir_datasets` (the `trec` extra)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from ..errors import InputError, WorldError
from .source import Flat
from .trec_dl import Qrel, join_texts


class Collection(Protocol):
    """What we ask of a collection of `ir_datasets`; Any: its tuples, which have no types."""

    def queries_iter(self) -> Iterable[Any]:
        """Yield the queries: `query_id`, `text`."""
        ...

    def qrels_iter(self) -> Iterable[Any]:
        """Yield the grades: `query_id`, `doc_id`, `relevance`."""
        ...

    def docs_store(self) -> Any:
        """Return what has passages with `text` by id: `get_many`."""
        ...


def open_collection(name: str) -> Collection:
    """Return a collection such as `msmarco-passage/trec-dl-2019/judged`; it is downloaded on first
    use.

    Raises:
        InputError: The extra is not installed, or there is no such collection.
        WorldError: It cannot be had.
    """
    try:
        import ir_datasets  # type: ignore[import-not-found]  # an extra
    except ImportError:
        raise InputError(
            "TREC collections by name need the package ir_datasets",
            hint=(
                "pip install 'judgewright[trec]', or name a folder with qrels, queries and passages"
            ),
        ) from None
    try:
        return ir_datasets.load(name)
    except KeyError:
        raise InputError(
            f"ir_datasets has no collection {name!r}", hint="see https://ir-datasets.com"
        ) from None
    except OSError as error:
        raise WorldError(f"the collection {name!r} cannot be had: {error}") from error


def read_collection(collection: Collection, name: str, notes: list[str]) -> Iterator[Flat]:
    """Yield the rows of a collection's judged pairs; what lacks a text is counted in the notes."""
    queries = {query.query_id: query.text for query in collection.queries_iter()}
    # A negative grade marks junk, which trec_eval counts as not relevant.
    qrels = [
        Qrel(qrel.query_id, qrel.doc_id, max(0, int(qrel.relevance)))
        for qrel in collection.qrels_iter()
    ]
    store = collection.docs_store().get_many(sorted({qrel.passage_id for qrel in qrels}))
    passages = {key: passage.text for key, passage in store.items()}
    yield from join_texts(qrels, queries, passages, dataset=name, notes=notes)
