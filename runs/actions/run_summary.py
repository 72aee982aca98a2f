"""One run as its journal tells it; the page, the reports, the terminal and every action read runs
through this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from ...judges import (
    Client,
    Dataset,
    DecisionRule,
    InputError,
    JudgedDataset,
    JudgePrompt,
    Recorded,
    Splits,
)
from ...judges.cases import Encode
from ...judges.claims import judge_as
from ...judges.metrics.catalog import sign_of
from ...judges.models import ANSWERING, ModelSettings
from ...judges.models.embeddings import embed
from ...optimize import Event, Objective, open_rows
from ...optimize.events import (
    Benchmarked,
    BestCandidate,
    ChancesReckoned,
    DecisionRecord,
    GateAnswered,
    GateDecided,
    LossFrozen,
    Remeasured,
    Reviewed,
    RowsSplit,
    RunEvent,
    SearchStarted,
    SliceChosen,
    Started,
    StepTaken,
    ThresholdTuned,
    read_as,
)
from ...optimize.holdout.ledger import split_with_memory
from ...optimize.hunks import PromptDiff, split_hunks
from ..config.environment import SIMULATED, Environment, open_model, read_environment
from ..store.banks import banks_of
from ..store.calls import CallStore, CallSummary
from ..store.journal import RunJournal, RunRecord, get_run
from ..store.ledger import HoldoutLedger
from ..store.run_config import RunConfig
from ..store.workspace import Workspace

E = TypeVar("E", bound=RunEvent)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostSummary:
    """A run's calls and money, resumes included, for what it gained."""

    calls: int
    """Paid for by this run; what the workspace had already was free."""
    cost: float | None
    """US dollars; None where a price is unknown."""
    points: float | None
    """By how many points the target metric got better on the holdout; None where the gate did not
    accept.
    """

    @property
    def calls_per_point(self) -> float | None:
        """Calls for each accepted point."""
        return self.calls / self.points if self.points else None

    @property
    def cost_per_point(self) -> float | None:
        """Dollars for each accepted point."""
        return self.cost / self.points if self.points and self.cost is not None else None

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the figures by name."""
        return asdict(self) | {
            "calls_per_point": self.calls_per_point,
            "cost_per_point": self.cost_per_point,
        }


class _Last(Generic[E]):
    """The last event of a kind, as an attribute of a run; read once."""

    def __init__(self, cls: type[E]) -> None:
        self._cls = cls

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, run: RunSummary, owner: type) -> E | None:
        # An attribute of the object goes before one of its class: the next reading does not come
        # here.
        event = run.__dict__[self._name] = run.last(self._cls)
        return event


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """A run: its record, its events by kind, its calls. What it has not come to yet is None or
    empty.
    """

    record: RunRecord
    events: tuple[Event, ...]
    """As the journal has them."""
    calls: CallSummary
    """The run's calls, those of earlier sessions included."""
    banks: Path | None = None
    """See `banks_of`."""

    def _all(self, cls: type[E]) -> tuple[E, ...]:
        return tuple(read_as(cls, event.payload) for event in self.events if event.kind == cls.kind)

    def last(self, cls: type[E]) -> E | None:
        """Return the last event of a kind; None where there is none yet."""
        stored = [event for event in self.events if event.kind == cls.kind]
        return read_as(cls, stored[-1].payload) if stored else None

    def when(self, cls: type[RunEvent]) -> str:
        """Return when the last event of a kind was written; empty where there is none."""
        times = [event.created for event in self.events if event.kind == cls.kind]
        return times[-1] if times else ""

    @property
    def review_times(self) -> tuple[str, ...]:
        """When each of `reviews` was written."""
        return tuple(event.created for event in self.events if event.kind == Reviewed.kind)

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.record.run_id

    @cached_property
    def config(self) -> RunConfig:
        """What an optimization depends on."""
        return RunConfig.from_json(self.record.config, self.banks)

    @cached_property
    def objective(self) -> Objective:
        """The objective as it was read once; runs before version 0.3 have it in their first event
        alone.
        """
        if self.config.reading is not None:
            return Objective.from_json(self.config.reading)
        return (
            self.started.objective.objective()
            if self.started
            else self.config.objective_words.read(self.config.judge)
        )

    started = _Last(Started)
    """What was known before the first call."""
    split = _Last(RowsSplit)
    """How the rows were cut."""
    slice = _Last(SliceChosen)
    """The rows to improve on."""
    loss = _Last(LossFrozen)
    """The loss."""
    search_start = _Last(SearchStarted)
    """The first prompt on the validation rows."""
    best = _Last(BestCandidate)
    """What the search ended with."""
    threshold = _Last(ThresholdTuned)
    """What another threshold alone would give; of earlier runs the thresholds that were chosen
    after an accept.
    """
    chances = _Last(ChancesReckoned)
    """The chance of each finalist to be accepted."""
    closing = _Last(Remeasured)
    """The closing tables."""
    answer = _Last(GateAnswered)
    """The gate's answer, where the run is a question to it."""

    @cached_property
    def benchmark(self) -> Mapping[str, Any] | None:  # Any: JSON
        """The first prompt on the open rows, as `Benchmark.to_json` writes it."""
        event = self.last(Benchmarked)
        return None if event is None else event.benchmark

    @cached_property
    def steps(self) -> tuple[StepTaken, ...]:
        """The steps of the search."""
        return self._all(StepTaken)

    @cached_property
    def decision(self) -> DecisionRecord | None:
        """What the gate decided about the best candidate."""
        event = self.last(GateDecided)
        decision = None if event is None else event.decision
        if decision is None or decision.evidence is not None or self.after is not None:
            return decision
        # Earlier runs called it refused that there was no candidate, though no gate had looked.
        return (
            replace(decision, outcome="no candidate") if decision.outcome == "refused" else decision
        )

    @cached_property
    def reviews(self) -> tuple[Reviewed, ...]:
        """What people decided about the run, oldest first."""
        return self._all(Reviewed)

    @property
    def finished(self) -> bool:
        """Whether an optimization has come to its end."""
        return any(event.kind == Remeasured.kind for event in self.events)

    @property
    def only_measured(self) -> bool:
        """Whether no search was asked for: such a run ends with its benchmark, its slice and its
        loss.
        """
        return self.record.kind == "optimize" and self.record.config.get("steps") == 0

    @cached_property
    def before(self) -> JudgePrompt:
        """The prompt that the run began with."""
        return self.config.judge

    @cached_property
    def after(self) -> JudgePrompt | None:
        """The best candidate; None where the search found none, or none has been chosen yet."""
        best = None if self.best is None else self.best.judge(self.banks)
        return None if best is None else best.hiding(self.config.hidden_cases)

    @property
    def words_differ(self) -> bool:
        """Whether the best candidate is another text, and not the first prompt with a threshold of
        its own.
        """
        return self.after is not None and self.after.version != self.before.version

    @property
    def new_rule(self) -> DecisionRule | None:
        """The rule of its own that decides for the best candidate; None where the run's rule
        does.
        """
        return (
            None
            if self.best is None or self.best.rule is None
            else DecisionRule.from_json(self.best.rule)
        )

    @property
    def decided(self) -> DecisionRecord:
        """The gate's decision.

        Raises:
            InputError: There is none yet.
        """
        if self.decision is None:
            raise InputError(
                f"run {self.run_id!r} has no decision yet",
                hint=f"judgewright runs resume {self.run_id}",
            )
        return self.decision

    @property
    def unguided(self) -> bool:
        """Whether no slice was chosen, so that errors are read anywhere."""
        return self.slice is not None and self.slice.predicate is None

    @property
    def simulated(self) -> bool:
        """Whether a simulated model answered anything here, as far as the run says."""
        models = (self.record.config.get(name) for name in ("model", "optimizer_model"))
        if any(str(model).startswith("simulated") for model in models):
            return True
        return any(event.payload.get("simulated") is True for event in self.events)

    @property
    def cost(self) -> CostSummary:
        """What the run spent for what it gained."""
        points = None
        if self.decision is not None and self.decision.accepted:
            evidence = self.decision.evidence
            if evidence is not None and evidence.target is not None:
                points = 100 * sign_of(evidence.target["metric"]) * evidence.target["difference"]
        return CostSummary(
            calls=self.calls.done,
            cost=self.calls.known_cost,
            points=points,
        )

    def diff(self) -> PromptDiff | None:
        """Split the diff into hunks; None where there is no new prompt.

        Raises:
            PromptError: The two prompts cannot be taken in parts.
        """
        return None if self.after is None else split_hunks(self.before, self.after)

    def require_optimization(self) -> None:
        """Make sure that it is a run of `optimize`.

        Raises:
            InputError: It is of another kind.
        """
        if self.record.kind != "optimize":
            raise InputError(f"run {self.run_id!r} is a {self.record.kind}, not an optimization")

    def require_unreviewed(self) -> None:
        """Make sure that the run has finished and that nobody has decided about it.

        Raises:
            InputError: It has not, or somebody has.
        """
        if not self.finished:
            raise InputError(
                f"run {self.run_id!r} has not finished",
                hint=f"judgewright runs resume {self.run_id}",
            )
        if self.reviews:
            last = self.reviews[-1]
            raise InputError(f"run {self.run_id!r} was already {last.verb} by {last.who}")


