"""Groups that must stay together, and the part that each goes to: all parts alike in labels."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..duplicates import Clusters, join_near_duplicates
from ..rows import Dataset, Row
from .parts import PARTS, SIDES, Part, Shares, Side, hash_of

NO_SEED = 0
"""Of ties, which no seed decides: another one would make a fresh holdout."""


@dataclass(frozen=True, slots=True)
class Block:
    """Groups that must stay together."""

    rows: tuple[Row, ...]
    drawn: tuple[Row, ...]
    """Those of its rows that were drawn with a probability below 1."""
    classes: Mapping[str, int]
    tie: bytes
    side: Side | None
    """Where they were before; None for new ones."""


def join_alike(
    dataset: Dataset, placed: Mapping[str, Collection[Side]], groups: list[Block], shares: Shares
) -> tuple[list[Block], list[str]]:
    """Join groups that hold nearly the same rows; note where only the stricter sense of it leaves a
    split.
    """
    blocks = blocks_of(dataset, placed, "together")
    half = sum(len(group.rows) for group in groups) / 2
    n_parts = sum(share > 0 for share in shares)
    if _can_fill(blocks, n_parts, half) or not _can_fill(groups, len(PARTS), half):
        return blocks, []
    # One pool of passages under a handful of questions would tie all of them into one block, and no
    # split were left.
    note = (
        "groups that share texts could not be split, so rows count as nearly the same only where"
        " every input is: a text may stand on both sides under another question"
    )
    return blocks_of(dataset, placed, "each input"), [note]


def _can_fill(blocks: Sequence[Block], parts: int, most: float) -> bool:
    """Whether there are so many blocks with rows, none larger than that."""
    sizes = [len(block.rows) for block in blocks if block.rows]
    return len(sizes) >= parts and max(sizes, default=0) <= most


def blocks_of(
    dataset: Dataset,
    placed: Mapping[str, Collection[Side]],
    same: Literal["no", "together", "each input"],
) -> list[Block]:
    """Return the groups, joined where they hold rows that are the same in the sense that is asked
    for.
    """
    clusters = Clusters(len(dataset))
    first: dict[str, int] = {}
    for position, row in enumerate(dataset.rows):
        clusters.join(first.setdefault(row.group_key, position), position)
    if same != "no":
        join_near_duplicates(dataset.rows, clusters, each_input=same == "each input")
    members: defaultdict[int, list[Row]] = defaultdict(list)
    for position, row in enumerate(dataset.rows):
        members[clusters.find(position)].append(row)
    blocks: list[Block] = []
    for rows in members.values():
        keys = {row.group_key for row in rows}
        sides: set[Side] = {side for key in keys for side in placed.get(key, ())}
        even = [row for row in rows if row.sampling_probability == 1]
        block = Block(
            rows=tuple(even),
            drawn=tuple(row for row in rows if row.sampling_probability < 1),
            classes=Counter(_label_class(dataset, row) for row in even),
            tie=hash_of(NO_SEED, *sorted(keys)),
            side=min(sides, key=SIDES.index, default=None),
        )
        blocks.append(block)
    return blocks


def _label_class(dataset: Dataset, row: Row) -> str:
    # By the label of the file: correcting one must not draw another holdout.
    label = row.label if row.review is None else row.review.before
    if label is None:
        return "unlabelled"
    if dataset.labels.kind == "choice":
        return dataset.labels.name(label)
    return "positive" if dataset.labels.positive(label) else "negative"


def assign(blocks: Sequence[Block], shares: Shares) -> dict[Part, list[Block]]:
    """Assign the blocks to parts, the largest first, each to the part that lacks most of what it
    holds.

    Blocks that were in a part before are in it from the start.
    """
    totals: Counter[str] = Counter()
    for block in blocks:
        totals.update(block.classes)
    by_part: dict[Part, list[Block]] = {part: [] for part in PARTS}
    filled: dict[Part, Counter[str]] = {part: Counter() for part in PARTS}
    targets: dict[Part, dict[str, float]] = {}
    for part, share in zip(PARTS, shares, strict=True):
        if share > 0:
            targets[part] = {kind: share / 100 * n for kind, n in totals.items()}

    def put(block: Block, part: Part) -> None:
        by_part[part].append(block)
        filled[part].update(block.classes)

    def lack(part: Part, block: Block) -> tuple[float, bytes]:
        # Sorted, because the last digit of a sum depends on the order of its terms.
        kinds = sorted(block.classes.items())
        missing = sum(
            n / totals[kind] * (1 - filled[part][kind] / targets[part][kind]) for kind, n in kinds
        )
        return missing, hash_of(NO_SEED, part, block.tie.hex())

    ordered: list[Block] = []
    for block in sorted(blocks, key=lambda block: (-len(block.rows), block.tie)):
        if block.side is None or block.side == "open":
            ordered.append(block)
        else:
            put(block, block.side)
    for position, block in enumerate(ordered):
        parts: list[Part] = [*targets] if block.side is None else ["train", "validation"]
        empty: list[Part] = [part for part in parts if not by_part[part]]
        # The last blocks are left for parts that have none yet, so that few groups still fill all
        # parts.
        if empty and len(empty) >= len(ordered) - position:
            parts = empty
        lacks: dict[Part, tuple[float, bytes]] = {part: lack(part, block) for part in parts}
        put(block, max(lacks, key=lambda part: lacks[part]))
    return by_part
