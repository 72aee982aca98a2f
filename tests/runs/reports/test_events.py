"""What a person reads of a run's events."""

from typing import Any

import pytest

from judgewright.optimize.events import Remeasured, read_as
from judgewright.runs.reports import METRIC_ORDER, say_event
from judgewright.runs.reports.tables import sides_table

from ..stored_events import event as event_of
from ..stored_events import stored


def test_a_step_tells_of_every_proposal_and_why_it_failed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The one that came farthest, then each beside it with its result, its violations or its
    reason, on its line.
    """
    violation = {"name": "scale_changed", "detail": "the scale\nis another"}
    others: list[dict[str, Any]] = [
        {"result": "refused", "version": "aaa", "gradient": "g", "violations": [violation]},
        {"result": "no proposal", "reason": "the optimizer model failed: \x1b[31mtoo long"},
        {"result": "tried before", "version": "bbb"},
    ]
    say_event(
        event_of(
            "step",
            {"step": 3, "batch_loss": 0.25, "result": "no loss: on\ntwo lines", "others": others},
        )
    )
    told = capsys.readouterr().out
    assert [line.strip() for line in told.splitlines()] == [
        r"step  3: batch loss 0.250: no loss: on\ntwo lines",
        "beside it aaa: refused",
        r"scale_changed: the scale\nis another",
        "beside it none: no proposal",
        r"the optimizer model failed: \x1b[31mtoo long",
        "beside it bbb: tried before",
    ]


ESTIMATE = {"value": 0.5, "low": 0.4, "high": 0.6, "n": 40}
TABLE = {"n": 40, "metrics": dict.fromkeys(METRIC_ORDER, ESTIMATE)}


@pytest.mark.parametrize(
    ("event", "title", "silent"),
    [
        ({"before": {"pooled": TABLE, "by": {}}}, "The open rows as they are", "whole benchmark"),
        (
            {side: {"pooled": TABLE, "by": {}} for side in ("before", "after")}
            | {"includes_sealed_rows": False},
            "final rows stay sealed",
            "whole benchmark",
        ),
        (
            {side: {"pooled": TABLE, "by": {}, "final": TABLE} for side in ("before", "after")}
            | {"includes_sealed_rows": True},
            "The figure to report: the final rows",
            "stay sealed",
        ),
    ],
    ids=["no survivor", "no accept", "accepted"],
)
def test_the_closing_table_says_which_rows_it_is_over(
    event: dict[str, Any], title: str, silent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Open rows alone without an accept, all rows and the final ones after it."""
    say_event(event_of("everything", {"by": None, "final_opened": 0, **event}))
    told = capsys.readouterr().out
    assert title in told
    assert silent not in told


def test_what_a_closing_table_lacks_is_told_with_its_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each reason once, with the figures it holds for."""
    missing = {
        "value": None,
        "low": None,
        "high": None,
        "n": 40,
        "reason": "no row is labelled positive",
    }
    table = {"n": 40, "metrics": {**TABLE["metrics"], "recall": missing, "f1": missing}}  # type: ignore[dict-item]
    sides = {
        side: {"pooled": table, "by": {"DL19": table, "DL20": TABLE}}
        for side in ("before", "after")
    }
    say_event(
        event_of(
            "everything",
            {"by": "dataset", "final_opened": 0, "includes_sealed_rows": True, **sides},
        )
    )
    lines = capsys.readouterr().out.splitlines()
    assert "  n/a: recall of DL19, f1 of DL19 (no row is labelled positive)" in lines
    assert "  n/a: recall, f1 (no row is labelled positive)" in lines
    sides = [{"n": 40, "metrics": {"recall": one}} for one in (missing, ESTIMATE)]
    table = sides_table("pooled", sides)
    assert table.lines == [("recall", "n/a", "", "0.500", "0.400 .. 0.600")]
    assert table.notes == ["n/a: recall (no row is labelled positive)"]


def test_a_closing_table_of_an_earlier_version_is_over_all_rows_where_there_was_a_survivor() -> (
    None
):
    """It did not write down which rows it is over."""
    side = {"pooled": TABLE, "by": {}}
    assert read_as(Remeasured, stored("everything", {"after": side})).includes_sealed_rows
    assert not read_as(Remeasured, stored("everything", {})).includes_sealed_rows


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
