"""Start an optimization, and resume it after whatever stopped it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...judges import (
    ClientStats,
    Dataset,
    DivergedError,
    InputError,
    Interrupted,
    JudgewrightError,
    Progress,
)
from ...optimize import (
    Event,
    Journal,
    Objective,
    Outcome,
    Services,
    Unsettled,
    optimize,
)
from ...optimize.events import RunEvent, Started, StatedObjective, read_event
from ...optimize.options import option_fields
from ...optimize.settings import require_judging, require_probability
from ..config.environment import Environment
from ..config.options import ProposerOptions
from ..engine.start import check_engine
from ..store.journal import RunJournal, create_run, run_session, set_config
from ..store.ledger import HoldoutLedger
from ..store.run_clients import open_exchange, open_run_clients
from ..store.run_command import command_of
from ..store.run_config import RunConfig, open_proposer, require_what_is_read
from ..store.sides import enter_sides
from ..store.workspace import Workspace
from ..tracing import RunTrace, trace_run
from .read_objective import named_slice, saved_slices, settle_objective
from .run_summary import RunSummary, read_optimization, read_run, require_same_models

Watch = Callable[[str, Progress], None]
OnEvent = Callable[[RunEvent], None]
"""Called with each event once it is written, replayed ones included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """How an optimization ended, and what it took."""

    run: RunSummary
    outcome: Outcome
    """The prompts and the gate's decision."""
    stats: tuple[ClientStats, ...]
    """Of the judge's client, and of the optimizer's and the screening one's where they are other models."""

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.run.run_id

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what `optimize --json` prints."""
        payloads = {event.kind: dict(event.payload) for event in self.run.events}
        prices_known = all(stats.price_known for stats in self.stats)
        return {
            "run": self.run_id,
            "simulated": payloads["benchmark"]["simulated"],
            "decision": payloads["decision"],
            "chance": payloads.get("chance"),
            "threshold": payloads["threshold"],
            "prompt": {
                "before": self.outcome.before.version,
                "after": self.outcome.after.version if self.outcome.after else None,
                "rule": payloads["survivor"].get("rule"),
            },
            "slice": payloads["slice"]["name"],
            "guided": not self.run.unguided,
            "loss": payloads["loss"]["expression"],
            "benchmark": payloads["benchmark"],
            "everything": payloads["everything"],
            "calls": sum(s.calls for s in self.stats),
            "recorded": sum(s.recorded for s in self.stats),
            "cost": sum(s.cost for s in self.stats) if prices_known else None,
            "thrift": self.run.cost.to_json(),
            "dropped": sorted({name for s in self.stats for name in s.dropped}),
            "ignored": dict(sum((s.ignored for s in self.stats), Counter())),
            "notes": list(dict.fromkeys(note for s in self.stats for note in s.notes)),
        }


def start_run(
    workspace: Workspace, config: RunConfig, environment: Environment, *, watch: Watch, on_event: OnEvent
) -> RunResult:
    """Start a run and follow it to its end, or to where it stops; `resume_run` goes on from there.

    Args:
        config: What to do. The user named its models in this command, so that their addresses may be asked.
        on_event: Called with each event, replayed ones included.

    Raises:
        InputError: The data or a name cannot be used; no run is made.
        WorldError: The endpoint, the budget or the disk stopped it; the run can be resumed.
    """
    require_judging(config.judge, config.settings())
    config, dataset = pin_config(workspace, config)
    open_proposer(config)
    for model, via in config.model_access:
        open_exchange(workspace, model, via, config, environment)
    check_engine(config)
    workspace.database.claim()
    enter_sides(workspace, Path(config.data))
    environment = environment.naming(*config.named_models)
    environment.require_keys(*(model for model, via in config.model_access if via != "files"))
    require_effect(config, environment)
    if config.reading is None:
        config = _with_reading(workspace, config, dataset, environment)
    if config.model_settings is None:
        settings = {name: environment.settings(name).answering() for name in config.named_models}
        config = replace(config, model_settings=settings)
    run_id = create_run(workspace.database, "optimize", config.to_json())
    return _run(workspace, run_id, config, dataset, environment, watch, on_event)


def _with_reading(workspace: Workspace, config: RunConfig, dataset: Dataset, environment: Environment) -> RunConfig:
    """Settle what the objective means; the run keeps it, and nobody reads it again."""
    with suppress(Unsettled):  # what the rules see is refused before a model is asked
        by_rules = config.words.read(config.judge, slices=config.saved_slices)
        require_probability(config.judge, by_rules, config.settings())
    model, via = config.optimizer_access
    reader = replace(config, model=model, via=via)
    columns = sorted({column for row in dataset.rows for column in row.meta})
    objective = settle_objective(workspace, config.words, config.judge, columns, reader, environment)
    require_probability(config.judge, objective, config.settings())
    config = replace(config, reading=objective.to_json())
    if objective.slice is not None and config.slice == "auto" and not config.unguided:
        config = replace(config, slice=objective.slice)
    return config


def pin_config(workspace: Workspace, config: RunConfig) -> tuple[RunConfig, Dataset]:
    """Read the rows, and write into the configuration what a run keeps of its start: the rows' hash, the kept rule."""
    dataset = config.dataset()
    require_what_is_read(config, dataset)
    exchange = None if config.exchange is None else str(Path(config.exchange).resolve())
    holdout = None if config.holdout is None else str(Path(config.holdout).resolve())
    audited = None if config.audited is None else str(Path(config.audited).resolve())
    slices = saved_slices(workspace)
    config = replace(
        config,
        data=str(Path(config.data).resolve()),
        data_hash=dataset.content_hash,
        exchange=exchange,
        holdout=holdout,
        audited=audited,
        saved_slices=slices or None,
        slice=named_slice(config.slice, slices),
    )
    kept = workspace.registry.kept_rule(config.judge)
    return (replace(config, rule=kept.rule.to_json()) if kept else config), dataset


