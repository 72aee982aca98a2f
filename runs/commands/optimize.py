"""`judgewright optimize`: the whole walk."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..actions.optimize import RunResult, start_run
from ..reports.run_report import say_found
from ..reports.terminal_report import say_event, say_nothing
from ..store.run_config import PROPOSERS, RunConfig
from ..terminal import progress_on_stderr, say, say_json
from .loss import read_loss
from .model_access import asking_environment
from .options import (
    column_map,
    data_options,
    json_option,
    model_options,
    names,
    no_wait_option,
    open_workspace,
    retired_option,
    workspace_option,
)

if TYPE_CHECKING:
    from ...judges import JudgePrompt


@click.command(
    epilog='Example:  judgewright optimize groundedness rows.jsonl --objective "do not call unsupported statements '
    'grounded" --target precision --guard recall:-0.05 --model gpt-4o-mini --budget 5.00'
)
@click.argument("judge")
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--objective", required=True, help="What to improve, in a sentence.")
@click.option("--target", help="The metric to improve; beats what the objective says.")
@click.option(
    "--guard", "guards", multiple=True, metavar="METRIC:-MARGIN", help="A metric that must not fall by this much."
)
@click.option(
    "--proposer",
    type=click.Choice(list(PROPOSERS)),
    default="textgrad",
    show_default=True,
    help="Who writes the new prompt.",
)
@click.option(
    "--parts", help="Comma-separated parts TextGrad may change: criteria, system, examples, reply [criteria]."
)
@click.option(
    "--gradients", default=1, show_default=True, type=click.IntRange(1, 16), help="Gradients TextGrad asks for at once."
)
@click.option(
    "--temperature",
    default=0.7,
    show_default=True,
    type=click.FloatRange(0, 2),
    help="At which TextGrad and rewrite sample the optimizer model.",
)
@retired_option("--tuned", "set --steps, --batch, --gradients and --temperature by hand")
@click.option(
    "--step-calls", type=click.IntRange(min=20), help="Calls in one step of fewshot, gepa or mipro [200, 120, 120]."
)
@click.option(
    "--edit",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="With --proposer human: the YAML file of your edited prompt.",
)
@click.option(
    "--loss", help="Your own loss: an expression, or the file of `loss write --out` [default: the model writes one]."
)
@click.option("--unguided", is_flag=True, help="Minibatches of all training rows and a plain 0/1 loss, no slice.")
@click.option("--optimizer-model", help="The model that writes loss and criteria [default: the judge's].")
@model_options
@data_options
@click.option(
    "--candidates",
    default=1,
    show_default=True,
    type=click.IntRange(1, 16),
    help="Proposals in a step; they race on validation rows, and those that cannot win are dropped early.",
)
@click.option("--screen-model", help="A cheaper judge that halves the candidates of a step before they race.")
@click.option("--steps", default=15, show_default=True, type=click.IntRange(0, 1000), help="Optimizer steps.")
@click.option("--batch", default=8, show_default=True, type=click.IntRange(1, 256), help="Rows in a minibatch.")
@click.option(
    "--slice",
    "slice_",
    default="auto",
    show_default=True,
    help="auto, all, a saved slice's file, or a predicate such as 'dataset = ragtruth'.",
)
@click.option(
    "--columns", "slice_columns", help="Comma-separated columns to search slices over [default: all honest ones]."
)
@click.option("--exclude", help="Comma-separated columns never to slice by.")
@click.option("--keep", help="Comma-separated columns to slice by though named like a label or a judge's output.")
@click.option(
    "--split", default="30/20/30/20", show_default=True, help="Per cent for training/validation/holdout/final."
)
@click.option(
    "--hunks",
    default=0,
    show_default=True,
    type=click.IntRange(0, 20),
    help="Split the survivor's diff into so many hunks at most, and measure each on validation.",
)
@click.option(
    "--allow-opened", is_flag=True, help="Seal rows that an earlier run had open all the same; the decision says so."
)
@click.option("--by", help="Column of the closing table [default: dataset, if there is one].")
@click.option(
    "--seed",
    default=0,
    show_default=True,
    help="Seed of minibatches and resamples; never of the split.",
)
@workspace_option
@no_wait_option
@json_option
def optimize(
    judge: str,
    workspace: Path | None,
    no_wait: bool,
    as_json: bool,
    **options: Any,  # Any: the options of `read_config`
) -> None:
    """Improve JUDGE on the slice of DATA where it errs, and decide on rows nobody tuned on.

    Exits 0 when the gate accepted, 1 when it refused or could not decide. A run that is stopped goes on
    with `judgewright runs resume`.
    """
    with open_workspace(workspace, wait=not no_wait) as place:
        config = read_config(place.registry.get(judge), **options)
        with progress_on_stderr(quiet=as_json) as watch:
            environment = asking_environment(place.root, *config.named_models)
            result = start_run(place, config, environment, watch=watch, on_event=say_nothing if as_json else say_event)
    finish(result, place.root, as_json=as_json)


def read_config(
    prompt: JudgePrompt,
    *,
    data: Path,
    columns: tuple[str, ...],
    parts: str | None,
    edit: Path | None,
    loss: str | None,
    slice_: str,
    slice_columns: str | None,
    exclude: str | None,
    keep: str | None,
    split: str,
    **options: Any,  # Any: the remaining options carry RunConfig's own names
) -> RunConfig:
    """Read the options of `optimize`, which `plan` takes too."""
    import orjson

    from ...judges import parse_shares, read_prompt
    from ...slices import read_slice

    return RunConfig(
        prompt=prompt.to_yaml(),
        data=str(data),
        columns=column_map(columns),
        parts=names(parts),
        edit=None if edit is None else read_prompt(edit).to_yaml(),
        loss=None if loss is None else orjson.dumps(read_loss(loss).to_json()).decode(),
        slice=slice_ if slice_ in ("auto", "all") else str(read_slice(slice_)),
        slice_columns=names(slice_columns),
        exclude=names(exclude),
        keep=names(keep),
        shares=parse_shares(split),
        **options,
    )


def finish(result: RunResult, root: Path, *, as_json: bool) -> None:
    """Print how a walk ended and leave with its exit code."""
    body = result.to_json()
    if as_json:
        say_json(body)
    else:
        say_end(result)
        if body["decision"]["accepted"]:
            elsewhere = "" if root.resolve() == Path.cwd() else f" --workspace {root}"
            say(f"Adopt it with: judgewright accept {result.run_id}{elsewhere}")
    if not body["decision"]["accepted"]:
        sys.exit(1)


def say_end(result: RunResult) -> None:
    """Print the diff, and what the walk took."""
    body = result.to_json()
    say_found(result.outcome.before, result.outcome.after)
    cost = "price unknown" if body["cost"] is None else f"${body['cost']:.4f}"
    say(f"\nRun {result.run_id}: {body['calls']} calls, {body['recorded']} answers from the record, {cost}")
    say(f"  over all sittings: {result.thrift}")
    if body["dropped"]:
        say(f"  left out because the endpoint refuses them: {', '.join(body['dropped'])}")
