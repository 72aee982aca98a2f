"""What the functions of `import judgewright as jw` take, as the commands have it: rows, verdicts,
judges, the settings of a run, and the workspace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast

from ..judges.errors import InputError
from .printed import Printed

if TYPE_CHECKING:
    from ..judges import Dataset, JudgedDataset, JudgePrompt, OutputScale
    from ..judges.files import RowSource
    from .config.command_options import ModelOptions
    from .config.environment import Environment
    from .config.place import Place
    from .store.run_config import RunConfig
    from .store.workspace import Workspace

    JudgeName = str | Path | JudgePrompt
    """A judge's name, `name@version`, YAML file, or the prompt itself, such as `run.after`."""

Floors = Mapping[str, float] | None
Guards = Mapping[str, float] | Iterable[str] | str | None
"""Losses allowed: `{"recall": 0.05}`, or as the command line spells them, `recall=0.05` or
`recall:-0.05`.
"""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Rows(Printed):
    """Rows and how to read them; `bench`, `optimize` and the others check them against the judge's
    inputs.
    """

    source: RowSource
    columns_found: tuple[str, ...]
    count: int
    reading: Mapping[
        str, Any
    ]  # Any: the arguments of `load_dataset`; `label_scale` as text, as a run keeps it

    @classmethod
    def of(cls, source: RowSource, reading: Mapping[str, Any]) -> Rows:  # Any: see `reading`
        """Look through rows for their columns.

        Raises:
            DataError: They cannot be read; up to ten problems are named.
        """
        from ..judges.files import Problems, read_records

        problems, columns_found, count = Problems(source), dict[str, None](), 0
        for record in read_records(source, problems):
            columns_found |= dict.fromkeys(record.fields)
            count += 1
        problems.check()
        return cls(source=source, columns_found=tuple(columns_found), count=count, reading=reading)

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        return (
            f"Rows({str(self.source)!r}, {self.count:,} rows, columns"
            f" {', '.join(self.columns_found)})"
        )

    def _say(self) -> None:
        from .terminal import say

        say(f"{self.source}: {self.count:,} rows")
        say(f"  columns: {', '.join(self.columns_found)}")

    def dataset(
        self,
        prompt: JudgePrompt,
        opened: Workspace | None = None,
        models: ModelOptions | None = None,
    ) -> Dataset:
        """Read the rows for a judge.

        Args:
            prompt: The judge.
            opened: Where a model's reading of the header is recorded.
            models: The model that reads it where its columns have other names.

        Raises:
            UnclearColumnsError: Its columns have other names; the hint says which are meant.
            DataError: A row lacks an input of the judge, or a label cannot be read; up to ten
                problems are named.
        """
        from ..judges.files import UnclearColumnsError, load_as_said
        from .actions.read_columns import take_reading
        from .terminal import say

        try:
            return load_as_said(self.source, self.reading, inputs=prompt.inputs, scale=prompt.scale)
        except UnclearColumnsError as error:
            if opened is not None and models is not None:
                environment = environment_of(opened, models.model)
                for note in take_reading(error, opened, prompt, models, environment):
                    say(f"note: {note}", to_stderr=True)
            if error.guessed.complete:
                named = (f"{name}={value!r}" for name, value in error.guessed.reading().items())
                call = f"load_rows(..., {', '.join(named)})"
                error.hint = "; ".join([call, *error.guessed.doubts()])
            raise


class OptimizeSettings(TypedDict, total=False):
    """What `optimize` and `plan` take beside judge, rows, objective and model; see `optimize`."""

    target: str | None
    guard: Guards
    floor: Floors
    yes: bool
    holdout: object
    split_column: str | None
    slice: str
    steps: int
    folds: int
    proposer: str
    editable: Sequence[str]
    cases: int
    cases_by: str
    explanation: str | None
    optimizer_model: str | None
    budget: str | None
    seed: int


def load_rows(
    data: object,
    *,
    label: str | None = None,
    id: str | None = None,
    group: str | None = None,
    columns: Mapping[str, str] | None = None,
    label_scale: str | None = None,
    label_map: Mapping[str, float | None] | None = None,
    limit: int | None = None,
    skip_incomplete: bool = False,
    audited: str | Path | None = None,
) -> Rows:
    """Load labelled rows from a path, a DataFrame, a list of dicts or a Hugging Face dataset.

    Args:
        data: The rows; a file may be JSONL, JSON, CSV, TSV or Parquet.
        label: The column of the human label; `label` unless given.
        id: The column of the row's id; `id` where there is one, else the row's number.
        group: The column whose rows stay on one side of a split; `group_id` or `group` where there
            is one.
        columns: A judge's input to the column that holds it, where the two differ in name.
        label_scale: `binary`, `probability`, `low-probability` or `LOW..HIGH@THRESHOLD`; read from
            the labels unless given.
        label_map: What words of the label stand for, such as `{"factual": 1, "hallucinated": 0}`;
            None for no label.
        limit: How many rows to take at most.
        skip_incomplete: Whether to leave out rows that lack an input instead of refusing all.
        audited: A file with marks of an audit, or with ids and labels: the labels that it corrects
            count.

    Raises:
        DataError: The rows cannot be read; up to ten problems are named by their rows.
    """
    from ..judges import parse_label_scale
    from ..judges.files import write_grade_map

    if isinstance(columns, str):
        hint = "without columns an error says which are meant"
        raise InputError(f"columns={columns!r} maps no input to its column", hint=hint)
    if label_scale is not None:
        parse_label_scale(label_scale)
    reading: dict[str, Any] = {  # Any: the arguments of `load_dataset`
        "label": label,
        "id": id,
        "group": group,
        "limit": limit,
        "columns": dict(columns or {}),
        "skip_incomplete": skip_incomplete,
        "label_scale": label_scale,
    }
    if label_map:
        reading["label_map"] = write_grade_map(label_map)
    if audited is not None:
        reading["audited"] = str(Path(audited).resolve())
    return Rows.of(_source(data), reading)


