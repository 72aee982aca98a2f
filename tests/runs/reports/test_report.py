"""What a person reads of a run's events."""

from typing import Any

import pytest

from judgewright.runs.reports.report import say_event


def test_a_step_tells_of_every_proposal_and_why_it_failed(capsys: pytest.CaptureFixture[str]) -> None:
    """The one that came farthest, then each beside it with its result, its violations or its reason, on its line."""
    violation = {"name": "scale_changed", "detail": "the scale\nis another"}
    others: list[dict[str, Any]] = [
        {"result": "refused", "version": "aaa", "gradient": "g", "violations": [violation]},
        {"result": "no proposal", "reason": "the optimizer model failed: \x1b[31mtoo long"},
        {"result": "tried before", "version": "bbb"},
    ]
    say_event("step", {"step": 3, "batch_loss": 0.25, "result": "no loss: on\ntwo lines", "others": others})
    told = capsys.readouterr().out
    assert [line.strip() for line in told.splitlines()] == [
        r"step  3: batch loss 0.250: no loss: on\ntwo lines",
        "beside it aaa: refused",
        r"scale_changed: the scale\nis another",
        "beside it none: no proposal",
        r"the optimizer model failed: \x1b[31mtoo long",
        "beside it bbb: tried before",
    ]
