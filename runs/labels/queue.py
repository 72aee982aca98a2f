"""A queue of rows to label: which rows of which file, what people are asked, and in which order the
rows come.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from ...judges import Dataset, InputError, OutputScale, Registry, Row, hash_rows
from ...judges.files import (
    RawRoles,
    infer_raw_scale,
    judge_inputs,
    load_as_said,
    mapped_words,
    read_raw_rows,
)
from ...judges.metrics import QUERY_WORDS
from ..store.journal import RunRecord, create_run, set_state
from ..store.workspace import Workspace
from .listed import LISTED, ListedQueue, drawn_order

if TYPE_CHECKING:
    from .next_rows import NextRows, OpenQuestion

KIND = "queue"
"""The kind of run that a queue is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueConfig:
    """What a queue fixes before its first label."""

    data: str
    """The file of the rows, with its whole path."""
    data_hash: str
    """Of the queue's rows without their labels."""
    inputs: tuple[str, ...]
    reading: Mapping[str, Any] = field(default_factory=dict)  # Any: JSON
    """How `load_dataset` reads the file; `label_scale` as text."""
    scale: Mapping[str, Any]  # Any: JSON
    """The scale people label on, as the fields of an `OutputScale`."""
    design: Mapping[str, Any]  # Any: JSON, each kind of queue has its own
    rows: Sequence[str]
    """The ids of the rows that may be drawn."""
    question: str = ""
    """What people are asked, in the user's own words."""
    second: float = 0.0
    """Share of the rows that a second annotator labels too; where the two disagree the label is
    missing.
    """

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> QueueConfig:  # Any: JSON
        """Read what `asdict` gave."""
        return cls(**{**body, "inputs": tuple(body["inputs"]), "rows": tuple(body["rows"])})

    @property
    def label_scale(self) -> OutputScale:
        """The scale people label on."""
        return OutputScale(**{**self.scale, "labels": tuple(self.scale["labels"])})

    def dataset(self) -> Dataset:
        """Read the queue's rows; others may have been added to the file since.

        Raises:
            InputError: A row of the queue is gone, or has other texts now.
            DataError: The file cannot be read.
        """
        every = load_as(self.reading, Path(self.data), inputs=self.inputs, scale=self.label_scale)
        dataset = only_rows(every, self.rows)
        if hash_unlabelled(dataset) != self.data_hash:
            raise InputError(
                f"{self.data}: rows of the queue are gone, or have been changed since it was made",
                hint=(
                    "put the file back as it was, or make a new queue; labels that were given are"
                    " kept"
                ),
            )
        return dataset


def read_rows_to_label(
    registry: Registry,
    path: Path,
    reading: Mapping[str, Any],  # Any: JSON
    *,
    judge: str | None = None,
) -> Dataset:
    """Read a file with the inputs and the scale of a judge, or with those that the file shows.

    Args:
        registry: Where the judge is.
        path: The file.
        reading: How `load_dataset` reads it; `label_scale` as text.
        judge: The judge's name.

    Raises:
        InputError: There is no such judge, or no text to show.
        DataError: The file cannot be read.
    """
    if judge is not None:
        prompt = registry.get(judge)
        return load_as(reading, path, inputs=prompt.inputs, scale=prompt.scale)
    # The column of the group may be a text that people must read, such as the query; `load_as`
    # reads it as both.
    words = mapped_words(reading.get("label_map"))
    roles = RawRoles(
        inputs=reading["columns"], label=reading["label"], id=reading["id"], words=words
    )
    raw = read_raw_rows(path, roles, judges=judge_inputs(registry), drawn=True)
    inputs = tuple(raw.rows[0].inputs)
    if not inputs:
        raise InputError(
            f"{path} has no text that people could read", hint="give the file with the rows' texts"
        )
    return load_as(reading, path, inputs=inputs, scale=infer_raw_scale(raw.rows))


def load_as(
    reading: Mapping[str, Any],  # Any: JSON
    path: Path,
    *,
    inputs: tuple[str, ...],
    scale: OutputScale,
) -> Dataset:
    """Load a file as a queue's reading says; see `read_rows_to_label`.

    Raises:
        DataError: The file cannot be read.
    """
    return load_as_said(path, reading, inputs=inputs, scale=scale, require_labels=False, drawn=True)


