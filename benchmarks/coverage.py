"""Measure how often the printed 95 % intervals hold the truth, and how wide they are.

Each design draws whole benchmarks: groups of rows with effects of their own on the labels and on
the judge. Every interval of a draw is held against the value on some 200,000 rows of the same kind.
Its table stands in `docs/measuring.md`. Run it as `python benchmarks/coverage.py 2000`, or with the
names of some designs behind the number of draws.
"""

from __future__ import annotations

import sys
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from judgewright.judges import BoolArray, FloatArray, IntArray
from judgewright.judges.metrics import (
    BINARY_METRICS,
    GRADE_METRICS,
    NOMINAL,
    ORDINAL,
    Cells,
    Estimate,
    Formula,
    Interval,
    Ranking,
    calibration_intervals,
    codes,
    correlations,
    formula_value,
    ranking_metrics,
    table_intervals,
)

TRUTH_ROWS = 200_000


@dataclass(frozen=True, kw_only=True)
class Table:
    """One drawn benchmark; every array has shape (n,)."""

    group: IntArray
    label: FloatArray
    score: FloatArray
    probability: FloatArray | None = None


@dataclass(frozen=True, kw_only=True)
class Design:
    """How a benchmark is drawn; logits of prevalence, sensitivity and false alarms move from group
    to group.
    """

    sizes: tuple[int, ...]
    """Rows of each group."""
    prevalence: float = 0.4
    sensitivity: float = 0.8
    false_alarms: float = 0.2
    spread: float = 0.0
    """Standard deviation of the groups' effects, in logits."""
    draw: Literal["decisions", "calibrated", "grades", "queries"] = "decisions"
    """Decisions with a careless confidence, probabilities that can be believed, grades, or grades
    of ranked rows.
    """


def decisions(design: Design, group: IntArray, rng: np.random.Generator) -> Table:
    """Draw decisions, with a confidence that knows the verdict and not the label."""
    of_label, of_hits, of_alarms = rng.normal(0, design.spread, (3, int(group.max()) + 1))
    label = rng.random(len(group)) < _share(_logit(design.prevalence) + of_label[group])
    hit = _share(_logit(design.sensitivity) + of_hits[group])
    alarm = _share(_logit(design.false_alarms) + of_alarms[group])
    score = rng.random(len(group)) < np.where(label, hit, alarm)
    half = rng.random(len(group)) / 2
    return Table(
        group=group,
        label=_floats(label),
        score=_floats(score),
        probability=np.round(half + score / 2, 2),
    )


def calibrated(design: Design, group: IntArray, rng: np.random.Generator) -> Table:
    """Draw probabilities that can be believed, apart from the groups' effects."""
    of_label = rng.normal(0, design.spread, int(group.max()) + 1)
    stated = np.round(_share(rng.normal(_logit(design.prevalence), 1.5, len(group))), 2)
    label = rng.random(len(group)) < _share(_logit(stated.clip(0.005, 0.995)) + of_label[group])
    return Table(
        group=group, label=_floats(label), score=_floats(stated >= 0.5), probability=stated
    )


def grades(design: Design, group: IntArray, rng: np.random.Generator) -> Table:
    """Draw grades 0..3 of people and judge that share a quality, cut at quarters of a normal
    distribution.
    """
    of_label, of_judge = rng.normal(0, design.spread, (2, int(group.max()) + 1))
    quality = rng.normal(0, 1, len(group)) + of_label[group]
    seen = quality + rng.normal(0, 0.7, len(group)) + of_judge[group]
    cuts = np.array([-0.67, 0.0, 0.67])
    return Table(
        group=group,
        label=_floats(np.searchsorted(cuts, quality)),
        score=_floats(np.searchsorted(cuts, seen)),
    )


def queries(design: Design, group: IntArray, rng: np.random.Generator) -> Table:
    """Draw grades of queries that were written for a document: the first row of each is surely
    relevant.
    """
    table = grades(design, group, rng)
    written_for = np.unique(group, return_index=True)[1]
    table.label[written_for] = 3.0
    table.score[written_for] = rng.integers(1, 4, len(written_for))
    return table


def draw(design: Design, group: IntArray, rng: np.random.Generator) -> Table:
    """Draw one benchmark of a design."""
    draws = {"decisions": decisions, "calibrated": calibrated, "grades": grades, "queries": queries}
    return draws[design.draw](design, group, rng)


