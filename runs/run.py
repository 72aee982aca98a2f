"""A run: one walk, kept. Start it, and resume it after whatever stopped it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ..judges import (
    ClientStats,
    Dataset,
    DecisionRule,
    InputError,
    Interrupted,
    JudgePrompt,
    JudgeSettings,
    JudgewrightError,
    Progress,
    Shares,
    load_dataset,
    load_prompt,
    parse_label_scale,
)
from ..judges.models import Budget
from ..optimize import (
    PARTS,
    Event,
    FewShot,
    Gepa,
    HumanEdit,
    Journal,
    Mipro,
    Objective,
    Outcome,
    Part,
    Proposer,
    Rewrite,
    TextGrad,
    Tools,
    WalkSettings,
    optimize,
    parse_loss,
    read_objective,
)
from ..optimize.walk import require_decision
from .calls import CallStore
from .config import Environment, open_client, parse_budget
from .journal import RunJournal, RunRecord, create_run, get_run, list_runs, set_config, sitting
from .ledger import HoldoutLedger
from .thrift import Thrift, thrift
from .workspace import Workspace

Watch = Callable[[str, Progress], None]
OnEvent = Callable[[str, Mapping[str, Any]], None]  # Any: JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """Everything a walk depends on but the answers; written when the run starts, read when it is resumed."""

    prompt: str
    """The judge's YAML."""
    rule: Mapping[str, Any] | None = None  # Any: JSON
    """The decision rule kept for the judge when the run started; it decides for every version in the run."""
    data: str
    data_hash: str = ""
    objective: str
    target: str | None = None
    guards: tuple[str, ...] = ()
    model: str = "simulated"
    optimizer_model: str | None = None
    """The judge's model unless given."""
    proposer: str = "textgrad"
    parts: tuple[str, ...] = ()
    """Parts of the prompt that TextGrad may change; the criteria unless given."""
    gradients: int = 1
    """Gradients of each part in one step of TextGrad."""
    step_calls: int | None = None
    """Calls that one step of fewshot, gepa or mipro may make; its own default unless given."""
    edit: str | None = None
    """The YAML of a person's edit."""
    loss: str | None = None
    """A person's loss, as JSON."""
    unguided: bool = False
    hunks: int = 0
    allow_opened: bool = False
    budget: str | None = None
    concurrency: int = 64
    label: str | None = None
    id_: str | None = None
    group: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    label_scale: str | None = None
    limit: int | None = None
    skip_incomplete: bool = False
    steps: int = 15
    batch: int = 8
    candidates: int = 1
    screen_model: str | None = None
    """A cheaper judge that looks at several candidates before they race."""
    slice: str = "auto"
    slice_columns: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    shares: Shares = (30, 20, 30, 20)
    by: str | None = None
    seed: int = 0
    max_tokens: int = 512

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> RunConfig:  # Any: JSON
        """Read what `to_json` wrote."""
        tuples = {
            name: tuple(body[name])
            for name in ("guards", "slice_columns", "exclude", "shares", "parts")
            if name in body
        }
        return cls(**{**body, **tuples})

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the configuration as JSON; it holds no key."""
        return asdict(self)

    @property
    def judge(self) -> JudgePrompt:
        """The prompt the run starts from."""
        return load_prompt(self.prompt, origin="the run's prompt")

    @property
    def decision_rule(self) -> DecisionRule | None:
        """The kept rule; None where the prompt's own threshold decides."""
        return None if self.rule is None else DecisionRule.from_json(self.rule)

    def settings(self) -> WalkSettings:
        """The walk's settings."""
        return WalkSettings(
            steps=min(self.steps, 1) if self.proposer == "human" else self.steps,
            loss=None if self.loss is None else parse_loss(self.loss, written_by="person"),
            unguided=self.unguided,
            hunks=self.hunks,
            allow_opened=self.allow_opened,
            batch=self.batch,
            candidates=self.candidates,
            slice=self.slice,
            columns=self.slice_columns,
            exclude=self.exclude,
            shares=self.shares,
            by=self.by,
            seed=self.seed,
            judge=JudgeSettings(max_tokens=self.max_tokens),
            rule=self.decision_rule,
        )

    def dataset(self) -> Dataset:
        """Read the rows, and make sure they are still the ones the run started with."""
        prompt = self.judge
        rows = load_dataset(
            Path(self.data),
            inputs=prompt.inputs,
            scale=prompt.scale,
            label=self.label,
            id=self.id_,
            group=self.group,
            columns=self.columns,
            label_scale=parse_label_scale(self.label_scale) if self.label_scale else None,
            limit=self.limit,
            skip_incomplete=self.skip_incomplete,
        )
        if self.data_hash and rows.content_hash != self.data_hash:
            raise InputError(f"{self.data} has changed since the run started", hint="start a new run on the new rows")
        return rows


def _open_textgrad(config: RunConfig) -> Proposer:
    parts: tuple[Part, ...] = tuple(part for part in PARTS if part in (config.parts or ("criteria",)))
    return TextGrad(parts=parts, gradients=config.gradients)


