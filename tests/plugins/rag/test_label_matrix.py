"""Annotations as a sparse matrix of queries and documents."""

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import coo_array, load_npz

from judgewright.judges import (
    BINARY,
    Answer,
    Dataset,
    InputError,
    JudgedDataset,
    Row,
    Unscored,
    Verdict,
)
from judgewright.plugins.rag.annotation import label_matrix, write_matrix


def table(entries: list[tuple[str, str, bool | None, float | None]]) -> JudgedDataset:
    """Pairs with the judge's decision (None is unscored) and a person's label."""
    rows = [
        Row(id=f"{q}/{d}", inputs={}, label=y, meta={"query_id": q, "document_id": d})
        for q, d, _, y in entries
    ]
    answers: list[Answer] = [
        Unscored(row_id=r.id, reason="parse")
        if s is None
        else Verdict(row_id=r.id, score=float(s), positive=s)
        for r, (_, _, s, _) in zip(rows, entries, strict=True)
    ]
    return JudgedDataset(
        dataset=Dataset.of(rows, labels=BINARY), answers=tuple(answers), scale=BINARY
    )


ENTRIES = [
    ("q1", "d1", True, None),
    ("q1", "d2", False, None),
    ("q2", "d1", False, 1.0),
    ("q2", "d3", None, None),
    ("q2", "ü", None, 0.0),
]


def test_a_known_positive_is_never_a_negative() -> None:
    """People's word counts over the judge's; a pair without either is no entry; negatives stand as
    zeros.
    """
    matrix = label_matrix(table(ENTRIES))
    assert (matrix.query_ids, matrix.document_ids) == (("q1", "q2"), ("d1", "d2", "ü"))
    entries = set(
        zip(matrix.rows.tolist(), matrix.columns.tolist(), matrix.labels.tolist(), strict=True)
    )
    assert entries == {(0, 0, 1), (0, 1, 0), (1, 0, 1), (1, 2, 0)}
    assert matrix.human.tolist() == [False, False, True, True]
    dense = coo_array((matrix.labels, (matrix.rows, matrix.columns)), shape=(2, 3)).toarray()
    assert dense.tolist() == [[1, 0, 0], [1, 0, 0]]


def test_the_matrix_round_trips_through_npz_without_pickle(tmp_path: Path) -> None:
    """SciPy reads compressed rows, negatives as stored zeros; NumPy reads ids and who said it, with
    pickle off.
    """
    matrix = label_matrix(table([ENTRIES[3], *ENTRIES]))  # d3 has no label: it is no entry
    write_matrix(matrix, tmp_path / "m.npz")
    read = load_npz(tmp_path / "m.npz")
    assert (read.format, read.shape, read.nnz, read.has_sorted_indices) == ("csr", (2, 3), 4, 1)
    with np.load(tmp_path / "m.npz", allow_pickle=False) as arrays:
        assert arrays["query_ids"].tolist() == ["q1", "q2"]
        found = read.tocoo()
        entries = zip(found.row, found.col, found.data, arrays["human"], strict=True)
        ids = [
            (arrays["query_ids"][i], arrays["document_ids"][j], int(label), bool(h))
            for i, j, label, h in entries
        ]
    assert sorted(ids) == [
        ("q1", "d1", 1, False), ("q1", "d2", 0, False), ("q2", "d1", 1, True), ("q2", "ü", 0, True),
    ]  # fmt: skip
    assert [p.name for p in tmp_path.iterdir()] == ["m.npz"]


def test_what_is_no_matrix_is_refused(tmp_path: Path) -> None:
    """Other formats, rows that are no pairs, pairs that stand twice."""
    empty = label_matrix(table([]))
    assert empty.rows.shape == (0,)
    with pytest.raises(InputError, match="written as"):
        write_matrix(empty, tmp_path / "m.csv")
    with pytest.raises(InputError, match="stands twice"):
        label_matrix(table([("q", "d", True, None), ("q", "d", False, None)]))
    row = Row(id="a", inputs={})
    with pytest.raises(InputError, match="no pair"):
        label_matrix(JudgedDataset(dataset=Dataset.of([row], labels=BINARY), scale=BINARY,
                            answers=(Unscored(row_id="a", reason="parse"),)))  # fmt: skip
