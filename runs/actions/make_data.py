"""Write data files before a run: import another program's file, or split a file into parts."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonlines

from ...judges import (
    DataError,
    Dataset,
    InputError,
    OutputScale,
    Shares,
    split_dataset,
)
from ...judges.datasets import Flat, Source
from ...judges.files import (
    Problems,
    RawRoles,
    infer_raw_scale,
    judge_inputs,
    name_of,
    read_objects,
    read_raw_rows,
)
from ...judges.files.write_beside import draft_beside
from ...judges.rows import Scalar
from ...judges.splits import PARTS
from ...optimize.holdout.ledger import seen_rows
from ...optimize.holdout.sides import known_sides
from ..plugins import brought, load
from ..store.ledger import HoldoutLedger
from ..store.sealed_rows import SPLIT_BY
from ..store.workspace import Workspace

README = """# {name}, split

{lines}

Made by `judgewright data split` from {source} (seed {seed}, {shares}): whole groups, alike in labels; groups that
share nearly equal rows stay together.

The holdout says whether a change helped. Look at it once, for the decision; whoever looks, changes something and looks
again has made it training data. The final rows give the figure to report, after the decision. The workspace that made
the split counts the looks at both and shows none of their single rows; elsewhere nothing seals these files.

That workspace also splits the whole file in this way, in `optimize` and `calibrate`, also when rows have been
added to it; another one knows nothing of it.
"""  # noqa: E501


def data_sources() -> dict[str, Source]:
    """Return what plug-ins read, by name."""
    return {name: load(path) for name, path in brought("data_sources").items()}


@dataclass(slots=True, kw_only=True)
class Imported:
    """What an import wrote."""

    path: Path
    source: str
    rows: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    """Rows by label; `none` for those without."""
    groups: int = 0
    notes: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return everything as JSON."""
        return {
            "path": str(self.path),
            "source": self.source,
            "rows": self.rows,
            "labels": dict(self.labels),
            "groups": self.groups,
            "notes": list(self.notes),
        }


def import_rows(
    rows: Iterable[Flat],
    out: Path,
    *,
    source: str,
    notes: Sequence[str] = (),
) -> Imported:
    """Write rows of a source as JSONL that `load_dataset` reads; the file appears whole or not at
    all.

    Args:
        rows: The rows, read once.
        notes: The source's notes, complete when the rows have been read.

    Raises:
        InputError: There are no rows.
        DataError: An id stands twice, or the source's files are not as they should be.
    """
    imported = Imported(path=out, source=source)
    groups: set[Scalar | tuple[str, Scalar]] = set()
    with written_beside(out) as writer:
        for row in _each_once(rows):
            imported.rows += 1
            imported.labels["none" if row.get("label") is None else f"{row['label']:g}"] += 1
            groups.add(row.get("group_id") or ("", row["id"]))
            writer.write(row)
        if not imported.rows:
            raise InputError(f"{source}: there are no rows")
    imported.groups = len(groups)
    imported.notes = tuple(notes)
    return imported


def _each_once(rows: Iterable[Flat]) -> Iterator[Flat]:
    seen: set[Scalar] = set()
    for row in rows:
        if row["id"] in seen:
            raise DataError(
                f"the id {row['id']!r} stands twice",
                hint="map the column that tells the rows apart to id",
            )
        seen.add(row["id"])
        yield row


