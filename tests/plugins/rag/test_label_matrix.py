"""Annotations as a sparse matrix of queries and documents."""

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import load_npz

from judgewright.judges import InputError
from judgewright.plugins.rag.annotation import matrix_of, write_matrix

ENTRIES = [
    ("q2", "d1", True, True),
    ("q1", "d1", True, False),
    ("q1", "d2", False, False),
    ("q2", "ü", False, True),
]


def test_the_matrix_round_trips_through_npz_without_pickle(tmp_path: Path) -> None:
    """SciPy reads compressed rows, negatives as stored zeros; NumPy reads ids and who said it, with
    pickle off.
    """
    write_matrix(matrix_of(ENTRIES), tmp_path / "m.npz")
    read = load_npz(tmp_path / "m.npz")
    assert (read.format, read.shape, read.nnz, read.has_sorted_indices) == ("csr", (2, 3), 4, 1)
    with np.load(tmp_path / "m.npz", allow_pickle=False) as arrays:
        assert arrays["query_ids"].tolist() == ["q2", "q1"]
        found = read.tocoo()
        entries = zip(found.row, found.col, found.data, arrays["human"], strict=True)
        queries, documents = arrays["query_ids"], arrays["document_ids"]
        by_id = [(queries[i], documents[j], bool(y), bool(h)) for i, j, y, h in entries]
    assert sorted(by_id) == sorted(ENTRIES)
    assert [p.name for p in tmp_path.iterdir()] == ["m.npz"]


def test_what_is_no_matrix_is_refused(tmp_path: Path) -> None:
    """Other formats, and pairs that stand twice."""
    empty = matrix_of([])
    assert empty.rows.shape == (0,)
    with pytest.raises(InputError, match="written as"):
        write_matrix(empty, tmp_path / "m.csv")
    with pytest.raises(InputError, match="stands twice"):
        matrix_of([ENTRIES[0], ENTRIES[0]])
