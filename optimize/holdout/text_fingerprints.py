"""Rows known again although their texts were edited: fingerprints of stretches of text.

Fingerprints are chosen by winnowing (Schleimer, Wilkerson and Aiken, 2003, "Winnowing: local
algorithms for document fingerprinting"): of the hashes of every 20 letters the lowest in each
window of 48. Which are chosen depends on the text around them alone, so that what was put before,
behind or between leaves the others standing: two texts that share 67 letters share a fingerprint.
Letters are compared as they are drawn (`letters_of`). Nothing of the texts can be read back.

A fingerprint tells which text it is from unless it stands in many groups of both parts, as a phrase
of a template does. A row is met again where half of the telling fingerprints of a text of it stand
in the other part, or, where all of its texts are short, all of them do; and where each of its texts
stands there letter for letter.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...judges import BoolArray, Dataset, IntArray, Row
from ...judges.duplicates import mix
from .confusable_letters import letters_of

LETTERS = 20
"""A stretch: about four words of English."""
WINDOW = 48
LEAST_LETTERS = 40
"""A shorter column beside the inputs, such as a topic, is no text; a shorter input tells no row."""
MET, FEW = 0.5, 3
"""Share of a text's telling fingerprints that make it the same, and the fewest it must have."""
HINTS = 5
"""Fingerprints that make a text touched: much was added to it, or it was added to much."""
COMMON = 0.02
"""Share of groups beyond which a fingerprint tells nothing; of small parts see `_most_groups`."""

_HEAD = struct.Struct(">IIII")
_EMPTY = -1
_HALF = np.uint64(32)
_BASE = {power: np.uint64(pow(0x9E3779B97F4A7C15, power, 1 << 64)) for power in (1, 2, 4, 8)}
Prints = npt.NDArray[np.uint32]
Hashes = npt.NDArray[np.uint64]


class _Arrays(NamedTuple):
    """What a body holds."""

    prints: Prints
    """Text by text."""
    ends: Prints
    """Where each text's end among them."""
    letters: Prints
    """A hash of each text's letters."""
    holders: Prints
    """Rows, each with one of its texts in `texts`."""
    texts: Prints
    groups: Prints
    """The group of each row."""
    names: Prints
    """A hash of each row's id; 0 where that tells nothing."""


@dataclass(frozen=True)
class Fingerprints:
    """The fingerprints of a part's rows; compared and stored by their bytes.

    A text that several rows have stands here once.
    """

    body: bytes

    @classmethod
    def of(cls, *datasets: Dataset) -> Fingerprints:
        """Take the fingerprints of the rows of some datasets, as one part."""
        texts: dict[str, int] = {}
        prints: list[Prints] = []
        letter_hashes: list[int] = []
        holders: list[tuple[int, int]] = []
        groups: dict[str, int] = {}
        group_of: list[int] = []
        names: list[int] = []
        for dataset in datasets:
            for row in dataset.rows:
                for text in texts_of(row):
                    if text not in texts:
                        letters = letters_of(text)
                        texts[text] = _EMPTY
                        if letters:
                            texts[text] = len(prints)
                            prints.append(winnow(letters))
                            letter_hashes.append(_hash32(letters))
                    if texts[text] != _EMPTY:
                        holders.append((len(group_of), texts[text]))
                group_of.append(groups.setdefault(row.group_key, len(groups)))
                # A mere line number, which every file has, is no name.
                names.append(0 if row.id.isdecimal() else _hash32(row.id) or 1)
        return cls(_pack(prints, letter_hashes, holders, group_of, names))

    @property
    def hash(self) -> bytes:
        """Hash of everything; 32 bytes."""
        return hashlib.blake2b(self.body, digest_size=32).digest()

    @cached_property
    def _arrays(self) -> _Arrays:
        n_prints, n_texts, n_holders, n_rows = _HEAD.unpack_from(self.body)
        lengths = (n_prints, n_texts, n_texts, n_holders, n_holders, n_rows, n_rows)
        starts = np.cumsum((0, *lengths[:-1])) * 4 + _HEAD.size
        return _Arrays(
            *(
                np.frombuffer(self.body, "<u4", n, int(at))
                for n, at in zip(lengths, starts, strict=True)
            )
        )

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self._arrays.groups)

    def text_of(self, at: IntArray) -> IntArray:
        """Return which text each print belongs to, by their positions; shape (k,)."""
        return np.searchsorted(self._arrays.ends, at, side="right")

    def common(self, prints: Prints) -> BoolArray:
        """Return whether each print stands in so many groups that it tells nothing; shape (k,)."""
        mine = self._arrays
        at = np.flatnonzero(among(mine.prints, prints))
        of_text = self.text_of(at)
        here = np.zeros(len(mine.ends), np.bool_)
        here[of_text] = True
        holding = np.flatnonzero(here[mine.texts])
        # Two 32-bit numbers as one of 64 bits: sorting numbers is far quicker than sorting pairs.
        held = np.unique(
            mine.texts[holding].astype(np.uint64) << _HALF | mine.groups[mine.holders[holding]]
        )
        texts, groups = (held >> _HALF).astype(np.int64), held & np.uint64(0xFFFFFFFF)
        starts = np.searchsorted(of_text, texts)
        lengths = np.searchsorted(of_text, texts, side="right") - starts
        # The prints of each text, once for each group that has it.
        offsets = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        held_prints = mine.prints[at[offsets + np.repeat(starts, lengths)]].astype(np.uint64)
        pairs = np.unique(held_prints << _HALF | np.repeat(groups, lengths))
        different, counts = np.unique((pairs >> _HALF).astype(np.uint32), return_counts=True)
        frequent = different[counts > _most_groups(self._n_groups)]
        return np.isin(prints, frequent)

    def _any_text(self, of_text: BoolArray) -> BoolArray:
        """Return which rows have any of some texts; shape (rows,)."""
        of_row = np.zeros(self.rows, np.bool_)
        of_row[self._arrays.holders[of_text[self._arrays.texts]]] = True
        return of_row

    @cached_property
    def _n_groups(self) -> int:
        return int(self._arrays.groups.max(initial=0)) + 1

    def met_in(self, other: Fingerprints) -> Met:
        """Return which of these rows are met again in another part."""
        return _met(self, other)

    def complete_in(self, other: Fingerprints) -> BoolArray:
        """Return of which rows half of each text stands there; also those that have texts, but none
        that tells.
        """
        return _complete(self, other)


