"""One decision about two judges, entered in the ledger.

Asking the same question again spends no other look: it is answered by the decision that was made,
and a question that was cut off is gone on with.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ...judges import (
    VERDICT_LIMIT,
    BudgetSpent,
    Client,
    ClientStats,
    Dataset,
    DecisionRule,
    InputError,
    JudgedDataset,
    JudgePrompt,
    JudgeSettings,
    SealedRows,
)
from ...judges.claims import ClaimSettings, judge_as
from ...judges.judge import require_answers
from ...judges.models import Watch, unwatched
from ...optimize import Decision, Objective, gate
from ...optimize.events import GateAnswered, read_as
from ...optimize.holdout.gate import MIN_COVERAGE
from ...optimize.run_event import write_event
from ...optimize.settings import require_probabilities
from ...slices import Predicate, parse_predicate
from ..config.command_options import ModelOptions
from ..config.environment import Environment
from ..store.journal import RunJournal, RunRecord, create_run, list_runs, run_session
from ..store.ledger import HoldoutLedger
from ..store.run_clients import open_run_clients
from ..store.run_config import RunConfig
from ..store.workspace import Workspace
from .labels_needed import needed
from .run_summary import RunSummary

GATED = GateAnswered.kind
"""The event that holds the answer."""
HUNKS = "hunks"
"""The kind of a run that decides about some hunks of another run's diff."""


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

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Terms:  # Any: JSON
        """Read what `to_json` wrote, with what was opened since left out."""
        return cls(
            objective=replace(Objective.from_json(body["objective"]), notes=()),
            slice=parse_predicate(body["slice"]) if body["slice"] else None,
            exclude=tuple(body["exclude"]),
        )

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the terms as they are kept with the question."""
        return {
            "objective": self.objective.to_json(),
            "slice": "" if self.slice is None else str(self.slice),
            "exclude": list(self.exclude),
            "allow_opened": self.allow_opened,
        }

    def about(
        self, before: str, after: str, data: str, rows: SealedRows | Dataset, notes: Sequence[str]
    ) -> dict[str, Any]:  # Any: JSON
        """Return what is shown beside a decision on these terms."""
        groups = rows.groups if isinstance(rows, SealedRows) else count_groups(rows)
        sides = {"before": before, "after": after, "data": data}
        return sides | {"rows": len(rows), "groups": groups, "notes": list(notes), **self.to_json()}

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


@dataclass(frozen=True, slots=True, kw_only=True)
class GateModel:
    """The model that judges, and who is told how far it has come."""

    options: ModelOptions
    environment: Environment
    watch: Watch = unwatched
    same_budget: tuple[str, ...] = ()
    """Other runs whose calls the budget covers as well."""
    confidence: Literal["ask", "tok"] = "ask"
    """Where confidences come from."""
    claims: ClaimSettings | None = None
    """How responses are split into claims; None where each is judged whole."""

    def judging_as(self, config: RunConfig) -> GateModel:
        """Return the same, judging rows in the way of a run: whole or by claim, with its
        confidence.
        """
        return replace(self, confidence=config.confidence, claims=config.claims)

    def question(self) -> dict[str, Any]:  # Any: JSON
        """Return what may change an answer, as it identifies a question that was answered
        before.
        """
        question: dict[str, Any] = {
            "model": self.options.model,
            "max_tokens": self.options.max_tokens or VERDICT_LIMIT,
        }
        if settings := self.environment.settings(self.options.model).answering():
            question["settings"] = settings
        if self.confidence != "ask" or self.claims is not None:
            question["judging"] = {
                "confidence": self.confidence,
                "claims": self.claims and asdict(self.claims),
            }
        return question


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
        return {
            "run": self.run_id,
            **write_event(self.answer),
            "needed": self.needed,
            "repeated": self.repeated,
            **spent(self.stats),
        }


def spent(stats: ClientStats | None) -> dict[str, Any]:  # Any: JSON
    """Return calls, cached answers and dollars; of an answer that asked nothing there are none."""
    return {
        "calls": stats.calls if stats else 0,
        "recorded": stats.recorded if stats else 0,
        "cost": stats.cost if stats and stats.price_known else None,
    }


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
        config: What the run keeps; under `question` all that the answer depends on.
        answer: Called with the run's id.
    """
    workspace.database.claim(f"question {hash_question(config['question'])}")
    earlier_runs = list_runs(workspace.database, kind)
    last = next(
        (info for info in reversed(earlier_runs) if info.config["question"] == config["question"]),
        None,
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


def asked_version(run: RunRecord) -> str | None:
    """Return the version of the second judge that a question to the gate is about; None where it is
    about mere verdicts.
    """
    question: Mapping[str, Any] = run.config.get("design", run.config).get("question") or {}
    after: Mapping[str, str] | str | None = question.get("after")
    return None if after is None or isinstance(after, str) else after["version"]


def hash_question(question: object) -> str:
    """Return a short name of a question, by which two processes that ask the same one wait for each
    other.
    """
    return hashlib.blake2b(json.dumps(question, sort_keys=True).encode(), digest_size=8).hexdigest()


def count_groups(dataset: Dataset) -> int:
    """Count the groups of a dataset; a row without one is its own."""
    return len({row.group_key for row in dataset.rows})


@dataclass(frozen=True, slots=True, kw_only=True)
class Duel:
    """Two prompts, and the sealed rows on which the gate decides between them."""

    before: JudgePrompt
    after: JudgePrompt
    holdout: SealedRows
    terms: Terms
    rules: Mapping[str, DecisionRule]
    """What decides for a prompt, by its version; its own threshold where there is none."""
    data: str
    """The name of the file that the rows come from."""
    purpose: str = "gate"
    """For `recheck` the look is on the model's own line."""

    @classmethod
    def of_run(cls, run: RunSummary, after: JudgePrompt, holdout: SealedRows) -> Duel:
        """Return the question whether a prompt may replace the one that a run began with, on the
        run's terms.
        """
        config, rule = run.config, run.config.decision_rule
        versions = (run.before.version, after.version)
        return cls(
            before=run.before,
            after=after,
            holdout=holdout,
            terms=Terms.of_run(run),
            rules={} if rule is None else dict.fromkeys(versions, rule),
            data=Path(config.data).name,
        )

    def about(self, notes: Sequence[str]) -> dict[str, Any]:  # Any: JSON
        """Return what is shown beside the decision."""
        names = (named(self.before), named(self.after))
        return self.terms.about(*names, self.data, self.holdout, notes)

    def decide(
        self, workspace: Workspace, run_id: str, model: GateModel
    ) -> tuple[dict[str, Any], ClientStats]:  # Any: JSON
        """Put both through the gate, asked of one model."""
        predicate, options = self.terms.slice, model.options
        with open_run_clients(
            workspace, run_id, options, model.environment, same_budget=model.same_budget
        ) as clients:
            client = clients[options.model, options.via]
            decision = gate(
                self.before,
                self.after,
                self.holdout,
                self.terms.objective,
                judge=lambda prompt, rows, repeat: ask_rows(
                    prompt, rows, client, model, rule=self.rules.get(prompt.version), repeat=repeat
                ),
                ledger=HoldoutLedger(workspace.database),
                run_id=run_id,
                purpose=self.purpose,
                line=client.model.name if self.purpose == "recheck" else "",
                member=None if predicate is None else lambda rows: predicate.mask(rows.rows),
                exclude=self.terms.exclude,
            )
        return answered(client.model.name, decision), client.stats


def answered(model: str | None, decision: Decision) -> dict[str, Any]:  # Any: JSON
    """Return what an answer says beside what it is about."""
    return {"model": model, "simulated": decision.simulated, "decision": decision.to_json()}


def ask_rows(
    prompt: JudgePrompt,
    rows: Dataset,
    client: Client,
    model: GateModel,
    *,
    rule: DecisionRule | None,
    repeat: int,
) -> JudgedDataset:
    """Judge the rows; decide nothing on those that happened to be judged before money or endpoint
    gave out.
    """
    settings = JudgeSettings(max_tokens=model.options.max_tokens, confidence=model.confidence)
    doing = f"judging with {named(prompt)}" + (
        f", unanswered rows, time {repeat + 1}" if repeat else ""
    )
    judged = judge_as(
        prompt,
        rows,
        client,
        model.claims,
        settings=settings,
        rule=rule,
        repeat=repeat,
        progress=lambda progress: model.watch(doing, progress),
    )
    if unpaid := judged.unscored.get("budget"):
        hint = (
            "ask again with a larger --budget; the answers that came are kept, and so is the look"
        )
        raise BudgetSpent(f"the budget ended while {doing}: {unpaid} rows are left", hint=hint)
    if repeat == 0:
        require_answers(judged.answers)
    return judged


def named(prompt: JudgePrompt) -> str:
    """Return a prompt's name and version."""
    return f"{prompt.name}@{prompt.version}"
