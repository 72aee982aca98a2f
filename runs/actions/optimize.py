"""Start an optimization, resume it after whatever stopped it, or try a person's own criteria on the
terms of one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ...judges import (
    ClientStats,
    DecisionRule,
    DivergedError,
    InputError,
    Interrupted,
    JudgewrightError,
)
from ...judges.asked_question import verdict_scale
from ...judges.models import Watch, unwatched
from ...optimize import (
    Event,
    Journal,
    Objective,
    Services,
    optimize,
)
from ...optimize.events import Remeasured, RunEvent, Started, StatedObjective, read_event
from ..config.environment import Environment
from ..store.banks import keep_banks
from ..store.journal import RunJournal, create_run, run_session, set_config
from ..store.ledger import HoldoutLedger
from ..store.run_clients import open_run_clients, whole_budget
from ..store.run_command import command_of
from ..store.run_config import RunConfig, editable_parts
from ..store.run_identity import MEANS, find_same
from ..store.workspace import Workspace
from .first_question import first_question
from .plan import describe_split, within_budget
from .prepare_run import PreparedRun, prepare_run
from .read_objective import ask_reading
from .run_summary import RunSummary, read_optimization, read_run, require_same_models, uncounted

OnEvent = Callable[[RunEvent], None]
"""Called with each event once it is written, replayed ones included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """How an optimization ended, and what it took."""

    run: RunSummary
    stats: tuple[ClientStats, ...]
    """Of the judge's client, and of the optimizer's where it is another model."""

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
    watch: Watch = unwatched,
    on_event: OnEvent = lambda _: None,
    tell: Callable[[str], None] = lambda _: None,
) -> RunResult:
    """Follow a run to its end, or to where it stops: the one that was begun so before, else a new
    one.

    A run of the same judge, objective, settings, models and rows goes on where it stopped. One that
    has ended is given back as it is, without a call or a look; where it failed, a new one is begun.

    Args:
        config: What to do; see `prepare_run`.
        new: Whether to begin a new run in any case.
        on_event: Called with each event, those of earlier sessions included; of a run that goes on
            through batches or files with the new ones alone.
        tell: Called with what is done where the run is not new.

    Raises:
        InputError: The data or a name cannot be used, and no run is made; or another process works
            on the same run.
        WorldError: The endpoint, the budget or the disk stopped it; the same call goes on.
    """
    # Of a run that goes on, what it has spent comes on top; see below.
    first = whole_budget(workspace.database, None, config.budget)
    prepared = prepare_run(workspace, replace(config, budget=first), environment)
    identity = prepared.config.identity
    if not new:
        _same_run(workspace, identity)  # another process at it is told of, not waited for
    workspace.database.claim(f"run {identity}")
    same = None if new else _same_run(workspace, identity)
    if same is not None and same.finished:
        tell(
            f"run {same.run_id} did the same and has ended: nothing is asked again; --new begins"
            " another run"
        )
        return _shown_again(read_run(workspace, same.run_id), on_event)  # with its calls counted
    access = prepared.config.model_access
    prepared.environment.require_keys(*(model for model, via in access if via != "files"))
    if same is not None:
        tell(
            f"going on with run {same.run_id}, begun"
            f" {same.record.created[:16].replace('T', ' ')} UTC"
        )
        names = (*MEANS, "data", "holdout", "audited")
        means = {name: getattr(prepared.config, name) for name in names}
        means["budget"] = whole_budget(workspace.database, same.run_id, config.budget)
        again = replace(same.config, **means)
        set_config(workspace.database, same.run_id, again.to_json())
        prepared = PreparedRun.of(again, prepared.dataset, prepared.environment)
        return _run(workspace, same.run_id, prepared, watch, on_event)
    if prepared.config.reading is None:
        prepared = _settle_exact(prepared)
    asked = (workspace, prepared.prompt, prepared.config.model, prepared.environment)
    for note in first_question(*asked):
        tell(note)
    edited = prepared.config.edited_judge
    keep_banks(workspace, prepared.prompt, *(() if edited is None else (edited,)))
    folds, prepared = prepared.config.folds, within_budget(workspace, prepared)
    if prepared.config.folds < folds:
        tell(describe_split(folds))
    run_id = create_run(workspace.database, "optimize", prepared.config.to_json())
    return _run(workspace, run_id, prepared, watch, on_event)


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


def _settle_exact(prepared: PreparedRun) -> PreparedRun:
    """Settle what the objective means where no model has to read it.

    Raises:
        InputError: The judge cannot give what it asks for.
    """
    words, slices = prepared.config.objective_words, prepared.config.saved_slices or {}
    if words.needs_reading(prepared.prompt, slices):
        return prepared
    return prepared.settled(words.read(prepared.prompt, slices=slices))


