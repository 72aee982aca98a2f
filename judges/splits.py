"""Splits: train, validation, and two sealed parts, by whole groups, alike in labels, whatever the order of rows.

A group that was in a part before stays in it, so that a file may grow. Where groups of several parts turn out to be
one, all of them go to the part that most has been seen of: what was open is never sealed.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from .duplicates import Clusters, join_near_duplicates
from .errors import InputError
from .notebook_display import html_table
from .rows import SAMPLING_PROBABILITY, Dataset, Row
from .sealed_rows import SealedRows

if TYPE_CHECKING:
    import pandas as pd

Part = Literal["train", "validation", "holdout", "final"]
PARTS: tuple[Part, ...] = ("train", "validation", "holdout", "final")

Side = Part | Literal["open"]
"""Where a group was before; `open` if in train or validation, and nobody wrote down in which of them."""
SIDES: tuple[Side, ...] = ("train", "open", "validation", "holdout", "final")
"""What most has been seen of comes first."""
SEALED: frozenset[Side] = frozenset({"holdout", "final"})

Shares = tuple[float, float, float, float]
"""Percent of the rows for train, validation, holdout and final."""

DEFAULT_SHARES: Shares = (30, 20, 30, 20)
FEW_LABELS, FEW_SHARES = 200, (40.0, 15.0, 45.0, 0.0)
"""Under so many labelled rows the default is another: a decision on 60 of them says little, and final rows less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Splits:
    """The four parts of a dataset."""

    train: Dataset = field(repr=False)
    validation: Dataset = field(repr=False)
    holdout: SealedRows
    final: SealedRows
    drawn: Dataset = field(repr=False)
    """Rows that were drawn with a probability below 1: training may use them, and no figure may."""
    shares: Shares
    seed: int
    merged: int
    """How many groups were lost by joining groups with near-duplicate rows."""
    notes: tuple[str, ...] = ()

    @property
    def training(self) -> Dataset:
        """The rows that training may use: those of the part, then those that were not drawn evenly."""
        rows = (*self.train.rows, *self.drawn.rows)
        return Dataset.of(rows, labels=self.train.labels, name=self.train.name) if len(self.drawn) else self.train

    def __repr__(self) -> str:
        sizes = (len(self.train), len(self.validation), len(self.holdout), len(self.final))
        parts = ", ".join(f"{part} {size:,}" for part, size in zip(PARTS, sizes, strict=True))
        return f"Splits({parts} rows; holdout and final sealed)"

    def _repr_html_(self) -> str:
        return html_table(self.to_frame(), title=repr(self), notes=self.notes)

    def to_frame(self) -> pd.DataFrame:
        """Return one line a part: its rows, its groups, and whether it is sealed."""
        import pandas as pd

        lines: list[dict[str, object]] = [
            {"part": part, "rows": len(rows), "groups": len({row.group_key for row in rows.rows}), "sealed": False}
            for part, rows in (("train", self.train), ("validation", self.validation))
        ]
        lines += [
            {"part": rows.name, "rows": len(rows), "groups": rows.groups, "sealed": True}
            for rows in (self.holdout, self.final)
        ]
        return pd.DataFrame(lines)


@dataclass(frozen=True, slots=True)
class _Block:
    """Groups that must stay together."""

    rows: tuple[Row, ...]
    drawn: tuple[Row, ...]
    """Those of its rows that were drawn with a probability below 1."""
    classes: Mapping[str, int]
    tie: bytes
    side: Side | None
    """Where they were before; None for new ones."""


def parse_shares(text: str) -> Shares:
    """Read `30/20/30/20`: percent for train, validation, holdout and final.

    Raises:
        InputError: The text is not four numbers that make 100, the first three of them above 0.
    """
    try:
        shares = tuple(float(part) for part in text.split("/"))
    except ValueError:
        shares = ()
    return _checked(shares, text)


def _written(shares: Sequence[float]) -> str:
    return "/".join(f"{share:g}" for share in shares)


