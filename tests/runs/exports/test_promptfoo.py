"""promptfoo exports: the configuration without the tool, its own command line with it."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import pytest
import yaml

from judgewright.judges import DecisionRule, Isotonic, JudgePrompt, Platt, Registry
from judgewright.runs.exports import (
    TARGETS,
    ExportContext,
    Refused,
    Verification,
    fill,
    template_messages,
)

HOSTILE = (
    'Braces {a} {{b}} {{{c}}} {% raw %} {# c #} ${x} %s "quotes" \'\'\' \\ """ \r\n\ttabs 漢字'
    " \u202e " + "x" * 20_000
)
KINDS = ["groundedness", "answerability", "routing", "diras_probability"]


def shipped(name: str) -> JudgePrompt:
    """A judge as it ships."""
    return Registry().get(name)


def written(given: ExportContext) -> tuple[str, list[dict[str, str]], str]:
    """The configuration's text, the rubric's messages, the grader's code."""
    config, rubric, grader, _ = TARGETS["promptfoo"].write(given).files.values()
    return config, json.loads(rubric), grader


def threshold(given: ExportContext) -> float:
    """The threshold of the assertion."""
    return yaml.safe_load(written(given)[0])["defaultTest"]["assert"][0]["threshold"]


@pytest.mark.parametrize("name", Registry().names())
def test_every_shipped_judge_has_a_configuration_and_a_rubric(name: str, context) -> None:
    """Names in the configuration are the files', the rubric is the judge's messages, nothing in it
    is an alias.
    """
    prompt = shipped(name)
    exported_files = TARGETS["promptfoo"].write(context(prompt))
    text, messages, _ = written(context(prompt))
    body = yaml.safe_load(text)["defaultTest"]["options"]
    assert [f"file://{file}" for file in list(exported_files.files)[1:3]] == [
        body["rubricPrompt"],
        body["provider"]["id"],
    ]
    assert "SIMULATED" in text.splitlines()[0]
    assert "&id" not in text
    row = {field: f"<<{field}>>" for field in prompt.inputs}
    places = [re.sub(r"\{\{ (\w+)[^}]* \}\}", r"<<\1>>", m["content"]) for m in messages]
    assert places == [m["content"] for m in fill(template_messages(prompt), row)]


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
    assert (
        threshold(replace(context(shipped(name)), rule=DecisionRule(threshold=positive))) == brought
    )


def test_a_calibrated_rule_arrives(context) -> None:
    """As a raw probability; where nothing is positive it is finite, for promptfoo passes over an
    infinite one.
    """
    given = context(shipped("diras_probability"))
    rule = DecisionRule(threshold=0.5, calibration=Platt(slope=1.0, intercept=-1.0))
    assert threshold(replace(given, rule=rule)) == pytest.approx(0.7310585786)
    never = DecisionRule(threshold=0.5, calibration=Isotonic(x=(0.5,), y=(0.1,)))
    assert 1.0 < threshold(replace(given, rule=never)) < math.inf


@pytest.mark.parametrize("name", ["output", "rubric", "env"])
def test_a_field_that_promptfoo_sets_is_refused(name: str, context) -> None:
    """The judge would be shown something else."""
    with pytest.raises(Refused, match=name):
        TARGETS["promptfoo"].write(
            context(replace(shipped("groundedness"), template=f"{{{{{name}}}}}"))
        )


@pytest.mark.parametrize("name", KINDS)
def test_it_is_verified_in_promptfoo(name: str, context, exported) -> None:
    """The grader is sent our messages over hostile rows, reads every grade, and passes what the
    rule passes.
    """
    found: Verification = exported("promptfoo", context(shipped(name)))
    assert found.problems == ()
    assert found.replies >= 3


def test_a_request_without_a_temperature_has_none_in_promptfoo(context, exported) -> None:
    """For a model that takes none; promptfoo has a default of its own."""
    given: ExportContext = context(shipped("groundedness"))
    asked = {
        name: value
        for name, value in given.request.items()
        if name not in ("temperature", "max_tokens")
    }
    assert exported("promptfoo", replace(given, asked=asked)).problems == ()


def test_hostile_prompt_text_round_trips_in_promptfoo(context, exported) -> None:
    """Braces, quotes, line breaks and twenty thousand letters arrive; the reply is prose here."""
    prompt = replace(
        shipped("groundedness"), system=HOSTILE, criteria=HOSTILE, reply=HOSTILE, reply_schema={}
    )
    assert exported("promptfoo", context(prompt)).problems == ()


def test_a_rubric_without_threshold_fails(context, mistaken) -> None:
    """promptfoo lets every score pass then, the lowest too."""
    given = context(shipped("groundedness"))
    found = mistaken("promptfoo", given, lambda text: re.sub(r" +threshold: .*\n", "", text))
    assert not found.passed
    assert "a reply (grade 0): with the score 0 is decided positive, not negative" in found.problems


def test_a_threshold_on_the_judges_own_scale_fails(context, mistaken) -> None:
    """2 on a score of 0..1 lets nothing pass."""
    given = context(shipped("groundedness"))
    found = mistaken(
        "promptfoo", given, lambda text: re.sub(r"threshold: .*\n", "threshold: 2\n", text)
    )
    assert not found.passed
    assert "a reply (grade 3): with the score 1 is decided negative, not positive" in found.problems


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

    found = mistaken("promptfoo", context(shipped("groundedness")), edit)
    assert any("in a fence" in problem and "unscored" in problem for problem in found.problems)
