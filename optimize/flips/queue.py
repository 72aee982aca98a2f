"""Which row to label next, and what the labels so far decide: pure functions of the frozen design
and the labels.

Everything is computed again from the first label on. So a queue goes on after a crash as if nothing
had been, dropping the last label gives the state before it, and a corrected label counts as if it
had been so from the start; labels of rows that are then not drawn wait unused.

Each claim is a wealth of its own (`wealth`): the new prompt is better in the target; it is worse;
each guard holds; it is broken. Accepted needs the first and all the third at once, each at its own
level, so that no level is divided. A step whose labels are not all there yet counts as if the
missing ones were the worst: what is decided then cannot be undone by them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...judges import FloatArray
from ..holdout.guards import GUARD_ALPHA
from ..outcome import GateOutcome
from .decision import ClaimState, FlipDecision, FlipWins, explain
from .design import FlipDesign, PoolRow
from .scores import BOTH_UNSCORED, CELLS, FLIPPED, positive_rates, score_table
from .steps import LEVEL_FLOOR, GroupWalk, Step, allocate, cells_of, expected_scores
from .wealth import Wealth

DESIGN = "flips"
"""The name of this way of drawing."""


@dataclass(frozen=True, slots=True)
class Draw:
    """The next row to label."""

    row_id: str
    probability: float
    """With which it was drawn; known before its label."""
    design: str = DESIGN


@dataclass(frozen=True, slots=True)
class GivenLabel:
    """One row's label as the queue sees it."""

    row_id: str
    label: float | None
    """None where it was skipped, which counts as the worst case."""


@dataclass(frozen=True, slots=True)
class _Claim:
    """One of the things that are tested."""

    metric: str
    margin: float
    better: bool
    level: float
    """Log of the wealth that shows it."""


class FlipQueue:
    """A queue of rows to label until two prompts are told apart.

    Args:
        design: What was fixed before the first label; the order of its rows does not matter.
    """

    def __init__(self, design: FlipDesign) -> None:
        self.design = replace(design, rows=tuple(sorted(design.rows, key=_identity)))
        self._replay: _Replay | None = None
        self._given: tuple[GivenLabel, ...] = ()

    def next(self, answered: Sequence[GivenLabel]) -> Draw | None:
        """Return the row to label after these labels; None where it is decided, or nothing is left
        to draw.
        """
        return self._after(answered).ask()

    def decide(self, answered: Sequence[GivenLabel]) -> FlipDecision:
        """Return what these labels decide."""
        return self._after(answered).decision()

    def wins(self, answered: Sequence[GivenLabel]) -> FlipWins:
        """Return how many of the labelled flips each prompt won: for when it is decided, and not
        while people label.
        """
        return self._after(answered).wins()

    def _after(self, answered: Sequence[GivenLabel]) -> _Replay:
        labels = tuple(answered)
        seen = len(self._given)
        # One more label goes on where the last call ended; anything else starts anew and comes to
        # the same.
        fresh = [one.row_id for one in labels[seen:]]
        earlier_ids = {one.row_id for one in self._given}
        if (
            self._replay is None
            or labels[:seen] != self._given
            or not earlier_ids.isdisjoint(fresh)
        ):
            self._replay, seen = _Replay(self.design), 0
        self._replay.take({one.row_id: self._label(one) for one in labels[seen:]})
        self._given = labels
        return self._replay

    def _label(self, answer: GivenLabel) -> int | None:
        return None if answer.label is None else int(answer.label >= self.design.positive_from)


def _identity(row: PoolRow) -> tuple[bool, str, str, str]:
    return row.positive is None, row.group, row.id, repr((row.before, row.after, row.positive))