def _checked(shares: Sequence[float], text: str) -> Shares:
    makes_100 = len(shares) == 4 and abs(sum(shares) - 100) < 1e-6
    if not makes_100 or min(shares) < 0 or not all(shares[:3]):
        raise InputError(
            f"the split {text!r} is not four percentages that make 100",
            hint="train/validation/holdout/final, for example 30/20/30/20; only the last may be 0",
        )
    return shares[0], shares[1], shares[2], shares[3]


def split_dataset(
    dataset: Dataset,
    *,
    shares: Sequence[float] | None = None,
    seed: int = 0,
    near_duplicates: bool = True,
    placed: Mapping[str, Collection[Side]] | None = None,
) -> Splits:
    """Split a dataset by whole groups, so that the parts are alike in labels and share no text.

    The result depends on content, shares and `placed` only; inside a part rows stand in an order drawn by the
    seed, so that the first so many are a fair sample. New groups go out largest first, each to the part
    that still lacks the largest share of what the group holds.

    Args:
        dataset: Rows; one without a group is a group of its own.
        shares: Percent for train, validation, holdout and final; the last may be 0. Unless given, `DEFAULT_SHARES`,
            and `FEW_SHARES` with a note where there are few labels.
        seed: Of the order of rows inside a part; never of which part they are in.
        near_duplicates: Whether groups with nearly the same rows are kept together.
        placed: By its key, the sides that a group's rows were on before. It stays on the first of them in the order
            of `SIDES`, and so do the groups that have nearly the same rows.

    A split that the dataset prescribes is followed exactly, row by row: it has no final part, the shares say only how
    its open rows are split, and `placed` moves nothing.

    Raises:
        InputError: The shares make no sense, or there are too few groups for them.
    """
    few: list[str] = []
    labelled = sum(row.label is not None and row.sampling_probability == 1 for row in dataset.rows)
    if shares is None and 0 < labelled < FEW_LABELS and not dataset.official:
        shares = FEW_SHARES
        few = [
            f"with {labelled:,} labelled rows the split is {_written(shares)}, without a final part: after a decision "
            "no rows are left to confirm it on, and small gains cannot be shown (`plan` says which can)"
        ]
    shares = DEFAULT_SHARES if shares is None else shares
    percent, placed = _checked(shares, _written(shares)), placed or {}
    if dataset.official:
        return _split_officially(dataset, percent, seed)
    groups = _blocks(dataset, placed, "no")
    every, notes = groups, []
    if near_duplicates:
        every, notes = _joined(dataset, placed, groups, percent)
    groups, blocks = ([block for block in joined if block.rows] for joined in (groups, every))
    merged = len(groups) - len(blocks)
    if merged:
        notes = [f"{len(groups):,} groups became {len(blocks):,}, as some have nearly the same rows", *notes]
    by_part = _assign(blocks, percent)
    _require_enough(dataset, by_part, merged, percent, placed)
    # Rows that were not drawn evenly train where they share nothing with a row that measures.
    trains = [block for block in every if not block.rows and block.side in (None, "train", "open")]
    drawn = Dataset.of(
        (row for block in (*by_part["train"], *trains) for row in block.drawn),
        labels=dataset.labels,
        name=f"{dataset.name}/drawn" if dataset.name else "drawn",
    )
    notes += _drawn_notes(every, drawn)
    parts: dict[Part, Dataset] = {}
    for part in PARTS:
        # Drawn by the seed, so that the first so many rows are a fair sample.
        rows = sorted((row for block in by_part[part] for row in block.rows), key=lambda row: _hash(seed, row.id))
        name = f"{dataset.name}/{part}" if dataset.name else part
        parts[part] = Dataset.of(rows, labels=dataset.labels, name=name)
    return Splits(
        train=parts["train"],
        validation=parts["validation"],
        holdout=SealedRows(parts["holdout"], name="holdout", groups=len(by_part["holdout"])),
        final=SealedRows(parts["final"], name="final", groups=len(by_part["final"])),
        drawn=drawn,
        shares=percent,
        seed=seed,
        merged=merged,
        notes=(*few, *notes, *_placed_notes(by_part, placed, percent), *_notes(by_part), *_review_notes(parts)),
    )


