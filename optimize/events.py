"""What a run writes to its journal: one class for each kind of event, one reader and one writer.

A journal stores an event as its kind and a JSON object. A field whose default is None is left out
where it is None, and a field of a class below holds its objects. Where a class has another name for
a field than the journal, or the journal had another one (`was`), the field's metadata says so. A
field that came later says in which format it came and what its absence means, so that runs of
earlier versions are read like those of today.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..judges import JudgePrompt, load_prompt
from .event_fields import read_fields, write_fields
from .invariants import Violation
from .losses.objective import ERRORS, Direction, Floor, Guard, Objective
from .outcome import JUDGED
from .run_event import FORMAT, Json, JudgeMeasured, RunEvent

if TYPE_CHECKING:
    from ..slices import Predicate

E = TypeVar("E", bound="RunEvent")

_REST: Mapping[str, Any] = {"rest": True}
"""Metadata of a field that holds every entry of the payload that no other field is named after."""
_FLAT: Mapping[str, Any] = {"flat": True}
"""Metadata of a field whose own fields stand among those of the payload."""
_LATER: Mapping[str, Any] = {"since": 2, "earlier": None}
"""Metadata of a field that format 1 does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedObjective:
    """What a run, or a question to the gate, was to improve and to guard."""

    text: str
    read_as: str
    target: str
    guards: tuple[Guard, ...]
    notes: tuple[str, ...]
    direction: str | None = None
    """Kept with a question to the gate."""
    floors: tuple[Floor, ...] | None = None
    slice: str | None = None

    def objective(self) -> Objective:
        """Return it as it was read, in whichever version."""
        direction: Direction | None = None
        for errors, words in ERRORS.items():
            if self.direction == errors or f"by making fewer {words}" in self.read_as:
                direction = errors
        return Objective(
            text=self.text,
            target=self.target,
            direction=direction,
            guards=self.guards,
            floors=self.floors or (),
            slice=self.slice,
            notes=self.notes,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Started(RunEvent):
    """The run began: what is known before its first call."""

    kind = "started"
    judge: str
    rule: str
    data: str
    data_hash: str
    rows: int
    notes: tuple[str, ...]
    model: str
    optimizer_model: str
    screen_model: str | None
    """None in runs of today; earlier ones could have a cheaper judge look first."""
    endpoints: tuple[str, ...]
    simulated: bool
    proposer: str
    parts: tuple[str, ...]
    candidates: int
    unguided: bool
    objective: StatedObjective


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsSplit(RunEvent):
    """The rows were cut into training, validation, holdout and final."""

    kind = "split"
    rows: Mapping[str, int]
    """How many rows each part has."""
    merged: int
    """Groups that were merged as they share near duplicates."""
    seals: Mapping[str, str]
    """Content hashes of the sealed parts, `holdout` and `final`."""
    notes: tuple[str, ...]
    next_look: Json | None = field(default=None, metadata={"stored": "volatile"})
    """The number of the gate's look and its alpha, as the ledger counted them when the rows were
    split.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmarked(RunEvent):
    """The judge was measured as it is, on the open rows."""

    kind = "benchmark"
    benchmark: Json = field(metadata=_REST)
    """As `Benchmark.to_json` writes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceChosen(RunEvent):
    """The rows to improve on were chosen."""

    kind = "slice"
    name: str
    """The predicate as text, or `ALL_ROWS`."""
    why: str
    slices: tuple[Json, ...] = field(metadata={"stored": "found"})
    """Each slice that the search found, as `FoundSlice.to_json` writes it, with `why_no_target`."""
    metric: str | None = None
    judge_outputs: tuple[Json, ...] | None = None
    skipped_columns: Mapping[str, str] | None = field(default=None, metadata={"stored": "left_out"})
    """Columns that were not searched, each with the reason."""
    notes: tuple[str, ...] | None = None
    evidence: str | None = field(default=None, metadata={"was": "standing"})
    """How sure the chosen slice is; None where none was searched for or found, and in older runs.
    """

    @property
    def predicate(self) -> Predicate | None:
        """The chosen rows; None for all."""
        from ..slices.slice import ALL_ROWS, parse_predicate

        return None if self.name == ALL_ROWS else parse_predicate(self.name)

    @property
    def gated(self) -> Predicate | None:
        """The rows that must not get worse; None for all, and for a slice that is untested."""
        from ..slices.slice import UNTESTED

        return None if self.evidence == UNTESTED else self.predicate


@dataclass(frozen=True, slots=True, kw_only=True)
class LossFrozen(RunEvent):
    """The loss was written and checked; from here on it does not change."""

    kind = "loss"
    expression: str
    declares: Mapping[str, bool]
    reason: str
    written_by: str
    version: str
    refusals: tuple[str, ...]
    cost_table: tuple[Json, ...]
    slices: Mapping[str, str] | None = None
    """The saved slices that it names, with their predicates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchStarted(RunEvent):
    """The first prompt was measured on the rows that new ones are judged on: the loss to beat."""

    kind = "validation"
    version: str
    loss: float
    metrics: Mapping[str, float | None] = field(metadata=_REST)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalRecord:
    """A proposal and what became of it; what it did not come to is None."""

    result: str = field(metadata={"since": 2, "earlier": "not tried"})
    gradient: str | None = None
    version: str | None = None
    criteria: str | None = None
    note: str | None = None
    reason: str | None = None
    """Why there is no proposal."""
    violations: tuple[Violation, ...] | None = None
    role: str | None = None
    parent: str | None = None
    """Version of the prompt that it was made from; None for the step's current one."""
    validation_rows: int | None = None
    """How many it was judged on: rows that it was not written from; validation rows in runs of
    earlier versions."""
    tried: Json | None = None
    """What it did on training rows, in runs of earlier versions."""
    loss: float | None = None
    """On these rows."""
    metrics: Mapping[str, float | None] = field(default_factory=dict, metadata=_REST)

    @property
    def kept(self) -> bool:
        """Whether the search went on from this proposal; earlier runs dropped some that they
        judged.
        """
        return self.result in ("kept", JUDGED)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTaken(RunEvent):
    """One step of the search."""

    kind = "step"
    step: int
    """From 1."""
    rows: tuple[str, ...]
    """Ids of the rows that the brief was written from."""
    batch_loss: float
    arm: str | None = None
    """Who writes; None in runs of earlier versions, which had one proposer."""
    fold: int | None = None
    """From 1; None where all open rows are written from."""
    quoted: tuple[str, ...] | None = None
    """Ids of the training rows that the brief showed, in runs of earlier versions."""
    proposal: ProposalRecord = field(metadata=_FLAT)
    """The one that came farthest."""
    others: tuple[ProposalRecord, ...] | None = None
    """Further ones of a step, in runs of earlier versions; so are the races below."""
    trial: Json | None = None
    race: Json | None = None
    volatile: Json | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChancesReckoned(RunEvent):
    """The chance of each arm to be accepted, and whether the best of them goes to the gate."""

    kind = "chance"
    metric: str
    """The target."""
    chosen: int | None
    """Place in `candidates`, from 0; None where none is better than the prompt in use."""
    accepted: float
    """Its chance."""
    least: float
    """The chance from which on a look is spent."""
    sent: bool
    alpha: float
    """What the look may spend."""
    holdout_rows: int
    holdout_groups: int
    rows: int
    """Open rows that prompts were judged on which had not seen their labels."""
    training_rows: int
    """Those of them that were training rows, in runs of earlier versions."""
    tried: int
    """Candidates that the best was chosen among, as far as they differ."""
    candidates: tuple[Json, ...]
    """Each: `version` (None where it is yet to be written from all rows), its own `rule` or None,
    the fields of `Chance`, and in runs of today `arm` and `steps`."""
    folds: int | None = None
    writing: Mapping[str, float] | None = None
    """By metric, the standard deviation between two writings of the chosen arm."""
    own: Json | None = None
    """The fields of `Chance` for the prompt that was written from all open rows."""
    optimism: Mapping[str, float] | None = None
    """By metric, by how much more the arm's prompts change the rows that they were written from."""

    @property
    def estimate(self) -> Json:
        """The fields of `Chance` for what went to the gate."""
        return self.candidates[self.chosen or 0] if self.own is None else self.own


@dataclass(frozen=True, slots=True, kw_only=True)
class BestCandidate(RunEvent):
    """The search ended with this prompt; with none where there is nothing to send to the gate."""

    kind = "survivor"
    version: str | None
    prompt: str | None
    """As YAML."""
    rule: Json | None = None
    """A rule of its own that decides for it, as `DecisionRule.to_json` writes it, with its version.
    """

    def judge(self, banks: Path | None) -> JudgePrompt | None:
        """Return the prompt, read; large banks of cases are in a folder of their own."""
        if not self.prompt:
            return None
        return load_prompt(self.prompt, origin="the journal", folder=banks)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardRecord:
    """What became of one guard; see `GuardResult`."""

    metric: str
    margin: float
    change: Json | None
    low: float | None
    state: str
    p: float | None = field(metadata=_LATER)
    worst_low: float | None = field(metadata=_LATER)
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FloorRecord:
    """What became of one floor; see `FloorResult`."""

    metric: str
    floor: float
    value: float | None
    low: float | None
    state: str
    worst_low: float | None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a decision of the gate rests on; see `Decision`. Changes are as `Change` has them."""

    target: Json | None
    guards: tuple[GuardRecord, ...]
    slice_change: Json | None
    alpha: float
    look: int
    n: int
    coverage_before: float
    coverage_after: float
    worst_case: tuple[float, float] | None
    rows_needed: int | None
    simulated: bool
    veto: str | None
    groups_needed: int | None = field(metadata=_LATER)
    target_worst: Json | None = field(metadata=_LATER)
    unanswered: int = field(metadata={"since": 2, "earlier": 0})
    asked_again: tuple[Json, ...] = field(metadata={"since": 2, "earlier": ()})
    floors: tuple[FloorRecord, ...] | None = None
    equal_gain: Json | None = None
    estimated: Mapping[str, Json] | None = field(default=None, metadata={"was": "believed"})
    """By metric, the `change` that was estimated from the open rows before the look, with its
    `error`.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRecord:
    """A decision of the gate."""

    accepted: bool
    outcome: str
    reason: str
    evidence: Evidence | None = field(default=None, metadata=_FLAT)
    """None where there was no candidate to decide about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateDecided(RunEvent):
    """The gate decided about the best candidate, on the holdout."""

    kind = "decision"
    decision: DecisionRecord = field(metadata=_FLAT)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdTuned(RunEvent):
    """What another threshold alone would give; where none can be chosen, `reason` alone says why.

    Earlier runs wrote it after an accept, about both prompts; then there are `after` and `at_old`.
    """

    kind = "threshold"
    reason: str | None = None
    metric: str | None = None
    n: int | None = None
    simulated: bool | None = None
    rules: Mapping[str, Json] | None = None
    """`old` and `before`, the one in force and the best one, as `DecisionRule.to_json` writes them,
    with versions.
    """
    at_old: Mapping[str, Json | None] | None = None
    retuned: Mapping[str, Json | None] | None = None
    """The change of each metric of the objective, cross-fitted."""
    notes: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSide:
    """One prompt measured at the end of a run; tables as `Benchmark.to_json` writes them."""

    pooled: Json
    by: Mapping[str, Json]
    """By the values of a column."""
    final: Json | None = None
    """On the final rows, where they were opened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remeasured(RunEvent):
    """The closing tables: all rows after an accept, else the open rows."""

    kind = "everything"
    by: str | None
    """The column whose values have a line of their own."""
    final_opened: int
    """How often these final rows have been opened by now."""
    includes_tuned_rows: bool
    # Formerly every run with a new prompt opened the sealed rows, whatever the gate had said.
    includes_sealed_rows: bool = field(
        metadata={"since": 2, "earlier": lambda payload: "after" in payload}
    )
    before: MeasuredSide
    after: MeasuredSide | None = None
    final_change: Json | None = None
    final_note: str | None = None
    """Which final rows a bank of decided cases took out."""

    @property
    def sides(self) -> Mapping[str, MeasuredSide]:
        """`before`, and `after` where there is a new prompt."""
        return (
            {"before": self.before}
            if self.after is None
            else {"before": self.before, "after": self.after}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed(RunEvent):
    """A person accepted or rejected what the run found."""

    kind = "decided"
    verb: str
    """`accepted` or `rejected`."""
    who: str
    comment: str
    version: str | None
    prompt: str | None
    """The exact text that was decided about, as YAML."""
    hunks: tuple[int, ...] | None = None
    """Numbers of the hunks that were taken, where not all were."""
    of: int | None = None
    """How many hunks there are."""
    gated: str | None = None
    """The run in which the gate decided about these hunks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HunksRefused(RunEvent):
    """The prompt composed of some hunks breaks what a candidate must leave as it is."""

    kind = "refused"
    hunks: tuple[int, ...]
    version: str
    violations: tuple[Violation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateAnswered(RunEvent):
    """The gate answered a question about two judges, in a run of its own."""

    kind = "gated"
    before: str
    after: str
    data: str
    rows: int
    groups: int
    notes: tuple[str, ...]
    objective: StatedObjective
    slice: str
    """A predicate; empty for all rows."""
    exclude: tuple[str, ...]
    allow_opened: bool
    model: str | None
    """None where verdicts were read from files."""
    simulated: bool
    decision: DecisionRecord
    rechecks: str | None = None
    """The run whose decision was made again on another model."""
    gated_on: str | None = None
    """The model of that run."""
    of: str | None = None
    """The run whose hunks were composed."""
    hunks: tuple[int, ...] | None = None
    flips: Json | None = None
    """Where labels of flips decided: the evidence, as `FlipDecision.to_json` writes it."""


KINDS: Mapping[str, type[RunEvent]] = {
    event.kind: event
    for event in (
        *(Started, RowsSplit, Benchmarked, SliceChosen, LossFrozen, SearchStarted, StepTaken),
        *(ChancesReckoned, BestCandidate, GateDecided, ThresholdTuned, Remeasured, Reviewed),
        *(HunksRefused, GateAnswered, JudgeMeasured),
    )
}


def read_event(kind: str, payload: Json) -> RunEvent | None:
    """Read an event as a journal has it; None for a kind that no run writes any more.

    Raises:
        WorkspaceError: A field is missing that every version has written.
    """
    return read_as(KINDS[kind], payload) if kind in KINDS else None


def read_as(cls: type[E], payload: Json) -> E:
    """Read a payload as an event of one kind.

    Raises:
        WorkspaceError: See `read_event`.
    """
    values, missing = read_fields(cls, payload)
    return cls(**values, format=min(missing, default=FORMAT + 1) - 1)


def write_part(part: DecisionRecord) -> dict[str, Any]:  # Any: JSON
    """Return a decision as the journal has it."""
    return write_fields(part, FORMAT)
