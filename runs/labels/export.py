"""Write the labels that people gave beside the columns of their rows."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...judges import InputError, write_beside
from ...judges.rows import SAMPLING_PROBABILITY
from ..actions.make_data import read_whole_objects, written_beside
from ..store.journal import find_run, get_run, list_runs
from ..store.labels import LabelRecord, LabelStore
from ..store.workspace import Workspace
from .listed import LISTED, UNEVEN
from .queue import KIND, QueueConfig
from .session import RowLabel, labels_of_queue

FORMATS = (".jsonl", ".csv")

_Body = dict[str, Any]  # Any: JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSummary:
    """One queue: whose rows it asks about, and how far it is."""

    queue: str
    """Its run."""
    data: str
    design: str
    annotators: tuple[str, ...]
    labelled: int
    missing: Mapping[str, int]
    """Rows that were asked about and have no label, by reason."""
    seconds: float
    """How long people looked at its rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQueue:
    """A queue with its records."""

    run_id: str
    config: QueueConfig
    records: tuple[LabelRecord, ...]

    @property
    def labels(self) -> list[RowLabel]:
        """What counts as the label of each row that was asked about."""
        return labels_of_queue(self.run_id, self.config, self.records)

    def summary(self) -> QueueSummary:
        """Return how far the queue is."""
        labels = self.labels
        return QueueSummary(
            queue=self.run_id,
            data=self.config.data,
            design=str(self.config.design.get("kind")),
            annotators=tuple(dict.fromkeys(record.annotator for record in self.records)),
            labelled=sum(one.label is not None for one in labels),
            missing=dict(Counter(one.reason for one in labels if one.label is None)),
            seconds=round(sum(record.seconds for record in self.records), 1),
        )


def read_queues(workspace: Workspace, names: Sequence[str]) -> list[LabelledQueue]:
    """Return queues with their records.

    Args:
        workspace: Where they are.
        names: Their runs' ids, the beginnings of some, or `latest`; none for all queues.

    Raises:
        InputError: There is no such queue, or none at all.
    """
    database = workspace.database
    ids = [find_run(database, name, kinds=(KIND,)) for name in names]
    if not names:
        ids = [run.run_id for run in list_runs(database, KIND)]
    if not ids:
        raise InputError(
            "nobody labelled anything here", hint="`judgewright label --rows FILE` begins"
        )
    store, queues = LabelStore(database), list[LabelledQueue]()
    for run_id in dict.fromkeys(ids):
        config = QueueConfig.from_json(get_run(database, run_id).config)
        queues.append(LabelledQueue(run_id=run_id, config=config, records=store.records(run_id)))
    return queues


def export_labels(queues: Sequence[LabelledQueue], out: Path) -> int:
    """Write the labels of some queues with the columns of their rows, and return how many lines
    there are.

    Of a row that was labelled in several queues the latest label counts, and the largest
    probability with which it was drawn: one fair draw is enough for the row to count in figures.

    Args:
        queues: The queues.
        out: A `.jsonl` or `.csv` file.

    Raises:
        InputError: There is nothing to write, or the file's name says no format.
        DataError: A queue's data file cannot be read.
    """
    if out.suffix not in FORMATS:
        raise InputError(f"--out {out.name!r} ends neither in .jsonl nor in .csv")
    bodies = list(_latest_labels(queues))
    if not bodies:
        raise InputError("there is no label to write", hint="judgewright label QUEUE")
    if out.suffix == ".csv":
        write_beside(out, _csv(bodies))
    else:
        with written_beside(out) as writer:
            writer.write_all(bodies)
    return len(bodies)


def _latest_labels(queues: Sequence[LabelledQueue]) -> Iterator[_Body]:
    latest: dict[bytes, tuple[LabelledQueue, RowLabel]] = {}
    probability: dict[bytes, float] = {}
    for queue in queues:
        for one in queue.labels:
            if one.label is None:
                continue
            key = one.first.row_key
            probability[key] = max(probability.get(key, 0.0), drawn_with(one.first))
            if key not in latest or latest[key][1].first.seq < one.first.seq:
                latest[key] = queue, one
    rows = _Rows()
    for key, (queue, one) in latest.items():
        second = one.second.annotator if one.second else None
        yield rows.body(queue, one.first, one.label) | {
            **_about(one.first),
            "label_second_annotator": second,
            SAMPLING_PROBABILITY: probability[key],
        }


def drawn_with(record: LabelRecord) -> float:
    """Return the probability with which a row was drawn; below 1 for each row of a draw that went
    by verdicts.

    Some of its rows are drawn for certain, such as those on which two prompts differ; a file of
    them is no fair sample.
    """
    return record.probability if record.design == LISTED else min(record.probability, UNEVEN)


def _about(record: LabelRecord) -> _Body:
    """Return how a label came about; such names are never taken for columns to slice by."""
    return {
        "label_annotator": record.annotator,
        "label_created": record.created,
        "label_seconds": record.seconds,
        "label_reason": record.reason or None,
        "label_design": record.design,
        "label_queue": record.queue,
    }


class _Rows:
    """The records of the data files of queues, each file read once."""

    def __init__(self) -> None:
        self._files: dict[tuple[str, str | None], dict[str, _Body]] = {}

    def body(self, queue: LabelledQueue, record: LabelRecord, label: float | None) -> _Body:
        """Return a row's columns with its label, and the id and group it is known by where no
        column has them.
        """
        reading = queue.config.reading
        file = queue.config.data, reading.get("id")
        if file not in self._files:
            self._files[file] = _objects_by_id(Path(file[0]), file[1])
        body = dict(self._files[file].get(record.row_id, {}))
        if str(body.get(reading.get("id") or "id", "")) != record.row_id:
            body = {"id": record.row_id} | body
        if not reading.get("group") and not {"group_id", "group"} & body.keys():
            body["group_id"] = record.group
        column = reading.get("label") or "label"
        if body.get(column) is not None:
            body["label_before"] = body[column]
        body[column] = int(label) if label is not None and label.is_integer() else label
        return body


def _objects_by_id(path: Path, column: str | None) -> dict[str, _Body]:
    objects = read_whole_objects(path)
    name = column or ("id" if "id" in next(iter(objects.values()), {}) else None)
    if name is None:
        return {str(line): body for line, body in objects.items()}
    return {str(body.get(name)): body for body in objects.values()}


def _csv(bodies: Iterable[_Body]) -> str:
    rows = [{name: _csv_cell(value) for name, value in body.items()} for body in bodies]
    text = io.StringIO()
    writer = csv.DictWriter(
        text, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _csv_cell(value: Any) -> Any:  # Any: JSON
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict)) else value
