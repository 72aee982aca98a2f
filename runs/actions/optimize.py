"""Start an optimization, and resume it after whatever stopped it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
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
    Services,
    Unsettled,
    optimize,
)
from ...optimize.events import Remeasured, RunEvent, Started, StatedObjective, read_event
from ...optimize.options import option_fields
from ...optimize.settings import require_judging, require_probability
from ..config.environment import Environment, parse_budget
from ..config.options import ProposerOptions
from ..engine.start import check_engine
from ..store.journal import RunJournal, create_run, run_session, set_config
from ..store.ledger import HoldoutLedger
from ..store.run_clients import open_exchange, open_run_clients
from ..store.run_command import command_of
from ..store.run_config import RunConfig, open_proposer, require_what_is_read
from ..store.run_identity import MEANS, find_same, identify
from ..store.sides import enter_sides
from ..store.workspace import Workspace
from ..tracing import RunTrace, trace_run
from .read_objective import ask_reading, asks_model, named_slice, saved_slices
from .run_summary import RunSummary, read_optimization, read_run, require_same_models, uncounted

Watch = Callable[[str, Progress], None]
OnEvent = Callable[[RunEvent], None]
"""Called with each event once it is written, replayed ones included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """How an optimization ended, and what it took."""

    run: RunSummary
    stats: tuple[ClientStats, ...]
    """Of the judge's client, and of the optimizer's and the screening one's where they are other
    models.
    """

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
                "before": self.run.before.version,
                "after": self.run.after.version if self.run.after else None,
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
    workspace: Workspace,
    config: RunConfig,
    environment: Environment,
    *,
    new: bool = False,
    watch: Watch,
    on_event: OnEvent,
    tell: Callable[[str], None] = lambda _: None,
) -> RunResult:
    """Follow a run to its end, or to where it stops: the one that was begun so before, else a new
    one.

    A run of the same judge, objective, settings, models and rows goes on where it stopped. One that
    has ended is given back as it is, without a call or a look; where it failed, a new one is begun.

    Args:
        config: What to do. The user named its models in this command, so that their addresses may
            be asked.
        new: Whether to begin a new run in any case.
        on_event: Called with each event, those of earlier sessions included; of a run that goes on
            through batches or files with the new ones alone.
        tell: Called with what is done where the run is not new.

    Raises:
        InputError: The data or a name cannot be used, and no run is made; or another process works
            on the same run.
        WorldError: The endpoint, the budget or the disk stopped it; the same call goes on.
    """
    require_judging(config.judge, config.settings())
    config, dataset = pin_config(workspace, config)
    open_proposer(config)
    parse_budget(config.budget)
    for model, via in config.model_access:
        open_exchange(workspace, model, via, config, environment)
    check_engine(config)
    environment = environment.naming(*config.named_models)
    require_effect(config, environment)
    if config.model_settings is None:
        settings = {name: environment.settings(name).answering() for name in config.named_models}
        config = replace(config, model_settings=settings)
    config = replace(config, identity=identify(config, dataset, environment))
    if not new:
        _same_run(
            workspace, config.identity
        )  # it says so where another process is at it, instead of waiting
    workspace.database.claim(f"run {config.identity}")
    same = None if new else _same_run(workspace, config.identity)
    if same is not None and same.finished:
        tell(
            f"run {same.run_id} did the same and has ended: nothing is asked again; --new begins"
            " another run"
        )
        return _shown_again(read_run(workspace, same.run_id), on_event)  # with its calls counted
    enter_sides(workspace, Path(config.data))
    environment.require_keys(*(model for model, via in config.model_access if via != "files"))
    if same is not None:
        tell(
            f"going on with run {same.run_id}, begun"
            f" {same.record.created[:16].replace('T', ' ')} UTC"
        )
        means = {name: getattr(config, name) for name in (*MEANS, "data", "holdout", "audited")}
        config = replace(same.config, **means)
        set_config(workspace.database, same.run_id, config.to_json())
        return _run(workspace, same.run_id, config, dataset, environment, watch, on_event)
    if config.reading is None:
        config = _read_by_rules(config, environment)
    run_id = create_run(workspace.database, "optimize", config.to_json())
    return _run(workspace, run_id, config, dataset, environment, watch, on_event)


def _same_run(workspace: Workspace, identity: str) -> RunSummary | None:
    """Return the last run of an identity; None where there is none, or it failed for good.

    Raises:
        InputError: Another process works on it.
    """
    run_id = find_same(workspace.database, identity)
    if run_id is None:
        return None
    run = read_run(workspace, run_id, uncounted)
    if run.record.state == "running":
        raise InputError(
            f"run {run_id} does the same, and process {run.record.pid} on {run.record.host} works"
            " on it",
            hint=(
                f"wait until it ends (judgewright runs show {run_id}), or stop that process; --new"
                " begins another run"
            ),
        )
    return None if run.decision is not None and run.decision.outcome == "failed" else run


def _shown_again(run: RunSummary, on_event: OnEvent) -> RunResult:
    """Pass on the events of a run that has ended."""
    for event in run.events:
        typed = read_event(event.kind, event.payload)
        if typed is not None:
            on_event(typed)
        if event.kind == Remeasured.kind:
            break
    return RunResult(run=run, stats=())


