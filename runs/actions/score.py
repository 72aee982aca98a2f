"""Score verdicts: measure one judge, or rank several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...judges import (
    Benchmark,
    InputError,
    JudgedArrays,
    JudgedDataset,
    by_column,
    measure,
)
from ...judges.files import (
    STREAMED,
    VerdictColumns,
    can_stream,
    load_judges,
    stream_verdicts,
)
from ...judges.metrics.leaderboard import Leaderboard, rank_judges
from ...judges.metrics.macro_average import MacroMean, macro_means
from ...judges.published import PublishedRow
from ...optimize.options import option
from .first_figure import FirstFigure, summarize


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions:
    """What is measured beyond the default; the fields but `by` are options of the command `score`
    as well.
    """

    by: str | None = None
    """A column for whose values the judge is measured too."""
    at: tuple[int, ...] = option(
        "Output", (), "Cut-offs of nDCG [default: 10].", kind="integers", flag="--k", low=1
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One judge measured, and per value of a column where one was asked for."""

    judged: JudgedArrays
    benchmark: Benchmark
    summary: FirstFigure | None = None
    """What is said first; None where the rows were not kept."""
    by: str | None = None
    parts: Mapping[str, Benchmark] = field(default_factory=dict[str, Benchmark])
    macro: Mapping[str, MacroMean] = field(default_factory=dict[str, MacroMean])
    """Means over the column's values; empty without a column."""

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the benchmark's object, its `summary` and how the file was read; also `by` and the
        means over a column asked for.
        """
        out = self.benchmark.to_json() | {"reading": list(self.judged.dataset.notes)}
        if self.summary is not None:
            out["summary"] = self.summary.to_json()
        if self.by is not None:
            out["by"] = {value: part.to_json() for value, part in self.parts.items()}
        return out | {name: mean.to_json() for name, mean in self.macro.items()}


def read_judges(files: Sequence[Path], columns: VerdictColumns) -> dict[str, JudgedDataset]:
    """Read verdict files, each of one judge or of many; a name that occurs twice gets its file as a
    prefix.

    Raises:
        InputError: A threshold or map is for a judge that no file has, or a file cannot be read.
    """
    read = [(path, load_judges(path, columns)) for path in files]
    names = [name for _, judges in read for name in judges]
    for meant in (*columns.thresholds, *columns.score_maps):
        if meant not in names:
            raise InputError(f"there is no judge {meant!r}", hint=f"there are {', '.join(names)}")
    judges_by_name: dict[str, JudgedDataset] = {}
    for path, judges in read:
        for name, judged in judges.items():
            judges_by_name[name if names.count(name) == 1 else f"{path}: {name}"] = judged
    return judges_by_name


def read_stream(
    files: Sequence[Path], columns: VerdictColumns, options: ScoreOptions
) -> JudgedArrays | None:
    """Read one large file without keeping its rows; None where the file is small, or rows are
    needed one by one.

    Raises:
        InputError: As `read_judges`.
    """
    if len(files) != 1 or not files[0].is_file() or files[0].stat().st_size < STREAMED:
        return None
    if options.by or columns.thresholds or columns.score_maps or not can_stream(files[0], columns):
        return None
    return stream_verdicts(files[0], columns)


def measure_one(
    judged: JudgedArrays, options: ScoreOptions, *, shown: JudgedDataset | None = None
) -> Score:
    """Measure one judge, and per value of a column, for which the rows are needed.

    Args:
        shown: Those rows that may be searched for the worst slice; without them nothing is said of
            it, nor of another threshold.
    """
    at = options.at or (10,)
    benchmark = measure(judged, at=at)
    if not isinstance(judged, JudgedDataset):
        return Score(judged=judged, benchmark=benchmark)
    by = options.by
    return Score(
        judged=judged,
        benchmark=benchmark,
        summary=None if shown is None else summarize(judged, benchmark.to_json(), shown=shown),
        by=by,
        parts=by_column(judged, by, at=at) if by else {},
        macro=macro_means(judged, by) if by else {},
    )


def measure_many(
    judges: Mapping[str, JudgedDataset],
    options: ScoreOptions,
    *,
    metric: str,
    published: Sequence[PublishedRow],
) -> Leaderboard:
    """Measure several judges and rank them, with published figures beside them."""
    benchmarks = {name: measure(judged, at=options.at or (10,)) for name, judged in judges.items()}
    return rank_judges(judges, benchmarks, metric=metric, published=published)


def to_json(board: Leaderboard, judges: Mapping[str, JudgedDataset]) -> dict[str, Any]:  # Any: JSON
    """Return the leaderboard's object and how each judge's file was read."""
    return board.to_json() | {
        "reading": {name: list(judged.dataset.notes) for name, judged in judges.items()}
    }
