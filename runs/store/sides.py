"""`sides.jsonl`: which part each group of a data file is in, beside the data, so that it holds in
other workspaces too.

`data split` writes it into the folder of the parts, and enters it in its workspace. A command that
splits a data file reads it where it lies in the folder of that file. It holds hashes alone, and no
text can be read back.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...judges import InputError, Splits
from ...judges.splits import PARTS
from ...optimize.holdout.ledger import seen_rows
from ...optimize.holdout.row_fingerprints import GroupFingerprints, RowFingerprints
from ...optimize.holdout.sides import PlacedGroup, SeenRows, Sides
from .ledger import HoldoutLedger
from .workspace import Workspace

SIDES_FILE = "sides.jsonl"


def keep_sides(workspace: Workspace, parts: Splits) -> str:
    """Enter in the ledger where each group of a split is, and return what `sides.jsonl` holds of
    it.

    Raises:
        WorkspaceError: The ledger cannot be written.
    """
    seen = seen_rows("", parts)
    assert seen.sides is not None
    places = {group.row: group for group in seen.sides.groups}
    lines: list[str] = []
    for rows in (seen.open, *seen.sealed.values()):
        for group in rows.groups:
            group_side = places[min(group.rows)]
            line = {"part": group_side.side, "group": group_side.name.hex(), "size": group.size}
            keys = {
                "rows": sorted(key.hex() for key in group.rows),
                "texts": sorted(key.hex() for key in group.texts),
            }
            lines.append(json.dumps(line | keys) + "\n")
    body = "".join(sorted(lines))
    ledger = HoldoutLedger(workspace.database)
    ledger.remember(replace(seen, run_id=_name(body.encode())))
    return body


def _name(body: bytes) -> str:
    """Return under which name the ledger has what a file holds."""
    return f"{SIDES_FILE} {hashlib.blake2b(body, digest_size=6).hexdigest()}"


def sides_beside(data: Path) -> tuple[SeenRows, ...]:
    """Read where the groups of a data file are, from the file in its folder; nothing where there is
    none.

    Raises:
        InputError: A line of it cannot be read.
    """
    path = data.with_name(SIDES_FILE)
    if not path.is_file():
        return ()
    body = path.read_bytes()
    places: list[PlacedGroup] = []
    groups: dict[str, list[GroupFingerprints]] = {part: [] for part in PARTS}
    for number, line in enumerate(body.splitlines(), 1):
        try:
            one: dict[str, Any] = json.loads(line)  # Any: JSON
            rows, texts = (
                frozenset(bytes.fromhex(key) for key in one[name]) for name in ("rows", "texts")
            )
            groups[one["part"]].append(GroupFingerprints(int(one["size"]), rows, texts))
            places.append(PlacedGroup(bytes.fromhex(one["group"]), min(rows), one["part"]))
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{path}, line {number} is not a group and its part: {error!r}",
                hint="write it anew with `judgewright data split`, or take the file away",
            ) from None
    name = _name(body)
    sealed = {
        f"{name}, {part}": RowFingerprints(tuple(groups[part]))
        for part in ("holdout", "final")
        if groups[part]
    }
    seen = RowFingerprints((*groups["train"], *groups["validation"]))
    return (SeenRows(run_id=name, open=seen, sealed=sealed, opened={}, sides=Sides(tuple(places))),)


def enter_sides(workspace: Workspace, data: Path) -> None:
    """Enter what lies beside a data file in the ledger, before its rows are split.

    Raises:
        InputError: See `sides_beside`.
        WorkspaceError: The ledger cannot be written.
    """
    for seen in sides_beside(data):
        HoldoutLedger(workspace.database).remember(seen, allow_opened=True)
