"""Compare ways to answer from documents: how they are cut, what stands before each chunk, how many
are retrieved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle
from statistics import fmean
from typing import Any

import numpy as np

from ....judges.instruction import ASKING, Filled, Unfilled, ask_instruction, load_instruction
from ....judges.judge import JudgeSettings
from ....judges.judged_dataset import FloatArray, IntArray
from ....judges.metrics import Estimate
from ....judges.metrics.delta import mean_share
from ....judges.models.client import Client
from ....judges.models.counters import Progress, unwatched
from ....judges.prompt import JudgePrompt
from ....judges.retrieval import Encode
from ....judges.scale import DecisionRule
from ....judges.verdict import Answer, Unscored
from .chunk_index import ChunkIndex, Context
from .chunking import Chunking
from .documents import Document, Question
from .grading import GivenAnswer, grade_answers
from .text_similarity import answer_similarity


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """One way to answer from documents."""

    chunking: Chunking
    context: Context
    k: int
    """Chunks retrieved for a question."""

    def __str__(self) -> str:
        return f"{self.chunking}, context {self.context}, top {self.k}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one question."""

    answer: str | None
    """None where the model gave none that can be read; empty where it says that the passages hold
    none.
    """
    quote: str = ""
    """What the model says it read the answer from."""
    failure: str = ""
    """Why there is no answer, or no verdict."""
    correct: bool | None = None
    """By the judge; None without a verdict."""
    similarity: float | None = None
    """To the nearest right answer."""
    document_found: bool | None = None
    """Whether a chunk of the right document was retrieved; None where none is named."""
    evidence_found: float | None = None
    """The share of the evidence that the retrieved chunks hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupResult:
    """One way, and how it did at the three levels: document, chunk, answer."""

    setup: Setup
    chunks: int
    characters: float
    """Of the passages that a question came with, as a mean."""
    outcomes: tuple[Outcome, ...]
    document: Estimate
    evidence: Estimate
    correct: Estimate
    anls: Estimate
    change: Estimate | None
    """In the share of right answers against the first way, where both have a verdict; None for the
    first.
    """

    @property
    def empty(self) -> int:
        """Questions that the model found no answer to."""
        return sum(outcome.answer == "" for outcome in self.outcomes)

    @property
    def failed(self) -> int:
        """Questions without an answer or verdict; they count as neither right nor wrong."""
        return sum(outcome.correct is None for outcome in self.outcomes)

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return one entry of `answers compare --json`."""
        chunking = self.setup.chunking
        return {
            "chunker": chunking.chunker,
            "size": chunking.size,
            "overlap": chunking.overlap,
            "context": self.setup.context,
            "k": self.setup.k,
            "chunks": self.chunks,
            "characters": self.characters,
            "document_found": self.document.to_json(),
            "evidence_found": self.evidence.to_json(),
            "correct": self.correct.to_json(),
            "anls": self.anls.to_json(),
            "change": self.change and self.change.to_json(),
            "empty": self.empty,
            "failed": self.failed,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Grader:
    """Who says which answers are right."""

    prompt: JudgePrompt
    client: Client
    rule: DecisionRule | None
    settings: JudgeSettings


def compare_setups(
    documents: Sequence[Document],
    questions: Sequence[Question],
    setups: Sequence[Setup],
    *,
    answering: Client,
    grader: Grader,
    encode: Encode | None = None,
    settings: JudgeSettings = ASKING,
    watch: Callable[[str, Progress], None] = unwatched,
) -> tuple[list[SetupResult], bool]:
    """Answer all questions in every way and grade the answers; also say whether a stand-in answered
    or judged.

    Args:
        documents: Where the answers are sought.
        questions: With their right answers.
        setups: The ways; changes are told against the first.
        answering: The model that answers.
        grader: The judge.
        encode: Vectors of texts, by which chunks are retrieved; BM25 without one.
        settings: Sampling and limits of the model that answers.
        watch: Called with `answers` or `verdicts` while replies come in.
    """
    indexes: dict[tuple[Chunking, Context], ChunkIndex] = {}
    retrieved: list[IntArray] = []
    items: list[dict[str, str]] = []
    for setup in setups:
        way = (setup.chunking, setup.context)
        if way not in indexes:
            indexes[way] = ChunkIndex(documents, *way, encode)
        for question in questions:
            best = indexes[way].best(question.text, setup.k)
            retrieved.append(best)
            items.append({"question": question.text, "passages": indexes[way].passages(best)})
    # All ways at once: through batches and files that is one exchange for the answers, and one for
    # the verdicts.
    replies = ask_instruction(
        load_instruction("answer_question"),
        items,
        answering,
        settings=settings,
        progress=lambda progress: watch("answers", progress),
    )
    answers_to_grade: list[GivenAnswer] = []
    for i, (question, reply) in enumerate(zip(cycle(questions), replies, strict=False)):
        if isinstance(reply, Filled):
            answer = reply.text("answer").strip()
            answers_to_grade.append(
                GivenAnswer(id=str(i), question=question.text, gold=question.gold, answer=answer)
            )
    judged = grade_answers(
        grader.prompt,
        answers_to_grade,
        grader.client,
        settings=grader.settings,
        rule=grader.rule,
        progress=lambda progress: watch("verdicts", progress),
    )
    verdicts = {verdict.row_id: verdict for verdict in judged.answers}
    results: list[SetupResult] = []
    for s, setup in enumerate(setups):
        index = indexes[setup.chunking, setup.context]
        outcomes: list[Outcome] = []
        at = range(s * len(questions), (s + 1) * len(questions))
        for i, question in zip(at, questions, strict=True):
            hits = index.found(question, retrieved[i])
            outcomes.append(_outcome(question, replies[i], verdicts.get(str(i)), hits))
        characters = fmean(len(items[i]["passages"]) for i in at)
        results.append(
            _result(
                setup, len(index), characters, outcomes, _groups(questions), (results or [None])[0]
            )
        )
    simulated = judged.simulated or answering.model.simulated
    return results, simulated or any(
        isinstance(reply, Filled) and reply.simulated for reply in replies
    )


def _outcome(
    question: Question,
    reply: Filled | Unfilled,
    verdict: Answer | None,
    hits: tuple[bool | None, float | None],
) -> Outcome:
    if isinstance(reply, Unfilled):
        failure = f"{reply.reason}: {reply.detail}"
        return Outcome(answer=None, failure=failure, document_found=hits[0], evidence_found=hits[1])
    answer = reply.text("answer").strip()
    assert verdict is not None, "every answer was handed to the judge"
    return Outcome(
        answer=answer,
        quote=reply.text("quote").strip(),
        failure=f"no verdict, {verdict.reason}: {verdict.detail}"
        if isinstance(verdict, Unscored)
        else "",
        correct=None if isinstance(verdict, Unscored) else verdict.positive,
        similarity=answer_similarity(answer, question.gold),
        document_found=hits[0],
        evidence_found=hits[1],
    )


def _groups(questions: Sequence[Question]) -> IntArray:
    """Return codes of questions that rest on the same document; one without a document is its own
    group.
    """
    codes: dict[object, int] = {}
    keys = [
        ("question", i) if q.document is None else ("document", q.document)
        for i, q in enumerate(questions)
    ]
    return np.array([codes.setdefault(key, len(codes)) for key in keys], np.int64)


def _result(
    setup: Setup,
    chunks: int,
    characters: float,
    outcomes: Sequence[Outcome],
    groups: IntArray,
    first: SetupResult | None,
) -> SetupResult:
    correct = [None if outcome.correct is None else float(outcome.correct) for outcome in outcomes]
    change = None
    if first is not None:
        before = [
            None if outcome.correct is None else float(outcome.correct)
            for outcome in first.outcomes
        ]
        changes = [
            None if a is None or b is None else a - b for a, b in zip(correct, before, strict=True)
        ]
        change = _mean(changes, groups, "no question has a verdict in both", bounds=(-1.0, 1.0))
    return SetupResult(
        setup=setup,
        chunks=chunks,
        characters=characters,
        outcomes=tuple(outcomes),
        document=_mean(
            [None if o.document_found is None else float(o.document_found) for o in outcomes],
            groups,
            "no question names its document",
        ),
        evidence=_mean([o.evidence_found for o in outcomes], groups, "no question has evidence"),
        correct=_mean(correct, groups, "no answer has a verdict"),
        anls=_mean([o.similarity for o in outcomes], groups, "there is no answer"),
        change=change,
    )


def _mean(
    values: Sequence[float | None],
    groups: IntArray,
    missing: str,
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Estimate:
    """Return the mean of the values there are, with its interval over groups."""
    there = np.array([value is not None for value in values])
    present: FloatArray = np.array([value for value in values if value is not None], np.float64)
    if not len(present):
        return Estimate.undefined(0, missing)
    codes = np.unique(groups[there], return_inverse=True)[1].astype(np.int64)
    return mean_share(present, codes, bounds=bounds)
