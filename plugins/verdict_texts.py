"""The texts that a judge's verdicts are about, from the data file that was judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..judges import DataError, Dataset, JudgedDataset
from ..judges.files import Roles, read_table


def with_texts(
    judged: JudgedDataset, path: Path, inputs: Sequence[str], *, flag: str
) -> JudgedDataset:
    """Give verdicts the texts of their rows, joined by id; those about rows that the file lacks are
    left out.

    Args:
        judged: The verdicts.
        path: The data file that was judged.
        inputs: The texts that are wanted, each a column of it.
        flag: The option that names them, for the message about one that is missing.

    Raises:
        DataError: The file cannot be used, or has none of the rows.
    """
    roles = Roles(
        inputs={name: name for name in inputs},
        needed=dict.fromkeys(inputs, flag),
        skip_incomplete=True,
    )
    texts = {draft.id: draft.inputs for draft in read_table(path, roles).drafts}
    rows = [
        replace(row, inputs={**row.inputs, **texts.get(row.id, {})}) for row in judged.dataset.rows
    ]
    missing = sum(row.id not in texts for row in rows)
    if missing == len(rows):
        raise DataError(
            f"{path}: it has none of the rows of {judged.dataset.name}; the first there is"
            f" {rows[0].id!r}",
            hint="verdicts and rows are joined by id",
        )
    notes = list(judged.dataset.notes)
    if missing:
        notes.append(
            f"{missing:,} of {len(rows):,} verdicts are about rows that {path.name} lacks, or has"
            " no text of, and are left out"
        )
    dataset = Dataset.of(rows, labels=judged.dataset.labels, name=judged.dataset.name, notes=notes)
    return replace(judged, dataset=dataset).only(
        [i for i, row in enumerate(rows) if row.id in texts]
    )
