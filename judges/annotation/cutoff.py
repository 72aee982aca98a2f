"""Retrieve by a threshold on the judge's probability instead of a fixed number of documents (as in DIRAS).

A question with twenty relevant passages and one with none get the same k from a fixed top k; a calibrated
probability gives each as many as pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..judged import BoolArray, FloatArray, IntArray
from ..metrics import Estimate
from ..notebook_display import html_table
from ..reliability.cluster_bootstrap import bootstrap_groups

if TYPE_CHECKING:
    import pandas as pd

MOST_POINTS = 101
"""Points of a curve that are written out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CutPoint:
    """What one cut-off retrieves."""

    cut: float
    """The least probability, or k."""
    precision: float | None
    """None where nothing is retrieved."""
    recall: float
    f1: float
    documents: float
    """Retrieved documents of a query, on average."""

    def to_json(self) -> dict[str, float | None]:
        """Return the five figures."""
        return {
            "cut": self.cut,
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "documents": self.documents,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CutCurve:
    """F1 by threshold, and by k beside it."""

    points: tuple[CutPoint, ...]
    """One for each distinct probability, falling."""
    best: CutPoint
    """The highest F1; of equals the one that retrieves least."""
    best_f1: Estimate
    top: tuple[CutPoint, ...]
    """One for each k."""
    top_f1: tuple[Estimate, ...]
    gain: Estimate
    """F1 of the best threshold minus that of the best k."""
    n: int
    queries: int
    note: str = (
        "threshold and k were both chosen on these pairs: on new ones each F1 is lower; "
        "the intervals draw queries and take the choice as given"
    )

    def __repr__(self) -> str:
        cuts = f"best threshold {self.best.cut:.4g} against {len(self.top)} values of k"
        return f"CutCurve({cuts}, n={self.n:,} pairs of {self.queries:,} queries)"

    def _repr_html_(self) -> str:
        return html_table(self.to_frame(), title=repr(self), notes=(self.note,))

    def to_frame(self) -> pd.DataFrame:
        """Return the best threshold, then each k: documents a query, and F1 with its interval and n."""
        import pandas as pd

        cuts = (("threshold", self.best, self.best_f1), *(("k", *k) for k in zip(self.top, self.top_f1, strict=True)))
        return pd.DataFrame(
            {"by": by, "cut": point.cut, "documents": point.documents, "metric": "f1", **asdict(f1)}
            for by, point, f1 in cuts
        )

    def to_json(self) -> dict[str, object]:
        """Return best threshold, every k, and the curve, thinned to about a hundred points."""
        step = max(1, len(self.points) // (MOST_POINTS - 1))
        beside = zip(self.top, self.top_f1, strict=True)
        return {
            "n": self.n,
            "queries": self.queries,
            "best": self.best.to_json() | {"f1": self.best_f1.to_json()},
            "top_k": [point.to_json() | {"f1": f1.to_json()} for point, f1 in beside],
            "gain": self.gain.to_json(),
            "curve": [point.to_json() for point in self.points[::step]],
            "note": self.note,
        }


def f1_by_threshold(
    label: BoolArray,
    probability: FloatArray,
    groups: IntArray,
    *,
    rank: IntArray | None = None,
    weight: FloatArray | None = None,
    ks: Sequence[int] = (1, 3, 5, 10),
    seed: int = 0,
) -> CutCurve:
    """Compare every threshold on the probability with every fixed k, by F1 pooled over pairs.

    Args:
        label: Whether people call the pair relevant; shape (n,).
        probability: The judge's, best calibrated; shape (n,).
        groups: Codes 0..G-1 of the queries; shape (n,).
        rank: The retriever's rank of the pair, from 1; without it the rank by probability among the query's pairs,
            equal ones in the order given. Shape (n,).
        weight: What a pair stands for, such as the inverse of its inclusion probability; 1 without. Shape (n,).
        ks: The k to compare with.
        seed: Of the resamples, which draw queries.

    Raises:
        InputError: The arrays differ in length, a probability is missing, no pair is relevant, or there is no k.
    """
    _check(label, probability, groups, ks)
    w = np.ones(len(label)) if weight is None else weight
    ranked = _ranks(probability, groups) if rank is None else rank
    queries = int(groups.max()) + 1
    points = _curve(label, probability, w, queries)
    best = max(points, key=lambda point: point.f1)  # the first of equals, with the highest threshold
    retrieved = [probability >= best.cut, *(ranked <= k for k in ks)]
    top = tuple(_point(k, label, ranked <= k, w, queries) for k in ks)
    at = 1 + max(range(len(ks)), key=lambda i: top[i].f1)
    estimates, gain = _intervals(label, retrieved, w, groups, at=at, seed=seed)
    return CutCurve(
        points=points,
        best=best,
        best_f1=estimates[0],
        top=top,
        top_f1=tuple(estimates[1:]),
        gain=gain,
        n=len(label),
        queries=queries,
    )


def _check(label: BoolArray, probability: FloatArray, groups: IntArray, ks: Sequence[int]) -> None:
    if not len(label) == len(probability) == len(groups):
        raise InputError(f"{len(label)} labels, {len(probability)} probabilities and {len(groups)} groups do not match")
    if not np.isfinite(probability).all():
        raise InputError("a pair has no probability; leave such pairs out")
    if not label.any():
        raise InputError("no pair is labelled relevant, so that no threshold can be chosen")
    if not ks or min(ks) < 1:
        raise InputError(f"k {list(ks)!r} are numbers from 1")


def _ranks(probability: FloatArray, groups: IntArray) -> IntArray:
    """Rank of each pair within its query, from 1, the highest probability first."""
    order = np.lexsort((-probability, groups))
    starts = np.searchsorted(groups[order], np.arange(int(groups.max()) + 1))
    ranks = np.empty(len(groups), np.int64)
    ranks[order] = np.arange(len(groups)) - starts[groups[order]] + 1
    return ranks


def _curve(label: BoolArray, probability: FloatArray, weight: FloatArray, queries: int) -> tuple[CutPoint, ...]:
    values, code = np.unique(-probability, return_inverse=True)
    hits = np.cumsum(np.bincount(code, weights=weight * label))
    taken = np.cumsum(np.bincount(code, weights=weight))
    relevant = float((weight * label).sum())
    return tuple(
        _figures(float(-v), float(h), float(t), relevant, queries) for v, h, t in zip(values, hits, taken, strict=True)
    )


def _point(cut: float, label: BoolArray, retrieved: BoolArray, weight: FloatArray, queries: int) -> CutPoint:
    sums = (weight[label & retrieved].sum(), weight[retrieved].sum(), weight[label].sum())
    hits, taken, relevant = map(float, sums)
    return _figures(float(cut), hits, taken, relevant, queries)


def _figures(cut: float, hits: float, taken: float, relevant: float, queries: int) -> CutPoint:
    return CutPoint(
        cut=cut,
        precision=hits / taken if taken else None,
        recall=hits / relevant,
        f1=2 * hits / (taken + relevant),
        documents=taken / queries,
    )


def _intervals(
    label: BoolArray, retrieved: Sequence[BoolArray], weight: FloatArray, groups: IntArray, *, at: int, seed: int
) -> tuple[list[Estimate], Estimate]:
    """F1 of each cut-off, and how far the first is above the one `at`, with intervals over queries."""
    hits = np.stack([np.bincount(groups, weights=weight * (label & r)) for r in retrieved], axis=1)
    size = np.stack([np.bincount(groups, weights=weight * (1.0 * label + r)) for r in retrieved], axis=1)

    def f1(i: int, counts: FloatArray) -> FloatArray:
        top, bottom = 2 * counts @ hits[:, i], counts @ size[:, i]
        return np.divide(top, bottom, out=np.full(len(counts), np.nan), where=bottom > 0)

    statistics: dict[str, Callable[[FloatArray], FloatArray]] = {str(i): partial(f1, i) for i in range(len(retrieved))}
    statistics["gain"] = lambda counts: f1(0, counts) - f1(at, counts)
    found = bootstrap_groups(statistics, len(hits), n=len(label), missing="no pair is relevant", seed=seed)
    return [found[str(i)] for i in range(len(retrieved))], found["gain"]