def read_run(
    workspace: Workspace, run_id: str, count_calls: Callable[[RunRecord], CallSummary] | None = None
) -> RunSummary:
    """Read a run of any kind.

    Args:
        count_calls: Counts its calls, for whoever keeps the counts of ended runs. Default: the
            workspace does.

    Raises:
        InputError: There is no such run.
        WorkspaceError: Its journal was edited, or cannot be read.
    """
    workspace.require()
    record = get_run(workspace.database, run_id)
    return RunSummary(
        record=record,
        events=RunJournal(workspace.database, record.run_id).events(),
        calls=(
            count_calls(record)
            if count_calls
            else CallStore(workspace.database, record.run_id).summary()
        ),
        banks=banks_of(workspace),
    )


def uncounted(_: RunRecord) -> CallSummary:
    """Count no calls, for `read_run` of whoever shows none: that takes a while where there are
    many.
    """
    return CallSummary()


def read_optimization(workspace: Workspace, run_id: str) -> RunSummary:
    """Read a run of `optimize`.

    Raises:
        InputError: There is no such run, or it is of another kind.
        WorkspaceError: See `read_run`.
    """
    run = read_run(workspace, run_id)
    run.require_optimization()
    return run


def require_same_models(run: RunSummary, environment: Environment) -> None:
    """Check that the names of a run's models still mean the models it asked.

    Raises:
        InputError: One of them means another model, or another address.
    """
    if run.started is None:
        return
    config, started = run.config, run.started
    names = (config.model, config.optimizer_model or config.model)
    models = (started.model, started.optimizer_model)
    # Runs of earlier versions could have a third model, which screened candidates.
    for name, model, endpoint in zip(names, models, started.endpoints, strict=False):
        if name == SIMULATED:
            continue
        named = environment.model(name)
        if (named.model, named.base_url) != (model, endpoint):
            raise InputError(
                f"run {run.run_id} asked {model} at {endpoint}; {name!r} now means {named.model} at"
                f" {named.base_url}",
                hint="change it back in your models.yaml or OPENAI_BASE_URL, or start a new run",
            )


