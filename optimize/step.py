"""One step of the search: a minibatch, a brief, proposals, their race on validation, and how each one ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

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
    without_thinking,
)
from ..judges.models import ask_together
from .archive import Candidate
from .brief import Brief, build_brief
from .context import RunContext, judge_rows
from .events import ProposalRecord, StepTaken
from .invariants import check_candidate
from .minibatch import minibatch
from .proposers import NoProposal, Proposal, Trial, Unanswered, Workbench
from .racing.race import DropReason, RaceResult, run_race
from .racing.schedule import RaceSettings
from .search_state import SearchState

UNTRIED = "not tried"
"""The result of a proposal until the step has one for it."""
_LOST: Mapping[DropReason, str] = {
    "cannot win": "worse: it cannot win, shown on {rows} of {of} validation rows",
    "behind when calls ran short": "behind another candidate on {rows} of {of} validation rows",
    "behind in the screening": "behind other candidates with the screening model",
    "leaves rows unscored": "leaves more validation rows unscored than another",
    "leaves rows unscored in the screening": "leaves more rows unscored than another with the screening model",
}


@dataclass(slots=True, kw_only=True)
class _Entry:
    """One proposal of a step; its record changes as the step goes on."""

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
        """Take the step: the search goes on from the best candidate, and the event has every proposal."""
        batch = self._draw()
        judged = self._judge("minibatch", self.state.current.prompt, batch)
        losses = self.run.goal.row_losses(judged)
        self.state.update_rows(judged, losses)
        train = self._train()
        brief = build_brief(self.state.current.prompt, train, goal=self.run.goal, past=self.state.past)
        entries = self._propose_all(brief)
        candidates = [entry for entry in entries if entry.prompt is not None]
        race, first = None, entries[0]
        if candidates:
            try:
                race = self._race(candidates)
                first = self._conclude(candidates, race)
            except LossError as error:
                # None of them came to an end, so none is tried again.
                for entry in candidates:
                    self._drop(entry, f"no loss: {error}", loss=1.0)
                first = candidates[0]
        others = tuple(entry.record for entry in entries if entry is not first)
        result = {} if race is None else race.to_json()
        volatile = result.pop("volatile", None)
        return StepTaken(
            step=self.number,
            rows=tuple(row.id for row in batch.rows),
            batch_loss=float(losses.mean()) if len(losses) else 0.0,
            quoted=brief.quoted,
            proposal=first.record,
            others=others or None,
            race=result or None,
            volatile=volatile,
        )

    def _propose_all(self, brief: Brief) -> list[_Entry]:
        """Ask for the step's proposals, and keep the prompt of each that may be tried."""
        entries: list[_Entry] = []
        last = self.number * self.run.settings.candidates
        numbers = range(last - self.run.settings.candidates + 1, last + 1)
        for proposal in ask_together([partial(self._propose, brief, number) for number in numbers]):
            if isinstance(proposal, NoProposal):
                entries.append(_Entry(record=ProposalRecord(result="no proposal", reason=proposal.reason)))
                continue
            prompt = proposal.prompt
            entry = _Entry(
                record=ProposalRecord(
                    result=UNTRIED,
                    gradient=proposal.gradient,
                    version=prompt.version,
                    criteria=prompt.criteria,
                    note=prompt.note,
                )
            )
            versions = {other.record.version for other in entries}
            versions |= {attempt.prompt.version for attempt in self.state.past}
            violations = check_candidate(
                self.state.first.prompt,
                prompt,
                phrases=self.state.phrases,
                editable=self.run.services.proposer.parts,
                training=self.state.train.dataset.rows,
            )
            if violations:
                entry.end("refused", violations=violations)
            elif prompt.version in versions:
                entry.end("tried before")
            else:
                entry.prompt = prompt
            entries.append(entry)
        return entries

    def _propose(self, brief: Brief, number: int) -> Proposal | NoProposal:
        """Ask the proposer; what fails for this proposal alone becomes its reason."""
        current, proposer = self.state.current.prompt, self.run.services.proposer
        try:
            return proposer.propose(current, brief, self._bench(number), step=number)
        except Unanswered as error:
            return NoProposal(f"the optimizer model failed: {error}")
        except LossError as error:
            return NoProposal(f"no loss: {error}")

    def _race(self, candidates: Sequence[_Entry]) -> RaceResult:
        """Race the candidates against the current prompt, whose verdicts are all in the record.

        One alone is dropped only where it is shown that it cannot win; several are also cut as calls run short.
        """
        services, settings = self.run.services, self.run.settings
        judge_client, screen_client = services.judge_client, services.screen_client

        def screen(prompt: JudgePrompt, rows: Dataset) -> JudgedDataset:
            return judge_rows("screening", prompt, rows, services, settings, client=screen_client)

        def count_calls() -> int:
            screening = 0 if screen_client is None else screen_client.stats.calls
            return judge_client.stats.calls + screening

        prompts = [entry.prompt for entry in candidates if entry.prompt is not None]
        share = RaceSettings().share if len(prompts) > 1 else None
        return run_race(
            [self.state.current.prompt, *prompts],
            self.run.parts.validation,
            lambda prompt, rows: self._judge("race", prompt, rows),
            self.run.goal.row_losses,
            settings=RaceSettings(seed=self._seed(self.number), share=share, coarse=judge_client.by_exchange),
            screen=None if screen_client is None else screen,
            calls=count_calls,
        )

    def _conclude(self, candidates: Sequence[_Entry], result: RaceResult) -> _Entry:
        """Validate the winner and whoever ran to the end, write down what became of each, return the farthest."""
        current = self.state.current
        # The first standing is the current prompt's.
        standings = list(zip(candidates, result.standings[1:], strict=True))
        standings.sort(key=lambda pair: (pair[1].dropped is not None, -pair[1].rows))
        best = current.loss
        for entry, standing in standings:
            finished = standing.rows == result.rows and standing.dropped != "leaves rows unscored"
            if standing.dropped is None or finished:
                loss = self._validate(entry)
                if standing.dropped is None:
                    best = loss
            else:
                ending = _LOST[standing.dropped].format(rows=standing.rows, of=result.rows)
                loss = 1.0 if standing.behind is None else min(1.0, best + standing.behind)
                self._drop(entry, ending, loss)
        return standings[0][0]

    def _validate(self, entry: _Entry) -> float:
        """Judge every validation row with a candidate, keep it if it is better, and return its loss."""
        assert entry.prompt is not None
        judged = self._judge("validation", entry.prompt, self.run.parts.validation)
        candidate = Candidate.of(entry.prompt, judged, self.run.goal)
        result = self.state.keep_if_better(candidate, self.run.goal.objective, holdout_rows=len(self.run.parts.holdout))
        entry.end(result, loss=candidate.loss, metrics=candidate.metrics)
        return candidate.loss

    def _drop(self, entry: _Entry, result: str, loss: float) -> None:
        assert entry.prompt is not None
        entry.end(result)
        self.state.remember(entry.prompt, loss, result)

    def _bench(self, number: int) -> Workbench:
        """Lay out what the proposer may work with: training rows of the target and nothing else."""
        state = self.state
        train = self._train()
        ids = {row.id for row in train.dataset.rows}

        def trial(judged: JudgedDataset) -> Trial:
            return Trial(judged=judged, losses=self.run.goal.row_losses(judged))

        def try_out(prompt: JudgePrompt, rows: Sequence[Row]) -> Trial:
            if not ids.issuperset(row.id for row in rows):
                raise ValueError("a proposer may try prompts on training rows only")
            return trial(self._judge("trials", prompt, replace(state.train.dataset, rows=tuple(rows))))

        inside = trial(train.only(self._inside(train)))
        return Workbench(ask=self._ask, train=inside, try_out=try_out, seed=self._seed(number))

    def _train(self) -> JudgedDataset:
        """The training rows with the last known answer to each."""
        train = self.state.train
        return replace(train, answers=tuple(self.state.answers[row.id] for row in train.dataset.rows))

    def _ask(self, requests: Sequence[Request]) -> list[Completion]:
        completions: list[Completion] = []
        for outcome in self.run.services.optimizer_client.ask(requests):
            if isinstance(outcome, ModelError):
                raise Unanswered(str(outcome), status=outcome.status) from outcome
            if not isinstance(outcome, Completion):
                raise outcome
            text = without_thinking(outcome.text)
            # What a cut reply still says may be of use; where it was all thinking, only more room helps.
            if outcome.finish_reason == "length" and not text:
                raise Unanswered(f"{cut_off(outcome)}; raise optimizer_max_tokens of the model in models.yaml")
            completions.append(replace(outcome, text=text))
        return completions

    def _draw(self) -> Dataset:
        """Draw a minibatch from the slice's training rows, each with a chance in proportion to its loss.

        Unguided, every row has the same chance.
        """
        train, settings = self.state.train, self.run.settings
        positions, rows = self._inside(train), train.dataset.rows
        weights = [1.0 if settings.unguided else self.state.weights[rows[i].id] for i in positions]
        drawn = minibatch(positions, weights, settings.batch, seed=self._seed(self.number))
        return replace(train.dataset, rows=tuple(rows[i] for i in drawn))

    def _inside(self, train: JudgedDataset) -> list[int]:
        """Return the positions of the target's scored training rows; of all of them where it has none."""
        inside = self.run.goal.target.member(train.dataset)
        scored = [int(i) for i in train.scored]
        return [i for i in scored if inside[i]] or scored

    def _judge(self, doing: str, prompt: JudgePrompt, rows: Dataset) -> JudgedDataset:
        return self.run.judge(f"step {self.number}: {doing}", prompt, rows)

    def _seed(self, number: int) -> int:
        return self.run.settings.seed * 1_000 + number
