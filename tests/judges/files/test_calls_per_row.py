"""How many calls of functions a row costs: the same on every machine, so that a slower path shows
as a number.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from judgewright.judges.files import VerdictColumns, load_verdicts, stream_verdicts

from ...function_calls import count_calls

COLUMNS = VerdictColumns(confidence="confidence")


def write(path: Path, rows: int) -> Path:
    """Write verdicts of alike rows."""
    lines = [
        {
            "id": f"row {i}",
            "label": i % 4,
            "score": i % 3,
            "confidence": 0.5 + i % 50 / 100,
            "words": i,
        }
        for i in range(rows)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize(
    ("read", "most"),
    [
        (lambda path: stream_verdicts(path, COLUMNS), 120),
        (lambda path: load_verdicts(path, confidence="confidence"), 150),
    ],
    ids=["as a stream", "row by row"],
)
def test_a_row_of_a_verdict_file_costs_no_more_calls(
    tmp_path: Path,
    read: Callable[[Path], object],
    most: int,
    request: pytest.FixtureRequest,
    measured: Callable[[str], None],
) -> None:
    """What a thousand rows more cost, by the row; whoever makes it dearer raises the number here,
    and says why.
    """
    few, many = write(tmp_path / "few.jsonl", 1000), write(tmp_path / "many.jsonl", 2000)
    read(few)  # what is imported and made once
    per_row = (count_calls(lambda: read(many)) - count_calls(lambda: read(few))) / 1000
    measured(
        f"{per_row:.0f} calls of functions a row of a verdict file, {request.node.callspec.id}; at"
        f" most {most}"
    )
    assert most / 2 < per_row <= most
