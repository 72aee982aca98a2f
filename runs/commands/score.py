"""`judgewright score`: measure verdicts from anywhere."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import get_args

import click

from ...judges import InputError, parse_label_scale, write_beside
from ...judges.files import Aggregate, GradeMap, VerdictColumns, parse_grade_map
from ...judges.published import STATUSES, all_agree, check_expected, load_published
from ...optimize.options import option
from ..actions.check_reliability import ReliabilityReport, check_reliability, find_detectable
from ..actions.score import (
    Score,
    ScoreOptions,
    measure_many,
    measure_one,
    read_judges,
    read_stream,
    to_json,
)
from ..config.command_options import LABEL_MAP, RowOptions, TrustOptions
from ..reports.reliability_report import say_reliability
from ..reports.score_tables import say_expected, say_leaderboard, say_score
from ..store.sealed_rows import seal_judges
from ..store.workspace import Workspace
from ..terminal import answer
from .decorators import all_option, options_of, reads_workspace, sealed_option
from .help import Command

EXAMPLES = """\
Example:  judgewright score verdicts.jsonl --score verdict --confidence confidence --group query_id
Several:  judgewright score ours.jsonl theirs.jsonl --published theirs.yaml
Matrix:   judgewright score matrix.jsonl --score 'verdicts.*' --scale 0..3 --metric kappa
Claims:   judgewright score chunks.jsonl --aggregate max --by claim_id --label-map no=0,partially=0,yes=1
Check:    judgewright score --expected expected.json FOLDER
"""  # noqa: E501


_files = partial(option, "Verdict files")
_output = partial(option, "Output")


@dataclass(frozen=True, kw_only=True)
class VerdictFileOptions:
    """How verdict files are read."""

    score: str = _files(
        "score",
        "Column of the judge's score or verdict; 'verdicts.*' for all columns so called, one judge"
        " each.",
    )
    confidence: str | None = _files(
        None, "Column of the judge's confidence in its verdict, 0 to 1."
    )
    thresholds: tuple[str, ...] = _files(
        (),
        "Labels and scores at or above it are positive; with a NAME, the scores of that judge"
        " alone.",
        kind="repeated",
        flag="--threshold",
        metavar="[NAME=]T",
    )
    score_maps: tuple[str, ...] = _files(
        (),
        "Likewise for scores.",
        kind="repeated",
        flag="--score-map",
        metavar="[NAME:]CELL=GRADE,...",
    )
    scale: str | None = _files(
        None,
        "Scale of labels and scores, such as 0..3; scores outside are named and left unscored.",
    )
    clip: bool = _files(False, "Clip what lies outside --scale to its ends instead.")


@dataclass(frozen=True, kw_only=True)
class ColumnOptions(VerdictFileOptions):
    """The same, with the columns of the rows."""

    label: str = _files("label", "Column of the human label.")
    label_map: str | None = _files(None, LABEL_MAP, metavar="CELL=GRADE,...")
    id_: str = _files("id", "Column of the row id.", flag="--id")
    group: str | None = _files(
        None, "Column whose rows depend on each other; intervals take its rows together."
    )


@dataclass(frozen=True, kw_only=True)
class ScoredOptions(ColumnOptions):
    """The same, where rows may be joined, or measured by the value of a column."""

    aggregate: Aggregate | None = _files(
        None,
        "Rows that share --by are one item with the max, min or mean of their scores.",
        choices=get_args(Aggregate),
    )
    by: tuple[str, ...] = _files(
        (),
        "Also measure per value of this column. With --aggregate: names an item.",
        kind="repeated",
    )


@dataclass(frozen=True, kw_only=True)
class FigureOptions:
    """Which figures are computed or set beside, and where they are written."""

    metric: str = _output("f1", "What several judges are ranked by.")
    published: tuple[str, ...] = _output(
        (), "Published figures to set beside, a file of YAML.", kind="repeated", metavar="FILE"
    )
    expected: Path | None = _output(
        None, "Compute every figure of this file from the verdicts in FOLDER.", kind="path"
    )
    html: Path | None = _output(None, "Write a page about one judge too.", kind="out")


OFTEN = """
--score --confidence --threshold --score-map --scale --aggregate --by --label --label-map --group
--metric --published --expected --annotators --audit --html --workspace --json
"""
"""The options that `--help` shows."""


@click.command(cls=Command, often=OFTEN, epilog=EXAMPLES)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[FILES]...")
@options_of(reading=ScoredOptions, measures=ScoreOptions, figures=FigureOptions, trust=TrustOptions)
@all_option
@sealed_option
@reads_workspace
def score(
    files: tuple[Path, ...],
    reading: ScoredOptions,
    measures: ScoreOptions,
    figures: FigureOptions,
    trust: TrustOptions,
    show_all: bool,
    sealed: bool,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Measure the verdicts in JSONL, CSV or Parquet files against the human labels beside them.

    One judge gets every metric; several, from several files or the columns of one, are ranked and
    compared two by two. Exits 1 when a figure of --expected differs from what was published, or
    none of them could be computed.
    """
    if figures.expected is not None:
        _check(figures.expected, files, as_json=as_json)
        return
    columns = _joined(read_columns(reading, reading), reading)
    words = {word: grade for word, grade in columns.label_map.items() if grade is not None}
    by = None if columns.aggregate else next(iter(reading.by), None)
    measures = replace(measures, by=by)
    published = load_published(map(Path, figures.published))
    if not files and not published:
        raise InputError(
            "there is nothing to score", hint="name a verdict file, or --published figures"
        )
    # Rows are kept where a workspace must know which of them were seen, or single ones are shown.
    needs_rows = (
        workspace.exists
        or figures.html
        or trust.annotators
        or trust.audit
        or trust.audited
        or published
    )
    large = None if needs_rows else read_stream(files, columns, measures)
    if large is not None:
        one = measure_one(large, measures)
        detectable = find_detectable(large, figures.metric)
        _say_one(one, detectable, files[0].name, audit=None, as_json=as_json)
        return
    judges = read_judges(files, columns)
    read = seal_judges(workspace, judges.values(), show_all=show_all, by="score", sealed=sealed)
    if len(judges) == 1 and not published:
        ((judged, seal),) = read
        judged = judged.noting(*seal.notes(), *seal.look_note())
        one = measure_one(judged, measures, shown=seal.shown(judged))
        if figures.html is not None:
            from ..reports.score_report import render_score_report

            page = render_score_report(
                judged,
                one.benchmark,
                by=one.parts,
                by_column=by,
                title=files[0].name,
                shown=seal.shown(judged),
                summary=one.summary,
            )
            write_beside(figures.html, page)
        ceilings = check_reliability(
            [judged], trust, metric=figures.metric, words=words or None, shown=seal.shown
        )
        _say_one(one, ceilings, files[0].name, audit=trust.audit, as_json=as_json)
        return
    for option_name, value in {"by": by, "html": figures.html, **vars(trust)}.items():
        if value:
            raise InputError(
                f"--{option_name} is for one judge", hint="name one file, and one --score column"
            )
    judges = {
        name: judged.noting(*seal.look_note())
        for name, (judged, seal) in zip(judges, read, strict=True)
    }
    board = measure_many(judges, measures, metric=figures.metric, published=published)
    answer(to_json(board, judges), partial(say_leaderboard, board, judges), as_json=as_json)


