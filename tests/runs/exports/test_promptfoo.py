"""The configuration for promptfoo: its files, its threshold, and what its grader reads."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import pytest
import yaml

from judgewright.judges import DecisionRule, Isotonic, Platt, Registry
from judgewright.runs.exports import TARGETS, ExportContext, fill, template_messages


def threshold(context: ExportContext) -> float:
    """The threshold of the assertion."""
    text = TARGETS["promptfoo"].write(context).files["promptfooconfig.yaml"]
    return yaml.safe_load(text)["defaultTest"]["assert"][0]["threshold"]


@pytest.mark.parametrize(
    "name", [name for name in Registry().names() if Registry().get(name).cases is None]
)
def test_every_shipped_judge_without_cases_has_a_configuration_and_a_rubric(
    name: str, context
) -> None:
    """Names in the configuration are the files', the rubric is the judge's messages, nothing in it
    is an alias.
    """
    prompt = Registry().get(name)
    files = TARGETS["promptfoo"].write(context(prompt)).files
    text, messages = files["promptfooconfig.yaml"], json.loads(files["rubric.json"])
    options = yaml.safe_load(text)["defaultTest"]["options"]
    assert {options["rubricPrompt"], options["provider"]["id"]} == {
        "file://rubric.json",
        "file://promptfoo_grader.mjs",
    }
    assert "promptfoo_grader.mjs" in files
    assert "SIMULATED" in text.splitlines()[0]
    assert "&id" not in text
    row = {field: f"<<{field}>>" for field in prompt.inputs}
    filled = [re.sub(r"\{\{ (\w+)[^}]* \}\}", r"<<\1>>", m["content"]) for m in messages]
    assert filled == [m["content"] for m in fill(template_messages(prompt), row)]


@pytest.mark.parametrize(
    ("name", "positive", "brought"),
    [
        ("groundedness", 2, 2 / 3),
        ("groundedness", 3, 1.0),
        ("answerability", 1, 1.0),
        ("diras_probability", 0.4, 0.4),
    ],
)
def test_the_threshold_is_brought_to_0_to_1(
    name: str, positive: float, brought: float, context
) -> None:
    """As the grader computes it, to the last digit: 2 of 0..3 must not fall below 2/3."""
    rule = DecisionRule(threshold=positive)
    assert threshold(replace(context(Registry().get(name)), rule=rule)) == brought


def test_a_calibrated_rule_arrives(context) -> None:
    """As a raw probability; where nothing is positive it is finite, for promptfoo passes over an
    infinite one.
    """
    judge = context(Registry().get("diras_probability"))
    rule = DecisionRule(threshold=0.5, calibration=Platt(slope=1.0, intercept=-1.0))
    assert threshold(replace(judge, rule=rule)) == pytest.approx(0.7310585786)
    never = DecisionRule(threshold=0.5, calibration=Isotonic(x=(0.5,), y=(0.1,)))
    assert 1.0 < threshold(replace(judge, rule=never)) < math.inf


@pytest.mark.slow
def test_a_response_format_that_the_server_ignores_fails(context, mistaken) -> None:
    """Where promptfoo knows of it, it parses the reply itself and counts a fence round the verdict
    as score 0.
    """

    def edit(text: str) -> str:
        if not text.startswith("# groundedness"):
            return text
        body = yaml.safe_load(text)
        model = body["defaultTest"]["options"]["provider"]["config"]["provider"]["config"]
        model |= model.pop("passthrough")
        return yaml.safe_dump(body)

    problems = mistaken("promptfoo", context(Registry().get("groundedness")), edit).problems
    assert any("in a fence" in problem and "unscored" in problem for problem in problems)
