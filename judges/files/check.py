"""Report what a person should know of a data file before paying for a run; it refuses nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from ..duplicates import Clusters, TextCodes, join_near_duplicates
from ..judge import JudgeSettings
from ..reliability.prompt_injection import find_injections
from ..rows import Row
from .check_tokens import TokenSummary
from .suspicious import SUSPICIONS, find_suspicions

_SHOWN = 5
_FAR_LONGER = 10_000
_OVERSIZED = JudgeSettings().max_chars
_COMPARED = 1_000_000
"""Characters of a text that are compared with others and searched; one so long is never sent."""


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
    "across_splits": "nearly equal to a row on another side of the split",
    "groups_across_splits": "in groups that stand on several sides of the split",
    "in_other_file": "nearly equal to a row of the other file",
    "empty_inputs": "an input is empty or missing",
    "far_longer": f"over {_FAR_LONGER:,} characters and ten times as long as 95 % of the rows",
    "oversized": f"over {_OVERSIZED:,} characters: not sent, unscored",
    "injections": "text that reads like an instruction to the judge",
    **SUSPICIONS,
}
"""Every kind of sighting, with a phrase for people."""


def check_rows(
    rows: Sequence[Row],
    *,
    name: str,
    group_column: str | None,
    guessed: str | None = None,
    sides: Sequence[str] | None = None,
    others: Sequence[Row] = (),
    scan_all: bool = False,
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
        sides: The side of a split each row stands on, such as train or test; `""` for none.
        others: Rows of another file with the same inputs, of which none should be among these.
        scan_all: Whether to look for damaged and injected text in the other columns as well.
        leaks: Columns that give the label away.
        notes: What was assumed while reading.
        progress: Called with how many of how many texts have been looked at; each row counts twice.
    """
    inputs = tuple(rows[0].inputs)
    compared = [_beginning(row) for row in rows]
    n_cut = sum(cut is not row for cut, row in zip(compared, rows, strict=True))
    if n_cut:
        note = (
            f"of a text in {n_cut:,} rows only the first {_COMPARED:,} characters were compared and"
            " searched"
        )
        notes = (*notes, note)
    total = 2 * len(rows)
    by_all_inputs, alike = _cluster(compared, lambda done: progress(done, total))
    labels = Counter(row.label for row in rows if row.label is not None)
    return DataReport(
        name=name,
        rows=len(rows),
        inputs=inputs,
        labels={f"{label:g}": n for label, n in sorted(labels.items())},
        unlabelled=sum(row.label is None for row in rows),
        groups=_groups(rows, group_column, guessed),
        lengths={column: _lengths(rows, column) for column in inputs},
        sightings=_twins(compared, alike)
        | _tied(rows, by_all_inputs)
        | _sides(rows, alike, sides)
        | _shared(compared, [_beginning(row) for row in others])
        | _sizes(rows)
        | _texts(compared, scan_all, lambda done: progress(len(rows) + done, total)),
        leaks=leaks or {},
        notes=tuple(notes),
    )


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


def _cluster(rows: Sequence[Row], done: Callable[[int], None]) -> tuple[Clusters, Clusters]:
    """Cluster rows whose inputs taken together are nearly equal, and rows of which every single
    input is.

    The second kind is looked for among rows that have a fellow of the first kind or share one input
    with another row: most rows have and do neither, and comparing twice what is long takes time.
    """
    together, alike = Clusters(len(rows)), Clusters(len(rows))
    texts = TextCodes()
    join_near_duplicates(rows, together, texts=texts, done=done)
    sizes = Counter(together.find(i) for i in range(len(rows)))
    counts = Counter(item for row in rows for item in row.inputs.items())
    candidates: list[int] = []
    for i, row in enumerate(rows):
        if sizes[together.find(i)] > 1 or any(counts[item] > 1 for item in row.inputs.items()):
            candidates.append(i)
    clusters = Clusters(len(candidates))
    join_near_duplicates([rows[i] for i in candidates], clusters, each_input=True, texts=texts)
    for position, i in enumerate(candidates):
        alike.join(candidates[clusters.find(position)], i)
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


def _sighting(
    rows: Sequence[Row], positions: Iterable[int], columns: Iterable[str] = ()
) -> Sighting:
    ordered = sorted(set(positions))
    first = tuple(rows[i].id for i in ordered[:_SHOWN])
    return Sighting(rows=len(ordered), first=first, columns=tuple(columns))


