"""Draw pairs of query and document to annotate, inside and outside the retriever's top k, with
known chances.

Judging every pair of a corpus costs too much, and judging only what a retriever found first leaves
out what it missed. So as many pairs are drawn from outside its top k as from inside (as in DIRAS),
and each carries its inclusion probability: weighted by the inverse, the sample speaks for the whole
corpus.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ....judges.errors import InputError
from ....judges.judged_dataset import BoolArray, FloatArray, IntArray
from ....judges.metrics import Cells, Estimate, jackknife_intervals
from ....judges.metrics.delta import ONE_UNIT
from ....judges.retrieval import Retriever, rank
from ....judges.rows import Dataset, Row
from ....judges.scale import OutputScale


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A query or a document."""

    id: str
    text: str
    """What the retriever reads."""
    inputs: Mapping[str, str]
    """The judge's inputs that it fills."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePlan:
    """Which pairs to draw for each query."""

    k: int = 5
    """The retriever's top."""
    per_query: int = 10
    """Pairs of a query: half of them inside the top k, the odd one too; fewer where k is smaller
    than that.
    """
    seed: int = 0

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InputError(f"k {self.k!r} is not a positive number of documents")
        if self.per_query < 2:
            message = (
                f"{self.per_query!r} pairs a query cannot be inside and outside the top k; take two"
                " or more"
            )
            raise InputError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One drawn pair."""

    query: Item
    document: Item
    rank: int
    """1 is what the retriever puts first."""
    inside: bool
    """Whether it is in the top k."""
    retriever_score: float
    inclusion: float
    """The chance with which this pair was drawn, in (0, 1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleEstimates:
    """What the sample says about the whole corpus, with intervals that draw queries."""

    recall: Estimate
    """Share of all relevant pairs that the retriever's top k holds."""
    relevant_per_query: Estimate
    """Relevant documents of a query, in the whole corpus."""


def sample_pairs(
    queries: Sequence[Item], documents: Sequence[Item], retriever: Retriever, plan: SamplePlan
) -> Iterator[Pair]:
    """Draw the pairs of each query in turn, best rank first.

    A query's draw depends on the seed and its id alone, not on the other queries.

    Args:
        queries: With distinct ids.
        documents: The corpus, in the order the retriever was given it.
        retriever: Ranks the corpus for each query.
        plan: How many to draw, and where.
    """
    for query in queries:
        scores = retriever.scores(query.text)
        order = rank(scores)
        # Its own generator, so that adding a query leaves the pairs of the others as they were.
        digest = hashlib.blake2b(query.id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        generator = np.random.default_rng([plan.seed, int.from_bytes(digest, "big")])
        drawn = draw_ranks(len(documents), plan, generator)
        for position, inclusion in sorted(drawn.items()):
            document = int(order[position])
            yield Pair(
                query=query,
                document=documents[document],
                rank=position + 1,
                inside=position < plan.k,
                retriever_score=float(scores[document]),
                inclusion=inclusion,
            )


def draw_ranks(documents: int, plan: SamplePlan, rng: np.random.Generator) -> dict[int, float]:
    """Draw ranks, counted from 0, and return each with its inclusion probability."""
    top = min(plan.k, documents)
    inside = min((plan.per_query + 1) // 2, top)
    outside = min(plan.per_query // 2, documents - top)
    drawn: dict[int, float] = {}
    if inside:
        for position in rng.choice(top, inside, replace=False):
            drawn[int(position)] = inside / top
    if outside == 0:
        return drawn
    # Each band of ranks is wider than the one before by the same factor: near misses are seen, and
    # no document is out of reach.
    for low, high in pairwise(_band_edges(top, documents, outside)):
        drawn[int(rng.integers(low, high))] = 1.0 / (high - low)
    return drawn


def pair_dataset(pairs: Sequence[Pair], scale: OutputScale, *, name: str = "") -> Dataset:
    """Return the pairs as rows for a judge, without labels and grouped by query.

    Args:
        pairs: What was drawn.
        scale: Of labels that people may give them.
        name: Of the dataset.
    """
    rows: list[Row] = []
    for pair in pairs:
        query, document = pair.query, pair.document
        row = Row(
            id=pair_id(query.id, document.id),
            inputs={**query.inputs, **document.inputs},
            meta={
                "query_id": query.id,
                "document_id": document.id,
                "rank": pair.rank,
                "inside": pair.inside,
                "retriever_score": pair.retriever_score,
                "inclusion": pair.inclusion,
            },
            group=query.id,
        )
        rows.append(row)
    return Dataset.of(rows, labels=scale, name=name)


def pair_id(query: str, document: str) -> str:
    """Return one id for a pair, a different one for every other pair."""
    return f"{query.replace('%', '%25').replace('/', '%2F')}/{document}"


def estimate_from_sample(
    inside: BoolArray,
    relevant: BoolArray,
    inclusion: FloatArray,
    queries: IntArray,
    *,
    documents: int,
) -> SampleEstimates:
    """Estimate from a sample of pairs what the retriever's top k misses in the whole corpus.

    Each pair weighs the inverse of its inclusion probability, and sums are divided by the weights
    that answered (Hajek 1971): a pair without a verdict is left out, and the others stand for it.

    Args:
        inside: Whether a pair is in the top k; shape (n,).
        relevant: Whether it is relevant, by the judge or by people; shape (n,).
        inclusion: The chance with which it was drawn; shape (n,).
        queries: Codes 0..G-1; shape (n,).
        documents: Size of the corpus.
    """
    n = len(relevant)
    if n == 0:
        undefined = Estimate.undefined(0, "no pair has a verdict")
        return SampleEstimates(recall=undefined, relevant_per_query=undefined)
    weight = 1.0 / inclusion
    parts = (weight * (inside & relevant), weight * relevant, weight)
    # Per query, so that leaving one out is a matrix product; shape (queries, 3).
    sums = np.stack([np.bincount(queries, weights=part) for part in parts], axis=1)

    def recall(counts: FloatArray) -> FloatArray:
        retrieved, relevant_sum, _ = np.moveaxis(counts @ sums, -1, 0)
        undefined = np.full(len(counts), np.nan)
        return np.divide(retrieved, relevant_sum, out=undefined, where=relevant_sum > 0)

    def per_query(counts: FloatArray) -> FloatArray:
        _, relevant_sum, weights = np.moveaxis(counts @ sums, -1, 0)
        return documents * relevant_sum / weights

    statistics = {"recall": recall, "per_query": per_query}
    # Each query is a cell of its own.
    cells = Cells(code=np.arange(len(sums)), size=len(sums))
    bounds = {"per_query": (0.0, float(documents))}
    intervals = jackknife_intervals(statistics, cells, bounds=bounds)
    estimates: dict[str, Estimate] = {}
    for name, statistic in statistics.items():
        value = float(statistic(np.ones((1, len(sums))))[0])
        estimates[name] = (
            Estimate.of(value, intervals[name], n, missing=ONE_UNIT)
            if np.isfinite(value)
            else Estimate.undefined(n, "no sampled pair is relevant")
        )
    return SampleEstimates(recall=estimates["recall"], relevant_per_query=estimates["per_query"])


def _band_edges(top: int, documents: int, bands: int) -> list[int]:
    """Return edges of bands from `top` to `documents`, each wider by the same factor and at least
    one rank wide.
    """
    edges = [top]
    for j in range(1, bands):
        edge = round(top * (documents / top) ** (j / bands))
        # At least one rank here, and one left for each band to come.
        edges.append(min(max(edge, edges[-1] + 1), documents - (bands - j)))
    return [*edges, documents]
