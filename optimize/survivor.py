"""What goes to the gate: the arm that has the largest chance of being accepted, or nothing.

Each arm stands there after each of its steps, judged on every open row by a prompt that had not
seen the row's label, under the rule in force and with its threshold chosen again, cross-fitted. The
prompt in use with another threshold stands beside them: that is what a new prompt has to beat. What
goes to the gate is written once more, from all open rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from ..judges import BoolArray, DecisionRule, FloatArray, JudgedDataset, JudgePrompt
from ..judges.metrics.catalog import sign_of
from ..judges.models import ask_together
from .belief import LEAST_WRITING, Belief, quality_weights, writing_variance
from .chance import Chance, chance_of
from .changes import Changes
from .context import RunContext, open_rows
from .events import BestCandidate, ChancesReckoned
from .folds import Fold
from .holdout.ledger import judge_id
from .holdout.look_counting import LookRequest, requested_look
from .losses.objective import Objective
from .not_sent import NotSent
from .proposers import Proposer
from .proposers.proposer import asks_optimizer
from .step import Branch, Step
from .threshold import NoThreshold, choose_threshold

ALIKE = 2
"""Candidates that choosing a threshold counts as, or choosing after which step an arm stops; there
may be more, but neighbours decide nearly alike.
"""
FINALISTS = 2
"""Arms that are written from all open rows at most."""
THRESHOLD = "threshold"
"""The arm that changes no word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Every arm in every fold, to its last step."""

    whole: Fold
    """All open rows, from which the finalist is written."""
    baseline: JudgedDataset
    """The first prompt's verdicts on the open rows."""
    branches: tuple[tuple[Branch, ...], ...]
    """Of each arm, by fold."""


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

    @property
    def believed(self) -> dict[str, dict[str, float]]:
        """The change of each metric that is believed in, with its error."""
        chance = self.chance
        return {
            name: {"change": change, "error": chance.error[name]}
            for name, change in chance.expected.items()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Contender:
    """An arm after so many steps, with the rule that decides for it."""

    proposer: Proposer | None
    """None for the prompt in use with another threshold."""
    steps: int
    prompt: JudgePrompt | None
    """None where it is yet to be written from all rows."""
    rule: DecisionRule | None
    changes: Changes
    weights: FloatArray | None
    """As `quality_weights` returns them."""
    branches: tuple[Branch, ...] = ()
    """The arm in each fold; none where the prompt was judged itself."""
    by_fold: tuple[Changes, ...] = ()
    """The same changes in each of them."""
    writing: FloatArray | None = None
    """Variance of each metric between two writings, shape (M,)."""
    tried: int = 0
    """Candidates that it is the best of; see `Belief.of`."""

    @property
    def name(self) -> str:
        """The arm."""
        return THRESHOLD if self.proposer is None else self.proposer.name

    def belief(self) -> Belief:
        """Return what is believed of one more writing, after as many as there are folds."""
        luck = None if self.writing is None else self.writing / max(len(self.branches), 1)
        return Belief.of(
            self.changes, tried=self.tried, weights=self.weights, luck=luck, beyond=self.writing
        )

    def rule_json(self) -> dict[str, Any] | None:  # Any: JSON
        """Return its own rule as the journal has it."""
        if self.rule is None:
            return None
        return {"version": self.rule.version, **self.rule.to_json()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finalist:
    """A contender with the prompt that would go to the gate, and what is believed of it."""

    place: int
    """Among the contenders."""
    contender: _Contender
    prompt: JudgePrompt | None
    """None where it is yet to be written."""
    changes: Changes
    belief: Belief
    alpha: float
    """What a look may spend on it."""
    chance: Chance
    optimism: FloatArray | None = None
    """By how much more prompts of the arm change the rows they were written from than others; shape
    (M,). None where none was written from all rows.
    """

    @classmethod
    def of(cls, run: RunContext, place: int, contender: _Contender) -> _Finalist:
        """Reckon the chance of a contender."""
        belief, alpha = contender.belief(), _alpha(run, contender)
        return cls(
            place=place,
            contender=contender,
            prompt=contender.prompt,
            changes=contender.changes,
            belief=belief,
            alpha=alpha,
            chance=_chance(run, contender.changes, belief, alpha=alpha, place=place),
        )

    def rank(self) -> tuple[float, float]:
        """Return what is compared: the chance, and what is believed of the target."""
        return self.chance.accepted, float(self.belief.mean[0])

    def explain_not_sent(self, run: RunContext, version: str) -> str:
        """Say why no look is spent on it, and what would help."""
        holdout = run.parts.holdout

        def retry(aim: Objective, groups: int) -> float:
            again = _chance(
                run, self.changes, self.belief, alpha=self.alpha, place=0, aim=aim, groups=groups
            )
            return again.accepted

        reason = NotSent(
            version=version,
            chance=self.chance,
            objective=run.goal.objective,
            changes=self.changes,
            alpha=self.alpha,
            rows=len(holdout),
            groups=holdout.groups,
            labelled=len(open_rows(run.parts)) + len(holdout) + len(run.parts.final),
            retry=retry,
        )
        return reason.explain()


def _chance(
    run: RunContext,
    changes: Changes,
    belief: Belief,
    *,
    alpha: float,
    place: int,
    aim: Objective | None = None,
    groups: int | None = None,
) -> Chance:
    """Reckon the chance of acceptance, with another objective or so many groups where they are
    given.
    """
    return chance_of(
        changes,
        aim or run.goal.objective,
        belief,
        alpha=alpha,
        groups=groups or run.parts.holdout.groups,
        seed=run.settings.seed * 1_000 + place,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Table:
    """The open rows that an arm was judged on, whichever fold they are of."""

    before: JudgedDataset
    after: JudgedDataset
    folds: tuple[slice, ...]
    """Where the rows of each fold stand."""
    in_slice: BoolArray | None
    """Which rows belong to the slice of their own fold; None where the gate asks nothing of it."""

    @classmethod
    def of(cls, run: RunContext, branches: Sequence[Branch], step: int) -> _Table:
        """Put an arm's verdicts after a step together, fold after fold."""
        before, after = _joined(branches, 0), _joined(branches, step)
        target = run.goal.target
        gated = target.predicate is not None and target.tested
        members: list[BoolArray] = []
        ends = [0]
        for branch in branches:
            own = branch.fold.run.goal.target
            member = own.member(branch.fold.held.dataset)
            members.append(member & (own.predicate is not None and own.tested))
            ends.append(ends[-1] + len(member))
        folds = tuple(slice(a, b) for a, b in pairwise(ends))
        inside = np.concatenate(members)
        return cls(
            before=before,
            after=after,
            folds=folds,
            in_slice=inside if gated and inside.any() else None,
        )

    def changes(self, objective: Objective, after: JudgedDataset) -> Changes | None:
        """Return what is changed on all these rows."""
        return Changes.of(self.before, after, objective, in_slice=self.in_slice)

    def by_fold(self, objective: Objective, after: JudgedDataset) -> tuple[Changes, ...]:
        """Return what is changed in each fold; nothing where that is undefined in one."""
        parts: list[Changes] = []
        for fold in self.folds:
            rows = range(fold.start, fold.stop)
            changes = Changes.of(self.before.only(rows), after.only(rows), objective)
            if changes is None:
                return ()
            parts.append(changes)
        return tuple(parts)


def _joined(branches: Sequence[Branch], step: int) -> JudgedDataset:
    parts = [branch.held[step] for branch in branches]
    rows = tuple(row for part in parts for row in part.dataset.rows)
    answers = tuple(answer for part in parts for answer in part.answers)
    return replace(parts[0], dataset=replace(parts[0].dataset, rows=rows), answers=answers)


def choose_survivor(run: RunContext, search: Search) -> Survivor | None:
    """Reckon the chance of every arm under each rule, choose the largest, and write that arm's
    prompt from all open rows; None where there is none.

    Where the prompt that was written so has a smaller chance than another arm, that one is written
    too.
    """
    contenders = _list_contenders(run, search) if run.settings.steps else []
    entries = [_Finalist.of(run, place, one) for place, one in enumerate(contenders)]
    better = [one for one in entries if one.contender.changes.measured[0] > 0]
    best: _Finalist | None = None
    written: set[str] = set()
    for entry in sorted(better, key=_Finalist.rank, reverse=True):
        if best is not None and best.rank() >= entry.rank():
            break
        finalist = entry
        if entry.prompt is None:
            if entry.contender.name in written or len(written) == FINALISTS:
                continue
            written.add(entry.contender.name)
            finalist = _write_finalist(search, entry)
        if finalist.prompt is not None and (best is None or finalist.rank() > best.rank()):
            best = finalist
    if entries:
        run.services.record(_reckoned(run, entries, best))
    if best is None or best.prompt is None:
        run.services.record(BestCandidate(version=None, prompt=None))
        return None
    prompt, contender = best.prompt, best.contender
    run.services.keep(prompt)
    run.services.record(
        BestCandidate(version=prompt.version, prompt=prompt.to_yaml(), rule=contender.rule_json())
    )
    why = "" if _is_sent(run, best.chance) else best.explain_not_sent(run, prompt.version)
    return Survivor(prompt=prompt, rule=contender.rule, chance=best.chance, why_not_sent=why)


def _is_sent(run: RunContext, chance: Chance) -> bool:
    return run.settings.look_anyway or chance.accepted >= run.settings.least_chance


def _reckoned(
    run: RunContext, entries: Sequence[_Finalist], best: _Finalist | None
) -> ChancesReckoned:
    """Return what every arm would have given, and which is chosen."""
    lines: list[dict[str, Any]] = []  # Any: JSON
    for entry in entries:
        one = entry.contender
        version = None if one.prompt is None else one.prompt.version
        lines.append(
            {"version": version, "rule": one.rule_json(), "arm": one.name, "steps": one.steps}
            | asdict(entry.chance)
        )
    first = best or entries[0]
    metrics, contender = run.goal.objective.metrics, first.contender
    signs = np.array([sign_of(metric) for metric in metrics])

    def by_metric(values: FloatArray | None) -> dict[str, float] | None:
        return None if values is None else dict(zip(metrics, values.tolist(), strict=True))

    return ChancesReckoned(
        metric=metrics[0],
        chosen=None if best is None else best.place,
        accepted=0.0 if best is None else best.chance.accepted,
        least=run.settings.least_chance,
        sent=best is not None and _is_sent(run, best.chance),
        alpha=first.alpha,
        holdout_rows=len(run.parts.holdout),
        holdout_groups=run.parts.holdout.groups,
        rows=contender.changes.rows,
        training_rows=0,
        tried=contender.tried,
        candidates=tuple(lines),
        folds=max(len(contender.branches), 1),
        writing=by_metric(None if contender.writing is None else np.sqrt(contender.writing)),
        optimism=by_metric(None if first.optimism is None else signs * first.optimism),
        own=None if first.optimism is None else asdict(first.chance),
    )


def _write_finalist(search: Search, entry: _Finalist) -> _Finalist:
    """Write an arm's prompt from all open rows, in as many steps as were chosen; where some have no
    usable proposal further ones follow, up to the steps of the run.
    """
    contender, run = entry.contender, search.whole.run
    assert contender.proposer is not None
    branch = Branch.start(contender.proposer, search.whole)
    for number in range(1, run.settings.steps + 1):
        last = len(branch.past) == contender.steps - 1
        event, branch = Step(number=number, branch=branch, last=last).take()
        run.services.record(event)
        if len(branch.past) == contender.steps or (branch.past and number >= contender.steps):
            break
    return _judge_finalist(search, entry, branch.prompt) if branch.past else entry


def _judge_finalist(search: Search, entry: _Finalist, prompt: JudgePrompt) -> _Finalist:
    """Reckon a finalist's chance from what it does on the open rows, which it was written from,
    less what the arm's prompts in the folds do better on the rows that each was written from.

    So the luck of one writing is seen. That the folds' prompts and this one learn alike by heart is
    what remains to be believed.
    """
    contender, run = entry.contender, search.whole.run
    places = [i for i, row in enumerate(search.baseline.dataset.rows) if row.label is not None]
    whole = search.baseline.only(places)
    sides = [(prompt, whole)]
    sides += [(branch.prompts[contender.steps], branch.fold.train) for branch in contender.branches]
    doing = f"{contender.name}: rows it was written from"
    tables = ask_together([partial(run.judge, doing, one, side.dataset) for one, side in sides])
    if contender.rule is not None:
        tables = [table.under(contender.rule) for table in tables]
    own = Changes.of(whole, tables[0], run.goal.objective, in_slice=_in_slice(run, whole))
    learnt = [
        Changes.of(before, after, run.goal.objective)
        for (_, before), after in zip(sides[1:], tables[1:], strict=True)
    ]
    by_heart = [changes.measured for changes in learnt if changes is not None]
    if own is None or not by_heart:
        return entry
    optimism = np.mean(by_heart, axis=0) - contender.changes.measured
    asked = contender.proposer is not None and asks_optimizer(contender.proposer)
    belief = Belief.of(
        contender.changes,
        tried=contender.tried,
        weights=quality_weights(whole, tables[0], run.goal.objective),
        measured=own.measured - optimism,
        beyond=np.full(len(own.metrics), (LEAST_WRITING if asked else 0.0) ** 2),
    )
    chance = _chance(run, own, belief, alpha=entry.alpha, place=entry.place)
    return replace(
        entry, prompt=prompt, changes=own, belief=belief, chance=chance, optimism=optimism
    )


def _in_slice(run: RunContext, judged: JudgedDataset) -> BoolArray | None:
    """Return which rows belong to the run's slice; None where the gate asks nothing of it."""
    target = run.goal.target
    gated = target.predicate is not None and target.tested
    return target.member(judged.dataset) if gated else None


def _list_contenders(run: RunContext, search: Search) -> list[_Contender]:
    """List the prompt in use with another threshold, and each arm after each step under each rule
    that could go to the gate.
    """
    contenders: list[_Contender] = []
    among = 0
    for branches in search.branches:
        after_steps = [
            step
            for step in range(1, len(branches[0].prompts))
            if any(b.prompts[step] is not b.prompts[step - 1] for b in branches)
        ]
        among += min(len(after_steps), ALIKE)
        for step in after_steps:
            contenders += _with_rules(run, branches, step)
    contenders = _with_writing(contenders)
    labelled = [i for i, row in enumerate(search.baseline.dataset.rows) if row.label is not None]
    contenders = [*_alone(run, search.baseline.only(labelled)), *contenders]
    return [
        # That another threshold was chosen flatters it, although its figures are cross-fitted.
        replace(one, tried=among if one.rule is None else among + ALIKE)
        for one in contenders
    ]


def _alone(run: RunContext, baseline: JudgedDataset) -> list[_Contender]:
    """Return the prompt in use with another threshold, where one serves better."""
    chosen = _threshold(run, baseline, baseline)
    if chosen is None:
        return []
    rule, judged = chosen
    changes = Changes.of(baseline, judged, run.goal.objective, in_slice=_in_slice(run, baseline))
    if changes is None:
        return []
    weights = quality_weights(baseline, judged, run.goal.objective)
    alone = _Contender(
        proposer=None, steps=0, prompt=run.prompt, rule=rule, changes=changes, weights=weights
    )
    return [alone]


def _with_rules(run: RunContext, branches: Sequence[Branch], step: int) -> list[_Contender]:
    """Return an arm after a step under the rule in force, and under another threshold where one
    serves better; nothing where the gate could not decide about it.
    """
    table, objective = _Table.of(run, branches, step), run.goal.objective
    rules: list[tuple[DecisionRule | None, JudgedDataset]] = [(None, table.after)]
    chosen = _threshold(run, table.before, table.after)
    if chosen is not None:
        rules.append(chosen)
    judged_itself = branches[0].fold.number is None
    contenders: list[_Contender] = []
    for rule, after in rules:
        changes = table.changes(objective, after)
        if changes is None:
            continue
        contender = _Contender(
            proposer=branches[0].proposer,
            steps=step,
            prompt=branches[0].prompts[step] if judged_itself else None,
            rule=rule,
            changes=changes,
            weights=quality_weights(table.before, after, objective),
            branches=() if judged_itself else tuple(branches),
            by_fold=() if judged_itself else table.by_fold(objective, after),
        )
        contenders.append(contender)
    return contenders


def _threshold(
    run: RunContext, before: JudgedDataset, after: JudgedDataset
) -> tuple[DecisionRule, JudgedDataset] | None:
    """Choose another threshold; None where none serves better than the one in force."""
    settings = run.settings
    chosen = choose_threshold(
        before, after, run.goal.objective, claims=settings.claims is not None, seed=settings.seed
    )
    if isinstance(chosen, NoThreshold) or chosen.rule == chosen.old:
        return None
    return chosen.rule, chosen.judged


def _with_writing(contenders: Sequence[_Contender]) -> list[_Contender]:
    """Add by how much two writings differ, pooled over the arms that a model writes, and over those
    that none does.
    """
    by_model = [one.proposer is not None and asks_optimizer(one.proposer) for one in contenders]
    variances: dict[bool, FloatArray] = {}
    for kind, least in ((True, LEAST_WRITING), (False, 0.0)):
        alike = [one.by_fold for one, own in zip(contenders, by_model, strict=True) if own == kind]
        alike = [by_fold for by_fold in alike if by_fold]
        if alike:
            variances[kind] = writing_variance(alike, least=least)
    results: list[_Contender] = []
    for one, kind in zip(contenders, by_model, strict=True):
        if one.prompt is None:
            none = np.full(len(one.changes.metrics), (LEAST_WRITING if kind else 0.0) ** 2)
            one = replace(one, writing=variances.get(kind, none))
        results.append(one)
    return results


def _alpha(run: RunContext, contender: _Contender) -> float:
    """Return what a look at the holdout may spend; none is entered. A resumed run keeps to what it
    reckoned with.
    """
    for event in run.services.journal.events():
        if event.kind == ChancesReckoned.kind:
            return float(event.payload["alpha"])
    rule, prompt = run.settings.rule, contender.prompt
    after = "" if prompt is None else judge_id(prompt, contender.rule or rule)
    request = LookRequest(
        holdout=run.parts.holdout.content_hash,
        run_id=run.services.run_id,
        before=judge_id(run.prompt, rule),
        after=after,
        purpose="gate",
        line="",
        known_as=(run.prompt.version, *(() if prompt is None else (prompt.version,))),
    )
    return requested_look(run.services.ledger.history(), request).alpha
