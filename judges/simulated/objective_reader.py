"""Read an objective as a simulated model would: from a table of made-up readings, else not at all.

Nothing is worked out from the words. A sentence that the table does not have comes back unplaced,
which is what a model says of words that it cannot sort, and the person is asked.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import orjson

from ..files.small_file import read_our_yaml

OPENING = "You read what a person wants improved about an LLM judge"
_TEXT = "The person's text: "
_METRICS = "The metrics:"


def read_objective(system: str, user: str) -> str | None:
    """Return the JSON reply to a request for a reading; None where the request is another."""
    if not system.startswith(OPENING):
        return None
    lines = [line for line in user.splitlines() if line.startswith(_TEXT)]
    text = str(orjson.loads(lines[-1].removeprefix(_TEXT))) if lines else ""
    reading: dict[str, Any] = {  # Any: JSON
        "target": None,
        "direction": None,
        "quote": "",
        "guards": [],
        "floors": [],
        "slices": [],
        "unplaced": [],
    }
    row = _table().get(_plain(text))
    if row is None or f"- {row['target']}: " not in system.partition(_METRICS)[2]:
        reading["unplaced"] = [text]
    else:
        guards = [{"metric": m, "loss": v, "quote": text} for m, v in row.get("guards", {}).items()]
        floors = [
            {"metric": m, "at_least": v, "quote": text} for m, v in row.get("floors", {}).items()
        ]
        reading |= {"target": row["target"], "direction": row.get("direction"), "quote": text}
        reading |= {"guards": guards, "floors": floors}
    return orjson.dumps(reading).decode()


@cache
def _table() -> dict[str, dict[str, Any]]:
    """Return the made-up readings by their sentences."""
    rows = read_our_yaml(Path(__file__).parent / "objectives.yaml")
    return {_plain(row["text"]): row for row in rows["objectives"]}


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")
