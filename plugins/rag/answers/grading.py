"""Whether answers are right: by a judge, by ANLS, by people, and how far the three agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ....judges.errors import InputError
from ....judges.judge import JudgeSettings, judge
from ....judges.judged_dataset import JudgedDataset
from ....judges.models.client import Client
from ....judges.models.counters import Progress
from ....judges.prompt import JudgePrompt
from ....judges.rows import Dataset, Row
from ....judges.scale import BINARY, DecisionRule
from ....judges.verdict import Verdict
from ..annotation.collection import first_of
from .documents import GOLD_NAMES, QUESTION_NAMES

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
