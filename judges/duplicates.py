"""Near-duplicate rows: MinHash finds the candidates, the exact Jaccard similarity decides.

Word shingles and their resemblance follow Broder (1997), "On the resemblance and containment of
documents"; the banding of signatures follows Leskovec, Rajaraman and Ullman, "Mining of Massive
Datasets", chapter 3. Nothing depends on the order of rows or on the process: words are hashed by content.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from .rows import Row

SIMILAR = 0.8
"""Jaccard similarity of shingles from which two rows are near-duplicates."""

_SHINGLE = 5
# With 20 bands of 5 a pair at the limit of 0.8 is missed once in 2,500 times; most pairs under 0.4 are never compared.
_BANDS, _BAND_WIDTH = 20, 5
_CHUNK = 4096
# Chinese and Japanese put no spaces between words, so each character counts as one.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")

Hashes = npt.NDArray[np.uint64]


class Clusters:
    """Disjoint sets of positions 0..n-1 that grow by joining."""

    def __init__(self, size: int) -> None:
        self._parent = list(range(size))

    def find(self, position: int) -> int:
        """Return the position that stands for the set."""
        while self._parent[position] != position:
            self._parent[position] = self._parent[self._parent[position]]
            position = self._parent[position]
        return position

    def join(self, one: int, other: int) -> bool:
        """Make two sets one; say whether they were two."""
        one, other = self.find(one), self.find(other)
        self._parent[max(one, other)] = min(one, other)
        return one != other


def join_near_duplicates(rows: Sequence[Row], clusters: Clusters, *, each_input: bool = False) -> int:
    """Join the clusters of rows whose inputs are equal or nearly so.

    Pairs that are in one cluster already are not compared.

    Args:
        rows: The rows; clusters hold their positions.
        clusters: Changed in place.
        each_input: Whether every input must be nearly the same, and not only all of them taken together:
            then a long passage does not tie two different questions about it.

    Returns:
        How many joins it took.
    """
    hasher = _WordHasher()
    texts = [_text(row) for row in rows]
    first: dict[bytes, int] = {}
    joins = 0
    for position, text in enumerate(texts):
        body = "\0".join(_words(text)).encode("utf-8", "surrogatepass")
        twin = first.setdefault(hashlib.blake2b(body, digest_size=16).digest(), position)
        joins += clusters.join(twin, position)
    distinct = sorted(first.values())
    if len(distinct) < 2:
        return joins
    signatures = np.stack([_signature(hasher.shingles(texts[position])) for position in distinct])
    kept: dict[int, list[Hashes]] = {}
    for pair in _candidates(distinct, signatures):
        if clusters.find(pair[0]) == clusters.find(pair[1]):
            continue
        for position in pair:
            if position not in kept:
                inputs = rows[position].inputs
                compared = [inputs[name] for name in sorted(inputs)] if each_input else [texts[position]]
                kept[position] = [hasher.shingles(text) for text in compared]
        if all(jaccard(a, b) >= SIMILAR for a, b in zip(kept[pair[0]], kept[pair[1]], strict=True)):
            joins += clusters.join(*pair)
    return joins


def jaccard(one: Hashes, other: Hashes) -> float:
    """Return the share of shingles in common; both must be free of repeats, shape (k,)."""
    if 0 in (len(one), len(other)) or min(len(one), len(other)) < SIMILAR * max(len(one), len(other)):
        return 0.0
    common = len(np.intersect1d(one, other, assume_unique=True))
    return common / (len(one) + len(other) - common)


class _WordHasher:
    """Turns a text into the hashes of its shingles; remembers the hash of each word."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def shingles(self, text: str) -> Hashes:
        """Return the different five-word shingles of a text, sorted; a shorter text is one shingle. Shape (k,)."""
        words = _words(text)
        codes = np.fromiter((self._code(word) for word in words), np.uint64, len(words))
        width = max(min(_SHINGLE, len(codes)), 1)
        total = np.full(max(len(codes) - width + 1, 1), width, np.uint64)
        for offset in range(min(width, len(codes))):
            total = _mix(total ^ codes[offset : offset + len(total)])
        return np.unique(total)

    def _code(self, word: str) -> int:
        code = self._known.get(word)
        if code is None:
            code = int.from_bytes(hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
            self._known[word] = code
        return code


def _text(row: Row) -> str:
    return "\n".join(row.inputs[name] for name in sorted(row.inputs))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold()) or text.split()


def _mix(values: Hashes) -> Hashes:
    """Scatter 64-bit values: the finalizer of SplitMix64 (Steele, Lea and Flood, 2014)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _constants(name: str) -> Hashes:
    count = _BANDS * _BAND_WIDTH
    body = b"".join(hashlib.blake2b(f"{name}{i}".encode(), digest_size=8).digest() for i in range(count))
    return np.frombuffer(body, "<u8").astype(np.uint64)


_FACTORS, _SHIFTS = _constants("factor") | np.uint64(1), _constants("shift")


def _signature(shingles: Hashes) -> Hashes:
    """Return the MinHash signature, shape (100,); in chunks, so that a long row does not take gigabytes."""
    lowest = np.full(len(_FACTORS), np.iinfo(np.uint64).max, np.uint64)
    for start in range(0, len(shingles), _CHUNK):
        part = shingles[start : start + _CHUNK, None]
        np.minimum(lowest, (part * _FACTORS + _SHIFTS).min(axis=0), out=lowest)
    return lowest


def _candidates(positions: Sequence[int], signatures: Hashes) -> Iterator[tuple[int, int]]:
    """Yield the pairs of positions that agree on a whole band of their signatures."""
    for band in range(_BANDS):
        columns = np.ascontiguousarray(signatures[:, band * _BAND_WIDTH : (band + 1) * _BAND_WIDTH])
        buckets: defaultdict[bytes, list[int]] = defaultdict(list)
        for position, line in zip(positions, columns, strict=True):
            buckets[line.tobytes()].append(position)
        for bucket in buckets.values():
            for i, one in enumerate(bucket):
                for other in bucket[i + 1 :]:
                    yield one, other
