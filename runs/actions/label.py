"""Ask people for labels: a queue of rows of a file, who answers, and what is kept of it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from ...judges import Dataset, InputError, OutputScale, Registry, Row, hash_rows, load_dataset, parse_label_scale
from ...judges.files import RawRoles, infer_raw_scale, judge_inputs, read_raw_rows
from ...optimize.flips import Draw, FlipDesign, FlipQueue, GivenLabel
from ...optimize.holdout.row_fingerprints import row_keys
from ..store.journal import create_run, find_run, get_run, set_state
from ..store.labels import LabelAction, LabelRecord, LabelStore, NewLabel, counting_records
from ..store.workspace import Workspace
from .listed_queue import LISTED, ListedQueue, drawn_order
from .next_labels import NextRows, OpenQuestion

KIND = "queue"
"""The kind of run that a queue is."""
FLIPS = "flips"
"""The kind of design that decides between two prompts."""
JUDGING = "judging"
"""The same while the prompts have not judged all rows yet."""
DISAGREE = "the two annotators disagree"
AWAITS_SECOND = "the second annotator has not labelled it yet"


class Queue(Protocol):
    """Which row comes next: a function of what was fixed beforehand and of the labels so far, in their order."""

    def next(self, given: Sequence[GivenLabel]) -> Draw | None:
        """Return the next row; None where the question is decided, or nothing is left."""
        ...


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
    rows: tuple[str, ...]
    """The ids of the rows that may be drawn."""
    question: str = ""
    """What people are asked, in the user's own words."""
    second: float = 0.0
    """Share of the rows that a second annotator labels too; where the two disagree the label is missing."""

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
                hint="put the file back as it was, or make a new queue; labels that were given are kept",
            )
        return dataset


def read_rows_to_label(
    registry: Registry,
    path: Path,
    reading: Mapping[str, Any],  # Any: JSON
    *,
    judge: str | None = None,
    without: Collection[str] = (),
) -> Dataset:
    """Read a file with the inputs and the scale of a judge, or with those that the file shows.

    Args:
        registry: Where the judge is.
        path: The file.
        reading: How `load_dataset` reads it; `label_scale` as text.
        judge: The judge's name.
        without: Columns that are not shown, such as what a judge said.

    Raises:
        InputError: There is no such judge, or no text to show.
        DataError: The file cannot be read.
    """
    if judge is not None:
        prompt = registry.get(judge)
        return load_as(reading, path, inputs=prompt.inputs, scale=prompt.scale)
    roles = RawRoles(inputs=reading["columns"], label=reading["label"], id=reading["id"], group=reading["group"])
    raw = read_raw_rows(path, roles, judges=judge_inputs(registry), drawn=True)
    inputs = tuple(name for name in raw.rows[0].inputs if name not in without)
    if not inputs:
        raise InputError(f"{path} has no text that people could read", hint="give the file with the rows' texts")
    return load_as(reading, path, inputs=inputs, scale=infer_raw_scale(raw.rows))


def load_as(
    reading: Mapping[str, Any],  # Any: JSON
    path: Path,
    *,
    inputs: tuple[str, ...],
    scale: OutputScale,
    measures: bool = False,
) -> Dataset:
    """Load a file as a queue's reading says.

    Args:
        reading: See `read_rows_to_label`.
        measures: Whether rows need labels, and those that were drawn with a probability below 1 are left out.

    Raises:
        DataError: The file cannot be read.
    """
    stated = reading.get("label_scale")
    how = {**reading, "label_scale": parse_label_scale(stated) if stated else None}
    return load_dataset(path, inputs=inputs, scale=scale, require_labels=measures, drawn=not measures, **how)


def hash_unlabelled(dataset: Dataset) -> str:
    """Return the hash of rows whatever their labels, which people are about to give."""
    return hash_rows(replace(row, label=None) for row in dataset.rows)


def only_rows(dataset: Dataset, ids: Sequence[str]) -> Dataset:
    """Return the rows with these ids, as far as they are there."""
    wanted = set(ids)
    return replace(dataset, rows=tuple(row for row in dataset.rows if row.id in wanted))


