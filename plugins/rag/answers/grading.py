"""Whether answers are right: by a judge, by ANLS, by people, and how far the three agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....judges.errors import InputError
from ....judges.judge import JudgeSettings, judge
from ....judges.judged_dataset import FloatArray, IntArray, JudgedDataset, group_codes
from ....judges.metrics import Estimate, measure
from ....judges.metrics.delta import mean_share
from ....judges.models.client import Client
from ....judges.models.counters import Progress
from ....judges.prompt import JudgePrompt
from ....judges.rows import Dataset, Row
from ....judges.scale import BINARY, DecisionRule
from ....judges.verdict import Unscored, Verdict
from ..annotation.collection import first_of
from .documents import GOLD_NAMES, QUESTION_NAMES
from .text_similarity import answer_similarity, gold_answers

ANSWER_NAMES = ("answer", "response", "output", "prediction")
EMPTY = "empty"
"""The parser of a verdict that needed no judge: an empty answer is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenAnswer:
    """An answer to be graded."""

    id: str
    question: str
    gold: tuple[str, ...]
    answer: str


def correctness_inputs(inputs: Sequence[str], of: str) -> tuple[str, str, str]:
    """Return the inputs that hold question, right answer and answer.

    Args:
        inputs: The names of a judge's inputs, or of a file's.
        of: Whose they are, for the message.

    Raises:
        InputError: Others are there, or one of them is not.
    """
    gold = first_of(GOLD_NAMES, inputs)
    question, answer = first_of(QUESTION_NAMES, inputs), first_of(ANSWER_NAMES, inputs)
    if question is None or gold is None or answer is None or len(inputs) != 3:
        raise InputError(
            f"{of} has the inputs {', '.join(inputs) or '(none)'}: correctness is judged from a"
            " question, a right answer and an answer",
            hint=(
                f"call them {QUESTION_NAMES[0]}, {GOLD_NAMES[0]} and {ANSWER_NAMES[0]}, as"
                " answer_correctness does"
            ),
        )
    return question, gold, answer