def _read_by_rules(config: RunConfig, environment: Environment) -> RunConfig:
    """Settle what the objective means where no model is asked; what the rules see is refused in any
    case.

    Raises:
        InputError: It is not settled, or the judge cannot give what it asks for.
    """
    asked = asks_model(config.words, config.optimizer_access[0], environment)
    try:
        objective = config.words.read(config.judge, slices=config.saved_slices or {})
    except Unsettled:
        if asked:
            return config
        raise
    require_probability(config.judge, objective, config.settings())
    return config if asked else _settled(config, objective)


def _settled(config: RunConfig, objective: Objective) -> RunConfig:
    """Write into the configuration what its objective means; the run keeps it, and nobody reads it
    again.
    """
    require_probability(config.judge, objective, config.settings())
    config = replace(config, reading=objective.to_json())
    if objective.slice is not None and config.slice == "auto" and not config.unguided:
        config = replace(config, slice=objective.slice)
    return config


def pin_config(workspace: Workspace, config: RunConfig) -> tuple[RunConfig, Dataset]:
    """Read the rows, and write into the configuration what a run keeps of its start: the rows'
    hash, the kept rule.
    """
    dataset = config.dataset()
    require_what_is_read(config, dataset)
    named = {name: getattr(config, name) for name in ("data", "exchange", "holdout", "audited")}
    files = {name: str(Path(path).resolve()) for name, path in named.items() if path is not None}
    slices = saved_slices(workspace)
    config = replace(
        config,
        **files,
        data_hash=dataset.content_hash,
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
    usual = next(
        field.default for field, _ in option_fields(ProposerOptions) if field.name == "temperature"
    )
    if chosen is not None and config.temperature != usual:
        raise InputError(
            f"--temperature {config.temperature:g} has no effect: the settings of the model"
            f" {name!r} say {chosen}",
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
        budget: A new budget for the whole run, what it has spent included; the old one unless
            given.

    Raises:
        InputError: There is no such run, its data have changed, or only the workspace names the
            address of a model.
        WorldError: The endpoint, the budget or the disk stopped it again.
    """
    run = read_optimization(workspace, run_id)
    config = run.config
    workspace.database.claim(
        run_id
    )  # before the journal is read again: another process may be adding to it
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
    stored, run = RunJournal(workspace.database, run_id), read_run(workspace, run_id, uncounted)
    # Through batches and files a run is resumed many times, and what it printed is not printed
    # again.
    by_exchange = any(via != "live" for _, via in config.model_access) and not run.finished
    first_new = len(run.events) if by_exchange else 0
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
            if config.reading is None and run.started is None:
                client = clients[config.optimizer_access]
                columns = sorted({column for row in dataset.rows for column in row.meta})
                config = _settled(
                    config,
                    ask_reading(config.words, config.judge, columns, client, config.saved_slices),
                )
                set_config(workspace.database, run_id, config.to_json())
            services = Services(
                judge_client=clients[config.model, config.via],
                optimizer_client=clients[config.optimizer_access],
                proposer=open_proposer(config),
                screen_client=(
                    None
                    if config.screen_model is None
                    else clients[config.screen_model, config.via]
                ),
                journal=_WatchedJournal(stored, trace, on_event, first_new),
                ledger=HoldoutLedger(workspace.database),
                run_id=run_id,
                watch=watch,
            )
            objective = (
                run.objective if config.reading is None else Objective.from_json(config.reading)
            )
            name = run.started.data if run.started else Path(config.data).name
            services.record(_started(config, dataset, name, objective, services))
            optimize(config.judge, dataset, objective, services, config.settings())
            stats = tuple(client.stats for client in clients.values())
    except (Interrupted, KeyboardInterrupt):
        raise Interrupted(f"stopped; run {run_id} is kept", hint=again) from None
    except InputError:
        raise
    except DivergedError as error:
        error.hint = (
            f"{error.hint}; its calls are kept: start anew with: {command_of(config)} --new"
        )
        raise
    except JudgewrightError as error:
        go_on = f"go on with: {again}"
        error.hint = f"{error.hint}; {go_on}" if error.hint else go_on
        raise
    return RunResult(run=read_run(workspace, run_id), stats=stats)


def _started(
    config: RunConfig, dataset: Dataset, name: str, objective: Objective, services: Services
) -> Started:
    prompt = config.judge
    screen = services.screen_client
    models = [
        client.model
        for client in (services.judge_client, services.optimizer_client, screen)
        if client
    ]
    return Started(
        judge=f"{prompt.name}@{prompt.version}",
        rule=(config.decision_rule or prompt.rule).version,
        data=name,
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
    first_new: int
    """The first event that is passed on."""

    def record(self, kind: str, payload: Mapping[str, Any]) -> Event:  # Any: JSON
        """Write, then pass it on."""
        event = self.journal.record(kind, payload)
        self.trace.step(event)
        typed = read_event(event.kind, event.payload)
        if typed is not None and event.seq >= self.first_new:
            self.on_event(typed)
        return event

    def events(self) -> tuple[Event, ...]:
        """Every event so far."""
        return self.journal.events()