def reading_order(rows: Collection[Row]) -> tuple[str, ...]:
    """Return the names of the texts in the order to read them, the same for all rows.

    What was asked comes first, then what is to be judged, then a long source: a text that is
    shorter as a rule first.
    """
    names = dict.fromkeys(name for row in rows for name in row.inputs)
    length = {name: median(len(row.inputs.get(name, "")) for row in rows) for name in names}
    queries = {name for name in names if any(word in name.lower() for word in QUERY_WORDS)}
    return tuple(sorted(names, key=lambda name: (name not in queries, length[name])))


def hash_unlabelled(dataset: Dataset) -> str:
    """Return the hash of rows whatever their labels, which people are about to give."""
    return hash_rows(replace(row, label=None) for row in dataset.rows)


def only_rows(dataset: Dataset, ids: Sequence[str]) -> Dataset:
    """Return the rows with these ids, as far as they are there."""
    chosen_ids = set(ids)
    return replace(dataset, rows=tuple(row for row in dataset.rows if row.id in chosen_ids))


def list_rows(
    dataset: Dataset, *, path: Path, reading: Mapping[str, Any], again: bool, seed: int = 0
) -> QueueConfig:
    """Describe a queue of the rows of a file that have no label yet.

    Args:
        dataset: The rows of the file.
        path: The file.
        reading: How `load_dataset` reads it; `label_scale` as text.
        again: Whether to ask about rows that have a label too; it is not shown.
        seed: Draws the order.

    Raises:
        InputError: Every row has a label.
    """
    rows = [row for row in dataset.rows if again or row.label is None]
    if not rows:
        raise InputError(f"every row of {path} has a label", hint="--again asks about them anew")
    probability = {row.id: row.sampling_probability for row in rows if row.sampling_probability < 1}
    return QueueConfig(
        data=str(path.resolve()),
        data_hash=hash_unlabelled(replace(dataset, rows=tuple(rows))),
        inputs=tuple(rows[0].inputs),
        reading=reading,
        scale=asdict(dataset.labels),
        design={"kind": LISTED, "probability": probability},
        rows=drawn_order(rows, seed=seed),
    )


def list_next(
    dataset: Dataset,
    drawn: NextRows,
    aim: OpenQuestion,
    *,
    path: Path,
    reading: Mapping[str, Any],
) -> QueueConfig:
    """Describe a queue of the rows that tell most about a question; see `draw_rows`."""
    again = aim.question == "doubts"
    drawn_rows = only_rows(dataset, drawn.ids)
    config = list_rows(drawn_rows, path=path, reading=reading, again=again)
    probability = {**drawn.probability}
    for row_id, drawn_before in config.design["probability"].items():
        probability[row_id] = drawn_before * probability.get(row_id, 1.0)
    design = {"kind": LISTED, "name": f"next {aim.question}", "probability": probability}
    return replace(config, rows=drawn.ids, design=design)


def create_queue(workspace: Workspace, config: QueueConfig) -> str:
    """Enter a queue, and return the id of its run."""
    run_id = create_run(workspace.database, KIND, asdict(config))
    set_state(workspace.database, run_id, "stopped")
    workspace.database.release()
    return run_id


def without_row_ids(run: RunRecord) -> RunRecord:
    """Return a run for a list of runs: of a queue with the number of its rows in place of their
    ids.
    """
    if run.kind != KIND:
        return run
    design = {"kind": "", **run.config.get("design", {})}
    design = {name: design[name] for name in ("kind", "name") if name in design}
    return replace(
        run, config={**run.config, "rows": len(run.config.get("rows", ())), "design": design}
    )


def open_queue(config: QueueConfig) -> ListedQueue:
    """Return the queue that a run describes.

    Raises:
        InputError: This version knows no such queue.
    """
    kind = config.design.get("kind")
    if kind != LISTED:
        raise InputError(
            f"a queue of kind {kind!r} is not asked about any more",
            hint="`judgewright label QUEUE --out FILE` writes the labels that it has",
        )
    name = config.design.get("name", LISTED)
    return ListedQueue(order=config.rows, probability=config.design["probability"], design=name)
