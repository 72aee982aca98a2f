"""`judgewright gate`: one paired decision."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import click

from ...judges import InputError, JudgedDataset, JudgePrompt, write_beside
from ...judges.files import with_audited_labels
from ...optimize import exit_code
from ...optimize.options import changed_options, option, spelling
from ...slices.saved import read_slice
from ..actions.decide import Gated, GateModel, Terms
from ..actions.gate import TwoJudges, gate_again, gate_judges, gate_verdicts
from ..actions.read_git_prompt import judge_of
from ..actions.read_objective import saved_slices
from ..actions.verdict_pairs import pair_verdicts, read_holdout, read_verdicts, split_name
from ..config.command_options import AuditedRowOptions, EngineCallOptions, JudgeModelOptions
from ..config.optimize_options import TargetOptions
from ..reports.ci_report import comment_on, junit_of
from ..reports.gate_report import say_gated
from ..store.sealed_rows import version_of
from ..store.workspace import Workspace
from ..terminal import progress_on_stderr, say_json
from .decorators import (
    no_wait_option,
    options_of,
    require_model,
    writes_workspace,
)
from .help import Command
from .model_access import asking_environment
from .score import VerdictFileOptions, read_columns  # verdict files are read as `score` reads them

EXAMPLES = """\
Example:  judgewright gate groundedness@1349 mine.yaml holdout.jsonl --model your-model --target precision
Files:    judgewright gate old.jsonl new.jsonl --target f1 --threshold 2
In git:   judgewright gate git:main:judge.yaml judge.yaml holdout.jsonl --model your-model --target f1 --comment c.md
Again:    judgewright gate groundedness --again --model your-other-model --budget 1.00
Matrix:   judgewright gate all.jsonl:theirs all.jsonl:ours --target kappa --scale 0..3
"""  # noqa: E501
_gate = partial(option, "Gate")


@dataclass(frozen=True, kw_only=True)
class TermOptions(TargetOptions):
    """What is decided, and on which terms."""

    objective: str = option(
        "Goal", "", "What should be better, in exact words such as 'raise precision'."
    )
    slice_: str = _gate(
        "",
        "Rows that must not get worse: conditions, a saved slice or FILE.",
        flag="--slice",
        metavar="SLICE",
    )
    allow_opened: bool = _gate(False, "Decide on rows an earlier run saw all the same, and say so.")
    again: bool = _gate(
        False,
        "Make the last decision that accepted JUDGE_A again, on another model and the same rows.",
    )


_output = partial(option, "Output")


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """Files for a pull request."""

    comment: Path | None = _output(
        None,
        "Write decision, figures and the prompts' diff as Markdown; no row is in it.",
        kind="out",
    )
    junit: Path | None = _output(None, "Write the decision as JUnit XML.", kind="out")


FOR_JUDGES = ("columns", "label_scale", "limit")
"""Options about rows that are for judges that are asked only."""
OFTEN = """
--objective --target --guard --slice --again --model --budget --label --group --column --score
--threshold --scale --junit --comment --workspace --json
"""
"""The options that `--help` shows."""


@click.command(cls=Command, often=OFTEN, epilog=EXAMPLES)
@click.argument("judge_a")
@click.argument("judge_b", required=False)
@click.argument("holdout", required=False, type=click.Path(path_type=Path))
@options_of(
    terms=TermOptions,
    models=EngineCallOptions,
    rows=AuditedRowOptions,
    files=VerdictFileOptions,
    reports=ReportOptions,
)
@no_wait_option
@writes_workspace
def gate(
    judge_a: str,
    judge_b: str | None,
    holdout: Path | None,
    terms: TermOptions,
    models: EngineCallOptions,
    rows: AuditedRowOptions,
    files: VerdictFileOptions,
    reports: ReportOptions,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Decide once, on the same rows, whether JUDGE_B may replace JUDGE_A.

    JUDGE_A and JUDGE_B are judges (name, name@version, YAML file or git:REF:PATH), asked about the
    rows of HOLDOUT, or two verdict files, FILE:NAME for a column of a matrix; their HOLDOUT names
    the rows and labels that count. Every decision is a look at the holdout: it makes the next one
    there stricter, and is entered in the workspace's ledger. With --again an accepted JUDGE_A is
    put against its parent on another model, a look on a line of the model's own. Exits 0 when the
    judge is accepted, 1 otherwise.
    """
    if terms.again:
        _refuse(terms, "is of the decision that is made again", besides=("again",))
        for options in (rows, files):
            _refuse(options, "is not for --again, which decides on the same rows")
        if judge_b is not None:
            raise InputError("--again takes one judge, which an earlier decision accepted")
        with _asking(workspace, models, quiet=as_json) as model:
            gated = gate_again(workspace, workspace.registry.get(judge_a), model)
        _report(gated, None, reports)
        finish(gated, as_json=as_json)
        return
    if judge_b is None:
        raise InputError("which judge may replace it?", hint="judgewright gate A B HOLDOUT")
    first, second = split_name(judge_a), split_name(judge_b)
    if (first is None) != (second is None):
        raise InputError(
            "one side is a verdict file and the other a judge", hint="give two files, or two judges"
        )
    prompts = None
    if first is None:
        _refuse(files, "is for verdict files, not for judges that are asked")
        prompts = (
            judge_of(workspace.registry, judge_a),
            judge_of(workspace.registry, judge_b),
        )
    agreed = _terms(workspace, terms, prompts[0] if prompts else None)
    if first and second:
        pair, versions = _of_files((first, second), holdout, rows, files)
        gated = gate_verdicts(workspace, *pair, agreed, known_as=versions)
    else:
        two = _two_judges(workspace, prompts, holdout, rows, models)
        with _asking(workspace, models, quiet=as_json) as model:
            gated = gate_judges(workspace, two, agreed, model)
    _report(gated, prompts, reports)
    finish(gated, as_json=as_json)