def changed_settings(run: RunSummary, environment: Environment) -> tuple[str, ...]:
    """Say which settings of a run's models are others now; the run goes on with its own."""
    notes: list[str] = []
    for name in run.config.named_models:
        before = (run.config.model_settings or {}).get(name, {})
        now = environment.settings(name).answering()
        names = [field for field in ANSWERING if before.get(field) != now.get(field)]
        if names:
            notes.append(
                f"{', '.join(names)} of the model {name!r} changed since the run started, which"
                " goes on as it began; a new run would ask anew with the new settings"
            )
    return tuple(notes)


def split_of_run(workspace: Workspace, run: RunSummary) -> Splits:
    """Split a run's rows again as the run split them, wherever later runs have put some of them.

    Raises:
        InputError: The rows have changed.
    """
    config, ledger = run.config, HoldoutLedger(workspace.database)
    # Where no groups were merged, looking for near duplicates would find none and take most of the
    # time.
    merged = run.split is None or run.split.merged > 0
    return split_with_memory(
        ledger.history(), run.run_id, config.dataset(), config.shares, near_duplicates=merged
    )


def sealed_split(workspace: Workspace, run: RunSummary) -> Splits:
    """Split a run's rows as `split_of_run`, and make sure that the same rows are sealed.

    Raises:
        InputError: The run has not split its rows yet, the rows have changed, or other rows would
            be sealed than were then; no row is to be shown.
    """
    if run.split is None:
        raise InputError(f"run {run.run_id!r} has not begun; resume it first")
    parts = split_of_run(workspace, run)
    if {
        "holdout": parts.holdout.content_hash,
        "final": parts.final.content_hash,
    } != run.split.seals:
        raise InputError(
            f"{run.config.data} is not split as it was when the run started", hint="start a new run"
        )
    return parts


def recorded_verdicts(
    workspace: Workspace, run: RunSummary, prompt: JudgePrompt, rows: Dataset
) -> JudgedDataset:
    """Return a prompt's verdicts on open rows of a run, from cached answers; no model is called.

    Raises:
        ModelError: An answer is not in the record.
    """
    assert run.started is not None
    settings = run.config.settings()
    started = run.started
    model = Recorded(name=started.model, endpoint=started.endpoints[0], simulated=started.simulated)
    answering = (run.config.model_settings or {}).get(run.config.model, {})
    with recorded_client(workspace, run.run_id, model, answering) as client:
        return judge_as(
            prompt, rows, client, settings.claims, settings=settings.judge, rule=settings.rule
        )


def recorded_client(
    workspace: Workspace,
    run_id: str,
    model: Recorded,
    answering: Mapping[str, Any],  # Any: JSON
) -> Client:
    """Return a client of a run's recorded answers; the models of decided cases and of a cascade it
    opens are those that this user's names mean.
    """
    record = CallStore(workspace.database, run_id)

    def opener(name: str, *, embeddings: bool = False) -> Client:
        environment = read_environment().in_workspace(workspace.root)
        model = open_model(name, environment, embeddings=embeddings)
        recorded = Recorded(name=model.name, endpoint=model.endpoint, simulated=model.simulated)
        return Client(recorded, settings=environment.settings(name), record=record)

    def encoder(name: str) -> Encode:
        return partial(embed, opener(name, embeddings=True))

    settings = ModelSettings().answering_as(answering)
    return Client(model, settings=settings, record=record, encoder=encoder, opener=opener)


def baseline(workspace: Workspace, run: RunSummary) -> JudgedDataset:
    """Return a run's benchmark rows with their recorded verdicts; no model is called.

    Raises:
        InputError: See `sealed_split`.
        ModelError: The run stopped before its benchmark was complete.
    """
    return recorded_verdicts(workspace, run, run.before, open_rows(sealed_split(workspace, run)))
