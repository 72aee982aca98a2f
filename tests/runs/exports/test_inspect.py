"""Inspect AI: the scorer sends our messages in a real evaluation, and model_graded_qa fills a safe template."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import DecisionRule, JudgePrompt, Registry
from judgewright.runs.exports import ExportContext
from judgewright.runs.exports.inspect import FIXED_NAMES, TARGET, grade_pattern
from judgewright.runs.exports.template_parts import fill, template_messages
from judgewright.runs.exports.verify import graded_replies

TEXT = st.text() | st.text(alphabet="{}%#\\\"'$ \n\rxy_-")
"""Any text, and texts full of what dialects read."""


def shipped(name: str) -> JudgePrompt:
    """A judge as it ships."""
    return Registry().get(name)


def constant(text: str, name: str) -> str:
    """The value a module gives a name."""
    found = next(n for n in ast.parse(text).body if isinstance(n, ast.Assign) and n.targets[0].id == name)
    return ast.literal_eval(found.value)


LITERAL = 'Answer with JSON such as {"reason": "...", "score": 2}.'


@settings(deadline=None)
@given(text=TEXT, question=TEXT, passages=TEXT)
def test_the_template_formats_to_our_text(text: str, question: str, passages: str) -> None:
    """`model_graded_qa` fills by `str.format` and keeps `question` to itself, so ours has another name."""
    prompt = replace(shipped("answerability"), criteria=text, reply=text)
    module = TARGET.write(ExportContext(prompt=prompt, rule=prompt.rule, provenance={})).files[
        "answerability_graded_qa.py"
    ]
    fixed = dict.fromkeys(FIXED_NAMES, "Inspect's own")
    got = constant(module, "TEMPLATE").format(**fixed, row_question=question, passages=passages)
    row = {"question": question, "passages": passages}
    assert got == "\n\n".join(message["content"] for message in fill(template_messages(prompt), row))


@pytest.mark.parametrize("name", sorted(set(Registry().names()) - {"routing"}))
def test_the_pattern_finds_the_grade_of_each_reply(name: str) -> None:
    """Its one group is the grade as the reply writes it, the last one, and nothing of a grade off the scale."""
    prompt = shipped(name)
    replies, grades = graded_replies(prompt)
    for reply, grade in zip(replies, grades, strict=True):
        found = re.search(grade_pattern(prompt), "first draft: " + replies[0] + "\n" + reply).group(1)
        labels = prompt.scale.labels
        assert (labels.index(found) if labels else float(found)) == grade
    assert re.search(grade_pattern(shipped("groundedness")), '{"score": 30}') is None
    assert re.search(grade_pattern(shipped("groundedness")), '{"score": 2.5}') is None


def test_a_template_whose_braces_are_not_doubled_fails(handover, exported, mistaken) -> None:
    """JSON in the prompt would be read as a place to fill."""
    prompt = replace(shipped("groundedness"), reply=LITERAL)
    assert exported("inspect", handover(prompt)).passed

    def single(text: str) -> str:
        return text.replace("{{", "{").replace("}}", "}") if "model_graded_qa(" in text else text

    assert "groundedness_graded_qa" in " ".join(mistaken("inspect", handover(prompt), single).problems)


def test_the_rule_in_force_stands_in_the_module(handover) -> None:
    """Not the threshold the prompt was asked at."""
    given_over = replace(handover(shipped("groundedness")), rule=DecisionRule(threshold=3))
    assert "THRESHOLD = 3.0\n" in TARGET.write(given_over).files["groundedness_inspect.py"]
