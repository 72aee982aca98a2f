"""The prompts that tools keep in stores of their own: each renders to our messages, or is not
written and that is said.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import jinja2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import DecisionRule, JudgePrompt, Registry, response_format
from judgewright.runs.exports import TARGETS, ExportContext, Refused, fill, template_messages

GROUNDEDNESS = Registry().get("groundedness")
TEXT = st.text() | st.text(alphabet="{}%#\\\"'$ \n\rxy_-")
"""Any text, and texts full of what template syntaxes read."""


def stored(target: str, prompt: JudgePrompt) -> Any:
    """What the export has for the tool's store; None where it has nothing."""
    context = ExportContext(prompt=prompt, rule=prompt.rule, provenance={"simulated": True})
    text = TARGETS[target].write(context).files.get("prompt.json")
    return None if text is None else json.loads(text)


@settings(deadline=None)
@given(text=TEXT, source=TEXT, statement=TEXT)
def test_what_opik_and_phoenix_store_renders_to_our_messages(
    text: str, source: str, statement: str
) -> None:
    """By `jinja2.Template`, as Opik does it; by one pass over `{{name}}`, as Mustache is, or
    nothing is written.
    """
    prompt = replace(GROUNDEDNESS, criteria=text, reply=text)
    row = {"source": source, "statement": statement}
    messages = fill(template_messages(prompt), row)
    opik = stored("opik", prompt)
    assert messages == [m | {"content": jinja2.Template(m["content"]).render(**row)} for m in opik]
    phoenix = stored("phoenix", prompt)
    if phoenix is None:
        assert re.search(r"\{\{|\{$|^\}", text.strip())
        return
    for message in phoenix:
        message["content"] = re.sub(
            r"\{\{(\w+)\}\}", lambda field: row[field.group(1)], message["content"]
        )
    assert messages == phoenix


@pytest.mark.parametrize("name", Registry().names())
def test_every_shipped_judge_has_its_entries(name: str) -> None:
    """MLflow's with version, rule and schema, TruLens' with every field once, Langfuse's without a
    label that would put it to work.
    """
    prompt = Registry().get(name)
    entry, langfuse = stored("mlflow", prompt), stored("langfuse", prompt)
    assert entry["tags"]["judgewright.version"] == prompt.version
    assert entry["tags"]["judgewright.simulated"] == "true"
    assert json.loads(entry["tags"]["judgewright.rule"]) == prompt.rule.to_json()
    assert entry["response_format"] == response_format(prompt)["json_schema"]["schema"]
    row = {field: f"{{{{{field}}}}}" for field in prompt.inputs}
    assert entry["template"] == langfuse["prompt"] == fill(template_messages(prompt), row)
    assert langfuse["labels"] == []
    if name != "routing":
        assert stored("trulens", prompt)["version"]["messages"] == langfuse["prompt"]
        assert stored("trulens", prompt)["version"]["variables"] == list(prompt.inputs)


def test_the_rule_stands_in_the_config_of_langfuse() -> None:
    """A threshold that is not the prompt's own arrives."""
    context = ExportContext(prompt=GROUNDEDNESS, rule=DecisionRule(threshold=3), provenance={})
    body = json.loads(TARGETS["langfuse"].write(context).files["prompt.json"])
    assert body["config"]["judgewright"]["threshold"] == 3.0


@pytest.mark.parametrize(
    "text", ["{{b}}", "{{ source }}", "ends with {{", "@@@langfusePrompt:name=x|version=1@@@"]
)
def test_what_langfuse_would_replace_is_refused(text: str) -> None:
    """It has no way to write these as text."""
    with pytest.raises(Refused):
        stored("langfuse", replace(GROUNDEDNESS, criteria=text))


@pytest.mark.parametrize(
    "change",
    [
        {"criteria": "{{B}}"},
        {"reply": "{% if x %}"},
        {"reply": "%} {%"},
        {"system": "{%\n%}"},
        {"criteria": "ends with {{"},
        {"template": "{{strict}}"},
    ],
    ids=["variable", "statement", "turned round", "two lines", "open", "an argument of render()"],
)
@pytest.mark.parametrize("target", ["mlflow", "trulens"])
def test_what_a_registry_would_read_is_not_stored(
    target: str, change: dict[str, str], context
) -> None:
    """Statements and double braces cannot be escaped there: the entry is left out and that is
    said. MLflow reads Jinja as soon as `{%` and `%}` stand in one message.
    """
    exported = TARGETS[target].write(context(replace(GROUNDEDNESS, **change)))
    left_out = target == "trulens" or "template" not in change
    assert ("prompt.json" not in exported.files) == left_out
    said = any("prompt.json is not written" in sentence for sentence in exported.differences)
    assert said == left_out


@pytest.mark.parametrize("text", ["{a}", "{% only opened", "a { b } c"])
def test_single_braces_are_stored_as_they_are(text: str) -> None:
    """The registries leave them alone."""
    prompt = replace(GROUNDEDNESS, criteria=text)
    assert f"\n{text}\n" in stored("trulens", prompt)["version"]["messages"][0]["content"]
    assert f"\n{text}\n" in stored("mlflow", prompt)["template"][0]["content"]
