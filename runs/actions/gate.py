"""Put two prompts through the gate, asked of one model about a holdout."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    Progress,
    SealedRows,
    Unscored,
    load_prompt,
)
from ...judges.claims import ClaimSettings, judge_as
from ...judges.files import load_as_said
from ...judges.judge import require_answers
from ...judges.splits import SEALED
from ...optimize import RunSettings, gate
from ...optimize.holdout.row_fingerprints import RowFingerprints
from ...optimize.holdout.sides import grouped_as_placed, known_sides
from ...optimize.settings import require_probability
from ..config.environment import Environment
from ..config.options import JudgeModelOptions, ModelOptions
from ..store.engines import check_engine, engine_record
from ..store.ledger import HoldoutLedger
from ..store.run_clients import open_run_clients
from ..store.run_config import RunConfig
from ..store.workspace import Workspace
from .decide import Gated, Terms, answer_once, count_groups, with_cautions

Watch = Callable[[str, Progress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateModel:
    """The model that judges, and who is told how far it has come."""

    options: ModelOptions
    environment: Environment
    watch: Watch
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
class TwoJudges:
    """Two prompts and the file with the holdout's rows; it says how the file is read, so that it
    can be read again.
    """

    before: JudgePrompt
    after: JudgePrompt
    data: Path
    reading: Mapping[str, Any]  # Any: JSON; arguments of load_dataset, `label_scale` as text
    rules: Mapping[str, DecisionRule]
    """What decides for a prompt, by its version; its own threshold where there is none."""

    @classmethod
    def of(
        cls,
        workspace: Workspace,
        before: JudgePrompt,
        after: JudgePrompt,
        data: Path,
        reading: Mapping[str, Any],  # Any: JSON
    ) -> TwoJudges:
        """Return two prompts with the rules that the workspace keeps for them."""
        kept = {prompt.version: workspace.registry.kept_rule(prompt) for prompt in (before, after)}
        rules = {version: one.rule for version, one in kept.items() if one is not None}
        return cls(before=before, after=after, data=data, reading=reading, rules=rules)

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> TwoJudges:  # Any: JSON
        """Read what `to_json` wrote; other entries are passed over."""
        return cls(
            before=load_prompt(body["before"], origin="the run's first prompt"),
            after=load_prompt(body["after"], origin="the run's second prompt"),
            data=Path(body["data"]),
            reading=body["reading"],
            rules={
                version: DecisionRule.from_json(rule) for version, rule in body["rules"].items()
            },
        )

    @property
    def inputs(self) -> tuple[str, ...]:
        """The inputs of both prompts."""
        return tuple(dict.fromkeys((*self.before.inputs, *self.after.inputs)))

    def dataset(self, *, require_labels: bool = True) -> Dataset:
        """Read the rows with the inputs of both prompts."""
        return load_as_said(
            self.data,
            self.reading,
            inputs=self.inputs,
            scale=self.before.scale,
            require_labels=require_labels,
        )

    def versions(self) -> dict[str, Any]:  # Any: JSON
        """Return the versions of both prompts and of their rules, as a question has them."""
        versions: dict[str, Any] = {}
        for side, prompt in (("before", self.before), ("after", self.after)):
            rule = self.rules.get(prompt.version)
            versions[side] = {"version": prompt.version, "rule": rule.version if rule else None}
        return versions

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what `from_json` reads."""
        prompts = {"before": self.before.to_yaml(), "after": self.after.to_yaml()}
        rules = {version: rule.to_json() for version, rule in self.rules.items()}
        return prompts | {
            "data": str(self.data.resolve()),
            "reading": dict(self.reading),
            "rules": rules,
        }


