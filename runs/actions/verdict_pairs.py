"""Two files of verdicts, or two columns of a matrix, as two answers to the same rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ...judges import Answer, Dataset, InputError, JudgedDataset, OutputScale, Row, Unscored
from ...judges.files import (
    GROUP_COLUMNS,
    Roles,
    VerdictColumns,
    group_by_text,
    load_judges,
    read_table,
    words_for,
)

DATA_ENDINGS = (
    ".jsonl",
    ".json",
    ".csv",
    ".tsv",
    ".parquet",
    ".jsonl.gz",
    ".json.gz",
    ".csv.gz",
    ".tsv.gz",
)


def split_name(text: str) -> tuple[Path, str | None] | None:
    """Return the file that `FILE` or `FILE:NAME` means and the judge's name in it; None where it
    means no such file.
    """
    if Path(text).is_file() and text.endswith(DATA_ENDINGS):
        return Path(text), None
    path, _, name = text.rpartition(":")
    if name and path.endswith(DATA_ENDINGS):
        if not Path(path).is_file():
            raise InputError(f"there is no verdict file {path!r}")
        return Path(path), name
    if text.endswith(DATA_ENDINGS):
        raise InputError(f"there is no verdict file {text!r}")
    return None


def read_verdicts(path: Path, name: str | None, columns: VerdictColumns) -> JudgedDataset:
    """Read the verdicts of one judge; a name chooses it among those of a matrix.

    Raises:
        InputError: There is no judge of that name, or several and no name.
        DataError: The file cannot be used.
    """
    if name is not None and "*" not in columns.score:
        columns = replace(
            columns, score="verdicts.*" if columns.score == "score" else f"{columns.score}.*"
        )
    judges = load_judges(path, columns)
    if name is None and len(judges) > 1:
        raise InputError(
            f"{path} has {len(judges)} judges", hint=f"name one: {path}:{next(iter(judges))}"
        )
    if name is not None and name not in judges:
        raise InputError(f"{path} has no judge {name!r}", hint=f"there are {', '.join(judges)}")
    return judges[name] if name is not None else next(iter(judges.values()))


def read_holdout(path: Path, columns: VerdictColumns, *, scale: OutputScale) -> Dataset:
    """Read the labels of a holdout file, on the scale of the verdict files' labels; its other
    columns are metadata.

    Raises:
        DataError: The file cannot be used, or has labels beyond the scale.
    """
    roles = Roles(
        label=columns.label,
        id=None if columns.id == "id" else columns.id,
        group=columns.group,
        group_defaults=GROUP_COLUMNS,
        needed={columns.label: "--label COLUMN"},
        words=words_for(columns.label_map),
    )
    table = read_table(path, roles)
    beyond = next(
        (d for d in table.drafts if d.label is not None and not scale.contains(d.label)), None
    )
    if beyond is not None:
        theirs = scale.describe()
        raise InputError(
            f"{path}: the label of row {beyond.id!r} is {beyond.label:g}; the verdict files' are"
            f" {theirs}"
        )
    rows = (
        Row(id=d.id, inputs={}, label=d.label, meta=d.meta, group=d.group) for d in table.drafts
    )
    return Dataset.of(rows, labels=scale, name=path.name, notes=table.notes)


def pair_verdicts(
    before: JudgedDataset, after: JudgedDataset, holdout: Dataset | None = None
) -> tuple[JudgedDataset, JudgedDataset]:
    """Put two judges' verdicts on the same rows, by their ids, as two answers to one dataset.

    A row that one of them lacks is unscored there. With a holdout its rows are taken, with its
    labels.

    Raises:
        InputError: They share no row, or people said something else about the same row in the two
            files.
    """
    sides = [
        {r.id: (r, a) for r, a in zip(side.dataset.rows, side.answers, strict=True)}
        for side in (before, after)
    ]
    if not sides[0].keys() & sides[1].keys():
        raise InputError(
            f"{before.judge} and {after.judge} share no row id", hint="name the column with --id"
        )
    if holdout is None:
        _require_same_labels(before, after)
        rows = [
            *before.dataset.rows,
            *(row for row in after.dataset.rows if row.id not in sides[0]),
        ]
        dataset = Dataset.of(
            rows,
            labels=before.dataset.labels,
            name=before.dataset.name,
            notes=_notes(before, after),
        )
    else:
        dataset = _on_holdout(holdout, sides, _notes(before, after))
    # Rows of one query err together, however few queries there are: as independent they would be
    # accepted on noise.
    dataset = group_by_text(dataset, fewest=2)
    return _answered(before, dataset), _answered(after, dataset)


def _require_same_labels(before: JudgedDataset, after: JudgedDataset) -> None:
    mine = {row.id: row.label for row in before.dataset.rows}
    other = [r.id for r in after.dataset.rows if r.id in mine and r.label != mine[r.id]]
    if other:
        raise InputError(
            f"{before.judge} and {after.judge} have different labels for {len(other):,} rows, such"
            f" as {other[0]!r}",
            hint="give the file with the labels that count as HOLDOUT",
        )
    if before.dataset.labels != after.dataset.labels:
        theirs = [side.dataset.labels.describe() for side in (before, after)]
        raise InputError(
            f"labels are {theirs[0]} in one file and {theirs[1]} in the other",
            hint="state it: --scale",
        )


def _on_holdout(
    holdout: Dataset, sides: list[dict[str, tuple[Row, Answer]]], notes: tuple[str, ...]
) -> Dataset:
    """Return the holdout's rows with the texts and columns that the verdict files have of them."""
    judged_rows = {**sides[1], **sides[0]}
    rows = []
    for row in holdout.rows:
        theirs = judged_rows[row.id][0] if row.id in judged_rows else row
        meta = {**theirs.meta, **row.meta}
        rows.append(
            replace(
                row, inputs=row.inputs or theirs.inputs, meta=meta, group=row.group or theirs.group
            )
        )
    if not any(row.id in judged_rows for row in holdout.rows):
        raise InputError(
            f"no row of {holdout.name} is in the verdict files", hint="name the column with --id"
        )
    return Dataset.of(
        rows, labels=holdout.labels, name=holdout.name, notes=(*holdout.notes, *notes)
    )


def _answered(side: JudgedDataset, dataset: Dataset) -> JudgedDataset:
    """Return one judge's answers to the rows of a dataset."""
    answers_by_id = {answer.row_id: answer for answer in side.answers}
    missing = f"{side.judge} has no such row"
    answers = (
        answers_by_id.get(r.id) or Unscored(row_id=r.id, reason="parse", detail=missing)
        for r in dataset.rows
    )
    return replace(side, dataset=dataset, answers=tuple(answers))


def _notes(before: JudgedDataset, after: JudgedDataset) -> tuple[str, ...]:
    """Return what was assumed while reading: what holds for both once, the rest under the judge's
    name.
    """
    mine, theirs = before.dataset.notes, after.dataset.notes
    shared = [note for note in mine if note in theirs]
    apart = [
        f"{side.judge}: {note}"
        for side in (before, after)
        for note in side.dataset.notes
        if note not in shared
    ]
    return (*shared, *apart)
