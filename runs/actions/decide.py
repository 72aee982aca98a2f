"""One decision about two judges, entered in the ledger: prompts asked about a holdout, or verdicts
from files.

Asking the same question again spends no other look: it is answered by the decision that was made,
and a question that was cut off is gone on with.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from ...judges import (
    DEFAULT_SHARES,
    PROBABILITY_METRICS,
    ClientStats,
    Dataset,
    InputError,
    JudgedDataset,
    JudgePrompt,
    Verdict,
)
from ...optimize import Decision, Objective, decide
from ...optimize.events import DecisionRecord, GateAnswered, GateDecided, read_as, write_event
from ...optimize.holdout.gate import MIN_COVERAGE
from ...optimize.holdout.ledger import Look
from ...optimize.holdout.projection import MOST_TIMES
from ...optimize.holdout.row_fingerprints import RowFingerprints
from ...optimize.settings import require_probabilities
from ...slices import Predicate
from ..store.journal import RunJournal, create_run, list_runs, run_session
from ..store.ledger import HoldoutLedger
from ..store.sealed_rows import pair_of
from ..store.workspace import Workspace
from .run_summary import RunSummary, read_run, uncounted

GATED = GateAnswered.kind
"""The event that holds the answer."""
OF_HOLDOUT = DEFAULT_SHARES[2] / 100
"""Share of new rows that a split sends to the holdout."""
HUNKS = "hunks"
"""The kind of a run that decides about some hunks of another run's diff."""
_DECIDING = ("optimize", "gate", "recheck", "queue", HUNKS)
"""Kinds of runs in which the gate may have decided about a prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What better means, where, and what is let pass."""

    objective: Objective
    slice: Predicate | None = None
    """Rows that must not get worse; None for all rows, which the target already counts."""
    exclude: tuple[str, ...] = ()
    """Metadata columns whose values make no slices."""
    allow_opened: bool = False

    @classmethod
    def of_run(cls, run: RunSummary) -> Terms:
        """Return the question to the gate of a run."""
        config = run.config
        return cls(
            objective=run.objective,
            slice=run.slice.gated if run.slice else None,
            exclude=config.exclude,
            allow_opened=config.allow_opened,
        )

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the terms as they are kept with the question."""
        return {
            "objective": self.objective.to_json(),
            "slice": "" if self.slice is None else str(self.slice),
            "exclude": list(self.exclude),
            "allow_opened": self.allow_opened,
        }

    def require_fit(self, dataset: Dataset, *sides: JudgedDataset) -> None:
        """Make sure, before a look is spent, that every metric can be compared and that the slice
        has rows.

        Raises:
            InputError: One cannot, or it has none.
        """
        for side in sides:
            for metric in self.objective.metrics:
                side.only(()).compared(metric)
            require_probabilities(side, self.objective)
        if self.slice is not None and not self.slice.mask(dataset.rows).any():
            raise InputError(f"no row of the holdout lies in the slice {str(self.slice)!r}")


def needed(decision: DecisionRecord) -> dict[str, int] | None:
    """Say how many rows, in how many groups, an undecided question would take; None where no number
    of rows is known.

    Args:
        decision: The gate's. Decisions of versions that named no groups are read for their rows.
    """
    evidence = decision.evidence
    if evidence is None or not evidence.rows_needed or not evidence.target:
        return None
    rows, target = evidence.rows_needed, evidence.target
    if rows > MOST_TIMES * target["n"]:
        return None
    groups = evidence.groups_needed or math.ceil(rows * target["groups"] / target["n"])
    return {"rows": rows, "groups": groups}


def label_next(decision: DecisionRecord, *, share: float = 1.0) -> str:
    """Return the command that asks for as many labels as would decide; empty where no number of
    rows is known to.

    Args:
        decision: The gate's.
        share: Of new rows, what goes to the holdout.
    """
    more, evidence = needed(decision), decision.evidence
    if decision.outcome != "undecided" or more is None or evidence is None:
        return ""
    missing = max(more["rows"] - evidence.n, 1)
    return f"judgewright label --rows FILE --next {math.ceil(missing / share)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated:
    """The gate's answer to a question."""

    run_id: str
    answer: GateAnswered
    """The decision, and what it is about."""
    repeated: bool
    """Whether the same question was answered before, in this run."""
    stats: ClientStats | None = None

    @property
    def accepted(self) -> bool:
        """Whether the second judge may replace the first."""
        return self.answer.decision.accepted

    @property
    def outcome(self) -> str:
        """What was decided."""
        return self.answer.decision.outcome

    @property
    def needed(self) -> dict[str, int] | None:
        """See `needed`."""
        return needed(self.answer.decision)

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what `gate --json` prints."""
        stats = self.stats
        cost = stats.cost if stats and stats.price_known else None
        return {
            "run": self.run_id,
            **write_event(self.answer),
            "needed": self.needed,
            "repeated": self.repeated,
            "calls": stats.calls if stats else 0,
            "recorded": stats.recorded if stats else 0,
            "cost": cost,
        }


def gate_verdicts(
    workspace: Workspace,
    before: JudgedDataset,
    after: JudgedDataset,
    terms: Terms,
    *,
    known_as: tuple[str, ...] = (),
) -> Gated:
    """Decide between the verdicts of two judges on the same rows, as `pair_verdicts` returns them.

    Args:
        workspace: Whose ledger counts the look.
        known_as: Versions under which the figures of either may have been seen before, which are
            then no other judges.
    """
    dataset = before.dataset
    terms.require_fit(dataset, before, after)
    of_probabilities = not set(PROBABILITY_METRICS).isdisjoint(terms.objective.metrics)
    versions = [hash_verdicts(side, confidence=of_probabilities) for side in (before, after)]
    if versions[0] == versions[1]:
        raise InputError(
            f"{before.judge} and {after.judge} say the same of every row; there is nothing to"
            " decide"
        )
    question = {
        "holdout": dataset.content_hash,
        "before": versions[0],
        "after": versions[1],
        **terms.to_json(),
    }
    about = {
        "before": before.judge,
        "after": after.judge,
        "data": dataset.name,
        "rows": len(dataset),
    }
    about |= {"groups": count_groups(dataset), "notes": list(dataset.notes), **terms.to_json()}

    def answer(run_id: str) -> tuple[dict[str, Any], None]:
        ledger = HoldoutLedger(workspace.database)
        sealed = {dataset.content_hash: RowFingerprints.of(dataset)}
        ledger.remember(
            run_id, open=RowFingerprints(), sealed=sealed, allow_opened=terms.allow_opened
        )
        named = {"before": versions[0], "after": versions[1]}
        pair = pair_of(before, after, known_as)
        look = ledger.begin(
            dataset.content_hash, run_id=run_id, **named, known_as=known_as, pair=pair
        )
        inside = None if terms.slice is None else terms.slice.mask(dataset.rows)
        decision = decide(
            before,
            after,
            terms.objective,
            alpha=look.alpha,
            look=look.number,
            in_slice=inside,
            exclude=terms.exclude,
        )
        decision = with_cautions(decision, look)
        ledger.conclude(look, outcome=decision.outcome, reason=decision.reason)
        return {
            "model": None,
            "simulated": decision.simulated,
            "decision": decision.to_json(),
        }, None

    return answer_once(workspace, "gate", {"question": question, "model": ""}, about, answer)


def hash_verdicts(judged: JudgedDataset, *, confidence: bool = False) -> str:
    """Return the version of a judge that is known by its verdicts alone: what it says of each row.

    Args:
        judged: Its verdicts.
        confidence: Whether how sure it is of each counts too.
    """
    digest = hashlib.blake2b(digest_size=8)
    for one in judged.answers:
        verdict = (one.score, one.positive) if isinstance(one, Verdict) else None
        if confidence and isinstance(one, Verdict):
            verdict = (one.score, one.positive, one.confidence)
        digest.update(repr((one.row_id, verdict)).encode("utf-8", "surrogatepass"))
    return f"verdicts-{digest.hexdigest()}"


def with_cautions(decision: Decision, look: Look) -> Decision:
    """Say in the decision what the ledger knows against its holdout."""
    fresh = [caution for caution in look.cautions if caution not in decision.reason]
    return replace(decision, reason="; ".join([decision.reason, *fresh]))


def answer_once(
    workspace: Workspace,
    kind: str,
    config: Mapping[str, Any],  # Any: JSON
    about: Mapping[str, Any],  # Any: JSON
    answer: Callable[[str], tuple[dict[str, Any], ClientStats | None]],
) -> Gated:
    """Answer a question in a run of its own, or return the answer it had.

    An answer that too few rows were judged for is no answer: an endpoint that works again gets
    another look.

    Args:
        kind: The run's kind.
        config: What the run keeps; under `question` all that the answer depends on.
        about: What is told beside the answer.
        answer: Called with the run's id.
    """
    workspace.database.claim(f"question {hash_question(config['question'])}")
    known = list_runs(workspace.database, kind)
    last = next(
        (info for info in reversed(known) if info.config["question"] == config["question"]), None
    )
    events = RunJournal(workspace.database, last.run_id).events() if last else ()
    before = next(
        (read_as(GateAnswered, event.payload) for event in events if event.kind == GATED), None
    )
    evidence = before.decision.evidence if before else None
    if (
        last
        and before
        and evidence
        and min(evidence.coverage_before, evidence.coverage_after) >= MIN_COVERAGE
    ):
        return Gated(run_id=last.run_id, answer=before, repeated=True)
    run_id = last.run_id if last and not before else create_run(workspace.database, kind, config)
    with run_session(workspace.database, run_id):
        body, stats = answer(run_id)
        event = RunJournal(workspace.database, run_id).record(GATED, {**about, **body})
    return Gated(
        run_id=run_id, answer=read_as(GateAnswered, event.payload), repeated=False, stats=stats
    )


def hash_question(question: object) -> str:
    """Return a short name of a question, by which two processes that ask the same one wait for each
    other.
    """
    return hashlib.blake2b(json.dumps(question, sort_keys=True).encode(), digest_size=8).hexdigest()


def count_groups(dataset: Dataset) -> int:
    """Count the groups of a dataset; a row without one is its own."""
    return len({row.group_key for row in dataset.rows})


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedOn:
    """What the gate said of a version of a judge on one model."""

    model: str
    outcome: str
    simulated: bool
    run: str
    kind: str
    """`optimize`, `gate`, `recheck` or `hunks`."""
    reason: str


def decisions_about(workspace: Workspace, prompt: JudgePrompt) -> Iterator[GatedOn]:
    """Yield every decision of the gate about a version of a judge, oldest run first."""
    decided = (GateDecided.kind, GATED)
    for info in (
        list_runs(workspace.database, *_DECIDING, events=decided) if workspace.exists else ()
    ):
        run = read_run(workspace, info.run_id, uncounted)
        if info.kind == "optimize":
            version = run.best.version if run.best else None
            model, decision = run.started.model if run.started else None, run.decision
        else:
            question = (
                info.config["design"].get("question")
                if info.kind == "queue"
                else info.config["question"]
            )
            after = question["after"] if question else None
            version = (
                after["version"] if isinstance(after, dict) else None
            )  # a text is the version of mere verdicts
            model = run.answer.model if run.answer else None
            decision = run.answer.decision if run.answer else None
        if version == prompt.version and model and decision:
            yield GatedOn(
                model=model,
                outcome=decision.outcome,
                simulated=decision.evidence.simulated if decision.evidence else run.simulated,
                run=info.run_id,
                kind=info.kind,
                reason=decision.reason,
            )


def gated_on(workspace: Workspace, prompt: JudgePrompt) -> tuple[GatedOn, ...]:
    """Return the last decision about a version of a judge for each model it was gated on, in the
    order of models.
    """
    found = {one.model: one for one in decisions_about(workspace, prompt)}
    return tuple(found[model] for model in sorted(found))


def verification(
    workspace: Workspace, prompt: JudgePrompt, model: str | None = None
) -> dict[str, Any]:  # Any: JSON
    """Say on which models a version was accepted, and that it is unverified on any other.

    Args:
        model: The model it is to be used on, where that is known.

    Returns:
        `gated_on` (each model's last decision), `verified_on` (models that accepted it), `verified`
        (on `model`; None where no model was named) and `note`, a sentence for people.
    """
    found = gated_on(workspace, prompt)
    accepted = [one.model for one in found if one.outcome == "accepted"]
    name = f"{prompt.name}@{prompt.version}"
    on = ", ".join(
        f"{one.model} [SIMULATED]" if one.simulated else one.model
        for one in found
        if one.model in accepted
    )
    if not found:
        note = f"{name} was never gated: it is unverified on every model"
    elif model is not None and model not in accepted:
        said = next(
            (f"it was {one.outcome} there" for one in found if one.model == model),
            "it was not gated there",
        )
        note = f"{name} is unverified on {model}: {said}"
    elif accepted:
        note = f"{name} was accepted on {on}; it is unverified on any other model"
    else:
        note = f"{name} was gated on {', '.join(one.model for one in found)} and accepted on none"
    if accepted and (model is None or model not in accepted):
        note += f" (judgewright gate {name} --again --model {model or 'MODEL'})"
    return {
        "gated_on": [asdict(one) for one in found],
        "verified_on": accepted,
        "verified": None if model is None else model in accepted,
        "note": note,
    }


def provenance(workspace: Workspace, prompt: JudgePrompt) -> dict[str, object]:
    """Say which run found a version, on which model it was gated, and whether that was simulated.

    Of several runs it is the first that the gate accepted, or else the first; a version that was
    composed of hunks was found by the run that gated them.
    """
    gated = [one for one in decisions_about(workspace, prompt) if one.kind in ("optimize", HUNKS)]
    one = min(gated, key=lambda one: one.outcome != "accepted", default=None)
    if one is None:
        return {"run": None, "gated_on": None, "simulated": None, "outcome": "never gated"}
    return {
        "run": one.run,
        "gated_on": one.model,
        "simulated": one.simulated,
        "outcome": one.outcome,
        "reason": one.reason,
    }
