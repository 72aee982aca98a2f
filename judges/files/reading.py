"""Read labelled rows: columns mapped to a judge's inputs, labels checked on their scale, rows put
into groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import DataError, InputError
from ..rows import Dataset
from ..scale import OutputScale, infer_label_scale, parse_label_scale
from .columns import Draft, Roles, Table, read_table, words_of
from .groups import NO_GROUP, group_note, guess_groups
from .problems import Problems
from .rows_in_memory import RowSource, name_of
from .verdict_scale import GradeMap, infer_scale, map_note, parse_grade_map, words_for

GROUP_COLUMNS = ("group_id", "group")
"""Columns that hold the group where none is named."""

_NO_COLUMNS: Mapping[str, str] = {}
_NO_MAP: GradeMap = {}
_LONG_ROW = 1_000_000


def load_dataset(
    path: RowSource,
    *,
    inputs: Sequence[str],
    scale: OutputScale,
    label: str | None = None,
    id: str | None = None,
    group: str | None = None,
    columns: Mapping[str, str] = _NO_COLUMNS,
    label_scale: OutputScale | None = None,
    label_map: GradeMap = _NO_MAP,
    limit: int | None = None,
    require_labels: bool = True,
    skip_incomplete: bool = False,
    drawn: bool = False,
    audited: str | Path | None = None,
) -> Dataset:
    """Read labelled rows from JSONL, JSON, CSV, TSV or Parquet, the text formats also as `.gz`.

    Args:
        path: The file, whose name says the format, or rows in memory.
        inputs: The fields the judge's template names.
        scale: The judge's scale; labels are read on it unless they say otherwise.
        label: The column of the human label; `label` where none is given.
        id: The column of the row's id; `id` where there is one, else the line number.
        group: The column of the group; `group_id` or `group` where there is one, else rows that
            share an input are one group, see `groups`; `none` makes each row one of its own.
        columns: A judge's input to the column that holds it, where the two differ in name.
        label_scale: The scale of the labels; inferred from them where it is not given.
        label_map: What cells of the label stand for, None for no label; others are read as they
            are.
        limit: How many rows to read at most.
        require_labels: Whether a file without a single label is an error.
        skip_incomplete: Whether to leave out rows that lack an input, saying how many, instead of
            refusing the file.
        drawn: Whether to keep rows that were drawn to be labelled with a probability below 1
            (column `sampling_probability`), for training; they are left out, with a note, where
            anything is measured.
        audited: A file with marks of an audit, whose labels count instead; see `read_audit`.

    Raises:
        InputError: `columns` or `limit` make no sense.
        DataError: The file, or any of its rows, cannot be used; up to ten problems are named.
    """
    _check_arguments(inputs, columns, limit)
    sources = {name: columns.get(name, name) for name in inputs}
    needed = {column: f"--column {name}=COLUMN" for name, column in sources.items()}
    if require_labels or label is not None:
        needed[label or "label"] = "--label COLUMN"
    for column, option in ((id, "--id"), (group, "--group")):
        if column:
            needed[column] = f"{option} COLUMN"
    roles = Roles(
        inputs=sources,
        label=label or "label",
        id=id,
        group=group,
        group_defaults=GROUP_COLUMNS,
        named={**columns, **_given(label=label, id=id, group=group)},
        needed=needed,
        words=words_for(label_map, words_of(label_scale or scale)),
        low_is_good=label_scale is not None and label_scale.low_is_good,
        skip_incomplete=skip_incomplete,
        drawn=drawn,
    )
    table = read_table(path, roles, limit=limit)
    labels = _label_scale(table, roles.label, scale, label_scale, require_labels)
    notes = [
        *table.notes,
        *_label_notes(table, labels, None if label_scale else scale),
        *map_note("labels", label_map),
        *_set_groups(table, roles),
        *_input_notes(table),
    ]
    if limit is not None and len(table.drafts) == limit:
        notes.append(f"at most the first {limit:,} rows were read")
    rows = [draft.row(draft.inputs, draft.meta) for draft in table.drafts]
    dataset = Dataset.of(rows, labels=labels, name=name_of(path), notes=notes)
    if audited is None:
        return dataset
    from .audited_labels import with_audited_labels

    return with_audited_labels(dataset, audited, complete=limit is None and not table.left_out)


def load_as_said(
    path: RowSource, reading: Mapping[str, Any], **more: Any
) -> Dataset:  # Any: as `load_dataset`
    """Read rows as `load_dataset` does; of its arguments `label_scale` and `label_map` are text, as
    runs keep them.
    """
    how: dict[str, Any] = {**reading, **more}  # Any: as above
    if how.get("label_scale"):
        how["label_scale"] = parse_label_scale(how["label_scale"])
    if text := how.pop("label_map", None):
        how["label_map"] = parse_grade_map(text, option="--label-map")
    return load_dataset(path, **how)


def _given(**named: str | None) -> dict[str, str]:
    return {role: column for role, column in named.items() if column and column != NO_GROUP}


def _check_arguments(inputs: Sequence[str], columns: Mapping[str, str], limit: int | None) -> None:
    for name in columns:
        if name not in inputs:
            raise InputError(
                f"the judge has no input {name!r}; its inputs are {', '.join(map(repr, inputs))}",
                hint="write --column INPUT=COLUMN, the judge's name first",
            )
    if limit is not None and limit < 1:
        raise InputError(f"limit {limit!r} is not a positive number of rows")


def _label_scale(
    table: Table, column: str, scale: OutputScale, stated: OutputScale | None, required: bool
) -> OutputScale:
    if required and all(draft.label is None for draft in table.drafts):
        raise DataError(
            f"{table.path}: no row has a label in column {column!r}",
            hint=(
                "name it with --label COLUMN; or give labels, a hundred are a beginning:"
                f" judgewright label --rows {table.path} --next 100"
            ),
        )
    if stated is not None:
        _check_labels(table, column, stated, "check --label-scale")
        return stated
    if not table.grades:
        return scale
    if table.worded and {min(table.worded), max(table.worded)} != {scale.low, scale.high}:
        return infer_scale(table.worded | table.grades)
    try:
        return infer_label_scale(table.grades, scale)
    except InputError as error:
        # Where single rows are outside the judge's scale they are named, which helps more.
        _check_labels(table, column, scale, error.hint)
        raise DataError(f"{table.path}, field {column!r}: {error}", hint=error.hint) from None


def _check_labels(table: Table, column: str, scale: OutputScale, hint: str | None) -> None:
    problems = Problems(table.path)
    for draft in table.drafts:
        if draft.label is not None and not scale.contains(draft.label):
            problems.add(
                draft.at,
                f"field {column!r}: {scale.written(draft.label):g} is outside the scale"
                f" ({scale.describe()})",
            )
    problems.check(hint=hint)


def _label_notes(table: Table, labels: OutputScale, scale: OutputScale | None) -> list[str]:
    """Say how labels were read; `scale` is the judge's where that of the labels was inferred."""
    notes = []
    values = [draft.label for draft in table.drafts if draft.label is not None]
    missing = len(table.drafts) - len(values)
    if values and missing:
        notes.append(f"{missing:,} of {len(table.drafts):,} rows have no label")
    if values and scale is not None and labels != scale:
        notes.append(
            f"labels were read as {labels.describe()}, while the judge grades {scale.describe()}"
        )
    if (
        scale is not None
        and labels == scale
        and scale.kind == "graded"
        and set(values) == set(scale.levels[1:])
    ):
        ends = f"{scale.low + 1}..{scale.high}"
        notes.append(f"no label is {scale.low}: if people graded {ends}, say --label-scale {ends}")
    if values and scale is not None and scale.low_is_good:
        notes.append(
            "a label of 1 is taken for the good one; --label-scale low-probability says that 0 is"
        )
    sides = {labels.positive(value) for value in values}
    if len(sides) == 1:
        side = "positive" if sides.pop() else "negative"
        notes.append(f"every label is {side}; only one side can be measured")
    return notes