def require_effect(config: RunConfig, environment: Environment) -> None:
    """Refuse a --temperature that the settings of the optimizer model overrule.

    Raises:
        InputError: Both are given.
    """
    name = config.optimizer_model or config.model
    chosen = environment.settings(name).temperature
    usual = next(field.default for field, _ in option_fields(ProposerOptions) if field.name == "temperature")
    if chosen is not None and config.temperature != usual:
        raise InputError(
            f"--temperature {config.temperature:g} has no effect: the settings of the model {name!r} say {chosen}",
            hint="leave it out, or take the temperature out of the settings",
        )


def resume_run(
    workspace: Workspace,
    run_id: str,
    environment: Environment,
    *,
    budget: str | None = None,
    watch: Watch,
    on_event: OnEvent,
) -> RunResult:
    """Go through a run again from its start, past everything that is already recorded.

    Args:
        budget: A new budget for the whole run, what it has spent included; the old one unless given.

    Raises:
        InputError: There is no such run, its data have changed, or only the workspace names the address of a model.
        WorldError: The endpoint, the budget or the disk stopped it again.
    """
    run = read_optimization(workspace, run_id)
    config = run.config
    workspace.database.claim(run_id)  # before the journal is read again: another process may be adding to it
    environment.require_named(*config.named_models, who=f"run {run_id}")
    require_same_models(run, environment)
    if budget is not None:
        config = replace(config, budget=budget)
        set_config(workspace.database, run_id, config.to_json())
    return _run(workspace, run_id, config, config.dataset(), environment, watch, on_event)


def _run(
    workspace: Workspace,
    run_id: str,
    config: RunConfig,
    dataset: Dataset,
    environment: Environment,
    watch: Watch,
    on_event: OnEvent,
) -> RunResult:
    stored = RunJournal(workspace.database, run_id)
    objective = read_run(workspace, run_id).objective
    again = f"judgewright runs resume {run_id}{environment.keyring().flags()}"
    try:
        with (
            run_session(workspace.database, run_id),
            trace_run(environment.trace, run_id, "optimize") as trace,
            open_run_clients(
                workspace,
                run_id,
                config,
                environment.for_run(config.model_settings),
                trace=trace,
                models=config.model_access,
            ) as clients,
        ):
            services = Services(
                judge_client=clients[config.model, config.via],
                optimizer_client=clients[config.optimizer_access],
                proposer=open_proposer(config),
                screen_client=None if config.screen_model is None else clients[config.screen_model, config.via],
                journal=_WatchedJournal(stored, trace, on_event),
                ledger=HoldoutLedger(workspace.database),
                run_id=run_id,
                watch=watch,
            )
            services.record(_started(config, dataset, objective, services))
            outcome = optimize(config.judge, dataset, objective, services, config.settings())
            stats = tuple(client.stats for client in clients.values())
    except (Interrupted, KeyboardInterrupt):
        raise Interrupted(f"stopped; run {run_id} is kept", hint=again) from None
    except InputError:
        raise
    except DivergedError as error:
        error.hint = f"{error.hint}; its calls are kept: start anew with: {command_of(config)}"
        raise
    except JudgewrightError as error:
        go_on = f"go on with: {again}"
        error.hint = f"{error.hint}; {go_on}" if error.hint else go_on
        raise
    return RunResult(run=read_run(workspace, run_id), outcome=outcome, stats=stats)


def _started(config: RunConfig, dataset: Dataset, objective: Objective, services: Services) -> Started:
    prompt = config.judge
    screen = services.screen_client
    models = [client.model for client in (services.judge_client, services.optimizer_client, screen) if client]
    return Started(
        judge=f"{prompt.name}@{prompt.version}",
        rule=(config.decision_rule or prompt.rule).version,
        data=Path(config.data).name,
        data_hash=dataset.content_hash,
        rows=len(dataset),
        notes=tuple(dataset.notes),
        model=models[0].name,
        optimizer_model=models[1].name,
        screen_model=screen.model.name if screen else None,
        endpoints=tuple(model.endpoint for model in models),
        simulated=any(model.simulated for model in models),
        proposer=config.proposer,
        parts=tuple(services.proposer.parts),
        candidates=config.candidates,
        unguided=config.unguided,
        objective=StatedObjective(
            text=objective.text,
            read_as=objective.describe(),
            target=objective.target,
            guards=objective.guards,
            notes=tuple(objective.notes),
            floors=objective.floors or None,
            slice=objective.slice,
        ),
    )


@dataclass(frozen=True, slots=True)
class _WatchedJournal:
    """A journal that passes each event on once it is written."""

    journal: Journal
    trace: RunTrace
    on_event: OnEvent

    def record(self, kind: str, payload: Mapping[str, Any]) -> Event:  # Any: JSON
        """Write, then pass it on."""
        event = self.journal.record(kind, payload)
        self.trace.step(event)
        typed = read_event(event.kind, event.payload)
        if typed is not None:
            self.on_event(typed)
        return event

    def events(self) -> tuple[Event, ...]:
        """Every event so far."""
        return self.journal.events()