@dataclass(frozen=True, slots=True)
class Met:
    """Which rows of a part are met again in another; shape (rows,) each."""

    same: BoolArray
    """Half of some text of the row stands there, or its name where one side has no texts."""
    touched: BoolArray
    """The same, or at least a few stretches of it stand there."""
    groups: IntArray
    """The number of each row's group."""

    def without(self, rows: BoolArray) -> Met:
        """Return the same but for some rows, which are not met."""
        return replace(self, same=self.same & ~rows, touched=self.touched & ~rows)


@lru_cache(maxsize=256)
def _met(one: Fingerprints, other: Fingerprints) -> Met:
    """See `Fingerprints.met_in`; many runs hold the same parts, so answers are kept."""
    mine, theirs, n = one._arrays, other._arrays, one.rows
    touched_texts = np.zeros(len(mine.ends), np.bool_)
    touched_texts[one.text_of(_shared(one, other))] = True
    # Of rows without one print that stands there nothing is to be reckoned.
    near = one._any_text(touched_texts)
    near_texts = np.zeros(len(mine.ends), np.bool_)
    near_texts[mine.texts[near[mine.holders]]] = True
    total, shared = _telling_prints(one, other, near_texts)
    long = total >= FEW
    # A name tells where one of the two has no texts to tell by.
    bare, shares_name = _bare(one), among(mine.names, theirs.names)
    named = np.where(bare, shares_name, among(mine.names, theirs.names[_bare(other)])) & (
        mine.names != 0
    )
    all_equal = ~bare & ~one._any_text(~among(mine.letters, theirs.letters))
    row_total = np.bincount(mine.holders, weights=total[mine.texts], minlength=n)
    row_shared = np.bincount(mine.holders, weights=shared[mine.texts], minlength=n)
    all_short = ~one._any_text(long) & (row_total >= FEW) & (row_total == row_shared)
    same = one._any_text(long & (shared >= MET * total)) | all_equal | all_short | named
    touched = same | one._any_text(shared >= HINTS)
    return Met(same=same, touched=touched, groups=mine.groups.astype(np.int64))


@lru_cache(maxsize=256)
def _complete(one: Fingerprints, other: Fingerprints) -> BoolArray:
    """See `Fingerprints.complete_in`."""
    mine, theirs = one._arrays, other._arrays
    total, shared = _telling_prints(one, other, np.ones(len(mine.ends), np.bool_))
    same_text = (total >= FEW) & (shared >= MET * total)
    missing = ~same_text & ~among(mine.letters, theirs.letters) & (shared < total)
    named = among(mine.names, theirs.names) & (mine.names != 0)
    return np.where(_bare(one), named, ~one._any_text(missing))