def _open_human(config: RunConfig) -> Proposer:
    return HumanEdit(edit=load_prompt(config.edit or "", origin="the edit"))


def _capped(proposer: FewShot | Gepa | Mipro, config: RunConfig) -> Proposer:
    return proposer if config.step_calls is None else replace(proposer, calls=config.step_calls)


PROPOSERS: Mapping[str, Callable[[RunConfig], Proposer]] = {
    "textgrad": _open_textgrad,
    "rewrite": lambda config: Rewrite(),
    "fewshot": lambda config: _capped(FewShot(), config),
    "gepa": lambda config: _capped(Gepa(), config),
    "mipro": lambda config: _capped(Mipro(), config),
    "human": _open_human,
}


def open_proposer(config: RunConfig) -> Proposer:
    """Return the proposer a run asks for.

    Raises:
        InputError: There is none of that name, or a setting does not belong to it.
    """
    if config.proposer not in PROPOSERS:
        raise InputError(f"proposer {config.proposer!r} is none of {', '.join(PROPOSERS)}")
    for given, name, owners in (
        (config.edit is not None, "--edit", ("human",)),
        (bool(config.parts) or config.gradients != 1, "--parts and --gradients", ("textgrad",)),
        (config.step_calls is not None, "--step-calls", ("fewshot", "gepa", "mipro")),
    ):
        if given and config.proposer not in owners:
            raise InputError(f"{name} belongs to --proposer {' or '.join(owners)}, not to {config.proposer}")
    if config.proposer == "human" and config.edit is None:
        raise InputError("--proposer human needs the edited prompt", hint="give its YAML file with --edit FILE")
    if unknown := sorted({*config.parts} - {*PARTS}):
        raise InputError(f"--parts {unknown[0]!r} is not a part that may change", hint=f"parts are {', '.join(PARTS)}")
    if config.screen_model is not None and config.candidates < 2:
        raise InputError("--screen-model looks at several candidates of a step; ask for them with --candidates")
    if config.proposer == "human" and config.candidates > 1:
        raise InputError("there is one edit: --candidates says nothing with --proposer human")
    if config.unguided and config.slice != "auto":
        raise InputError("--unguided works on all rows, so that --slice says nothing")
    if config.unguided and config.loss is not None:
        raise InputError("--unguided has a loss of its own, so that --loss says nothing")
    return PROPOSERS[config.proposer](config)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """How a walk ended, and what it took."""

    run_id: str
    outcome: Outcome
    """The prompts and the gate's decision."""
    events: tuple[Event, ...]
    stats: tuple[ClientStats, ...]
    """Of the judge's client, and of the optimizer's and the screening one's where they are other models."""
    thrift: Thrift

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what `optimize --json` prints."""
        found = {event.kind: dict(event.payload) for event in self.events}
        known = all(s.price_known for s in self.stats)
        return {
            "run": self.run_id,
            "simulated": found["benchmark"]["simulated"],
            "decision": found["decision"],
            "prompt": {
                "before": self.outcome.before.version,
                "after": self.outcome.after.version if self.outcome.after else None,
            },
            "slice": found["slice"]["name"],
            "loss": found["loss"]["expression"],
            "benchmark": found["benchmark"],
            "everything": found["everything"],
            "calls": sum(s.calls for s in self.stats),
            "recorded": sum(s.recorded for s in self.stats),
            "cost": sum(s.cost for s in self.stats) if known else None,
            "thrift": self.thrift.to_json(),
            "dropped": sorted({name for s in self.stats for name in s.dropped}),
        }


def start_run(
    workspace: Workspace, config: RunConfig, environment: Environment, *, watch: Watch, on_event: OnEvent
) -> RunResult:
    """Start a walk and follow it to its end, or to where it stops; `resume_run` goes on from there.

    Args:
        workspace: Where calls, events and looks are kept.
        config: What to do.
        environment: Base URL and keys.
        watch: Called while answers come in.
        on_event: Called with the kind and payload of each event, replayed ones included.

    Raises:
        InputError: The data or a name cannot be used; no run is made.
        WorldError: The endpoint, the budget or the disk stopped it; the run can be resumed.
    """
    require_decision(config.judge)
    dataset = config.dataset()
    config = replace(config, data=str(Path(config.data).resolve()), data_hash=dataset.content_hash)
    if kept := workspace.shelf.kept_rule(config.judge):
        config = replace(config, rule=kept.rule.to_json())
    read_objective(config.objective, target=config.target, guards=config.guards)
    open_proposer(config)
    require_same_split(workspace, config.data_hash, config.shares)
    run_id = create_run(workspace.database, "optimize", config.to_json())
    return _walk(workspace, run_id, config, dataset, environment, watch, on_event)


def require_same_split(workspace: Workspace, data_hash: str, shares: Shares) -> None:
    """Refuse another split of rows that were split before: it would put tuned rows into the holdout.

    Raises:
        InputError: A run has split the same rows otherwise, to optimize or to calibrate.
    """
    for info in list_runs(workspace.database):
        if info.kind in ("optimize", "calibrate") and info.config["data_hash"] == data_hash:
            before = tuple(info.config["shares"])
            if before != shares:
                shown = "/".join(f"{share:g}" for share in before)
                raise InputError(
                    f"run {info.run_id} split these rows {shown}; another split would put tuned rows into the holdout",
                    hint=f"use --split {shown}, or fresh rows",
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
    """Walk a run again from its start, past everything that is already recorded.

    Args:
        budget: A new budget for the whole run, what it has spent included; the old one unless given.
    """
    info = optimization(workspace, run_id)
    config = RunConfig.from_json(info.config)
    if budget is not None:
        config = replace(config, budget=budget)
        set_config(workspace.database, info.run_id, config.to_json())
    return _walk(workspace, info.run_id, config, config.dataset(), environment, watch, on_event)


def optimization(workspace: Workspace, run_id: str) -> RunRecord:
    """Return an optimization run by its id.

    Raises:
        InputError: There is none, or it is a run of another kind.
    """
    if not workspace.exists:
        raise InputError(f"there is no workspace at {workspace.root}", hint="give --workspace, or start a run here")
    info = get_run(workspace.database, run_id)
    if info.kind != "optimize":
        raise InputError(f"run {info.run_id!r} is a {info.kind}, not an optimization")
    return info


def _walk(
    workspace: Workspace,
    run_id: str,
    config: RunConfig,
    dataset: Dataset,
    environment: Environment,
    watch: Watch,
    on_event: OnEvent,
) -> RunResult:
    record = CallStore(workspace.database, run_id)
    allowance = parse_budget(config.budget)
    budget = Budget(money=allowance.money, tokens=allowance.tokens, spent=record.spending())
    journal = _Heard(RunJournal(workspace.database, run_id), on_event)
    objective = read_objective(config.objective, target=config.target, guards=config.guards)
    asking = {"record": record, "budget": budget, "concurrency": config.concurrency}
    try:
        with sitting(workspace.database, run_id), ExitStack() as open_clients:
            judge_client = open_clients.enter_context(open_client(config.model, environment, **asking))
            clients = {config.model: judge_client}
            writer = config.optimizer_model or config.model
            if writer not in clients:
                clients[writer] = open_clients.enter_context(open_client(writer, environment, **asking))
            screen = config.screen_model
            if screen is not None and screen not in clients:
                clients[screen] = open_clients.enter_context(open_client(screen, environment, **asking))
            tools = Tools(
                judge_client=judge_client,
                optimizer_client=clients[writer],
                proposer=open_proposer(config),
                screen_client=None if screen is None else clients[screen],
                journal=journal,
                ledger=HoldoutLedger(workspace.database),
                run_id=run_id,
                watch=watch,
            )
            journal.record("started", _started(config, dataset, objective, tools))
            outcome = optimize(config.judge, dataset, objective, tools, config.settings())
            stats = tuple(client.stats for client in clients.values())
    except (Interrupted, KeyboardInterrupt):
        raise Interrupted(f"stopped; run {run_id} is kept", hint=f"judgewright runs resume {run_id}") from None
    except InputError:
        raise
    except JudgewrightError as error:
        go_on = f"go on with: judgewright runs resume {run_id}"
        error.hint = f"{error.hint}; {go_on}" if error.hint else go_on
        raise
    return RunResult(
        run_id=run_id,
        outcome=outcome,
        events=journal.events(),
        stats=stats,
        thrift=thrift(journal.events(), record.summary()),
    )


def _started(config: RunConfig, dataset: Dataset, objective: Objective, tools: Tools) -> dict[str, Any]:  # Any: JSON
    prompt = config.judge
    screen = tools.screen_client
    models = [client.model for client in (tools.judge_client, tools.optimizer_client, screen) if client]
    return {
        "judge": f"{prompt.name}@{prompt.version}",
        "rule": (config.decision_rule or prompt.rule).version,
        "data": Path(config.data).name,
        "data_hash": dataset.content_hash,
        "rows": len(dataset),
        "notes": list(dataset.notes),
        "model": models[0].name,
        "optimizer_model": models[1].name,
        "screen_model": screen.model.name if screen else None,
        "endpoints": [model.endpoint for model in models],
        "simulated": any(model.simulated for model in models),
        "proposer": config.proposer,
        "parts": list(tools.proposer.parts),
        "candidates": config.candidates,
        "unguided": config.unguided,
        "objective": {
            "text": objective.text,
            "read_as": objective.describe(),
            "target": objective.target,
            "guards": [{"metric": guard.metric, "margin": guard.margin} for guard in objective.guards],
            "notes": list(objective.notes),
        },
    }


@dataclass(frozen=True, slots=True)
class _Heard:
    """A journal that tells a listener each event once it is written."""

    journal: Journal
    on_event: OnEvent

    def record(self, kind: str, payload: Mapping[str, Any]) -> Event:  # Any: JSON
        """Write, then tell."""
        event = self.journal.record(kind, payload)
        self.on_event(event.kind, event.payload)
        return event

    def events(self) -> tuple[Event, ...]:
        """Every event so far."""
        return self.journal.events()
