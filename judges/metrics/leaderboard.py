"""Several judges side by side: ranked by one metric, compared two by two on the rows both
answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from ..errors import InputError
from ..judged_arrays import CLASS_METRICS
from ..judged_dataset import JudgedDataset
from ..notebook_display import html_table
from ..published.figures import PublishedRow
from .benchmark import Benchmark
from .catalog import PAIRED_METRICS, sign_of
from .estimate import Estimate
from .paired_comparison import Change, compare, holm

if TYPE_CHECKING:
    import pandas as pd

ALPHA = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One judge that was measured here."""

    name: str
    benchmark: Benchmark
    figure: Estimate
    """The metric by which the judges are ranked."""
    rank: int | None
    """1 for the best, equal figures sharing a rank; None where the metric is undefined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two judges on the rows both answered."""

    first: str
    """The one that ranks higher."""
    second: str
    change: Change
    """From the second to the first."""
    p: float
    """Two-sided, against no difference."""
    p_holm: float
    """The same, held against all pairs of the table at once."""

    def to_json(self) -> dict[str, object]:
        """Return both names, the difference with its interval, and the p-values."""
        change = {
            name: value
            for name, value in asdict(self.change).items()
            if name not in ("p", "before", "after")
        }
        return {
            "first": self.first,
            "second": self.second,
            "first_value": self.change.after,
            "second_value": self.change.before,
            **change,
            "p": self.p,
            "p_holm": self.p_holm,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """Judges ranked by a metric, and figures that others printed, which have no rank here."""

    metric: str
    entries: tuple[Entry, ...]
    """Best first; those without a rank at the end."""
    pairs: tuple[Pair, ...]
    published: tuple[PublishedRow, ...] = ()
    notes: tuple[str, ...] = ()

    def against(self, name: str) -> Mapping[str, Pair]:
        """Return the pairs one judge is in, by the name of the other."""
        pairs: dict[str, Pair] = {}
        for pair in self.pairs:
            if pair.first == name:
                pairs[pair.second] = pair
            elif pair.second == name:
                pairs[pair.first] = pair
        return pairs

    def __repr__(self) -> str:
        counts = (
            f"{len(self.entries)} judges, {len(self.pairs)} pairs, {len(self.published)} published"
            " rows"
        )
        return f"Leaderboard({self.metric!r}, {counts})"

    def _repr_html_(self) -> str:
        return html_table(self.to_frame(), title=repr(self), notes=self.notes)

    def to_frame(self) -> pd.DataFrame:
        """Return one line a judge, best first; figures that others printed come last, without rank,
        interval or n.
        """
        import pandas as pd

        lines: list[dict[str, object]] = []
        metric = {"metric": self.metric}
        for entry in self.entries:
            one = entry.benchmark
            line = {"rank": entry.rank, "judge": entry.name, **metric, **asdict(entry.figure)}
            line |= {"groups": one.groups, "coverage": one.coverage}
            lines.append({**line, "simulated": one.simulated, "published": False})
        for row in self.published:
            if self.metric in row.metrics:
                value, reason = row.metrics[self.metric], f"printed by others: {row.data}"
                line = {"judge": row.evaluator, **metric, "value": float(value), "reason": reason}
                lines.append({**line, "simulated": False, "published": True})
        columns = ["rank", "judge", "metric", "value", "low", "high", "n", "reason", "groups"]
        # Published figures lack these numbers; without a nullable type pandas would turn all of
        # them into floats.
        nullable = {"rank": "Int64", "n": "Int64", "groups": "Int64"}
        return pd.DataFrame(lines, columns=[*columns, "coverage", "simulated", "published"]).astype(
            nullable
        )

    def pairs_to_frame(self) -> pd.DataFrame:
        """Return one line for each two judges: the paired difference with its interval, p and n."""
        import pandas as pd

        columns = ["first", "second", "first_value", "second_value", "difference", "low", "high"]
        columns += ["p", "p_holm", "n", "groups"]
        return pd.DataFrame([pair.to_json() for pair in self.pairs], columns=columns)

    def to_json(self) -> dict[str, object]:
        """Return the object that `score --json` prints for several judges."""
        lines: list[dict[str, object]] = [
            {
                "name": entry.name,
                "published": False,
                "rank": entry.rank,
                "simulated": entry.benchmark.simulated,
                "benchmark": entry.benchmark.to_json(),
            }
            for entry in self.entries
        ]
        return {
            "metric": self.metric,
            "leaderboard": [*lines, *(row.to_json() for row in self.published)],
            "pairs": [pair.to_json() for pair in self.pairs],
            "notes": list(self.notes),
        }


def rank_judges(
    judges: Mapping[str, JudgedDataset],
    benchmarks: Mapping[str, Benchmark],
    *,
    metric: str = "f1",
    published: Sequence[PublishedRow] = (),
) -> Leaderboard:
    """Rank judges by a metric and compare each two of them on the rows both answered.

    The difference of two judges is tested on paired rows, clustered by group (see `compare`),
    two-sided, and all pairs together are held to one error rate (Holm 1979). Published figures are
    carried along without a rank: they are of other rows.

    Args:
        judges: Rows with their answers, by the judge's name.
        benchmarks: What `measure` returns for each of them.
        metric: Any metric of the benchmarks; only those of `metrics.influence` can be compared two
            by two.
        published: Figures that others printed.

    Raises:
        InputError: No judge was measured by this metric.
    """
    measured = dict.fromkeys(
        name for benchmark in benchmarks.values() for name in benchmark.metrics
    )
    if benchmarks and metric not in measured:
        raise InputError(
            f"no judge was measured by {metric!r}", hint=f"rank by {', '.join(measured)}"
        )
    entries = _ranked(benchmarks, metric)
    names = [entry.name for entry in entries]
    pairs, notes = _pairs({name: judges[name] for name in names}, metric)
    return Leaderboard(
        metric=metric,
        entries=entries,
        pairs=pairs,
        published=tuple(published),
        notes=(*_differences(judges), *notes),
    )


def _ranked(benchmarks: Mapping[str, Benchmark], metric: str) -> tuple[Entry, ...]:
    sign = -sign_of(metric)
    figures: dict[str, Estimate] = {}
    keys: dict[str, float] = {}
    for name, benchmark in benchmarks.items():
        missing = Estimate.undefined(benchmark.n, "this judge has no such metric on its rows")
        figures[name] = benchmark.metrics.get(metric, missing)
        value = figures[name].value
        if value is not None:
            keys[name] = sign * value
    ordered = sorted(keys.values())
    entries = []
    for name in [
        *sorted(keys, key=lambda name: (keys[name], name)),
        *sorted(figures.keys() - keys),
    ]:
        # Equal figures share the first of their ranks.
        rank = 1 + ordered.index(keys[name]) if name in keys else None
        entries.append(
            Entry(name=name, benchmark=benchmarks[name], figure=figures[name], rank=rank)
        )
    return tuple(entries)


def _pairs(judges: Mapping[str, JudgedDataset], metric: str) -> tuple[tuple[Pair, ...], list[str]]:
    if len(judges) < 2:
        return (), []
    if metric not in PAIRED_METRICS:
        return (), [
            f"judges are not compared two by two on {metric}; they can be on"
            f" {', '.join(PAIRED_METRICS)}"
        ]
    changes: list[tuple[str, str, Change]] = []
    without: list[str] = []
    for first, second in combinations(judges, 2):
        change = None
        # Where people and judge did not grade on the same grades, a metric that compares grades
        # refuses them.
        with suppress(InputError):
            if shared := _shared(judges[first], judges[second], metric):
                change = compare(metric, shared[1], shared[0])
        if change is None:
            without.append(f"{first} and {second}")
        else:
            changes.append((first, second, change))
    p_values: list[float] = []
    for _, _, change in changes:
        # Without a spread there is no test, and the one-sided p of 1 must not become a two-sided 0.
        p_values.append(
            1.0 if change.low is None else min(1.0, 2.0 * min(change.p, 1.0 - change.p))
        )
    pairs = []
    for (first, second, change), p, adjusted in zip(
        changes, p_values, holm(p_values).tolist(), strict=True
    ):
        pairs.append(Pair(first=first, second=second, change=change, p=p, p_holm=adjusted))
    notes = []
    if without:
        more = f" and {len(without) - 3} more pairs" if len(without) > 3 else ""
        reason = "as they share no rows with the same labels or the metric is undefined"
        notes.append(f"not compared, {reason}: {', '.join(without[:3])}{more}")
    return tuple(pairs), notes


def _shared(
    first: JudgedDataset, second: JudgedDataset, metric: str
) -> tuple[JudgedDataset, JudgedDataset] | None:
    """Return both judges on the rows of the same ids, in one order; None unless people said the
    same about them.
    """
    first_ids = [row.id for row in first.dataset.rows]
    second_ids = [row.id for row in second.dataset.rows]
    if first_ids != second_ids:
        positions = {id: i for i, id in enumerate(second_ids)}
        both = [(i, positions[id]) for i, id in enumerate(first_ids) if id in positions]
        # Files of two judges need not list the rows in one order.
        first, second = first.only([i for i, _ in both]), second.only([j for _, j in both])
    if not first.dataset.rows or _labels(first, metric) != _labels(second, metric):
        return None
    return first, second


def _labels(predictions: JudgedDataset, metric: str) -> list[float | bool | None]:
    """Return people's side of each row as the metric compares it: grades or classes, else
    decisions.
    """
    if metric == "off_by_one" or metric in CLASS_METRICS:
        return [row.label for row in predictions.dataset.rows]
    labels = predictions.dataset.labels
    return [
        None if row.label is None else labels.positive(row.label)
        for row in predictions.dataset.rows
    ]


def _differences(judges: Mapping[str, JudgedDataset]) -> Iterator[str]:
    """Yield what makes the judges hard to compare: other rows, other answers, other cuts of the
    labels.
    """
    if len(judges) < 2:
        return
    rows = {frozenset(row.id for row in judged.dataset.rows) for judged in judges.values()}
    if len(rows) > 1:
        yield (
            "the judges were measured on different rows: ranks compare them only as far as the rows"
            " are alike"
        )
    answered = {len(judged.scored) for judged in judges.values()}
    if len(rows) == 1 and len(answered) > 1:
        yield (
            "the judges did not answer the same rows: each is ranked by its own, pairs are compared"
            " on common ones"
        )
    cuts = {judged.dataset.labels.threshold for judged in judges.values()}
    if len(rows) == 1 and len(cuts) > 1:
        yield (
            f"labels were cut at different grades ({', '.join(f'{c:g}' for c in sorted(cuts))});"
            " state one scale"
        )
