"""The state of a search: the prompt to beat, what was tried, and what a candidate must do to be
kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ..judges import Dataset, JudgedDataset, JudgePrompt, Row, compare
from ..judges.metrics.catalog import LOWER_IS_BETTER
from .brief import Attempt
from .candidate import Candidate, cost_beside, in_common
from .context import RunContext
from .holdout.floors import floor_could_hold
from .holdout.guards import guard_could_hold
from .invariants import PhraseIndex
from .losses.objective import Objective
from .proposers.proposer import view_of


@dataclass(slots=True, kw_only=True)
class SearchState:
    """How far the search has come."""

    first: Candidate
    """The prompt that the run began with, on all validation rows."""
    current: Candidate
    """The prompt that the search goes on from."""
    train: JudgedDataset
    """The training rows with the first prompt's answers."""
    phrases: PhraseIndex
    batch: Dataset
    """The training rows that every step judges."""
    on_batch: JudgedDataset
    """Training rows with the current prompt's answers; of the first prompt's there are all."""
    past: list[Attempt] = field(default_factory=list)
    """Every prompt that was tried, oldest first."""
    measured: list[Candidate] = field(default_factory=list)
    """Those of them that were judged on validation rows."""
    quoted: set[str] = field(default_factory=set)
    """Ids of the training rows that a proposer has read or tried a prompt on."""

    @classmethod
    def start(cls, run: RunContext, baseline: JudgedDataset) -> SearchState:
        """Measure the first prompt by its verdicts on the open rows, training rows first."""
        n_train = len(run.parts.train)
        train = baseline.only(range(n_train))
        if len(run.parts.drawn):
            drawn = run.judge("rows for training only", run.prompt, run.parts.drawn)
            train = replace(
                train, dataset=run.parts.training, answers=train.answers + drawn.answers
            )
        # Of a row that a person could not decide about there is nothing to learn.
        train = train.only([i for i, row in enumerate(train.dataset.rows) if not _is_unclear(row)])
        first = Candidate.of(
            run.prompt, baseline.only(range(n_train, len(baseline.dataset))), run.goal
        )
        return cls(
            first=first,
            current=first,
            train=train,
            phrases=PhraseIndex((*run.parts.training.rows, *run.parts.validation.rows)),
            batch=_draw_batch(train, run),
            on_batch=train,
        )

    def judge_batch(self, judged: JudgedDataset) -> None:
        """Take the current prompt's answers to the batch; of the first prompt all are known."""
        if self.current is not self.first:
            self.on_batch = judged

    def last_known(self) -> JudgedDataset:
        """Return all training rows with the current prompt's verdicts, or the first one's where it
        has none.
        """
        by_row = {answer.row_id: answer for answer in self.on_batch.answers}
        answers = tuple(by_row.get(answer.row_id, answer) for answer in self.train.answers)
        return replace(self.train, answers=answers)

    def keep_if_better(
        self, candidate: Candidate, objective: Objective, *, holdout_rows: int
    ) -> str:
        """Go on from a validated candidate, or say why not."""
        result = self._compare(candidate, objective, holdout_rows)
        self.remember(candidate.prompt, result)
        self.measured.append(candidate)
        if result == "kept":
            self.current = candidate
        return result

    def remember(self, prompt: JudgePrompt, result: str) -> None:
        """Remember what became of a candidate beside the current prompt, for proposers to see."""
        self.past.append(Attempt(prompt=prompt, kept=result == "kept"))

    def finalists(self, objective: Objective) -> list[Candidate]:
        """Return what a run may end with, the best first: of least loss and shortfall together.

        One that was judged on some of the rows has to be better there than the first prompt.
        """
        ranked: list[tuple[float, int]] = []
        for number, candidate in enumerate(self.measured):
            cost = cost_beside(self.first, candidate, objective)
            on_every_row = len(candidate.judged.dataset) == len(self.first.judged.dataset)
            if on_every_row or cost < 0:
                ranked.append((cost, number))
        return [self.measured[number] for _, number in sorted(ranked)]

    def _compare(self, candidate: Candidate, objective: Objective, holdout_rows: int) -> str:
        """Keep a candidate that lowers the loss and betters the target metric, and whose guards the
        gate could hold.

        That the loss fell is enough: what is kept by luck costs a step, what is dropped by bad luck
        is lost, and the chance of acceptance has the last word. A guard is tried as the gate will
        try it, with the standard error that the holdout's size would give: a candidate at its
        guard's limit here would spend a look for nothing.
        """
        before, _, after, _ = in_common(self.first, candidate)
        for guard in objective.guards:
            change = compare(guard.metric, before, after)
            if change is not None and not guard_could_hold(change, guard, rows=holdout_rows):
                return (
                    f"worse: {guard.metric} moved by {change.difference:+.3f}, too near its guard"
                    " for the gate"
                )
        for floor in objective.floors:
            now, last = candidate.metrics[floor.metric], self.current.metrics[floor.metric]
            if floor_could_hold(floor, candidate.judged, rows=holdout_rows):
                continue
            # On the way up to a floor that the first prompt is under, every step counts.
            if now is None or last is None or last >= floor.value or now <= last:
                return (
                    f"worse: {floor.metric} is too near its floor of {floor.value:g}, or under it,"
                    " for the gate"
                )
        change = compare(objective.target, before, after)
        if change is None or change.gain <= 0:
            return (
                f"worse: {objective.target} did not"
                f" {'fall' if objective.target in LOWER_IS_BETTER else 'rise'}"
            )
        _, old, _, new = in_common(self.current, candidate)
        if not len(new) or round(float((old - new).mean()), 9) <= 0:
            return "worse: the validation loss did not fall"
        return "kept"


def _is_unclear(row: Row) -> bool:
    return row.review is not None and row.review.mark == "unclear"


def _draw_batch(train: JudgedDataset, run: RunContext) -> Dataset:
    """Draw training rows: by turns one of the target and a rightly judged one outside it, while
    there are both; all of them for a proposer that is shown all.

    Args:
        train: The training rows with the first prompt's answers.
        run: Its settings say how many, its goal what the target is.
    """
    if view_of(run.services.proposer) == "all":
        return train.dataset
    order = np.random.default_rng(run.settings.seed).permutation(len(train.scored))
    inside = run.goal.target.member(train.dataset)[train.scored]
    if not inside.any():
        inside[:] = True
    targeted = [int(train.scored[i]) for i in order if inside[i]]
    right = [int(train.scored[i]) for i in order if not inside[i] and not train.wrong[i]]
    most = run.settings.batch_rows(len(run.parts.validation))
    drawn: list[int] = []
    while len(drawn) < most and (targeted or right):
        for rows in (targeted, right):
            if rows and len(drawn) < most:
                drawn.append(rows.pop())
    return train.only(drawn).dataset
