"""Which part each group was in: told to the next split, so that a file may grow and no open row is
ever sealed.

A group is known again by the keys of its rows and by the texts that only it has. One with edited
rows is known by its name too, where the file is the one that the name was remembered of: at least
half of the rows of the smaller of the two stand in the other. Where neither is left, fingerprints
of its texts tell an edited row.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...judges import BoolArray, Dataset
from ...judges.splits import PARTS, SEALED, SIDES, Part, Side
from .row_fingerprints import GroupFingerprints, RowFingerprints, group_fingerprints
from .text_fingerprints import Fingerprints

_RECORD = struct.Struct("8s8sB")


@dataclass(frozen=True, slots=True)
class PlacedGroup:
    """One group and where it was."""

    name: bytes
    """Hash of its name; empty where an earlier version remembered the rows."""
    row: bytes
    """The lowest key of its rows, which tells it among the groups of the part's fingerprints."""
    side: Side


@dataclass(frozen=True, slots=True)
class Sides:
    """Where the groups of a split are."""

    groups: tuple[PlacedGroup, ...]
    notes: tuple[str, ...] = ()
    """What was said of the split when it was made."""

    @classmethod
    def of(
        cls,
        parts: Mapping[Part, Dataset],
        known: Mapping[str, GroupFingerprints],
        notes: tuple[str, ...] = (),
    ) -> Sides:
        """Take down where groups are.

        Args:
            parts: The rows of each part.
            known: The groups of all of them, see `group_fingerprints`.
            notes: See `notes`.
        """
        groups: list[PlacedGroup] = []
        for part, rows in parts.items():
            for name in {row.group_key for row in rows.rows}:
                groups.append(PlacedGroup(hash_name(name), min(known[name].rows), part))
        return cls(tuple(sorted(groups, key=lambda group: (group.name, group.row))), notes)

    @classmethod
    def from_bytes(cls, body: bytes, notes: tuple[str, ...]) -> Sides:
        """Read what `to_bytes` wrote; the notes stand beside it."""
        groups = (
            PlacedGroup(name, row, PARTS[part]) for name, row, part in _RECORD.iter_unpack(body)
        )
        return cls(tuple(groups), notes)

    def to_bytes(self) -> bytes:
        """Write the groups of a split, in order."""
        sides: Sequence[Side] = PARTS
        return b"".join(
            _RECORD.pack(group.name, group.row, sides.index(group.side)) for group in self.groups
        )

    def placed(self, dataset: Dataset) -> dict[str, set[Side]]:
        """Return what `split_dataset` needs to split the same rows in the same way again."""
        by_name: dict[bytes, Side] = {group.name: group.side for group in self.groups}
        placed: dict[str, set[Side]] = {}
        for name in {row.group_key for row in dataset.rows}:
            side = by_name.get(hash_name(name))
            if side is not None:
                placed[name] = {side}
        return placed


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenRows:
    """Which rows a run sees, and which are sealed to it."""

    run_id: str
    open: RowFingerprints = field(default_factory=RowFingerprints)
    """The rows anybody in it may look at, such as training and validation."""
    sealed: Mapping[str, RowFingerprints] = field(default_factory=dict)
    """By the content hash of each sealed part."""
    opened: Mapping[str, str] = field(default_factory=dict)
    """What is to be said of sealed parts with rows that were open before, by their content hash."""
    alike: Mapping[str, str] = field(default_factory=dict)
    """The same of a few rows that are only much like open rows, and were not refused."""
    sides: Sides | None = None
    """Where the groups are; None where no split was made, such as of a file that was gated."""


def hash_name(name: str) -> bytes:
    """Return 8 bytes that stand for a group's name."""
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def known_sides(memories: Sequence[SeenRows], dataset: Dataset) -> dict[str, set[Side]]:
    """Return, by its name, the sides that each group was on that is known again.

    Several mean that rows were joined, or opened since: the first in the order of `SIDES` is where
    it has to be.
    """
    groups = group_fingerprints(dataset)
    sides_by_name = {name: set[Side]() for name in groups}
    met: set[bytes] = set()
    mine = RowFingerprints(groups.values())
    for memory in memories:
        if not any(mine.shares_key(part) for part in (memory.open, *memory.sealed.values())):
            continue
        remembered = _Remembered(memory)
        same_file = remembered.is_same_file(groups)
        for name, group in groups.items():
            sides = remembered.sides_of(group)
            if not sides and same_file:
                sides = remembered.sides_of_name(name)
            before = sides_by_name[name]
            # What a later split put where as much was seen of it is settled there.
            if sides and before and _first(sides) <= _first(before):
                before.clear()
            before |= sides
        met |= remembered.rows.keys()
    edited = {name for name, group in groups.items() if not group.rows <= met}
    for name, side in _alike(memories, dataset, edited):
        if sides_by_name[name] <= (SEALED if side == "open" else set()):
            sides_by_name[name].add(side)
    return sides_by_name


