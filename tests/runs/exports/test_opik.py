"""Opik: the metric sends our messages, and the prompt it stores renders to the same text."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import DecisionRule, JudgePrompt, Shelf
from judgewright.judges.prompt import Example
from judgewright.runs.exports import Handover
from judgewright.runs.exports.opik import TARGET
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
    """The modules compile and say where the judge was gated; the prompt is JSON."""
    files = TARGET.write(handover(shipped(name))).files
    for file, text in files.items():
        if file.endswith(".py"):
            compile(text, file, "exec")
            assert text.startswith(f'"""{name}@{shipped(name).version}, gated on simulated [SIMULATED')
        else:
            json.loads(text)


@pytest.mark.parametrize("name", ["groundedness", "answerability", "routing", "diras_probability"])
def test_each_kind_of_scale_is_verified(name: str, handover, exported) -> None:
    """Our messages, and scores from 0 to 1 with the grade in the metadata; the label of a choice is a category."""
    found = exported("opik", handover(shipped(name)))
    assert found.problems == ()
    assert found.replies > 2


def test_hostile_prompt_text_arrives(handover, exported) -> None:
    """Braces of every dialect, quotes, line breaks and twenty thousand letters stand in every part."""
    prompt = replace(shipped("groundedness"), system=HOSTILE, criteria=HOSTILE, reply=HOSTILE)
    assert exported("opik", handover(prompt)).problems == ()


def test_demonstrations_and_prose_replies_arrive(handover, exported) -> None:
    """A judge with turns of a chat before the row, and a reply that is no JSON."""
    found = exported("opik", handover(in_chat()))
    assert found.problems == ()
    assert any("prose" in told for told in found.differences)


@settings(deadline=None)
@given(text=TEXT, source=TEXT, statement=TEXT)
def test_the_stored_prompt_renders_to_our_messages(text: str, source: str, statement: str) -> None:
    """Opik renders Jinja by `jinja2.Template`, as here."""
    import jinja2

    prompt = replace(shipped("groundedness"), criteria=text, reply=text)
    row = {"source": source, "statement": statement}
    given_over = Handover(prompt=prompt, rule=prompt.rule, provenance={})
    messages = json.loads(TARGET.write(given_over).files["groundedness_opik.json"])
    got = [m | {"content": jinja2.Template(m["content"]).render(**row)} for m in messages]
    assert got == fill(template_messages(prompt), row)


def test_a_stored_prompt_that_is_another_text_fails(handover, mistaken) -> None:
    """Opik would show a broken template as it is, without an error."""

    def edit(text: str) -> str:
        return text.replace("{{ statement }}", "{{ statement") if text.startswith("[") else text

    found = mistaken("opik", handover(shipped("groundedness")), edit)
    assert "row 1 renders as another text" in " ".join(found.problems)


def test_the_rule_in_force_stands_in_the_module(handover) -> None:
    """Not the threshold the prompt was asked at."""
    given_over = replace(handover(shipped("groundedness")), rule=DecisionRule(threshold=3))
    assert "THRESHOLD = 3.0\n" in TARGET.write(given_over).files["groundedness_opik.py"]
