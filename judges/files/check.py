"""Report what a person should know of a data file before paying for a run; it refuses nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from ..duplicates import Clusters, TextCodes, join_near_duplicates
from ..judge import JudgeSettings
from ..rows import Row
from .check_tokens import TokenSummary

_SHOWN = 5
_FAR_LONGER = 10_000
_OVERSIZED = JudgeSettings().max_chars
_COMPARED = 1_000_000
"""Characters of a text that are compared with others; one so long is never sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """Something that needs eyes: in how many rows, and the first of them."""

    rows: int
    first: tuple[str, ...] = ()
    """Ids."""
    columns: tuple[str, ...] = ()
    """Where it was seen, most often first; empty where it concerns the whole row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """How long one input is, in characters."""

    median: int
    p95: int
    longest: int
    longest_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """How rows hang together."""

    column: str | None
    """None where no column names them."""
    guessed: str | None
    """The input that makes them where no column does; None for rows that are each one of their own.
    """
    count: int
    median: int
    largest: int
    largest_name: str
    alone: int
    """Rows without a group, each standing alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataReport:
    """What was seen of a data file."""

    name: str
    rows: int
    inputs: tuple[str, ...]
    labels: Mapping[str, int]
    """Rows by label, lowest first."""
    unlabelled: int
    groups: Groups
    lengths: Mapping[str, Lengths]
    sightings: Mapping[str, Sighting]
    """By kind, a key of `KINDS`; those that were looked for and not seen have 0 rows."""
    tokens: TokenSummary | None = None
    leaks: Mapping[str, str] = field(default_factory=dict)
    """Columns that give the label away, with the reason."""
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return everything as JSON."""
        return asdict(self)


KINDS: Mapping[str, str] = {
    "exact_duplicates": "exact duplicates of an earlier row",
    "conflicting_labels": "equal inputs with different labels",
    "near_duplicates": "nearly equal to an earlier row in every input",
    "tied_groups": "in groups that share nearly equal rows with another group",
    "empty_inputs": "an input is empty or missing",
    "far_longer": f"over {_FAR_LONGER:,} characters and ten times as long as 95 % of the rows",
    "oversized": f"over {_OVERSIZED:,} characters: not sent, unscored",
}
"""Every kind of sighting, with a phrase for people."""


def check_rows(
    rows: Sequence[Row],
    *,
    name: str,
    group_column: str | None,
    guessed: str | None = None,
    leaks: Mapping[str, str] | None = None,
    notes: Iterable[str] = (),
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> DataReport:
    """Look at rows without changing or refusing any.

    Args:
        rows: At least one; all have the same inputs.
        name: Stands in the report.
        group_column: The column their groups came from.
        guessed: The input that makes the groups where no column does.
        leaks: Columns that give the label away.
        notes: What was assumed while reading.
        progress: Called with how many of how many rows have been compared.
    """
    compared = [_beginning(row) for row in rows]
    n_cut = sum(cut is not row for cut, row in zip(compared, rows, strict=True))
    if n_cut:
        note = f"of a text in {n_cut:,} rows only the first {_COMPARED:,} characters were compared"
        notes = (*notes, note)
    together, alike = _cluster(compared, lambda done: progress(done, len(rows)))
    seen = _Sightings(rows)
    _look_at_twins(seen, compared, together, alike)
    _look_at_sizes(seen, rows)
    labels = Counter(row.label for row in rows if row.label is not None)
    return DataReport(
        name=name,
        rows=len(rows),
        inputs=tuple(rows[0].inputs),
        labels={f"{label:g}": n for label, n in sorted(labels.items())},
        unlabelled=sum(row.label is None for row in rows),
        groups=_groups(rows, group_column, guessed),
        lengths={column: _lengths(rows, column) for column in rows[0].inputs},
        sightings=seen.by_kind(),
        leaks=leaks or {},
        notes=tuple(notes),
    )


class _Sightings:
    """Rows by what was seen of them."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self._positions: dict[str, set[int]] = {}
        self._columns: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def add(self, kind: str, positions: Iterable[int], column: str = "") -> None:
        """Enter rows, and the column where it was seen; none say that it was looked for."""
        before = self._positions.setdefault(kind, set())
        before.update(positions)
        if column:
            self._columns[kind][column] += 1

    def by_kind(self) -> dict[str, Sighting]:
        """Return what was looked for."""
        sightings: dict[str, Sighting] = {}
        for kind, positions in self._positions.items():
            first = tuple(self._rows[i].id for i in sorted(positions)[:_SHOWN])
            columns = tuple(name for name, _ in self._columns[kind].most_common())
            sightings[kind] = Sighting(rows=len(positions), first=first, columns=columns)
        return sightings


