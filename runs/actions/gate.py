"""Put two judges through the gate: prompts asked of a model about a holdout, the verdicts of two
files, or an accepted prompt and its parent again on another model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...judges import (
    PROBABILITY_METRICS,
    ClientStats,
    Dataset,
    DecisionRule,
    InputError,
    JudgedDataset,
    JudgePrompt,
    JudgeSettings,
    SealedRows,
    Verdict,
    load_prompt,
)
from ...judges.asked_question import verdict_scale
from ...judges.files import load_as_said
from ...judges.models import ModelSettings
from ...judges.splits import SEALED
from ...optimize import RunSettings, decide
from ...optimize.holdout.bank_rows import without_banked
from ...optimize.holdout.gate import unopened
from ...optimize.holdout.ledger import LookRequest
from ...optimize.holdout.row_fingerprints import RowFingerprints
from ...optimize.holdout.sides import SeenRows, known_sides
from ...optimize.settings import require_probability
from ..config.command_options import JudgeModelOptions
from ..store.banks import banks_of, hidden_notes, hide_sealed, keep_banks
from ..store.engines import check_engine, engine_record
from ..store.ledger import HoldoutLedger
from ..store.run_config import RunConfig
from ..store.sealed_rows import pair_of
from ..store.workspace import Workspace
from .decide import (
    HUNKS,
    Duel,
    Gated,
    GateModel,
    Terms,
    answer_once,
    answered,
    count_groups,
    named,
)
from .run_summary import RunSummary, read_run, split_of_run
from .verification import decisions_about


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
        model: ModelSettings,
    ) -> TwoJudges:
        """Return two prompts with the rules that the workspace keeps for them on such a model,
        which do not show the decided cases that are sealed here.
        """
        before, after = hide_sealed(workspace, before), hide_sealed(workspace, after)
        kept_rules = {
            prompt.version: workspace.registry.kept_rule(prompt, decides=model.api is not None)
            for prompt in (before, after)
        }
        rules = {version: one.rule for version, one in kept_rules.items() if one is not None}
        return cls(before=before, after=after, data=data, reading=reading, rules=rules)

    @classmethod
    def from_json(cls, body: Mapping[str, Any], banks: Path) -> TwoJudges:  # Any: JSON
        """Read what `to_json` wrote; other entries are passed over.

        Args:
            banks: See `banks_of`.
        """
        before, after = (
            load_prompt(body[side], origin=f"the run's prompt {side}", folder=banks)
            for side in ("before", "after")
        )
        hidden = body.get("hidden_cases", ())
        return cls(
            before=before.hiding(hidden),
            after=after.hiding(hidden),
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
        prompts: dict[str, Any] = {
            "before": self.before.to_yaml(),
            "after": self.after.to_yaml(),
            "hidden_cases": sorted({*self.before.hidden_cases, *self.after.hidden_cases}),
        }
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
    evidence = without_banked(two.dataset(), (before, after))
    dataset = evidence.rows
    if not terms.allow_opened:
        dataset = _holdout_of(workspace, dataset)
    empty = replace(dataset, rows=())
    decides = model.environment.settings(options.model).api is not None
    for prompt in (before, after):
        settings = RunSettings(
            judge=JudgeSettings(confidence=model.confidence),
            claims=model.claims,
            decides=decides,
        )
        require_probability(prompt, terms.objective, settings)
    terms.require_fit(
        dataset, *(JudgedDataset(dataset=empty, answers=(), scale=p.scale) for p in (before, after))
    )
    holdout = SealedRows(dataset, name="holdout", groups=count_groups(dataset))
    duel = Duel(
        before=before,
        after=after,
        holdout=holdout,
        terms=terms,
        rules=two.rules,
        data=two.data.name,
    )
    question = {**model.question(), "holdout": holdout.content_hash}
    question |= {**two.versions(), **terms.to_json()}
    for name in {one.cascade.model for one in (before, after) if one.cascade is not None}:
        question[f"slow {name}"] = model.environment.settings(name).answering()
    notes = [*dataset.notes, *filter(None, (evidence.note,)), *hidden_notes(before, after)]
    notes += _say_rules(two, decides=decides)
    sent_by: dict[str, str] = {}
    if isinstance(options, JudgeModelOptions):
        check_engine(options)
        sent_by = engine_record(options)

    def answer(run_id: str) -> tuple[dict[str, Any], ClientStats | None]:
        if evidence.too_few:
            return answered(None, unopened(evidence)), None
        _seal(workspace, run_id, dataset, terms)
        return duel.decide(workspace, run_id, model)

    keep_banks(workspace, before, after)
    config = {"question": question, "model": options.model, **two.to_json(), **sent_by}
    return answer_once(workspace, "gate", config, duel.about(notes), answer)


def _say_rules(two: TwoJudges, *, decides: bool) -> Iterator[str]:
    """Say what decides for either prompt where that is not its own threshold.

    Args:
        two: The prompts and the rules that are kept for them.
        decides: Whether a decision model answers, whose probabilities are cut.
    """
    for one in (two.before, two.after):
        rule = two.rules.get(one.version)
        if rule is not None:
            by = f"the kept rule {rule.version}: positive at {rule.threshold:g}"
            yield f"{named(one)} is decided by {by}"
        elif decides and one.scale.kind != "choice":
            cut = verdict_scale(one.scale).threshold
            yield (
                f"{named(one)} has no chosen cut, and is positive from a probability of {cut:g} on;"
                " `judgewright calibrate` chooses one"
            )


def _seal(workspace: Workspace, run_id: str, holdout: Dataset, terms: Terms) -> None:
    """Enter that a run decides on these rows."""
    sealed = {holdout.content_hash: RowFingerprints.of(holdout)}
    seen = SeenRows(run_id=run_id, sealed=sealed)
    HoldoutLedger(workspace.database).remember(seen, allow_opened=terms.allow_opened)


def _holdout_of(workspace: Workspace, dataset: Dataset) -> Dataset:
    """Return the rows that earlier runs on this data sealed as their holdout, all where no run had
    some of them open.

    The file that a judge was optimized on holds training rows, on which a later edit of it must not
    be decided.
    """
    memories = HoldoutLedger(workspace.database).history().memories
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
    sides = {"before": versions[0], "after": versions[1]}
    question = {"holdout": dataset.content_hash, **sides, **terms.to_json()}
    about = terms.about(before.judge, after.judge, dataset.name, dataset, dataset.notes)

    def answer(run_id: str) -> tuple[dict[str, Any], None]:
        _seal(workspace, run_id, dataset, terms)
        ledger, pair = HoldoutLedger(workspace.database), pair_of(before, after, known_as)
        look = ledger.begin(
            LookRequest(
                holdout=dataset.content_hash, run_id=run_id, **sides, known_as=known_as, pair=pair
            )
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
        decision = replace(decision, reason="; ".join((decision.reason, *look.cautions)))
        ledger.conclude(look, outcome=decision.outcome, reason=decision.reason)
        return answered(None, decision), None

    return answer_once(workspace, "gate", {"question": question, "model": ""}, about, answer)


def hash_verdicts(judged: JudgedDataset, *, confidence: bool = False) -> str:
    """Return the version of a judge that is known by its verdicts alone: what it says of each row.

    Args:
        confidence: Whether how sure it is of each counts too.
    """
    digest = hashlib.blake2b(digest_size=8)
    for one in judged.answers:
        verdict = (one.score, one.positive) if isinstance(one, Verdict) else None
        if confidence and isinstance(one, Verdict):
            verdict = (one.score, one.positive, one.confidence)
        digest.update(repr((one.row_id, verdict)).encode("utf-8", "surrogatepass"))
    return f"verdicts-{digest.hexdigest()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Past:
    """A decision that accepted a version, with all it takes to make it again."""

    run_id: str
    model: str
    duel: Duel
    config: RunConfig | None = None
    """Of the optimization that accepted it, which says how rows are judged; None for a gate's
    decision.
    """


def gate_again(workspace: Workspace, prompt: JudgePrompt, model: GateModel) -> Gated:
    """Make the last decision that accepted a version again on another model: its parent against it.

    It is a look in the ledger, on a line of the model's own: the first on a model spends what a
    first look may.

    Raises:
        InputError: No decision here accepted the version, its data have changed, or it was made on
            this very model.
        WorldError: The endpoint, the budget or the disk stopped it; asking again goes on.
    """
    past, options = _last_accept(workspace, prompt), model.options
    name = options.model.partition("@")[0]
    if name == past.model:
        raise InputError(
            f"run {past.run_id} accepted {named(prompt)} on {name} itself",
            hint="--again is for another model; the answers of this one are in the record",
        )
    if past.config is not None:
        model = model.judging_as(past.config)
    duel = replace(past.duel, purpose="recheck")
    question = {"decision": past.run_id, "after": {"version": prompt.version}, **model.question()}
    question |= {"holdout": duel.holdout.content_hash}
    notes: list[str] = []
    if rule := duel.rules.get(prompt.version):
        fitted = f"the decision rule {rule.version} was fitted on {past.model}"
        notes.append(f"{fitted}, and decides here too")
    notes.append(
        f"run {past.run_id} accepted it on {past.model}; looks for another model are counted on its"
        " own line"
    )
    about = duel.about(notes) | {"rechecks": past.run_id, "gated_on": past.model}
    config = {"question": question, "model": options.model}
    return answer_once(
        workspace, "recheck", config, about, lambda run_id: duel.decide(workspace, run_id, model)
    )


def _last_accept(workspace: Workspace, prompt: JudgePrompt) -> _Past:
    accepted = [
        one
        for one in decisions_about(workspace, prompt)
        if one.outcome == "accepted" and one.kind in ("optimize", "gate", HUNKS)
    ]
    if not accepted:
        raise InputError(
            f"no decision in this workspace accepted {named(prompt)}",
            hint=(
                "--again repeats the last accept of `optimize` or `gate` on another model; to"
                " decide afresh name two judges"
            ),
        )
    last, run = accepted[-1], read_run(workspace, accepted[-1].run)
    if last.kind == "gate":
        return _of_gate(run, last.model, banks_of(workspace))
    if last.kind == "optimize":
        return _of_optimization(workspace, run, run.after)
    # Some hunks of a run's diff: another text of its judge, on its rows.
    config = run.record.config
    whole = read_run(workspace, config["question"]["of"])
    composed = load_prompt(
        config["after"], origin="the run's composed prompt", folder=banks_of(workspace)
    ).hiding(whole.before.hidden_cases)
    return replace(_of_optimization(workspace, whole, composed), run_id=run.run_id)


def _of_optimization(workspace: Workspace, run: RunSummary, after: JudgePrompt | None) -> _Past:
    assert run.started is not None
    assert after is not None
    duel = Duel.of_run(run, after, split_of_run(workspace, run).holdout)
    duel = replace(duel, terms=replace(duel.terms, allow_opened=False))
    return _Past(run_id=run.run_id, model=run.started.model, duel=duel, config=run.config)


def _of_gate(run: RunSummary, model: str, banks: Path) -> _Past:
    config, question = run.record.config, run.record.config["question"]
    two = TwoJudges.from_json(config, banks)
    dataset = two.dataset()
    if dataset.content_hash != question["holdout"]:
        raise InputError(
            f"{config['data']} has changed since run {run.run_id}", hint="put the old rows back"
        )
    duel = Duel(
        before=two.before,
        after=two.after,
        holdout=SealedRows(dataset, name="holdout", groups=count_groups(dataset)),
        terms=Terms.from_json(question),
        rules=two.rules,
        data=two.data.name,
    )
    return _Past(run_id=run.run_id, model=model, duel=duel)
