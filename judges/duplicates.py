"""Near-duplicate rows: MinHash finds the candidates, the exact Jaccard similarity decides.

Word shingles and their resemblance follow Broder (1997), "On the resemblance and containment of
documents"; the banding of signatures follows Leskovec, Rajaraman and Ullman, "Mining of Massive
Datasets", chapter 3. Nothing depends on the order of rows or on the process: words are hashed by
content.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

from .rows import Row

SIMILAR = 0.8
"""Jaccard similarity of shingles from which two rows are near-duplicates."""

_SHINGLE = 5
# One changed word spoils five shingles of a long row's hundreds, but most of a short row's;
# three-word ones bear it.
_SHORT_ROW, _SHORT_SHINGLE = 60, 3
# With 20 bands of 5 a pair at the limit of 0.8 is missed once in 2,500 times; most pairs under 0.4
# are never compared.
_BANDS, _BAND_WIDTH = 20, 5
# The share of equal entries estimates the similarity: of pairs at 0.8 one in 5,000 agrees on fewer
# than 65 of 100. Rows that merely share a template are told apart here, without looking at their
# texts.
_AGREE = 65
_CHUNK = 16_384
"""Shingles that are hashed at once."""
# Chinese and Japanese put no spaces between words, so each character counts as one.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")

Hashes = npt.NDArray[np.uint64]
Indices = npt.NDArray[np.int64]
_NOTHING: Hashes = np.empty(0, np.uint64)
ASCII_WORDS = "".join(
    chr(i).lower() if chr(i).isalnum() or chr(i) == "_" else " " for i in range(128)
)
"""For `str.translate`: each ASCII letter in lower case, digits and the underscore as they are, a
space for all else.
"""


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
    short = {position: words for position, words in codes.items() if len(words) < _SHORT_ROW}

    def compared(position: int) -> list[Hashes]:
        if not each_input:
            return [codes[position]]
        inputs = rows[position].inputs
        return [texts.of(inputs[name]) for name in sorted(inputs)]

    joins += _join_similar(codes, compared, clusters, width=_SHINGLE)
    return joins + _join_similar(short, compared, clusters, width=_SHORT_SHINGLE)


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


class NearDuplicateOf:
    """Tells of rows, one by one, whether they are near-duplicates of one row.

    It decides as `join_near_duplicates` does with a pair of whole rows, at a few microseconds where
    they have little in common.
    """

    def __init__(self, inputs: Mapping[str, str]) -> None:
        self._words = _row_words(inputs)
        self._shingles: dict[int, set[tuple[str, ...]]] = {}

    def __call__(self, inputs: Mapping[str, str]) -> bool:
        words = _row_words(inputs)
        if words == self._words or self._alike(words, _SHINGLE):
            return True
        short = max(len(words), len(self._words)) < _SHORT_ROW
        return short and self._alike(words, _SHORT_SHINGLE)

    def _alike(self, words: list[str], width: int) -> bool:
        """Whether enough shingles of so many words are in common."""
        if width not in self._shingles:
            self._shingles[width] = set(_word_shingles(self._words, width))
        own = self._shingles[width]
        # At this similarity at most a quarter of what is in common may be missing.
        most = int(len(own) * (1 / SIMILAR - 1)) + 1
        shingles = _word_shingles(words, width)
        # The beginning of nearly all rows has that many more.
        if len(set(islice(shingles, most + most // 4 + 1)) - own) > most:
            return False
        other = set(_word_shingles(words, width))
        common = len(own & other)
        return common / (len(own) + len(other) - common) >= SIMILAR


def _word_shingles(words: list[str], width: int) -> Iterator[tuple[str, ...]]:
    """Return the runs of so many words; fewer words are one."""
    width = min(width, len(words))
    return zip(*(words[offset:] for offset in range(width)), strict=False)


def _row_words(inputs: Mapping[str, str]) -> list[str]:
    """Return the words of all inputs, in the order of their names, as `TextCodes.of_row` has
    them.
    """
    texts = [inputs[name] for name in sorted(inputs)]
    words = [word for text in texts for word in _plain_words(text)]
    return words or " ".join(texts).split()


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
            self._texts[text] = self._hashes(_plain_words(text))
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


def words_of(text: str) -> list[str]:
    """Return a text's words as a reader sees them: without case, accents, width variants and
    invisible characters.

    Where no spaces stand between words each character is one; a text without any word is split at
    its spaces.
    """
    return _plain_words(text) or text.split()


def _plain_words(text: str) -> list[str]:
    if text.isascii():
        return text.translate(
            ASCII_WORDS
        ).split()  # what `_WORD` finds in it, several times as quickly
    # Compatibility forms of Unicode Standard Annex 15; decomposed, so that a mark added to a letter
    # falls away.
    plain = unicodedata.normalize("NFKD", text).casefold()
    for c in set(plain):
        if unicodedata.category(c) in {"Mn", "Me", "Cf"}:
            plain = plain.replace(c, "")
    return _WORD.findall(plain)


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
