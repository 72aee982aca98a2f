"""`judgewright recheck`: the last decision about a judge, on a new model."""

from __future__ import annotations

from pathlib import Path

import click

from ..actions.gate import GateModel
from ..actions.recheck import recheck as decide_again
from ..config.options import ModelOptions
from ..terminal import progress_on_stderr
from .gate import finish
from .help import Command
from .model_access import asking_environment
from .options import json_option, no_wait_option, open_workspace, options_of, workspace_option


@click.command(cls=Command, epilog="Example:  judgewright recheck groundedness --model gpt-4o-mini --budget 1.00")
@click.argument("judge")
@options_of(models=ModelOptions)
@workspace_option
@no_wait_option
@json_option
def recheck(
    judge: str,
    models: ModelOptions,
    workspace: Path | None,
    no_wait: bool,
    as_json: bool,
) -> None:
    """Put an accepted JUDGE (name or name@version) against its parent again, on another model and the same holdout.

    It is a look in the ledger, counted on a line of the model's own. Exits 0 when the judge is accepted there too, 1
    otherwise.
    """
    with open_workspace(workspace, wait=not no_wait) as place, progress_on_stderr(quiet=as_json) as watch:
        environment = asking_environment(place.root, models.model)
        model = GateModel(options=models, environment=environment, watch=watch)
        gated = decide_again(place, place.registry.get(judge), model)
    finish(gated, as_json=as_json)
