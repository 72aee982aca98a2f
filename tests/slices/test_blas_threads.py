"""Tiny matrices are multiplied by one thread, and the caller's number of threads stays what it
was.
"""

import sys
from types import FrameType

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from judgewright.judges import BINARY, Dataset, JudgedDataset, Row, Verdict
from judgewright.slices import familywise, find_slices


def threads() -> set[int]:
    """How many threads BLAS takes."""
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


def test_one_thread_draws_and_the_callers_number_stays() -> None:
    """Threads cost four times the CPU there, as they wait for each other longer than they work."""
    draw = np.random.default_rng(0)
    rows = [
        Row(id=str(i), inputs={}, label=float(i % 2), meta={"a": f"v{draw.integers(4)}"})
        for i in range(400)
    ]
    answers = tuple(Verdict(row_id=row.id, score=1.0, positive=True) for row in rows)
    judged = JudgedDataset(dataset=Dataset.of(rows, labels=BINARY), answers=answers, scale=BINARY)
    seen: list[set[int]] = []

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is familywise._highest.__code__:
            seen.append(threads())

    with threadpool_limits(limits=2, user_api="blas"):
        before = threads()
        sys.setprofile(watch)
        try:
            find_slices(judged, metric="precision")
        finally:
            sys.setprofile(None)
        assert threads() == before
    assert seen
    assert all(one == {1} for one in seen)
