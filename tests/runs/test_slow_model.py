"""Opt-in: the walks of `benchmarks/slow_model.py` with a real language model that is made slow."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "slow_model.py"
MODEL = os.environ.get("JUDGEWRIGHT_GGUF")


@pytest.mark.skipif(
    MODEL is None, reason="takes an hour; JUDGEWRIGHT_GGUF names the file of a small model"
)
@pytest.mark.timeout(14_400)
def test_a_slow_model_leaves_nobody_without_a_word() -> None:
    """No silence over 3 s, and no request that its timeout cannot reach, in three commands over 60
    rows.
    """
    command = [sys.executable, str(BENCHMARK), str(MODEL), "--rate", "10"]
    walked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert walked.returncode == 0, walked.stdout + walked.stderr[-2000:]
    assert walked.stdout.count("0 that the timeout cannot reach") == 3
