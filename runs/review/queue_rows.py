"""A queue of rows to label as the page reads it: kept in a file, of which each page reads the one
row it shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, overload

from ...judges import Dataset, Row
from ...optimize.holdout.row_fingerprints import row_keys
from ..labels.listed import LISTED
from ..labels.queue import QueueConfig, reading_order
from ..labels.session import OpenedQueue
from ..store.journal import get_run
from ..store.workspace import Workspace
from .row_pages import Json, RowItem, RowPages

T = TypeVar("T")


def queue_items(
    config: QueueConfig, dataset: Dataset
) -> tuple[dict[str, Any], list[RowItem]]:  # Any: JSON
    """Return what is kept of a queue: its rows in the order in which they are drawn, and how their
    texts are read.

    Args:
        config: The queue's.
        dataset: Its rows.
    """
    rows = {row.id: row for row in dataset.rows}
    keys = dict(zip(rows, row_keys(dataset), strict=True))
    probability: Mapping[str, float] = config.design.get("probability", {})
    head: dict[str, Any] = {"order": reading_order(dataset.rows)}
    if config.design.get("kind") == LISTED:
        design = {name: value for name, value in config.design.items() if name != "probability"}
        settings = {name: getattr(config, name) for name in _TOLD}
        head["config"] = settings | {"design": design}
    items: list[RowItem] = [
        (
            row_id,
            {
                "inputs": dict(rows[row_id].inputs),
                "group": rows[row_id].group,
                "key": keys[row_id].hex(),
                "probability": probability.get(row_id),
            },
        )
        for row_id in config.rows
    ]
    return head, items


_TOLD = ("data", "data_hash", "inputs", "reading", "scale", "question", "second")


def open_kept_queue(workspace: Workspace, run_id: str, pages: RowPages) -> OpenedQueue:
    """Return a queue whose rows are read one by one.

    Args:
        workspace: Where it is.
        run_id: Its run.
        pages: What was kept of it.
    """
    settings = pages.head.get("config")
    if (
        settings is None
    ):  # which row comes next follows from all rows: the design has them, and no texts
        config = QueueConfig.from_json(get_run(workspace.database, run_id).config)
    else:
        config = QueueConfig.from_json({**settings, "rows": ()})
        design = {**config.design, "probability": _ByRow(pages, _probability)}
        config = replace(config, rows=_Order(pages), design=design)
    return OpenedQueue(config=config, rows=_ByRow(pages, _row), keys=_ByRow(pages, _key))


class _Order(Sequence[str]):
    """The ids of a queue's rows, of which only as many are read as are looked through."""

    def __init__(self, pages: RowPages) -> None:
        self._pages = pages

    def __len__(self) -> int:
        return self._pages.count()

    def __iter__(self) -> Iterator[str]:
        return self._pages.ids()

    @overload
    def __getitem__(self, key: int) -> str: ...

    @overload
    def __getitem__(self, key: slice) -> Sequence[str]: ...

    def __getitem__(self, key: int | slice) -> str | Sequence[str]:
        return tuple(self)[key]


class _ByRow(Mapping[str, T]):
    """What is kept of each row of a queue, read when it is asked for; None is nothing."""

    def __init__(self, pages: RowPages, read: Callable[[str, Json], T | None]) -> None:
        self._pages, self._read = pages, read

    def __len__(self) -> int:
        return self._pages.count()

    def __iter__(self) -> Iterator[str]:
        return self._pages.ids()

    def __getitem__(self, key: str) -> T:
        body = self._pages.read(key)
        value = None if body is None else self._read(key, body)
        if value is None:
            raise KeyError(key)
        return value


def _row(row_id: str, body: Json) -> Row:
    return Row(id=row_id, inputs=body["inputs"], group=body["group"])


def _key(_: str, body: Json) -> bytes:
    return bytes.fromhex(body["key"])


def _probability(_: str, body: Json) -> float | None:
    return body["probability"]
