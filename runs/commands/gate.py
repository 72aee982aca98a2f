"""`judgewright gate`: one paired decision."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from ...judges import InputError, JudgedDataset
from ...judges.files import VerdictColumns
from ...optimize import Objective, read_objective
from ...slices.saved import read_slice
from ..actions.gate import Asking, TwoJudges, gate_judges
from ..actions.gate_decision import Gated, Terms, gate_verdicts
from ..actions.verdict_pairs import pair_verdicts, read_holdout, read_verdicts, split_name
from ..config.environment import parse_budget
from ..reports.gate_report import say_gated
from ..store.sealed_rows import version_of
from ..store.workspace import Workspace
from ..terminal import progress_on_stderr, say_json
from .model_access import asking_environment
from .options import (
    column_map,
    data_options,
    json_option,
    model_options,
    names,
    no_wait_option,
    open_workspace,
    require_model,
    workspace_option,
)
from .score import read_columns as verdict_columns  # the options of `score` are read in one place

EXAMPLES = """\b
Example:  judgewright gate groundedness@1349 mine.yaml holdout.jsonl --model gpt-4o-mini --target precision
Files:    judgewright gate old.jsonl new.jsonl --target f1 --threshold 2
Matrix:   judgewright gate all.jsonl:theirs all.jsonl:ours --target kappa --scale 0..3
"""
FOR_FILES = {
    "score": "score",
    "confidence": None,
    "thresholds": (),
    "label_threshold": None,
    "label_map": None,
    "score_maps": (),
    "scale": None,
    "clip": False,
    "aggregate": None,
    "by": (),
}
"""Options about verdict files, with what they are unless given."""
FOR_JUDGES = {"columns": (), "label_scale": None, "limit": None, "skip_incomplete": False}
"""Options about judges that are asked."""

Options = dict[str, Any]  # Any: what click read


@click.command(epilog=EXAMPLES)
@click.argument("judge_a")
@click.argument("judge_b")
@click.argument("holdout", required=False, type=click.Path(path_type=Path))
@click.option("--objective", default="", help="What should be better, in a sentence.")
@click.option("--target", help="The metric that should be better; beats what the objective says.")
@click.option(
    "--guard", "guards", multiple=True, metavar="METRIC:-MARGIN", help="A metric that must not fall by this much."
)
@click.option(
    "--slice", "slice_", default="", metavar="SLICE", help="Rows that must not get worse: conditions or FILE."
)
@click.option("--exclude", help="Comma-separated columns never to slice by.")
@click.option("--allow-opened", is_flag=True, help="Decide on rows an earlier run saw all the same, and say so.")
@partial(model_options, required=False)
@data_options
@click.option("--score", default="score", help="Verdict files: column of the judge's score [default: score].")
@click.option("--confidence", help="Verdict files: column of the confidence in the verdict, 0 to 1.")
@click.option("--threshold", "thresholds", multiple=True, metavar="[NAME=]T", help="Verdict files: positive from here.")
@click.option("--label-threshold", type=float, help="Verdict files: what the label must reach, where that differs.")
@click.option("--label-map", metavar="CELL=GRADE,...", help="Verdict files: what labels stand for.")
@click.option("--score-map", "score_maps", multiple=True, metavar="[NAME:]CELL=GRADE,...", help="Likewise for scores.")
@click.option("--scale", help="Verdict files: scale of labels and scores, such as 0..3.")
@click.option("--clip", is_flag=True, help="Verdict files: clip what lies outside --scale.")
@click.option("--aggregate", help="Verdict files: rows that share --by are one item: max, min or mean.")
@click.option("--by", multiple=True, help="With --aggregate: a column that names an item.")
@workspace_option
@no_wait_option
@json_option
def gate(
    judge_a: str,
    judge_b: str,
    holdout: Path | None,
    objective: str,
    target: str | None,
    guards: tuple[str, ...],
    slice_: str,
    exclude: str | None,
    allow_opened: bool,
    workspace: Path | None,
    no_wait: bool,
    as_json: bool,
    **options: Any,  # Any: how rows are read and who is asked, for `_of_files` and `_of_judges`
) -> None:
    """Decide once, on the same rows, whether JUDGE_B may replace JUDGE_A.

    JUDGE_A and JUDGE_B are judges (name, name@version or YAML file), asked about the rows of HOLDOUT, or two verdict
    files, FILE:NAME for a column of a matrix; their HOLDOUT names the rows and labels that count. Every decision is a
    look at the holdout, entered in the workspace's ledger. Exits 0 when JUDGE_B is accepted, 1 otherwise.
    """
    files = [split_name(text) for text in (judge_a, judge_b)]
    terms = Terms(
        objective=_objective(objective, target, guards),
        slice=str(read_slice(slice_)) if slice_ else "",
        exclude=names(exclude),
        allow_opened=allow_opened,
    )
    if (files[0] is None) != (files[1] is None):
        raise InputError("one side is a verdict file and the other a judge", hint="give two files, or two judges")
    with open_workspace(workspace, wait=not no_wait) as place:
        if files[0] and files[1]:
            sides, versions = _of_files([files[0], files[1]], holdout, options)
            gated = gate_verdicts(place, *sides, terms, known_as=versions)
        else:
            gated = _of_judges(place, (judge_a, judge_b), holdout, terms, options, quiet=as_json)
    finish(gated, as_json=as_json)


def finish(gated: Gated, *, as_json: bool) -> None:
    """Print the gate's answer, and leave with 1 where it did not accept."""
    if as_json:
        say_json(gated.to_json())
    else:
        say_gated(gated)
    if not gated.accepted:
        sys.exit(1)


