"""What a group of a pool is: which of its texts makes the groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...judges import Dataset
from ...judges.files import NO_GROUP


def unit_of(pool: Dataset, reading: Mapping[str, Any]) -> str:  # Any: JSON
    """Return what the rows of one group share: the column that was named, else the text that makes
    the groups.

    Args:
        pool: The rows.
        reading: How `load_dataset` read them.

    Returns:
        Its name; empty where neither is known.
    """
    if reading.get("group"):
        return "" if reading["group"] == NO_GROUP else str(reading["group"])
    groups = {row.group_key for row in pool.rows}
    lengths: dict[str, int] = {}
    for name in pool.rows[0].inputs:
        pairs = {(row.group_key, _words(row.inputs.get(name, ""))) for row in pool.rows}
        if len(pairs) == len(groups) == len({text for _, text in pairs}):
            lengths[name] = sum(len(row.inputs.get(name, "")) for row in pool.rows)
    # Where several do, such as in rows that are all alone, it is the one by which files are
    # grouped.
    return max(lengths, key=lambda name: lengths[name], default="")


def _words(text: str) -> str:
    return " ".join(text.split())