class _Remembered:
    """The sides of one memory, by the keys of rows and texts and by names."""

    def __init__(self, memory: SeenRows) -> None:
        places: dict[bytes, Side] = {}
        self._names: dict[bytes, Side] = {}
        for group in memory.sides.groups if memory.sides else ():
            _enter(places, group.row, group.side)
            _enter(self._names, group.name, group.side)
        self.rows: dict[bytes, Side] = {}
        self._texts: dict[bytes, Side] = {}
        for part in (memory.open, *memory.sealed.values()):
            for group in part.groups:
                # What was sealed without a split, such as a file that was gated, may go anywhere.
                side = places.get(min(group.rows))
                if side is None and part is memory.open:
                    side = "open"
                if side is not None:
                    for key in group.rows:
                        _enter(self.rows, key, side)
                    for key in group.texts:
                        _enter(self._texts, key, side)

    def sides_of(self, group: GroupFingerprints) -> set[Side]:
        """Return where the group's rows are, and its texts unless all rows are known."""
        sides: set[Side] = {self.rows[key] for key in group.rows if key in self.rows}
        if not group.rows <= self.rows.keys():
            sides |= {self._texts[key] for key in group.texts if key in self._texts}
        return sides

    def sides_of_name(self, name: str) -> set[Side]:
        """Return where the group of that name is; the line number of a row without a group is no
        name.
        """
        side = (
            None
            if name.strip("\0").isdecimal() and name.startswith("\0")
            else self._names.get(hash_name(name))
        )
        return set() if side is None else {side}

    def is_same_file(self, groups: Mapping[str, GroupFingerprints]) -> bool:
        """Whether half of the rows of the smaller file stand in the other."""
        mine = {key for group in groups.values() for key in group.rows}
        return 2 * len(mine & self.rows.keys()) >= min(len(mine), len(self.rows))


def _alike(
    memories: Sequence[SeenRows], dataset: Dataset, names: set[str]
) -> list[tuple[str, Side]]:
    """Return groups with rows much like remembered ones, those that are like open rows first."""
    rows = tuple(row for row in dataset.rows if row.group_key in names)
    if not rows:
        return []
    prints = Fingerprints.of(replace(dataset, rows=rows))
    alike: set[tuple[str, Side]] = set()
    for memory in memories:
        parts = [part.prints for part in (memory.open, *memory.sealed.values()) if part.prints]
        if any(prints.met_in(part).same.any() for part in parts):
            for side, met in _met_by_side(memory, prints):
                alike.update((rows[i].group_key, side) for i in np.flatnonzero(met))
    return sorted(alike, key=lambda one: (SIDES.index(one[1]), one[0]))


def _met_by_side(memory: SeenRows, prints: Fingerprints) -> Iterator[tuple[Side, BoolArray]]:
    """Yield each side of a memory with the rows that are met again there; what stands whole in a
    sealed part is no open row.
    """
    placed = memory.sides.groups if memory.sides else ()
    places: dict[bytes, Side] = {group.row: group.side for group in placed}
    apart = np.zeros(prints.rows, np.bool_)
    for part in memory.sealed.values():
        if part.prints is None or not part.groups:
            continue
        apart |= prints.complete_in(part.prints)
        side = places.get(min(part.groups[0].rows))
        if side is not None:
            yield side, prints.met_in(part.prints).same
    if memory.open.prints is not None:
        yield "open", prints.met_in(memory.open.prints).same & ~apart


def _enter(sides: dict[bytes, Side], key: bytes, side: Side) -> None:
    """Enter a side under a key; where two share it, the one of which more was seen."""
    if key not in sides or SIDES.index(side) < SIDES.index(sides[key]):
        sides[key] = side


def _first(sides: set[Side]) -> int:
    return min(map(SIDES.index, sides))