@contextmanager
def written_beside(path: Path) -> Iterator[jsonlines.Writer]:
    """Write JSON Lines into a temporary file beside the path, and rename it when all went well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = draft_beside(path)
    try:
        with (
            beside.open("w", encoding="utf-8", newline="\n") as file,
            jsonlines.Writer(file, dumps=_dumps) as writer,  # pyright: ignore[reportCallIssue]  # attrs names it _dumps
        ):
            yield writer
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _dumps(value: Any) -> str:  # Any: JSON
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitFiles:
    """What a split wrote."""

    folder: Path
    rows: Mapping[str, int]
    """By part; a part with no share has no file."""
    groups: Mapping[str, int]
    hashes: Mapping[str, str]
    """The content of each part, whatever the order of its rows."""
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Copying:
    """Permission to copy a sealed part into a file: no run has sealed these rows yet."""

    holdout: str


def split_file(
    workspace: Workspace,
    path: Path,
    folder: Path,
    *,
    roles: RawRoles,
    shares: Shares | None,
    seed: int = 0,
    scale: OutputScale | None = None,
) -> SplitFiles:
    """Write the four parts of a data file as JSONL, every column unchanged, and a README that
    describes them.

    A row that had no id or group gets the ones that the split went by, as `id` and `group_id`.
    Groups that a run or a split of the workspace had before stay where they were, and the workspace
    remembers where the others are now.

    Raises:
        InputError: The folder holds parts already, or there are too few groups.
        DataError: The file, or any of its rows, cannot be read.
    """
    existing = [
        p for p in (*(f"{part}.jsonl" for part in PARTS), "README.md") if (folder / p).exists()
    ]
    if existing:
        raise InputError(
            f"{folder / existing[0]} is there already",
            hint="name another folder: parts are never overwritten",
        )
    raw = read_raw_rows(path, roles, judges=judge_inputs(workspace.registry), drawn=True)
    labelled, label = any(row.label is not None for row in raw.rows), roles.label or "label"
    dataset = Dataset.of(raw.rows, labels=scale or infer_raw_scale(raw.rows), name=name_of(path))
    workspace.database.claim()
    ledger = HoldoutLedger(workspace.database)
    placed = known_sides(ledger.history().memories, dataset)
    splits = split_dataset(dataset, shares=shares, seed=seed, placed=placed)
    ledger.remember(seen_rows(f"{SPLIT_BY} {splits.training.content_hash[:12]}", splits))
    sealed = {
        part.name: part.open(_Copying(part.content_hash)) for part in (splits.holdout, splits.final)
    }
    parts = {"train": splits.training, "validation": splits.validation, **sealed}
    written = {name: part for name, part in parts.items() if len(part)}
    at_line = read_whole_objects(path)
    objects = {row.id: at_line[line] for row, line in zip(raw.rows, raw.lines, strict=True)}
    for name, part in written.items():
        with written_beside(folder / f"{name}.jsonl") as writer:
            for row in part.rows:
                body = objects[row.id]
                if str(body.get(roles.id or "id", "")) != row.id:
                    body = {"id": row.id} | body
                if not raw.group:
                    body = body | {"group_id": row.group}
                writer.write(body)
    done = SplitFiles(
        folder=folder,
        rows={name: len(part) for name, part in written.items()},
        groups={name: len({row.group_key for row in part.rows}) for name, part in written.items()},
        hashes={name: part.content_hash for name, part in written.items()},
        notes=(
            *raw.notes,
            *(note for note in splits.notes if not note.startswith(tuple(f"{p}: " for p in PARTS))),
            *(
                ()
                if labelled
                else (f"no row has a label in {label!r}, so the parts are not alike in labels",)
            ),
        ),
    )
    (folder / "README.md").write_text(_readme(path, done, splits.shares, seed), encoding="utf-8")
    return done


def read_whole_objects(path: Path) -> dict[int, dict[str, Any]]:  # Any: JSON
    """Return the records of a file by their lines, with their nesting where the format keeps it."""
    problems = Problems(path)
    objects: dict[int, dict[str, Any]] = {}  # Any: JSON
    for at, body in read_objects(path, problems):
        objects[at] = {name: _finite(value) for name, value in body.items()}
    problems.check()
    return objects


def _finite(value: Any) -> Any:  # Any: JSON
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _readme(path: Path, done: SplitFiles, shares: Shares, seed: int) -> str:
    lines = [
        f"- {name}.jsonl: {n:,} rows in {done.groups[name]:,} groups, content {done.hashes[name]}"
        for name, n in done.rows.items()
    ]
    shares_text = "/".join(f"{share:g}" for share in shares)
    return README.format(
        name=name_of(path), lines="\n".join(lines), source=path.name, seed=seed, shares=shares_text
    )
