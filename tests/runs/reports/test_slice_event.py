"""What a run says of its slice: a heading that the slice deserves, reasons, and judges' outputs
apart.
"""

from __future__ import annotations

from typing import Any

import pytest

from judgewright.runs.reports import say_event

from ..stored_events import event as event_of


def found(predicate: str, **changed: Any) -> dict[str, Any]:  # Any: JSON
    """A slice as a run's journal holds it."""
    plain = {"n": 68, "value": 0.412, "rest": 0.583, "p": 0.01, "direction": "fp"}
    return {
        "predicate": predicate,
        **plain,
        "confirmed": True,
        "prompt_target": True,
        "why_no_target": None,
    } | changed


LIKELIEST = found(
    "dataset = qags", p=0.38, confirmed=False, prompt_target=False, why_no_target="not confirmed"
)
MISSED = found(
    "model is missing",
    direction=None,
    prompt_target=False,
    why_no_target="neither kind of error prevails",
)
OUTPUT = {
    "column": "gpt4_score",
    "reason": "its name says that a judge gave it; --keep COLUMN searches it all the same",
    "levels": [
        {"predicate": "gpt4_score < 2", "value": 0.4, "low": 0.3, "high": 0.5, "n": 40},
        {"predicate": "gpt4_score >= 2", "value": 0.7, "low": None, "high": None, "n": 3},
    ],
}


@pytest.mark.parametrize(
    ("name", "slices", "heading"),
    [
        ("channel = table", [found("channel = table"), MISSED], "where the errors point one way"),
        ("dataset = qags", [LIKELIEST, MISSED], "none is a target, the likeliest is taken"),
        ("all rows", [MISSED], "none, the run is unguided: all rows are taken"),
        ("channel = pdf", [], "named by the caller"),
    ],
)
def test_the_heading_is_one_the_slice_deserves(
    name: str, slices: list[dict[str, Any]], heading: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only a confirmed target stands under the words that praise it; confirmed slices that are none
    say why.
    """
    say_event(event_of("slice", {"name": name, "found": slices, "left_out": {}, "notes": []}))
    printed = capsys.readouterr().out
    assert f"2. Slice: {heading}\n" in printed
    missed = "confirmed, but no target: model is missing (neither kind of error prevails)"
    assert (missed in printed) == (MISSED in slices)
    assert "confirmed, but no target: dataset" not in printed


def test_outputs_of_judges_are_printed_apart_with_how_to_keep_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """They are named once, with the metric at their values, and not again among the columns not
    searched.
    """
    why = {"gpt4_score": OUTPUT["reason"], "label_raw": "gives the label away"}
    event = {
        "name": "all rows",
        "why": "w",
        "found": [],
        "left_out": why,
        "notes": [],
        "metric": "precision",
    }
    say_event(event_of("slice", event | {"judge_outputs": [OUTPUT]}))
    printed = capsys.readouterr().out
    assert "calibration, not a cause" in printed
    assert "gpt4_score < 2" in printed
    assert (
        "gpt4_score: its name says that a judge gave it; --keep COLUMN searches it all the same"
        in printed
    )
    assert "not searched: gpt4_score" not in printed
    assert "not searched: label_raw" in printed


def test_the_slice_of_a_run_of_old_is_still_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """Its journal holds neither reasons nor outputs."""
    older = {name: value for name, value in MISSED.items() if name != "why_no_target"}
    say_event(event_of("slice", {"found": [older], "notes": []}))
    assert "model is missing" in capsys.readouterr().out
