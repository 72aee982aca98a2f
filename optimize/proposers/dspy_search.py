"""One search of DSPy's on training rows: what it may spend, and what every prompt it tried has
cost.

DSPy takes every exception for a failed row, so what must end the search is a `Stop`, which is none.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...judges import (
    Answer,
    Completion,
    Example,
    JudgePrompt,
    JudgewrightError,
    Request,
    Row,
    Unscored,
    Verdict,
)
from .demonstrations import write_reply
from .texts import too_long
from .workbench import Trial, Workbench


class Stop(BaseException):
    """Ends a search at once; not an Exception, because DSPy counts every Exception as a row that
    failed.
    """

    def __init__(self, reason: str | BaseException) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(slots=True)
class Search:
    """One search on training rows: what it may spend, and what every prompt it tried has cost."""

    prompt: JudgePrompt
    bench: Workbench
    calls: int
    """Requests of judge and optimizer model at most, cached replies included."""
    rows: Sequence[Row]
    """The rows that prompts are ranked on."""
    step: int
    examples: tuple[Example, ...] = ()
    """Demonstrations that stay in front of those DSPy chooses."""
    spent: int = 0
    own_requests: int = 0
    """Requests of DSPy's own to the optimizer model so far; makes equal ones different."""
    results: dict[tuple[str, str], tuple[Verdict | None, float]] = field(default_factory=dict)
    """Verdict and cost by prompt version and row id."""
    prompts: dict[str, JudgePrompt] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    """What could not be used, and why the search ended early."""

    def spend(self, requests: int) -> None:
        """Count requests before they are made; the search ends where they would go over its cap."""
        if self.spent + requests > self.calls:
            raise Stop(f"the search reached its cap of {self.calls} calls")
        self.spent += requests

    def judge(self, prompt: JudgePrompt, rows: Sequence[Row]) -> None:
        """Have rows judged at once, those that this prompt has not judged yet."""
        self.prompts.setdefault(prompt.version, prompt)
        open_rows = [row for row in rows if (prompt.version, row.id) not in self.results]
        if not open_rows:
            return
        if reason := too_long(self.prompt, self.prompt.criteria, prompt.criteria):
            # It could never be proposed, so it costs the most and no call.
            self.reasons.append(reason)
            self.results |= {(prompt.version, row.id): (None, 1.0) for row in open_rows}
            return
        self.spend(len(open_rows))
        with _ending():
            trial = self.bench.try_out(prompt, open_rows)
        for row, answer, cost in zip(
            open_rows, trial.judged.answers, trial.costs.tolist(), strict=True
        ):
            verdict = None if isinstance(answer, Unscored) else answer
            self.results[prompt.version, row.id] = (verdict, cost)

    def trial(self, prompt: JudgePrompt) -> Trial:
        """What a prompt has done so far, on the rows that it has judged."""
        rows: list[Row] = []
        answers: list[Answer] = []
        losses: list[float] = []
        for row in self.bench.rows:
            if (prompt.version, row.id) not in self.results:
                continue
            verdict, cost = self.results[prompt.version, row.id]
            rows.append(row)
            answers.append(verdict or Unscored(row_id=row.id, reason="parse"))
            if verdict is not None and row.label is not None:
                losses.append(cost)
        judged = self.bench.train.judged
        dataset = replace(judged.dataset, rows=tuple(rows))
        return Trial(
            judged=replace(judged, dataset=dataset, answers=tuple(answers)), losses=np.array(losses)
        )

    def ask(self, requests: Sequence[Request]) -> list[Completion]:
        """Ask the optimizer model; see `Workbench.ask`."""
        self.spend(len(requests))
        with _ending():
            return self.bench.ask(requests)

    def cost(self, version: str) -> float | None:
        """The mean cost of a prompt on the ranking rows; None unless it judged all of them."""
        costs: list[float] = []
        for row in self.rows:
            result = self.results.get((version, row.id))
            if result is None:
                return None
            costs.append(result[1])
        return sum(costs) / len(costs) if costs else None

    def best(self) -> tuple[JudgePrompt, float, float] | None:
        """The prompt of the lowest cost, that cost, and the current prompt's; None where none is
        lower.
        """
        before = self.cost(self.prompt.version)
        if before is None:
            return None
        ranked: list[tuple[float, str]] = []
        for version in self.prompts:
            cost = self.cost(version)
            if cost is not None:
                ranked.append((cost, version))
        lowest, version = min(ranked)
        if lowest >= before:
            return None
        return self.prompts[version], lowest, before


def outputs_of(prompt: JudgePrompt) -> tuple[str, ...]:
    """Return the fields of the judge's reply, in order."""
    return tuple(prompt.reply_schema) or ("score",)


def prompt_from(
    search: Search, criteria: str, demos: Sequence[Any]
) -> JudgePrompt:  # Any: DSPy's examples
    """Return the judge prompt that DSPy's instructions and demonstrations stand for."""
    prompt = search.prompt
    shown: list[Example] = []
    for demo in demos:
        inputs = {name: str(demo[name]) for name in prompt.inputs}
        fields = {name: demo[name] for name in outputs_of(prompt)}
        shown.append(Example(inputs=inputs, reply=write_reply(prompt, fields)))
    # DSPy may take off the white space around instructions that it never changed.
    same = criteria.strip() == prompt.criteria.strip()
    return replace(
        prompt, criteria=prompt.criteria if same else criteria, examples=(*search.examples, *shown)
    )


@contextlib.contextmanager
def _ending() -> Iterator[None]:
    """Turn what the workbench raises into a stop, which DSPy cannot take for a failed row."""
    try:
        yield
    except (JudgewrightError, KeyboardInterrupt) as error:
        raise Stop(error) from error
