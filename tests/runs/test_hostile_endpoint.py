"""A small version of `benchmarks/hostile_endpoint.py`: whatever an endpoint sends, no row and no
reply is lost.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "hostile_endpoint.py"


@pytest.mark.skipif(os.name != "posix", reason="the runs are forks")
def test_every_row_is_accounted_for_and_no_paid_reply_is_lost() -> None:
    """Two runs of every fault: absurd usage, endless and exploding bodies, redirects, endless
    headers.
    """
    command = [sys.executable, str(BENCHMARK), "--runs", "2", "--rows", "60", "--json"]
    command += ["--call-seconds", "600", "--no-trickle"]  # no clock decides
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads(ran.stdout)
    assert (report["runs"], report["hangs"], report["failures"]) == (2, 0, {})
    assert (report["unaccounted"], report["missed"], report["followed"]) == (0, 0, 0)
    assert report["answered"] + sum(report["unscored"].values()) == 120
    assert len(report["unscored"]) == 10
    assert all(reason.startswith("endpoint: ") for reason in report["unscored"])
    assert report["kept"] == report["paid"] == report["answered"]
    assert report["peak_bytes"] < 300_000_000
    assert ran.returncode == 0
