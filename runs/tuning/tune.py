"""A study of the loop's own settings: batch size, temperature and gradients, kept and gone on with like a run.

The trials live in Optuna's study; what was found stands in the run's journal. Asking again goes on with the same study:
finished trials are not made again, and more may be asked for. The budget is that of the whole study.

Optuna minimizes one thing, the validation loss of a trial's survivor. What a trial asks is no part of it, since nobody
could say what a call is worth in loss; it decides among the trials that the rows cannot tell from the best.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...judges import BudgetSpent, ClientStats, InputError, Interrupted, ModelError, Progress
from ...optimize import Services, read_objective
from ...optimize.context import require_decision
from ...optimize.tuning import Knobs, lay_ground
from ..actions.optimize import open_clients, pin_config, require_same_split
from ..config.environment import Environment
from ..store.journal import RunJournal, create_run, list_runs, run_session
from ..store.ledger import HoldoutLedger
from ..store.run_config import RunConfig, open_proposer
from ..store.workspace import Workspace
from .studies import Trials, open_study, study_name
from .tune_walks import AskedFor, OnTrial, TuneSitting
from .tuned import TUNE, TUNED, question_of

Watch = Callable[[str, Progress], None]

STUDIES = "studies.db"
"""The file of all studies, beside the workspace's database."""
_GO_ON = "the same command goes on with the study"


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneResult:
    """What a study found, and what this sitting took."""

    run_id: str
    found: Mapping[str, Any]  # Any: JSON, as the journal keeps it
    stats: tuple[ClientStats, ...]

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what `tune --json` prints."""
        known = all(s.price_known for s in self.stats)
        return {
            "run": self.run_id,
            **self.found,
            "calls": sum(s.calls for s in self.stats),
            "recorded": sum(s.recorded for s in self.stats),
            "cost": sum(s.cost for s in self.stats) if known else None,
            "dropped": sorted({name for s in self.stats for name in s.dropped}),
        }


def tune(
    workspace: Workspace,
    config: RunConfig,
    environment: Environment,
    *,
    trials: int,
    watch: Watch,
    on_trial: OnTrial,
) -> TuneResult:
    """Search the settings of the walk that `start_run` would start, until the study has so many finished trials.

    Args:
        workspace: Where calls, run and study are kept.
        config: As `start_run` takes it; its own settings are those of the first trial.
        environment: Base URL, keys and prices.
        trials: Finished trials that the study shall have.
        watch: Called while answers come in.
        on_trial: Called with the number, loss and calls of each trial that is finished now.

    Raises:
        InputError: The data or a name cannot be used, or the proposer has no such settings.
        WorldError: The endpoint, the budget, the disk or the person stopped it; asked again, it goes on.
    """
    require_decision(config.judge)
    config, dataset = pin_config(workspace, config)
    proposer, settings = open_proposer(config), config.settings()
    first = Knobs.of(proposer, settings)
    if settings.steps == 0:
        raise InputError("a walk of no steps tells nothing of its settings", hint="give --steps, such as 5")
    objective = read_objective(config.objective, target=config.target, guards=config.guards)
    workspace.database.claim()
    require_same_split(workspace, config.data_hash, config.shares)
    question = question_of(config, dataset, environment)
    run_id = _run_of(workspace, config, question)
    with _stopping(), run_session(workspace.database, run_id), ExitStack() as opened:
        record = AskedFor(workspace.database, run_id)
        clients = open_clients(opened, config, environment, record)
        journal = RunJournal(workspace.database, run_id)
        services = Services(
            judge_client=clients[config.model],
            optimizer_client=clients[config.optimizer_model or config.model],
            proposer=proposer,
            screen_client=None if config.screen_model is None else clients[config.screen_model],
            journal=journal,
            ledger=HoldoutLedger(workspace.database),
            run_id=run_id,
            watch=watch,
        )
        journal.record("tuning", {"question": question, "objective": objective.describe()})
        ground = lay_ground(config.judge, dataset, objective, services, settings)
        study = opened.enter_context(open_study(workspace.path.with_name(STUDIES), study_name(question)))
        kept = Trials(study, first, rows=len(ground.parts.train), seed=config.seed)
        sat = TuneSitting(ground=ground, services=services, settings=settings, record=record, kept=kept)
        sat.go_on(trials, on_trial)
        about = {"study": study.study_name, "judge": question["judge"], "data": Path(config.data).name}
        about |= {"model": config.model, "proposer": proposer.name, "objective": objective.describe()}
        found = about | sat.report()
        _keep(journal, found)
        return TuneResult(run_id=run_id, found=found, stats=tuple(client.stats for client in clients.values()))


# The run, and what it reaches the world through.


def _run_of(workspace: Workspace, config: RunConfig, question: Mapping[str, Any]) -> str:  # Any: JSON
    for info in list_runs(workspace.database):
        if info.kind == TUNE and info.config["question"] == question:
            return info.run_id
    return create_run(workspace.database, TUNE, {**config.to_json(), "question": question})


def _keep(journal: RunJournal, found: Mapping[str, Any]) -> None:  # Any: JSON
    """Write down what was found, unless the last sitting found the same."""
    last = journal.events()[-1]
    if last.kind != TUNED or last.payload != json.loads(json.dumps(found)):
        journal.append(TUNED, found)


@contextmanager
def _stopping() -> Iterator[None]:
    """Say of what stops a study that it can be gone on with."""
    try:
        yield
    except (Interrupted, KeyboardInterrupt):
        raise Interrupted("stopped; the finished trials are kept", hint=_GO_ON) from None
    except BudgetSpent as error:
        error.hint = f"{_GO_ON}, given a larger --budget"
        raise
    except ModelError as error:
        error.hint = f"{error.hint}; {_GO_ON}" if error.hint else _GO_ON
        raise
