"""One step of the search: briefs, proposals, their race on validation rows, and how each ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ..judges import (
    Completion,
    Dataset,
    FloatArray,
    JudgedDataset,
    JudgePrompt,
    LossError,
    ModelError,
    Request,
    Row,
    cut_off,
    without_thinking,
)
from ..judges.models import ask_together
from .archive import Candidate
from .brief import Attempt, Brief, build_brief
from .context import RunContext
from .events import ProposalRecord, StepTaken
from .invariants import check_candidate
from .outcome import FAILED, NO_PROPOSAL
from .proposers import NoProposal, Proposal, Trial, Unanswered, Workbench
from .proposers.prompt_parts import rows_shown
from .racing.race import DropReason, RaceResult, Standing, run_race
from .racing.schedule import RaceSettings
from .search_state import SearchState
from .settings import RACE_SHARE

_TOO_LARGE = (400, 413, 422)
"""What endpoints answer to a request that is longer than their context."""
LARGER_CONTEXT = (
    "a larger context is the server's setting (llama.cpp -c, vLLM --max-model-len, Ollama num_ctx)"
)
UNTRIED = "not tried"
"""The result of a proposal until the step has one for it."""
_LOST: Mapping[DropReason, str] = {
    "cannot win": "worse: it cannot win, shown on {rows}",
    "behind when calls ran short": "behind another candidate on {rows}",
    "leaves rows unscored": "leaves more {part} rows unscored than another",
}


@dataclass(slots=True, kw_only=True)
class _Entry:
    """One proposal of a step; its record changes as the step goes on."""

    number: int
    """Of the proposal in the run, from 1."""
    record: ProposalRecord
    prompt: JudgePrompt | None = None
    """None where there is nothing to try."""

    def end(self, result: str, **figures: Any) -> None:  # Any: other fields of the record
        """Write down what became of the proposal."""
        self.record = replace(self.record, result=result, **figures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What a step works on and with."""

    number: int
    """From 1."""
    state: SearchState
    run: RunContext

    def take(self) -> StepTaken:
        """Take the step: the search goes on from the best candidate, and the event has every
        proposal.
        """
        losses = self._judge_batch()
        entries, quoted = self._propose_all()
        self.state.archive.quoted.update(quoted)
        entrants = [entry for entry in entries if entry.prompt is not None]
        for entry in entrants:
            assert entry.prompt is not None
            self.state.archive.quoted.update(
                rows_shown(entry.prompt, self.state.train.dataset.rows)
            )
        race: RaceResult | None = None
        try:
            if entrants:
                race = self._race(entrants)
                entrants.sort(key=self._conclude(entrants, race).index)
        except LossError as error:
            # None of them came to an end, so none is tried again.
            for entry in entrants:
                self._drop(entry, f"no loss: {error}")
        first = (entrants or entries)[0]
        others = tuple(entry.record for entry in entries if entry is not first)
        raced = None if race is None else race.to_json()
        return StepTaken(
            step=self.number,
            rows=tuple(row.id for row in self.state.batch.rows),
            batch_loss=float(losses.mean()) if len(losses) else 0.0,
            quoted=quoted,
            proposal=first.record,
            others=others or None,
            volatile=None if raced is None else raced.pop("volatile"),
            race=raced,
        )

    @property
    def _candidates(self) -> int:
        return self.run.settings.candidates_a_step

    @property
    def _patient(self) -> bool:
        """Whether the one text that a person proposed is measured to the end."""
        return self.run.services.proposer.name == "human"

    def _judge_batch(self) -> FloatArray:
        """Judge the training rows with the current prompt, and those last shown with new
        candidates; return the losses.

        What a candidate mends and breaks among the rows that the model has seen stands in the next
        brief.
        """
        state = self.state
        current = state.current.prompt
        others = [
            attempt.prompt for attempt in state.past if not len(state.known(attempt.prompt).dataset)
        ]
        others = [prompt for prompt in others if prompt.version != current.version]
        tasks = [partial(self._judge, "training rows", current, state.batch)]
        tasks += [
            partial(self._judge, "earlier candidates", prompt, state.shown) for prompt in others
        ]
        judged = ask_together(tasks)
        for prompt, answers in zip((current, *others), judged, strict=True):
            state.learn(prompt, answers)
        return self.run.goal.row_losses(judged[0])

    def _propose_all(self) -> tuple[list[_Entry], tuple[str, ...]]:
        """Ask for the step's proposals, keep the prompt of each that may be tried, and say which
        rows were shown.
        """
        entries: list[_Entry] = []
        first = (self.number - 1) * self._candidates + 1
        brief = self._brief()
        self.state.show(brief.quoted)
        quoted = list(brief.quoted)
        tasks = [partial(self._propose, brief, first + k) for k in range(self._candidates)]
        for k, proposal in enumerate(ask_together(tasks)):
            entry = _Entry(number=first + k, record=ProposalRecord(result=UNTRIED))
            if isinstance(proposal, NoProposal):
                entry.end(FAILED if proposal.failed else NO_PROPOSAL, reason=proposal.reason)
            else:
                self._check(entry, proposal, entries)
            entries.append(entry)
            quoted += () if isinstance(proposal, NoProposal) else proposal.quoted
        return entries, tuple(dict.fromkeys(quoted))

    def _check(self, entry: _Entry, proposal: Proposal, others: Sequence[_Entry]) -> None:
        """Let a proposal's prompt in unless it breaks an invariant or was tried before."""
        prompt = proposal.prompt
        entry.end(
            UNTRIED,
            gradient=proposal.gradient,
            version=prompt.version,
            criteria=prompt.criteria,
            note=prompt.note,
        )
        versions = {other.record.version for other in others}
        versions |= {attempt.prompt.version for attempt in self.state.past}
        violations = check_candidate(
            self.state.first.prompt,
            prompt,
            phrases=self.state.phrases,
            editable=self.run.services.proposer.parts,
            training=self.state.train.dataset.rows,
        )
        if violations:
            entry.end("breaks a rule", violations=violations)
        elif prompt.version in versions:
            entry.end("tried before")
        else:
            entry.prompt = prompt

    def _brief(self) -> Brief:
        prompt, first = self.state.current.prompt, self.state.first.prompt
        return build_brief(
            prompt,
            self.state.known(prompt),
            goal=self.run.goal,
            past=[self._with_rows(attempt) for attempt in self.state.past],
            in_use=None if prompt.version == first.version else self.state.known(first),
            budget=self.run.settings.brief_tokens,
            explanation=self.run.settings.explanation,
        )

    def _with_rows(self, attempt: Attempt) -> Attempt:
        """Add what the prompt said of training rows; nothing where it was asked about none, or has
        no loss there.
        """
        judged = self.state.known(attempt.prompt)
        if not len(judged.dataset):
            return attempt
        try:
            return replace(
                attempt, trial=Trial(judged=judged, losses=self.run.goal.row_losses(judged))
            )
        except LossError:
            return attempt

    def _propose(self, brief: Brief, number: int) -> Proposal | NoProposal:
        """Ask the proposer; what fails for this proposal alone becomes its reason."""
        proposer = self.run.services.proposer
        try:
            return proposer.propose(brief.prompt, brief, self._bench(number), step=number)
        except Unanswered as error:
            helps = f" ({error.hint})" if error.hint else ""
            return NoProposal(f"the optimizer model failed: {error}{helps}", failed=True)
        except LossError as error:
            return NoProposal(f"no loss: {error}")

    def _race(self, entrants: Sequence[_Entry]) -> RaceResult:
        """Race the candidates against the current prompt, whose verdicts are all in the record."""
        services, run = self.run.services, self.run
        # All steps look at the same rows first: what was dropped can be compared with what comes
        # later.
        settings = RaceSettings(
            seed=run.settings.seed,
            share=None if self._patient else RACE_SHARE,
            coarse=services.judge_client.by_exchange,
        )
        prompts = [entry.prompt for entry in entrants if entry.prompt is not None]
        return run_race(
            [self.state.current.prompt, *prompts],
            run.parts.validation,
            lambda prompt, rows: self._judge("race", prompt, rows),
            run.goal.row_losses,
            settings=settings,
            calls=lambda: services.judge_client.stats.calls,
        )

    def _conclude(self, entrants: Sequence[_Entry], result: RaceResult) -> list[_Entry]:
        """Keep the winner if it is better, and write down what became of each; the farthest
        first.
        """
        # The first standing is the current prompt's.
        standings = list(zip(entrants, result.standings[1:], result.judged[1:], strict=True))
        standings.sort(key=lambda one: (one[1].dropped is not None, -one[1].rows))
        objective, holdout = self.run.goal.objective, len(self.run.parts.holdout)
        for entry, standing, judged in standings:
            assert entry.prompt is not None
            finished = standing.rows == result.rows and standing.dropped != "leaves rows unscored"
            if len(judged.scored) and (standing.dropped is None or finished):
                candidate = self._candidate(entry, judged)
                ended = self.state.keep_if_better(candidate, objective, holdout_rows=holdout)
                entry.end(ended, loss=candidate.loss, metrics=candidate.metrics)
                continue
            self._drop(entry, _ending(standing, result.rows, "validation"))
            if len(judged.scored) and standing.dropped != "leaves rows unscored":
                self.state.archive.add(self._candidate(entry, judged))
        return [entry for entry, _, _ in standings]

    def _candidate(self, entry: _Entry, judged: JudgedDataset) -> Candidate:
        assert entry.prompt is not None
        return Candidate.of(
            entry.prompt,
            judged,
            self.run.goal,
            number=entry.number,
            step=self.number,
            parent=self.state.current.prompt.version,
        )

    def _drop(self, entry: _Entry, result: str) -> None:
        assert entry.prompt is not None
        entry.end(result)
        self.state.remember(entry.prompt, result)

    def _bench(self, number: int) -> Workbench:
        """Lay out what the proposer may work with: training rows of the target and nothing else."""
        state = self.state
        train = state.last_known()
        ids = {row.id for row in train.dataset.rows}

        def trial(judged: JudgedDataset) -> Trial:
            return Trial(judged=judged, losses=self.run.goal.row_losses(judged))

        def try_out(prompt: JudgePrompt, rows: Sequence[Row]) -> Trial:
            if not ids.issuperset(row.id for row in rows):
                raise ValueError("a proposer may try prompts on training rows only")
            state.archive.quoted.update(row.id for row in rows)
            return trial(
                self._judge("trials", prompt, replace(state.train.dataset, rows=tuple(rows)))
            )

        inside = trial(train.only(self._inside(train)))
        return Workbench(
            ask=self._ask,
            train=inside,
            try_out=try_out,
            seed=self._seed(number),
            watch=self.run.services.watch,
        )

    def _ask(self, requests: Sequence[Request]) -> list[Completion]:
        completions: list[Completion] = []
        for outcome in self.run.services.optimizer_client.ask(requests):
            if isinstance(outcome, ModelError):
                hint = outcome.hint
                if hint is None and outcome.status in _TOO_LARGE:
                    tokens = self.run.settings.brief_tokens
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

    def _seed(self, number: int) -> int:
        return self.run.settings.seed * 1_000 + number


def _ending(standing: Standing, rows: int, part: str) -> str:
    """Say why a candidate was dropped."""
    assert standing.dropped is not None
    return _LOST[standing.dropped].format(rows=f"{standing.rows} of {rows} {part} rows", part=part)