def _logit(p: float | FloatArray) -> FloatArray:
    return np.log(p / (1 - np.asarray(p)))


def _share(logit: FloatArray) -> FloatArray:
    return 1 / (1 + np.exp(-logit))


def _floats(values: BoolArray | IntArray) -> FloatArray:
    return values.astype(np.float64)


def _alone(rows: int) -> tuple[int, ...]:
    return (1,) * rows


PERFECT = Design(sizes=_alone(100), prevalence=0.3, sensitivity=0.99, false_alarms=0.005)
RARE = Design(sizes=_alone(1000), prevalence=0.02, sensitivity=0.7, false_alarms=0.02)
ZIPF = tuple(max(1, 100 // k) for k in range(1, 41))
GROUPED = {
    "20 x 20": Design(sizes=(20,) * 20, spread=0.7),
    "40 x 10": Design(sizes=(10,) * 40, spread=0.7),
    "200 x 5": Design(sizes=(5,) * 200, spread=0.7),
    "200 x 5, 20 positive": replace(RARE, sizes=(5,) * 200, spread=0.5),
    "near perfect, 20 x 10": replace(PERFECT, sizes=(10,) * 20, spread=0.5),
    "calibrated, 20 x 20": Design(sizes=(20,) * 20, spread=0.5, draw="calibrated"),
}
"""Groups and their rows: 20 groups, 100 rows and, on average, 20 positive rows or more."""
ALONE = {
    "100 rows": Design(sizes=_alone(100)),
    "1,000 rows, 20 positive": RARE,
    "near perfect, 100 rows": PERFECT,
    "calibrated, 100 rows": Design(sizes=_alone(100), draw="calibrated"),
}
"""Independent rows, as many or more."""
GRADED = {
    "grades, 20 x 20": Design(sizes=(20,) * 20, spread=0.5, draw="grades"),
    "grades, 40 x 10": Design(sizes=(10,) * 40, spread=0.5, draw="grades"),
    "grades, 100 rows": Design(sizes=_alone(100), draw="grades"),
    "20 queries of 20": Design(sizes=(20,) * 20, spread=0.5, draw="queries"),
    "40 queries of 10": Design(sizes=(10,) * 40, spread=0.5, draw="queries"),
}
"""Grades, and queries whose rows are ranked, likewise."""
BELOW = {
    "10 x 20": Design(sizes=(20,) * 10, spread=0.7),
    "40 of 100, 50, 33, ...": Design(sizes=ZIPF, spread=0.7),
    "100 x 5, 15 positive": replace(RARE, sizes=(5,) * 100, prevalence=0.03, spread=0.5),
    "500 rows, 10 positive": replace(RARE, sizes=_alone(500)),
    "30 rows": Design(sizes=_alone(30), prevalence=0.5),
    "calibrated, 30 rows": Design(sizes=_alone(30), prevalence=0.5, draw="calibrated"),
    "5 rows": Design(sizes=_alone(5), prevalence=0.5),
}
"""Designs on which a note or a remark stands beside the figures."""
TABLES = (GROUPED, ALONE, GRADED, BELOW)
DESIGNS = GROUPED | ALONE | GRADED | BELOW


@dataclass
class Counters:
    """What became of one metric's intervals."""

    held: int = 0
    above: int = 0
    """Intervals that lie above the truth."""
    below: int = 0
    width: float = 0.0

    @property
    def intervals(self) -> int:
        """How many there were."""
        return self.held + self.above + self.below

    def add(self, low: float, high: float, truth: float) -> None:
        """Count one interval."""
        self.above += truth < low - 1e-9
        self.below += truth > high + 1e-9
        self.held += low - 1e-9 <= truth <= high + 1e-9
        self.width += high - low


def estimates_of(table: Table, *, ranked: bool) -> dict[str, Estimate]:
    """Measure a table as `measure` does, without the objects that a row is elsewhere."""
    if ranked:
        return ranking_metrics(
            Ranking(query=table.group, grade=table.label, score=table.score), threshold=2
        )
    threshold = 2 if table.probability is None else 1
    label, verdict = table.label >= threshold, table.score >= threshold
    groups = table.group if table.group[-1] + 1 < len(table.group) else None
    n = len(label)
    if table.probability is None:
        levels = range(4)
        code = codes(table.label, levels) * 4 + codes(table.score, levels)
        estimates = _of_tables(
            {**GRADE_METRICS, **ORDINAL}, Cells(code=code, size=16, groups=groups), 4
        )
        estimates |= _of_tables(
            BINARY_METRICS, Cells(code=2 * label + verdict, size=4, groups=groups), 2
        )
        estimates |= correlations(table.label, table.score, groups)
    else:
        cells = Cells(code=2 * label + verdict, size=4, groups=groups)
        estimates = _of_tables({**BINARY_METRICS, **NOMINAL}, cells, 2)
        of_probability = calibration_intervals(label, table.probability, groups)
        estimates |= {
            name: _estimate(value, interval, n)
            for name, (value, interval) in of_probability.items()
        }
    return estimates


def _of_tables(functions: Mapping[str, Formula], cells: Cells, k: int) -> dict[str, Estimate]:
    table = cells.counts.reshape(k, k)
    points = {name: formula_value(name, function, table) for name, function in functions.items()}
    defined = {
        name: functions[name]
        for name, (value, reason) in points.items()
        if value is not None and not reason
    }
    intervals = table_intervals(defined, cells, k)
    return {
        name: _estimate(points[name][0], interval, len(cells.code))
        for name, interval in intervals.items()
    }


def _estimate(value: float | None, interval: Interval | None, n: int) -> Estimate:
    low, high = interval or (None, None)
    return Estimate(
        value=value, low=low, high=high, n=n, reason="undefined" if value is None else ""
    )


def truth_of(design: Design, rng: np.random.Generator) -> dict[str, float]:
    """Return every metric on many more rows of the same kind."""
    times = TRUTH_ROWS // sum(design.sizes)
    group = np.repeat(np.arange(times * len(design.sizes)), design.sizes * times)
    estimates = estimates_of(draw(design, group, rng), ranked=design.draw == "queries")
    return {
        name: estimate.value for name, estimate in estimates.items() if estimate.value is not None
    }


def coverage_of(name: str, draws: int) -> dict[str, Counters]:
    """Return the tally of every metric of a design; a name always gives the same draws."""
    design, rng = DESIGNS[name], np.random.default_rng(zlib.crc32(name.encode()))
    truth = truth_of(design, rng)
    group = np.repeat(np.arange(len(design.sizes)), design.sizes)
    tallies = {metric: Counters() for metric in truth}
    for _ in range(draws):
        estimates = estimates_of(draw(design, group, rng), ranked=design.draw == "queries")
        for metric, tally in tallies.items():
            estimate = estimates.get(metric)
            if estimate is not None and estimate.low is not None and estimate.high is not None:
                tally.add(estimate.low, estimate.high, truth[metric])
    print_design(name, draws, truth, tallies)
    return tallies


def print_design(
    name: str, draws: int, truth: dict[str, float], tallies: dict[str, Counters]
) -> None:
    """Print a line a metric."""
    print(f"\n## {name}: {draws} draws", flush=True)
    for metric, tally in tallies.items():
        n = max(tally.intervals, 1)
        missed = f"above {tally.above / n:.3f}, below {tally.below / n:.3f}"
        shown = f"covered {tally.held / n:.3f} ({missed}), width {tally.width / n:.3f}"
        print(
            f"{metric:18} truth {truth[metric]:.3f}  {shown}, none"
            f" {1 - tally.intervals / draws:.3f}",
            flush=True,
        )


def print_table(names: Sequence[str], tallies_of: dict[str, dict[str, Counters]]) -> None:
    """Print coverage and mean width for the documentation, a line a metric and a column a
    design.
    """
    metrics = list(dict.fromkeys(metric for name in names for metric in tallies_of[name]))
    print("\n| | " + " | ".join(names) + " |\n|---|" + "---|" * len(names))
    for metric in metrics:
        tallies = [tallies_of[name].get(metric) for name in names]
        print(f"| `{metric}` | " + " | ".join(_cell(tally) for tally in tallies) + " |")


def _cell(tally: Counters | None) -> str:
    if tally is None or not tally.intervals:
        return ""
    return f"{tally.held / tally.intervals:.3f} ({tally.width / tally.intervals:.2f})".replace(
        "0.", "."
    )


def main(draws: int = 300, *names: str) -> None:
    """Print what was asked for."""
    start = time.process_time()
    tallies_of = {name: coverage_of(name, draws) for name in names or DESIGNS}
    for designs in TABLES:
        chosen = [name for name in designs if name in tallies_of]
        if chosen:
            print_table(chosen, tallies_of)
    print(f"\n{time.process_time() - start:.0f} CPU s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300, *sys.argv[2:])
