"""How surely a slice that a new prompt breaks is found, and how often one is reported where nothing
changed.

Planted: a prompt mends rows at random, so that accuracy rises by some .3 points, and breaks 12 % of
the right rows where `language = 2`; or it mends one slice for a gain of three points, and breaks
the same rows. Alike: the same prompt asked twice, with noise of its own each time: even, louder in
some slices, or shared by the rows of a source. Run it as `python benchmarks/regressions.py [RUNS]`;
it fails where more than 5 % of the alike report a slice.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from judgewright.judges import BINARY, Dataset, JudgedDataset, Row, Verdict
from judgewright.slices import find_regressions

RUNS = 200
ALIKE_ROWS = 3000
ROWS_EACH = 3
NAMES = ("c0", "c1", "c2", "c3", "c4", "c5", "c6")
VALUES = (3, 4, 5, 6, 8, 10, 12)

Columns = dict[str, np.ndarray]


def columns_of(n: int, rng: np.random.Generator) -> Columns:
    """Return seven columns of noise, eight languages, and a number of words."""
    columns = {name: rng.integers(0, k, n) for name, k in zip(NAMES, VALUES, strict=True)}
    return columns | {"language": rng.integers(0, 8, n), "words": rng.lognormal(5, 1, n).round()}


def mended_at_random(right: np.ndarray, columns: Columns, rng: np.random.Generator) -> np.ndarray:
    """Return which rows are right after an even gain of 1.8 points that costs `language = 2` an
    eighth of its rows.
    """
    n = len(right)
    after = right | (rng.random(n) < 0.09)
    after &= ~(rng.random(n) < 0.003)
    return after & ~((columns["language"] == 2) & (rng.random(n) < 0.12))


def mended_in_a_slice(right: np.ndarray, columns: Columns, rng: np.random.Generator) -> np.ndarray:
    """Return which rows are right after a large gain on long texts, some churn, and the same
    loss.
    """
    n = len(right)
    after = right | ((columns["words"] > 200) & (rng.random(n) < 0.6))
    after = churned(after, 0.06, rng)
    return after & ~((columns["language"] == 2) & (rng.random(n) < 0.12))


def churned(right: np.ndarray, rate: float | np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Flip as many right rows as wrong ones, so that accuracy stays."""
    share = right.mean()
    return right ^ (rng.random(len(right)) < rate * np.where(right, 0.5 / share, 0.5 / (1 - share)))


def asked_twice(right: np.ndarray, columns: Columns, rng: np.random.Generator) -> np.ndarray:
    """Flip a tenth of the rows anywhere."""
    return churned(right, 0.10, rng)


def asked_twice_loudly(right: np.ndarray, columns: Columns, rng: np.random.Generator) -> np.ndarray:
    """Flip few rows, but many in three slices."""
    loud = (columns["c1"] == 0) | (columns["language"] == 5) | (columns["words"] > 400)
    return churned(right, np.where(loud, 0.30, 0.02), rng)


def asked_twice_by_source(
    right: np.ndarray, columns: Columns, rng: np.random.Generator
) -> np.ndarray:
    """Let a tenth of the sources be all right or all wrong, and their columns be alike."""
    source = np.arange(len(right)) // ROWS_EACH
    for name in NAMES:
        columns[name] = columns[name][source * ROWS_EACH]
    drawn = (rng.random(source.max() + 1) < 0.10)[source]
    return np.where(drawn, (rng.random(source.max() + 1) < right.mean())[source], right)


def pair(
    n: int, seed: int, change: Callable[[np.ndarray, Columns, np.random.Generator], np.ndarray]
) -> list[JudgedDataset]:
    """Return two answers to the same rows, 80 % of them right before."""
    rng = np.random.default_rng(seed)
    columns, label, right = columns_of(n, rng), rng.random(n) < 0.5, rng.random(n) < 0.8
    after = change(right, columns, rng)
    names, values = (
        list(columns),
        zip(*(column.tolist() for column in columns.values()), strict=True),
    )
    rows = tuple(
        Row(
            id=f"r{i}",
            inputs={},
            label=float(y),
            group=f"s{i // ROWS_EACH}",
            meta=dict(zip(names, meta, strict=True)),
        )
        for i, (y, meta) in enumerate(zip(label, values, strict=True))
    )
    dataset = Dataset(rows=rows, labels=BINARY)
    sides = []
    for correct in (right, after):
        decisions = np.where(correct, label, ~label)
        answers = tuple(
            Verdict(row_id=f"r{i}", score=float(p), positive=bool(p))
            for i, p in enumerate(decisions)
        )
        sides.append(JudgedDataset(dataset=dataset, answers=answers, scale=BINARY))
    return sides


def main(runs: int) -> None:
    """Print what is found of the planted slice, then the share of alike pairs with a slice."""
    for change in (mended_at_random, mended_in_a_slice):
        for n, times in ((3_000, 20), (10_000, 20), (100_000, 3)):
            hits = others = 0
            gain, spent = 0.0, 0.0
            for seed in range(times):
                before, after = pair(n, seed, change)
                began = time.process_time()
                report = find_regressions(before, after)
                spent += (time.process_time() - began) / times
                predicates = [str(s.predicate) for s in report.slices]
                hits += "language = 2" in predicates
                others += any(name != "language = 2" for name in predicates)
                gain += (report.overall.difference if report.overall else 0.0) / times
            print(
                f"{change.__name__:22} {n:>7,} rows, gain {gain:+.4f}: found in {hits} of"
                f" {times}, ",
                end="",
            )
            print(f"something else in {others}; {spent:.2f} CPU s", flush=True)
    worst = 0
    for change in (asked_twice, asked_twice_loudly, asked_twice_by_source):
        false = sum(
            bool(find_regressions(*pair(ALIKE_ROWS, seed, change)).slices) for seed in range(runs)
        )
        worst = max(worst, false)
        print(
            f"{change.__name__:22} {ALIKE_ROWS:>7,} rows: {false} of {runs} report a slice",
            flush=True,
        )
    sys.exit(0 if worst <= 0.05 * runs else 1)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
