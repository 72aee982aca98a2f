"""One step of an arm in one fold: a brief, a proposal, its verdicts, and how it ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..judges import (
    Completion,
    Dataset,
    JudgedDataset,
    JudgePrompt,
    LossError,
    ModelError,
    Request,
    Row,
    cut_off,
    point,
    without_thinking,
)
from ..judges.models import ask_together
from .brief import Brief, build_brief
from .cells import column_values
from .context import RunContext
from .events import ProposalRecord, StepTaken
from .folds import Fold
from .invariants import check_candidate, token_cap
from .outcome import FAILED, JUDGED, NO_PROPOSAL
from .proposers import NoProposal, Proposal, Proposer, Trial, Unanswered, Workbench
from .proposers.proposer import view_of
from .study import Study

_TOO_LARGE = (400, 413, 422)
"""What endpoints answer to a request that is longer than their context."""
LARGER_CONTEXT = (
    "a larger context is the server's setting (llama.cpp -c, vLLM --max-model-len, Ollama num_ctx)"
)
FEWER_ANSWERS = 0.2
"""A prompt that answers so much less than the first one is dropped: nothing is learned from rows
without a verdict.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Branch:
    """An arm in one fold: what it has written so far."""

    proposer: Proposer
    fold: Fold
    prompts: tuple[JudgePrompt, ...]
    """The first prompt, then what there was after each step."""
    held: tuple[JudgedDataset, ...]
    """The verdicts of each of them on the rows that it is judged on."""
    train: JudgedDataset
    """All rows that are written from, with the last known verdicts."""
    batch: JudgedDataset
    """Those of them that the present prompt was judged on."""
    past: tuple[JudgePrompt, ...] = ()
    """Every prompt that the branch went on from, oldest first."""
    useless: frozenset[str] = frozenset()
    """Versions that were judged and are of no use."""

    @classmethod
    def start(cls, proposer: Proposer, fold: Fold) -> Branch:
        """Begin from the first prompt, whose verdicts are all there."""
        return cls(
            proposer=proposer,
            fold=fold,
            prompts=(fold.run.prompt,),
            held=(fold.held,),
            train=fold.train,
            batch=fold.train,
        )

    @property
    def prompt(self) -> JudgePrompt:
        """The present prompt."""
        return self.prompts[-1]

    def stays(self, *useless: str) -> Branch:
        """Return the branch after a step without a usable proposal.

        Args:
            useless: The version of one that was judged.
        """
        return replace(
            self,
            prompts=(*self.prompts, self.prompt),
            held=(*self.held, self.held[-1]),
            useless=self.useless.union(useless),
        )

    def goes_on(
        self, prompt: JudgePrompt, held: JudgedDataset, batch: JudgedDataset | None
    ) -> Branch:
        """Return the branch after a step with a new prompt.

        Args:
            prompt: The new prompt.
            held: Its verdicts on the rows that it is judged on.
            batch: Its verdicts on rows that are written from; None where no step follows.
        """
        train = self.train
        if batch is not None:
            by_row = {answer.row_id: answer for answer in batch.answers}
            answers = tuple(by_row.get(answer.row_id, answer) for answer in train.answers)
            train = replace(train, answers=answers)
        return replace(
            self,
            prompts=(*self.prompts, prompt),
            held=(*self.held, held),
            train=train,
            batch=self.batch if batch is None else batch,
            past=(*self.past, prompt),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What a step works on and with. It records nothing: where replies are carried in files it is
    taken again until they are there.
    """

    number: int
    """From 1."""
    branch: Branch
    last: bool = False
    """Whether no other step follows."""

    @property
    def run(self) -> RunContext:
        """The run, with the fold's goal."""
        return self.branch.fold.run

    def take(self) -> tuple[StepTaken, Branch]:
        """Take the step: the branch goes on from the new prompt where it is usable."""
        branch, fold = self.branch, self.branch.fold
        losses = self.run.goal.row_losses(branch.batch)
        proposal = self._propose(self._brief())
        after = branch.stays()
        if isinstance(proposal, NoProposal):
            result = FAILED if proposal.failed else NO_PROPOSAL
            record = ProposalRecord(result=result, reason=proposal.reason)
        else:
            record, after = self._try(proposal)
        event = StepTaken(
            step=self.number,
            rows=tuple(row.id for row in branch.batch.dataset.rows),
            batch_loss=float(losses.mean()) if len(losses) else 0.0,
            proposal=record,
            arm=branch.proposer.name,
            fold=fold.number,
        )
        return event, after

    def _try(self, proposal: Proposal) -> tuple[ProposalRecord, Branch]:
        """Judge a proposal's prompt, unless it breaks an invariant or was tried before."""
        prompt, branch, fold = proposal.prompt, self.branch, self.branch.fold
        record = ProposalRecord(
            result="breaks a rule",
            gradient=proposal.gradient,
            version=prompt.version,
            criteria=prompt.criteria,
            note=prompt.note,
        )
        violations = check_candidate(
            self.run.prompt,
            prompt,
            phrases=fold.phrases,
            editable=branch.proposer.parts,
            training=fold.train.dataset.rows,
        )
        if violations:
            return replace(record, violations=violations), branch.stays()
        if prompt.version in {earlier.version for earlier in branch.past} | branch.useless:
            return replace(record, result="tried before"), branch.stays()
        try:
            return self._judge_new(prompt, record)
        except LossError as error:
            return replace(record, result=f"no loss: {error}"), branch.stays(prompt.version)

    def _judge_new(
        self, prompt: JudgePrompt, record: ProposalRecord
    ) -> tuple[ProposalRecord, Branch]:
        """Judge a new prompt on the rows it was not written from, and for the next brief on rows
        that it was.

        Raises:
            LossError: The loss cannot be computed on these rows.
        """
        branch, fold, goal = self.branch, self.branch.fold, self.run.goal
        tasks: list[Callable[[], JudgedDataset]] = [lambda: fold.held]
        if len(fold.held.dataset):
            unseen = fold.held.dataset
            tasks = [partial(self._judge, "rows it was not written from", prompt, unseen)]
        if not self.last:
            batch = self._draw_batch()
            tasks.append(partial(self._judge, "rows it was written from", prompt, batch))
        held, *after = ask_together(tasks)
        batch_after = after[0] if after else None
        for table, before in ((held, fold.held), (batch_after, fold.train)):
            if table is not None and table.coverage < before.coverage - FEWER_ANSWERS:
                result = "leaves more rows unscored than the present prompt"
                return replace(record, result=result), branch.stays(prompt.version)
        if batch_after is not None:
            goal.row_losses(batch_after)
        record = replace(record, result=JUDGED)
        if len(held.dataset):
            losses, names = goal.row_losses(held), goal.objective.metrics
            record = replace(
                record,
                loss=float(losses.mean()) if len(losses) else 1.0,
                metrics={name: point(name, *held.compared(name)) for name in names},
                validation_rows=len(held.dataset),
            )
        return record, branch.goes_on(prompt, held, batch_after)

    def _draw_batch(self) -> Dataset:
        """Draw the rows that every step judges for its brief: by turns one of the target and a
        rightly judged one outside it, while there are both; all for a proposer that is shown all.
        """
        train, run = self.branch.fold.train, self.run
        if view_of(self.branch.proposer) == "all":
            return train.dataset
        order = np.random.default_rng(run.settings.seed).permutation(len(train.scored))
        inside = run.goal.target.member(train.dataset)[train.scored]
        if not inside.any():
            inside[:] = True
        targeted = [int(train.scored[i]) for i in order if inside[i]]
        right = [int(train.scored[i]) for i in order if not inside[i] and not train.wrong[i]]
        drawn: list[int] = []
        while len(drawn) < run.settings.batch and (targeted or right):
            for rows in (targeted, right):
                if rows and len(drawn) < run.settings.batch:
                    drawn.append(rows.pop())
        return train.only(drawn).dataset

    def _brief(self) -> Brief:
        """Write the brief that the proposer's view calls for."""
        branch, settings = self.branch, self.run.settings
        view = view_of(branch.proposer)
        brief = build_brief(
            branch.prompt,
            branch.batch,
            goal=self.run.goal,
            past=branch.past,
            in_use=branch.fold.train if branch.past else None,
            budget=settings.brief_budget(view),
            explanation=settings.explanation,
            cap=token_cap(self.run.prompt),
        )
        if view == "errors":
            return brief
        # Reasons tell the label.
        reasons = [settings.explanation] if settings.explanation else []
        columns = column_values(
            branch.batch,
            columns=settings.slice_columns or None,
            exclude=(*settings.exclude, *reasons),
            keep=settings.keep,
        )
        return replace(Study.of(brief), columns=columns)

    def _propose(self, brief: Brief) -> Proposal | NoProposal:
        """Ask the proposer; what fails for this proposal alone becomes its reason."""
        try:
            return self.branch.proposer.propose(
                brief.prompt, brief, self._bench(), step=self.number
            )
        except Unanswered as error:
            helps = f" ({error.hint})" if error.hint else ""
            return NoProposal(f"the optimizer model failed: {error}{helps}", failed=True)
        except LossError as error:
            return NoProposal(f"no loss: {error}")

    def _bench(self) -> Workbench:
        """Lay out what the proposer may work with: rows of the target that are written from, and
        nothing else.
        """
        train = self.branch.train
        ids = {row.id for row in train.dataset.rows}

        def trial(judged: JudgedDataset) -> Trial:
            return Trial(judged=judged, losses=self.run.goal.row_losses(judged))

        def try_out(prompt: JudgePrompt, rows: Sequence[Row]) -> Trial:
            if not ids.issuperset(row.id for row in rows):
                raise ValueError("a proposer may try prompts on training rows only")
            return trial(self._judge("trials", prompt, replace(train.dataset, rows=tuple(rows))))

        inside = trial(train.only(self._inside(train)))
        return Workbench(
            ask=self._ask,
            train=inside,
            dataset=train.dataset,
            try_out=try_out,
            seed=self.run.settings.seed * 1_000 + self.number,
            watch=self.run.services.watch,
        )

    def _ask(self, requests: Sequence[Request]) -> list[Completion]:
        completions: list[Completion] = []
        for outcome in self.run.services.optimizer_client.ask(requests):
            if isinstance(outcome, ModelError):
                hint = outcome.hint
                if hint is None and outcome.status in _TOO_LARGE:
                    tokens = self.run.settings.brief_budget(view_of(self.branch.proposer))
                    hint = (
                        f"where it is too long, a --brief-tokens under {tokens:,} makes it shorter;"
                        f" {LARGER_CONTEXT}"
                    )
                raise Unanswered(str(outcome), status=outcome.status, hint=hint) from outcome
            if not isinstance(outcome, Completion):
                raise outcome
            text = without_thinking(outcome.text)
            # What a cut reply still says may be of use; where it was all thinking, only more room
            # helps.
            if outcome.finish_reason == "length" and not text:
                raise Unanswered(
                    f"{cut_off(outcome)}; raise optimizer_max_tokens of the model in models.yaml"
                )
            completions.append(replace(outcome, text=text))
        return completions

    def _inside(self, train: JudgedDataset) -> list[int]:
        """Return the positions of the target's scored training rows; of all where it has none or is
        untested.
        """
        target, scored = self.run.goal.target, [int(i) for i in train.scored]
        inside = target.member(train.dataset)
        return [i for i in scored if inside[i] or not target.tested] or scored

    def _judge(self, doing: str, prompt: JudgePrompt, rows: Dataset) -> JudgedDataset:
        where = f"{self.branch.proposer.name}, {self.branch.fold.name}, step {self.number}"
        return self.run.judge(f"{where}: {doing}", prompt, rows)
