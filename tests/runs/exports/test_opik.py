"""Opik: the metric sends our messages, and the prompt it stores renders to the same text."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import DecisionRule, JudgePrompt, Registry
from judgewright.runs.exports import ExportContext, fill, template_messages
from judgewright.runs.exports.opik import TARGET

TEXT = st.text() | st.text(alphabet="{}%#\\\"'$ \n\rxy_-")
"""Any text, and texts full of what template syntaxes read."""


def shipped(name: str) -> JudgePrompt:
    """A judge as it ships."""
    return Registry().get(name)


@settings(deadline=None)
@given(text=TEXT, source=TEXT, statement=TEXT)
def test_the_stored_prompt_renders_to_our_messages(text: str, source: str, statement: str) -> None:
    """Opik renders Jinja by `jinja2.Template`, as here."""
    import jinja2

    prompt = replace(shipped("groundedness"), criteria=text, reply=text)
    row = {"source": source, "statement": statement}
    changed_context = ExportContext(prompt=prompt, rule=prompt.rule, provenance={})
    messages = json.loads(TARGET.write(changed_context).files["groundedness_opik.json"])
    got = [m | {"content": jinja2.Template(m["content"]).render(**row)} for m in messages]
    assert got == fill(template_messages(prompt), row)


def test_a_stored_prompt_that_is_another_text_fails(context, mistaken) -> None:
    """Opik would show a broken template as it is, without an error."""

    def edit(text: str) -> str:
        return text.replace("{{ statement }}", "{{ statement") if text.startswith("[") else text

    found = mistaken("opik", context(shipped("groundedness")), edit)
    assert "row 1 renders as another text" in " ".join(found.problems)


def test_the_rule_in_force_stands_in_the_module(context) -> None:
    """Not the threshold the prompt was asked at."""
    changed_context = replace(context(shipped("groundedness")), rule=DecisionRule(threshold=3))
    assert "THRESHOLD = 3.0\n" in TARGET.write(changed_context).files["groundedness_opik.py"]
