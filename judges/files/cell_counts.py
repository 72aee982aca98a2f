"""Rows counted by what metrics read of them, while they are read: equal rows take no more memory than one."""

from __future__ import annotations

import tempfile
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from ..judged_arrays import FloatArray, IntArray

Keys = npt.NDArray[np.uint64]

CHUNK = 1 << 17
"""Rows that are put together before they are counted."""
_AT_ONCE = 1 << 20
"""Hashes that are compared in memory at once."""


class Codes:
    """Numbers keys from 0 in the order in which they first come; 12 bytes a key."""

    def __init__(self) -> None:
        self._keys = np.empty(0, np.uint64)
        self._codes = np.empty(0, np.uint32)

    def __len__(self) -> int:
        return len(self._keys)

    def of(self, keys: Keys) -> IntArray:
        """Return the code of each key, new ones entered; shape (n,)."""
        unique, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        place = np.searchsorted(self._keys, unique)
        known = np.zeros(len(unique), np.bool_)
        inside = place < len(self._keys)
        known[inside] = self._keys[place[inside]] == unique[inside]
        codes = np.empty(len(unique), np.int64)
        codes[known] = self._codes[place[known]]
        new = np.flatnonzero(~known)
        codes[new[np.argsort(first[new])]] = len(self._keys) + np.arange(len(new))
        if len(new):
            self._keys = np.insert(self._keys, place[new], unique[new])
            self._codes = np.insert(self._codes, place[new], codes[new].astype(np.uint32))
        return codes[inverse]

    @property
    def keys(self) -> Keys:
        """The keys in the order of their codes."""
        keys = np.empty_like(self._keys)
        keys[self._codes] = self._keys
        return keys


class FloatCodes:
    """Numbers floats in the order in which they first come; a missing one is NaN."""

    def __init__(self) -> None:
        self._codes = Codes()

    def of(self, values: FloatArray) -> IntArray:
        """Return the code of each value; shape (n,)."""
        # 0.0 and -0.0 are one value, and so are all NaN.
        return self._codes.of(np.where(np.isnan(values), np.nan, values + 0.0).view(np.uint64))

    @property
    def values(self) -> FloatArray:
        """The values in the order of their codes."""
        return self._codes.keys.view(np.float64)


class CellCounts:
    """Counts rows by several codes at once: 20 bytes for each combination that occurs."""

    def __init__(self) -> None:
        self._codes = Codes()
        self._counts = np.zeros(0, np.int64)

    def add(self, first: IntArray, second: IntArray) -> IntArray:
        """Count one row for each pair of codes, and return the codes of the pairs; shape (n,)."""
        pair = self._codes.of(first.astype(np.uint64) << np.uint64(32) | second.astype(np.uint64))
        counted = np.bincount(pair, minlength=len(self._codes))
        counted[: len(self._counts)] += self._counts
        self._counts = counted
        return pair

    @property
    def counts(self) -> IntArray:
        """Rows of each pair, in the order of their codes."""
        return self._counts

    @property
    def pairs(self) -> tuple[IntArray, IntArray]:
        """The two codes of each pair, in the order of the pairs' codes."""
        keys = self._codes.keys
        return (keys >> np.uint64(32)).astype(np.int64), (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)


class Hashes:
    """Hashes of ids on disk, 8 bytes each, so that doubled ids are found in memory that does not grow with them."""

    def __init__(self) -> None:
        self._file: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115  # `close` closes it
        self._count = 0

    def add(self, hashes: npt.NDArray[np.int64]) -> None:
        """Enter the hashes of a few rows."""
        self._file.write(hashes.tobytes())
        self._count += len(hashes)

    def doubled(self) -> set[int]:
        """Return the hashes that were entered more than once."""
        parts = self._count // _AT_ONCE + 1
        found: set[int] = set()
        for part in range(parts):
            self._file.seek(0)
            mine: list[npt.NDArray[np.int64]] = []
            while block := self._file.read(8 * CHUNK):
                hashes = np.frombuffer(block, np.int64)
                mine.append(hashes[hashes % parts == part])
            ordered = np.sort(np.concatenate(mine)) if mine else np.empty(0, np.int64)
            found.update(ordered[1:][ordered[1:] == ordered[:-1]].tolist())
        return found

    def close(self) -> None:
        """Give the file back."""
        self._file.close()
