"""Splits: train, validation, and two sealed parts, by whole groups, alike in labels, whatever the order of rows."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NoReturn, Protocol

from .duplicates import Clusters, join_near_duplicates
from .errors import InputError
from .notebook_display import html_table
from .rows import Dataset, Row

if TYPE_CHECKING:
    import pandas as pd

Part = Literal["train", "validation", "holdout", "final"]
PARTS: tuple[Part, ...] = ("train", "validation", "holdout", "final")

Shares = tuple[float, float, float, float]
"""Percent of the rows for train, validation, holdout and final."""

DEFAULT_SHARES: Shares = (30, 20, 30, 20)


class Permit(Protocol):
    """Leave to open a sealed part, such as a look that has been entered in the ledger."""

    @property
    def holdout(self) -> str:
        """The content hash of the part that may be opened."""
        ...


class SealedRows:
    """Rows that nobody sees without a permit; only their number, groups and hash are public.

    They cannot be iterated, indexed, copied, pickled or printed. This prevents accidents: it is
    no defence against code that means to look.
    """

    __iter__ = None  # `in` and unpacking fail as well, instead of falling back to indexing

    __slots__ = ("_groups", "_name", "_rows")

    def __init__(self, dataset: Dataset, *, name: str, groups: int) -> None:
        self._rows = dataset
        self._name = name
        self._groups = groups

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"<sealed {self._name}: {len(self)} rows, {self._groups} groups, {self.content_hash}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(f"the sealed {self._name} cannot be copied or pickled")

    @property
    def name(self) -> str:
        """Which part it is, `holdout` or `final`."""
        return self._name

    @property
    def groups(self) -> int:
        """How many groups the rows come from; groups joined for near-duplicates count once."""
        return self._groups

    @property
    def content_hash(self) -> str:
        """The hash that a permit must name."""
        return self._rows.content_hash

    def open(self, look: Permit) -> Dataset:
        """Hand out the rows.

        Raises:
            InputError: The permit is not for these rows.
        """
        permitted = getattr(look, "holdout", None)  # an object of another kind is refused, and does not crash
        if permitted != self.content_hash:
            raise InputError(
                f"the {self._name} is sealed; the permit names {permitted!r}, its rows are {self.content_hash}",
                hint="only a look that was entered in the ledger opens it",
            )
        return self._rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Splits:
    """The four parts of a dataset."""

    train: Dataset = field(repr=False)
    validation: Dataset = field(repr=False)
    holdout: SealedRows
    final: SealedRows
    shares: Shares
    seed: int
    merged: int
    """How many groups were lost by joining groups with near-duplicate rows."""
    notes: tuple[str, ...] = ()

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
    classes: Mapping[str, int]
    tie: bytes


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


def _checked(shares: Sequence[float], text: str) -> Shares:
    makes_100 = len(shares) == 4 and abs(sum(shares) - 100) < 1e-6
    if not makes_100 or min(shares) < 0 or not all(shares[:3]):
        raise InputError(
            f"the split {text!r} is not four percentages that make 100",
            hint="train/validation/holdout/final, for example 30/20/30/20; only the last may be 0",
        )
    return shares[0], shares[1], shares[2], shares[3]


def split_dataset(
    dataset: Dataset, *, shares: Sequence[float] = DEFAULT_SHARES, seed: int = 0, near_duplicates: bool = True
) -> Splits:
    """Split a dataset by whole groups, so that the parts are alike in labels and share no text.

    The result depends on content, shares and seed only; inside a part rows stand in an order drawn by the
    seed, so that the first so many are a fair sample. Groups go out largest first, each to the part
    that still lacks the largest share of what the group holds.

    Args:
        dataset: Rows; one without a group is a group of its own.
        shares: Percent for train, validation, holdout and final; the last may be 0.
        seed: Decides where groups go that fit two parts equally well.
        near_duplicates: Whether groups with nearly the same rows are kept together.

    Raises:
        InputError: The shares make no sense, or there are too few groups for them.
    """
    percent = _checked(shares, "/".join(f"{share:g}" for share in shares))
    groups = _blocks(dataset, seed, "no")
    blocks, notes = groups, []
    if near_duplicates:
        blocks, notes = _joined(dataset, seed, groups, percent)
    merged = len(groups) - len(blocks)
    _require_enough(blocks, merged, percent)
    if merged:
        notes = [f"{len(groups):,} groups became {len(blocks):,}, as some have nearly the same rows", *notes]
    by_part = _assign(blocks, percent, seed)
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
        shares=percent,
        seed=seed,
        merged=merged,
        notes=(*notes, *_notes(dataset, by_part)),
    )


def _joined(dataset: Dataset, seed: int, groups: list[_Block], shares: Shares) -> tuple[list[_Block], list[str]]:
    """Join groups that hold nearly the same rows; note where only the stricter sense of it leaves a split."""
    blocks = _blocks(dataset, seed, "together")
    half = len(dataset) / 2
    can_split = len(blocks) >= sum(share > 0 for share in shares) and max(map(_size, blocks)) <= half
    if can_split or len(groups) < len(PARTS) or max(map(_size, groups)) > half:
        return blocks, []
    # One pool of passages under a handful of questions would tie all of them into one block, and no split were left.
    note = (
        "groups that share texts could not be split, so rows count as nearly the same only where every input is: "
        "a text may stand on both sides under another question"
    )
    return _blocks(dataset, seed, "each input"), [note]


def _size(block: _Block) -> int:
    return len(block.rows)


def _blocks(dataset: Dataset, seed: int, same: Literal["no", "together", "each input"]) -> list[_Block]:
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
    return [
        _Block(
            rows=tuple(rows),
            classes=Counter(_label_class(dataset, row) for row in rows),
            tie=_hash(seed, *sorted({row.group_key for row in rows})),
        )
        for rows in members.values()
    ]


def _label_class(dataset: Dataset, row: Row) -> str:
    if row.label is None:
        return "unlabelled"
    return "positive" if dataset.positive(row) else "negative"


def _hash(seed: int, *parts: str) -> bytes:
    # Each part stands behind its length, so that text cannot move from one part to the next.
    body = "\0".join((str(seed), *(f"{len(part)}:{part}" for part in parts)))
    return hashlib.blake2b(body.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _require_enough(blocks: Sequence[_Block], merged: int, shares: Shares) -> None:
    parts = sum(share > 0 for share in shares)
    if len(blocks) < parts:
        joined = f", after {merged:,} were joined because their rows are nearly the same" if merged else ""
        noun = "group" if len(blocks) == 1 else "groups"
        raise InputError(
            f"{len(blocks)} {noun} cannot fill {parts} parts{joined}",
            hint="a group never straddles two parts: label rows of more groups, or name a finer column with --group",
        )


def _assign(blocks: Sequence[_Block], shares: Shares, seed: int) -> dict[Part, list[_Block]]:
    """Assign the blocks to parts, the largest first, each to the part that lacks most of what it holds."""
    totals: Counter[str] = Counter()
    for block in blocks:
        totals.update(block.classes)
    by_part: dict[Part, list[_Block]] = {part: [] for part in PARTS}
    filled: dict[Part, Counter[str]] = {part: Counter() for part in PARTS}
    targets: dict[Part, dict[str, float]] = {}
    for part, share in zip(PARTS, shares, strict=True):
        if share > 0:
            targets[part] = {kind: share / 100 * n for kind, n in totals.items()}

    def lack(part: Part, block: _Block) -> tuple[float, bytes]:
        # Sorted, because the last digit of a sum depends on the order of its terms.
        kinds = sorted(block.classes.items())
        missing = sum(n / totals[kind] * (1 - filled[part][kind] / targets[part][kind]) for kind, n in kinds)
        return missing, _hash(seed, part, block.tie.hex())

    ordered = sorted(blocks, key=lambda block: (-len(block.rows), block.tie))
    for position, block in enumerate(ordered):
        parts: list[Part] = list(targets)
        empty: list[Part] = [part for part in parts if not by_part[part]]
        # The last blocks are left for parts that have none yet, so that few groups still fill all parts.
        if len(empty) == len(ordered) - position:
            parts = empty
        lacks: dict[Part, tuple[float, bytes]] = {part: lack(part, block) for part in parts}
        chosen = max(lacks, key=lambda part: lacks[part])
        by_part[chosen].append(block)
        filled[chosen].update(block.classes)
    return by_part


def _notes(dataset: Dataset, by_part: Mapping[Part, Sequence[_Block]]) -> list[str]:
    notes = []
    for part, blocks in by_part.items():
        rows = sum(map(_size, blocks))
        notes.append(f"{part}: {rows:,} rows ({rows / len(dataset):.0%}) in {len(blocks):,} groups")
    largest = max(_size(block) for blocks in by_part.values() for block in blocks)
    if largest > len(dataset) / 5:
        notes.append(f"one group holds {largest / len(dataset):.0%} of the rows, so the parts miss the sizes asked for")
    open_parts: tuple[Part, Part] = ("train", "validation")
    for part in open_parts:
        kinds = {kind for block in by_part[part] for kind in block.classes} - {"unlabelled"}
        if len(kinds) == 1:
            notes.append(f"{part} has only {kinds.pop()} rows")
    return notes
