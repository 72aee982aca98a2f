"""`judgewright recheck`: the last decision about a judge, on a new model."""

from __future__ import annotations

from pathlib import Path

import click

from ..actions.gate import Asking
from ..actions.recheck import recheck as decide_again
from ..config.environment import parse_budget
from ..terminal import progress_on_stderr
from .gate import finish
from .model_access import asking_environment
from .options import json_option, model_option, no_wait_option, open_workspace, workspace_option


@click.command(epilog="Example:  judgewright recheck groundedness --model gpt-4o-mini --budget 1.00")
@click.argument("judge")
@model_option
@click.option("--concurrency", default=64, show_default=True, type=click.IntRange(1, 1000), help="Calls in flight.")
@click.option("--budget", help="Dollars such as 5.00, or tokens such as 200000tokens.")
@click.option("--max-tokens", default=512, show_default=True, type=click.IntRange(min=1), help="Tokens of one verdict.")
@workspace_option
@no_wait_option
@json_option
def recheck(
    judge: str,
    model: str,
    concurrency: int,
    budget: str | None,
    max_tokens: int,
    workspace: Path | None,
    no_wait: bool,
    as_json: bool,
) -> None:
    """Put an accepted JUDGE (name or name@version) against its parent again, on another model and the same holdout.

    It is a look in the ledger, counted on a line of the model's own. Exits 0 when the judge is accepted there too, 1
    otherwise.
    """
    with open_workspace(workspace, wait=not no_wait) as place, progress_on_stderr(quiet=as_json) as watch:
        asking = Asking(
            model=model,
            environment=asking_environment(place.root, model),
            allowance=parse_budget(budget),
            concurrency=concurrency,
            max_tokens=max_tokens,
            watch=watch,
        )
        gated = decide_again(place, place.registry.get(judge), asking)
    finish(gated, as_json=as_json)
