"""What competes for the gate: the prompt in use with another threshold, and each arm after each of
its steps, on open rows that its prompts had not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..judges import BoolArray, DecisionRule, FloatArray, JudgedDataset, JudgePrompt
from .belief import LEAST_WRITING, Belief, writing_variance
from .changes import Changes
from .context import RunContext
from .folds import Fold
from .goal import Target
from .proposers import Proposer
from .proposers.proposer import asks_optimizer
from .step import Branch
from .threshold import NoThreshold, choose_threshold

ALIKE = 2
"""Candidates that choosing a threshold counts as, or choosing after which step an arm stops; there
may be more, but neighbours decide nearly alike.
"""
THRESHOLD = "threshold"
"""The arm that changes no word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Every arm in every fold, to its last step."""

    whole: Fold
    """All open rows, from which the finalist is written."""
    baseline: JudgedDataset
    """The first prompt's verdicts on the labelled open rows."""
    branches: tuple[tuple[Branch, ...], ...]
    """Of each arm, by fold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """An arm after so many steps, with the rule that decides for it."""

    proposer: Proposer | None
    """None for the prompt in use with another threshold."""
    steps: int
    prompt: JudgePrompt | None
    """None where it is yet to be written from all rows."""
    rule: DecisionRule | None
    changes: Changes
    branches: tuple[Branch, ...] = ()
    """The arm in each fold; none where the prompt was judged itself."""
    writing: FloatArray | None = None
    """Variance of each metric between two writings, shape (M,)."""
    tried: int = 0
    """Candidates that it is the best of; see `Belief.of`."""

    @property
    def name(self) -> str:
        """The arm."""
        return THRESHOLD if self.proposer is None else self.proposer.name

    @property
    def by_model(self) -> bool:
        """Whether a model writes it, so that two writings differ."""
        return self.proposer is not None and asks_optimizer(self.proposer)

    def belief(self) -> Belief:
        """Return what is believed of one more writing, after as many as there are folds."""
        luck = None if self.writing is None else self.writing / max(len(self.branches), 1)
        return Belief.of(self.changes, tried=self.tried, luck=luck, beyond=self.writing)

    def rule_json(self) -> dict[str, Any] | None:  # Any: JSON
        """Return its own rule as the journal has it."""
        if self.rule is None:
            return None
        return {"version": self.rule.version, **self.rule.to_json()}


def list_contenders(run: RunContext, search: Search) -> list[Contender]:
    """List the prompt in use with another threshold, and each arm after each step under each rule
    that could go to the gate.
    """
    inside = in_slice(run.goal.target, search.baseline)
    contenders = _under_rules(
        run, None, 0, (search.baseline, search.baseline), inside=inside, prompt=run.prompt
    )
    among = 0
    for branches in search.branches:
        after_steps = [
            step
            for step in range(1, len(branches[0].prompts))
            if any(b.prompts[step] is not b.prompts[step - 1] for b in branches)
        ]
        among += min(len(after_steps), ALIKE)
        for step in after_steps:
            contenders += _of_arm(run, branches, step)
    return [
        # That another threshold was chosen flatters it, although its figures are cross-fitted.
        replace(one, tried=among if one.rule is None else among + ALIKE)
        for one in _with_writing(run, contenders)
    ]


def in_slice(target: Target, judged: JudgedDataset) -> BoolArray | None:
    """Return which rows belong to a slice; None where the gate asks nothing of it."""
    gated = target.predicate is not None and target.tested
    return target.member(judged.dataset) if gated else None


def _of_arm(run: RunContext, branches: tuple[Branch, ...], step: int) -> list[Contender]:
    """Return an arm after a step, on the rows of all folds; each in the slice of its own fold."""
    sides = _joined(branches, 0), _joined(branches, step)
    members: list[BoolArray] = []
    for branch in branches:
        held = branch.fold.held
        member = in_slice(branch.fold.run.goal.target, held)
        members.append(np.zeros(len(held.dataset), np.bool_) if member is None else member)
    inside = np.concatenate(members)
    gated = in_slice(run.goal.target, sides[0]) is not None and inside.any()
    first = branches[0]
    if first.fold.number is None:
        return _under_rules(
            run, first.proposer, step, sides, inside=inside if gated else None,
            prompt=first.prompts[step],
        )  # fmt: skip
    contenders = _under_rules(
        run, first.proposer, step, sides, inside=inside if gated else None, prompt=None
    )
    return [replace(one, branches=branches) for one in contenders]


def _joined(branches: Sequence[Branch], step: int) -> JudgedDataset:
    parts = [branch.held[step] for branch in branches]
    rows = tuple(row for part in parts for row in part.dataset.rows)
    answers = tuple(answer for part in parts for answer in part.answers)
    return replace(parts[0], dataset=replace(parts[0].dataset, rows=rows), answers=answers)


def _under_rules(
    run: RunContext,
    proposer: Proposer | None,
    steps: int,
    sides: tuple[JudgedDataset, JudgedDataset],
    *,
    inside: BoolArray | None,
    prompt: JudgePrompt | None,
) -> list[Contender]:
    """Return an arm under the rule in force, and under another threshold where one serves better;
    nothing where the gate could not decide about it.
    """
    (before, after), objective, settings = sides, run.goal.objective, run.settings
    rules: list[tuple[DecisionRule | None, JudgedDataset]] = []
    if before is not after:
        rules.append((None, after))
    chosen = choose_threshold(
        before, after, objective, claims=settings.claims is not None, seed=settings.seed
    )
    if not isinstance(chosen, NoThreshold) and chosen.rule != chosen.old:
        rules.append((chosen.rule, chosen.judged))
    contenders: list[Contender] = []
    for rule, decided in rules:
        changes = Changes.of(before, decided, objective, in_slice=inside)
        if changes is not None:
            contenders.append(
                Contender(
                    proposer=proposer,
                    steps=steps,
                    prompt=prompt,
                    rule=rule,
                    changes=changes,
                )
            )
    return contenders


def _with_writing(run: RunContext, contenders: Sequence[Contender]) -> list[Contender]:
    """Add by how much two writings differ, pooled over the arms that a model writes, and over those
    that none does.
    """
    variances: dict[bool, FloatArray] = {}
    for by_model, least in ((True, LEAST_WRITING), (False, 0.0)):
        by_fold: list[list[Changes]] = []
        for one in contenders:
            if one.by_model == by_model and one.rule is None and one.branches:
                folds = [
                    Changes.of(b.held[0], b.held[one.steps], run.goal.objective)
                    for b in one.branches
                ]
                by_fold.append([changes for changes in folds if changes is not None])
        metrics = len(run.goal.objective.metrics)
        variances[by_model] = writing_variance(by_fold, metrics=metrics, least=least)
    return [
        replace(one, writing=variances[one.by_model]) if one.branches else one for one in contenders
    ]
