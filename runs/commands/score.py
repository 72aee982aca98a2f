"""`judgewright score`: measure verdicts from anywhere."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import click

from ...judges import InputError, JudgedDataset, parse_label_scale
from ...judges.files import GradeMap, VerdictColumns, parse_grade_map, require_aggregate
from ...judges.published import STATUSES, all_agree, check_expected, load_published
from ..actions.reliability import ReliabilityOptions, check_reliability
from ..actions.score import (
    TEXT_METRIC,
    Score,
    ScoreOptions,
    measure_many,
    measure_one,
    read_judges,
    score_texts,
    to_json,
)
from ..config.options import TrustOptions
from ..reports.reliability_report import say_reliability
from ..reports.score_tables import say_expected, say_leaderboard, say_score, say_text_score
from ..store.sealed_rows import seal_judges
from ..terminal import say_json
from .help import Command
from .options import all_option, json_option, open_workspace, options_of, workspace_option
from .output_paths import OutFile

EXAMPLES = """\
Example:  judgewright score verdicts.jsonl --score verdict --confidence confidence --group query_id
Several:  judgewright score ours.jsonl theirs.jsonl --published groundedness
Matrix:   judgewright score matrix.jsonl --score 'verdicts.*' --scale 0..3 --metric kappa
Claims:   judgewright score chunks.jsonl --aggregate max --by claim_id --label-map no=0,partially=0,yes=1
Texts:    judgewright score answers.jsonl --metric anls --label gold --score answer --by dataset
Check:    judgewright score --expected expected.json FOLDER
"""


@click.command(cls=Command, epilog=EXAMPLES)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[FILES]...")
@click.option("--label", default="label", show_default=True, help="Column of the human label.")
@click.option(
    "--score",
    default="score",
    show_default=True,
    help="Column of the judge's score or verdict; 'verdicts.*' for all columns so called, one judge each.",
)
@click.option("--confidence", help="Column of the judge's confidence in its verdict, 0 to 1.")
@click.option("--uncertain", help="Column that says where people were uncertain; adds the metrics of DIRAS.")
@click.option(
    "--threshold",
    "thresholds",
    multiple=True,
    metavar="[NAME=]T",
    help="Labels and scores at or above it are positive; with a NAME, the scores of that judge alone.",
)
@click.option("--label-threshold", type=float, help="What the label must reach, where that differs.")
@click.option("--group", help="Column whose rows depend on each other; intervals take its rows together.")
@click.option("--id", default="id", show_default=True, help="Column of the row id.")
@click.option("--by", multiple=True, help="Also measure per value of this column. With --aggregate: names an item.")
@click.option("--k", "at", multiple=True, type=click.IntRange(min=1), help="Cut-offs of nDCG [default: 10].")
@click.option("--aggregate", help="Rows that share --by are one item with the max, min or mean of their scores.")
@click.option("--label-map", metavar="CELL=GRADE,...", help="What labels stand for; none for no label.")
@click.option("--score-map", "score_maps", multiple=True, metavar="[NAME:]CELL=GRADE,...", help="Likewise for scores.")
@click.option("--scale", help="Scale of labels and scores, such as 0..3; scores outside are named and left unscored.")
@click.option("--clip", is_flag=True, help="Clip what lies outside --scale to its ends instead.")
@click.option(
    "--metric",
    default="f1",
    show_default=True,
    help="What several judges are ranked by; anls holds the texts of --score against those of --label.",
)
@click.option("--published", multiple=True, metavar="NAME", help="Published figures to set beside, such as diras.")
@click.option(
    "--expected", type=click.Path(path_type=Path), help="Compute every figure of this file from the verdicts in FOLDER."
)
@click.option("--verbose", is_flag=True, help="With --expected: print the figures' definitions.")
@options_of(trust=TrustOptions)
@click.option("--html", type=OutFile(), help="Write a page about one judge too.")
@click.option("--seed", default=0, show_default=True, help="Seed of the draws behind the interval of ECE.")
@all_option
@workspace_option
@json_option
def score(
    files: tuple[Path, ...],
    at: tuple[int, ...],
    uncertain: str | None,
    metric: str,
    published: tuple[str, ...],
    expected: Path | None,
    verbose: bool,
    html: Path | None,
    seed: int,
    trust: TrustOptions,
    show_all: bool,
    workspace: Path | None,
    as_json: bool,
    **reading: Any,  # Any: the options that say how files are read, for `read_columns`
) -> None:
    """Measure the verdicts in JSONL, CSV or Parquet files against the human labels beside them.

    One judge gets every metric; several, from several files or the columns of one, are ranked and compared two by
    two. Exits 1 when a figure of --expected differs from what was published, or none of them could be computed.
    """
    if expected is not None:
        _check(expected, files, verbose=verbose, as_json=as_json)
        return
    if metric == TEXT_METRIC:
        if html is not None or published:
            raise InputError(
                f"--metric {TEXT_METRIC} has no page and no published figures", hint="leave the option out"
            )
        _score_texts(files, reading, as_json=as_json)
        return
    columns = read_columns(**reading)
    words = {word: grade for word, grade in columns.label_map.items() if grade is not None}
    reliability = ReliabilityOptions(metric=metric, words=words or None, **vars(trust))
    by = None if columns.aggregate else next(iter(reading["by"]), None)
    asked = ScoreOptions(by=by, at=at or (10,), uncertain=uncertain, seed=seed)
    figures = load_published(published) if published else ()
    if not files and not figures:
        raise InputError("there is nothing to score", hint="name a verdict file, or --published figures")
    judges = read_judges(files, columns)
    with open_workspace(workspace) as place:
        seals = seal_judges(place, judges.values(), show_all=show_all, by="score")
    if len(judges) == 1 and not figures:
        (seal,) = seals
        one = measure_one(next(iter(judges.values())), asked).noting(*seal.notes(), *seal.look_note())
        _write_page(html, one, title=files[0].name, shown=seal.shown(one.judged))
        ceilings = check_reliability([one.judged], reliability, shown=seal.shown)
        if as_json:
            say_json(one.to_json() | ceilings.to_json())
        else:
            say_score(one, title=files[0].name)
            say_reliability(ceilings, audit=trust.audit)
        return
    alone = {"--by": by, "--html": html} | {f"--{name}": value for name, value in vars(trust).items()}
    if given := [option for option, value in alone.items() if value]:
        raise InputError(f"{given[0]} is for one judge", hint="name one file, and one --score column")
    judges = {
        name: judged.noting(*seal.look_note()) for (name, judged), seal in zip(judges.items(), seals, strict=True)
    }
    board = measure_many(judges, asked, metric=metric, published=figures)
    if as_json:
        say_json(to_json(board, judges))
    else:
        say_leaderboard(board, judges)


def _score_texts(files: tuple[Path, ...], given: dict[str, Any], *, as_json: bool) -> None:  # Any: options
    """Measure one file of written answers by the options that have a meaning for texts."""
    if len(files) != 1:
        raise InputError(f"--metric {TEXT_METRIC} is for one file", hint="name one file of answers")
    if len(given["by"]) > 1 or given["aggregate"]:
        raise InputError(f"--metric {TEXT_METRIC} takes one --by column, and no --aggregate")
    by = next(iter(given["by"]), None)
    score = score_texts(files[0], gold=given["label"], answer=given["score"], group=given["group"], by=by)
    if as_json:
        say_json(score.to_json())
    else:
        say_text_score(score, title=files[0].name)


def _check(expected: Path, files: tuple[Path, ...], *, verbose: bool, as_json: bool) -> None:
    if len(files) != 1 or not files[0].is_dir():
        raise InputError(
            "--expected needs the one folder that holds the verdict files",
            hint="judgewright score --expected expected.json FOLDER",
        )
    lines = check_expected(expected, files[0])
    if as_json:
        counts = {status: sum(line.status == status for line in lines) for status in STATUSES}
        say_json({"counts": counts, "expected": [line.to_json() for line in lines]})
    else:
        say_expected(lines, verbose=verbose)
    if not all_agree(lines):
        sys.exit(1)


def read_columns(
    *,
    thresholds: tuple[str, ...],
    label_map: str | None,
    score_maps: tuple[str, ...],
    scale: str | None,
    aggregate: str | None,
    by: tuple[str, ...],
    **named: Any,  # Any: the options that carry VerdictColumns' own names
) -> VerdictColumns:
    """Read the options that say how verdict files are read."""
    if not aggregate and len(by) > 1:
        raise InputError("--by names one column, but several with --aggregate", hint=f"take {by[0]!r} alone")
    threshold, per_judge = _thresholds(thresholds)
    maps = dict(_score_map(text) for text in score_maps)
    return VerdictColumns(
        **named,
        threshold=threshold,
        thresholds=per_judge,
        label_map=parse_grade_map(label_map, option="--label-map") if label_map else {},
        score_map=maps.pop("", {}),
        score_maps=maps,
        scale=parse_label_scale(scale) if scale else None,
        aggregate=require_aggregate(aggregate) if aggregate else None,
        by=by if aggregate else (),
    )


def _thresholds(texts: tuple[str, ...]) -> tuple[float | None, dict[str, float]]:
    """Read thresholds: the one for all, and those of single judges."""
    found: dict[str, float] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        try:
            found[name] = float(value)
        except ValueError:
            found[name] = math.nan
        if not math.isfinite(found[name]):
            raise InputError(f"--threshold {text!r}: {value!r} is no number", hint="such as 2, or NAME=2")
    return found.pop("", None), found


def _score_map(text: str) -> tuple[str, GradeMap]:
    """Read one `--score-map` and the judge it is for; an empty name is every judge."""
    before, between, pairs = text.partition(":")
    name = before if between and "=" not in before else ""
    return name, parse_grade_map(pairs if name else text, option="--score-map")


def _write_page(path: Path | None, score: Score, *, title: str, shown: JudgedDataset) -> None:
    if path is not None:
        from ..reports.score_report import write_score_report

        write_score_report(
            path, score.judged, score.benchmark, by=score.parts, by_column=score.by, title=title, shown=shown
        )
