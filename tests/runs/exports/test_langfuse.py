"""Langfuse exports: the API's bodies without the tool, push and pull through its client with it."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from judgewright.judges import DecisionRule, JudgePrompt, Registry
from judgewright.runs.exports import TARGETS, Refused, Verification, fill, template_messages

HOSTILE = (
    'Braces {a} {% raw %} {# c #} ${x} %s "quotes" \'\'\' \\ """ \r\n\ttabs 漢字 \u202e '
    + "x" * 20_000
)
KINDS = ["groundedness", "answerability", "routing", "diras_probability", "search_relevance"]


def shipped(name: str) -> JudgePrompt:
    """A judge as it ships."""
    return Registry().get(name)


@pytest.mark.parametrize("name", Registry().names())
def test_every_shipped_judge_is_a_prompt_and_an_evaluator(name: str, context) -> None:
    """Both have the judge's messages, the prompt no label that would put it to work, the evaluator
    our scale.
    """
    prompt = shipped(name)
    exported_files = TARGETS["langfuse"].write(context(prompt))
    stored, code, judge = exported_files.files.values()
    compile(code, "module", "exec")
    body, evaluator = json.loads(stored), json.loads(judge)
    row = {field: f"{{{{{field}}}}}" for field in prompt.inputs}
    assert body["prompt"] == evaluator["prompt"] == fill(template_messages(prompt), row)
    assert body["labels"] == []
    assert "SIMULATED" in body["commitMessage"]
    output = evaluator["outputDefinition"]
    if prompt.scale.labels:
        assert output["categories"] == list(prompt.scale.labels)
    else:
        assert (output["minValue"], output["maxValue"]) == (prompt.scale.low, prompt.scale.high)


def test_the_rule_stands_in_the_config(context) -> None:
    """A threshold that is not the prompt's own arrives."""
    given = replace(context(shipped("groundedness")), rule=DecisionRule(threshold=3))
    body = json.loads(next(iter(TARGETS["langfuse"].write(given).files.values())))
    assert body["config"]["judgewright"]["threshold"] == 3.0


@pytest.mark.parametrize(
    "text", ["{{b}}", "{{ source }}", "ends with {{", "@@@langfusePrompt:name=x|version=1@@@"]
)
def test_what_langfuse_would_replace_is_refused(text: str, context) -> None:
    """It has no way to write these as text."""
    with pytest.raises(Refused):
        TARGETS["langfuse"].write(context(replace(shipped("groundedness"), criteria=text)))


def test_a_field_called_self_is_refused(context) -> None:
    """`compile(self=...)` is an error in Python."""
    with pytest.raises(Refused, match="self"):
        TARGETS["langfuse"].write(context(replace(shipped("groundedness"), template="{{self}}")))


@pytest.mark.parametrize("name", KINDS)
def test_it_is_verified_in_langfuse(name: str, context, exported) -> None:
    """Pushed and pulled through the client it compiles to our messages over hostile rows."""
    found: Verification = exported("langfuse", context(shipped(name)))
    assert found.problems == ()
    assert found.replies >= 3


def test_hostile_prompt_text_round_trips_in_langfuse(context, exported) -> None:
    """All but double braces arrives: quotes, Jinja, line breaks and twenty thousand letters."""
    prompt = replace(shipped("groundedness"), system=HOSTILE, criteria=HOSTILE, reply=HOSTILE)
    assert exported("langfuse", context(prompt)).problems == ()


def test_fields_in_each_others_place_fail(context, mistaken) -> None:
    """The source where the statement belongs is another judge, and Langfuse would not notice."""
    swapped = {"{{source}}": "{{statement}}", "{{statement}}": "{{source}}"}

    def edit(text: str) -> str:
        return re.sub("|".join(swapped), lambda found: swapped[found.group()], text)

    found = mistaken("langfuse", context(shipped("groundedness")), edit)
    assert any("message 2 (user)" in problem for problem in found.problems)
