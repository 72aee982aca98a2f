"""Ask people for the labels of a queue: who answers, what is kept of it, and which label counts."""

from __future__ import annotations

import getpass
import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...judges import InputError, Row
from ...optimize.holdout.row_fingerprints import row_keys
from ..store.journal import find_run, get_run, set_state
from ..store.labels import LabelAction, LabelRecord, LabelStore, NewLabel, counting_records
from ..store.workspace import Workspace
from .listed import Draw
from .queue import KIND, QueueConfig, open_queue

DISAGREE = "the two annotators disagree"
AWAITS_SECOND = "the second annotator has not labelled it yet"


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
    left: int
    """Rows left to label."""

    @property
    def rows(self) -> int:
        """How many rows it comes to."""
        return self.labelled + self.skipped + self.left


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedQueue:
    """A queue with its rows."""

    config: QueueConfig
    rows: Mapping[str, Row]
    """By id."""
    keys: Mapping[str, bytes]
    """By id: what a row is known by in another file."""


def open_rows(workspace: Workspace, run_id: str) -> OpenedQueue:
    """Read all rows of a queue from its file.

    Raises:
        InputError: The run is no queue, or the file has changed.
        DataError: The file cannot be read.
    """
    run = get_run(workspace.database, run_id)
    if run.kind != KIND:
        raise InputError(
            f"run {run_id} is no queue of rows to label but a run of `{run.kind}`",
            hint="`judgewright label --rows FILE` makes a queue",
        )
    config = QueueConfig.from_json(run.config)
    dataset = config.dataset()
    rows = {row.id: row for row in dataset.rows}
    return OpenedQueue(
        config=config, rows=rows, keys=dict(zip(rows, row_keys(dataset), strict=True))
    )


class LabelSession:
    """One annotator at one queue: the next row, and what is said of it.

    Args:
        workspace: Where the queue is.
        name: Its run: an id, the beginning of one, or `latest`.
        annotator: Who labels.
        opened: The queue, if it was opened before.

    Raises:
        InputError: Nobody is named; there is no such queue, its file has changed, or it has two
            annotators already.
    """

    def __init__(
        self, workspace: Workspace, name: str, annotator: str, *, opened: OpenedQueue | None = None
    ) -> None:
        if not annotator:
            raise InputError("nobody knows who labels", hint="say it with --annotator NAME")
        self._workspace = workspace
        self.run_id = find_run(workspace.database, name, kinds=(KIND,))
        opened = opened or open_rows(workspace, self.run_id)
        self.config = opened.config
        self.annotator = annotator
        self._rows, self._keys = opened.rows, opened.keys
        self._queue = open_queue(self.config)
        self._store = LabelStore(workspace.database)
        self._drawn: Draw | None = None
        self._read()
        self._require_part()

    @property
    def rows(self) -> Collection[Row]:
        """All rows of the queue, in the order of the file."""
        return self._rows.values()

    @property
    def last_record(self) -> int:
        """The last record of the queue that was read; 0 where there is none."""
        return self._last

    def has_answered_since(self, record: int) -> bool:
        """Whether this annotator has answered after a record, in whichever window; read anew."""
        self._read()
        return any(one.seq > record and one.annotator == self.annotator for one in self._records)

    @property
    def is_second(self) -> bool:
        """Whether this annotator is the second of two, who sees the rows of the first but not the
        labels.
        """
        return self.config.second > 0 and self.annotator != self._first

    def next(self) -> Row | None:
        """Return the row to label now; None where nothing is left for this annotator."""
        self._read()
        self._drawn = self._next_for_second() if self.is_second else next(self._open_draws(), None)
        return None if self._drawn is None else self._rows[self._drawn.row_id]

    def had_same_texts(self, row: Row) -> bool:
        """Whether this annotator has answered another row with the same texts; as of the last
        `next`.
        """
        key = self._keys[row.id]
        return any(record.row_key == key and record.row_id != row.id for record in self._own())

    def label(self, grade: float, *, seconds: float) -> bool:
        """Keep a label of the row that `next` returned; False where another window was quicker."""
        return self._append("label", grade, "", seconds)

    def skip(self, reason: str, *, seconds: float) -> bool:
        """Keep that the row has no label, and why; False where another window was quicker."""
        return self._append("skip", None, reason, seconds)

    def label_all(
        self,
        labels: Callable[[dict[str, Any]], float | None],  # Any: as the columns have it
    ) -> None:
        """Label every row that is left with a function; of one that fails, those before it stay.

        Args:
            labels: Given a row's id, texts and other columns, returns its label; None for a row
                that has none.

        Raises:
            InputError: A label is not on the scale, or this is the second annotator.
        """
        if self.is_second:
            raise InputError("a second annotator labels the rows of the first, one by one")
        self._read()
        scale, given = self.config.label_scale, list[NewLabel]()
        try:
            for drawn in self._open_draws():
                row = self._rows[drawn.row_id]
                label = labels({**row.meta, **row.inputs, "id": row.id})
                if label is None:
                    given.append(self._new(drawn, "skip", None, "no label was given"))
                    continue
                if not scale.contains(float(label)):
                    raise InputError(
                        f"row {row.id!r}: the label {label!r} is not on the scale"
                        f" {scale.describe()} of the queue"
                    )
                given.append(self._new(drawn, "label", scale.written(float(label)), ""))
        finally:
            self._store.append_all(given, after=self._last)

    def undo(self) -> bool:
        """Take back the last record of this annotator; False where there is none, or somebody
        else's came after it.

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
        rows_left = len(self._waiting()) if self.is_second else len(self.config.rows) - len(own)
        return Progress(labelled=labelled, skipped=len(own) - labelled, left=rows_left)

    def end(self, *, done: bool) -> None:
        """Say how the queue stands."""
        set_state(self._workspace.database, self.run_id, "done" if done else "stopped")
        self._workspace.database.release()

    def _read(self) -> None:
        records = self._store.records(self.run_id)
        self._last = records[-1].seq if records else 0
        self._first = records[0].annotator if records else self.annotator
        self._records = records
        self._last_of = {(one.row_id, one.annotator): one.seq for one in records}
        self._counting = counting_records(records)

    def _require_part(self) -> None:
        if not self.is_second:
            return
        others = {record.annotator for record in self._records} - {self._first, self.annotator}
        if others:
            raise InputError(
                f"the queue has two annotators already: {self._first} and {others.pop()}"
            )

    def _own(self) -> list[LabelRecord]:
        """Return the records of this annotator's part: the first labelling, or the second one."""
        if self.config.second == 0:
            return self._counting
        return [record for record in self._counting if record.annotator == self.annotator]

    def _open_draws(self) -> Iterator[Draw]:
        """Yield the rows that the first annotator has not labelled or skipped."""
        return self._queue.draws({record.row_id for record in self._own()})

    def _waiting(self) -> list[LabelRecord]:
        """Return the first annotator's labels that await a second one."""
        done = {record.row_id for record in self._own()}
        waiting: list[LabelRecord] = []
        for record in self._counting:
            firsts = record.annotator == self._first and record.action == "label"
            if (
                firsts
                and record.row_id not in done
                and needs_second(self.run_id, record, self.config.second)
            ):
                waiting.append(record)
        return waiting

    def _next_for_second(self) -> Draw | None:
        waiting = self._waiting()
        return (
            Draw(waiting[0].row_id, waiting[0].probability, waiting[0].design) if waiting else None
        )

    def _append(
        self, action: LabelAction, label: float | None, reason: str, seconds: float
    ) -> bool:
        drawn = self._drawn
        assert drawn is not None, "`next` comes before a label"
        return self._store.append(
            self._new(drawn, action, label, reason, seconds), after=self._last
        )

    def _new(
        self,
        drawn: Draw,
        action: LabelAction,
        label: float | None,
        reason: str,
        seconds: float = 0.0,
    ) -> NewLabel:
        own = self._last_of.get((drawn.row_id, self.annotator))
        return NewLabel(
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
            replaces=own,
        )