def _split_officially(dataset: Dataset, shares: Shares, seed: int) -> Splits:
    """Follow the split that a dataset prescribes."""
    rows: dict[Part | Literal["open"], list[Row]] = {"train": [], "validation": [], "open": [], "holdout": []}
    uneven: list[Row] = []
    for row in dataset.rows:
        if row.sampling_probability < 1:
            uneven.append(row)
        else:
            rows[dataset.official[row.id]].append(row)
    merged = 0
    if rows["open"]:
        unplaced = replace(dataset, rows=tuple(rows["open"]))
        groups, blocks = _blocks(unplaced, {}, "no"), _blocks(unplaced, {}, "together")
        merged = len(groups) - len(blocks)
        of_open = shares[0] + shares[1]
        by_part = _assign(blocks, (100 * shares[0] / of_open, 100 * shares[1] / of_open, 0, 0))
        for part in ("train", "validation"):
            rows[part] += [row for block in by_part[part] for row in block.rows]
    notes = [f"the split is prescribed: {', '.join(f'{part} {len(rows[part]):,} rows' for part in PARTS[:3])}"]
    for part in PARTS[:3]:
        if not rows[part]:
            raise InputError(f"the prescribed split leaves no {part} rows", hint="label rows of more groups")
    notes += _across(dataset)
    measuring = {row.group_key for part in PARTS[1:3] for row in rows[part]}
    drawn: list[Row] = []
    for row in uneven:
        if dataset.official[row.id] in ("train", "open") and row.group_key not in measuring:
            drawn.append(row)
    if uneven:
        apart = len(uneven) - len(drawn)
        notes.append(f"{len(drawn):,} rows drawn with a probability below 1 train; {apart:,} are left out")
    parts: dict[Part, Dataset] = {}
    for part in PARTS:
        ordered = sorted(rows.get(part, ()), key=lambda row: _hash(seed, row.id))
        name = f"{dataset.name}/{part}" if dataset.name else part
        parts[part] = Dataset.of(ordered, labels=dataset.labels, name=name)
    holdout_groups = len({row.group_key for row in rows["holdout"]})
    return Splits(
        train=parts["train"],
        validation=parts["validation"],
        holdout=SealedRows(parts["holdout"], name="holdout", groups=holdout_groups),
        final=SealedRows(parts["final"], name="final", groups=0),
        drawn=Dataset.of(drawn, labels=dataset.labels, name=f"{dataset.name}/drawn" if dataset.name else "drawn"),
        shares=shares,
        seed=seed,
        merged=merged,
        notes=(*notes, *_review_notes(parts)),
    )


def _across(dataset: Dataset) -> list[str]:
    """Say how many test rows of a prescribed split have their group, or nearly their text, among the open rows."""
    sealed = [dataset.official[row.id] == "holdout" for row in dataset.rows]
    open_groups = {row.group_key for row, own in zip(dataset.rows, sealed, strict=True) if not own}
    shared = sum(row.group_key in open_groups for row, own in zip(dataset.rows, sealed, strict=True) if own)
    clusters = Clusters(len(dataset))
    join_near_duplicates(dataset.rows, clusters, each_input=True)
    places = [clusters.find(position) for position in range(len(dataset))]
    open_places = {place for place, own in zip(places, sealed, strict=True) if not own}
    alike = sum(place in open_places for place, own in zip(places, sealed, strict=True) if own)
    notes = []
    if shared:
        notes.append(f"{shared:,} test rows are of groups of open rows, too; they stay where the split has them")
    if alike:
        notes.append(f"{alike:,} test rows are nearly the same as open rows; they stay where the split has them")
    return notes


def _joined(
    dataset: Dataset, placed: Mapping[str, Collection[Side]], groups: list[_Block], shares: Shares
) -> tuple[list[_Block], list[str]]:
    """Join groups that hold nearly the same rows; note where only the stricter sense of it leaves a split."""
    blocks = _blocks(dataset, placed, "together")
    half = sum(map(_size, groups)) / 2
    filled = sum(_size(block) > 0 for block in blocks)
    can_split = filled >= sum(share > 0 for share in shares) and max(map(_size, blocks)) <= half
    if can_split or sum(_size(group) > 0 for group in groups) < len(PARTS) or max(map(_size, groups)) > half:
        return blocks, []
    # One pool of passages under a handful of questions would tie all of them into one block, and no split were left.
    note = (
        "groups that share texts could not be split, so rows count as nearly the same only where every input is: "
        "a text may stand on both sides under another question"
    )
    return _blocks(dataset, placed, "each input"), [note]


