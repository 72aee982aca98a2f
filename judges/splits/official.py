"""Splits that somebody else prescribes: a column that names the parts, or a file of the test
rows.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ..duplicates import Clusters, join_near_duplicates
from ..errors import InputError
from ..rows import Dataset, OfficialSide, Row
from .blocks import assign, blocks_of
from .parts import PARTS, Part, Shares, Splits

SPELLINGS: dict[str, OfficialSide] = {
    **dict.fromkeys(("train", "training", "trn"), "train"),
    **dict.fromkeys(("validation", "valid", "val", "dev", "devel", "development"), "validation"),
    **dict.fromkeys(
        ("test", "testing", "tst", "holdout", "heldout", "evaluation", "eval"), "holdout"
    ),
}
"""The usual names of the parts of a benchmark, in lower case and without marks between words."""


def with_split_column(dataset: Dataset, column: str) -> Dataset:
    """Return the dataset with the split that a column prescribes.

    A file that has no part for tuning on or none to validate on has one open part, which is split
    by shares.

    Raises:
        InputError: There is no such column, a row has none of the usual names in it, or no row is a
            test row.
    """
    sides: dict[str, OfficialSide] = {}
    strange: Counter[str] = Counter()
    for row in dataset.rows:
        value = row.meta.get(column)
        side = SPELLINGS.get("".join(filter(str.isalpha, str(value).lower())))
        if value is None or side is None:
            strange["no value" if value is None else repr(value)] += 1
        else:
            sides[row.id] = side
    if strange:
        if all(column not in row.meta for row in dataset.rows):
            raise InputError(
                f"{dataset.name}: no row has a column {column!r} that could say how the rows are"
                " split"
            )
        counts = ", ".join(f"{value} in {n:,} rows" for value, n in strange.most_common(5))
        raise InputError(
            f"{dataset.name}: the column {column!r} does not say of every row where it belongs:"
            f" {counts}",
            hint=(
                "its values are train, validation (dev) and test in a usual spelling; leave the"
                " other rows out"
            ),
        )
    return _checked(replace(dataset, official=sides), f"the column {column!r}")


def with_holdout_file(dataset: Dataset, holdout: Dataset) -> Dataset:
    """Return the rows of both, those of the second as the test part.

    Ids that stand in both get the name of their file in front; with the same content they are
    refused.

    Raises:
        InputError: A row stands in both, or their labels are on different scales.
    """
    if dataset.labels != holdout.labels:
        raise InputError(
            f"the labels of {dataset.name} are {dataset.labels.describe()}, those of {holdout.name}"
            f" {holdout.labels.describe()}",
            hint="say which they are with --label-scale",
        )
    contents = {(tuple(sorted(row.inputs.items())), row.label): row.id for row in dataset.rows}
    for row in holdout.rows:
        same = contents.get((tuple(sorted(row.inputs.items())), row.label))
        if same is not None:
            raise InputError(
                f"row {row.id!r} of {holdout.name} is row {same!r} of {dataset.name}: it cannot be"
                " open and sealed",
                hint="leave it out of one of the two files",
            )
    taken = {row.id for row in dataset.rows}
    rows: list[Row] = list(holdout.rows)
    if any(row.id in taken for row in rows):
        rows = [replace(row, id=f"{holdout.name}:{row.id}") for row in rows]
    sides: dict[str, OfficialSide] = {row.id: "open" for row in dataset.rows}
    sides |= {row.id: "holdout" for row in rows}
    merged = Dataset.of(
        (*dataset.rows, *rows),
        labels=dataset.labels,
        name=dataset.name,
        notes=(*dataset.notes, *holdout.notes),
    )
    return _checked(replace(merged, official=sides), holdout.name)


def _checked(dataset: Dataset, source: str) -> Dataset:
    sides = set(dataset.official.values())
    if "holdout" not in sides or sides == {"holdout"}:
        missing = "test" if "holdout" not in sides else "training or validation"
        raise InputError(
            f"{source} names no {missing} rows", hint=f"the parts are {', '.join(PARTS[:3])}"
        )
    if not {"train", "validation"} <= sides:
        # Without one of the two, both are drawn from what is open.
        official: dict[str, OfficialSide] = {
            row: "holdout" if side == "holdout" else "open"
            for row, side in dataset.official.items()
        }
        return replace(dataset, official=official)
    return dataset


def split_officially(dataset: Dataset, shares: Shares, seed: int) -> Splits:
    """Follow the split that a dataset prescribes."""
    rows: dict[Part, list[Row]] = {part: [] for part in PARTS}
    open_rows: list[Row] = []
    uneven: list[Row] = []
    for row in dataset.rows:
        side = dataset.official[row.id]
        if row.sampling_probability < 1:
            uneven.append(row)
        elif side == "open":
            open_rows.append(row)
        else:
            rows[side].append(row)
    merged = 0
    if open_rows:
        unplaced = replace(dataset, rows=tuple(open_rows))
        groups, blocks = blocks_of(unplaced, {}, "no"), blocks_of(unplaced, {}, "together")
        merged = len(groups) - len(blocks)
        of_open = shares[0] + shares[1]
        by_part = assign(blocks, (100 * shares[0] / of_open, 100 * shares[1] / of_open, 0, 0))
        for part, given in by_part.items():
            rows[part] += [row for block in given for row in block.rows]
    notes = [
        "the split is prescribed:"
        f" {', '.join(f'{part} {len(rows[part]):,} rows' for part in PARTS[:3])}"
    ]
    for part in PARTS[:3]:
        if not rows[part]:
            raise InputError(
                f"the prescribed split leaves no {part} rows", hint="label rows of more groups"
            )
    notes += _across(dataset)
    measuring = {row.group_key for part in PARTS[1:3] for row in rows[part]}
    drawn: list[Row] = []
    for row in uneven:
        if dataset.official[row.id] in ("train", "open") and row.group_key not in measuring:
            drawn.append(row)
    if uneven:
        apart = len(uneven) - len(drawn)
        notes.append(
            f"{len(drawn):,} rows drawn with a probability below 1 train; {apart:,} are left out"
        )
    return Splits.of(
        dataset,
        rows,
        drawn,
        shares=shares,
        seed=seed,
        groups={"holdout": len({row.group_key for row in rows["holdout"]}), "final": 0},
        merged=merged,
        notes=notes,
    )


def _across(dataset: Dataset) -> list[str]:
    """Say how many test rows of a prescribed split have their group, or nearly their text, among
    the open rows.
    """
    sealed = [dataset.official[row.id] == "holdout" for row in dataset.rows]
    open_groups = {row.group_key for row, own in zip(dataset.rows, sealed, strict=True) if not own}
    shared = sum(
        row.group_key in open_groups for row, own in zip(dataset.rows, sealed, strict=True) if own
    )
    clusters = Clusters(len(dataset))
    join_near_duplicates(dataset.rows, clusters, each_input=True)
    places = [clusters.find(position) for position in range(len(dataset))]
    open_places = {place for place, own in zip(places, sealed, strict=True) if not own}
    alike = sum(place in open_places for place, own in zip(places, sealed, strict=True) if own)
    notes: list[str] = []
    if shared:
        notes.append(
            f"{shared:,} test rows are of groups of open rows, too; they stay where the split has"
            " them"
        )
    if alike:
        notes.append(
            f"{alike:,} test rows are nearly the same as open rows; they stay where the split has"
            " them"
        )
    return notes
