"""`judgewright calibrate`: choose a threshold and calibrate confidence, on validation rows
alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...judges import InputError, JudgeSettings
from ...judges.metrics import BINARY_METRICS
from ...judges.metrics.fitted_rule import METHODS, Method
from ...optimize.options import SHARES, option
from ..actions.bench import describe_spending
from ..actions.calibrate import CascadeOptions, run_calibration
from ..config.command_options import AuditedRowOptions, ConfidenceOptions, ModelOptions
from ..reports.calibration_report import say_calibration
from ..reports.charts import cascade_curve
from ..reports.drawing import write_picture
from ..store.bench_config import read_rows
from ..terminal import answer, progress_on_stderr, say
from .decorators import options_of, writes_workspace
from .help import Command
from .model_access import asking_environment

if TYPE_CHECKING:
    from ...judges import Shares
    from ..store.workspace import Workspace

_fit = partial(option, "Calibration")


@dataclass(frozen=True, kw_only=True)
class CalibrateOptions(CascadeOptions, ConfidenceOptions):
    """What is fitted, and on which rows."""

    metric: str = _fit("f1", "What the threshold maximises.", choices=tuple(BINARY_METRICS))
    method: Method = _fit(
        "isotonic",
        "How confidence is calibrated; platt needs fewer rows, none leaves it alone.",
        choices=METHODS,
    )
    shares: Shares | None = option("Data", None, SHARES, kind="shares", flag="--split")
    plot: Path | None = _fit(None, "Draw agreement by cost into FILE.svg.", kind="out")


OFTEN = """
--label --group --column --label-map --limit --audited --split --model --budget --concurrency
--confidence --metric --method --cascade --agreement --cost --workspace --json
"""
"""The options that `--help` shows."""


@click.command(
    cls=Command,
    often=OFTEN,
    epilog=(
        "Example:  judgewright calibrate groundedness rows.jsonl --model your-model --metric f1"
        " --method isotonic"
    ),
)
@click.argument("judge")
@click.argument("data", type=click.Path(path_type=Path))
@options_of(rows=AuditedRowOptions, models=ModelOptions, options=CalibrateOptions)
@writes_workspace
def calibrate(
    judge: str,
    data: Path,
    rows: AuditedRowOptions,
    models: ModelOptions,
    options: CalibrateOptions,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Fit JUDGE's decision rule on the validation rows of DATA, show before and after, and keep it
    with the judge; with --cascade also a version in which a slow model decides where JUDGE's
    probability lies in a band.

    Rows are split as `optimize` splits them; training, holdout and final rows are not judged. The
    figures after are cross-fitted: each row is decided by a rule that its group did not help to
    fit.
    """
    of_bands = [name for name in ("agreement", "cost", "plot") if vars(options)[name] is not None]
    if of_bands and options.cascade is None:
        raise InputError(
            f"--{of_bands[0]} is about the band of a cascade", hint="add --cascade MODEL"
        )
    with progress_on_stderr(quiet=as_json) as watch:
        prompt = workspace.registry.get(judge)
        dataset = read_rows(prompt, data, rows, audited=rows.audited)
        result = run_calibration(
            workspace,
            prompt,
            dataset,
            models=models,
            environment=asking_environment(workspace.root, models.model, options.cascade),
            settings=JudgeSettings(max_tokens=models.max_tokens, confidence=options.confidence),
            metric=options.metric,
            method=options.method,
            shares=options.shares,
            wanted=options,
            watch=watch,
        )
    if options.plot is not None and result.band is not None:
        write_picture(cascade_curve(result.band), options.plot)

    def say_result() -> None:
        for note in (*dataset.notes, *result.notes, *describe_spending(result.stats)):
            say(f"note: {note}")
        say_calibration(result, title=f"{result.kept.judge} on the validation rows of {data.name}")

    answer(result, say_result, as_json=as_json)
