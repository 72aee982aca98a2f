"""Rows without a verdict: asked again on both sides, and what stays unanswered counted against the
new prompt.

A prompt whose wrong verdicts cannot be read looks better on the rows that are left. So silence may
win nothing: it is asked again, as a reply may be garbled by chance, then taken for the worst.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ...judges import Answer, Dataset, JudgedDataset, Row, Verdict, split_class_metric
from ...judges.models import ask_together

ROUNDS = 3
"""How often an unanswered row is asked again."""

PLACINGS = 3
"""How often each unanswered row of a choice is given its wrong class, beside those of the others.
"""

Ask = Callable[[Dataset, int], JudgedDataset]
"""Judges rows; the number says which repetition of the same questions it is, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedAgain:
    """One round of asking unanswered rows again, both prompts each."""

    repeat: int
    rows: int
    left: int
    """Rows that one of the two, or both, still gave no verdict on."""


def ask_again(
    before: JudgedDataset,
    after: JudgedDataset,
    ask_before: Ask,
    ask_after: Ask,
) -> tuple[JudgedDataset, JudgedDataset, tuple[AskedAgain, ...]]:
    """Ask both prompts again about the labelled rows that either left unanswered, up to `ROUNDS`
    times.

    A round in which both answer stands for the row on both sides, so that neither has had a better
    try at it; where only one does, it stands for a side that had no answer yet.

    Args:
        before, after: Answers to the same dataset, rows in the same order.
        ask_before, ask_after: Ask the prompt of that side.

    Returns:
        Both sides with the answers that came, and the count of each round.
    """
    sides = list(before.answers), list(after.answers)
    rounds: list[AskedAgain] = []
    for repeat in range(1, ROUNDS + 1):
        silent = _silent(before.dataset.rows, *sides)
        if not silent:
            break
        again = replace(before.dataset, rows=tuple(before.dataset.rows[i] for i in silent))
        old_side, new_side = ask_together(
            [partial(ask_before, again, repeat), partial(ask_after, again, repeat)]
        )
        for i, old, new in zip(silent, old_side.answers, new_side.answers, strict=True):
            both = isinstance(old, Verdict) and isinstance(new, Verdict)
            for answers, reply in zip(sides, (old, new), strict=True):
                if both or not isinstance(answers[i], Verdict):
                    answers[i] = reply
        silent_rows = len(_silent(before.dataset.rows, *sides))
        rounds.append(AskedAgain(repeat=repeat, rows=len(silent), left=silent_rows))
    old_answers, new_answers = sides
    return (
        replace(before, answers=tuple(old_answers)),
        replace(after, answers=tuple(new_answers)),
        tuple(rounds),
    )


def _silent(rows: Sequence[Row], old: Sequence[Answer], new: Sequence[Answer]) -> list[int]:
    """Return the positions of labelled rows without a verdict on either side, but for those too
    long to be sent.
    """
    silent = []
    for i, (row, old_answer, new_answer) in enumerate(zip(rows, old, new, strict=True)):
        if row.label is not None and (_may_answer(old_answer) or _may_answer(new_answer)):
            silent.append(i)
    return silent


def _may_answer(answer: Answer) -> bool:
    return not isinstance(answer, Verdict) and answer.reason != "oversized"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstCase:
    """Both sides with every row that only one of them answered counted against the new prompt."""

    before: JudgedDataset
    after: JudgedDataset
    rows: int
    """How many such rows there are."""


def count_against(
    before: JudgedDataset, after: JudgedDataset, metric: str = ""
) -> WorstCase | None:
    """Take the new prompt to be wrong where it alone gave no verdict, and the old one right where
    it alone gave none.

    Rows that neither answered say nothing about a difference and are left out on both sides. None
    where no row is answered by one side alone.

    Args:
        before, after: Answers to the same dataset, rows in the same order.
        metric: Which is compared; it says which of a choice's wrong classes is the worst, see
            `_wrong_classes`.
    """
    old, new = set(before.scored.tolist()), set(after.scored.tolist())
    if old == new:
        return None
    unread = sorted(old - new)
    right = {i: before.dataset.rows[i].label for i in sorted(new - old)}
    wrong = _wrong_classes(after, unread, metric) if after.scale.kind == "choice" else {}
    return WorstCase(
        before=_filled(before, right if before.same_scale else dict.fromkeys(right), right=True),
        after=_filled(after, {i: wrong.get(i) for i in unread}, right=False),
        rows=len(old ^ new),
    )


def _filled(
    side: JudgedDataset, scores: Mapping[int, float | None], *, right: bool
) -> JudgedDataset:
    """Return a side with made-up verdicts at these positions, all right or all wrong.

    Args:
        side: The answers.
        scores: The score at each position; None for the end of the scale that decides so.
        right: Whether the verdicts are right.
    """
    answers = list(side.answers)
    for i, score in scores.items():
        row = side.dataset.rows[i]
        positive = side.dataset.positive(row) == right
        if score is None:
            score = side.scale.high if positive else side.scale.low
        answers[i] = Verdict(row_id=row.id, score=float(score), positive=positive)
    return replace(side, answers=tuple(answers))


def _wrong_classes(side: JudgedDataset, positions: Sequence[int], metric: str) -> dict[int, float]:
    """Return the wrong class of a choice that costs most at each of these positions.

    Where the metric is of one class, it is that class for a row of another. Else it is the class
    whose F1 a row more lowers most, among those that people use: macro F1 depends on which it is.
    """
    _, name = split_class_metric(metric)
    labels, verdicts, hits = (
        Counter(side.label),
        Counter(side.score),
        Counter(side.label[~side.wrong]),
    )
    # The rows to fill in count too: their labels will stand beside the verdicts.
    labels.update(side.dataset.rows[i].label or 0.0 for i in positions)
    classes = sorted(labels) if len(labels) > 1 else list(side.scale.levels)
    members = {code: labels[code] + verdicts[code] for code in classes}
    wrong: dict[int, float] = {}
    # A row may have to make way for a later one that has fewer classes to go to, so each is placed
    # again.
    for _ in range(PLACINGS):
        for i in positions:
            others = [code for code in classes if code != side.dataset.rows[i].label]
            if name is not None and (code := float(side.scale.labels.index(name))) in others:
                wrong[i] = code
                continue
            if i in wrong:
                members[wrong[i]] -= 1
            worst = max(
                others,
                key=lambda code: (hits[code] / max(1, members[code] * (members[code] + 1)), -code),
            )
            members[worst] += 1
            wrong[i] = worst
    return wrong
