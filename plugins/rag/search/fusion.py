"""Several features fused into one ranking: a weighted sum, or weighted reciprocal ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ....judges.errors import InputError
from ....judges.judged_dataset import BoolArray, FloatArray
from .table import SearchTable

Method = Literal["sum", "rrf"]
METHODS: tuple[Method, ...] = ("sum", "rrf")
DIGITS = 9
"""Scores are rounded to so many digits: sums in another order are the same ranking on every
machine.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion:
    """How features become one score.

    `sum`: the weighted sum of the features, each with mean 0 and standard deviation 1 over the
    documents of a query. `rrf`: the weighted sum of 1 / (k + rank) (Cormack, Clarke and Buettcher
    2009), rank being 1 for the highest.
    """

    method: Method
    weights: Mapping[str, float]
    """By feature; none is negative, and they sum to 1."""
    k: float | None = None
    """Of `rrf`."""

    @classmethod
    def of(cls, method: Method, weights: Mapping[str, float], k: float | None = None) -> Fusion:
        """Make a fusion of weights that need not sum to 1.

        Raises:
            InputError: A weight is negative, or all are 0; or reciprocal ranks lack their k.
        """
        total = sum(weights.values())
        if total <= 0 or min(weights.values()) < 0:
            raise InputError("the weights of a fusion are 0 or more, and one of them is more")
        if method == "rrf" and (k is None or k <= 0):
            raise InputError("reciprocal ranks need a k above 0")
        shares = {name: weight / total for name, weight in weights.items()}
        return cls(method=method, weights=shares, k=k if method == "rrf" else None)

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return method, weights and k."""
        return {"method": self.method, "weights": dict(self.weights), "k": self.k}

    def __str__(self) -> str:
        listed = ", ".join(f"{name} {weight:.2f}" for name, weight in self.weights.items())
        return (
            f"reciprocal ranks, k {self.k:.1f}: {listed}"
            if self.k is not None
            else f"weighted sum: {listed}"
        )


class Fuser:
    """Fuses the features of a table in many ways, what is common to them worked out once.

    A document without a value counts as the query's lowest in a sum, and adds nothing by its rank.
    """

    def __init__(self, table: SearchTable) -> None:
        self._table = table

    def scores(self, fusion: Fusion, rows: BoolArray | slice = slice(None)) -> FloatArray:
        """Return the fused score of each pair, or of some; shape (rows,).

        Raises:
            InputError: A weight is for a feature that the table lacks.
        """
        unknown = [name for name in fusion.weights if name not in self._table.features]
        if unknown:
            raise InputError(
                f"the table has no feature {unknown[0]!r}; it has {', '.join(self._table.features)}"
            )
        weights = np.array([fusion.weights.get(name, 0.0) for name in self._table.features])
        if fusion.k is None:
            return np.round(self._standard[rows] @ weights, DIGITS)
        return np.round((1.0 / (fusion.k + self._rank[rows])) @ weights, DIGITS)

    @cached_property
    def _standard(self) -> FloatArray:
        """Features with mean 0 and standard deviation 1 in each query; 0 where a query has one
        value; shape (n, F).
        """
        standard = np.zeros_like(self._table.values)
        for rows in self._queries:
            values = self._table.values[rows]
            lowest = np.where(np.isnan(values), np.inf, values).min(axis=0)
            filled = np.where(np.isnan(values), np.where(np.isfinite(lowest), lowest, 0.0), values)
            # Over the largest first: squares of huge scores leave the range of floats.
            filled = filled / np.maximum(np.abs(filled).max(axis=0), np.finfo(np.float64).tiny)
            spread = filled.std(axis=0)
            centred = filled - filled.mean(axis=0)
            standard[rows] = np.divide(
                centred, spread, out=np.zeros_like(centred), where=spread > 1e-12
            )
        return standard

    @cached_property
    def _rank(self) -> FloatArray:
        """Rank in its query, equal values sharing their mean rank, infinite where there is no
        value; shape (n, F).
        """
        from scipy.stats import rankdata

        rank = np.full(self._table.values.shape, np.inf)
        for rows in self._queries:
            for j in range(len(self._table.features)):
                some = rows[~np.isnan(self._table.values[rows, j])]
                if len(some):
                    rank[some, j] = rankdata(-self._table.values[some, j])
        return rank

    @cached_property
    def _queries(self) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]]:
        order = np.argsort(self._table.query, kind="stable").astype(np.int64)
        ends = np.cumsum(np.bincount(self._table.query, minlength=len(self._table.queries)))[:-1]
        return [rows for rows in np.split(order, ends) if len(rows)]