def load_verdicts(
    data: object, **columns: Any
) -> JudgedDataset:  # Any: the arguments of `judges.load_verdicts`
    """Load verdicts that some judge gave elsewhere, with the human labels beside them.

    Args:
        data: A path, a DataFrame, a list of dicts or a Hugging Face dataset.
        columns: `label`, `score`, `confidence`, `threshold`, `group`, `id`, `scale` and the other
            arguments of `judgewright.judges.load_verdicts`.
    """
    from ..judges import load_verdicts as load

    return load(_source(data), **columns)


def _source(data: object) -> Any:  # Any: a path, or `RowsInMemory`
    from ..judges.files import rows_in_memory

    return Path(data) if isinstance(data, str | Path) else rows_in_memory(data)


def rows_of(rows: object) -> Rows:
    """Return rows as `load_rows` does, where they are not read yet."""
    return rows if isinstance(rows, Rows) else load_rows(rows)


def prompt_of(opened: Workspace, judge: JudgeName) -> JudgePrompt:
    """Return the prompt that a name or a file means."""
    return opened.registry.get(str(judge)) if isinstance(judge, str | Path) else judge


def file_of(rows: object, opened: Workspace) -> Path:
    """Return the file of rows, which a run reads again when it is resumed; rows in memory are
    written to one.
    """
    from .store.kept_rows import keep_rows

    source = rows_of(rows).source
    return source if isinstance(source, Path) else keep_rows(opened, source)


def scale_of(text: str | None) -> OutputScale | None:
    """Read the scale of a function's scores."""
    from ..judges import parse_label_scale

    return None if text is None else parse_label_scale(text)


def guards_of(guard: Guards) -> tuple[str, ...]:
    """Return guards as the command line spells them."""
    if isinstance(guard, str):
        return (guard,)
    if isinstance(guard, Mapping):
        losses = cast("Mapping[str, float]", guard)
        return tuple(f"{metric}:-{abs(loss):g}" for metric, loss in losses.items())
    return tuple(guard or ())


def floors_of(floor: Floors) -> tuple[str, ...]:
    """Return floors as the command line spells them."""
    return tuple(f"{metric}={value:g}" for metric, value in (floor or {}).items())


def open_workspace(folder: str | Path | Place | None) -> Workspace:
    """Open the workspace that a call names, else the one that a command started here would take."""
    from .config.environment import read_environment
    from .config.place import Place, read_place
    from .store.workspace import find_workspace
    from .terminal import say_waiting

    if folder is None:
        named = read_environment().workspace
    else:
        named = folder if isinstance(folder, Place) else read_place(folder)
    return find_workspace(Path.cwd(), given=named, on_wait=say_waiting)


def environment_of(opened: Workspace, *models: str | None) -> Environment:
    """Return keys, prices and named models, as far as these models need them."""
    from .config.environment import read_environment

    return read_environment().in_workspace(opened.root).naming(*models)


def asking_of(
    opened: Workspace, model: str | None, budget: str | None
) -> tuple[ModelOptions, Environment]:
    """Return how a model is asked, and with which keys and prices.

    Raises:
        InputError: None is named.
    """
    from .config.command_options import ModelOptions

    if model is None:
        raise InputError(
            'no model is named: add model="NAME", "NAME@https://host/v1", or "simulated" (made up,'
            " no key)"
        )
    return ModelOptions(model=model, budget=budget), environment_of(opened, model)


def configure(
    opened: Workspace,
    judge: JudgeName,
    rows: object,
    settings: OptimizeSettings,
    **goal: str,
) -> RunConfig:
    """Return the configuration of a run, as the command makes it of its options.

    Args:
        opened: The workspace.
        judge, rows, settings: See `optimize`.
        goal: Its objective and its model.

    Raises:
        InputError: The judge is a function, or the rows cannot be used.
        TypeError: There is no such setting.
    """
    from ..slices import read_slice
    from .actions.read_objective import saved_slices
    from .store.banks import banks_of
    from .store.run_config import RunConfig

    if callable(judge):
        raise InputError(
            "a Python function has no prompt to optimize",
            hint="measure it with bench, slice it with find_slices, decide about it with gate",
        )
    if unknown := settings.keys() - OptimizeSettings.__annotations__:
        raise TypeError(f"optimize and plan take no {', '.join(sorted(unknown))}")
    prompt = prompt_of(opened, judge)
    table = rows_of(rows)
    options: dict[str, Any] = {"steps": 3, **settings, **table.reading}  # Any: a run's options
    holdout, slice_ = options.pop("holdout", None), options.pop("slice", "auto")
    if slice_ not in ("auto", "all"):
        slice_ = str(read_slice(slice_, saved_slices(opened)))
    return RunConfig(
        prompt=prompt.to_yaml(),
        banks=prompt.write_bank(banks_of(opened)),
        data=str(file_of(table, opened)),
        guards=guards_of(options.pop("guard", None)),
        floors=floors_of(options.pop("floor", None)),
        editable=tuple(options.pop("editable", ())),
        holdout=None if holdout is None else str(file_of(holdout, opened)),
        slice=slice_,
        id_=options.pop("id", None),
        **goal,
        **options,
    )
