"""What goes to the gate: what has the largest chance of being accepted, or nothing.

The best candidate is judged on every open row that no brief has quoted, training rows included. It
stands there twice: under the rule in force, and with its threshold chosen again, cross-fitted. The
prompt in use with another threshold stands beside it: that is what a new prompt has to beat.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from ..judges import Dataset, DecisionRule, FloatArray, JudgedDataset, JudgePrompt
from ..judges.metrics.catalog import sign_of
from ..judges.models import ask_together
from .belief import Belief, quality_weights
from .candidate import Candidate
from .chance import Chance, chance_of
from .changes import Changes
from .context import RunContext, open_rows
from .events import BestCandidate, ChancesReckoned
from .holdout.ledger import judge_id
from .holdout.look_counting import LookRequest, requested_look
from .losses.objective import Objective
from .not_sent import NotSent
from .search_state import SearchState
from .threshold import NoThreshold, choose_threshold

OTHER_THRESHOLDS = 2
"""Candidates that choosing a threshold counts as; there may be more, but neighbours decide nearly
alike.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Survivor:
    """What a search ends with."""

    prompt: JudgePrompt
    rule: DecisionRule | None
    """A rule of its own; None where the run's rule decides."""
    chance: Chance
    why_not_sent: str = ""
    """Why no look is spent on it, see `NotSent`; empty where it goes to the gate."""

    @property
    def sent(self) -> bool:
        """Whether it goes to the gate."""
        return not self.why_not_sent


@dataclass(frozen=True, slots=True, kw_only=True)
class _Contender:
    """A prompt with the rule that decides for it."""

    prompt: JudgePrompt
    rule: DecisionRule | None
    changes: Changes
    weights: FloatArray | None
    """As `quality_weights` returns them."""
    tried: int
    """Candidates that it is the best of, other thresholds included; see `Belief.of`."""

    @classmethod
    def of(
        cls,
        run: RunContext,
        before: JudgedDataset,
        after: JudgedDataset,
        *,
        prompt: JudgePrompt,
        rule: DecisionRule | None = None,
        tried: int,
    ) -> _Contender | None:
        """Compare it with the prompt in use on the same rows; None where the gate could not decide
        about it.
        """
        target, objective = run.goal.target, run.goal.objective
        gated = target.predicate is not None and target.tested
        inside = target.member(before.dataset) if gated else None
        changes = Changes.of(before, after, objective, in_slice=inside)
        if changes is None:
            return None
        weights = quality_weights(before, after, objective)
        return cls(prompt=prompt, rule=rule, changes=changes, weights=weights, tried=tried)

    def reckon(
        self,
        run: RunContext,
        *,
        alpha: float,
        seed: int,
        objective: Objective | None = None,
        groups: int | None = None,
    ) -> Chance:
        """Reckon its chance of acceptance, with another objective or so many groups where they are
        given.
        """
        belief = Belief.of(self.changes, tried=self.tried, weights=self.weights)
        aim, count = objective or run.goal.objective, groups or run.parts.holdout.groups
        return chance_of(self.changes, aim, belief, alpha=alpha, groups=count, seed=seed)

    def explain_not_sent(self, run: RunContext, chance: Chance, *, alpha: float) -> str:
        """Say why no look is spent on it, and what would help."""
        seed, holdout = run.settings.seed * 1_000, run.parts.holdout
        reason = NotSent(
            version=self.prompt.version,
            chance=chance,
            objective=run.goal.objective,
            changes=self.changes,
            alpha=alpha,
            rows=len(holdout),
            groups=holdout.groups,
            labelled=len(open_rows(run.parts)) + len(holdout) + len(run.parts.final),
            retry=lambda aim, count: (
                self.reckon(run, alpha=alpha, seed=seed, objective=aim, groups=count).accepted
            ),
        )
        return reason.explain()


