"""Making a queue of rows to label as the page's form asks for it, and writing its labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...judges import Dataset
from ..actions.run_summary import RunSummary, read_run
from ..config.command_options import RowOptions
from ..config.place import Place
from ..labels.export import export_labels, read_queues
from ..labels.next_rows import draw_rows, named_question, open_question
from ..labels.queue import (
    QueueConfig,
    create_queue,
    list_next,
    list_rows,
    only_rows,
    read_rows_to_label,
)
from ..store.bench_config import BenchConfig
from ..store.sealed_rows import read_open
from ..store.workspace import Workspace
from .row_data import keep_queue
from .start_columns import OF_INPUT


@dataclass(frozen=True, slots=True, kw_only=True)
class NewQueue:
    """What a person chose."""

    data: str
    """The file, with its whole path."""
    columns: Mapping[str, str]
    """The columns that were chosen, by the field of the table; empty for the usual names."""
    judge: str
    """Whose inputs and scale the rows have; empty for those that the file shows."""
    again: bool
    """Whether to ask about rows that have a label, too."""
    question: str
    second: float
    """Share of the rows that a second annotator labels too."""
    seed: int
    """Draws the order."""
    next_rows: int = 0
    """How many rows are drawn, those that tell most; all are asked about unless given."""
    run: str = ""
    """What they tell about: what this run left open. Its file is read as the run read it."""


def make_queue(place: Place, new: NewQueue) -> str:
    """Enter the queue, keep its rows to be read one by one, and return the id of its run.

    Raises:
        InputError: There is no row to label, or no text to show.
        DataError: The file cannot be read.
        WorkspaceError: It cannot be entered or kept.
    """
    with Workspace(place) as workspace:
        path, judge = Path(new.data), new.judge
        reading: Mapping[str, Any] = _reading_as_chosen(new)  # Any: JSON
        run = read_run(workspace, new.run) if new.run else None
        if run is not None:
            reading, name = _reading_of(run), str(run.record.config.get("judge", ""))
            name = run.before.name if run.record.kind == "optimize" else name
            judge = judge or (name if name in workspace.registry.names() else "")
        every = read_rows_to_label(workspace.registry, path, reading, judge=judge or None)
        dataset = read_open(workspace, every, way="").dataset
        if new.next_rows:
            config = _draw_next(dataset, new, run, path, reading)
        else:
            config = list_rows(dataset, path=path, reading=reading, again=new.again, seed=new.seed)
        config = replace(config, question=new.question, second=new.second)
        run_id = create_queue(workspace, config)
        keep_queue(workspace, run_id, config, only_rows(dataset, config.rows))
        return run_id


def _reading_of(run: RunSummary) -> Mapping[str, Any]:  # Any: JSON
    """Return how a bench or an optimization read its file."""
    if run.record.kind == "bench":
        return {**RowOptions().as_arguments(), **BenchConfig.from_json(run.record.config).reading}
    return RowOptions.as_arguments(run.config)


def _draw_next(
    dataset: Dataset,
    new: NewQueue,
    run: RunSummary | None,
    path: Path,
    reading: Mapping[str, Any],  # Any: JSON
) -> QueueConfig:
    """Draw rows for what the run left open; any rows where that takes a judge's verdicts, which
    are not at hand here.
    """
    aim = open_question(run)
    if aim.question != "slice":
        aim = named_question("gain", run)
    drawn = draw_rows(aim, dataset, new.next_rows, run=run, verdicts=None, seed=new.seed)
    return list_next(dataset, drawn, aim, path=path, reading=reading)


def _reading_as_chosen(new: NewQueue) -> dict[str, Any]:  # Any: JSON
    return RowOptions(
        label=new.columns.get("label"),
        id_=new.columns.get("id_"),
        group=new.columns.get("group"),
        columns={
            field.removeprefix(OF_INPUT): column
            for field, column in new.columns.items()
            if field.startswith(OF_INPUT)
        },
    ).as_arguments()


def write_labels(place: Place, run_id: str, out: Path) -> None:
    """Write the labels of a queue beside the columns of their rows."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with Workspace(place) as workspace:
        export_labels(read_queues(workspace, [run_id]), out)
