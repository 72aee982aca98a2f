"""Splits: train, validation, and two sealed parts, by whole groups, alike in labels, whatever the
order of rows.

A group that was in a part before stays in it, so that a file may grow. Where groups of several
parts turn out to be one, all of them go to the part that most has been seen of: what was open is
never sealed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ..errors import InputError
from ..rows import SAMPLING_PROBABILITY, Dataset
from .blocks import Block, assign, blocks_of, join_alike
from .official import split_officially
from .parts import (
    DEFAULT_SHARES,
    FEW_LABELS,
    FEW_SHARES,
    PARTS,
    SEALED,
    Part,
    Shares,
    Side,
    Splits,
    check_shares,
    write_shares,
)


def split_dataset(
    dataset: Dataset,
    *,
    shares: Sequence[float] | None = None,
    seed: int = 0,
    near_duplicates: bool = True,
    placed: Mapping[str, Collection[Side]] | None = None,
) -> Splits:
    """Split a dataset by whole groups, so that the parts are alike in labels and share no text.

    The result depends on content, shares and `placed` only; inside a part rows stand in an order
    drawn by the seed, so that the first so many are a fair sample. New groups go out largest first,
    each to the part that still lacks the largest share of what the group holds.

    Args:
        dataset: Rows; one without a group is a group of its own.
        shares: Percent for train, validation, holdout and final; the last may be 0. Unless given,
            `DEFAULT_SHARES`, and `FEW_SHARES` with a note where there are few labels.
        seed: Of the order of rows inside a part; never of which part they are in.
        near_duplicates: Whether groups with nearly the same rows are kept together.
        placed: By its key, the sides that a group's rows were on before. It stays on the first of
            them in the order of `SIDES`, and so do the groups that have nearly the same rows.

    A split that the dataset prescribes is followed exactly, row by row: it has no final part, the
    shares say only how its open rows are split, and `placed` moves nothing.

    Raises:
        InputError: The shares make no sense, or there are too few groups for them.
    """
    few: list[str] = []
    labelled = sum(row.label is not None and row.sampling_probability == 1 for row in dataset.rows)
    if shares is None and 0 < labelled < FEW_LABELS and not dataset.official:
        shares = FEW_SHARES
        few = [
            f"with {labelled:,} labelled rows the split is {write_shares(shares)}, without a final"
            " part: after a decision no rows are left to confirm it on, and small gains cannot be"
            " shown (`optimize --plan` says which can)"
        ]
    shares = DEFAULT_SHARES if shares is None else shares
    percent, placed = check_shares(shares, write_shares(shares)), placed or {}
    if dataset.official:
        return split_officially(dataset, percent, seed)
    groups = blocks_of(dataset, placed, "no")
    every, notes = groups, list[str]()
    if near_duplicates:
        every, notes = join_alike(dataset, placed, groups, percent)
    blocks = [block for block in every if block.rows]
    filled = sum(bool(group.rows) for group in groups)
    merged = filled - len(blocks)
    if merged:
        notes = [
            f"{filled:,} groups became {len(blocks):,}, as some have nearly the same rows",
            *notes,
        ]
    by_part = assign(blocks, percent)
    _require_enough(dataset, by_part, merged, percent, placed)
    # Rows that were not drawn evenly train where they share nothing with a row that measures.
    trains = [block for block in every if not block.rows and block.side in (None, "train", "open")]
    drawn = [row for block in (*by_part["train"], *trains) for row in block.drawn]
    notes += _drawn_notes(every, len(drawn))
    return Splits.of(
        dataset,
        {part: [row for block in by_part[part] for row in block.rows] for part in PARTS},
        drawn,
        shares=percent,
        seed=seed,
        groups={part: len(by_part[part]) for part in PARTS},
        merged=merged,
        notes=(*few, *notes, *_placed_notes(by_part, placed, percent), *_size_notes(by_part)),
    )


def _require_enough(
    dataset: Dataset,
    by_part: Mapping[Part, Sequence[Block]],
    merged: int,
    shares: Shares,
    placed: Mapping[str, Collection[Side]],
) -> None:
    parts: list[Part] = [part for part, share in zip(PARTS, shares, strict=True) if share > 0]
    empty = [part for part in parts if not by_part[part]]
    if empty and not any(placed.values()):
        blocks = sum(map(len, by_part.values()))
        noun = "group" if blocks == 1 else "groups"
        joined = ""
        if merged:
            joined = f", after {merged:,} were joined because their rows are nearly the same"
        raise InputError(
            f"{blocks} {noun} cannot fill {len(parts)} parts{joined}",
            hint=(
                "a group never straddles two parts: label rows of more groups, or name a finer"
                " column with --group"
            ),
        )
    # Groups that stay where they were may leave no final part, without which a decision can still
    # be made.
    empty = [part for part in empty if part != "final"]
    if empty:
        before = sum(bool(placed.get(key)) for key in {row.group_key for row in dataset.rows})
        raise InputError(
            f"no group is left for the {empty[0]} part: {before:,} of the groups were in other"
            " parts before, and stay",
            hint=(
                "add rows of new groups; with --allow-opened rows are split as if they were new,"
                " and the decision says so"
            ),
        )


def _placed_notes(
    by_part: Mapping[Part, Sequence[Block]], placed: Mapping[str, Collection[Side]], shares: Shares
) -> list[str]:
    """Say how many groups stay where they were, and how many a conflict has moved."""
    part_of: dict[str, Part] = {}
    for part, blocks in by_part.items():
        part_of |= {row.group_key: part for block in blocks for row in block.rows}
    placed_before = [key for key in part_of if placed.get(key)]
    opened = looked_at = 0
    for key in placed_before:
        opened += part_of[key] not in SEALED and not SEALED.isdisjoint(placed[key])
        looked_at += part_of[key] == "holdout" and "final" in placed[key]
    notes: list[str] = []
    if placed_before:
        notes.append(
            f"{len(placed_before):,} of {len(part_of):,} groups stay in the part they were in;"
            f" {write_shares(shares)} is for new ones"
        )
    if opened:
        notes.append(
            f"{opened:,} sealed {'group is' if opened == 1 else 'groups are'} open from now on:"
            " rows of open groups were joined with theirs, or are nearly the same"
        )
    if looked_at:
        noun = "group has" if looked_at == 1 else "groups have"
        notes.append(f"{looked_at:,} final {noun} come to the holdout so")
    return notes


def _drawn_notes(blocks: Sequence[Block], trained: int) -> list[str]:
    """Say what becomes of rows that were drawn with a probability below 1."""
    count = sum(len(block.drawn) for block in blocks)
    if not count:
        return []
    rows = f"rows that were drawn with a probability below 1 ({SAMPLING_PROBABILITY})"
    note = f"{trained:,} {rows} are for training only"
    if count > trained:
        note += f"; {count - trained:,} more share a group or a text with rows that measure, and"
        note += " are left out"
    return [note]


def _size_notes(by_part: Mapping[Part, Sequence[Block]]) -> list[str]:
    """Say how large the parts are, and where they are uneven."""
    sizes = {part: [len(block.rows) for block in blocks] for part, blocks in by_part.items()}
    total = sum(map(sum, sizes.values()))
    largest = max(map(max, filter(None, sizes.values())))
    notes: list[str] = []
    for part, rows in sizes.items():
        notes.append(
            f"{part}: {sum(rows):,} rows ({sum(rows) / total:.0%}) in {len(rows):,} groups"
        )
    if largest > total / 5:
        notes.append(
            f"one group holds {largest / total:.0%} of the rows, so the parts miss the sizes"
            " asked for"
        )
    for part in PARTS[:2]:
        kinds = {kind for block in by_part[part] for kind in block.classes} - {"unlabelled"}
        if len(kinds) == 1:
            notes.append(f"{part} has only {kinds.pop()} rows")
    return notes
