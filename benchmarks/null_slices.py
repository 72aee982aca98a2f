"""How often a slice is confirmed, or called likely, where there is none: six kinds of tables, most
of them clustered.

One kind is a table of `planted.py` whose labels are shuffled, each with its verdict. In the others
a row errs by chance alone: by itself, or with an error rate of its source (normal on the log-odds);
columns belong to the row or to the source. Run it as `python benchmarks/null_slices.py [TABLES]
[KIND ...]`; it fails where, for any kind and metric, so many tables confirm a slice that one in
twenty would do so less than one time in twenty (33 of 500).
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from planted import planted
from scipy.stats import binom

from judgewright.slices import find_in_frame
from judgewright.slices.significance import LIKELY

TABLES = 500
METRICS = ("precision", "accuracy", "kappa")
RARE_METRICS = ("precision", "accuracy", "recall")


def shuffled(rng: np.random.Generator) -> pd.DataFrame:
    """Return a planted table whose labels, each with its verdict, are shuffled over the rows: every
    metric stays.

    Labels shuffled within a verdict would leave the verdicts' own ties to the columns, and accuracy
    differs by verdict.
    """
    frame = planted(10_000, int(rng.integers(1 << 31)))
    order = rng.permutation(len(frame))
    for name in ("label", "predicted"):
        frame[name] = frame[name].to_numpy()[order]
    return frame.rename(columns={"doc": "source"})


def by_source(
    rng: np.random.Generator,
    rows_of: np.ndarray,
    spread: float,
    *,
    errors: float = -1.2,
    positives: float = 0.5,
) -> pd.DataFrame:
    """Return rows whose errors depend on their source alone.

    Args:
        rng: Draws everything.
        rows_of: Rows of each source.
        spread: Standard deviation of a source's effect, on the log-odds of an error.
        errors: Log-odds of an error where the effect is 0.
        positives: Share of rows labelled positive.
    """
    source = np.repeat(np.arange(len(rows_of)), rows_of)
    n, sources = len(source), len(rows_of)
    columns: dict[str, np.ndarray] = {}
    for values in (2, 3, 5, 8):
        columns[f"row{values}"] = rng.integers(0, values, n)
    for values in (3, 5, 10):
        columns[f"source{values}"] = rng.integers(0, values, sources)[source]
    columns["words"] = rng.integers(5, 400, n)
    columns["temperature"] = rng.normal(size=n).round(2)
    columns["source_words"] = rng.normal(size=sources).round(2)[source]
    label = rng.random(n) < positives
    chance = 1 / (1 + np.exp(-(errors + rng.normal(0, spread, sources)[source])))
    predicted = label ^ (rng.random(n) < chance)
    return pd.DataFrame(columns | {"label": label, "predicted": predicted, "source": source})


def independent(rng: np.random.Generator) -> pd.DataFrame:
    """Return 2,000 rows of a source each."""
    return by_source(rng, np.ones(2000, np.int64), 0.0)


def sources_of_20(rng: np.random.Generator) -> pd.DataFrame:
    """Return 100 sources with strong effects."""
    return by_source(rng, np.full(100, 20), 2.0)


def sources_of_40(rng: np.random.Generator) -> pd.DataFrame:
    """Return 30 sources: few groups in any slice."""
    return by_source(rng, np.full(30, 40), 1.5)


def uneven_sources(rng: np.random.Generator) -> pd.DataFrame:
    """Return 150 sources of 300 rows down to 3."""
    return by_source(rng, (300 / np.arange(1, 151) ** 0.9).astype(np.int64), 1.5)


def rare_positives(rng: np.random.Generator) -> pd.DataFrame:
    """Return 3,000 rows with 3 % positives and 3 % errors."""
    return by_source(rng, np.full(1500, 2), 1.0, errors=-4.0, positives=0.03)


KINDS = {
    make.__name__: make
    for make in (
        independent,
        sources_of_20,
        sources_of_40,
        uneven_sources,
        rare_positives,
        shuffled,
    )
}


def main(tables: int, kinds: list[str]) -> None:
    """Print how many tables have a confirmed slice, and how many a confirmed or likely one, by kind
    and metric.
    """
    most = int(binom.ppf(0.95, tables, 0.05))
    failed = False
    for name in kinds:
        metrics = RARE_METRICS if name == "rare_positives" else METRICS
        confirmed, likely = dict.fromkeys(metrics, 0), dict.fromkeys(metrics, 0)
        for seed in range(tables):
            frame = KINDS[name](np.random.default_rng(seed))
            for metric in metrics:
                found = find_in_frame(frame, metric=metric, group="source", seed=seed).slices
                confirmed[metric] += any(one.confirmed for one in found)
                likely[metric] += any(one.p < LIKELY for one in found)
        for metric in metrics:
            failed |= confirmed[metric] > most
            counts = (
                f"{confirmed[metric]:4} confirmed (at most {most}), {likely[metric]:4} at least"
                " likely"
            )
            print(f"{name:15} {metric:10} {counts} of {tables}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else TABLES, sys.argv[2:] or list(KINDS))
