"""How many calls of functions a row costs: the same on every machine, so that a slower path shows as a number."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from judgewright.judges.files import VerdictColumns, load_verdicts, stream_verdicts

COLUMNS = VerdictColumns(confidence="confidence")


def calls(work: Callable[[], object]) -> int:
    """Count the calls of functions, Python's and C's, that some work makes."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def write(path: Path, rows: int) -> Path:
    """Write verdicts of alike rows."""
    lines = [
        {"id": f"row {i}", "label": i % 4, "score": i % 3, "confidence": 0.5 + i % 50 / 100, "words": i}
        for i in range(rows)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize(
    ("read", "most"),
    [
        (lambda path: stream_verdicts(path, COLUMNS), 60),
        (lambda path: load_verdicts(path, confidence="confidence"), 130),
    ],
    ids=["as a stream", "row by row"],
)
def test_a_row_of_a_verdict_file_costs_no_more_calls(tmp_path: Path, read: Callable[[Path], object], most: int) -> None:
    """What a thousand rows more cost, by the row; whoever makes it dearer raises the number here, and says why."""
    few, many = write(tmp_path / "few.jsonl", 1000), write(tmp_path / "many.jsonl", 2000)
    read(few)  # what is imported and made once
    per_row = (calls(lambda: read(many)) - calls(lambda: read(few))) / 1000
    assert most / 2 < per_row <= most
