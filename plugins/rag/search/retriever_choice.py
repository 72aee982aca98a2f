"""Choose a retriever by how far its order agrees with grades, query by query: the judge's, or
people's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....judges.judged_dataset import FloatArray
from ....judges.metrics import Estimate, kendall_tau
from .paired_gain import Gain, paired_gain
from .table import SearchTable

UNTOLD = "no query has documents that both the retriever and the grades tell apart"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrieverChoice:
    """Which retriever the judge's grades choose, and what that costs by people's; by Kendall's
    tau-b.
    """

    by_judge: Mapping[str, Estimate]
    """Each retriever's tau with the judge's grades, the mean over queries."""
    by_people: Mapping[str, Estimate]
    chosen: str | None
    """The highest by the judge; None where no query tells."""
    best: str | None
    """The highest by people."""
    loss: Gain | None
    """Tau by people of the chosen retriever less that of the best, on queries where both exist."""

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return everything."""
        taus = {
            name: {"human": self.by_people[name].to_json(), "judge": self.by_judge[name].to_json()}
            for name in self.by_judge
        }
        loss = None if self.loss is None else self.loss.to_json()
        return {
            "kendall_tau": taus,
            "chosen_by_judge": self.chosen,
            "chosen_by_people": self.best,
            "loss": loss,
        }


def choose_retriever(table: SearchTable) -> RetrieverChoice:
    """Compare each feature's order of a query's graded documents with their grades.

    A document without a score stands below all others. A query counts where grades and scores both
    differ among its documents.
    """
    by_judge: dict[str, FloatArray] = {}
    by_people: dict[str, FloatArray] = {}
    for j, name in enumerate(table.features):
        values = table.values[:, j]
        lowest = float(np.nanmin(values)) - 1.0 if np.isfinite(values).any() else 0.0
        score = np.where(np.isnan(values), lowest, values)
        by_judge[name] = _taus(table, table.judge, score)
        by_people[name] = _taus(table, table.human, score)
    chosen, best = _highest(by_judge), _highest(by_people)
    loss = None
    if chosen is not None and best is not None:
        both = ~np.isnan(by_people[chosen]) & ~np.isnan(by_people[best])
        loss = paired_gain(by_people[chosen][both], by_people[best][both])
    return RetrieverChoice(
        by_judge={name: _mean(taus) for name, taus in by_judge.items()},
        by_people={name: _mean(taus) for name, taus in by_people.items()},
        chosen=chosen,
        best=best,
        loss=loss,
    )


def _taus(table: SearchTable, grade: FloatArray, score: FloatArray) -> FloatArray:
    """Return tau-b of each query, NaN where it does not exist; shape (Q,)."""
    taus = np.full(len(table.queries), np.nan)
    order = np.argsort(table.query, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(table.query[order])) + 1):
        graded = rows[~np.isnan(grade[rows])]
        if len(graded) > 1:
            tau = kendall_tau(grade[graded], score[graded]).value
            taus[table.query[rows[0]]] = np.nan if tau is None else tau
    return taus


def _highest(taus: Mapping[str, FloatArray]) -> str | None:
    """Return the name with the highest mean, the first on a tie."""
    means = {name: float(np.nanmean(one)) for name, one in taus.items() if np.isfinite(one).any()}
    return max(means, key=lambda name: means[name]) if means else None


def _mean(taus: FloatArray) -> Estimate:
    there = taus[~np.isnan(taus)]
    return (
        paired_gain(there, np.zeros(len(there))).mean
        if len(there)
        else Estimate.undefined(0, UNTOLD)
    )