def _size(block: _Block) -> int:
    return len(block.rows)


def _blocks(
    dataset: Dataset, placed: Mapping[str, Collection[Side]], same: Literal["no", "together", "each input"]
) -> list[_Block]:
    """Return the groups, joined where they hold rows that are the same in the sense that is asked for."""
    clusters = Clusters(len(dataset))
    first: dict[str, int] = {}
    for position, row in enumerate(dataset.rows):
        clusters.join(first.setdefault(row.group_key, position), position)
    if same != "no":
        join_near_duplicates(dataset.rows, clusters, each_input=same == "each input")
    members: defaultdict[int, list[Row]] = defaultdict(list)
    for position, row in enumerate(dataset.rows):
        members[clusters.find(position)].append(row)
    blocks: list[_Block] = []
    for rows in members.values():
        keys = {row.group_key for row in rows}
        sides: set[Side] = {side for key in keys for side in placed.get(key, ())}
        even = [row for row in rows if row.sampling_probability == 1]
        block = _Block(
            rows=tuple(even),
            drawn=tuple(row for row in rows if row.sampling_probability < 1),
            classes=Counter(_label_class(dataset, row) for row in even),
            tie=_hash(_NO_SEED, *sorted(keys)),
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


_NO_SEED = 0
"""Of ties, which no seed decides: another one would make a fresh holdout."""


def _hash(seed: int, *parts: str) -> bytes:
    # Each part stands behind its length, so that text cannot move from one part to the next.
    body = "\0".join((str(seed), *(f"{len(part)}:{part}" for part in parts)))
    return hashlib.blake2b(body.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _require_enough(
    dataset: Dataset,
    by_part: Mapping[Part, Sequence[_Block]],
    merged: int,
    shares: Shares,
    placed: Mapping[str, Collection[Side]],
) -> None:
    blocks = sum(map(len, by_part.values()))
    empty = [part for part, share in zip(PARTS, shares, strict=True) if share > 0 and not by_part[part]]
    if empty and not any(placed.values()):
        parts = sum(share > 0 for share in shares)
        joined = f", after {merged:,} were joined because their rows are nearly the same" if merged else ""
        noun = "group" if blocks == 1 else "groups"
        raise InputError(
            f"{blocks} {noun} cannot fill {parts} parts{joined}",
            hint="a group never straddles two parts: label rows of more groups, or name a finer column with --group",
        )
    # Groups that stay where they were may leave no final part, without which a decision can still be made.
    empty = [part for part in empty if part != "final"]
    if empty:
        known = sum(bool(placed.get(key)) for key in {row.group_key for row in dataset.rows})
        raise InputError(
            f"no group is left for the {empty[0]} part: {known:,} of the groups were in other parts before, and stay",
            hint="add rows of new groups; with --allow-opened rows are split as if they were new, and the decision "
            "says so",
        )


def _assign(blocks: Sequence[_Block], shares: Shares) -> dict[Part, list[_Block]]:
    """Assign the blocks to parts, the largest first, each to the part that lacks most of what it holds.

    Blocks that were in a part before are in it from the start.
    """
    totals: Counter[str] = Counter()
    for block in blocks:
        totals.update(block.classes)
    by_part: dict[Part, list[_Block]] = {part: [] for part in PARTS}
    filled: dict[Part, Counter[str]] = {part: Counter() for part in PARTS}
    targets: dict[Part, dict[str, float]] = {}
    for part, share in zip(PARTS, shares, strict=True):
        if share > 0:
            targets[part] = {kind: share / 100 * n for kind, n in totals.items()}

    def put(block: _Block, part: Part) -> None:
        by_part[part].append(block)
        filled[part].update(block.classes)

    def lack(part: Part, block: _Block) -> tuple[float, bytes]:
        # Sorted, because the last digit of a sum depends on the order of its terms.
        kinds = sorted(block.classes.items())
        missing = sum(n / totals[kind] * (1 - filled[part][kind] / targets[part][kind]) for kind, n in kinds)
        return missing, _hash(_NO_SEED, part, block.tie.hex())

    ordered: list[_Block] = []
    for block in sorted(blocks, key=lambda block: (-len(block.rows), block.tie)):
        if block.side is None or block.side == "open":
            ordered.append(block)
        else:
            put(block, block.side)
    for position, block in enumerate(ordered):
        parts: list[Part] = [*targets] if block.side is None else ["train", "validation"]
        empty: list[Part] = [part for part in parts if not by_part[part]]
        # The last blocks are left for parts that have none yet, so that few groups still fill all parts.
        if empty and len(empty) >= len(ordered) - position:
            parts = empty
        lacks: dict[Part, tuple[float, bytes]] = {part: lack(part, block) for part in parts}
        put(block, max(lacks, key=lambda part: lacks[part]))
    return by_part


def _placed_notes(
    by_part: Mapping[Part, Sequence[_Block]], placed: Mapping[str, Collection[Side]], shares: Shares
) -> list[str]:
    """Say how many groups stay where they were, and how many a conflict has moved."""
    groups = known = opened = looked_at = 0
    for part, blocks in by_part.items():
        for key in {row.group_key for block in blocks for row in block.rows}:
            before = placed.get(key, ())
            groups += 1
            known += bool(before)
            opened += part not in SEALED and not SEALED.isdisjoint(before)
            looked_at += part == "holdout" and "final" in before
    notes: list[str] = []
    if known:
        split = _written(shares)
        notes.append(f"{known:,} of {groups:,} groups stay in the part they were in; {split} is for new ones")
    if opened:
        notes.append(
            f"{opened:,} sealed {'group is' if opened == 1 else 'groups are'} open from now on: rows of open groups "
            "were joined with theirs, or are nearly the same"
        )
    if looked_at:
        notes.append(f"{looked_at:,} final {'group has' if looked_at == 1 else 'groups have'} come to the holdout so")
    return notes


def _drawn_notes(blocks: Sequence[_Block], drawn: Dataset) -> list[str]:
    """Say what becomes of rows that were drawn with a probability below 1."""
    count = sum(len(block.drawn) for block in blocks)
    if not count:
        return []
    apart = count - len(drawn)
    rows = f"rows that were drawn with a probability below 1 ({SAMPLING_PROBABILITY})"
    note = f"{len(drawn):,} {rows} are for training only"
    if apart:
        note += f"; {apart:,} more share a group or a text with rows that measure, and are left out"
    return [note]


def _review_notes(parts: Mapping[Part, Dataset]) -> list[str]:
    """Say how many labels an audit has corrected in each part; it moved none of them."""
    counts = {part: sum(_corrected(row) for row in rows.rows) for part, rows in parts.items()}
    if not any(counts.values()):
        return []
    listed = ", ".join(f"{part} {count:,}" for part, count in counts.items() if count)
    return [f"labels that an audit corrected: {listed}; every row is where its label in the file has it"]


def _corrected(row: Row) -> bool:
    return row.review is not None and row.label != row.review.before


def _notes(by_part: Mapping[Part, Sequence[_Block]]) -> list[str]:
    notes = []
    total = sum(_size(block) for blocks in by_part.values() for block in blocks)
    for part, blocks in by_part.items():
        rows = sum(map(_size, blocks))
        notes.append(f"{part}: {rows:,} rows ({rows / total:.0%}) in {len(blocks):,} groups")
    largest = max(_size(block) for blocks in by_part.values() for block in blocks)
    if largest > total / 5:
        notes.append(f"one group holds {largest / total:.0%} of the rows, so the parts miss the sizes asked for")
    open_parts: tuple[Part, Part] = ("train", "validation")
    for part in open_parts:
        kinds = {kind for block in by_part[part] for kind in block.classes} - {"unlabelled"}
        if len(kinds) == 1:
            notes.append(f"{part} has only {kinds.pop()} rows")
    return notes