def _terms(workspace: Workspace, options: TermOptions, judge: JudgePrompt | None) -> Terms:
    if not options.objective.strip() and options.target is None:
        raise InputError(
            "better at what?",
            hint='say it, such as --target precision or --objective "raise precision"',
        )
    saved = saved_slices(workspace)
    objective = options.words(options.objective).read(judge, slices=saved)
    rows_named = options.slice_ or objective.slice
    return Terms(
        objective=objective,
        slice=read_slice(rows_named, saved) if rows_named else None,
        allow_opened=options.allow_opened,
    )


@contextmanager
def _asking(
    workspace: Workspace, options: EngineCallOptions, *, quiet: bool
) -> Iterator[GateModel]:
    """Show how far the model has come that judges."""
    model = JudgeModelOptions(**{**vars(options), "model": require_model(options.model)})
    with progress_on_stderr(quiet=quiet) as watch:
        environment = asking_environment(workspace.root, model.model)
        yield GateModel(options=model, environment=environment, watch=watch)


def _two_judges(
    workspace: Workspace,
    prompts: tuple[JudgePrompt, JudgePrompt] | None,
    holdout: Path | None,
    rows: AuditedRowOptions,
    models: EngineCallOptions,
) -> TwoJudges:
    assert prompts is not None
    if holdout is None:
        raise InputError(
            "two judges need the rows to be asked about",
            hint="judgewright gate A B HOLDOUT --model NAME",
        )
    name = require_model(models.model)
    settings = asking_environment(workspace.root, name).settings(name)
    return TwoJudges.of(workspace, *prompts, holdout, rows.as_arguments(), settings)


def _report(
    gated: Gated, prompts: tuple[JudgePrompt, JudgePrompt] | None, reports: ReportOptions
) -> None:
    """Write the files for a pull request."""
    if reports.comment is not None:
        write_beside(reports.comment, comment_on(gated, prompts))
    if reports.junit is not None:
        write_beside(reports.junit, junit_of(gated))


def finish(gated: Gated, *, as_json: bool) -> None:
    """Print the gate's answer; leave with its exit code."""
    if as_json:
        say_json(gated.to_json())
    else:
        say_gated(gated)
    if code := exit_code(gated.outcome):
        sys.exit(code)


def _of_files(
    files: tuple[tuple[Path, str | None], tuple[Path, str | None]],
    holdout: Path | None,
    rows: AuditedRowOptions,
    options: VerdictFileOptions,
) -> tuple[tuple[JudgedDataset, JudgedDataset], tuple[str, str]]:
    """Return both sides on the same rows, and the versions under which their figures may have been
    seen.
    """
    _refuse(rows, "is for judges that are asked, not for verdict files", only=FOR_JUDGES)
    columns = read_columns(options, rows)
    before, after = (read_verdicts(path, name, columns) for path, name in files)
    judged = (
        None if holdout is None else read_holdout(holdout, columns, scale=before.dataset.labels)
    )
    pair = pair_verdicts(before, after, judged)
    if rows.audited is not None:
        audited = with_audited_labels(pair[0].dataset, rows.audited)
        pair = replace(pair[0], dataset=audited), replace(pair[1], dataset=audited)
    return pair, (version_of(before), version_of(after))


def _refuse(
    options: TermOptions | AuditedRowOptions | VerdictFileOptions | ReportOptions,
    reason: str,
    *,
    only: tuple[str, ...] = (),
    besides: tuple[str, ...] = (),
) -> None:
    """Refuse options that would have no effect."""
    for field, _, _ in changed_options(options, type(options)):
        if (not only or field.name in only) and field.name not in besides:
            raise InputError(f"{spelling(field)} {reason}")
