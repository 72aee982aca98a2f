"""Near-duplicate rows: MinHash finds the candidates, the exact Jaccard similarity decides.

Word shingles and their resemblance follow Broder (1997), "On the resemblance and containment of
documents"; the banding of signatures follows Leskovec, Rajaraman and Ullman, "Mining of Massive
Datasets", chapter 3. Nothing depends on the order of rows or on the process: words are hashed by
content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from .plain_cases import SHINGLE, SHORT_ROW, SHORT_SHINGLE, SIMILAR, plain_words
from .rows import Row

# With 20 bands of 5 a pair at the limit of 0.8 is missed once in 2,500 times; most pairs under 0.4
# are never compared.
_BANDS, _BAND_WIDTH = 20, 5
# The share of equal entries estimates the similarity: of pairs at 0.8 one in 5,000 agrees on fewer
# than 65 of 100. Rows that merely share a template are told apart here, without looking at their
# texts.
_AGREE = 65
_CHUNK = 16_384
"""Shingles that are hashed at once."""

Hashes = npt.NDArray[np.uint64]
Indices = npt.NDArray[np.int64]
_NOTHING: Hashes = np.empty(0, np.uint64)


class Clusters:
    """Disjoint sets of positions 0..n-1 that grow by joining."""

    def __init__(self, size: int) -> None:
        self._parent = list(range(size))

    def find(self, position: int) -> int:
        """Return the position that stands for the set."""
        while self._parent[position] != position:
            # Path halving: each look-up shortens the way for the next one.
            self._parent[position] = self._parent[self._parent[position]]
            position = self._parent[position]
        return position

    def join(self, one: int, other: int) -> bool:
        """Make two sets one; say whether they were two."""
        one, other = self.find(one), self.find(other)
        # The lowest position stands for the set, whatever the order of joins.
        self._parent[max(one, other)] = min(one, other)
        return one != other


def join_near_duplicates(
    rows: Sequence[Row],
    clusters: Clusters,
    *,
    each_input: bool = False,
    texts: TextCodes | None = None,
    done: Callable[[int], None] = lambda rows: None,
) -> int:
    """Join the clusters of rows whose inputs are equal or nearly so.

    Pairs that are in one cluster already are not compared.

    Args:
        rows: The rows; clusters hold their positions.
        clusters: Changed in place.
        each_input: Whether every input must be nearly the same, and not only all of them taken
            together: then a long passage does not tie two different questions about it.
        texts: Words hashed before, where the same rows are compared again.
        done: Called with how many rows have been read.

    Returns:
        How many joins it took.
    """
    texts = texts or TextCodes()
    codes: dict[int, Hashes] = {}
    first: dict[bytes, int] = {}
    joins = 0
    for position, row in enumerate(rows):
        words = texts.of_row(row)
        twin = first.setdefault(hashlib.blake2b(words.tobytes(), digest_size=16).digest(), position)
        if twin == position:
            codes[position] = words
        joins += clusters.join(twin, position)
        done(position + 1)
    short = {position: words for position, words in codes.items() if len(words) < SHORT_ROW}

    def compared(position: int) -> list[Hashes]:
        if not each_input:
            return [codes[position]]
        inputs = rows[position].inputs
        return [texts.of(inputs[name]) for name in sorted(inputs)]

    joins += _join_similar(codes, compared, clusters, width=SHINGLE)
    return joins + _join_similar(short, compared, clusters, width=SHORT_SHINGLE)


def _join_similar(
    codes: Mapping[int, Hashes],
    compared: Callable[[int], list[Hashes]],
    clusters: Clusters,
    *,
    width: int,
) -> int:
    """Join what is similar among some positions; whole rows find the candidates, what is compared
    decides.
    """
    if len(codes) < 2:
        return 0
    joins, positions = 0, np.fromiter(codes, np.int64, len(codes))
    # One array of words is one text, which many rows share; it is held here, so that its number
    # stays its own.
    shingles: dict[int, tuple[Hashes, Hashes]] = {}

    def shingles_of(words: Hashes) -> Hashes:
        if id(words) not in shingles:
            shingles[id(words)] = (words, _shingles(words, width))
        return shingles[id(words)][1]

    def similar(one: int, other: int) -> bool:
        pairs = zip(compared(one), compared(other), strict=True)
        return all(a is b or jaccard(shingles_of(a), shingles_of(b)) >= SIMILAR for a, b in pairs)

    signatures = _signatures(list(codes.values()), width)
    # Sixteen bits tell entries apart well enough to count the equal ones.
    short = signatures.astype(np.uint16)
    apart: set[tuple[int, int]] = set()
    for start in range(0, len(_FACTORS), _BAND_WIDTH):
        for bucket in _buckets(signatures[:, start : start + _BAND_WIDTH]):
            members: list[int] = positions[bucket].tolist()
            # Which of them are in one cluster, by any number that they share.
            roots = np.array([clusters.find(position) for position in members])
            for at, mate in _likely_pairs(roots, short[bucket]):
                pair = members[at], members[mate]
                if pair in apart:
                    continue
                if similar(*pair):
                    joins += clusters.join(*pair)
                    roots[roots == roots[mate]] = roots[at]
                else:
                    apart.add(pair)
    return joins


def _likely_pairs(roots: Indices, signatures: npt.NDArray[np.uint16]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of a bucket that are in two clusters, and alike in enough entries.

    `roots` says who is in one cluster, and may change while pairs come.
    """
    for at in range(len(roots)):
        later = at + np.flatnonzero(roots[at:] != roots[at])
        equal = (signatures[later] == signatures[at]).sum(axis=1)
        for mate in later[equal >= _AGREE].tolist():
            if roots[at] != roots[mate]:
                yield at, mate