def needs_second(run_id: str, record: LabelRecord, share: float) -> bool:
    """Whether a second annotator labels a row too: fixed by the queue and the row, whatever the
    first one said.
    """
    body = f"{run_id}\0{record.row_id}".encode("utf-8", "surrogatepass")
    draw = int.from_bytes(hashlib.blake2b(body, digest_size=8).digest(), "big") / 2**64
    return draw < share


def labels_of_queue(
    run_id: str, config: QueueConfig, records: Sequence[LabelRecord]
) -> list[RowLabel]:
    """Return the label that counts of each row of a queue, in the order in which the rows were
    drawn.

    Args:
        run_id: The queue.
        config: Its rule about a second annotator.
        records: All its records.
    """
    counting = counting_records(records)
    first_annotator = records[0].annotator if records else ""
    second_of = {
        r.row_id: r for r in counting if config.second > 0 and r.annotator != first_annotator
    }
    labels: list[RowLabel] = []
    for first in counting:
        if first is second_of.get(first.row_id):
            continue
        second = second_of.get(first.row_id)
        label, reason = first.label, first.reason
        if (
            first.label is not None
            and config.second > 0
            and needs_second(run_id, first, config.second)
        ):
            label, reason = _agreed(first, second)
        labels.append(RowLabel(first=first, second=second, label=label, reason=reason))
    return labels


def _agreed(first: LabelRecord, second: LabelRecord | None) -> tuple[float | None, str]:
    if second is None:
        return None, AWAITS_SECOND
    if second.action == "skip":
        return None, second.reason
    return (first.label, "") if first.label == second.label else (None, DISAGREE)


def login_name() -> str:
    """Return who sits at this machine; empty for a user without a name, as in some containers."""
    try:
        return getpass.getuser()
    except (KeyError, ImportError, OSError):
        return ""