def _twins(rows: Sequence[Row], alike: Clusters) -> dict[str, Sighting]:
    """Find the rows that stand in the file more than once."""
    equal: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for i, row in enumerate(rows):
        equal[tuple(" ".join(text.split()) for text in row.inputs.values())].append(i)
    repeats: set[int] = set()
    conflicts: list[int] = []
    for same in equal.values():
        repeats.update(same[1:])
        if len({rows[i].label for i in same} - {None}) > 1:
            conflicts.extend(same)
    near = [i for i in range(len(rows)) if alike.find(i) != i and i not in repeats]
    return {
        "exact_duplicates": _sighting(rows, repeats),
        "conflicting_labels": _sighting(rows, conflicts),
        "near_duplicates": _sighting(rows, near),
    }


def _tied(rows: Sequence[Row], together: Clusters) -> dict[str, Sighting]:
    """Find the rows whose group a split must keep with another one, because some of their rows are
    nearly equal.
    """
    clusters = Clusters(len(rows))
    first: dict[str, int] = {}
    keys = [row.group_key for row in rows]
    for i, key in enumerate(keys):
        clusters.join(first.setdefault(key, i), i)
        clusters.join(together.find(i), i)
    groups: defaultdict[int, set[str]] = defaultdict(set)
    for i, key in enumerate(keys):
        groups[clusters.find(i)].add(key)
    return {
        "tied_groups": _sighting(
            rows, [i for i in range(len(rows)) if len(groups[clusters.find(i)]) > 1]
        )
    }


def _sides(
    rows: Sequence[Row], alike: Clusters, sides: Sequence[str] | None
) -> dict[str, Sighting]:
    """Find the rows that stand on several sides of a split that the data already have."""
    if sides is None:
        return {}
    by_text = _several_sides((alike.find(i) for i in range(len(rows))), sides)
    by_group = _several_sides((row.group_key for row in rows), sides)
    return {
        "across_splits": _sighting(rows, by_text),
        "groups_across_splits": _sighting(rows, by_group),
    }


def _several_sides(keys: Iterable[object], sides: Sequence[str]) -> list[int]:
    members: defaultdict[object, list[int]] = defaultdict(list)
    for i, key in enumerate(keys):
        members[key].append(i)
    several: list[int] = []
    for same in members.values():
        if len({sides[i] for i in same} - {""}) > 1:
            several.extend(same)
    return several


def _shared(rows: Sequence[Row], others: Sequence[Row]) -> dict[str, Sighting]:
    """Find the rows that stand in another file as well."""
    if not others:
        return {}
    alike = Clusters(len(rows) + len(others))
    join_near_duplicates((*rows, *others), alike, each_input=True)
    other_clusters = {alike.find(len(rows) + i) for i in range(len(others))}
    shared = [i for i in range(len(rows)) if alike.find(i) in other_clusters]
    return {"in_other_file": _sighting(rows, shared)}


def _sizes(rows: Sequence[Row]) -> dict[str, Sighting]:
    empty: set[int] = set()
    columns: Counter[str] = Counter()
    for i, row in enumerate(rows):
        for name, text in row.inputs.items():
            if not text.strip():
                empty.add(i)
                columns[name] += 1
    sizes = np.array([sum(map(len, row.inputs.values())) for row in rows])
    # Ten times the usual and long in itself: where rows are short, a long one is nothing special.
    far = max(_FAR_LONGER, 10 * float(np.quantile(sizes, 0.95)))
    return {
        "empty_inputs": _sighting(rows, empty, [name for name, _ in columns.most_common()]),
        "far_longer": _sighting(rows, np.flatnonzero(sizes > far).tolist()),
        "oversized": _sighting(rows, np.flatnonzero(sizes > _OVERSIZED).tolist()),
    }


def _texts(rows: Sequence[Row], scan_all: bool, done: Callable[[int], None]) -> dict[str, Sighting]:
    """Find damaged and injected text; a text that occurs in many rows is looked at once."""
    kinds_of: dict[str, tuple[str, ...]] = {}
    seen: defaultdict[str, list[int]] = defaultdict(list)
    columns: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for i, row in enumerate(rows):
        for column, text in (*row.inputs.items(), *(row.meta.items() if scan_all else ())):
            if not isinstance(text, str):
                continue
            if text not in kinds_of:
                kinds_of[text] = find_suspicions(text)
                if find_injections(text):
                    kinds_of[text] += ("injections",)
            for kind in kinds_of[text]:
                seen[kind].append(i)
                columns[kind][column] += 1
        done(i + 1)
    sightings: dict[str, Sighting] = {}
    for kind in ("injections", *SUSPICIONS):
        sightings[kind] = _sighting(
            rows, seen[kind], [name for name, _ in columns[kind].most_common()]
        )
    return sightings