class _Replay:
    """The steps so far, and the one that waits for labels."""

    def __init__(self, design: FlipDesign) -> None:
        self._design = design
        self._ids = [row.same_as or row.id for row in design.rows]
        self._known = [row.positive for row in design.rows]
        self._cells = cells_of(design.rows)
        self._counts: FloatArray = np.bincount(self._cells, minlength=CELLS).astype(np.float64)
        self._walk = GroupWalk(design)
        target, guard = -math.log(design.alpha), -math.log(GUARD_ALPHA)
        self._claims = [
            _Claim(design.target, 0.0, True, target),
            _Claim(design.target, 0.0, False, guard),
        ]
        for one in design.guards:
            self._claims += [
                _Claim(one.metric, one.margin, better, guard) for better in (True, False)
            ]
        self._wealths = [Wealth.start() for _ in self._claims]
        self._labels: dict[str, int | None] = {}
        self._used: FloatArray = np.zeros((CELLS, 2))
        self._skipped: FloatArray = np.zeros(CELLS)
        self._settled: set[str] = set()
        self._drawn: list[int] = []
        self._step: Step | None = None
        self._fresh = True
        self._advance()

    def take(self, labels: Mapping[str, int | None]) -> None:
        """See more labels, and go on as far as they reach."""
        self._labels.update(labels)
        if self._step is not None:
            self._reached = self._wealths_at_worst(self._step)
        self._advance()

    def ask(self) -> Draw | None:
        """Return the row that is waited for; None where there is none."""
        if self._step is None or self._outcome() is not None:
            return None
        row = self._waiting(self._step)[0]
        return Draw(self._ids[row], float(self._step.probability[self._cells[row]]))

    def _waiting(self, step: Step) -> list[int]:
        return [
            i
            for i in step.rows.tolist()
            if self._known[i] is None and self._ids[i] not in self._labels
        ]

    def _advance(self) -> None:
        """Settle steps until one waits for a label, the claims are decided, or nothing is left."""
        while True:
            if self._step is None:
                self._step = self._next()
            if self._step is None or self._outcome() is not None or self._waiting(self._step):
                return
            self._settle(self._step)
            self._step = None

    def _next(self) -> Step | None:
        """Compute the scores from the labels so far, and only then draw the next step."""
        if self._fresh:
            self._score()
        self._reached = self._wealths
        step = self._walk.next(self._share, self._tables, self._expected)
        if step is not None:
            self._reached = self._wealths_at_worst(step)
        return step

    def _score(self) -> None:
        self._fresh = False
        self._rates, errors = positive_rates(self._used)
        tables: list[FloatArray] = []
        for claim in self._claims:
            better = claim.better
            tables.append(
                score_table(
                    claim.metric, claim.margin, self._counts, self._rates, errors, better=better
                )
            )
        self._tables = np.stack(tables)
        self._expected = expected_scores(self._tables, self._rates)
        self._share = self._allocated()

    def _allocated(self) -> FloatArray:
        open_claims = [
            i
            for i, claim in enumerate(self._claims)
            if claim.better and not self._shown(i, self._wealths)
        ]
        share = allocate(self._tables[open_claims or [0]], self._rates)
        if any(self._claims[i].metric == "f1" for i in open_claims):
            # These labels also say what F1 the prompt in use has.
            share[:BOTH_UNSCORED] = np.maximum(share[:BOTH_UNSCORED], LEVEL_FLOOR)
        return share

    def _label_of(self, row: int) -> int | None:
        of_holdout = self._known[row]
        return self._labels.get(self._ids[row]) if of_holdout is None else int(of_holdout)

    def _wealths_at_worst(self, step: Step) -> list[Wealth]:
        """Return the wealths if every label that is waited for were the worst."""
        labels = [self._label_of(i) for i in step.rows.tolist()]
        values = step.values(self._tables, self._expected, labels)
        bets = zip(self._wealths, values.tolist(), step.lowest.tolist(), strict=True)
        return [wealth.bet(value, lowest) for wealth, value, lowest in bets]

    def _settle(self, step: Step) -> None:
        for row, cell in zip(step.rows.tolist(), step.cells.tolist(), strict=True):
            label = self._label_of(row)
            if label is None:
                self._skipped[cell] += 1
            else:
                self._used[cell, label] += 1
        self._settled |= self._asked_ids(step)
        self._drawn += step.rows.tolist()
        claims_shown = [self._shown(i, self._wealths) for i in range(len(self._claims))]
        self._wealths = self._reached
        # Without a label, or a claim that is settled, the scores stay as they are.
        self._fresh = len(step.rows) > 0 or claims_shown != [
            self._shown(i, self._wealths) for i in range(len(self._claims))
        ]

    def _shown(self, claim: int, wealths: Sequence[Wealth]) -> bool:
        return wealths[claim].peak >= self._claims[claim].level

    def _outcome(self) -> GateOutcome | None:
        """Return what is decided, whatever the labels that are waited for."""
        claims_shown = [self._shown(i, self._reached) for i in range(len(self._claims))]
        if all(claims_shown[0::2]):
            return "accepted"
        return "refused" if any(claims_shown[1::2]) else None

    def wins(self) -> FlipWins:
        """Count for each prompt the labelled flips on which it was right; the sealed holdout's are
        not among them.
        """
        before = after = 0
        for i in self._drawn + ([] if self._step is None else self._step.rows.tolist()):
            label, row = self._labels.get(self._ids[i]), self._design.rows[i]
            if self._known[i] is None and label is not None and FLIPPED[self._cells[i]]:
                before, after = before + (row.before == label), after + (row.after == label)
        return FlipWins(before=before, after=after)

    def _used_ids(self) -> set[str]:
        """Return the rows whose labels count so far."""
        now: set[str] = set() if self._step is None else self._asked_ids(self._step)
        return self._settled | now.intersection(self._labels)

    def _asked_ids(self, step: Step) -> set[str]:
        """Return the rows whose labels a step takes; rows with the same texts are asked about as
        one.
        """
        rows: list[int] = step.rows.tolist()
        return {self._ids[i] for i in rows if self._known[i] is None}

    def decision(self) -> FlipDecision:
        """Say what the labels so far come to."""
        outcome = self._outcome()
        states: list[ClaimState] = []
        for k in range(0, len(self._claims), 2):
            claim, against = self._claims[k], self._claims[k + 1]
            states.append(
                ClaimState(
                    metric=claim.metric,
                    margin=claim.margin,
                    e_value=_exp(self._reached[k].peak),
                    needed=math.exp(claim.level),
                    e_against=_exp(self._reached[k + 1].peak),
                    needed_against=math.exp(against.level),
                )
            )
        over = outcome is not None or self._step is None
        reason = explain(outcome, states, self._design.about, over=over)
        used = len(self._used_ids())
        return FlipDecision(
            outcome=outcome or "undecided",
            decided=outcome is not None,
            reason=reason,
            estimand=self._design.about,
            target=states[0],
            guards=tuple(states[1:]),
            labels=used,
            skipped=sum(label is None for label in self._labels.values()),
            unused=len(self._labels) - used,
            holdout_labels=sum(of_holdout is not None for of_holdout in self._known),
            over=over,
            most_left=None if over else self._most_left(),
        )

    def _most_left(self) -> int:
        """Return about how many rows may still be drawn."""
        waiting = len(self._waiting(self._step)) if self._step else 0
        return max(math.ceil(self._walk.labels_left(self._share) + waiting), 1)


def _exp(log: float) -> float:
    """Return the wealth, at most what JSON can hold."""
    return math.exp(min(log, 700.0))
