"""What a group of a pool is: which of its texts makes the groups, and whether another text repeats far more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...judges import Dataset

REPEATS_MORE = 4
"""So many times fewer values than groups make another text worth a note."""
FEWEST_VALUES = 3
"""A text with fewer values is an instruction rather than something that a decision could be about."""


def unit_of(pool: Dataset, reading: Mapping[str, Any]) -> str:  # Any: JSON
    """Return what the rows of one group share: the column that was named, else the text that makes the groups.

    Args:
        pool: The rows.
        reading: How `load_dataset` read them.

    Returns:
        Its name; empty where neither is known.
    """
    if reading.get("group"):
        return str(reading["group"])
    groups = {row.group_key for row in pool.rows}
    lengths: dict[str, int] = {}
    for name in pool.rows[0].inputs:
        pairs = {(row.group_key, _words(row.inputs.get(name, ""))) for row in pool.rows}
        if len(pairs) == len(groups) == len({text for _, text in pairs}):
            lengths[name] = sum(len(row.inputs.get(name, "")) for row in pool.rows)
    # Where several do, such as in rows that are all alone, it is the one by which files are grouped.
    return max(lengths, key=lambda name: lengths[name], default="")


def note_on_unit(pool: Dataset, unit: str, reading: Mapping[str, Any]) -> str:  # Any: JSON
    """Say that another text repeats far more than the one that makes the groups; empty where none does.

    Args:
        pool: The rows.
        unit: See `unit_of`.
        reading: How `load_dataset` read them.
    """
    if reading.get("group") or not unit:
        return ""
    most = len({row.group_key for row in pool.rows}) / REPEATS_MORE
    counts = {name: len({_words(row.inputs.get(name, "")) for row in pool.rows}) for name in pool.rows[0].inputs}
    fewer = {name: count for name, count in counts.items() if FEWEST_VALUES <= count <= most}
    if not fewer:
        return ""
    name = min(fewer, key=lambda name: fewer[name])
    column = reading.get("columns", {}).get(name, name)
    return (
        f"{name} has {fewer[name]:,} values in {len(pool):,} rows: for a decision about a new {name}, rather than a "
        f"new {unit}, say --group {column}"
    )


def _words(text: str) -> str:
    return " ".join(text.split())
