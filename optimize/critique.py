"""The critique: what the judge got wrong on a minibatch, in words an optimizer can act on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..judges import BoolArray, FloatArray, JudgedDataset, Row, Verdict
from .losses.objective import Objective

QUOTED = 5
"""Rows quoted at most; a row is quoted when its decision is wrong, or its grade where both sides grade alike."""
EXCERPT_CHARS = 700
"""Characters shown of one input; the middle of a longer text is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Critique:
    """The numbers and the examples behind one textual gradient."""

    loss: float
    """Mean weighted loss of the minibatch, in [0, 1]."""
    n: int
    errors: Mapping[str, int]
    """How many errors there are of each kind: `false positive`, or `'billing' called 'technical'`."""
    examples: tuple[str, ...]
    """The rows that cost most, each as a block of text."""
    wish: str
    """The objective in the person's words; empty where it was a metric alone."""
    goal: str
    """The objective as it was read."""
    slice: str

    def text(self) -> str:
        """The whole critique as the optimizer model reads it."""
        wish = f"Objective, in the person's words: {self.wish}\nRead as" if self.wish else "Objective"
        head = (
            f"{wish}: {self.goal}\n"
            f"Rows come from the slice: {self.slice}.\n"
            f"Weighted loss {self.loss:.4f} over {self.n} rows (0 is perfect); {self.counts()}."
        )
        return "\n\n".join((head, *self.examples))

    def counts(self) -> str:
        """Say how many errors there are of each kind."""
        counts = [f"{n} {kind}{'s' * kind.startswith('false')}" for kind, n in self.errors.items()]
        return ", ".join(counts) or "no errors"

    def dealt(self, shares: int) -> tuple[Critique, ...]:
        """Deal the examples out over at most `shares` critiques of the same numbers, none of them empty."""
        shares = max(1, min(shares, len(self.examples)))
        return tuple(replace(self, examples=self.examples[first::shares]) for first in range(shares))


def critique_batch(judged: JudgedDataset, losses: FloatArray, *, objective: Objective, slice_name: str) -> Critique:
    """Describe the rows of a judged minibatch that cost most, among them one of each kind of error that it has.

    Args:
        judged: The minibatch.
        losses: Loss of each scored row; shape (n,).
        objective: What the person asked for.
        slice_name: The readable predicate the minibatch was drawn from.
    """
    order = sorted(range(len(losses)), key=lambda i: (-losses[i], judged.rows[i].id))
    wrong = judged.wrong
    if judged.same_scale:
        wrong = wrong | (judged.label != judged.score)
    errors = _kinds_of_error(judged)
    # A rule against one kind of error that is written without seeing the other kind loses its guard.
    worst = [i for i in order if wrong[i]]
    first = [next(i for i in order if of_kind[i]) for of_kind in errors.values() if of_kind.any()][:QUOTED]
    quoted = sorted({*first, *[i for i in worst if i not in first][: QUOTED - len(first)]}, key=order.index)
    return Critique(
        loss=float(losses.mean()) if len(losses) else 0.0,
        n=len(losses),
        errors={kind: int(of_kind.sum()) for kind, of_kind in errors.items()},
        examples=tuple(
            describe_error(k + 1, judged.rows[i], judged.verdicts[i], judged, loss=float(losses[i]))
            for k, i in enumerate(quoted)
        ),
        wish=" ".join(objective.text.split()),
        goal=objective.describe(),
        slice=slice_name,
    )


def _kinds_of_error(judged: JudgedDataset) -> dict[str, BoolArray]:
    """Return which scored rows are errors of each kind: two of a decision, else a pair of classes, the commonest first.

    Shape (n,) each.
    """
    if judged.scale.kind != "choice":
        return {
            "false positive": judged.predicted & ~judged.positive,
            "false negative": ~judged.predicted & judged.positive,
        }
    pairs = Counter(zip(judged.label[judged.wrong].tolist(), judged.score[judged.wrong].tolist(), strict=True))
    names = judged.scale.labels
    return {
        f"{names[int(label)]!r} called {names[int(score)]!r}": (judged.label == label) & (judged.score == score)
        for (label, score), _ in pairs.most_common()
    }


def describe_error(number: int, row: Row, verdict: Verdict, judged: JudgedDataset, *, loss: float) -> str:
    """Describe one row as a block of text: the error and its loss, both grades, excerpts of the inputs, the reasons.

    Args:
        number: Counts the blocks of a critique.
        row: A labelled row.
        verdict: What the judge said about it.
        judged: A table of such rows; only its scales are read.
        loss: What the row costs, in [0, 1].
    """
    label = row.label or 0.0
    if judged.scale.kind == "choice":
        names = judged.scale.labels
        chosen, people = names[int(verdict.score)], names[int(label)]
        error = f"{people!r} called {chosen!r}"
        grades = f"the judge chose {chosen}, people say {people}"
    else:
        positive = judged.dataset.positive(row)
        error = "grade off" if positive == verdict.positive else "false negative" if positive else "false positive"
        verdict_word = "positive" if verdict.positive else "negative"
        people = "positive" if positive else "negative"
        grades = f"the judge gave {verdict.score:g} ({verdict_word}), people say {people} ({label:g})"
    inputs = "\n".join(f"{name}: {excerpt(text)}" for name, text in row.inputs.items())
    # The fields of a JSON reply come a line each.
    reasons = excerpt("; ".join(verdict.rationale.splitlines()), 300)
    return f"Example {number}, {error}, loss {loss:.2f}: {grades}.\n{inputs}\nThe judge's reasons: {reasons}"


def excerpt(text: str, limit: int = EXCERPT_CHARS) -> str:
    """Shorten a text to `limit` characters by leaving out its middle, on one line."""
    flat = " ".join(text.split())
    half = limit // 2
    return flat if len(flat) <= limit else f"{flat[:half]} [...] {flat[-half:]}"


def minibatch(candidates: Sequence[int], weights: Sequence[float], size: int, *, seed: int) -> list[int]:
    """Draw positions without replacement, each with a chance in proportion to its weight.

    Uses the exponential-keys method of Efraimidis and Spirakis (2006): the `size` largest of u^(1/w).
    Positions of weight 0 are drawn only when the others do not suffice. The result is in ascending order.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    keys = rng.random(len(candidates)) ** (1.0 / np.maximum(np.asarray(weights, float), 1e-9))
    drawn = sorted(range(len(candidates)), key=lambda i: (-keys[i], candidates[i]))[:size]
    return sorted(candidates[i] for i in drawn)