def _buckets(columns: Hashes) -> list[Indices]:
    """Return the rows that agree on all columns, where several do, in ascending order."""
    order = np.lexsort(columns.T)
    ordered = columns[order]
    starts = np.flatnonzero((ordered[1:] != ordered[:-1]).any(axis=1)) + 1
    return [bucket for bucket in np.split(order, starts) if len(bucket) > 1]


def jaccard(one: Hashes, other: Hashes) -> float:
    """Return the share of shingles in common; both must be free of repeats, shape (k,)."""
    fewer, more = sorted((len(one), len(other)))
    # Sets of such different sizes cannot be similar, whatever they share.
    if fewer == 0 or fewer < SIMILAR * more:
        return 0.0
    common = len(np.intersect1d(one, other, assume_unique=True))
    return common / (len(one) + len(other) - common)


class TextCodes:
    """Turns texts into a number for each of their words; remembers words, and texts, of which rows
    share many.
    """

    def __init__(self) -> None:
        self._words = _WordHashes()
        self._texts: dict[str, Hashes] = {}

    def of(self, text: str) -> Hashes:
        """Return the hashes of a text's words in order, shape (words,)."""
        codes = self._plain(text)
        return codes if len(codes) else self._hashes(text.split())

    def of_row(self, row: Row) -> Hashes:
        """Return the same for all inputs of a row together, one after the other in the order of
        their names.
        """
        inputs = [row.inputs[name] for name in sorted(row.inputs)]
        codes = np.concatenate([_NOTHING, *map(self._plain, inputs)])
        return codes if len(codes) else self._hashes(" ".join(inputs).split())

    def _plain(self, text: str) -> Hashes:
        """Return the hashes of a text's words, none for one without letters and digits."""
        if text not in self._texts:
            self._texts[text] = self._hashes(plain_words(text))
        return self._texts[text]

    def _hashes(self, words: Sequence[str]) -> Hashes:
        return np.fromiter(map(self._words.__getitem__, words), np.uint64, len(words))


class _WordHashes(dict[str, int]):
    """The hash of each word, computed from its content at the first look-up."""

    def __missing__(self, word: str) -> int:
        code = int.from_bytes(
            hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big"
        )
        self[word] = code
        return code


def _shingles(codes: Hashes, width: int) -> Hashes:
    """Return the different shingles of so many words, sorted; a shorter text is one shingle. Shape
    (k,).
    """
    return np.unique(_windows(codes, max(min(width, len(codes)), 1)))


def _windows(codes: Hashes, width: int) -> Hashes:
    """Return a hash of each run of so many words, or of all where there are fewer; shape (k,),
    repeats and all.
    """
    total = np.full(max(len(codes) - width + 1, 1), width, np.uint64)
    for offset in range(min(width, len(codes))):
        total = mix(total ^ codes[offset : offset + len(total)])
    return total


def mix(values: Hashes) -> Hashes:
    """Scatter 64-bit values: the finalizer of SplitMix64 (Steele, Lea and Flood, 2014)."""
    values = values ^ (values >> np.uint64(30))  # a copy, on which the rest is done in place
    values *= np.uint64(0xBF58476D1CE4E5B9)
    values ^= values >> np.uint64(27)
    values *= np.uint64(0x94D049BB133111EB)
    values ^= values >> np.uint64(31)
    return values


def _constants(name: str) -> Hashes:
    count = _BANDS * _BAND_WIDTH
    body = b"".join(
        hashlib.blake2b(f"{name}{i}".encode(), digest_size=8).digest() for i in range(count)
    )
    return np.frombuffer(body, "<u8").astype(np.uint64)


_FACTORS, _SHIFTS = _constants("factor") | np.uint64(1), _constants("shift")


def _signatures(codes: Sequence[Hashes], width: int) -> Hashes:
    """Return the MinHash signature of each row, shape (rows, 100).

    Several rows are worked on at once, as many as fit the processor's cache; a row longer than that
    is one by itself.
    """
    signatures = np.empty((len(codes), len(_FACTORS)), np.uint64)
    start = 0
    while start < len(codes):
        stop, size = start + 1, len(codes[start])
        while stop < len(codes) and size + len(codes[stop]) <= _CHUNK:
            size += len(codes[stop])
            stop += 1
        signatures[start:stop] = _signatures_at_once(codes[start:stop], width)
        start = stop
    return signatures


def _signatures_at_once(codes: Sequence[Hashes], width: int) -> Hashes:
    """Return the signatures of a few rows; shape (rows, 100). A shingle that repeats does not move
    a minimum.
    """
    shingles = [_windows(words, max(min(width, len(words)), 1)) for words in codes]
    joined = np.concatenate(shingles)
    starts = np.cumsum([0, *(len(part) for part in shingles[:-1])])
    lowest = np.empty((len(_FACTORS), len(codes)), np.uint64)
    hashed = np.empty_like(joined)
    for i, (factor, shift) in enumerate(zip(_FACTORS, _SHIFTS, strict=True)):
        np.multiply(joined, factor, out=hashed)
        hashed += shift
        np.minimum.reduceat(hashed, starts, out=lowest[i])
    return lowest.T
