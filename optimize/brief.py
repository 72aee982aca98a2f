"""The brief: the one document that every proposer shows the optimizer model.

Everything in it, figures too, comes from training rows. A token is taken for four bytes of UTF-8.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..judges import BoolArray, JudgedDataset, JudgePrompt, Row, Verdict
from .goal import Goal
from .proposers.prompt_parts import Part, show_prompt
from .proposers.workbench import Trial

BUDGET = 12_000
"""Tokens of a brief beside the judge's prompt, which is always shown whole."""
BYTES_PER_TOKEN = 4
EXCERPT_CHARS = 700


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """An earlier candidate, what it did, and what was made of it."""

    prompt: JudgePrompt
    loss: float
    """On the validation rows."""
    to_beat: float
    """The validation loss of the prompt it was to replace."""
    result: str
    """`kept`, or why it was not."""
    trial: Trial | None = None
    """Its verdicts on training rows; None where it was tried on none."""


@dataclass(frozen=True, kw_only=True)
class Brief:
    """What the optimizer model reads about one prompt."""

    prompt: JudgePrompt
    """The prompt that a better one is wanted of."""
    goal: Goal
    train: Trial
    """Training rows with the verdicts and losses of this prompt, those outside the slice where they are known."""
    past: tuple[Attempt, ...] = ()
    """Earlier candidates, oldest first."""
    role: str | None = None
    """What kind of change is wanted; None for any."""
    budget: int = BUDGET
    """Tokens of the document beside the judge's prompt."""
    only: frozenset[str] | None = None
    """Ids of the rows that may be quoted as errors; None for all."""

    @cached_property
    def inside(self) -> BoolArray:
        """Whether each scored row is in the slice; shape (n,)."""
        judged = self.train.judged
        return self.goal.target.member(judged.dataset)[judged.scored]

    @cached_property
    def errors(self) -> tuple[int, ...]:
        """Positions among the scored rows of the slice's errors, the costliest first."""
        judged = self.train.judged
        wrong = judged.wrong
        if judged.same_scale:
            wrong = wrong | (judged.label != judged.score)
        found: list[int] = np.flatnonzero(wrong & self.inside).tolist()
        found.sort(key=lambda i: (-self.train.losses[i], judged.rows[i].id))
        if self.only is not None:
            found = [i for i in found if judged.rows[i].id in self.only]
        return tuple(found)

    @property
    def loss(self) -> float:
        """Mean loss over the scored rows of the slice; 0 for none."""
        losses = self.train.losses[self.inside]
        return float(losses.mean()) if len(losses) else 0.0

    def counts(self) -> str:
        """Say how many errors of each kind there are in the slice."""
        kinds = kinds_of_error(self.train.judged)
        sizes = {kind: int((of_kind & self.inside).sum()) for kind, of_kind in kinds.items()}
        counts = [f"{n} {kind}{'s' * kind.startswith('false')}" for kind, n in sizes.items()]
        return ", ".join(counts) or "no errors"

    def dealt(self, shares: int) -> tuple[Brief, ...]:
        """Deal the errors out over at most `shares` briefs of the same figures, none of them without one."""
        shares = max(1, min(shares, len(self.errors)))
        if shares == 1:
            return (self,)
        rows = self.train.judged.rows
        dealt = [self.errors[first::shares] for first in range(shares)]
        return tuple(replace(self, only=frozenset(rows[i].id for i in positions)) for positions in dealt)

    @property
    def quoted(self) -> tuple[str, ...]:
        """Ids of the rows whose texts the document shows, in order."""
        return self._written[1]

    def text(self, *, part: Part = "criteria") -> str:
        """Return the whole document.

        Args:
            part: The part of the prompt that is to be changed; it is marked.
        """
        return f"{show_prompt(self.prompt, part)}\n\n{self._written[0]}"

    @cached_property
    def _written(self) -> tuple[str, tuple[str, ...]]:
        """The document without the prompt, and the ids of the rows that it shows."""
        objective, judged = self.goal.objective, self.train.judged
        wish = " ".join(objective.text.split())
        wish = f"Objective, in the person's words: {wish}\nRead as" if wish else "Objective"
        sections = [
            f"{wish}: {objective.describe()}\n"
            f"Rows come from the slice: {self.goal.target.name}.\n"
            f"Weighted loss {self.loss:.4f} over {int(self.inside.sum())} rows (0 is perfect); {self.counts()}."
        ]
        if self.past:
            sections.append("\n".join(describe_attempt(attempt) for attempt in self.past))
        if self.role:
            sections.append(f"Wanted now: {self.role}.")
        room = BYTES_PER_TOKEN * self.budget - sum(size(section) + 2 for section in sections)
        quoted: list[str] = []
        for number, i in enumerate(self.errors, 1):
            row = judged.rows[i]
            loss = float(self.train.losses[i])
            example = describe_error(number, row, judged.verdicts[i], judged, loss=loss)
            if size(example) + 2 > room:
                break
            room -= size(example) + 2
            sections.insert(number, example)
            quoted.append(row.id)
        return "\n\n".join(sections), tuple(quoted)


def build_brief(
    prompt: JudgePrompt,
    judged: JudgedDataset,
    *,
    goal: Goal,
    past: Sequence[Attempt] = (),
    role: str | None = None,
    budget: int = BUDGET,
) -> Brief:
    """Write the brief of a prompt.

    Args:
        prompt: The prompt that a better one is wanted of.
        judged: Training rows with this prompt's verdicts, and no others; rows outside the slice where they are known.
        goal: What the run works towards.
        past: Earlier candidates, oldest first.
        role: What kind of change is wanted.
        budget: Tokens beside the judge's prompt.

    Raises:
        LossError: The loss cannot be computed on these rows.
    """
    train = Trial(judged=judged, losses=goal.row_losses(judged))
    return Brief(prompt=prompt, goal=goal, train=train, past=tuple(past), role=role, budget=budget)


def size(text: str) -> int:
    """Return the length of a text in bytes."""
    return len(text.encode("utf-8", "surrogatepass"))


def kinds_of_error(judged: JudgedDataset) -> dict[str, BoolArray]:
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


def describe_attempt(attempt: Attempt) -> str:
    """Say what an earlier candidate reached on validation rows, beside the prompt it was to replace."""
    ending = "kept" if attempt.result == "kept" else f"not kept ({attempt.result})"
    return f"Validation loss {attempt.loss:.4f}, where the text before it had {attempt.to_beat:.4f}: {ending}"


def describe_error(number: int, row: Row, verdict: Verdict, judged: JudgedDataset, *, loss: float) -> str:
    """Describe one row as a block of text: the error and its loss, both grades, excerpts of the inputs, the reasons.

    Args:
        number: Counts the blocks.
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
