"""Compare retrieval by a threshold on the judge's probability with a fixed number of documents (as
in DIRAS).

A question with twenty relevant passages and one with none get the same k from a fixed top k; a
calibrated probability gives each as many as pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ....judges.errors import InputError
from ....judges.judged_dataset import BoolArray, FloatArray, IntArray
from ....judges.metrics import Estimate
from ....judges.notebook_display import html_table
from ....judges.reliability.cluster_bootstrap import bootstrap_groups

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
        return asdict(self)


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
        """Return the best threshold, then each k: documents a query, and F1 with its interval and
        n.
        """
        import pandas as pd

        cuts = [("threshold", self.best, self.best_f1)]
        for point, f1 in zip(self.top, self.top_f1, strict=True):
            cuts.append(("k", point, f1))
        lines = []
        for by, point, f1 in cuts:
            lines.append(
                {
                    "by": by,
                    "cut": point.cut,
                    "documents": point.documents,
                    "metric": "f1",
                    **asdict(f1),
                }
            )
        return pd.DataFrame(lines)

    def to_json(self) -> dict[str, object]:
        """Return best threshold, every k, and the curve, thinned to about a hundred points."""
        step = max(1, len(self.points) // (MOST_POINTS - 1))
        top_k = []
        for point, f1 in zip(self.top, self.top_f1, strict=True):
            top_k.append(point.to_json() | {"f1": f1.to_json()})
        return {
            "n": self.n,
            "queries": self.queries,
            "best": self.best.to_json() | {"f1": self.best_f1.to_json()},
            "top_k": top_k,
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
        rank: The retriever's rank of the pair, from 1; without it the rank by probability among the
            query's pairs, equal ones in the order given. Shape (n,).
        weight: What a pair stands for, such as the inverse of its inclusion probability; 1 without.
            Shape (n,).
        ks: The k to compare with.
        seed: Of the resamples, which draw queries.

    Raises:
        InputError: The arrays differ in length, a probability is missing, no pair is relevant, or
            there is no k.
    """
    if not len(label) == len(probability) == len(groups):
        raise InputError(
            f"{len(label)} labels, {len(probability)} probabilities and {len(groups)} groups do not"
            " match"
        )
    if not np.isfinite(probability).all():
        raise InputError("a pair has no probability; leave such pairs out")
    if not label.any():
        raise InputError("no pair is labelled relevant, so that no threshold can be chosen")
    if not ks or min(ks) < 1:
        raise InputError(f"k {list(ks)!r} are numbers from 1")
    if weight is None:
        weight = np.ones(len(label))
    if rank is None:
        order = np.lexsort((-probability, groups))
        starts = np.searchsorted(groups[order], np.arange(int(groups.max()) + 1))
        ranks = np.empty(len(groups), np.int64)
        ranks[order] = np.arange(len(groups)) - starts[groups[order]] + 1
        rank = ranks
    queries = int(groups.max()) + 1
    points = _curve(label, probability, weight, queries)
    # Of equals the first, which has the highest threshold.
    best = max(points, key=lambda point: point.f1)
    retrieved = [probability >= best.cut, *(rank <= k for k in ks)]
    relevant = float(weight[label].sum())
    top: list[CutPoint] = []
    for k, inside in zip(ks, retrieved[1:], strict=True):
        hits = float(weight[label & inside].sum())
        top.append(_cut_point(float(k), hits, float(weight[inside].sum()), relevant, queries))
    best_k = 1 + max(range(len(ks)), key=lambda i: top[i].f1)
    estimates, gain = _intervals(label, retrieved, weight, groups, best_k=best_k, seed=seed)
    return CutCurve(
        points=points,
        best=best,
        best_f1=estimates[0],
        top=tuple(top),
        top_f1=tuple(estimates[1:]),
        gain=gain,
        n=len(label),
        queries=queries,
    )


def _curve(
    label: BoolArray, probability: FloatArray, weight: FloatArray, queries: int
) -> tuple[CutPoint, ...]:
    # Negated, as `unique` sorts upwards and a falling threshold retrieves more and more.
    values, code = np.unique(-probability, return_inverse=True)
    hits = np.cumsum(np.bincount(code, weights=weight * label)).tolist()
    retrieved = np.cumsum(np.bincount(code, weights=weight)).tolist()
    relevant = float((weight * label).sum())
    points = []
    for i, value in enumerate(values.tolist()):
        points.append(_cut_point(-value, hits[i], retrieved[i], relevant, queries))
    return tuple(points)


def _cut_point(
    cut: float, hits: float, retrieved: float, relevant: float, queries: int
) -> CutPoint:
    return CutPoint(
        cut=cut,
        precision=hits / retrieved if retrieved else None,
        recall=hits / relevant,
        f1=2 * hits / (retrieved + relevant),
        documents=retrieved / queries,
    )


def _intervals(
    label: BoolArray,
    retrieved: Sequence[BoolArray],
    weight: FloatArray,
    groups: IntArray,
    *,
    best_k: int,
    seed: int,
) -> tuple[list[Estimate], Estimate]:
    """Return F1 of each cut-off, and the gain of the first over the one at `best_k`, with intervals
    over queries.
    """
    # F1 is 2 hits / (relevant + retrieved); its parts add up over queries. Shape (queries,
    # cut-offs).
    hits = np.stack(
        [np.bincount(groups, weights=weight * (label & cut)) for cut in retrieved], axis=1
    )
    sizes = np.stack(
        [np.bincount(groups, weights=weight * (1.0 * label + cut)) for cut in retrieved], axis=1
    )

    def f1(i: int, counts: FloatArray) -> FloatArray:
        top, bottom = 2 * counts @ hits[:, i], counts @ sizes[:, i]
        return np.divide(top, bottom, out=np.full(len(counts), np.nan), where=bottom > 0)

    names = [str(i) for i in range(len(retrieved))]
    statistics: dict[str, Callable[[FloatArray], FloatArray]] = {}
    for i, name in enumerate(names):
        statistics[name] = partial(f1, i)
    # Both F1 on the same resample, so that the interval is that of a paired difference.
    statistics["gain"] = lambda counts: f1(0, counts) - f1(best_k, counts)
    estimates = bootstrap_groups(
        statistics, len(hits), n=len(label), missing="no pair is relevant", seed=seed
    )
    return [estimates[name] for name in names], estimates["gain"]
