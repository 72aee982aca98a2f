"""Candidates race on the validation rows: paired batches that grow, and an end for those that can
no longer win.

All candidates see the same rows in the same order, drawn by the seed. After each batch a candidate
is dropped for good reason where the e-process of `confidence_sequence` says, at level alpha over
all opponents and all looks together, that it costs more over all rows than another one. Where the
bound is too slow for the calls that may be spent, the field is cut by halves as in sequential
halving (Karnin, Koren and Somekh 2013); such a drop proves nothing and is named for what it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from ...judges import (
    BoolArray,
    Dataset,
    FloatArray,
    InputError,
    IntArray,
    JudgedDataset,
    JudgePrompt,
    LossError,
)
from ...judges.models import ask_together
from .confidence_sequence import ConfidenceSequence
from .schedule import RaceSettings, lay_out, plan_stops

JudgeBatch = Callable[[JudgePrompt, Dataset], JudgedDataset]
"""Judges some rows, through the client; what was asked before comes from its cache."""
LossOf = Callable[[JudgedDataset], FloatArray]
"""The loss of each scored row, in [0, 1]."""
DropReason = Literal[
    "cannot win",
    "behind when calls ran short",
    "leaves rows unscored",
]

PROVEN: frozenset[DropReason] = frozenset(("cannot win", "leaves rows unscored"))
FEWER_ANSWERS = 0.2
"""A candidate that answers so much less than another is dropped: its loss is over easy rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far one candidate came."""

    version: str
    rows: int
    """Rows that it was judged on."""
    loss: float | None
    """Mean loss over those that it and the winner answered; None where there are none."""
    behind: float | None
    """That mean minus the winner's there: a standing and no estimate, as the winner was chosen by
    it.
    """
    dropped: DropReason | None
    """None for the winner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceResult:
    """Who won, who was dropped when and why, and what it took."""

    winner: JudgePrompt
    standings: tuple[Standing, ...]
    """In the order of the candidates."""
    judged: tuple[JudgedDataset, ...]
    """The rows that each was judged on, in the order of the candidates."""
    proven: bool
    """Whether every drop is shown and none was for want of calls."""
    asked: int
    """Verdicts looked at, cached ones included."""
    calls: int
    """Calls made for them."""
    rows: int
    """Labelled rows, which is how many a candidate has behind it that ran to the end."""
    full_calls: int
    """What judging every row for every candidate would have taken."""

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the result as JSON; a resumed run makes fewer calls, so they stand under
        `volatile`.
        """
        return {
            "winner": self.winner.version,
            "proven": self.proven,
            "asked": self.asked,
            "rows": self.rows,
            "full_calls": self.full_calls,
            "standings": [asdict(standing) for standing in self.standings],
            "volatile": {"calls": self.calls},
        }


def run_race(
    candidates: Sequence[JudgePrompt],
    rows: Dataset,
    judge_batch: JudgeBatch,
    loss_of: LossOf,
    *,
    settings: RaceSettings | None = None,
    calls: Callable[[], int] | None = None,
) -> RaceResult:
    """Find the candidate of least loss without judging every row for each.

    Args:
        candidates: Distinct prompts; of equals the first wins.
        rows: The validation rows, with labels.
        judge_batch: The judge.
        loss_of: What a verdict costs.
        settings: See `RaceSettings`.
        calls: Counts the calls so far, such as `lambda: client.stats.calls`; else each verdict
            counts.

    Raises:
        InputError: There is no candidate or no labelled row, or two candidates are the same.
        LossError: A loss is not in [0, 1].
    """
    settings = settings or RaceSettings()
    distinct = len({prompt.version for prompt in candidates})
    if not distinct or distinct < len(candidates):
        raise InputError(f"{len(candidates)} candidates, {distinct} of them distinct, cannot race")
    arms = _Arms(
        candidates=tuple(candidates),
        rows=lay_out(rows, settings),
        loss_of=loss_of,
    )

    def calls_so_far() -> int:
        return arms.verdicts if calls is None else calls()

    at_start = calls_so_far()
    _run(arms, judge_batch, settings)
    winner = int(np.flatnonzero(arms.running)[-1])
    return RaceResult(
        winner=candidates[winner],
        standings=arms.standings(winner),
        judged=tuple(arms.judged(k) for k in range(len(candidates))),
        proven=PROVEN.issuperset(arms.dropped.values()),
        asked=arms.verdicts,
        calls=calls_so_far() - at_start,
        rows=len(arms.rows),
        full_calls=len(candidates) * len(arms.rows),
    )


def _run(arms: _Arms, judge_batch: JudgeBatch, settings: RaceSettings) -> None:
    """Race until one is left."""
    entrants = int(arms.running.sum())
    evidence = ConfidenceSequence(len(arms.candidates), len(arms.rows))
    stops = plan_stops(len(arms.rows), entrants, settings)
    for stop in stops:
        if arms.running.sum() == 1:
            return
        arms.judge_up_to(stop.rows, judge_batch, evidence)
        arms.drop_silent()
        # Every opponent gets its share of alpha, so that the best one meets all of them at alpha.
        arms.drop_hopeless(evidence.peak, math.log((entrants - 1) / settings.alpha))
        if arms.seen == len(arms.rows):
            arms.cut(1, arms.losses, "cannot win")
        else:
            arms.cut(stop.survivors, arms.losses[:, : arms.seen], "behind when calls ran short")


@dataclass(slots=True, kw_only=True)
class _Arms:
    """The candidates, which of them still run, and their losses so far."""

    candidates: tuple[JudgePrompt, ...]
    rows: Dataset
    """In racing order."""
    loss_of: LossOf
    seen: int = 0
    """Rows that the running ones have behind them."""
    verdicts: int = 0
    running: BoolArray = field(init=False)
    losses: FloatArray = field(init=False)
    """By candidate and row, NaN where it was not judged or gave no verdict; shape (K, rows)."""
    reached: IntArray = field(init=False)
    """Rows that each was judged on; shape (K,)."""
    tables: list[list[JudgedDataset]] = field(init=False)
    """By candidate, its batches."""
    dropped: dict[int, DropReason] = field(default_factory=dict)

    def __post_init__(self) -> None:
        k = len(self.candidates)
        self.running = np.ones(k, np.bool_)
        self.losses = np.full((k, len(self.rows)), np.nan)
        self.reached = np.zeros(k, np.int64)
        self.tables = [[] for _ in range(k)]

    def judge_up_to(self, stop: int, judge_batch: JudgeBatch, evidence: ConfidenceSequence) -> None:
        """Judge the rows from where the race stands up to `stop`, and update the evidence row by
        row.
        """
        running = np.flatnonzero(self.running)
        judged = self._judge_all(running, judge_batch, self.seen, stop)
        for k, (table, losses) in zip(running, judged, strict=True):
            self.tables[k].append(table)
            self.losses[k, self.seen : stop] = losses
        self.reached[running] = stop
        for row in self.losses[:, self.seen : stop].T:
            # A row that one of two left unscored says nothing about the pair.
            evidence.watch(np.nan_to_num(row[:, None] - row[None, :]), self.running)
        self.seen = stop

    def judged(self, k: int) -> JudgedDataset:
        """Return the rows that a candidate was judged on."""
        answers = tuple(answer for table in self.tables[k] for answer in table.answers)
        rows = replace(self.rows, rows=self.rows.rows[: len(answers)])
        if not self.tables[k]:
            return JudgedDataset(dataset=rows, answers=(), scale=self.candidates[k].scale)
        return replace(self.tables[k][0], dataset=rows, answers=answers)

    def drop_silent(self) -> None:
        """Drop who leaves many more rows unscored than another."""
        answered = np.isfinite(self.losses[:, : self.seen]).mean(1)
        for k in np.flatnonzero(
            self.running & (answered < answered[self.running].max() - FEWER_ANSWERS)
        ):
            self.drop(int(k), "leaves rows unscored")

    def drop_hopeless(self, evidence: FloatArray, bar: float) -> None:
        """Drop, the surest first, who by the evidence costs more than one that still ran at this
        stop; keep one.
        """
        against = np.where(self.running[None, :], evidence, -np.inf).max(1)
        for k in np.argsort(-against, kind="stable"):
            if self.running[k] and against[k] >= bar and self.running.sum() > 1:
                self.drop(int(k), "cannot win")

    def cut(self, survivors: int, losses: FloatArray, reason: DropReason) -> None:
        """Keep at most so many of those that run, the ones of least loss; losses have shape (K,
        rows seen).
        """
        running = np.flatnonzero(self.running)
        if len(running) <= survivors:
            return
        for position in _ranked(losses[running])[survivors:]:
            self.drop(int(running[position]), reason)

    def drop(self, k: int, reason: DropReason) -> None:
        """Take a candidate out."""
        self.running[k] = False
        self.dropped[k] = reason

    def standings(self, winner: int) -> tuple[Standing, ...]:
        """Return how far each came, beside the winner."""
        best = self.losses[winner]
        standings: list[Standing] = []
        for k, prompt in enumerate(self.candidates):
            both = np.isfinite(self.losses[k]) & np.isfinite(best)
            loss: float | None = None
            behind: float | None = None
            if both.any():
                loss = float(self.losses[k, both].mean())
                behind = loss - float(best[both].mean())
            standings.append(
                Standing(
                    version=prompt.version,
                    rows=int(self.reached[k]),
                    loss=loss,
                    behind=behind,
                    dropped=self.dropped.get(k),
                )
            )
        return tuple(standings)

    def _judge_all(
        self, arms: IntArray, judge_batch: JudgeBatch, start: int, stop: int
    ) -> list[tuple[JudgedDataset, FloatArray]]:
        """Return some candidates' verdicts and losses on rows from `start` to `stop`."""
        judged = ask_together(
            [partial(self._judge, int(k), judge_batch, start, stop) for k in arms]
        )
        self.verdicts += len(arms) * (stop - start)
        return judged

    def _judge(
        self, k: int, judge_batch: JudgeBatch, start: int, stop: int
    ) -> tuple[JudgedDataset, FloatArray]:
        """Return one candidate's verdicts on rows from `start` to `stop`, and losses, NaN for a row
        without one.
        """
        judged = judge_batch(
            self.candidates[k], replace(self.rows, rows=self.rows.rows[start:stop])
        )
        scored = self.loss_of(judged)
        if scored.shape != judged.scored.shape or not ((scored >= 0) & (scored <= 1)).all():
            raise LossError(
                f"{len(scored)} losses for {len(judged.scored)} scored rows, each to be in [0, 1]"
            )
        losses = np.full(stop - start, np.nan)
        losses[judged.scored] = scored
        return judged, losses


def _ranked(losses: FloatArray) -> list[int]:
    """Return the positions in order of loss, the least first, equals as given.

    Two candidates are compared on the rows that both answered, and each is placed by the mean of
    its differences to the others: were all compared on the rows that *everyone* answered, a few
    with gaps of their own would leave no row.

    Args:
        losses: NaN where a row has no verdict; shape (candidates, rows).
    """
    answered = np.isfinite(losses)
    filled = np.where(answered, losses, 0.0)
    in_common = answered.astype(np.float64) @ answered.T
    own = filled @ answered.T  # [i, j]: what i cost on the rows that j answered too
    differences = (own - own.T) / np.maximum(in_common, 1.0)  # 0 for two without a row in common
    # Rounded, so that the order of summation cannot part equals.
    return [int(k) for k in np.argsort(np.round(differences.mean(1), 9), kind="stable")]
