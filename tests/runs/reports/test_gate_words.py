"""What the gate saw, in sentences: what became of unanswered rows, and what the final rows say of a
guard.
"""

from dataclasses import asdict, replace
from typing import Any

from judgewright.judges import Change, EqualGain
from judgewright.optimize.events import Evidence, GuardRecord, Remeasured, read_as
from judgewright.runs.reports import (
    describe_equal_gain,
    describe_evidence,
    describe_final,
    describe_guard,
    describe_unanswered,
)

from ..stored_events import EVIDENCE, stored

VALUES = {"before": 0.8004, "after": 0.7414, "difference": -0.059, "se": 0.018, "p": 0.999}
ROWS = {"n": 540, "groups": 328, "changed_groups": 60, "bearing_rows": 270, "bearing_groups": 200}
CHANGE = Change(
    metric="recall",
    **VALUES,
    low=-0.0943,
    high=-0.0237,
    **ROWS,
    freedom=59.0,
    effective_groups=190.0,
)


def closing(changes: dict[str, Any]) -> Remeasured:
    """A closing event with these fields."""
    return read_as(Remeasured, stored("everything", changes))


def evidence(changes: dict[str, Any]) -> Evidence:
    """What a decision rests on, with these fields."""
    return Evidence(**{**EVIDENCE, **changes})


def test_a_guard_that_the_final_rows_pass_is_said() -> None:
    """The paired change with its interval, and a sentence at the margin or beyond; nothing for runs
    of before.
    """
    better = asdict(
        replace(
            CHANGE, metric="precision", before=0.6, after=0.64, difference=0.04, low=0.01, high=0.07
        )
    )
    guards = [
        {"metric": "recall", "margin": margin, "change": asdict(CHANGE)} for margin in (0.05, 0.06)
    ]
    told = describe_final(
        closing(
            {"final_change": {"target": better, "guards": [*guards, guards[0] | {"change": None}]}}
        )
    )
    assert told == [
        "on the final rows precision 0.600 -> 0.640, +0.040 paired (95 % +0.010 .. +0.070)",
        (
            "on the final rows recall 0.800 -> 0.741, -0.059 paired (95 % -0.094 .. -0.024). "
            "The guard is passed there: a loss under 0.050 was allowed"
        ),
        "on the final rows recall 0.800 -> 0.741, -0.059 paired (95 % -0.094 .. -0.024)",
    ]
    assert describe_final(closing({})) == []


def test_a_gain_is_told_apart_from_another_threshold() -> None:
    """What is left at the same rate beside the gain; below the old curve is said to be that, and
    none is n/a.
    """
    target = asdict(CHANGE)
    left = replace(CHANGE, before=0.71, after=0.7414, difference=0.0314, low=-0.01, high=0.0728)
    equal = EqualGain(held="false positive rate", at=0.231, change=left)
    line = (
        "at the same false positive rate (0.231) recall gains +0.031 (95 % -0.010 .. +0.073) over"
        " the old prompt's "
    )
    assert describe_equal_gain(asdict(equal), target) == [
        f"{line}thresholds, which give 0.710 there"
    ]
    below = replace(
        equal, change=replace(left, before=0.76, difference=-0.0186, low=-0.06, high=0.02)
    )
    (line,) = describe_equal_gain(asdict(below), target)
    assert line.endswith(
        "gains -0.019 (95 % -0.060 .. +0.020): the new prompt is below the curve of the old one's"
        " thresholds, which give 0.760 there"
    )
    missing = EqualGain(
        held="recall", at=0.9, change=None, reason="the old judge has one threshold"
    )
    line = "the gain in recall at the same recall: n/a, the old judge has one threshold"
    assert describe_equal_gain(asdict(missing), target) == [line]
    seen = evidence({"target": target, "equal_gain": asdict(missing)})
    assert line in describe_evidence(seen)
    assert describe_equal_gain(None, target) == []
    final = {"target": target, "equal_gain": asdict(equal), "guards": []}
    assert (
        "on the final rows, at the same false positive rate"
        in describe_final(closing({"final_change": final}))[1]
    )


def test_rows_asked_again_and_the_worst_case_are_said() -> None:
    """How many, how often, what is left; and the bound of a guard with the rest counted against
    it.
    """
    rounds = [{"repeat": 1, "rows": 31, "left": 4}, {"repeat": 2, "rows": 4, "left": 2}]
    worst = asdict(replace(CHANGE, metric="f1", difference=0.021, p=0.0312))
    assert describe_unanswered(
        evidence({"asked_again": rounds, "unanswered": 2, "target_worst": worst})
    ) == [
        (
            "31 unanswered rows were asked again up to 2 times, on both sides; 2 stayed unanswered"
            " on a side"
        ),
        (
            "with 2 rows that one side alone answered counted against the new prompt f1 changes by"
            " +0.021 (p 0.0312)"
        ),
    ]
    assert describe_unanswered(evidence({})) == []
    guard = GuardRecord(
        metric="recall",
        margin=0.05,
        change=None,
        low=-0.0301,
        p=0.01,
        state="undecided",
        worst_low=-0.0611,
    )
    assert "or -0.061 with unanswered rows counted against it: that is undecided" in describe_guard(
        guard
    )


def test_a_guard_with_a_clear_bound_and_too_few_groups_says_so() -> None:
    """A bound inside the margin that is undecided all the same reads as a contradiction without the
    reason.
    """
    change = asdict(replace(CHANGE, bearing_groups=7))
    guard = GuardRecord(
        metric="recall",
        margin=0.6,
        change=change,
        low=-0.238,
        p=0.0001,
        state="undecided",
        worst_low=None,
    )
    assert describe_guard(guard).endswith(
        "undecided, because only 7 groups of the holdout bear on recall"
    )