def gate_judges(workspace: Workspace, two: TwoJudges, terms: Terms, model: GateModel) -> Gated:
    """Ask two prompts about the rows of a holdout file, and decide.

    Raises:
        InputError: The rows, the terms or the holdout's state allow no decision; nothing is spent.
        WorldError: The endpoint, the budget or the disk stopped it; asking again goes on.
    """
    before, after, options = two.before, two.after, model.options
    if before.version == after.version:
        raise InputError(
            f"{named(before)} and {named(after)} are the same prompt; there is nothing to decide"
        )
    dataset = two.dataset()
    if not terms.allow_opened:
        dataset = _holdout_of(workspace, dataset)
    empty = replace(dataset, rows=())
    for prompt in (before, after):
        settings = RunSettings(
            judge=JudgeSettings(confidence=model.confidence), claims=model.claims
        )
        require_probability(prompt, terms.objective, settings)
    terms.require_fit(
        dataset, *(JudgedDataset(dataset=empty, answers=(), scale=p.scale) for p in (before, after))
    )
    groups = count_groups(dataset)
    holdout = SealedRows(dataset, name="holdout", groups=groups)
    question = {**model.question(), "holdout": holdout.content_hash}
    question |= {**two.versions(), **terms.to_json()}
    about = {
        "before": named(before),
        "after": named(after),
        "data": two.data.name,
        "rows": len(dataset),
    }
    ruled = [(named(one), rule) for one in (before, after) if (rule := two.rules.get(one.version))]
    notes = [
        f"{judge} is decided by the kept rule {by.version}: positive at {by.threshold:g}"
        for judge, by in ruled
    ]
    about |= {"groups": groups, "notes": [*dataset.notes, *notes], **terms.to_json()}

    sent_by: dict[str, str] = {}
    if isinstance(options, JudgeModelOptions):
        check_engine(options)
        sent_by = engine_record(options)

    def answer(run_id: str) -> tuple[dict[str, Any], ClientStats]:
        ledger = HoldoutLedger(workspace.database)
        sealed = {holdout.content_hash: RowFingerprints.of(dataset)}
        ledger.remember(
            run_id, open=RowFingerprints(), sealed=sealed, allow_opened=terms.allow_opened
        )
        return decide_with_model(
            workspace, run_id, (before, after), holdout, terms, model, rules=two.rules
        )

    return answer_once(
        workspace,
        "gate",
        {"question": question, "model": options.model, **two.to_json(), **sent_by},
        about,
        answer,
    )


def _holdout_of(workspace: Workspace, dataset: Dataset) -> Dataset:
    """Return the rows that earlier runs on this data sealed as their holdout, all where no run had
    some of them open.

    The file that a judge was optimized on holds training rows, on which a later edit of it must not
    be decided.
    """
    memories = HoldoutLedger(workspace.database).memories()
    dataset = grouped_as_placed(memories, dataset)
    sides = known_sides(memories, dataset)
    open_groups = {name for name, placed in sides.items() if placed - set(SEALED)}
    holdout = {name for name, placed in sides.items() if placed == {"holdout"}}
    if not (open_groups and holdout):
        return dataset
    rows = tuple(row for row in dataset.rows if row.group_key in holdout)
    note = (
        f"decides on the {len(rows):,} of {len(dataset):,} rows that an earlier run on this data"
        " sealed as its holdout; the others were open to it, or are its final rows"
    )
    return replace(dataset, rows=rows, notes=(*dataset.notes, note))


def decide_with_model(
    workspace: Workspace,
    run_id: str,
    prompts: tuple[JudgePrompt, JudgePrompt],
    holdout: SealedRows,
    terms: Terms,
    model: GateModel,
    *,
    rules: Mapping[str, DecisionRule],
    purpose: str = "gate",
) -> tuple[dict[str, Any], ClientStats]:  # Any: JSON
    """Put two prompts through the gate, asked of one model; for the purpose `recheck`, on the
    model's own line.
    """
    predicate, options = terms.slice, model.options
    with open_run_clients(
        workspace, run_id, options, model.environment, same_budget=model.same_budget
    ) as clients:
        client = clients[options.model, options.via]
        line = client.model.name if purpose == "recheck" else ""
        ledger = HoldoutLedger(workspace.database, purpose=purpose, line=line)
        decision = gate(
            *prompts,
            holdout,
            terms.objective,
            judge=lambda prompt, rows, repeat: ask_rows(
                prompt, rows, client, model, rule=rules.get(prompt.version), repeat=repeat
            ),
            ledger=ledger,
            run_id=run_id,
            member=None if predicate is None else lambda rows: predicate.mask(rows.rows),
            exclude=terms.exclude,
        )
    look = next(r.look for r in ledger.looks(holdout.content_hash) if r.look.run_id == run_id)
    decision = with_cautions(decision, look)
    body = {
        "model": client.model.name,
        "simulated": decision.simulated,
        "decision": decision.to_json(),
    }
    return body, client.stats


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
    reasons = [answer.reason for answer in judged.answers if isinstance(answer, Unscored)]
    if unpaid := reasons.count("budget"):
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
