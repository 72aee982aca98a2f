"""DeepEval: the metric sends our messages from a test case, and decides at our threshold on a scale
from 0 to 1.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from judgewright.judges import DecisionRule, JudgePrompt, Platt, Registry
from judgewright.runs.exports import places_of
from judgewright.runs.exports.deepeval import TARGET


def shipped(name: str) -> JudgePrompt:
    """A judge as it ships."""
    return Registry().get(name)


@pytest.mark.parametrize("threshold", [1, 2.5, 3])
def test_the_rule_in_force_decides_in_the_tool(threshold: float, context, exported) -> None:
    """The check asks DeepEval whether each grade passes, in the metric."""
    given = replace(context(shipped("groundedness")), rule=DecisionRule(threshold=threshold))
    assert exported("deepeval", given).problems == ()


def test_a_calibrated_rule_arrives_as_a_raw_threshold(context, exported) -> None:
    """The calibration is folded into the threshold, and the manifest says so."""
    rule = DecisionRule(threshold=0.5, calibration=Platt(slope=1.0, intercept=-1.0))
    given = replace(context(shipped("diras_probability")), rule=rule)
    assert "THRESHOLD = 0.731058" in TARGET.write(given).files["diras_probability_deepeval.py"]
    found = exported("deepeval", given)
    assert found.problems == ()
    assert any("raw probability" in sentence for sentence in found.differences)


def test_each_place_of_a_test_case_is_taken_once() -> None:
    """Two passages cannot both be the retrieval context; the second stands in the metadata."""
    prompt = replace(
        shipped("groundedness"), template="{{source}} {{passages}} {{class}} {{answer}}"
    )
    assert places_of(prompt) == {
        "source": "retrieval_context",
        "passages": None,
        "class": None,
        "answer": "actual_output",
    }
