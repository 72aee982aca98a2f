"""How often a confirmed slice is reported where there is none: shuffled labels, and rows that err by source.

Two kinds of tables without any slice: 10,000 rows of the planted kind whose labels and verdicts are shuffled together
over the rows; and 500 sources of six rows, where each source has an error rate of its own (a normal effect of standard
deviation 2 on the log-odds) and columns that belong to the source. Run it as `python benchmarks/null_slices.py [RUNS]`.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from planted import planted

from judgewright.slices import find_in_frame

RUNS = 200
SOURCES, ROWS_EACH, SPREAD = 500, 6, 2.0


def shuffled(seed: int) -> pd.DataFrame:
    """Return a planted table whose labels, each with its verdict, are shuffled over the rows: every metric stays.

    Labels shuffled within a verdict would leave the verdicts' own ties to the columns, and accuracy differs by verdict.
    """
    frame = planted(10_000, seed)
    order = np.random.default_rng(seed).permutation(len(frame))
    for name in ("label", "predicted"):
        frame[name] = frame[name].to_numpy()[order]
    return frame


def clustered(seed: int) -> pd.DataFrame:
    """Return rows whose errors depend on their source alone, with columns of the source and of the row."""
    rng = np.random.default_rng(seed)
    n = SOURCES * ROWS_EACH
    source = np.repeat(np.arange(SOURCES), ROWS_EACH)
    chance = 1 / (1 + np.exp(-(-1.5 + SPREAD * rng.standard_normal(SOURCES))))[source]
    label = rng.random(n) < 0.5
    frame = pd.DataFrame({f"s{i}": rng.integers(0, k, SOURCES)[source] for i, k in enumerate((2, 3, 4, 5, 8, 10))})
    frame["words"] = rng.lognormal(5, 1, SOURCES)[source].round()
    frame["model"] = np.tile(np.arange(ROWS_EACH), SOURCES)
    frame["style"] = rng.integers(0, 4, n)
    frame["doc"] = source
    frame["label"] = label
    frame["predicted"] = np.where(rng.random(n) < chance, ~label, label)
    return frame


def main(runs: int) -> None:
    """Print the share of tables with a confirmed slice, for each kind and metric."""
    for name, make in (("shuffled labels", shuffled), ("clustered errors", clustered)):
        for metric in ("precision", "accuracy", "kappa"):
            false = 0
            for seed in range(runs):
                report = find_in_frame(make(seed), metric=metric, group="doc", max_depth=3)
                false += any(one.confirmed for one in report.slices)
            print(f"{name:17} {metric:10} {false:4} of {runs} tables with a confirmed slice", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
