"""Ragas: the metric sends our messages, and its own metric classes load a prompt whose braces are safe."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import DecisionRule, JudgePrompt, Registry
from judgewright.judges.prompt import Example
from judgewright.runs.exports.ragas import TARGET
from judgewright.runs.exports.template_parts import fill, template_messages

TEXT = st.text() | st.text(alphabet="{}%#\\\"'$ \n\rxy_-")
"""Any text, and texts full of what dialects read."""


def shipped(name: str) -> JudgePrompt:
    """A judge as it ships."""
    return Registry().get(name)


def in_chat() -> JudgePrompt:
    """A judge with a demonstration, whose reply is a line of prose."""
    example = Example(inputs={"source": "{ice}", "statement": "Ice is cold."}, reply="Score: 0")
    reply = "Write one line: Score: and a whole number from 0 to 3."
    return replace(shipped("groundedness"), reply=reply, reply_schema={}, examples=(example,))


LITERAL = 'Answer with JSON such as {"reason": "...", "score": 2}.'


@settings(deadline=None)
@given(text=TEXT, source=TEXT, statement=TEXT)
def test_the_instruction_formats_to_our_text(text: str, source: str, statement: str) -> None:
    """Ragas fills its prompts by `str.format`; whatever the prompt and the row hold comes through."""
    from judgewright.runs.exports import ExportContext

    prompt = replace(shipped("groundedness"), criteria=text, reply=text)
    row = {"source": source, "statement": statement}
    given_over = ExportContext(prompt=prompt, rule=prompt.rule, provenance={})
    metric = json.loads(TARGET.write(given_over).files["groundedness_ragas.json"])
    filled = "\n\n".join(message["content"] for message in fill(template_messages(prompt), row))
    assert metric["prompt"]["instruction"].format(**row) == filled


def test_a_template_whose_braces_are_not_doubled_fails(handover, exported, mistaken) -> None:
    """JSON in the prompt would be read as a place to fill."""
    prompt = replace(shipped("groundedness"), reply=LITERAL)
    assert exported("ragas", handover(prompt)).passed

    def single(text: str) -> str:
        return text.replace("{{", "{").replace("}}", "}") if text.startswith("{") else text

    assert "groundedness_ragas.json: row 1 does not render" in " ".join(
        mistaken("ragas", handover(prompt), single).problems
    )


def test_the_rule_in_force_stands_in_the_module(handover) -> None:
    """Not the threshold the prompt was asked at."""
    given_over = replace(handover(shipped("groundedness")), rule=DecisionRule(threshold=3))
    assert "THRESHOLD = 3.0\n" in TARGET.write(given_over).files["groundedness_ragas.py"]


def test_demonstrations_have_no_place_in_ragas_own_metrics(handover) -> None:
    """Nothing is written that would leave them out, and the reason is told."""
    bundle = TARGET.write(handover(in_chat()))
    assert list(bundle.files) == ["groundedness_ragas.py"]
    assert any("demonstrations" in told for told in bundle.differences)
