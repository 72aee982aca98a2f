"""TruLens: a metric that sends our messages and the registry's entry."""

from __future__ import annotations

import ast
import json
from dataclasses import replace

import pytest

from judgewright.judges import DecisionRule, JudgePrompt, Platt, Registry
from judgewright.runs.exports import Refused
from judgewright.runs.exports.trulens import REGISTRY, TARGET

HOSTILE = (
    'Tabs\t{a} {{B}} {% raw %} {{ cycler }} "q" \'\'\'""" \\n $x \r\n 漢字 \u202e ' + "x" * 20_000
)
SHIPPED = [name for name in Registry().names() if name != "routing"]


def write(prompt: JudgePrompt, context):
    """The exported files of a judge gated on the simulated model."""
    return TARGET.write(context(prompt))


def constants(text: str) -> dict[str, object]:
    """The literal constants of a module."""
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                found[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue
    return found


@pytest.mark.parametrize("name", ["groundedness", "context_relevance", "diras_probability"])
def test_trulens_sends_our_messages_and_scales_our_grades(name: str, context, exported) -> None:
    """Three kinds of judge through a provider of TruLens' own; the registry as the manifest
    says.
    """
    found = exported("trulens", context(Registry().get(name)))
    assert found.problems == ()
    assert any(note.startswith(REGISTRY) for note in found.notes)


def test_hostile_text_arrives_in_trulens(context, exported) -> None:
    """The metric has no template to escape; the registry, which cannot escape it, is left out and
    that is said.
    """
    prompt = replace(Registry().get("groundedness"), criteria=HOSTILE, name="2nd-try")
    found = exported("trulens", context(prompt))
    assert found.problems == ()
    assert any(
        text.startswith(f"{REGISTRY} is not written") and "{{" in text for text in found.differences
    )


@pytest.mark.parametrize("name", SHIPPED)
def test_every_judge_with_an_order_is_written(name: str, context) -> None:
    """Modules parse, the header says where it was gated, the registry's messages name every field
    once.
    """
    prompt = Registry().get(name)
    exported_files = write(prompt, context)
    for file, text in exported_files.files.items():
        if file.endswith(".py"):
            assert "[SIMULATED" in ast.get_docstring(ast.parse(text))
    entry = json.loads(exported_files.files[REGISTRY])
    assert entry["version"]["variables"] == list(prompt.inputs)
    last = entry["version"]["messages"][-1]["content"]
    assert [last.count(f"{{{{{field}}}}}") for field in prompt.inputs] == [1] * len(prompt.inputs)
    assert len(entry["version"]["messages"]) == 2 + 2 * len(prompt.examples)
    assert (exported_files.scores.low, exported_files.scores.high) == (0.0, 1.0)


def test_labels_without_an_order_are_refused(context) -> None:
    """A mean of warehouse and staff is nothing."""
    with pytest.raises(Refused, match="no order"):
        write(Registry().get("routing"), context)


def test_a_word_of_python_is_no_argument(context) -> None:
    """A TruLens selector names an argument of the metric."""
    with pytest.raises(Refused, match="'class'"):
        write(replace(Registry().get("groundedness"), template="{{class}}"), context)


@pytest.mark.parametrize(
    "change",
    [
        {"criteria": "{{B}}"},
        {"reply": "{% if x %}"},
        {"system": "{%\n%}"},
        {"criteria": "ends with {{"},
    ],
    ids=["variable", "statement", "two lines", "open"],
)
def test_what_the_registry_would_read_is_not_stored(change: dict[str, str], context) -> None:
    """Statements and double braces cannot be escaped there: the entry is left out and that is
    said.
    """
    exported_files = write(replace(Registry().get("groundedness"), **change), context)
    assert REGISTRY not in exported_files.files
    assert any(
        sentence.startswith(f"{REGISTRY} is not written") for sentence in exported_files.differences
    )


@pytest.mark.parametrize("text", ["{a}", "{% only opened", "a { b } c"])
def test_single_braces_are_stored_as_they_are(text: str, context) -> None:
    """TruLens' registry leaves them alone."""
    exported_files = write(replace(Registry().get("groundedness"), criteria=text), context)
    assert (
        f"\n{text}\n"
        in json.loads(exported_files.files[REGISTRY])["version"]["messages"][0]["content"]
    )


def test_a_field_that_the_registry_takes_for_an_argument_is_not_stored(context) -> None:
    """`render(strict=...)` is TruLens' own."""
    exported_files = write(replace(Registry().get("groundedness"), template="{{strict}}"), context)
    assert REGISTRY not in exported_files.files
    assert any("'strict'" in sentence for sentence in exported_files.differences)


def test_a_calibrated_threshold_arrives_as_a_raw_one(context) -> None:
    """Scores stay raw, the decision is the calibrated rule's, and both are said."""
    rule = DecisionRule(threshold=0.5, calibration=Platt(slope=1.0, intercept=-1.0))
    exported_files = TARGET.write(replace(context(Registry().get("diras_probability")), rule=rule))
    threshold = constants(exported_files.files["diras_probability_trulens.py"])["THRESHOLD"]
    assert threshold == pytest.approx(1 / (1 + 2.718281828459045**-1.0))
    assert any("raw probabilities" in sentence for sentence in exported_files.differences)
