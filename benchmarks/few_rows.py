"""How often one planted slice is found in a table of few rows, beside a plain max-T over all pairs
of conditions.

A judge errs on one row in five, sources differ a little, and one slice has more errors of one kind:
of one condition or two, of an interval, of columns of the row or of the source. The slice is looked
for by the metric that those errors lower. `plain` ranks all slices of at most two conditions by the
clustered z of their gap and confirms those above the 95 % point of the maximum in 300 draws
(multiplier bootstrap by source); it cuts numbers into fifths. A slice counts as found where six in
ten of the rows in either are in both. Plain lists near copies of one slice, each of which is one
more guess; `once` leaves out of its list what shares half of its rows with a stronger one, as ours
does. Run it as `python benchmarks/few_rows.py [TABLES]`.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable

import numpy as np
import pandas as pd

from judgewright.slices import Equals, FoundSlice, Interval, Predicate, find_in_frame

TABLES = 40
FIRST_SEED = 1000
ROWS_EACH = 5
SPREAD = 0.5
EXTRA = {800: 0.30, 2000: 0.20, 6000: 0.12}
"""How much likelier an error is in the slice, by the rows of the table."""
BINS = 5
DRAWS = 300
MIN_ROWS = 30
COPY = 0.5
"""Share of the rows in either of two slices that are in both, from which one is a copy of the
other.
"""

Columns = dict[str, np.ndarray]
PLANTED: dict[str, Callable[[Columns], np.ndarray]] = {
    "a value": lambda c: c["row5"] == "a",
    "a value of the source": lambda c: c["source5"] == "a",
    "an interval": lambda c: (c["words"] >= 250) & (c["words"] < 550),
    "an interval of the source": lambda c: (c["length"] >= 250) & (c["length"] < 550),
    "a pair": lambda c: (c["row3"] == "a") & (c["source3"] == "b"),
    "a value and an interval": lambda c: (c["row2"] == "a") & (c["words"] < 300),
}


def columns_of(rows: int, rng: np.random.Generator) -> tuple[Columns, np.ndarray]:
    """Return columns of the row and of its source, and the source of each row."""
    sources = rows // ROWS_EACH
    source = np.repeat(np.arange(sources), ROWS_EACH)
    letters = np.array(list("abcdefgh"))
    columns = {f"row{k}": letters[rng.integers(0, k, rows)] for k in (2, 3, 5, 8)}
    columns |= {f"source{k}": letters[rng.integers(0, k, sources)][source] for k in (3, 5)}
    columns["words"] = rng.integers(0, 1000, rows)
    columns["length"] = rng.integers(0, 1000, sources)[source]
    return columns, source


def candidates(columns: Columns) -> np.ndarray:
    """Return the rows of every slice of one or two conditions; shape (slices, n)."""
    of_column: list[list[np.ndarray]] = []
    for values in columns.values():
        if values.dtype.kind == "U":
            of_column.append([values == value for value in np.unique(values)])
            continue
        edges = np.quantile(values, np.linspace(0, 1, BINS + 1))
        edges[-1] += 1
        spans = [span for span in itertools.combinations(range(BINS + 1), 2) if span != (0, BINS)]
        of_column.append([(values >= edges[low]) & (values < edges[high]) for low, high in spans])
    single = [member for members in of_column for member in members]
    pairs = itertools.combinations(of_column, 2)
    double = [
        first & second for one, other in pairs for first, second in itertools.product(one, other)
    ]
    return np.array(single + double)


def plain(
    loss: np.ndarray, members: np.ndarray, source: np.ndarray, rng: np.random.Generator
) -> list[tuple[int, bool]]:
    """Return the slices by their z, the highest first, each with whether it is above the maximum's
    95 % point.

    Args:
        loss: Which rows are errors; shape (n,).
        members: Shape (slices, n).
        source: Of each row, in order; shape (n,).
        rng: Draws the multipliers.
    """
    n, size = len(loss), members.sum(axis=1)
    inside = members @ loss.astype(np.float32)
    gap = inside / size - (loss.sum() - inside) / (n - size)
    weight = members / size[:, None] - ~members / (n - size)[:, None]
    influence = (weight * (loss - loss.mean())).astype(np.float32)
    starts = np.flatnonzero(np.diff(source, prepend=-1))
    by_source = np.add.reduceat(influence, starts, axis=1)
    se = np.sqrt((by_source**2).sum(axis=1) * len(starts) / (len(starts) - 1))
    signs = rng.choice(np.array([-1.0, 1.0], np.float32), (len(starts), DRAWS))
    critical = float(np.quantile((by_source @ signs / se[:, None]).max(axis=0), 0.95))
    return [(i, bool(gap[i] / se[i] > critical)) for i in np.argsort(-gap / se).tolist()]


def member_of(predicate: Predicate, columns: Columns) -> np.ndarray:
    """Return whether each row is inside."""
    inside = np.ones(len(columns["words"]), np.bool_)
    for condition in predicate.conditions:
        values = columns[condition.column]
        if isinstance(condition, Interval):
            inside &= (values >= condition.low) & (values < condition.high)
        else:
            assert isinstance(condition, Equals)
            inside &= values == condition.value
    return inside


def alike(one: np.ndarray, other: np.ndarray, share: float = 0.6) -> bool:
    """Return whether six in ten of the rows in either, or another share, are in both."""
    return bool((one & other).sum() >= share * (one | other).sum())


def without_copies(ranked: list[int], members: np.ndarray, most: int) -> list[int]:
    """Return the first slices of a list, without those that share half of their rows with a
    stronger one.
    """
    kept: list[int] = []
    for i in ranked:
        if not any(alike(members[i], members[stronger], COPY) for stronger in kept):
            kept.append(i)
        if len(kept) == most:
            break
    return kept


def main(tables: int) -> None:
    """Print, for each size, slice and kind of error, how often each finds and confirms it."""
    print(
        f"{'rows':>5} {'planted':26} error  top five: ours, plain, once  confirmed: ours, plain "
        " likely  gap too large"
    )
    totals = np.zeros(7, np.int64)
    for (rows, extra), kind, name in itertools.product(EXTRA.items(), ("fp", "fn"), PLANTED):
        counts = np.zeros(7, np.int64)
        for seed in range(FIRST_SEED, FIRST_SEED + tables):
            counts += _one_table(rows, extra, kind, PLANTED[name], seed)
        totals += counts
        print(f"{rows:>5} {name:26} {kind:5} {_shares(counts / tables)}", flush=True)
    print(f"{'all':>5} {'':26} {'':5} {_shares(totals / (tables * len(EXTRA) * 2 * len(PLANTED)))}")


def _shares(of: np.ndarray) -> str:
    return (
        f"{of[0]:15.2f}  {of[1]:5.2f} {of[2]:5.2f} {of[3]:16.2f}  {of[4]:5.2f}  {of[5]:6.2f} "
        f" {of[6]:13.2f}"
    )


def _one_table(
    rows: int, extra: float, kind: str, planted: Callable[[Columns], np.ndarray], seed: int
) -> np.ndarray:
    """Return whether ours, plain and plain without copies have the slice in their top five, and
    more.

    More: whether ours confirms it, whether plain does, whether ours calls it likely at least, and
    whether any slice listed has a smaller gap than its bound says.
    """
    rng = np.random.default_rng(seed)
    columns, source = columns_of(rows, rng)
    slice_, label = planted(columns), rng.random(rows) < 0.5
    counted = label == (kind == "fn")
    effect = rng.normal(0, SPREAD, source[-1] + 1)[source]
    chance = 1 / (1 + np.exp(-(np.log(0.25) + effect)))
    chance = np.clip(chance + extra * (slice_ & counted), 0, 1)
    predicted = label ^ (rng.random(rows) < chance)
    frame = pd.DataFrame(columns | {"label": label, "predicted": predicted, "source": source})
    metric = "specificity" if kind == "fp" else "recall"
    found = find_in_frame(frame, metric=metric, group="source", seed=seed).slices
    hit: FoundSlice | None = None
    overstated = False
    for i, one in enumerate(found):
        inside = member_of(one.predicate, columns)
        gap = chance[inside & counted].mean() - chance[~inside & counted].mean()
        overstated |= bool(one.rest - one.bound > max(0.0, gap) + 1e-12)
        if i < 5 and hit is None and alike(inside & counted, slice_ & counted):
            hit = one
    members = candidates(columns)[:, counted]
    enough = members.sum(axis=1)
    members = members[(enough >= MIN_ROWS) & (enough <= counted.sum() - MIN_ROWS)]
    ranked = plain((predicted != label)[counted], members, source[counted], rng)
    same = [alike(members[i], slice_[counted]) for i, _ in ranked[:20]]
    confirmed = any(one and sure for one, (_, sure) in zip(same, ranked, strict=False))
    once = any(
        alike(members[i], slice_[counted])
        for i in without_copies([i for i, _ in ranked], members, 5)
    )
    likely = hit is not None and hit.evidence != "exploratory"
    ours = hit is not None and hit.confirmed
    return np.array([hit is not None, any(same[:5]), once, ours, confirmed, likely, overstated])


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else TABLES)
