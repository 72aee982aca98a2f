"""Annotations as one sparse query x document matrix, for training embeddings (as in Arctic-Embed).

One matrix for the whole corpus, instead of lists of positives and negatives a query, means that a
batch can look up every pair: a document known to be relevant never serves as a negative of the same
query. A pair that is not in the matrix was not annotated; a zero in it was, and is not relevant.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ....judges.errors import InputError
from ....judges.judged_dataset import IntArray

MATRIX_FORMATS = (".npz",)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelMatrix:
    """Coordinates and labels of the annotated pairs; one entry a pair."""

    query_ids: tuple[str, ...]
    """Of the rows of the matrix."""
    document_ids: tuple[str, ...]
    """Of its columns."""
    rows: IntArray
    """Position of the query; shape (entries,)."""
    columns: IntArray
    """Position of the document; shape (entries,)."""
    labels: npt.NDArray[np.int8]
    """1 relevant, 0 not; shape (entries,)."""
    human: npt.NDArray[np.bool_]
    """Whether the label is a person's and not the judge's; shape (entries,)."""


def matrix_of(pairs: Iterable[tuple[str, str, bool, bool]]) -> LabelMatrix:
    """Return the matrix of pairs: query, document, whether it is relevant, and whether a person
    said so.

    Raises:
        InputError: A pair stands twice.
    """
    queries: dict[str, int] = {}
    documents: dict[str, int] = {}
    entries: dict[tuple[int, int], tuple[int, bool]] = {}
    for query, document, relevant, human in pairs:
        i = queries.setdefault(query, len(queries))
        j = documents.setdefault(document, len(documents))
        if (i, j) in entries:
            raise InputError(f"the pair of query {query!r} and document {document!r} stands twice")
        entries[i, j] = (int(relevant), human)
    # Reshaped, so that a matrix without entries has its two columns too.
    coordinates = np.array(list(entries), np.int64).reshape(-1, 2)
    return LabelMatrix(
        query_ids=tuple(queries),
        document_ids=tuple(documents),
        rows=coordinates[:, 0],
        columns=coordinates[:, 1],
        labels=np.array([label for label, _ in entries.values()], np.int8),
        human=np.array([human for _, human in entries.values()], np.bool_),
    )


def write_matrix(matrix: LabelMatrix, path: Path) -> None:
    """Write the matrix as compressed rows, `.npz`.

    `scipy.sparse.load_npz` reads it as it is, zeros and all; beside SciPy's arrays it has
    `query_ids`, `document_ids` and `human`, in the order of the entries.

    Raises:
        InputError: The file's name does not end so.
    """
    if path.suffix not in MATRIX_FORMATS:
        raise InputError(f"a label matrix is written as .npz, not as {path.name!r}")
    # Written beside and renamed, so that nobody reads half a file.
    temporary = path.with_name(f".{path.name}.tmp{path.suffix}")
    order = np.lexsort((matrix.columns, matrix.rows))
    ends = np.cumsum(np.bincount(matrix.rows, minlength=len(matrix.query_ids)))
    np.savez_compressed(
        temporary,
        format=np.array(b"csr"),
        shape=np.array((len(matrix.query_ids), len(matrix.document_ids))),
        indptr=np.concatenate(([0], ends)),
        indices=matrix.columns[order],
        data=matrix.labels[order],
        human=matrix.human[order],
        query_ids=np.array(matrix.query_ids, np.str_),
        document_ids=np.array(matrix.document_ids, np.str_),
    )
    temporary.replace(path)
