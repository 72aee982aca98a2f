"""Rows known again: which rows a part holds, as hashes of what they say, so that the same rows are
met again later.

A row is known by its texts and not by its id, label or file, and a text by its words: neither
`--limit` nor another label, name, spelling of spaces or capitals makes a fresh row of one that was
tuned on. A group is met again where any of its rows is, or any text of five words or more that no
other group of its part has: one edited sentence does not hide a row whose source stayed. Texts that
were edited, and ids without texts, are known by the fingerprints beside these keys, which rows
remembered by earlier versions lack. Nothing of the texts can be read back.
"""

from __future__ import annotations

import hashlib
import re
import struct
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...judges import Dataset, IntArray, Row, SealedRows
from ...judges.plain_cases import LEAST_WORDS, words_of
from .text_fingerprints import Fingerprints, among

KEY_COLUMN = "row_key"
"""The column of a verdict file that says, by its key, which row of texts a verdict is about."""

_BYTES = 8
_KEY = re.compile(r"[0-9a-f]{16}")
_HEAD = struct.Struct(">III")


@dataclass(frozen=True, slots=True)
class GroupFingerprints:
    """One group: how many rows it has, a key for each different one, and keys of the texts that
    only it has.
    """

    size: int
    rows: frozenset[bytes]
    texts: frozenset[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """How much of a part was met again elsewhere."""

    rows: int
    groups: int


class RowFingerprints:
    """The rows of a part, group by group; what is stored is read when it is compared.

    Args:
        groups: The groups, in order.
        prints: The fingerprints beside them; None where an earlier version remembered the rows.
    """

    def __init__(
        self, groups: Iterable[GroupFingerprints] = (), prints: Fingerprints | None = None
    ) -> None:
        body = _pack(groups)
        self._read_body: Callable[[], bytes] = lambda: body
        self._read_prints: Callable[[], Fingerprints | None] = lambda: prints

    @classmethod
    def of(
        cls, *datasets: Dataset, known: Mapping[str, GroupFingerprints] | None = None
    ) -> RowFingerprints:
        """Take the keys of the rows of some datasets, as one part.

        Args:
            datasets: The rows.
            known: The groups of the whole file that they are a part of; see `group_fingerprints`.
        """
        known = group_fingerprints(*datasets) if known is None else known
        names = {row.group_key for dataset in datasets for row in dataset.rows}
        groups = sorted((known[name] for name in names), key=lambda group: sorted(group.rows))
        return cls(groups, Fingerprints.of(*datasets))

    @classmethod
    def from_bytes(cls, body: bytes, prints: Fingerprints | None = None) -> RowFingerprints:
        """Read what `to_bytes` wrote; the fingerprints stand beside it."""
        return cls.stored(lambda: body, lambda: prints)

    @classmethod
    def stored(
        cls,
        body: Callable[[], bytes],
        prints: Callable[[], Fingerprints | None],
        *,
        known_hash: bytes | None = None,
    ) -> RowFingerprints:
        """Return what is read only when it is asked for; the hash is known by what it was stored
        under.
        """
        rows = cls()
        rows._read_body, rows._read_prints = body, prints
        if known_hash is not None:
            rows.hash = known_hash
        return rows

    @cached_property
    def prints(self) -> Fingerprints | None:
        """The fingerprints of the rows."""
        return self._read_prints()

    @cached_property
    def _body(self) -> bytes:
        return self._read_body()

    @cached_property
    def _starts(self) -> IntArray:
        """Where each group begins; shape (groups,)."""
        starts, start = array("q"), 0
        while start < len(self._body):
            starts.append(start)
            _, rows, texts = _HEAD.unpack_from(self._body, start)
            start += _HEAD.size + (rows + texts) * _BYTES
        return np.array(starts, np.int64)

    @cached_property
    def groups(self) -> tuple[GroupFingerprints, ...]:
        """The groups, in order."""
        return tuple(map(self._group_at, self._starts.tolist()))

    def _group_at(self, start: int) -> GroupFingerprints:
        size, rows, texts = _HEAD.unpack_from(self._body, start)
        start += _HEAD.size
        end = start + (rows + texts) * _BYTES
        keys = [self._body[i : i + _BYTES] for i in range(start, end, _BYTES)]
        return GroupFingerprints(size, frozenset(keys[:rows]), frozenset(keys[rows:]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowFingerprints) and (self._body, self.prints) == (
            other._body,
            other.prints,
        )

    def __hash__(self) -> int:
        return hash(self.hash)

    def to_bytes(self) -> bytes:
        """Write the keys, always in the same order; the fingerprints are not among them."""
        return self._body

    @cached_property
    def hash(self) -> bytes:
        """Hash of all keys but the fingerprints; 32 bytes."""
        return hashlib.blake2b(self._body, digest_size=32).digest()

    @cached_property
    def keys(self) -> frozenset[bytes]:
        """Every key of a row or a text."""
        return frozenset(key for group in self.groups for key in (*group.rows, *group.texts))

    def shares_key(self, other: RowFingerprints) -> bool:
        """Whether any key stands in both parts."""
        return len(self.shared_keys(other)) > 0

    def shared_keys(self, other: RowFingerprints) -> frozenset[bytes]:
        """Return the keys that stand in both parts; of the larger one nothing is taken apart for
        it.
        """
        large, small = (self, other) if len(self._body) > len(other._body) else (other, self)
        there = {large._body[at : at + _BYTES] for at in large._find(small.keys).tolist()}
        return small.keys & there

    def _find(self, keys: Collection[bytes]) -> IntArray:
        """Return where some keys stand in the body."""
        words = np.frombuffer(self._body, ">u4").astype(np.uint32)
        numbers = np.frombuffer(b"".join(keys), ">u8").astype(np.uint64)
        # Between the keys stand small numbers; read across them, eight bytes are no hash that was
        # asked for.
        at = np.flatnonzero(among(words[:-1], (numbers >> np.uint64(32)).astype(np.uint32)))
        return (
            4 * at[np.isin(words[at].astype(np.uint64) << np.uint64(32) | words[at + 1], numbers)]
        )

    def _groups_with(self, keys: Collection[bytes]) -> list[GroupFingerprints]:
        """Return the groups that have any of some keys."""
        hit = np.unique(np.searchsorted(self._starts, self._find(keys), side="right") - 1)
        return [self._group_at(start) for start in self._starts[hit].tolist()]

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(np.frombuffer(self._body, ">u4")[self._starts // 4].sum())

    def may_meet(self, other: RowFingerprints) -> bool:
        """Whether any of these rows could stand in another part, edited or not; quick, however
        large that is.
        """
        if self.shares_key(other):
            return True
        if self.prints is None or other.prints is None:
            return False
        return bool(self.prints.met_in(other.prints).touched.any())

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self._starts)

    def met_in(self, other: RowFingerprints, *, unless: Sequence[RowFingerprints] = ()) -> Overlap:
        """Count what of these rows, by whole groups, is met again in another part by its keys.

        Args:
            other: The other part.
            unless: A group all of whose rows stand here, word for word, is not counted; a part
                sealed beside `other` may share a text with it.
        """
        shared = self.shared_keys(other)
        met = self._groups_with(shared) if shared else []
        mine = frozenset[bytes]().union(*(group.rows for group in met))
        apart = frozenset[bytes]().union(
            *(RowFingerprints(met).shared_keys(part) & mine for part in unless if met)
        )
        met = [group for group in met if not group.rows <= apart]
        return Overlap(rows=sum(group.size for group in met), groups=len(met))

    def rows_in(self, other: RowFingerprints) -> int:
        """Count the rows, by whole groups, that stand in another part word for word."""
        shared = self.shared_keys(other)
        return (
            sum(group.size for group in self._groups_with(shared) if group.rows <= shared)
            if shared
            else 0
        )

    def shared_with(
        self, other: RowFingerprints, *, unless: Sequence[RowFingerprints] = ()
    ) -> Overlap:
        """Count the rows and groups that two parts have in common, edited ones too; never more than
        either has.

        So one document of the other part that many rows here quote counts as the rows it has there.
        """
        here, there = self.met_in(other, unless=unless), other.met_in(self)
        by_key = Overlap(rows=min(here.rows, there.rows), groups=min(here.groups, there.groups))
        by_print = self.edited_in(other, unless=unless)
        return Overlap(
            rows=max(by_key.rows, by_print.rows), groups=max(by_key.groups, by_print.groups)
        )

    def edited_in(
        self, other: RowFingerprints, *, unless: Sequence[RowFingerprints] = ()
    ) -> Overlap:
        """Count the rows that two parts have in common by their fingerprints; see `shared_with`."""
        if self.prints is None or other.prints is None:
            return Overlap(rows=0, groups=0)
        small, large = sorted((self.prints, other.prints), key=lambda part: part.rows)
        if not small.met_in(large).touched.any():
            return Overlap(rows=0, groups=0)
        here, there = self.prints.met_in(other.prints), other.prints.met_in(self.prints)
        apart = [self.prints.complete_in(part.prints) for part in unless if part.prints is not None]
        if apart:
            here = here.without(np.logical_or.reduce(apart))
        rows = groups = 0
        # A row that was cut is the same on its own side and only touched on the other: both ways
        # count.
        for mine, theirs in ((here.same, there.touched), (here.touched, there.same)):
            rows = max(rows, int(min(mine.sum(), theirs.sum())))
            groups = max(
                groups, min(len(np.unique(here.groups[mine])), len(np.unique(there.groups[theirs])))
            )
        return Overlap(rows=rows, groups=groups)


def _pack(groups: Iterable[GroupFingerprints]) -> bytes:
    parts: list[bytes] = []
    for group in groups:
        parts.append(_HEAD.pack(group.size, len(group.rows), len(group.texts)))
        parts += (*sorted(group.rows), *sorted(group.texts))
    return b"".join(parts)


def group_fingerprints(*datasets: Dataset) -> dict[str, GroupFingerprints]:
    """Take the keys of each group, by its name.

    A text that two groups have, such as a common question, does not tell the group and is in
    neither.
    """
    words: dict[str, tuple[bytes, int]] = {}
    members: defaultdict[str, list[tuple[bytes, frozenset[bytes]]]] = defaultdict(list)
    for dataset in datasets:
        for row in dataset.rows:
            members[row.group_key].append(_keys(row, dataset, words))
    texts_of = {
        name: frozenset[bytes]().union(*(texts for _, texts in rows))
        for name, rows in members.items()
    }
    holders = Counter(text for texts in texts_of.values() for text in texts)
    groups: dict[str, GroupFingerprints] = {}
    for name, rows in members.items():
        own = frozenset(text for text in texts_of[name] if holders[text] == 1)
        groups[name] = GroupFingerprints(len(rows), frozenset(key for key, _ in rows), own)
    return groups


def open_to_hash(part: SealedRows) -> Dataset:
    """Return the rows of a sealed part to a caller that lets only hashes of them out."""
    return part.open(_Hashing(part.content_hash))


@dataclass(frozen=True, slots=True)
class _Hashing:
    """The permit to hash the rows of a sealed part."""

    holdout: str


def _keys(
    row: Row, dataset: Dataset, words: dict[str, tuple[bytes, int]]
) -> tuple[bytes, frozenset[bytes]]:
    """Return the key of a whole row, and those of its longer texts."""
    texts = [_text_key(text, words) for text in row.inputs.values() if text.strip()]
    if texts:
        # Sorted, so that renaming or exchanging columns makes no other row.
        return _digest(sorted(key for key, _ in texts)), frozenset(
            key for key, n in texts if n >= LEAST_WORDS
        )
    written = row.meta.get(KEY_COLUMN)
    if isinstance(written, str) and _KEY.fullmatch(written):
        return bytes.fromhex(written), frozenset()
    # Without texts a name has to do; a mere line number is a name within its own file only.
    within = dataset.content_hash if row.id.isdecimal() else ""
    names = [part.encode("utf-8", "surrogatepass") for part in (within, row.group, row.id)]
    return _digest([b"name", *names]), frozenset()


def row_keys(dataset: Dataset) -> list[bytes]:
    """Return the key of each row; `bench --out` writes it beside a verdict, under `KEY_COLUMN`."""
    return [key for key, _ in keys_of(dataset)]


def keys_of(dataset: Dataset) -> list[tuple[bytes, frozenset[bytes]]]:
    """Return the key of each row and those of its longer texts, whoever else has them."""
    words: dict[str, tuple[bytes, int]] = {}
    return [_keys(row, dataset, words) for row in dataset.rows]


def _text_key(text: str, words: dict[str, tuple[bytes, int]]) -> tuple[bytes, int]:
    """Return the key of a text and how many words it has."""
    # Rows of one group often share a long text, which is taken apart once.
    if text not in words:
        split = words_of(text)
        words[text] = _digest(word.encode("utf-8", "surrogatepass") for word in split), len(split)
    return words[text]


def _digest(parts: Iterable[bytes]) -> bytes:
    body = b"".join([piece for part in parts for piece in (len(part).to_bytes(4, "big"), part)])
    return hashlib.blake2b(body, digest_size=_BYTES).digest()
