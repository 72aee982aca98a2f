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
from ...optimize.flips import FlipDesign, FlipQueue
from ...optimize.holdout.ledger import LookRequest
from ..store.journal import RunRecord, create_run, get_run, set_config, set_state
from ..store.labels import LabelStore, counting_records
from ..store.ledger import HoldoutLedger
from ..store.workspace import Workspace
from .listed import LISTED, ListedQueue, drawn_order

if TYPE_CHECKING:
    from .next_rows import NextRows, OpenQuestion

KIND = "queue"
"""The kind of run that a queue is."""
FLIPS = "flips"
"""The kind of design that decides between two prompts."""
JUDGING = "judging"
"""The same while the prompts have not judged all rows yet."""
LOOK_WANTED = "look_wanted"
"""What the look of a queue is begun with, as long as it has no label."""


Queue = ListedQueue | FlipQueue
"""Which row comes next: a function of what was fixed beforehand and of the labels so far."""


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
    # The column of the group may be a text that people must read, such as the query; `load_as`
    # reads it as both.
    words = mapped_words(reading.get("label_map"))
    roles = RawRoles(
        inputs=reading["columns"], label=reading["label"], id=reading["id"], words=words
    )
    raw = read_raw_rows(path, roles, judges=judge_inputs(registry), drawn=True)
    inputs = tuple(name for name in raw.rows[0].inputs if name not in without)
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
    measures: bool = False,
) -> Dataset:
    """Load a file as a queue's reading says.

    Args:
        reading: See `read_rows_to_label`.
        measures: Whether rows need labels, and those that were drawn with a probability below 1 are
            left out.

    Raises:
        DataError: The file cannot be read.
    """
    return load_as_said(
        path, reading, inputs=inputs, scale=scale, require_labels=measures, drawn=not measures
    )


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


def ask_otherwise(workspace: Workspace, run_id: str, *, question: str, second: float) -> None:
    """Change what people are asked in a queue that has no label yet, and whether a second annotator
    labels too.

    Args:
        workspace: Where the queue is.
        run_id: Its run.
        question: What people are asked; empty to leave it.
        second: The second annotator's share of the rows; 0 to leave it.

    Raises:
        InputError: There are labels, which answer what was asked before.
    """
    database = workspace.database

    def changed() -> tuple[QueueConfig, QueueConfig]:
        config = QueueConfig.from_json(get_run(database, run_id).config)
        return config, replace(
            config, question=question or config.question, second=second or config.second
        )

    config, changed_config = changed()
    if changed_config == config:
        return
    database.claim(run_id)
    config, changed_config = changed()
    labels = len(counting_records(LabelStore(database).records(run_id)))
    if labels:
        option = "--second" if changed_config.question == config.question else "--ask"
        before = f", which answer {config.question!r}" if config.question else ""
        raise InputError(
            f"the queue has {labels:,} labels{before}; {option} can no longer change it",
            hint=(
                f"leave out {option}; or conclude the queue with --abandon and ask about other rows"
            ),
        )
    set_config(database, run_id, asdict(changed_config))
    database.release()


def enter_queue_look(workspace: Workspace, run_id: str) -> QueueConfig:
    """Spend the look of a queue that decides between two prompts, before its first label; it stays
    spent.

    Raises:
        InputError: The looks at these rows are spent; fresh ones are needed.
        WorkspaceError: The ledger cannot be written.
    """
    database = workspace.database
    database.claim(run_id)
    config = QueueConfig.from_json(get_run(database, run_id).config)
    look_wanted = config.design.get(LOOK_WANTED)
    if look_wanted is not None:
        pair = look_wanted["pair"] and tuple(look_wanted["pair"])
        named = {**look_wanted, "known_as": tuple(look_wanted["known_as"]), "pair": pair}
        look = HoldoutLedger(database).begin(LookRequest(**named, run_id=run_id))
        # Others may have looked at these rows since the queue was made.
        flips = {**config.design["flips"], "alpha": look.alpha}
        design = {name: value for name, value in config.design.items() if name != LOOK_WANTED}
        config = replace(config, design={**design, "look": asdict(look), "flips": flips})
        set_config(database, run_id, asdict(config))
    return config


def with_meanings(labels: OutputScale, *judges: OutputScale) -> OutputScale:
    """Return the scale that people label on with what yes and no mean on the scale that the judges
    grade on.

    Args:
        labels: A binary scale without words of its own gets them; any other stays.
        judges: The judges' scales; they have to say the same.
    """
    if labels.kind != "binary" or labels.labels:
        return labels
    meant = {_least_yes(scale) for scale in judges}
    least = meant.pop()
    if meant or not least:
        return labels
    return replace(labels, labels=("no: less than that", f"yes: {least}"))


def _least_yes(scale: OutputScale) -> str:
    """Say which grades count as a yes; empty where grades are yes and no themselves."""
    if scale.kind == "probability":
        return (
            f"a probability of {scale.name(scale.threshold)} or"
            f" {'less' if scale.low_is_good else 'more'}"
        )
    least = next((grade for grade in scale.levels if scale.positive(grade)), None)
    if scale.kind != "graded" or least is None:
        return ""
    return (
        f"grade {scale.name(least)} or more, of {scale.name(scale.low)} to {scale.name(scale.high)}"
    )


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
            "the two judges have not judged all rows of the queue yet",
            hint="run `judgewright gate --unlabelled` again",
        )
    raise InputError(f"a queue of kind {kind!r} is not known", hint="a newer Judgewright made it")
