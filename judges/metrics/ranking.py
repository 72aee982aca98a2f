"""How well scores order the documents of each query: nDCG, average precision, reciprocal rank,
precision, recall.

Documents with equal scores have no order, so each metric is its expected value when they are put in
random order (McSherry and Najork 2008), as scikit-learn's `ndcg_score` has it; trec_eval instead
breaks ties by the document's name. A document that people judged and the run lacks counts in the
ideal ranking and in the number of relevant ones; a document that the run has and nobody judged
takes a rank and is not relevant. A query without a relevant document scores 0 and stays in the
mean, as in trec_eval, and the estimate says how many there are; where no query has one, there is no
mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from ..errors import InputError
from ..judged_dataset import BoolArray, FloatArray, IntArray
from .delta import mean_share
from .estimate import Estimate

Gain = Literal["linear", "exponential"]
NO_QUERIES = "no query has a judged document"
NO_RELEVANT = "no query has a relevant document"


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """The documents of all queries, one a position, in any order."""

    query: IntArray
    """0..Q-1, every code in use; shape (n,)."""
    grade: FloatArray
    """People's grade, 0 or less for not relevant, NaN for a document that nobody judged; shape
    (n,).
    """
    score: FloatArray
    """What the documents are ranked by, highest first; NaN for a judged document the run lacks;
    shape (n,).
    """

    def __post_init__(self) -> None:
        if not len(self.query) == len(self.grade) == len(self.score):
            raise InputError(
                f"{len(self.query)} queries, {len(self.grade)} grades and {len(self.score)} scores"
            )

    @cached_property
    def queries(self) -> int:
        """The number of queries."""
        return int(self.query.max(initial=-1)) + 1

    @cached_property
    def ranks(self) -> _Ranks:
        """The rank of each document that has a score."""
        ranked = np.flatnonzero(~np.isnan(self.score))
        rows = ranked[np.lexsort((-self.score[ranked], self.query[ranked]))]
        query, score = self.query[rows], self.score[rows]
        rank = _ranks_of(query)
        opens = rank == 1
        opens[1:] |= score[1:] != score[:-1]
        tie = np.cumsum(opens) - 1
        return _Ranks(
            rows=rows, query=query, rank=rank, tie=tie, first=rank[opens], size=np.bincount(tie)
        )

    def relevant(self, threshold: float) -> BoolArray:
        """Which documents people graded at or above the threshold; shape (n,)."""
        return self.grade >= threshold


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranks:
    rows: IntArray
    """Positions of the ranked documents, query by query, best first; shape (m,)."""
    query: IntArray
    rank: IntArray
    """From 1 in each query."""
    tie: IntArray
    """Which run of equal scores the document belongs to, 0..T-1."""
    first: IntArray
    """Rank of each run's first document; shape (T,)."""
    size: IntArray
    """Documents of each run; shape (T,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ties:
    relevant: FloatArray
    """Relevant documents among those of the same score, for each ranked document; shape (m,)."""
    size: FloatArray
    before: FloatArray
    """Relevant documents of higher score."""
    position: FloatArray
    """Position within the documents of the same score, from 1."""

    @property
    def share(self) -> FloatArray:
        """Chance that a relevant document stands at this rank."""
        return self.relevant / self.size


def ndcg(ranking: Ranking, k: int | None = None, *, gain: Gain = "linear") -> FloatArray:
    """Return the normalised discounted cumulative gain of each query; shape (Q,).

    The sum of gain / log2(rank + 1) over the first k documents, divided by the same sum of the best
    possible order (Jarvelin and Kekalainen 2002). The gain is the grade as in trec_eval, or 2^grade
    - 1 (Burges et al. 2005).

    Args:
        ranking: Documents with grades and scores.
        k: The ranks that count; None for all.
        gain: Linear or exponential.
    """
    gains = _gains(ranking.grade, gain)
    ranks = ranking.ranks
    longest = int(np.bincount(ranking.query).max(initial=0))
    discount = 1.0 / np.log2(np.arange(2, longest + 2))
    if k is not None:
        # Not cut from the list: a tie across the cut-off shares what lies before it.
        discount[_cutoff(k) :] = 0.0
    summed = np.concatenate(([0.0], np.cumsum(discount)))
    shared = (summed[ranks.first + ranks.size - 1] - summed[ranks.first - 1]) / ranks.size
    gained = _summed(ranks.query, gains[ranks.rows] * shared[ranks.tie], ranking.queries)
    ideal = np.lexsort((-gains, ranking.query))
    queries = ranking.query[ideal]
    best = _summed(queries, gains[ideal] * discount[_ranks_of(queries) - 1], ranking.queries)
    return _share(gained, best)


def average_precision(ranking: Ranking, *, threshold: float = 1.0) -> FloatArray:
    """Return the mean precision at the ranks of each query's relevant documents; shape (Q,).

    A relevant document that the run lacks has precision 0. `map` is the mean over queries.

    Args:
        ranking: Documents with grades and scores.
        threshold: A grade at or above it is relevant.
    """
    ties = _ties(ranking, threshold)
    others = np.divide(
        ties.relevant - 1, ties.size - 1, out=np.zeros_like(ties.size), where=ties.size > 1
    )
    hits = ties.before + 1 + (ties.position - 1) * others
    precision = _summed(
        ranking.ranks.query, ties.share * hits / ranking.ranks.rank, ranking.queries
    )
    return _share(precision, _relevant_documents(ranking, threshold))


def mean_over_queries(values: FloatArray, ranking: Ranking, relevant: BoolArray) -> Estimate:
    """Return the mean of a metric over queries, with an interval over queries; None where none has
    what is sought.

    Args:
        values: One a query, in [0, 1]; shape (Q,).
        ranking: What they were computed from; its judged documents are the estimate's n.
        relevant: Which documents can add to the metric; shape (n,).
    """
    n = int((~np.isnan(ranking.grade)).sum())
    if len(values) == 0:
        return Estimate.undefined(n, NO_QUERIES)
    without = int((_summed(ranking.query, relevant, ranking.queries) == 0).sum())
    if without == len(values):
        return Estimate.undefined(n, NO_RELEVANT)
    reason = ""
    if without:
        queries = "query has" if len(values) == 1 else "queries have"
        reason = f"{without} of {len(values)} {queries} no relevant document and count 0"
    return mean_share(values, n=n, reason=reason)


def ranking_metrics(
    ranking: Ranking, *, at: Sequence[int] = (10,), threshold: float = 1.0
) -> dict[str, Estimate]:
    """Return `ndcg@k` and `ndcg_exp@k` for each k, and `map`, as means over queries with intervals
    over queries.

    Args:
        ranking: Documents with grades and scores.
        at: Cut-offs of nDCG.
        threshold: A grade at or above it is relevant for MAP; every grade above 0 adds to nDCG.
    """
    gains: tuple[tuple[str, Gain], ...] = (("ndcg", "linear"), ("ndcg_exp", "exponential"))
    estimates: dict[str, Estimate] = {}
    for k in at:
        for name, gain in gains:
            values = ndcg(ranking, k, gain=gain)
            estimates[f"{name}@{k}"] = mean_over_queries(values, ranking, ranking.grade > 0)
    precision = average_precision(ranking, threshold=threshold)
    estimates["map"] = mean_over_queries(precision, ranking, ranking.relevant(threshold))
    return estimates


def _ranks_of(query: IntArray) -> IntArray:
    position = np.arange(len(query))
    opens = np.ones(len(query), np.bool_)
    opens[1:] = query[1:] != query[:-1]
    return position - np.maximum.accumulate(np.where(opens, position, 0)) + 1


def _summed(code: IntArray, values: FloatArray | BoolArray, size: int) -> FloatArray:
    return np.bincount(code, values, size).astype(np.float64)


def _gains(grade: FloatArray, gain: Gain) -> FloatArray:
    grades = np.maximum(np.nan_to_num(grade, nan=0.0), 0.0)
    if gain == "linear":
        return grades
    # Over the highest gain, so that no grade is too high for a float; the ratio to the ideal stays
    # the same.
    top = grades.max(initial=0.0)
    return np.exp2(grades - top) - np.exp2(-top)


def _ties(ranking: Ranking, threshold: float) -> _Ties:
    ranks = ranking.ranks
    hit = ranking.relevant(threshold)[ranks.rows]
    relevant = _summed(ranks.tie, hit, len(ranks.size))
    above = np.cumsum(relevant) - relevant
    before_query = np.maximum.accumulate(np.where(ranks.first == 1, above, 0.0))
    return _Ties(
        relevant=relevant[ranks.tie],
        size=ranks.size[ranks.tie].astype(np.float64),
        before=(above - before_query)[ranks.tie],
        position=(ranks.rank - ranks.first[ranks.tie] + 1).astype(np.float64),
    )


def _relevant_documents(ranking: Ranking, threshold: float) -> FloatArray:
    return _summed(ranking.query, ranking.relevant(threshold), ranking.queries)


def _cutoff(k: int) -> int:
    if k < 1:
        raise InputError(
            f"a ranking has no first {k!r} documents", hint="give a whole number of 1 or more"
        )
    return k


def _share(top: FloatArray, bottom: FloatArray) -> FloatArray:
    # Clipped, because the ideal order and the ranking's sum the same numbers in different orders.
    return np.minimum(np.divide(top, bottom, out=np.zeros_like(bottom), where=bottom > 0), 1.0)
