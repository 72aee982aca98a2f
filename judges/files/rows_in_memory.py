"""Where rows come from: a file, a list of dicts, a DataFrame, a Hugging Face dataset."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from ..errors import DataError

if TYPE_CHECKING:
    import pandas as pd

FORMATS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")


@dataclass(frozen=True, slots=True)
class RowsInMemory:
    """Rows handed over in Python; they are read by the rules of a file, and messages count them as
    rows.
    """

    name: str
    """Stands in messages where a file's path would."""
    objects: tuple[Mapping[str, Any], ...]  # Any: checked cell by cell when the rows are read

    def __str__(self) -> str:
        return self.name


RowSource = Path | RowsInMemory
"""Where rows come from."""


def kind_of(path: Path) -> str:
    """Return the format a file's name stands for, such as `.jsonl`; `.gz` at the end is looked
    through.

    Raises:
        DataError: The name stands for none of `FORMATS`.
    """
    name = path.name.lower()
    kind = Path(name.removesuffix(".gz")).suffix
    if kind not in FORMATS or (kind == ".parquet" and name.endswith(".gz")):
        raise DataError(
            f"{path}: the format of {path.name!r} is not known",
            hint=f"accepted are {', '.join(FORMATS)}, the text formats also with .gz",
        )
    return kind


def unit_of(source: RowSource) -> Literal["line", "row"]:
    """Say what a record's number counts: lines, or rows where a source has no lines to speak of."""
    if isinstance(source, RowsInMemory):
        return "row"
    name = source.name.lower().removesuffix(".gz")
    return "row" if name.endswith((".json", ".parquet")) else "line"


def name_of(source: RowSource) -> str:
    """Return a file's name without its format, or what rows in memory are called."""
    if isinstance(source, RowsInMemory):
        return source.name
    name = source.name
    return Path(name[:-3] if name.lower().endswith(".gz") else name).stem


def rows_in_memory(data: object, *, name: str = "rows") -> RowsInMemory:
    """Take the rows of a DataFrame, or of anything that yields dicts, such as a list or a Hugging
    Face dataset.

    Raises:
        DataError: It is no table of rows, or two columns have the same name.
    """
    if hasattr(data, "iterrows"):
        data = _from_frame(cast("pd.DataFrame", data), name)
    if isinstance(data, Mapping):
        raise DataError(
            f"{name}: one mapping is no list of rows",
            hint=(
                "name the split of a dataset, such as dataset['train']; a dict of columns goes into"
                " a DataFrame"
            ),
        )
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise DataError(
            f"{name}: rows cannot be read from {type(data).__name__}",
            hint="give a path, a DataFrame, a list of dicts or a Hugging Face dataset",
        )
    objects: list[Mapping[str, Any]] = []
    for at, row in enumerate(data, 1):
        if not isinstance(row, Mapping):
            raise DataError(f"{name}, row {at}: a dict is needed, this is {type(row).__name__}")
        objects.append({str(column): _plain(value) for column, value in row.items()})
    return RowsInMemory(name, tuple(objects))


def _from_frame(frame: pd.DataFrame, name: str) -> list[dict[Any, Any]]:
    columns = Counter(str(column) for column in frame.columns)
    for column, count in columns.items():
        if count > 1:
            raise DataError(
                f"{name}: the column {column!r} stands twice", hint="rename one of the two"
            )
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def _plain(value: object) -> object:
    """Return a cell as Python's own type; numpy's numbers and missing values are not JSON."""
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = cast("Any", value).item()  # Any: a numpy scalar
    elif hasattr(value, "tolist"):
        value = cast("Any", value).tolist()  # Any: a numpy array
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
