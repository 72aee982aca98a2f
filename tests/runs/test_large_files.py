"""A file that does not fit into memory. docs/reliability.md."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LARGE = 33_000_000
"""Bytes: enough to be read as a stream."""
MOST_MB = 200
"""Half of it are the libraries (pandas loads pyarrow where it is there); the rest does not grow
with the file: rows of a gigabyte would be twenty times as much."""
SCRIPT = """
import os, resource, sys
child = os.fork()
if child == 0:
    os.dup2(os.open("said.json", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 1)
    os.execv(sys.executable, [sys.executable, "-m", "judgewright", "score", sys.argv[1], "--json"])
_, status, used = os.wait4(child, 0)
print(status, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


def write_verdicts(path: Path, size: int) -> tuple[int, int]:
    """Write rows with texts of a kilobyte until a file is so large; return how many, and how many
    true positives.
    """
    texts = [f"A source of many words, number {i}. " * 28 for i in range(50)]
    rows = both = written = 0
    with path.open("w", encoding="utf-8") as file:
        while written < size:
            label, score = rows % 3 > 0, rows % 5 > 1
            row = {
                "id": f"r{rows}",
                "source": texts[rows % 50],
                "label": int(label),
                "score": int(score),
            }
            written += file.write(json.dumps(row) + "\n")
            rows, both = rows + 1, both + (label and score)
    return rows, both


def score(path: Path) -> tuple[float, float, dict[str, Any]]:  # Any: JSON
    """Score a file in a process of its own; return seconds of CPU, megabytes, and what was
    printed.
    """
    words = [sys.executable, "-c", SCRIPT, path.name]
    ran = subprocess.run(words, cwd=path.parent, check=True, capture_output=True, text=True)
    status, seconds, most = ran.stdout.split()
    assert status == "0", ran.stderr
    return float(seconds), float(most), json.loads((path.parent / "said.json").read_text())


@pytest.mark.skipif(
    not hasattr(os, "wait4"), reason="the system does not say what a process has used"
)
def test_a_large_file_is_scored_in_little_memory(
    tmp_path: Path, nightly: bool, measured: Callable[[str], None]
) -> None:
    """No row is kept; the figures are those of the rows."""
    size = 1_000_000_000 if nightly else LARGE
    large = tmp_path / "large.jsonl"
    rows, both = write_verdicts(large, size)
    seconds, most, said = score(large)
    measured(
        f"{size / 1e6:,.0f} MB, {rows:,} rows: {seconds:.0f} s of CPU, {most:.0f} MB of memory"
    )
    assert (said["n"], said["confusion"]["tp"]) == (rows, both)
    assert most < MOST_MB