def grade_answers(
    prompt: JudgePrompt,
    answers: Sequence[GivenAnswer],
    client: Client,
    *,
    settings: JudgeSettings | None = None,
    rule: DecisionRule | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> JudgedDataset:
    """Have a judge say which answers are right; an empty one is wrong, and nobody is asked about
    it.

    Args:
        prompt: The judge; see `correctness_inputs`.
        answers: What is judged; the judge sees all right answers of a question.
        client: Where the verdicts come from.
        settings: Sampling and limits.
        rule: The judge's decision rule; its prompt's own threshold unless given.
        progress: Called while verdicts come in.
    """
    inputs = correctness_inputs(prompt.inputs, f"the judge {prompt.name!r}")
    rows: list[Row] = []
    for written_answer in answers:
        texts = (written_answer.question, " or: ".join(written_answer.gold), written_answer.answer)
        rows.append(Row(id=written_answer.id, inputs=dict(zip(inputs, texts, strict=True))))
    dataset = Dataset.of(rows, labels=BINARY, name="answers")
    written = [
        row
        for row, written_answer in zip(rows, answers, strict=True)
        if written_answer.answer.strip()
    ]
    judged = judge(
        prompt, replace(dataset, rows=tuple(written)), client, settings=settings, progress=progress
    )
    by_row = {answer.row_id: answer for answer in judged.answers}
    lowest = float(prompt.scale.low)
    for row in rows:
        if row.id not in by_row:
            by_row[row.id] = Verdict(row_id=row.id, score=lowest, positive=False, parser=EMPTY)
    all_rows = replace(judged, dataset=dataset, answers=tuple(by_row[row.id] for row in rows))
    return all_rows if rule is None else all_rows.under(rule)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How far two ways to say which answers are right agree, on the answers that both graded."""

    between: str
    accuracy: Estimate
    kappa: Estimate

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the two figures, with what they compare."""
        return {
            "between": self.between,
            "accuracy": self.accuracy.to_json(),
            "kappa": self.kappa.to_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedAnswers:
    """Answers, how right they are by a judge and by ANLS, and how far these agree with each other
    and with people.
    """

    judged: JudgedDataset
    similarities: FloatArray
    """Of each answer to the nearest right one, 0 under one half; shape (n,)."""
    correct: Estimate
    """The share that the judge calls right, of those with a verdict."""
    anls: Estimate
    people: Estimate | None
    """The share that people call right; None without labels."""
    agreements: tuple[Agreement, ...]

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return one judge's entry of `answers measure --json`."""
        return {
            "judge": self.judged.judge,
            "model": self.judged.model,
            "simulated": self.judged.simulated,
            "n": len(self.similarities),
            "unscored": dict(self.judged.unscored),
            "correct": self.correct.to_json(),
            "anls": self.anls.to_json(),
            "people": self.people and self.people.to_json(),
            "agreement": [agreement.to_json() for agreement in self.agreements],
        }


def compare_grades(judged: JudgedDataset) -> GradedAnswers:
    """Put the judge's verdicts beside ANLS, and beside people's labels where there are any.

    By ANLS an answer is right that is nearer to a right one than one half.

    Args:
        judged: Rows with question, right answer (or a JSON list of several) and answer, and the
            judge's verdicts.

    Raises:
        InputError: There is no row, or rows have other inputs.
    """
    rows = judged.dataset.rows
    groups = group_codes(rows)
    if not rows:
        raise InputError("there is no answer to compare")
    _, gold, answer = correctness_inputs(tuple(rows[0].inputs), judged.judge or "the file")
    near = np.array(
        [answer_similarity(row.inputs[answer], gold_answers(row.inputs[gold])) for row in rows]
    )
    scored = np.array([isinstance(answer, Verdict) for answer in judged.answers])
    decided = np.array(
        [not isinstance(answer, Unscored) and answer.positive for answer in judged.answers]
    )
    labelled = np.array([row.label is not None for row in rows])
    called = np.array([row.label is not None and judged.dataset.positive(row) for row in rows])
    pairs = [("judge and ANLS", decided, near > 0, scored)]
    if labelled.any():
        pairs += [
            ("judge and people", decided, called, scored & labelled),
            ("ANLS and people", near > 0, called, labelled),
        ]
    return GradedAnswers(
        judged=judged,
        similarities=near,
        correct=mean_by_group(
            decided[scored].astype(float), groups[scored], "no answer has a verdict"
        ),
        anls=mean_share(near, groups),
        people=(
            mean_by_group(called[labelled].astype(float), groups[labelled], "")
            if labelled.any()
            else None
        ),
        agreements=tuple(
            _agreement(name, one[both], other[both], groups[both])
            for name, one, other, both in pairs
            if both.any()
        ),
    )


def mean_by_group(values: FloatArray, groups: IntArray, missing: str) -> Estimate:
    """Return the mean of shares with its interval over groups; `missing` says why where there is no
    value.
    """
    return mean_share(values, renumbered(groups)) if len(values) else Estimate.undefined(0, missing)


def renumbered(groups: IntArray) -> IntArray:
    """Return groups as codes 0..G-1."""
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


def _agreement(between: str, one: np.ndarray, other: np.ndarray, groups: IntArray) -> Agreement:
    """Measure one decision against the other, as a judge is measured against people."""
    rows: list[Row] = []
    verdicts: list[Verdict] = []
    for i, (decided, right) in enumerate(zip(one.tolist(), other.tolist(), strict=True)):
        rows.append(Row(id=str(i), inputs={}, label=float(right), group=str(groups[i])))
        verdicts.append(Verdict(row_id=str(i), score=float(decided), positive=decided))
    dataset = Dataset.of(rows, labels=BINARY)
    metrics = measure(JudgedDataset(dataset=dataset, answers=tuple(verdicts), scale=BINARY)).metrics
    return Agreement(between=between, accuracy=metrics["accuracy"], kappa=metrics["kappa"])
