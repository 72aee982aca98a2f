"""One step of the climb: a minibatch, a critique, proposals, their race on validation, and what became of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
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
    Splits,
)
from .context import Goal, RunSettings, Services, judge_rows
from .critique import Critique, critique_batch, minibatch
from .invariants import check_candidate
from .losses.loss import row_losses
from .proposers import Attempt, NoProposal, Proposal, Trial, Unanswered, Workbench
from .racing.race import RaceResult, Why, race
from .racing.schedule import RaceSettings
from .search_state import Candidate, SearchState

_LOST: Mapping[Why, str] = {
    "cannot win": "worse: it cannot win, shown on {rows} of {of} validation rows",
    "behind when calls ran short": "behind another candidate on {rows} of {of} validation rows",
    "behind in the screening": "behind other candidates with the screening model",
    "leaves rows unscored": "leaves more validation rows unscored than another",
    "leaves rows unscored in the screening": "leaves more rows unscored than another with the screening model",
}


@dataclass(slots=True, kw_only=True)
class _Entry:
    """One proposal of a step, and what became of it."""

    told: dict[str, Any]  # Any: JSON
    prompt: JudgePrompt | None
    """None where there is nothing to try."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Runner:
    """A proposal that may run."""

    entry: _Entry
    prompt: JudgePrompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What a step works on and with."""

    number: int
    """From 1."""
    state: SearchState
    parts: Splits
    goal: Goal
    services: Services
    settings: RunSettings

    def take(self) -> dict[str, Any]:  # Any: JSON
        """Take the step: the climb goes on from the best candidate, and the event tells of every proposal."""
        batch = self._draw()
        judged = self._judge("minibatch", self.state.current.prompt, batch)
        losses = self._losses(judged)
        self.state.weigh(judged, losses)
        critique = critique_batch(judged, losses, objective=self.goal.objective, slice_name=self.goal.target.name)
        entries = self._propose_all(critique)
        event = {"step": self.number, "rows": [row.id for row in batch.rows], "batch_loss": critique.loss}
        runners = [_Runner(entry=entry, prompt=entry.prompt) for entry in entries if entry.prompt]
        ahead = entries[0]
        if runners:
            try:
                raced = self._race([runner.prompt for runner in runners])
                found = raced.to_json()
                event |= {"volatile": found.pop("volatile"), "race": found}
                ahead = self._conclude(runners, raced)
            except LossError as error:
                ahead = self._give_up(runners, f"no loss: {error}")
        others = [entry.told for entry in entries if entry is not ahead]
        return event | ahead.told | ({"others": others} if others else {})

    def _propose_all(self, critique: Critique) -> list[_Entry]:
        """Ask for the step's proposals, and say of each whether it may run."""
        entries: list[_Entry] = []
        last = self.number * self.settings.candidates
        for number in range(last - self.settings.candidates + 1, last + 1):
            proposal = self._propose(critique, number)
            if isinstance(proposal, NoProposal):
                entries.append(_Entry(told={"result": "no proposal", "reason": proposal.reason}, prompt=None))
                continue
            new = proposal.prompt
            told = {"gradient": proposal.gradient, "version": new.version, "criteria": new.criteria, "note": new.note}
            refusal = self._refusal(new, {entry.told.get("version") for entry in entries})
            entries.append(_Entry(told=told | (refusal or {}), prompt=None if refusal else new))
        return entries

    def _propose(self, critique: Critique, number: int) -> Proposal | NoProposal:
        """Ask the proposer; what fails for this proposal alone becomes its reason."""
        current, past = self.state.current.prompt, self.state.past
        try:
            return self.services.proposer.propose(current, critique, self._bench(number), past=past, step=number)
        except Unanswered as error:
            return NoProposal(f"the optimizer model failed: {error}")
        except LossError as error:
            return NoProposal(f"no loss: {error}")

    def _refusal(self, new: JudgePrompt, beside: set[str | None]) -> dict[str, Any] | None:  # Any: JSON
        """What to journal about a proposal that may not run; None for one that may.

        Args:
            new: The proposal.
            beside: Versions that this step has already proposed.
        """
        state = self.state
        violations = check_candidate(
            state.first.prompt,
            new,
            phrases=state.phrases,
            editable=self.services.proposer.parts,
            training=state.train.dataset.rows,
        )
        if violations:
            return {"result": "refused", "violations": [asdict(violation) for violation in violations]}
        tried = {attempt.prompt.version for attempt in state.past}
        return {"result": "tried before"} if new.version in tried | beside else None

    def _race(self, candidates: Sequence[JudgePrompt]) -> RaceResult:
        """Race the candidates against the current prompt, whose verdicts are all in the record.

        A single candidate is dropped only where it is shown that it cannot win; several are also cut as calls run
        short.
        """
        services, cheaper = self.services, self.services.screen_client
        share = RaceSettings().share if len(candidates) > 1 else None
        return race(
            [self.state.current.prompt, *candidates],
            self.parts.validation,
            lambda prompt, rows: self._judge("race", prompt, rows),
            self._losses,
            settings=RaceSettings(seed=self._seed(self.number), share=share),
            screen=cheaper
            and (lambda prompt, rows: judge_rows("screening", prompt, rows, services, self.settings, client=cheaper)),
            calls=lambda: sum(client.stats.calls for client in (services.judge_client, cheaper) if client),
        )

    def _conclude(self, runners: Sequence[_Runner], raced: RaceResult) -> _Entry:
        """Validate the winner and whoever ran to the end; say what became of each; return who came farthest."""
        current = self.state.current
        standings = list(zip(runners, raced.standings[1:], strict=True))
        standings.sort(key=lambda pair: (pair[1].dropped is not None, -pair[1].rows))
        best = current.loss
        for runner, standing in standings:
            told = runner.entry.told
            finished = standing.rows == raced.rows and standing.dropped != "leaves rows unscored"
            if standing.dropped is None or finished:
                validated = self._judge("validation", runner.prompt, self.parts.validation)
                candidate = Candidate.of(runner.prompt, validated, self.goal)
                holdout_rows = len(self.parts.holdout)
                result = self.state.keep_if_better(candidate, self.goal.objective, holdout_rows=holdout_rows)
                told |= {"loss": candidate.loss, **candidate.metrics, "result": result}
                best = candidate.loss if standing.dropped is None else best
            else:
                result = _LOST[standing.dropped].format(rows=standing.rows, of=raced.rows)
                told["result"] = result
                loss = 1.0 if standing.behind is None else min(1.0, best + standing.behind)
                self.state.past.append(Attempt(prompt=runner.prompt, loss=loss, result=result))
        return standings[0][0].entry

    def _give_up(self, runners: Sequence[_Runner], result: str) -> _Entry:
        """Say of everyone in a race without an end how it ended, so that none of them is tried again."""
        for runner in runners:
            runner.entry.told["result"] = result
            self.state.past.append(Attempt(prompt=runner.prompt, loss=1.0, result=result))
        return runners[0].entry

    def _bench(self, number: int) -> Workbench:
        """Lay out what the proposer may work with: training rows of the target and nothing else."""
        state = self.state
        train = replace(state.train, answers=tuple(state.answers[row.id] for row in state.train.dataset.rows))
        known = {row.id for row in state.train.dataset.rows}

        def trial(judged: JudgedDataset) -> Trial:
            return Trial(judged=judged, losses=self._losses(judged))

        def try_out(prompt: JudgePrompt, rows: Sequence[Row]) -> Trial:
            if not known.issuperset(row.id for row in rows):
                raise ValueError("a proposer may try prompts on training rows only")
            return trial(self._judge("trials", prompt, replace(state.train.dataset, rows=tuple(rows))))

        inside = trial(train.only(self._inside(train)))
        return Workbench(ask=self._ask, train=inside, try_out=try_out, seed=self._seed(number))

    def _ask(self, requests: Sequence[Request]) -> list[Completion]:
        outcomes = self.services.optimizer_client.ask(requests)
        for outcome in outcomes:
            if isinstance(outcome, ModelError):
                raise Unanswered(str(outcome), status=outcome.status) from outcome
            if not isinstance(outcome, Completion):
                raise outcome
        return [outcome for outcome in outcomes if isinstance(outcome, Completion)]

    def _draw(self) -> Dataset:
        """Draw a minibatch from the slice's training rows, each with a chance in proportion to its loss.

        Unguided, every row has the same chance.
        """
        train, settings = self.state.train, self.settings
        positions, rows = self._inside(train), train.dataset.rows
        weights = [1.0 if settings.unguided else self.state.weights[rows[i].id] for i in positions]
        drawn = minibatch(positions, weights, settings.batch, seed=self._seed(self.number))
        return replace(train.dataset, rows=tuple(rows[i] for i in drawn))

    def _inside(self, train: JudgedDataset) -> list[int]:
        """Positions of the scored training rows of the target; of all of them where it has none."""
        inside = self.goal.target.member(train.dataset)
        return [int(i) for i in train.scored if inside[i]] or [int(i) for i in train.scored]

    def _losses(self, judged: JudgedDataset) -> FloatArray:
        return row_losses(self.goal.loss, judged, self.goal.target.members(judged))

    def _judge(self, doing: str, prompt: JudgePrompt, rows: Dataset) -> JudgedDataset:
        return judge_rows(f"step {self.number}: {doing}", prompt, rows, self.services, self.settings)

    def _seed(self, number: int) -> int:
        return self.settings.seed * 1_000 + number
