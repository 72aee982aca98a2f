"""`judgewright recheck`: the last decision about a judge, on a new model."""

from __future__ import annotations

import click

from ..actions.gate import GateModel
from ..actions.recheck import recheck as decide_again
from ..config.options import ModelOptions
from ..store.workspace import Workspace
from ..terminal import progress_on_stderr
from .gate import finish
from .help import Command
from .model_access import asking_environment
from .options import json_option, options_of, writes_workspace


@click.command(
    cls=Command,
    epilog="Example:  judgewright recheck groundedness --model your-model --budget 1.00",
)
@click.argument("judge")
@options_of(models=ModelOptions)
@writes_workspace
@json_option
def recheck(
    judge: str,
    models: ModelOptions,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Put an accepted JUDGE (name or name@version) against its parent again, on another model and
    the same holdout.

    It is a look in the ledger, counted on a line of the model's own. Exits 0 when the judge is
    accepted there too, 1 otherwise.
    """
    with progress_on_stderr(quiet=as_json) as watch:
        environment = asking_environment(workspace.root, models.model)
        model = GateModel(options=models, environment=environment, watch=watch)
        gated = decide_again(workspace, workspace.registry.get(judge), model)
    finish(gated, as_json=as_json)