def list_rows(dataset: Dataset, *, path: Path, reading: Mapping[str, Any], again: bool, seed: int) -> QueueConfig:
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
    dataset: Dataset, drawn: NextRows, asked: OpenQuestion, *, path: Path, reading: Mapping[str, Any]
) -> QueueConfig:
    """Describe a queue of the rows that tell most about a question; see `draw_rows`."""
    drawn_ids = set(drawn.ids)
    again = asked.question == "doubts"
    wanted = replace(dataset, rows=tuple(row for row in dataset.rows if row.id in drawn_ids))
    config = list_rows(wanted, path=path, reading=reading, again=again, seed=0)
    probability = {**drawn.probability}
    for row_id, drawn_before in config.design["probability"].items():
        probability[row_id] = drawn_before * probability.get(row_id, 1.0)
    design = {"kind": LISTED, "name": f"next {asked.question}", "probability": probability}
    return replace(config, rows=drawn.ids, design=design)


def create_queue(workspace: Workspace, config: QueueConfig) -> str:
    """Enter a queue, and return the id of its run."""
    run_id = create_run(workspace.database, KIND, asdict(config))
    set_state(workspace.database, run_id, "stopped")
    workspace.database.release()
    return run_id


def open_queue(config: QueueConfig) -> Queue:
    """Return the queue that a run describes.

    Raises:
        InputError: This version knows no such queue.
    """
    kind = config.design.get("kind")
    if kind == LISTED:
        name = config.design.get("name", LISTED)
        return ListedQueue(order=config.rows, probability=config.design["probability"], design=name)
    if kind == FLIPS:
        return FlipQueue(FlipDesign.from_json(config.design["flips"]))
    if kind == JUDGING:
        raise InputError(
            "the two judges have not judged all rows of the queue yet", hint="run `judgewright gate --unlabelled` again"
        )
    raise InputError(f"a queue of kind {kind!r} is not known", hint="a newer Judgewright made it")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowLabel:
    """What counts as the label of a row, from one annotator or both."""

    first: LabelRecord
    second: LabelRecord | None
    label: float | None
    reason: str
    """Why there is none; empty where there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a queue is for one annotator; nothing about what was said, or about any result."""

    labelled: int
    skipped: int
    left: int | None
    """Rows left to label; None where the queue decides that by the labels."""


