"""What a person should see of a data file before paying for a run; it informs and refuses nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
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
    """None where rows that share their longest input were taken as a group."""
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
    sides: Sequence[str] | None = None,
    others: Sequence[Row] = (),
    scan_all: bool = False,
    tokens: TokenSummary | None = None,
    leaks: Mapping[str, str] | None = None,
    notes: Iterable[str] = (),
) -> DataReport:
    """Look at rows without changing or refusing any.

    Args:
        rows: At least one; all have the same inputs.
        name: What to call the data.
        group_column: The column their groups came from.
        sides: The side of a split each row stands on, such as train or test; `""` for none.
        others: Rows of another file with the same inputs, of which none should be among these.
        scan_all: Whether to look for damaged and injected text in the other columns as well.
        tokens: What a run costs, where it was counted.
        leaks: Columns that give the label away.
        notes: What was assumed while reading.
    """
    inputs = tuple(rows[0].inputs)
    compared = [_beginning(row) for row in rows]
    n_cut = sum(cut is not row for cut, row in zip(compared, rows, strict=True))
    if n_cut:
        cut = f"of a text in {n_cut:,} rows only the first {_COMPARED:,} characters were compared and searched"
        notes = (*notes, cut)
    whole, alike = _cluster(compared)
    return DataReport(
        name=name,
        rows=len(rows),
        inputs=inputs,
        labels=_labels(rows),
        unlabelled=sum(row.label is None for row in rows),
        groups=_groups(rows, group_column),
        lengths={column: _lengths(rows, column) for column in inputs},
        sightings=_twins(compared, alike)
        | _tied(rows, whole)
        | _sides(rows, alike, sides)
        | _shared(compared, [_beginning(row) for row in others])
        | _sizes(rows)
        | _texts(compared, scan_all),
        tokens=tokens,
        leaks=leaks or {},
        notes=tuple(notes),
    )


def _beginning(row: Row) -> Row:
    """Return the row with its texts cut to what is compared, each with its length; itself where none is longer."""
    if all(len(text) <= _COMPARED for text in row.inputs.values()):
        return row
    cut = {
        name: text if len(text) <= _COMPARED else f"{text[:_COMPARED]} [{len(text)} characters]"
        for name, text in row.inputs.items()
    }
    return replace(row, inputs=cut)


def _cluster(rows: Sequence[Row]) -> tuple[Clusters, Clusters]:
    """Cluster rows that are nearly equal on the whole, and those that are so in every input.

    The second kind is looked for among rows that have a fellow of the first kind or share one input with another row:
    most rows have and do neither, and comparing twice what is long takes time.
    """
    whole, alike = Clusters(len(rows)), Clusters(len(rows))
    texts = TextCodes()
    join_near_duplicates(rows, whole, texts=texts)
    sizes = Counter(whole.find(i) for i in range(len(rows)))
    shared = Counter((name, text) for row in rows for name, text in row.inputs.items())
    crowd = [
        i
        for i, row in enumerate(rows)
        if sizes[whole.find(i)] > 1 or any(shared[name, text] > 1 for name, text in row.inputs.items())
    ]
    among = Clusters(len(crowd))
    join_near_duplicates([rows[i] for i in crowd], among, each_input=True, texts=texts)
    for position, i in enumerate(crowd):
        alike.join(crowd[among.find(position)], i)
    return whole, alike


def _labels(rows: Sequence[Row]) -> dict[str, int]:
    counts = Counter(row.label for row in rows if row.label is not None)
    return {f"{label:g}": n for label, n in sorted(counts.items())}


def _groups(rows: Sequence[Row], column: str | None) -> Groups:
    counts = Counter(row.group for row in rows if row.group)
    alone = sum(not row.group for row in rows)
    sizes = sorted([*counts.values(), *[1] * alone])
    name, largest = max(counts.items(), key=lambda item: (item[1], item[0]), default=("", 1))
    return Groups(
        column=column,
        count=len(sizes),
        median=sizes[len(sizes) // 2],
        largest=largest,
        largest_name=name if column else "",
        alone=alone,
    )


def _lengths(rows: Sequence[Row], column: str) -> Lengths:
    sizes = np.array([len(row.inputs[column]) for row in rows])
    median, p95 = np.quantile(sizes, [0.5, 0.95], method="higher")
    return Lengths(median=int(median), p95=int(p95), longest=int(sizes.max()), longest_id=rows[int(sizes.argmax())].id)


def _sighting(rows: Sequence[Row], positions: Iterable[int], columns: Iterable[str] = ()) -> Sighting:
    found = sorted(set(positions))
    return Sighting(rows=len(found), first=tuple(rows[i].id for i in found[:_SHOWN]), columns=tuple(columns))


def _twins(rows: Sequence[Row], alike: Clusters) -> dict[str, Sighting]:
    """See what stands in the file more than once."""
    equal: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for i, row in enumerate(rows):
        equal[tuple(" ".join(text.split()) for text in row.inputs.values())].append(i)
    repeats = {i for same in equal.values() for i in same[1:]}
    conflicts = [i for same in equal.values() if len({rows[i].label for i in same} - {None}) > 1 for i in same]
    near = [i for i in range(len(rows)) if alike.find(i) != i and i not in repeats]
    return {
        "exact_duplicates": _sighting(rows, repeats),
        "conflicting_labels": _sighting(rows, conflicts),
        "near_duplicates": _sighting(rows, near),
    }


def _tied(rows: Sequence[Row], whole: Clusters) -> dict[str, Sighting]:
    """See whose group a split has to keep with another, as some of their rows are nearly equal on the whole."""
    clusters = Clusters(len(rows))
    first: dict[str, int] = {}
    own = [first.setdefault(row.group or f"\0{row.id}", i) for i, row in enumerate(rows)]
    for i, leader in enumerate(own):
        clusters.join(leader, i)
        clusters.join(whole.find(i), i)
    members: defaultdict[int, set[int]] = defaultdict(set)
    for i, leader in enumerate(own):
        members[clusters.find(i)].add(leader)
    return {"tied_groups": _sighting(rows, [i for i in range(len(rows)) if len(members[clusters.find(i)]) > 1])}


def _sides(rows: Sequence[Row], alike: Clusters, sides: Sequence[str] | None) -> dict[str, Sighting]:
    """See what stands on several sides of a split that the data already have."""
    if sides is None:
        return {}
    by_text = _several_sides((alike.find(i) for i in range(len(rows))), sides)
    groups = [row.group or f"\0{row.id}" for row in rows]
    by_group = _several_sides(groups, sides)
    return {"across_splits": _sighting(rows, by_text), "groups_across_splits": _sighting(rows, by_group)}


def _several_sides(keys: Iterable[object], sides: Sequence[str]) -> list[int]:
    members: defaultdict[object, list[int]] = defaultdict(list)
    for i, key in enumerate(keys):
        members[key].append(i)
    return [i for same in members.values() if len({sides[i] for i in same if sides[i]}) > 1 for i in same]


def _shared(rows: Sequence[Row], others: Sequence[Row]) -> dict[str, Sighting]:
    """See what stands in another file as well."""
    if not others:
        return {}
    alike = Clusters(len(rows) + len(others))
    join_near_duplicates((*rows, *others), alike, each_input=True)
    theirs = {alike.find(len(rows) + i) for i in range(len(others))}
    return {"in_other_file": _sighting(rows, [i for i in range(len(rows)) if alike.find(i) in theirs])}


def _sizes(rows: Sequence[Row]) -> dict[str, Sighting]:
    empty = {i: [name for name, text in row.inputs.items() if not text.strip()] for i, row in enumerate(rows)}
    hit = [i for i, names in empty.items() if names]
    columns = Counter(name for names in empty.values() for name in names)
    sizes = np.array([sum(map(len, row.inputs.values())) for row in rows])
    far = max(_FAR_LONGER, 10 * float(np.quantile(sizes, 0.95)))
    return {
        "empty_inputs": _sighting(rows, hit, [name for name, _ in columns.most_common()]),
        "far_longer": _sighting(rows, np.flatnonzero(sizes > far).tolist()),
        "oversized": _sighting(rows, np.flatnonzero(sizes > _OVERSIZED).tolist()),
    }


def _texts(rows: Sequence[Row], scan_all: bool) -> dict[str, Sighting]:
    """See damaged and injected text; a text that occurs in many rows is looked at once."""
    known: dict[str, tuple[str, ...]] = {}
    seen: defaultdict[str, list[int]] = defaultdict(list)
    where: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for i, row in enumerate(rows):
        for column, text in _columns(row, scan_all):
            if text not in known:
                known[text] = find_suspicions(text) + (("injections",) if find_injections(text) else ())
            for kind in known[text]:
                seen[kind].append(i)
                where[kind][column] += 1
    kinds = ("injections", *SUSPICIONS)
    return {kind: _sighting(rows, seen[kind], [name for name, _ in where[kind].most_common()]) for kind in kinds}


def _columns(row: Row, scan_all: bool) -> Iterable[tuple[str, str]]:
    yield from row.inputs.items()
    if scan_all:
        yield from ((name, value) for name, value in row.meta.items() if isinstance(value, str))
