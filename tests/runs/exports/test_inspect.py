"""Inspect AI: the scorer sends our messages in a real evaluation."""

from __future__ import annotations

from dataclasses import replace

from judgewright.judges import DecisionRule, JudgePrompt, Registry
from judgewright.runs.exports.inspect import TARGET


def shipped(name: str) -> JudgePrompt:
    """A judge as it ships."""
    return Registry().get(name)


def test_the_rule_in_force_stands_in_the_module(context) -> None:
    """Not the threshold the prompt was asked at."""
    changed_context = replace(context(shipped("groundedness")), rule=DecisionRule(threshold=3))
    assert "THRESHOLD = 3.0\n" in TARGET.write(changed_context).files["groundedness_inspect.py"]