def _set_groups(table: Table, roles: Roles) -> list[str]:
    """Fill in the groups where no column holds them, and say how rows are grouped."""
    drafts = table.drafts
    texts = {name: [draft.inputs[name] for draft in drafts] for name in roles.inputs}
    if table.group is None:
        guessed = guess_groups(texts, ungrouped=roles.ungrouped, columns=roles.inputs)
        for draft, key in zip(drafts, guessed.keys, strict=False):
            draft.group = key
        return guessed.notes(len(set(guessed.keys)))
    notes = [group_note(table.group, len({draft.group for draft in drafts if draft.group}))]
    alone = sum(not draft.group for draft in drafts)
    if alone:
        notes.append(f"rows without a {table.group}, each standing alone: {alone:,}")
    return notes


def _input_notes(table: Table) -> list[str]:
    notes = []
    for name in table.drafts[0].inputs:
        empty = [draft for draft in table.drafts if not draft.inputs[name].strip()]
        if empty:
            notes.append(
                f"rows with an empty {name}: {len(empty):,} (the first is {empty[0].id!r})"
            )
    longest: Draft = max(table.drafts, key=_length)
    if _length(longest) > _LONG_ROW:
        notes.append(f"the longest row, {longest.id!r}, has {_length(longest):,} characters")
    return notes


def _length(draft: Draft) -> int:
    return sum(len(text) for text in draft.inputs.values())
