"""Clarify ambiguous queries: what may be meant that the documents speak of.

The passages for the query as it stands are retrieved once, and a model reads the interpretations
out of them, so that none is invented that nobody can answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np

from ....judges.instruction import ASKING, Filled, ask_instruction, load_instruction
from ....judges.judge import JudgeSettings, judge
from ....judges.metrics import Estimate
from ....judges.models.client import Client
from ....judges.models.counters import Progress, unwatched
from ....judges.prompt import JudgePrompt
from ....judges.retrieval import Encode, unit_vectors, words
from ....judges.rows import Dataset, Row
from ....judges.scale import BINARY
from ....judges.verdict import Unscored
from ..search import latent_vectors
from .chunk_index import ChunkIndex
from .grading import mean_by_group

MOST = 10
"""Interpretations of a query; what a model writes beyond them is left out."""
QUOTED = 0.5
"""The share of a quotation's words that its passages must hold."""

Dropped = Literal["", "unanswered", "unsupported", "repeated"]
"""Why an interpretation was not kept: the model finds no answer to it, quotes what no passage says,
or it means the same as an earlier one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpretation:
    """One thing that a query may mean."""

    query: int
    """Position of the query."""
    text: str
    passages: str
    """Those that it was held against."""
    answer: str = ""
    quote: str = ""
    dropped: Dropped = ""
    detail: str = ""
    """What it repeats, where it was dropped for that."""
    failure: str = ""
    """Why the model gave no answer that could be read, or a judge no verdict."""
    grounded: bool | None = None
    """By the judge; None where it was not kept, or has no verdict."""
    answerable: bool | None = None

    @property
    def kept(self) -> bool:
        """Whether it was answered, and not dropped."""
        return bool(self.answer) and not self.dropped


@dataclass(frozen=True, slots=True, kw_only=True)
class Judges:
    """Who measures what was kept: is it grounded in its passages, and can it be answered from
    them?
    """

    grounded: JudgePrompt
    answerable: JudgePrompt
    settings: JudgeSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Clarified:
    """What was made of the queries."""

    interpretations: tuple[Interpretation, ...]
    unread: Mapping[int, str]
    """Queries whose interpretations could not be read, and why."""
    model_calls: int
    """Questions to the model that writes; the judges' are not among them."""
    simulated: bool
    queries: int

    @property
    def kept(self) -> tuple[Interpretation, ...]:
        """What is left."""
        return tuple(one for one in self.interpretations if one.kept)

    @property
    def failures(self) -> tuple[str, ...]:
        """Why requests about queries and interpretations came to nothing; those count nowhere."""
        return (
            *self.unread.values(),
            *(one.failure for one in self.interpretations if one.failure),
        )

    def share(self, *which: Literal["grounded", "answerable"]) -> Estimate:
        """Return the share of what was kept that the judges say yes to, with its interval over
        queries.
        """
        judged = [one for one in self.kept if all(getattr(one, name) is not None for name in which)]
        values = np.array([float(all(getattr(one, name) for name in which)) for one in judged])
        groups = np.array([one.query for one in judged], np.int64)
        return mean_by_group(values, groups, "nothing that was kept has a verdict")

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the figures."""
        dropped = [one.dropped for one in self.interpretations if one.dropped]
        return {
            "proposed": len(self.interpretations),
            "kept": len(self.kept),
            "dropped": {name: dropped.count(name) for name in dict.fromkeys(dropped)},
            "unread": len(self.unread),
            "failed": sum(bool(one.failure) for one in self.interpretations),
            "model_calls": self.model_calls,
            "grounded": self.share("grounded").to_json(),
            "answerable": self.share("answerable").to_json(),
            "both": self.share("grounded", "answerable").to_json(),
        }


def clarify_queries(
    queries: Sequence[str],
    index: ChunkIndex,
    client: Client,
    judges: Judges,
    *,
    k: int = 10,
    alike: float = 0.8,
    encode: Encode | None = None,
    settings: JudgeSettings = ASKING,
    watch: Callable[[str, Progress], None] = unwatched,
) -> Clarified:
    """Find interpretations, keep those with a supported answer, merge those that mean the same, and
    judge the rest.

    Args:
        queries: As people typed them.
        index: The documents.
        client: Writes interpretations and answers, and judges.
        judges: Who measures.
        k: Passages of a search.
        alike: The cosine of question and answer from which on two interpretations mean the same.
        encode: Vectors of texts; latent semantic analysis of a query's interpretations without one.
        settings: Sampling and limits of the model that writes.
        watch: Called with what is being asked while replies come in.
    """
    items = [
        {"query": query, "passages": index.passages(index.best(query, k))} for query in queries
    ]
    replies = ask_instruction(
        load_instruction("extract_interpretations"),
        items,
        client,
        settings=settings,
        progress=lambda progress: watch("queries", progress),
    )
    interpretations: list[Interpretation] = []
    unread: dict[int, str] = {}
    simulated = client.model.simulated
    for i, reply in enumerate(replies):
        if not isinstance(reply, Filled):
            unread[i] = f"{reply.reason}: {reply.detail}"
            continue
        simulated = simulated or reply.simulated
        texts = dict.fromkeys(
            text for raw in reply.texts("interpretations") if (text := " ".join(raw.split()))
        )
        for text in [*texts][:MOST]:
            passages = items[i]["passages"]
            interpretations.append(Interpretation(query=i, text=text, passages=passages))
    answered = _answered(
        interpretations, client, settings, lambda progress: watch("answers", progress)
    )
    merged = _merged(answered, alike, encode)
    judged = _judged(queries, merged, client, judges, lambda progress: watch("verdicts", progress))
    return Clarified(
        interpretations=tuple(judged),
        unread=unread,
        model_calls=len(queries) + len(interpretations),
        simulated=simulated,
        queries=len(queries),
    )


def _answered(
    interpretations: Sequence[Interpretation],
    client: Client,
    settings: JudgeSettings,
    progress: Callable[[Progress], None],
) -> list[Interpretation]:
    """Have each answered from its passages; one without an answer that they support is dropped."""
    items = [{"question": one.text, "passages": one.passages} for one in interpretations]
    replies = ask_instruction(
        load_instruction("answer_question"), items, client, settings=settings, progress=progress
    )
    answered: list[Interpretation] = []
    for one, reply in zip(interpretations, replies, strict=True):
        if not isinstance(reply, Filled):
            answered.append(replace(one, failure=f"{reply.reason}: {reply.detail}"))
            continue
        answer, quote = reply.text("answer").strip(), reply.text("quote").strip()
        dropped: Dropped = ""
        if not answer:
            dropped = "unanswered"
        elif _held(quote, one.passages) < QUOTED:
            dropped = "unsupported"
        answered.append(replace(one, answer=answer, quote=quote, dropped=dropped))
    return answered


def _held(quote: str, passages: str) -> float:
    """Return the share of a quotation's words that passages hold; 0 without a quotation."""
    quoted = words(quote)
    there = set(words(passages))
    return sum(word in there for word in quoted) / len(quoted) if quoted else 0.0


