"""What holds for every tool: each shipped judge is written or refused, and each kind of judge
arrives as it is.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from judgewright.judges import Example, JudgePrompt, Registry
from judgewright.runs.exports import TARGETS, Refused

TOOLS = sorted(
    name for name, target in TARGETS.items() if target.requires and target.runtime == "python"
)
HOSTILE = (
    'Braces {a} {{b}} {% raw %} {# c #} "quotes" \'\'\' \\ """ $x ${y} \r\n\ttabs 漢字 \u202e '
    + "x" * 20_000
)
LABELLED = ("routing",)
"""Judges that choose among labels, which a tool of numbers may refuse."""
IN_MODULES = (
    "azure",
    "braintrust",
    "deepeval",
    "inspect",
    "lmeval",
    "opik",
    "phoenix",
    "ragas",
    "weave",
)
"""Tools whose module carries any text and any kind of reply."""


def in_chat() -> JudgePrompt:
    """A judge with a demonstration, whose reply is a line of prose."""
    example = Example(inputs={"source": "{ice}", "statement": "Ice is cold."}, reply="Score: 0")
    reply = "Write one line: Score: and a whole number from 0 to 3."
    return replace(
        Registry().get("groundedness"), reply=reply, reply_schema={}, examples=(example,)
    )


@pytest.mark.parametrize("name", Registry().names())
@pytest.mark.parametrize("target", TOOLS)
def test_every_shipped_judge_is_written(target: str, name: str, context) -> None:
    """Modules compile and say where the judge was gated, data are JSON; only a choice among labels
    may be refused.
    """
    prompt = Registry().get(name)
    try:
        files = TARGETS[target].write(context(prompt)).files
    except Refused:
        assert name in LABELLED
        return
    for file, text in files.items():
        if file.endswith(".py"):
            compile(text, file, "exec")
            assert f"{name}@{prompt.version}, gated on simulated [SIMULATED" in text.split('"""')[1]
        elif file.endswith(".json"):
            json.loads(text)


@pytest.mark.parametrize("name", ["groundedness", "answerability", "routing", "diras_probability"])
@pytest.mark.parametrize("target", IN_MODULES)
def test_each_kind_of_scale_is_verified(target: str, name: str, context, exported) -> None:
    """The tool sends our messages and reads our grades: graded, yes or no, labels,
    probabilities.
    """
    if target in ("deepeval", "lmeval") and name == "routing":
        with pytest.raises(Refused, match="chooses one of"):
            TARGETS[target].write(context(Registry().get(name)))
        return
    found = exported(target, context(Registry().get(name)))
    assert found.problems == ()
    assert found.replies > 2


@pytest.mark.parametrize("target", IN_MODULES)
def test_hostile_prompt_text_arrives(target: str, context, exported) -> None:
    """Braces of every template syntax, quotes, line breaks and twenty thousand letters stand in
    every part.
    """
    prompt = replace(
        Registry().get("groundedness"), system=HOSTILE, criteria=HOSTILE, reply=HOSTILE
    )
    found = exported(target, context(prompt))
    assert found.problems == ()
    assert any("no prompt for Phoenix's store" in sentence for sentence in found.differences) == (
        target == "phoenix"
    )


@pytest.mark.parametrize("target", IN_MODULES)
def test_demonstrations_and_prose_replies_arrive(target: str, context, exported) -> None:
    """A judge with turns of a chat before the row, and a reply that is no JSON."""
    found = exported(target, context(in_chat()))
    assert found.problems == ()


@pytest.mark.parametrize("target", [*IN_MODULES, "openevals", "langchain", "mlflow", "trulens"])
def test_faults_of_a_module_are_found_in_its_tool(target: str, context, mistaken) -> None:
    """Another temperature, replies that were cut off and are scored, and decisions that are turned
    round.
    """

    def edit(text: str) -> str:
        text = re.sub(r'"temperature": 0\.0', '"temperature": 0.7', text)
        text = text.replace("require_whole(finish_reason, refusal)", "None")
        text = text.replace("(THRESHOLD - LOW)", "(HIGH - THRESHOLD)")  # DeepEval compares itself
        return re.sub(r">= (?=(?:score_of\()?THRESHOLD)", "< ", text)

    said = " | ".join(mistaken(target, context(Registry().get("groundedness")), edit).problems)
    assert "temperature is 0.7, not 0.0" in said
    # LangChain itself raises where a reply was cut off
    form = (
        "a refusal beside a verdict"
        if target in ("langchain", "openevals")
        else "whole, but ended by its limit"
    )
    assert f"a reply ({form}): has no verdict, and is scored" in said
    assert "is decided" in said
