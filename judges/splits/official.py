"""Splits that somebody else prescribes: a column that names the parts, or a file of the test
rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
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
    if all(column not in row.meta for row in dataset.rows):
        message = f"no row has a column {column!r} that could say how the rows are split"
        raise InputError(f"{dataset.name}: {message}")
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
        counts = ", ".join(f"{value} in {n:,} rows" for value, n in strange.most_common(5))
        raise InputError(
            f"{dataset.name}: the column {column!r} does not say of every row where it belongs:"
            f" {counts}",
            hint=(
                "its values are train, validation (dev) and test in a usual spelling; leave the"
                " other rows out"
            ),
        )
    return _prescribed(dataset, sides, f"the column {column!r}")


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
    contents = {_content(row): row.id for row in dataset.rows}
    for row in holdout.rows:
        if _content(row) in contents:
            same = contents[_content(row)]
            raise InputError(
                f"row {row.id!r} of {holdout.name} is row {same!r} of {dataset.name}: it cannot be"
                " open and sealed",
                hint="leave it out of one of the two files",
            )
    rows = holdout.rows
    if {row.id for row in rows} & {row.id for row in dataset.rows}:
        rows = tuple(replace(row, id=f"{holdout.name}:{row.id}") for row in rows)
    sides: dict[str, OfficialSide] = {row.id: "open" for row in dataset.rows}
    sides |= {row.id: "holdout" for row in rows}
    notes = (*dataset.notes, *holdout.notes)
    merged = Dataset.of(
        (*dataset.rows, *rows), labels=dataset.labels, name=dataset.name, notes=notes
    )
    return _prescribed(merged, sides, holdout.name)


def _content(row: Row) -> tuple[object, ...]:
    return (row.label, *sorted(row.inputs.items()))


def _prescribed(dataset: Dataset, sides: Mapping[str, OfficialSide], source: str) -> Dataset:
    names = set(sides.values())
    if "holdout" not in names or names == {"holdout"}:
        missing = "test" if "holdout" not in names else "training or validation"
        raise InputError(
            f"{source} names no {missing} rows", hint=f"the parts are {', '.join(PARTS[:3])}"
        )
    if not {"train", "validation"} <= names:
        # Without one of the two, both are drawn from what is open.
        sides = {row: "holdout" if side == "holdout" else "open" for row, side in sides.items()}
    return replace(dataset, official=sides)


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
        blocks = blocks_of(unplaced, {}, "together")
        merged = len(blocks_of(unplaced, {}, "no")) - len(blocks)
        train = 100 * shares[0] / (shares[0] + shares[1])
        for part, some in assign(blocks, (train, 100 - train, 0, 0)).items():
            rows[part] += [row for block in some for row in block.rows]
    sizes = ", ".join(f"{part} {len(rows[part]):,} rows" for part in PARTS[:3])
    notes = [f"the split is prescribed: {sizes}", *_across(dataset)]
    for part in PARTS[:3]:
        if not rows[part]:
            raise InputError(
                f"the prescribed split leaves no {part} rows", hint="label rows of more groups"
            )
    measuring = {row.group_key for part in PARTS[1:3] for row in rows[part]}
    drawn = [
        row
        for row in uneven
        if dataset.official[row.id] in ("train", "open") and row.group_key not in measuring
    ]
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
    clusters = Clusters(len(dataset))
    join_near_duplicates(dataset.rows, clusters, each_input=True)
    sealed = [dataset.official[row.id] == "holdout" for row in dataset.rows]
    kinds: dict[str, list[object]] = {
        "of groups of open rows, too": [row.group_key for row in dataset.rows],
        "nearly the same as open rows": [clusters.find(at) for at in range(len(dataset))],
    }
    notes: list[str] = []
    for kind, keys in kinds.items():
        open_keys = {key for key, own in zip(keys, sealed, strict=True) if not own}
        count = sum(own and key in open_keys for key, own in zip(keys, sealed, strict=True))
        if count:
            notes.append(f"{count:,} test rows are {kind}; they stay where the split has them")
    return notes
