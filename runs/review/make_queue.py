"""Making a queue of rows to label as the page's form asks for it, and writing its labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ..config.command_options import RowOptions
from ..config.place import Place
from ..labels.export import export_labels, read_queues
from ..labels.queue import create_queue, list_rows, only_rows, read_rows_to_label
from ..store.sealed_rows import read_open
from ..store.workspace import Workspace
from .row_data import keep_queue


@dataclass(frozen=True, slots=True, kw_only=True)
class NewQueue:
    """What a person chose."""

    data: str
    """The file, with its whole path."""
    judge: str
    """Whose inputs and scale the rows have; empty for those that the file shows."""
    again: bool
    """Whether to ask about rows that have a label, too."""
    question: str
    second: float
    """Share of the rows that a second annotator labels too."""
    seed: int
    """Draws the order."""


def make_queue(place: Place, new: NewQueue) -> str:
    """Enter the queue, keep its rows to be read one by one, and return the id of its run.

    Raises:
        InputError: There is no row to label, or no text to show.
        DataError: The file cannot be read.
        WorkspaceError: It cannot be entered or kept.
    """
    with Workspace(place) as workspace:
        path, reading = Path(new.data), RowOptions().as_arguments()
        every = read_rows_to_label(workspace.registry, path, reading, judge=new.judge or None)
        dataset = read_open(workspace, every, way="").dataset
        config = list_rows(dataset, path=path, reading=reading, again=new.again, seed=new.seed)
        config = replace(config, question=new.question, second=new.second)
        run_id = create_queue(workspace, config)
        keep_queue(workspace, run_id, config, only_rows(dataset, config.rows))
        return run_id


def write_labels(place: Place, run_id: str, out: Path) -> None:
    """Write the labels of a queue beside the columns of their rows."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with Workspace(place) as workspace:
        export_labels(read_queues(workspace, [run_id]), out)
