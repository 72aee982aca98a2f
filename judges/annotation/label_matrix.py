"""Annotations as one sparse query x document matrix, for training embeddings (as in Arctic-Embed).

One matrix for the whole corpus, instead of lists of positives and negatives a query, means that a
batch can look up every pair: a document known to be relevant never serves as a negative of the same
query. A pair that is not in the matrix was not annotated; a zero in it was, and is not relevant.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..files.write_beside import write_beside
from ..judged_dataset import IntArray, JudgedDataset
from ..verdict import Verdict


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


def label_matrix(judged: JudgedDataset) -> LabelMatrix:
    """Return the matrix of judged pairs: people's labels where there are any, and the judge's verdicts elsewhere.

    A pair with neither label nor verdict is no entry.

    Args:
        judged: Rows from `pair_dataset`, with their answers.

    Raises:
        InputError: A row is no pair, having no `query_id` and `document_id`, or a pair stands twice.
    """
    queries: dict[str, int] = {}
    documents: dict[str, int] = {}
    entries: dict[tuple[int, int], tuple[int, bool]] = {}
    for row, answer in zip(judged.dataset.rows, judged.answers, strict=True):
        query, document = row.meta.get("query_id"), row.meta.get("document_id")
        if query is None or document is None:
            raise InputError(f"row {row.id!r} is no pair: it has no query_id and document_id")
        if row.label is None and not isinstance(answer, Verdict):
            continue
        i = queries.setdefault(str(query), len(queries))
        j = documents.setdefault(str(document), len(documents))
        if (i, j) in entries:
            raise InputError(f"the pair of query {query!r} and document {document!r} stands twice")
        if row.label is None:
            relevant = isinstance(answer, Verdict) and answer.positive
        else:
            relevant = judged.dataset.positive(row)
        entries[i, j] = (int(relevant), row.label is not None)
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
    """Write the matrix as `.npz` (arrays without pickle) or as `.jsonl` (one entry a line).

    Raises:
        InputError: The file's name ends in neither.
    """
    if path.suffix == ".jsonl":
        write_beside(path, "".join(f"{line}\n" for line in _lines(matrix)))
    elif path.suffix == ".npz":
        # Written beside and renamed, so that nobody reads half a file.
        temporary = path.with_name(f".{path.name}.tmp.npz")
        np.savez_compressed(
            temporary,
            query_ids=np.array(matrix.query_ids, np.str_),
            document_ids=np.array(matrix.document_ids, np.str_),
            rows=matrix.rows,
            columns=matrix.columns,
            labels=matrix.labels,
            human=matrix.human,
        )
        temporary.replace(path)
    else:
        raise InputError(f"a label matrix is written as .npz or .jsonl, not as {path.name!r}")


def _lines(matrix: LabelMatrix) -> list[str]:
    lines: list[str] = []
    for row, column, label, human in zip(matrix.rows, matrix.columns, matrix.labels, matrix.human, strict=True):
        entry = {
            "query_id": matrix.query_ids[row],
            "document_id": matrix.document_ids[column],
            "row": int(row),
            "column": int(column),
            "label": int(label),
            "human": bool(human),
        }
        lines.append(json.dumps(entry, ensure_ascii=False))
    return lines
