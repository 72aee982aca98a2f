"""One step of the search: a brief, a proposal, its validation, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..judges import (
    Completion,
    Dataset,
    FloatArray,
    InputError,
    JudgedDataset,
    JudgePrompt,
    LossError,
    ModelError,
    Request,
    Row,
    cut_off,
    without_thinking,
)
from .brief import Brief, build_brief
from .candidate import Candidate
from .context import RunContext
from .events import ProposalRecord, StepTaken
from .invariants import check_candidate
from .outcome import FAILED, NO_PROPOSAL
from .proposers import NoProposal, Proposal, Trial, Unanswered, Workbench
from .proposers.proposer import view_of
from .search_state import SearchState
from .settings import LEAST_VALIDATED
from .study import Study, column_values

_TOO_LARGE = (400, 413, 422)
"""What endpoints answer to a request that is longer than their context."""
LARGER_CONTEXT = (
    "a larger context is the server's setting (llama.cpp -c, vLLM --max-model-len, Ollama num_ctx)"
)
FEWER_ANSWERS = 0.2
"""A candidate that answers so much less than the prompt to beat is dropped: its loss is over easy
rows.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What a step works on and with."""

    number: int
    """From 1."""
    state: SearchState
    run: RunContext

    def take(self) -> StepTaken:
        """Take the step: the search goes on from the new prompt where that is better."""
        losses = self._judge_batch()
        brief = self._brief()
        self.state.quoted.update(brief.quoted)
        proposal = self._propose(brief)
        if isinstance(proposal, NoProposal):
            result = FAILED if proposal.failed else NO_PROPOSAL
            record = ProposalRecord(result=result, reason=proposal.reason)
        else:
            record = self._try(proposal)
        return StepTaken(
            step=self.number,
            rows=tuple(row.id for row in self.state.batch.rows),
            batch_loss=float(losses.mean()) if len(losses) else 0.0,
            quoted=brief.quoted,
            proposal=record,
        )

    def _judge_batch(self) -> FloatArray:
        """Judge the training rows with the current prompt, and return the losses."""
        judged = self._judge("training rows", self.state.current.prompt, self.state.batch)
        self.state.judge_batch(judged)
        return self.run.goal.row_losses(judged)

    def _try(self, proposal: Proposal) -> ProposalRecord:
        """Validate a proposal's prompt, unless it breaks an invariant or was tried before."""
        prompt, state = proposal.prompt, self.state
        record = ProposalRecord(
            result="breaks a rule",
            gradient=proposal.gradient,
            version=prompt.version,
            criteria=prompt.criteria,
            note=prompt.note,
        )
        violations = check_candidate(
            state.first.prompt,
            prompt,
            phrases=state.phrases,
            editable=self.run.services.proposer.parts,
            training=state.train.dataset.rows,
        )
        if violations:
            return replace(record, violations=violations)
        if any(attempt.prompt.version == prompt.version for attempt in state.past):
            return replace(record, result="tried before")
        try:
            return self._validate(prompt, record)
        except LossError as error:
            result = f"no loss: {error}"
            state.remember(prompt, result)
            return replace(record, result=result)

    def _validate(self, prompt: JudgePrompt, record: ProposalRecord) -> ProposalRecord:
        """Judge a prompt on validation rows and keep it if it is better than the current one.

        Raises:
            LossError: The loss cannot be computed on these rows.
        """
        rows = self._validation_rows()
        judged = self._judge("validation", prompt, rows)
        answered = np.zeros(len(rows), np.bool_)
        answered[judged.scored] = True
        current = {row.id for row in self.state.current.judged.rows}
        before = np.mean([row.id in current for row in rows.rows])
        if not answered.any() or answered.mean() < before - FEWER_ANSWERS:
            result = "leaves more validation rows unscored than the present prompt"
            self.state.remember(prompt, result)
            return replace(record, result=result)
        candidate = Candidate.of(prompt, judged, self.run.goal)
        result = self.state.keep_if_better(
            candidate, self.run.goal.objective, holdout_rows=len(self.run.parts.holdout)
        )
        return replace(
            record,
            result=result,
            loss=candidate.loss,
            metrics=candidate.metrics,
            validation_rows=len(rows),
        )

    def _validation_rows(self) -> Dataset:
        """Return the validation rows that a candidate is judged on: half of the labelled ones, the
        same in every step; all of them where a person wrote the one prompt.

        Raises:
            InputError: No row has a label.
        """
        validation = self.run.parts.validation
        labelled = [row for row in validation.rows if row.label is not None]
        if not labelled:
            raise InputError("no validation row has a label: there is nothing to measure on")
        order = np.random.default_rng(self.run.settings.seed).permutation(len(labelled))
        most = len(labelled)
        if self.run.services.proposer.name != "human":
            most = max(most // 2, LEAST_VALIDATED)
        return replace(validation, rows=tuple(labelled[i] for i in order[:most]))

    def _brief(self) -> Brief:
        """Write the brief that the proposer's view calls for."""
        state, settings = self.state, self.run.settings
        view = view_of(self.run.services.proposer)
        brief = build_brief(
            state.current.prompt,
            state.on_batch,
            goal=self.run.goal,
            past=state.past,
            in_use=None if state.current is state.first else state.train,
            budget=settings.brief_budget(view),
            explanation=settings.explanation,
        )
        if view == "errors":
            return brief
        # Reasons tell the label.
        reasons = [settings.explanation] if settings.explanation else []
        columns = column_values(
            state.on_batch,
            columns=settings.slice_columns or None,
            exclude=(*settings.exclude, *reasons),
            keep=settings.keep,
        )
        return replace(Study.of(brief), columns=columns)

    def _propose(self, brief: Brief) -> Proposal | NoProposal:
        """Ask the proposer; what fails for this proposal alone becomes its reason."""
        proposer = self.run.services.proposer
        try:
            return proposer.propose(brief.prompt, brief, self._bench(), step=self.number)
        except Unanswered as error:
            helps = f" ({error.hint})" if error.hint else ""
            return NoProposal(f"the optimizer model failed: {error}{helps}", failed=True)
        except LossError as error:
            return NoProposal(f"no loss: {error}")

    def _bench(self) -> Workbench:
        """Lay out what the proposer may work with: training rows of the target and nothing else."""
        state = self.state
        train = state.last_known()
        ids = {row.id for row in train.dataset.rows}

        def trial(judged: JudgedDataset) -> Trial:
            return Trial(judged=judged, losses=self.run.goal.row_losses(judged))

        def try_out(prompt: JudgePrompt, rows: Sequence[Row]) -> Trial:
            if not ids.issuperset(row.id for row in rows):
                raise ValueError("a proposer may try prompts on training rows only")
            state.quoted.update(row.id for row in rows)
            return trial(
                self._judge("trials", prompt, replace(state.train.dataset, rows=tuple(rows)))
            )

        inside = trial(train.only(self._inside(train)))
        return Workbench(
            ask=self._ask,
            train=inside,
            dataset=state.train.dataset,
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
                    tokens = self.run.settings.brief_budget(view_of(self.run.services.proposer))
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
        return self.run.judge(f"step {self.number}: {doing}", prompt, rows)
