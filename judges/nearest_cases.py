"""Which texts of a bank are nearest to a row: TF-IDF over runs of four characters.

Made so that plain Python repeats it exactly (`PlainNearestTexts`): weights are whole numbers, so
that sums are the same in any order, and the only fraction is the last division.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .duplicates import mix
from .judged_arrays import FloatArray, IntArray
from .plain_cases import UNIT, WIDTH, idf, most_texts

_Codes = npt.NDArray[np.uint64]
_SHIFTS = np.arange(WIDTH, dtype=np.uint64) * np.uint64(16)
_FACTORS = mix(np.arange(1, WIDTH + 1, dtype=np.uint64)) | np.uint64(1)


class NearestTexts:
    """The texts of a bank, ready to be compared with a row's."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Count the grams of the texts, which must be `plain`."""
        self._size = len(texts)
        counted = [np.unique(_grams(text), return_counts=True) for text in texts]
        lengths = [len(codes) for codes, _ in counted]
        codes = np.concatenate([np.empty(0, np.uint64), *(codes for codes, _ in counted)])
        counts = np.concatenate([np.empty(0, np.int64), *(counts for _, counts in counted)])
        owners = np.repeat(np.arange(self._size), lengths)
        grams, gram_of, spread = np.unique(codes, return_inverse=True, return_counts=True)
        used = (spread > 1) & (spread <= most_texts(self._size))
        inverse_frequency = np.array([idf(self._size, n) for n in range(self._size + 1)])
        kept = used[gram_of]
        at = (np.cumsum(used) - 1)[gram_of[kept]]
        self._grams: _Codes = grams[used]
        self._idf: FloatArray = inverse_frequency[spread[used]]
        weights = _weights(counts[kept], self._idf[at])
        self._norms: FloatArray = np.sqrt(
            np.bincount(owners[kept], weights=weights**2, minlength=self._size)
        )
        order = np.argsort(at, kind="stable")
        # Text and weight side by side, so that one look fetches both; a weight is under 2**31.
        pairs = np.stack([owners[kept][order], weights[order]], axis=1).astype(np.int32)
        self._postings: npt.NDArray[np.int64] = pairs.view(np.int64)[:, 0]
        self._starts: IntArray = np.concatenate([[0], np.cumsum(spread[used])]).astype(np.int64)

    def scores(self, text: str) -> FloatArray:
        """Return how near each text of the bank is to one that is `plain`; shape (texts,).

        The cosine but for the length of the row's own vector, which is the same for all.
        """
        codes, counts = np.unique(_grams(text), return_counts=True)
        at = np.searchsorted(self._grams, codes)
        at[at == len(self._grams)] = 0
        known = self._grams[at] == codes if len(self._grams) else np.zeros(len(at), bool)
        at = at[known]
        weights = _weights(counts[known], self._idf[at])
        starts, sizes = self._starts[at], self._starts[at + 1] - self._starts[at]
        postings = self._postings.take(_ranges(starts, sizes), mode="clip")
        owners, own_weights = postings.view(np.int32).reshape(-1, 2).T
        products = own_weights * np.repeat(weights, sizes)
        dots = np.bincount(owners, weights=products, minlength=self._size)
        return np.divide(dots, self._norms, out=np.zeros(self._size), where=self._norms > 0)


def _weights(counts: npt.NDArray[np.int64], idf: FloatArray) -> FloatArray:
    if not len(counts):
        return np.empty(0)
    # By Python's logarithm, of which numpy's may differ in the last digit.
    frequency = np.array([0.0, *(1.0 + math.log(n) for n in range(1, int(counts.max()) + 1))])
    return np.rint(UNIT * (frequency[counts] * idf))


def _ranges(starts: IntArray, sizes: IntArray) -> IntArray:
    """Return the numbers of several ranges one after the other; no range is empty."""
    if not len(starts):
        return np.empty(0, np.int64)
    steps = np.ones(int(sizes.sum()), np.int64)
    steps[0] = starts[0]
    steps[np.cumsum(sizes)[:-1]] = starts[1:] - (starts[:-1] + sizes[:-1]) + 1
    return np.cumsum(steps)


def _grams(text: str) -> _Codes:
    """Return a number for each run of four characters; one number is one run.

    Four characters of sixteen bits are a number as they stand; rarer ones are scattered.
    """
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    size = max(len(points) - WIDTH + 1, 0)
    codes = np.zeros(size, np.uint64)
    rare = points > 0xFFFF
    any_rare = bool(rare.any())
    for offset, (shift, factor) in enumerate(zip(_SHIFTS, _FACTORS, strict=True)):
        part = points[offset : offset + size]
        codes += part << shift
        if any_rare:
            scattered = part * factor - (part << shift)
            codes += np.where(rare[offset : offset + size], scattered, np.uint64(0))
    return codes
