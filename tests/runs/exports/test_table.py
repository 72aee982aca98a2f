"""A small version of `benchmarks/exports`: the independent table, of one judge in plain Python."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "exports"


def test_nothing_differs_that_no_manifest_says(tmp_path: Path) -> None:
    """What Judgewright and the module send is the same, and both read what is written down of every
    reply.
    """
    out = tmp_path / "table.jsonl"
    command = [
        sys.executable,
        str(BENCHMARK),
        "judgewright",
        "jinja",
        "python",
        "--judges",
        "calibrated",
    ]
    ran = subprocess.run([*command, "--out", str(out)], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 3
    for line in lines:
        assert (line["undeclared"], line["failed"]) == ({}, "")
        assert line["replies"] >= 40
        if line["target"] == "jinja":  # reads no reply, and its fences are fixed
            assert line["declared"]["messages"] == 6
        else:
            assert line["equal"]["score"] == line["replies"] + 6
            assert line["equal"]["decision"] > 20
    again = subprocess.run(
        [*command, "--out", str(out)], capture_output=True, text=True, check=False
    )
    assert again.stdout == ran.stdout  # nothing is tried twice
    assert len(out.read_text(encoding="utf-8").splitlines()) == 3