class LabelSession:
    """One annotator at one queue: the next row, and what is said of it.

    Args:
        workspace: Where the queue is.
        name: Its run: an id, the beginning of one, or `latest`.
        annotator: Who labels.

    Raises:
        InputError: There is no such queue, its file has changed, or it has two annotators already.
    """

    def __init__(self, workspace: Workspace, name: str, annotator: str) -> None:
        self._workspace = workspace
        self.run_id = find_run(workspace.database, name, kind=KIND)
        run = get_run(workspace.database, self.run_id)
        if run.kind != KIND:
            raise InputError(
                f"run {self.run_id} is no queue of rows to label but a run of `{run.kind}`",
                hint="`judgewright label --rows FILE` makes a queue",
            )
        self.config = QueueConfig.from_json(run.config)
        self.annotator = annotator
        dataset = self.config.dataset()
        self._rows = {row.id: row for row in dataset.rows}
        self._keys = dict(zip(self._rows, row_keys(dataset), strict=True))
        self._queue = open_queue(self.config)
        self._store = LabelStore(workspace.database)
        self._drawn: Draw | None = None
        self._read()
        self._require_part()

    @property
    def is_second(self) -> bool:
        """Whether this annotator is the second of two, who sees the rows of the first but not the labels."""
        return self.config.second > 0 and self.annotator != self._first

    def next(self) -> Row | None:
        """Return the row to label now; None where nothing is left for this annotator."""
        self._read()
        self._drawn = self._next_for_second() if self.is_second else self._queue.next(self._given())
        return None if self._drawn is None else self._rows[self._drawn.row_id]

    def label(self, grade: float, *, seconds: float) -> bool:
        """Keep a label of the row that `next` returned; False where another window was quicker."""
        return self._append("label", grade, "", seconds)

    def skip(self, reason: str, *, seconds: float) -> bool:
        """Keep that the row has no label, and why; False where another window was quicker."""
        return self._append("skip", None, reason, seconds)

    def undo(self) -> bool:
        """Take back the last record of this annotator; False where there is none, or somebody else's came after it.

        Only the last one, because the rows that came after it may have been drawn by what it said.
        """
        self._read()
        own = self._own()
        if not own or own[-1].annotator != self.annotator:
            return False
        last = own[-1]
        undone = NewLabel(
            queue=self.run_id,
            action="undo",
            row_key=last.row_key,
            row_id=last.row_id,
            group=last.group,
            label=None,
            annotator=self.annotator,
            seconds=0.0,
            probability=last.probability,
            design=last.design,
            replaces=last.seq,
        )
        return self._store.append(undone, after=self._last)

    def progress(self) -> Progress:
        """Return how many rows this annotator's part of the queue has."""
        self._read()
        own = self._own()
        labelled = sum(record.action == "label" for record in own)
        left = None
        if self.is_second:
            left = len(self._waiting())
        elif isinstance(self._queue, ListedQueue):
            left = len(self.config.rows) - len(own)
        return Progress(labelled=labelled, skipped=len(own) - labelled, left=left)

    def end(self, *, done: bool) -> None:
        """Say how the queue stands."""
        set_state(self._workspace.database, self.run_id, "done" if done else "stopped")
        self._workspace.database.release()

    def _read(self) -> None:
        records = self._store.records(self.run_id)
        self._last = records[-1].seq if records else 0
        self._first = records[0].annotator if records else self.annotator
        self._records = records
        self._counting = counting_records(records)

    def _require_part(self) -> None:
        if not self.is_second:
            return
        others = {record.annotator for record in self._records} - {self._first, self.annotator}
        if others:
            raise InputError(f"the queue has two annotators already: {self._first} and {others.pop()}")

    def _own(self) -> list[LabelRecord]:
        """Return the records of this annotator's part: the first labelling, or the second one."""
        if self.config.second == 0:
            return self._counting
        return [record for record in self._counting if record.annotator == self.annotator]

    def _given(self) -> list[GivenLabel]:
        given: list[GivenLabel] = []
        for row in labels_of_queue(self.run_id, self.config, self._records):
            # Until the second annotator has labelled a row the first one's label stands.
            label = row.first.label if row.reason == AWAITS_SECOND else row.label
            given.append(GivenLabel(row.first.row_id, label))
        return given

    def _waiting(self) -> list[LabelRecord]:
        """Return the first annotator's labels that await a second one."""
        done = {record.row_id for record in self._own()}
        waiting: list[LabelRecord] = []
        for record in self._counting:
            firsts = record.annotator == self._first and record.action == "label"
            if firsts and record.row_id not in done and needs_second(self.run_id, record, self.config.second):
                waiting.append(record)
        return waiting

    def _next_for_second(self) -> Draw | None:
        waiting = self._waiting()
        return Draw(waiting[0].row_id, waiting[0].probability, waiting[0].design) if waiting else None

    def _append(self, action: LabelAction, label: float | None, reason: str, seconds: float) -> bool:
        drawn = self._drawn
        assert drawn is not None, "`next` comes before a label"
        own = [r for r in self._records if r.row_id == drawn.row_id and r.annotator == self.annotator]
        new = NewLabel(
            queue=self.run_id,
            action=action,
            row_key=self._keys[drawn.row_id],
            row_id=drawn.row_id,
            group=self._rows[drawn.row_id].group,
            label=label,
            reason=reason,
            annotator=self.annotator,
            seconds=seconds,
            probability=drawn.probability,
            design=drawn.design,
            replaces=own[-1].seq if own else None,
        )
        return self._store.append(new, after=self._last)


def needs_second(run_id: str, record: LabelRecord, share: float) -> bool:
    """Whether a second annotator labels a row too: fixed by the queue and the row, whatever the first one said."""
    body = f"{run_id}\0{record.row_id}".encode("utf-8", "surrogatepass")
    draw = int.from_bytes(hashlib.blake2b(body, digest_size=8).digest(), "big") / 2**64
    return draw < share


def labels_of_queue(run_id: str, config: QueueConfig, records: Sequence[LabelRecord]) -> list[RowLabel]:
    """Return the label that counts of each row of a queue, in the order in which the rows were drawn.

    Args:
        run_id: The queue.
        config: Its rule about a second annotator.
        records: All its records.
    """
    counting = counting_records(records)
    first_annotator = records[0].annotator if records else ""
    second_of = {r.row_id: r for r in counting if config.second > 0 and r.annotator != first_annotator}
    labels: list[RowLabel] = []
    for first in counting:
        if first is second_of.get(first.row_id):
            continue
        second = second_of.get(first.row_id)
        label, reason = first.label, first.reason
        if first.label is not None and config.second > 0 and needs_second(run_id, first, config.second):
            label, reason = _agreed(first, second)
        labels.append(RowLabel(first=first, second=second, label=label, reason=reason))
    return labels


def _agreed(first: LabelRecord, second: LabelRecord | None) -> tuple[float | None, str]:
    if second is None:
        return None, AWAITS_SECOND
    if second.action == "skip":
        return None, second.reason
    return (first.label, "") if first.label == second.label else (None, DISAGREE)