def _shared(one: Fingerprints, other: Fingerprints) -> IntArray:
    """Return the positions of the prints that stand in another part too."""
    return np.flatnonzero(among(one._arrays.prints, other._arrays.prints))


def _telling_prints(
    one: Fingerprints, other: Fingerprints, texts: BoolArray
) -> tuple[IntArray, IntArray]:
    """Count the fingerprints of some texts that tell which they are, and those that stand there;
    shape (texts,).
    """
    mine = one._arrays
    at = np.flatnonzero(np.repeat(texts, np.diff(mine.ends.astype(np.int64), prepend=0)))
    prints, of_text = mine.prints[at], one.text_of(at)
    shared = np.isin(at, _shared(one, other), assume_unique=True)
    common = one.common(prints)
    # A template's phrase is common in both parts; a source quoted often in this one alone tells.
    telling = ~common | (shared & ~other.common(prints))
    n = len(mine.ends)
    return np.bincount(of_text[telling], minlength=n), np.bincount(
        of_text[telling & shared], minlength=n
    )


def _bare(part: Fingerprints) -> BoolArray:
    has = np.zeros(part.rows, np.bool_)
    has[part._arrays.holders] = True
    return ~has


def among(values: Prints, others: Prints) -> BoolArray:
    """Return which values are among others; quick for hashes where one of the two is large and the
    other small.
    """
    if max(len(values), len(others)) < 1 << 16:
        return np.isin(values, others)
    if len(others) > len(values):
        others = others[among(others, values)]
    table = np.zeros(1 << 20, np.bool_)
    table[others >> np.uint32(12)] = True
    hit = table[values >> np.uint32(12)]
    maybe = np.flatnonzero(hit)
    hit[maybe] = np.isin(values[maybe], others)
    return hit


def texts_of(row: Row) -> Iterable[str]:
    """Yield the texts of a row: its inputs, and every other column that is long enough to be one.

    A verdict file may hold the texts under any name.
    """
    yield from row.inputs.values()
    for value in row.meta.values():
        if isinstance(value, str) and len(value) >= LEAST_LETTERS:
            yield value


def winnow(letters: str) -> Prints:
    """Return the fingerprints of a text of bare letters, sorted; empty where it is too short."""
    codes = np.frombuffer(letters.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint64)
    if len(codes) < LETTERS:
        return np.empty(0, np.uint32)
    hashes = _rolling(codes)
    if len(hashes) > WINDOW:
        lowest = _lowest(hashes)
    else:
        lowest = hashes.min(keepdims=True)
    # What is lowest in its window lies low: scattered anew, so that 32 bits tell it apart.
    return np.unique((mix(lowest) >> np.uint64(32)).astype(np.uint32))


def _rolling(codes: Hashes) -> Hashes:
    """Return a hash of every stretch, by doubling; shape (letters - LETTERS + 1,)."""
    two = codes[:-1] * _BASE[1] + codes[1:]
    four = two[:-2] * _BASE[2] + two[2:]
    eight = four[:-4] * _BASE[4] + four[4:]
    sixteen = eight[:-8] * _BASE[8] + eight[8:]
    return mix(sixteen[:-4] * _BASE[4] + four[16:])


def _lowest(hashes: Hashes) -> Hashes:
    """Return the lowest hash of every window, by doubling; shape (hashes - WINDOW + 1,)."""
    lowest = hashes
    for step in (1, 2, 4, 8, 16):
        lowest = np.minimum(lowest[:-step], lowest[step:])
    return np.minimum(lowest[: len(hashes) - WINDOW + 1], lowest[WINDOW - 32 :])


def _most_groups(groups: int) -> float:
    """Return how many groups may share a text that still tells one row from another: up to 20, a
    quarter of a few.
    """
    return max(COMMON * groups, min(20.0, groups / 4))


def _hash32(text: str) -> int:
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).digest(), "big"
    )


def _pack(
    prints: list[Prints],
    letter_hashes: list[int],
    holders: list[tuple[int, int]],
    group_of: list[int],
    names: list[int],
) -> bytes:
    flat = np.concatenate(prints) if prints else np.empty(0, np.uint32)
    pairs = np.array(holders, np.int64).reshape(-1, 2)
    parts = (
        flat,
        np.cumsum([len(p) for p in prints]),
        letter_hashes,
        pairs[:, 0],
        pairs[:, 1],
        group_of,
        names,
    )
    head = _HEAD.pack(len(flat), len(prints), len(pairs), len(group_of))
    return head + b"".join(np.asarray(part).astype("<u4").tobytes() for part in parts)