def _say_one(
    one: Score, reliability: ReliabilityReport, title: str, *, audit: Path | None, as_json: bool
) -> None:
    """Print one judge's figures, and how far to trust them."""

    def say_figures() -> None:
        say_score(one, title=title)
        say_reliability(reliability, audit=audit)

    answer(one.to_json() | reliability.to_json(), say_figures, as_json=as_json)


def _check(expected: Path, files: tuple[Path, ...], *, as_json: bool) -> None:
    if len(files) == 1 and not files[0].exists():
        raise InputError(f"there is no folder {str(files[0])!r}")
    if len(files) != 1 or not files[0].is_dir():
        raise InputError(
            "--expected needs the one folder that holds the verdict files",
            hint="judgewright score --expected expected.json FOLDER",
        )
    lines = check_expected(expected, files[0])
    counts = {status: sum(line.status == status for line in lines) for status in STATUSES}
    body = {"counts": counts, "expected": [line.to_json() for line in lines]}
    answer(body, partial(say_expected, lines), as_json=as_json)
    if not all_agree(lines):
        sys.exit(1)


def read_columns(options: VerdictFileOptions, rows: ColumnOptions | RowOptions) -> VerdictColumns:
    """Return how verdict files are read.

    Args:
        rows: Which columns say what of a row.

    Raises:
        InputError: An option is not written as it should be.
    """
    thresholds: dict[str, float] = {}
    for text in options.thresholds:
        name, _, value = text.rpartition("=")  # without a name it is every judge's
        try:
            thresholds[name] = float(value)
        except ValueError:
            thresholds[name] = math.nan
        if not math.isfinite(thresholds[name]):
            raise InputError(
                f"--threshold {text!r}: {value!r} is no number", hint="such as 2, or NAME=2"
            )
    maps: dict[str, GradeMap] = {}
    for text in options.score_maps:
        before, between, pairs = text.partition(":")
        name = before if between and "=" not in before else ""
        maps[name] = parse_grade_map(pairs if name else text, option="--score-map")
    return VerdictColumns(
        label=rows.label or "label",
        score=options.score,
        confidence=options.confidence,
        id=rows.id_ or "id",
        group=rows.group,
        threshold=thresholds.pop("", None),
        thresholds=thresholds,
        label_map=(parse_grade_map(rows.label_map, option="--label-map") if rows.label_map else {}),
        score_map=maps.pop("", {}),
        score_maps=maps,
        scale=parse_label_scale(options.scale) if options.scale else None,
        clip=options.clip,
    )


def _joined(columns: VerdictColumns, options: ScoredOptions) -> VerdictColumns:
    """Return the columns with which rows are one item, where they are to be joined."""
    if options.aggregate:
        return replace(columns, aggregate=options.aggregate, by=options.by)
    if len(options.by) > 1:
        raise InputError(
            "--by names one column, but several with --aggregate",
            hint=f"take {options.by[0]!r} alone",
        )
    return columns