def choose_survivor(run: RunContext, state: SearchState) -> Survivor | None:
    """Reckon the best candidate's chance under each rule, and choose the largest; None where there
    is none.
    """
    objective, settings = run.goal.objective, run.settings
    rows = selection_rows(run, state.quoted)
    contenders = _list_contenders(run, state, rows)
    if not contenders or not settings.steps:
        run.services.record(BestCandidate(version=None, prompt=None))
        return None
    alphas = [_alpha(run, contender) for contender in contenders]
    chances = [
        contender.reckon(run, alpha=alpha, seed=settings.seed * 1_000 + number)
        for number, (contender, alpha) in enumerate(zip(contenders, alphas, strict=True))
    ]
    sign = sign_of(objective.target)
    best = max(
        range(len(chances)),
        key=lambda i: (chances[i].accepted, sign * chances[i].expected[objective.target], -i),
    )
    chosen_by, chance = contenders[best], chances[best]
    sent = settings.look_anyway or chance.accepted >= settings.least_chance
    lines: list[dict[str, Any]] = []  # Any: JSON
    for contender, one in zip(contenders, chances, strict=True):
        rule = (
            None
            if contender.rule is None
            else {"version": contender.rule.version, **contender.rule.to_json()}
        )
        lines.append({"version": contender.prompt.version, "rule": rule, **asdict(one)})
    run.services.record(
        ChancesReckoned(
            metric=objective.target,
            chosen=best,
            accepted=chance.accepted,
            least=settings.least_chance,
            sent=sent,
            alpha=alphas[best],
            holdout_rows=len(run.parts.holdout),
            holdout_groups=run.parts.holdout.groups,
            rows=len(rows),
            training_rows=len(rows) - len(run.parts.validation),
            tried=len(state.past),
            candidates=tuple(lines),
        )
    )
    rule = (
        None
        if chosen_by.rule is None
        else {"version": chosen_by.rule.version, **chosen_by.rule.to_json()}
    )
    prompt = chosen_by.prompt
    run.services.keep(prompt)
    run.services.record(BestCandidate(version=prompt.version, prompt=prompt.to_yaml(), rule=rule))
    why = "" if sent else chosen_by.explain_not_sent(run, chance, alpha=alphas[best])
    return Survivor(prompt=prompt, rule=chosen_by.rule, chance=chance, why_not_sent=why)


def _list_contenders(run: RunContext, state: SearchState, rows: Dataset) -> list[_Contender]:
    """Judge the finalist beside the prompt in use, and list both under each rule that could go to
    the gate.
    """
    settings = run.settings
    finalist = choose_finalist(run, state)
    prompts = [run.prompt] if finalist is None else [run.prompt, finalist.prompt]
    tables = ask_together([partial(run.judge, "selection", prompt, rows) for prompt in prompts])
    contenders: list[_Contender] = []
    for prompt, judged in zip(prompts, tables, strict=True):
        tried = 0 if prompt is run.prompt else len(state.past)
        rules: list[tuple[DecisionRule | None, JudgedDataset]] = []
        if prompt is not run.prompt:
            rules.append((None, judged))
        chosen = choose_threshold(
            tables[0],
            judged,
            run.goal.objective,
            claims=settings.claims is not None,
            seed=settings.seed,
        )
        if not isinstance(chosen, NoThreshold) and chosen.rule != chosen.old:
            rules.append((chosen.rule, chosen.judged))
        for rule, decided in rules:
            # That another threshold was chosen flatters it, although its figures are cross-fitted.
            chosen_among = tried if rule is None else tried + OTHER_THRESHOLDS
            contender = _Contender.of(
                run, tables[0], decided, prompt=prompt, rule=rule, tried=chosen_among
            )
            if contender is not None:
                contenders.append(contender)
    return contenders


def choose_finalist(run: RunContext, state: SearchState) -> Candidate | None:
    """Return the candidate that promises most by the validation rows it was judged on; None where
    there is none.

    What it promises is its chance of acceptance times the gain that is believed of it. Where none
    has a chance, as where validation rows are too few for any, the order of
    `SearchState.finalists` decides.
    """
    before, target = state.first.judged, run.goal.objective.target
    places = {row.id: i for i, row in enumerate(before.dataset.rows)}
    promises: list[tuple[float, Candidate]] = []
    for finalist in state.finalists(run.goal.objective):
        same = before.only([places[row.id] for row in finalist.judged.dataset.rows])
        contender = _Contender.of(
            run, same, finalist.judged, prompt=finalist.prompt, tried=len(state.past)
        )
        promise = 0.0
        if contender is not None:
            chance = contender.reckon(
                run, alpha=_alpha(run, contender), seed=run.settings.seed * 1_000
            )
            promise = chance.accepted * max(0.0, sign_of(target) * chance.expected[target])
        promises.append((promise, finalist))
    return max(promises, key=lambda one: one[0])[1] if promises else None


def selection_rows(run: RunContext, quoted: Collection[str]) -> Dataset:
    """Return the open rows of which no brief has quoted a row of the same group: training rows,
    then validation.
    """
    dataset = open_rows(run.parts)
    groups = {row.group_key for row in dataset.rows if row.id in quoted}
    validation = {row.id for row in run.parts.validation.rows}
    rows = tuple(row for row in dataset.rows if row.id in validation or row.group_key not in groups)
    return replace(dataset, rows=rows)


def _alpha(run: RunContext, contender: _Contender) -> float:
    """Return what a look at the holdout may spend; none is entered. A resumed run keeps to what it
    reckoned with.
    """
    for event in run.services.journal.events():
        if event.kind == ChancesReckoned.kind:
            return float(event.payload["alpha"])
    request = LookRequest(
        holdout=run.parts.holdout.content_hash,
        run_id=run.services.run_id,
        before=judge_id(run.prompt, run.settings.rule),
        after=judge_id(contender.prompt, contender.rule or run.settings.rule),
        purpose="gate",
        line="",
        known_as=(run.prompt.version, contender.prompt.version),
    )
    return requested_look(run.services.ledger.history(), request).alpha
