"""What a proposer may work with: the optimizer model, the training rows of the target, and trials
on them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from ...judges import (
    Completion,
    Dataset,
    FloatArray,
    JudgedDataset,
    JudgePrompt,
    ModelError,
    OutputScale,
    Progress,
    Request,
    Row,
)
from ...judges.models import unwatched

Loaded = TypeVar("Loaded")
REPORT_EVERY = 0.5
"""Seconds between two reports while a library is loaded."""
Ask = Callable[[Sequence[Request]], list[Completion]]
"""Asks the optimizer model several things at once, by the client with its cache and budget. The
completions' texts are without the thinking they open with."""


class Unanswered(ModelError):
    """One request of a proposer failed while the endpoint works; the step ends without a proposal,
    the run goes on.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What a prompt did on training rows."""

    judged: JudgedDataset
    losses: FloatArray
    """Of each scored row; shape (n,)."""

    @property
    def costs(self) -> FloatArray:
        """What each row costs in a search, shape (rows,): its loss, and 1 where no verdict could be
        read.

        A search that left unread rows out would come to like prompts that make hard rows
        unreadable. No figure that people see is made of this.
        """
        costs = np.ones(len(self.judged.dataset.rows))
        costs[self.judged.scored] = self.losses
        return costs

    @property
    def cost(self) -> float:
        """The mean of `costs`; 1 for no rows."""
        if not self.judged.dataset.rows:
            return 1.0
        return float(self.costs.mean())


@dataclass(frozen=True, slots=True, kw_only=True)
class Workbench:
    """Everything a proposer reaches beyond its arguments; no validation, holdout or final row is in
    it.
    """

    ask: Ask
    """Raises `Unanswered` where one request failed for good and others would not."""
    train: Trial
    """The target's training rows with their last known verdicts and losses; a row that no minibatch
    drew since the prompt changed still has an earlier prompt's."""
    dataset: Dataset
    """All training rows, those outside the target too."""
    try_out: Callable[[JudgePrompt, Sequence[Row]], Trial]
    """Judges training rows with a prompt, through the judge's client, budget and cache."""
    seed: int
    """Of everything a proposer draws in this step."""
    watch: Callable[[str, Progress], None] = unwatched
    """Called with what is waited for, where that is not the optimizer model."""

    def load(self, library: str, load: Callable[[], Loaded]) -> Loaded:
        """Load a large library in a thread, and report meanwhile; nothing else runs beside it."""
        waiting = Progress(done=0, total=1, failed=0, recorded=0, cost=None, tokens=0)
        with ThreadPoolExecutor(max_workers=1) as pool:
            work = pool.submit(load)
            while not wait([work], timeout=REPORT_EVERY).done:
                self.watch(f"loading {library}", waiting)
        return work.result()

    @property
    def scale(self) -> OutputScale:
        """The judge's scale, with the threshold that decides."""
        return self.train.judged.scale

    @property
    def rows(self) -> tuple[Row, ...]:
        """The training rows of the target."""
        return self.train.judged.dataset.rows
