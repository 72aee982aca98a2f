"""What the search for slices costs in CPU, beside the same with one BLAS thread in the whole
process.

    python benchmarks/blas_threads.py [--rows 10000]

Both run in one go, three times each, in processes of their own that take turns; the ratio of the
medians is printed, and the exit code is 1 where it is above 1.3. The search multiplies tiny
matrices: threads wait for each other longer than they work.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time

import numpy as np

from judgewright.judges import BINARY, Dataset, JudgedDataset, Row, Verdict
from judgewright.slices import find_slices

MOST = 1.3


def judged(rows: int) -> JudgedDataset:
    """Return verdicts with eleven columns, in one value of which the judge errs more."""
    rng = np.random.default_rng(0)
    columns = {f"c{k}": rng.integers(0, k, rows).tolist() for k in range(2, 13)}
    label = rng.random(rows) < 0.5
    wrong = rng.random(rows) < np.where(np.array(columns["c5"]) == 2, 0.3, 0.15)
    made = [
        Row(
            id=str(i),
            inputs={},
            label=float(y),
            meta={name: f"v{cells[i]}" for name, cells in columns.items()},
        )
        for i, y in enumerate(label.tolist())
    ]
    scores = (label ^ wrong).tolist()
    answers = (
        Verdict(row_id=row.id, score=float(score), positive=score)
        for row, score in zip(made, scores, strict=True)
    )
    return JudgedDataset(
        dataset=Dataset.of(made, labels=BINARY), answers=tuple(answers), scale=BINARY
    )


def measure(rows: int) -> float:
    """Return the seconds of CPU of a search."""
    table = judged(rows)
    find_slices(judged(300))  # what is imported once
    before = time.process_time()
    find_slices(table)
    return time.process_time() - before


def main() -> int:
    """Compare, and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument(
        "--once", action="store_true", help="measure here and print the seconds alone"
    )
    options = parser.parse_args()
    if options.once:
        print(measure(options.rows))
        return 0
    seconds: dict[str, list[float]] = {"as it is": [], "one thread": []}
    for _ in range(3):
        for name, more in (("as it is", {}), ("one thread", {"OPENBLAS_NUM_THREADS": "1"})):
            command = [sys.executable, __file__, "--once", f"--rows={options.rows}"]
            done = subprocess.run(
                command, env={**os.environ, **more}, capture_output=True, text=True, check=True
            )
            seconds[name].append(float(done.stdout))
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    ratio = medians["as it is"] / medians["one thread"]
    figures = ", ".join(f"{name} {value:.2f} s" for name, value in medians.items())
    print(f"slices of {options.rows:,} rows, CPU: {figures}; ratio {ratio:.2f} (at most {MOST})")
    return 0 if ratio <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