def _objective(text: str, target: str | None, guards: tuple[str, ...]) -> Objective:
    if not text.strip() and target is None:
        raise InputError(
            "better at what?", hint='say it, such as --target precision or --objective "fewer false alarms"'
        )
    return read_objective(text, target=target, guards=guards)


def _of_files(
    files: list[tuple[Path, str | None]], holdout: Path | None, options: Options
) -> tuple[tuple[JudgedDataset, JudgedDataset], tuple[str, str]]:
    """Return both sides on the same rows, and the versions under which their figures may have been seen."""
    _refuse(options, FOR_JUDGES, "is for judges that are asked, not for verdict files")
    reading = {name: options[name] for name in FOR_FILES}
    reading |= {"label": options["label"] or "label", "id": options["id_"] or "id", "group": options["group"]}
    columns: VerdictColumns = verdict_columns(**reading)
    first, second = (read_verdicts(path, name, columns) for path, name in files)
    rows = None if holdout is None else read_holdout(holdout, columns, scale=first.dataset.labels)
    return pair_verdicts(first, second, rows), (version_of(first), version_of(second))


def _of_judges(
    place: Workspace,
    judges: tuple[str, str],
    holdout: Path | None,
    terms: Terms,
    options: Options,
    *,
    quiet: bool,
) -> Gated:
    _refuse(options, FOR_FILES, "is for verdict files, not for judges that are asked")
    if holdout is None:
        raise InputError("two judges need the rows to be asked about", hint="judgewright gate A B HOLDOUT --model NAME")
    model = require_model(options["model"])
    before, after = (place.registry.get(judge) for judge in judges)
    kept = [place.registry.kept_rule(prompt) for prompt in (before, after)]
    reading = {name: options[name] for name in ("label", "group", "label_scale", "limit", "skip_incomplete")}
    two = TwoJudges(
        before=before,
        after=after,
        data=holdout,
        reading=reading | {"id": options["id_"], "columns": column_map(options["columns"])},
        rules={p.version: rule.rule for p, rule in zip((before, after), kept, strict=True) if rule},
    )
    with progress_on_stderr(quiet=quiet) as watch:
        asking = Asking(
            model=model,
            environment=asking_environment(place.root, model),
            allowance=parse_budget(options["budget"]),
            concurrency=options["concurrency"],
            max_tokens=options["max_tokens"],
            watch=watch,
        )
        return gate_judges(place, two, terms, asking)


def _refuse(options: Options, defaults: dict[str, object], why: str) -> None:
    """Refuse options that would have no effect."""
    spelt = {"thresholds": "threshold", "score_maps": "score-map", "columns": "column"}
    given = next((name for name, default in defaults.items() if options[name] != default), None)
    if given is not None:
        raise InputError(f"--{spelt.get(given, given).replace('_', '-')} {why}")