def resume_run(
    workspace: Workspace,
    run_id: str,
    environment: Environment,
    *,
    budget: str | None = None,
    watch: Watch = unwatched,
    on_event: OnEvent = lambda _: None,
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
    # Before the journal is read again: another process may be adding to it.
    workspace.database.claim(run_id)
    environment.require_named(*config.named_models, who=f"run {run_id}")
    require_same_models(run, environment)
    if budget is not None:
        budget = whole_budget(workspace.database, run_id, budget)
        config = replace(config, budget=budget)
        set_config(workspace.database, run_id, config.to_json())
    prepared = PreparedRun.of(config, config.dataset(), environment)
    return _run(workspace, run_id, prepared, watch, on_event)


def try_edit(
    workspace: Workspace,
    run_id: str,
    criteria: str,
    environment: Environment,
    *,
    comment: str = "",
    watch: Watch = unwatched,
    on_event: OnEvent = lambda _: None,
    tell: Callable[[str], None] = lambda _: None,
) -> RunResult:
    """Send a person's criteria through validation and the gate, in place of those that a run ended
    with.

    Args:
        criteria: The whole text.
        comment: Why; kept as the note of the edited prompt.
        tell: As `start_run` takes it: the same edit again goes on with its run.

    Raises:
        InputError: There is no such run, the criteria are empty or as they were, or only the
            workspace names the address of a model.
        WorldError: The endpoint, the budget or the disk stopped it; the new run can be resumed.
    """
    run = read_optimization(workspace, run_id)
    criteria = require_edit(run, criteria)
    start = run.after or run.before
    edited = run.before.edited(
        criteria=criteria,
        system=start.system,
        reply=start.reply,
        note=comment or f"a person's edit of run {run_id}",
    )
    edited = replace(edited, cases=start.cases)
    config = run.config.for_edit(edited.to_yaml())
    # To start a run is to name its models; these were named by whoever wrote the workspace.
    environment.require_named(*config.named_models, who="your edit")
    return start_run(workspace, config, environment, watch=watch, on_event=on_event, tell=tell)


def require_edit(run: RunSummary, criteria: str) -> str:
    """Return the criteria as a prompt has them.

    Raises:
        InputError: They are empty, or as they were.
    """
    # A browser sends the line ends of a form as CR LF, whatever the text had.
    criteria = criteria.replace("\r\n", "\n").strip()
    if not criteria:
        raise InputError("the criteria are empty; a judge needs some")
    if criteria == (run.after or run.before).criteria.strip():
        raise InputError("the criteria are as they were; there is nothing to try")
    return criteria


def _run(
    workspace: Workspace, run_id: str, prepared: PreparedRun, watch: Watch, on_event: OnEvent
) -> RunResult:
    stored, run = RunJournal(workspace.database, run_id), read_run(workspace, run_id, uncounted)
    config, environment = prepared.config, prepared.environment
    # Through batches and files a run is resumed many times, and what it printed is not printed
    # again.
    by_exchange = any(via != "live" for _, via in config.model_access) and not run.finished
    first_new = len(run.events) if by_exchange else 0
    again = f"judgewright runs resume {run_id}{environment.keyring().flags()}"
    try:
        with (
            run_session(workspace.database, run_id),
            open_run_clients(
                workspace,
                run_id,
                config,
                environment.for_run(config.model_settings),
                models=config.model_access,
            ) as clients,
        ):
            if config.reading is None and run.started is None:
                client = clients[config.optimizer_access]
                slices = config.saved_slices
                prepared = prepared.settled(
                    ask_reading(
                        config.objective_words, prepared.prompt, prepared.columns, client, slices
                    )
                )
                set_config(workspace.database, run_id, prepared.config.to_json())
            services = Services(
                judge_client=clients[config.model, config.via],
                optimizer_client=clients[config.optimizer_access],
                proposers=prepared.proposers,
                journal=_WatchedJournal(stored, on_event, first_new),
                ledger=HoldoutLedger(workspace.database),
                run_id=run_id,
                keep=partial(keep_banks, workspace),
                watch=watch,
            )
            reading = prepared.config.reading
            objective = run.objective if reading is None else Objective.from_json(reading)
            name = run.started.data if run.started else Path(config.data).name
            services.record(_started(prepared, name, objective, services))
            optimize(prepared.prompt, prepared.dataset, objective, services, prepared.settings)
            stats = tuple(client.stats for client in clients.values())
    except (Interrupted, KeyboardInterrupt):
        raise Interrupted(f"stopped; run {run_id} is kept", hint=again) from None
    except InputError:
        raise
    except DivergedError as error:
        anew = f"start anew with: {command_of(prepared.config, '--new')}"
        error.hint = f"{error.hint}; its calls are kept: {anew}"
        raise
    except JudgewrightError as error:
        go_on = f"go on with: {again}"
        error.hint = f"{error.hint}; {go_on}" if error.hint else go_on
        raise
    return RunResult(run=read_run(workspace, run_id), stats=stats)


def _started(prepared: PreparedRun, name: str, objective: Objective, services: Services) -> Started:
    prompt = prepared.prompt
    scale = verdict_scale(prompt.scale) if prepared.settings.decides else prompt.scale
    models = (services.judge_client.model, services.optimizer_client.model)
    return Started(
        judge=f"{prompt.name}@{prompt.version}",
        rule=(prepared.settings.rule or DecisionRule(threshold=scale.threshold)).version,
        data=name,
        data_hash=prepared.dataset.content_hash,
        rows=len(prepared.dataset),
        notes=tuple(prepared.dataset.notes),
        model=models[0].name,
        optimizer_model=models[1].name,
        screen_model=None,
        endpoints=tuple(model.endpoint for model in models),
        simulated=any(model.simulated for model in models),
        proposer=",".join(one.name for one in prepared.proposers),
        parts=editable_parts(prepared.proposers),
        candidates=1,
        unguided=prepared.settings.unguided,
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
    on_event: OnEvent
    first_new: int
    """The first event that is passed on."""

    def record(self, kind: str, payload: Mapping[str, Any]) -> Event:  # Any: JSON
        """Write, then pass it on."""
        event = self.journal.record(kind, payload)
        typed = read_event(event.kind, event.payload)
        if typed is not None and event.seq >= self.first_new:
            self.on_event(typed)
        return event

    def events(self) -> tuple[Event, ...]:
        """Every event so far."""
        return self.journal.events()
