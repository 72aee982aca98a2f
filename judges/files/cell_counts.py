"""Rows counted by what metrics read of them, while they are read: equal rows take no more memory
than one.
"""

from __future__ import annotations

from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from ..judged_arrays import IntArray

Keys = npt.NDArray[np.uint64]

CHUNK = 1 << 17
"""Rows that are put together before they are counted."""
_AT_ONCE = 1 << 20
"""Hashes that are compared in memory at once."""


class RowCounts:
    """Counts equal rows of numbers: 40 bytes for each different one, and twice that while
    counting.
    """

    def __init__(self) -> None:
        self._rows = [np.empty((0, 4), np.uint64)]
        self._counts = [np.empty(0, np.int64)]

    def __len__(self) -> int:
        return sum(map(len, self._counts))

    def add(self, rows: Keys) -> None:
        """Count rows, the numbers of each side by side; shape (n, 4), with at least one."""
        rows, counts = _counted(rows, np.ones(len(rows), np.int64))
        self._rows.append(rows)
        self._counts.append(counts)
        # What was counted before is sorted again only once as much has come since.
        if 2 * len(self._counts[0]) < len(self):
            self.total()

    def total(self) -> tuple[Keys, IntArray]:
        """Return the different rows in the order of first appearance, and how often each came."""
        rows, counts = np.concatenate(self._rows), np.concatenate(self._counts)
        if len(rows):
            rows, counts = _counted(rows, counts)
        self._rows, self._counts = [rows], [counts]
        return rows, counts


def _counted(rows: Keys, counts: IntArray) -> tuple[Keys, IntArray]:
    order = np.lexsort(rows.T)
    ordered = rows[order]
    starts = np.flatnonzero(np.r_[True, (ordered[1:] != ordered[:-1]).any(axis=1)])
    first = order[starts]
    by_appearance = np.argsort(first)
    return rows[first[by_appearance]], np.add.reduceat(counts[order], starts)[by_appearance]


class Hashes:
    """Hashes of ids in a file, 8 bytes each, so that doubled ids are found in memory that does not
    grow with them.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
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
