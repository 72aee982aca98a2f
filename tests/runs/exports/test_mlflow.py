"""MLflow: a scorer that sends our messages, and the registry's prompt."""

from __future__ import annotations

import ast
import json
from dataclasses import replace

import pytest

from judgewright.judges import DecisionRule, JudgePrompt, Registry, response_format
from judgewright.runs.exports import REGISTRY
from judgewright.runs.exports.mlflow import TARGET

HOSTILE = (
    'Tabs\t{a} {{B}} {% raw %} {{ cycler }} "q" \'\'\'""" \\n \\1 $x \r\n 漢字 \u202e '
    + "x" * 20_000
)


def write(prompt: JudgePrompt, context):
    """The exported files of a judge gated on the simulated model."""
    return TARGET.write(context(prompt))


def module_of(exported_files) -> str:
    """The text of the scorer."""
    return next(iter(exported_files.files.values()))


@pytest.mark.parametrize("name", ["context_relevance", "routing", "answerability"])
def test_mlflow_sends_our_messages_and_reads_our_replies(name: str, context, exported) -> None:
    """Down to the wire: grades, labels and yes or no; the registry as the manifest says."""
    found = exported("mlflow", context(Registry().get(name)))
    assert found.problems == ()
    assert any(note.startswith(REGISTRY) for note in found.notes)


def test_hostile_text_arrives_in_mlflow(context, exported) -> None:
    """In the scorer as it is, in the registry as Jinja."""
    found = exported("mlflow", context(replace(Registry().get("groundedness"), criteria=HOSTILE)))
    assert found.problems == ()
    assert any("Jinja" in text for text in found.differences)


@pytest.mark.parametrize("name", Registry().names())
def test_every_shipped_judge_is_written(name: str, context) -> None:
    """Modules parse, the header says where it was gated, the registry has messages, version, rule
    and schema.
    """
    prompt = Registry().get(name)
    exported_files = write(prompt, context)
    for file, text in exported_files.files.items():
        if file.endswith(".py"):
            assert "[SIMULATED" in ast.get_docstring(ast.parse(text))
    entry = json.loads(exported_files.files[REGISTRY])
    assert entry["tags"]["judgewright.version"] == prompt.version
    assert entry["tags"]["judgewright.simulated"] == "true"
    assert json.loads(entry["tags"]["judgewright.rule"]) == prompt.rule.to_json()
    assert entry["response_format"] == response_format(prompt)["json_schema"]["schema"]
    assert [m["role"] for m in entry["template"]] == [
        "system",
        *["user", "assistant"] * len(prompt.examples),
        "user",
    ]
    assert (exported_files.scores.low, exported_files.scores.high) == (
        prompt.scale.low,
        prompt.scale.high,
    )


@pytest.mark.parametrize(
    ("text", "jinja"),
    [("a {b} c", False), ("{% only opened", False), ("{% x %}", True), ("{{b}}", True)],
)
def test_the_registry_turns_to_jinja_only_where_it_must(text: str, jinja: bool, context) -> None:
    """MLflow reads Jinja as soon as `{%` and `%}` stand in one message, and then in all of them."""
    prompt = replace(Registry().get("groundedness"), criteria=text)
    first = json.loads(write(prompt, context).files[REGISTRY])["template"][0]["content"]
    assert first.startswith("{% set") == jinja
    assert (f"\n{text}\n" in first) != jinja


@pytest.mark.parametrize("text", ["{% x %}", "{{b}}", "}} {{ {%", HOSTILE, "ends {{"])
def test_the_jinja_form_renders_our_text(text: str, context) -> None:
    """With Jinja2 as MLflow sets it up, hostile row text included."""
    from jinja2.sandbox import SandboxedEnvironment

    prompt = replace(Registry().get("groundedness"), criteria=text, reply=text)
    messages = json.loads(write(prompt, context).files[REGISTRY])["template"]
    assert any("{%" in m["content"] and "%}" in m["content"] for m in messages)
    row = {"source": "{{statement}} {% x %}", "statement": "b"}
    shown = [SandboxedEnvironment().from_string(m["content"]).render(**row) for m in messages]
    assert shown[0] == prompt.system_text()
    assert "<source>\n{{statement}} {% x %}\n</source>" in shown[1]
    assert shown[1].endswith(prompt.reply.strip())


def test_threshold_and_pass_if_arrive(context) -> None:
    """The rule's own threshold decides what passes; labels have none."""
    given = replace(context(Registry().get("groundedness")), rule=DecisionRule(threshold=3))
    exported_files = TARGET.write(given)
    assert "THRESHOLD = 3.0\n" in module_of(exported_files)
    assert "@scorer(name=NAME, pass_if=positive)" in module_of(exported_files)
    labels = write(Registry().get("routing"), context)
    assert "@scorer(name=NAME)" in module_of(labels)
    assert any("no pass_if" in sentence for sentence in labels.differences)
