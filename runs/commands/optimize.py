"""`judgewright optimize`: the whole run, or with --plan what it would ask, cost and show."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...optimize import exit_code
from ..config.optimize_options import OptimizeOptions
from ..terminal import progress_on_stderr, say, say_json
from .decorators import elsewhere, no_wait_option, options_of, takes, writes_workspace
from .help import Command

if TYPE_CHECKING:
    from ..actions.optimize import RunResult
    from ..config.place import Place
    from ..store.workspace import Workspace
OFTEN = """
--objective --target --guard --loss --label --group --column --holdout --split --model
--optimizer-model --budget --proposer --steps --slice --plan --workspace --json
"""
"""The options that `--help` shows."""


@click.command(
    cls=Command,
    often=OFTEN,
    epilog=(
        'Example:  judgewright optimize groundedness rows.jsonl --objective "do not call'
        ' unsupported statements grounded" --target precision --guard recall:-0.05 --model'
        " your-model --budget 5.00"
    ),
)
@click.argument("judge")
@click.argument("data", type=click.Path(path_type=Path))
@options_of(options=OptimizeOptions)
@takes(
    "plan",
    False,
    "Say what the run would ask and cost, and which gain its gate could show; ask nothing.",
)
@takes("new", False, "Begin a new run, though the same one was begun or has ended before.")
@no_wait_option
@writes_workspace
def optimize(
    judge: str,
    data: Path,
    options: OptimizeOptions,
    plan: bool,
    new: bool,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Improve JUDGE on the slice of DATA where it errs, and decide on rows nobody tuned on.

    Exits 0 when the gate accepted; 1 when it refused or could not decide, or the search found no
    candidate; 3 when an endpoint failed; 4 when the best candidate was too unlikely to be accepted
    for a test on the holdout (--least-chance). The same command goes on with a run that was
    stopped, and prints one that has ended again, without a call and without another test. With
    --plan nothing is asked or spent.
    """
    from ..actions.optimize import start_run
    from ..actions.plan import plan_run
    from ..reports.plan_report import say_plan
    from ..reports.terminal_report import say_nothing, say_run
    from ..store.banks import banks_of
    from ..store.run_config import RunConfig
    from .confirm_reading import with_confirmed_reading
    from .model_access import asking_environment

    prompt = workspace.registry.get(judge)
    banks = prompt.write_bank(banks_of(workspace))
    config = RunConfig(prompt=prompt.to_yaml(), data=str(data), banks=banks, **vars(options))
    environment = asking_environment(workspace.root, *config.named_models)
    if plan:
        planned = plan_run(workspace, config, environment)
        say_json(planned.to_json()) if as_json else say_plan(planned)
        return

    def start(yes: bool) -> RunResult:
        with progress_on_stderr(quiet=as_json) as watch:
            return start_run(
                workspace,
                replace(config, yes=yes),
                environment,
                new=new,
                watch=watch,
                on_event=say_nothing if as_json else say_run(),
                tell=tell,
            )

    result = with_confirmed_reading(start, yes=options.yes, as_json=as_json)
    finish(result, workspace.place, as_json=as_json)


def tell(line: str) -> None:
    """Say on stderr what is done with a run that is not new."""
    say(line, to_stderr=True)


def finish(result: RunResult, location: Place, *, as_json: bool) -> None:
    """Print how a run ended and leave with its exit code."""
    body = result.to_json()
    if as_json:
        say_json(body)
    else:
        say_end(result)
        if body["decision"]["accepted"]:
            say(f"Adopt it with: judgewright accept {result.run_id}{elsewhere(location)}")
    if code := exit_code(body["decision"]["outcome"]):
        sys.exit(code)


def say_end(result: RunResult) -> None:
    """Print the diff, and what the run took."""
    from ..actions.bench import describe_parameters
    from ..actions.reach import reach_of_run
    from ..reports.numbers import price
    from ..reports.run_report import say_prompt_diff
    from ..reports.sentences import describe_cost
    from ..reports.terminal_report import say_few

    body = result.to_json()
    say_prompt_diff(result.run)
    say_few(reach_of_run(result.run), data=result.run.config.data)
    cost = price(body["cost"])
    guidance = "" if body["guided"] else "unguided, "
    say(
        f"\nRun {result.run_id}: {guidance}{body['calls']} calls, {body['recorded']} cached, {cost}"
    )
    say(f"  cost including resumes: {describe_cost(result.run.cost)}")
    for note in (*describe_parameters(body["dropped"], body["ignored"]), *body["notes"]):
        say(f"  {note}")