def _merged(
    interpretations: Sequence[Interpretation], alike: float, encode: Encode | None
) -> list[Interpretation]:
    """Cluster a query's question-answer pairs; of each cluster the first is kept.

    Two with different numbers never mean the same: years and versions are what queries leave out
    most.
    """
    merged = list(interpretations)
    for query in dict.fromkeys(one.query for one in interpretations):
        at = [i for i, one in enumerate(interpretations) if one.query == query and one.kept]
        if len(at) < 2:
            continue
        texts = [f"{interpretations[i].text} {interpretations[i].answer}" for i in at]
        first: dict[int, int] = {}
        for i, cluster in zip(at, _clusters(texts, alike, encode), strict=True):
            if cluster in first:
                merged[i] = replace(
                    interpretations[i],
                    dropped="repeated",
                    detail=interpretations[first[cluster]].text,
                )
            else:
                first[cluster] = i
    return merged


def _clusters(texts: Sequence[str], alike: float, encode: Encode | None) -> list[int]:
    from sklearn.cluster import AgglomerativeClustering

    unit = latent_vectors(texts) if encode is None else unit_vectors(encode(texts))
    # A text without a word is like no other.
    distances = np.clip(1.0 - np.round(unit @ unit.T, 6), 0.0, 2.0)
    numbers = [frozenset(word for word in words(text) if word.isdigit()) for text in texts]
    for i, j in combinations(range(len(texts)), 2):
        if numbers[i] != numbers[j]:
            distances[i, j] = distances[j, i] = 2.0
    clustering = AgglomerativeClustering(
        n_clusters=None,  # pyright: ignore[reportArgumentType]  # None where the distance decides
        metric="precomputed",
        linkage="complete",
        distance_threshold=1.0 - alike + 1e-6,
    )
    return [int(label) for label in clustering.fit_predict(distances)]


def _judged(
    queries: Sequence[str],
    interpretations: Sequence[Interpretation],
    client: Client,
    judges: Judges,
    progress: Callable[[Progress], None],
) -> list[Interpretation]:
    """Have both judges look at what was kept."""
    remaining = [i for i, one in enumerate(interpretations) if one.kept]
    judged = list(interpretations)
    for name, prompt in (("grounded", judges.grounded), ("answerable", judges.answerable)):
        rows: list[Row] = []
        for i in remaining:
            one = interpretations[i]
            texts = {"query": queries[one.query], "interpretation": one.text, "question": one.text}
            inputs = {field: {**texts, "passages": one.passages}[field] for field in prompt.inputs}
            rows.append(Row(id=str(i), inputs=inputs, group=str(one.query)))
        dataset = Dataset.of(rows, labels=BINARY, name="interpretations")
        answers = judge(
            prompt, dataset, client, settings=judges.settings, progress=progress
        ).answers
        for i, answer in zip(remaining, answers, strict=True):
            if isinstance(answer, Unscored):
                judged[i] = replace(judged[i], failure=f"{answer.reason}: {answer.detail}")
            else:
                judged[i] = replace(judged[i], **{name: answer.positive})
    return judged