def _mixed(keys: Sequence[object], values: Iterable[object]) -> list[int]:
    """Return the positions of keys that come with several values, missing ones left out."""
    by_key: defaultdict[object, set[object]] = defaultdict(set)
    for key, value in zip(keys, values, strict=True):
        if value is not None and value != "":
            by_key[key].add(value)
    return [i for i, key in enumerate(keys) if len(by_key[key]) > 1]


def _beginning(row: Row) -> Row:
    """Return the row with its texts cut to what is compared, each with its length; itself where
    none is longer.
    """
    if all(len(text) <= _COMPARED for text in row.inputs.values()):
        return row
    cut = {
        name: text if len(text) <= _COMPARED else f"{text[:_COMPARED]} [{len(text)} characters]"
        for name, text in row.inputs.items()
    }
    return replace(row, inputs=cut)


def _cluster(rows: Sequence[Row], done: Callable[[int], None]) -> tuple[list[int], list[int]]:
    """Cluster rows whose inputs taken together are nearly equal, and rows of which every single
    input is.

    The second kind is looked for among rows that have a fellow of the first kind or share one input
    with another row: most rows have and do neither, and comparing twice what is long takes time.
    """
    clusters, texts = Clusters(len(rows)), TextCodes()
    join_near_duplicates(rows, clusters, texts=texts, done=done)
    together = [clusters.find(i) for i in range(len(rows))]
    sizes = Counter(together)
    counts = Counter(item for row in rows for item in row.inputs.items())
    candidates: list[int] = []
    for i, row in enumerate(rows):
        if sizes[together[i]] > 1 or any(counts[item] > 1 for item in row.inputs.items()):
            candidates.append(i)
    clusters = Clusters(len(candidates))
    join_near_duplicates([rows[i] for i in candidates], clusters, each_input=True, texts=texts)
    alike = list(range(len(rows)))
    for position, i in enumerate(candidates):
        alike[i] = candidates[clusters.find(position)]
    return together, alike


def _groups(rows: Sequence[Row], column: str | None, guessed: str | None) -> Groups:
    counts = Counter(row.group for row in rows if row.group)
    alone = sum(not row.group for row in rows)
    sizes = sorted([*counts.values(), *[1] * alone])
    name, largest = max(counts.items(), key=lambda item: (item[1], item[0]), default=("", 1))
    return Groups(
        column=column,
        guessed=guessed,
        count=len(sizes),
        median=sizes[len(sizes) // 2],
        largest=largest,
        largest_name=name if column else "",
        alone=alone,
    )


def _lengths(rows: Sequence[Row], column: str) -> Lengths:
    sizes = np.array([len(row.inputs[column]) for row in rows])
    median, p95 = np.quantile(sizes, [0.5, 0.95], method="higher")
    return Lengths(
        median=int(median),
        p95=int(p95),
        longest=int(sizes.max()),
        longest_id=rows[int(sizes.argmax())].id,
    )


def _look_at_twins(
    seen: _Sightings, rows: Sequence[Row], together: Sequence[int], alike: Sequence[int]
) -> None:
    """Find the rows that stand in the file more than once, and those whose group a split must keep
    with another one.
    """
    texts = [tuple(" ".join(text.split()) for text in row.inputs.values()) for row in rows]
    first: dict[tuple[str, ...], int] = {}
    repeats = {i for i, text in enumerate(texts) if first.setdefault(text, i) != i}
    seen.add("exact_duplicates", repeats)
    seen.add("conflicting_labels", _mixed(texts, [row.label for row in rows]))
    near = [i for i, cluster in enumerate(alike) if cluster != i and i not in repeats]
    seen.add("near_duplicates", near)
    tied = Clusters(len(rows))
    groups: dict[str, int] = {}
    for i, row in enumerate(rows):
        tied.join(groups.setdefault(row.group_key, i), i)
        tied.join(together[i], i)
    clusters = [tied.find(i) for i in range(len(rows))]
    seen.add("tied_groups", _mixed(clusters, [row.group_key for row in rows]))


def _look_at_sizes(seen: _Sightings, rows: Sequence[Row]) -> None:
    seen.add("empty_inputs", ())
    for i, row in enumerate(rows):
        for name, text in row.inputs.items():
            if not text.strip():
                seen.add("empty_inputs", [i], name)
    sizes = np.array([sum(map(len, row.inputs.values())) for row in rows])
    # Ten times the usual and long in itself: where rows are short, a long one is nothing special.
    far = max(_FAR_LONGER, 10 * float(np.quantile(sizes, 0.95)))
    seen.add("far_longer", np.flatnonzero(sizes > far).tolist())
    seen.add("oversized", np.flatnonzero(sizes > _OVERSIZED).tolist())
