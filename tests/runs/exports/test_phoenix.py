"""Phoenix: the evaluator sends our messages over the wire, and the prompt for its store is safe or not written."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import DecisionRule, JudgePrompt, Shelf
from judgewright.judges.prompt import Example
from judgewright.runs.exports import Handover
from judgewright.runs.exports.phoenix import TARGET
from judgewright.runs.exports.segments import fill, template_messages

HOSTILE = 'Braces {a} {{b}} {% raw %} {# c #} "quotes" \'\'\' \\ """ $x ${y} \r\n\ttabs 漢字 \u202e ' + "x" * 20_000

TEXT = st.text() | st.text(alphabet="{}%#\\\"'$ \n\rxy_-")
"""Any text, and texts full of what dialects read."""


def shipped(name: str) -> JudgePrompt:
    """A judge as it ships."""
    return Shelf().get(name)


def in_chat() -> JudgePrompt:
    """A judge with a demonstration, whose reply is a line of prose."""
    example = Example(inputs={"source": "{ice}", "statement": "Ice is cold."}, reply="Score: 0")
    reply = "Write one line: Score: and a whole number from 0 to 3."
    return replace(shipped("groundedness"), reply=reply, reply_schema={}, examples=(example,))


@pytest.mark.parametrize("name", Shelf().names())
def test_every_shipped_judge_is_written(name: str, handover) -> None:
    """The module compiles and says where it was gated; the prompt is JSON."""
    files = TARGET.write(handover(shipped(name))).files
    for file, text in files.items():
        if file.endswith(".py"):
            compile(text, file, "exec")
            assert text.startswith(f'"""{name}@{shipped(name).version}, gated on simulated [SIMULATED')
        else:
            json.loads(text)


@pytest.mark.parametrize("name", ["groundedness", "answerability", "routing", "diras_probability"])
def test_each_kind_of_scale_is_verified(name: str, handover, exported) -> None:
    """Over the wire go our messages; scores are our grades, a choice has its label, and a row may go unscored."""
    found = exported("phoenix", handover(shipped(name)))
    assert found.problems == ()
    assert found.replies > 2


def test_hostile_prompt_text_arrives(handover, exported) -> None:
    """Braces of every dialect, quotes, line breaks and twenty thousand letters stand in every part."""
    prompt = replace(shipped("groundedness"), system=HOSTILE, criteria=HOSTILE, reply=HOSTILE)
    found = exported("phoenix", handover(prompt))
    assert found.problems == ()
    assert any("no prompt for Phoenix's store" in told for told in found.differences)


def test_demonstrations_and_prose_replies_arrive(handover, exported) -> None:
    """A judge with turns of a chat before the row, and a reply that is no JSON."""
    found = exported("phoenix", handover(in_chat()))
    assert found.problems == ()
    assert any("prose" in told for told in found.differences)


@settings(deadline=None)
@given(text=TEXT, source=TEXT, statement=TEXT)
def test_the_stored_prompt_fills_to_our_messages_or_is_not_written(text: str, source: str, statement: str) -> None:
    """One pass over `{{name}}`, as Mustache makes it."""
    prompt = replace(shipped("groundedness"), criteria=text, reply=text)
    row = {"source": source, "statement": statement}
    bundle = TARGET.write(Handover(prompt=prompt, rule=prompt.rule, provenance={}))
    if "groundedness_phoenix.json" not in bundle.files:
        assert any("no prompt for Phoenix's store" in told for told in bundle.differences)
        return
    messages = json.loads(bundle.files["groundedness_phoenix.json"])
    got = [m | {"content": re.sub(r"\{\{(\w+)\}\}", lambda f: row[f.group(1)], m["content"])} for m in messages]
    assert got == fill(template_messages(prompt), row)


def test_single_braces_are_not_taken_for_an_f_string(handover, exported) -> None:
    """Phoenix guesses the dialect of each message unless told; a system text with `{x}` would be the wrong guess."""
    prompt = replace(shipped("groundedness"), criteria='Write {x} or {"a": 1} as it is.')
    found = exported("phoenix", handover(prompt))
    assert found.problems == ()
    assert not any("no prompt" in told for told in found.differences)


def test_a_stored_prompt_that_is_another_text_fails(handover, mistaken) -> None:
    """The file beside the module is what push and the classifier use."""

    def edit(text: str) -> str:
        return (
            text.replace("Indirect evidence counts", "Indirect evidence never counts") if text.startswith("[") else text
        )

    found = mistaken("phoenix", handover(shipped("groundedness")), edit)
    assert "row 1 renders as another text" in " ".join(found.problems)


def test_the_rule_in_force_stands_in_the_module(handover) -> None:
    """Not the threshold the prompt was asked at."""
    given_over = replace(handover(shipped("groundedness")), rule=DecisionRule(threshold=3))
    assert "THRESHOLD = 3.0\n" in TARGET.write(given_over).files["groundedness_phoenix.py"]
