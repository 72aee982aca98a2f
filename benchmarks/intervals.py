"""CPU of 95 % intervals for F1, kappa and calibration metrics on 30,000 rows, against resampling
with scikit-learn.

Both are measured in one run on the same rows; the loop runs a few resamples and is scaled to 2,000.
Run it as `python benchmarks/intervals.py`.
"""

from __future__ import annotations

import time

import numpy as np

from judgewright.judges import BoolArray, FloatArray
from judgewright.judges.metrics import BINARY_METRICS, Cells, calibration_intervals, table_intervals

ROWS = 30_000
GROUPS = 3_000
RESAMPLES = 2_000
LOOP_RESAMPLES = 40
METRICS = ("f1", "kappa")


def made() -> tuple[BoolArray, BoolArray]:
    """Return made-up labels, and decisions that err on one row in five."""
    rng = np.random.default_rng(0)
    label = rng.random(ROWS) < 0.4
    return label, np.where(rng.random(ROWS) < 0.2, ~label, label)


def main() -> None:
    """Print seconds, intervals and the ratio."""
    label, predicted = made()
    groups = np.arange(ROWS) % GROUPS
    loop, slow = scikit_learn_loop(label, predicted)
    cells, quick = leaving_out(label, predicted, None)
    _, clustered = leaving_out(label, predicted, groups)
    print(f"intervals of {' and '.join(METRICS)} on {ROWS} rows")
    print(
        f"scikit-learn in a loop   {slow:9.4f} s (scaled from {LOOP_RESAMPLES} resamples)  {loop}"
    )
    print(f"confusion cells          {quick:9.4f} s  {cells}")
    print(f"{GROUPS} groups of rows      {clustered:9.4f} s")
    print(f"ratio                    {slow / quick:9.0f}")
    print(f"ratio with groups        {slow / clustered:9.0f}")
    rng = np.random.default_rng(2)
    probability = np.where(label, rng.beta(2, 1, ROWS), rng.beta(1, 2, ROWS))
    for name, units in (("rows", None), (f"{GROUPS} groups", groups)):
        seconds = calibration(label, probability, units)
        print(f"AUROC, AP, Brier, ECE of distinct probabilities, {name:11} {seconds:9.4f} s")


def scikit_learn_loop(label: BoolArray, predicted: BoolArray) -> tuple[str, float]:
    """Return the intervals and the seconds that RESAMPLES resamples would take."""
    from sklearn.metrics import cohen_kappa_score, f1_score

    rng = np.random.default_rng(1)
    values = []
    start = time.process_time()
    for _ in range(LOOP_RESAMPLES):
        drawn = rng.integers(0, ROWS, ROWS)
        y, p = label[drawn], predicted[drawn]
        values.append((f1_score(y, p), cohen_kappa_score(y, p)))
    seconds = time.process_time() - start
    low, high = np.quantile(values, (0.025, 0.975), axis=0)
    shown = "  ".join(f"[{a:.4f}, {b:.4f}]" for a, b in zip(low, high, strict=True))
    return shown, seconds * RESAMPLES / LOOP_RESAMPLES


def leaving_out(
    label: BoolArray, predicted: BoolArray, groups: np.ndarray | None
) -> tuple[str, float]:
    """Return our intervals and the seconds they take from the rows on, the best of five."""
    best = float("inf")
    shown = ""
    for _ in range(5):
        start = time.process_time()
        cells = Cells(code=2 * label.astype(np.int64) + predicted, size=4, groups=groups)
        intervals_by_metric = table_intervals(
            {name: BINARY_METRICS[name] for name in METRICS}, cells, 2
        )
        best = min(best, time.process_time() - start)
        shown = "  ".join(f"[{i[0]:.4f}, {i[1]:.4f}]" for i in intervals_by_metric.values() if i)
    return shown, best


def calibration(label: BoolArray, probability: FloatArray, groups: np.ndarray | None) -> float:
    """Return the seconds that the intervals of all calibration metrics take, the best of five."""
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        calibration_intervals(label, probability, groups)
        best = min(best, time.process_time() - start)
    return best


if __name__ == "__main__":
    main()
