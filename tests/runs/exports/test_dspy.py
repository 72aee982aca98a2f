"""DSPy: the module sends our messages through DSPy's own predictor, and its saved state keeps the
fields' order.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from judgewright.judges import DecisionRule, Example, JudgePrompt, OutputScale, Registry
from judgewright.runs.exports import RESERVED, Refused, verify_export, write_export
from judgewright.runs.exports.dspy import TARGET

TARGETS = {"dspy": TARGET}
HOSTILE = (
    '  first\n\tTabs {a} {{ B }} {% raw %} {# c #} "quotes" \'\'\'""" \\n $x \r\n 漢字 \u202e '
    "<<CUSTOM-TYPE-START-IDENTIFIER>>"
)
ODD = JudgePrompt(
    name="odd-judge",
    system=HOSTILE,
    criteria=HOSTILE + "x" * 20_000,
    template="{{text}} " + HOSTILE + " {{other_text}}",
    reply="End with a line: Score: N, or JSON.",
    scale=OutputScale(low=1, high=5, threshold=4),
    examples=(Example(inputs={"text": HOSTILE, "other_text": "b"}, reply="I think so.\nScore: 4"),),
)
NAMED = replace(
    Registry().get("routing"),
    scale=OutputScale(kind="choice", labels=("{a}", "it's", '"q"', "漢\\"), threshold=1.0),
    template="{{question}}",
)


def reverse_fields(signature: dict) -> None:
    """Turn the saved fields round."""
    signature["fields"].reverse()


def drop_field(signature: dict) -> None:
    """Leave the last saved field out."""
    signature["fields"].pop()


def in_state(change):
    """Change the saved signature, and let the module be."""

    def edit(text: str) -> str:
        if not text.startswith("{"):
            return text
        body = orjson.loads(text)
        change(body["judge"]["signature"])
        return orjson.dumps(body).decode()

    return edit


@pytest.mark.slow
@pytest.mark.parametrize(
    "prompt",
    [
        *map(Registry().get, ("context_relevance", "diras", "diras_probability", "routing")),
        ODD,
        NAMED,
    ],
    ids=lambda prompt: f"{prompt.name}-{prompt.scale.kind}-{len(prompt.system)}",
)
def test_dspy_sends_our_messages_and_reads_our_replies(
    prompt: JudgePrompt, tmp_path: Path, context
) -> None:
    """Demonstrations, labels, probabilities, prose and hostile text, over hostile rows."""
    write_export(context(prompt), TARGET, tmp_path)
    found = verify_export(tmp_path, TARGETS)
    assert found.problems == ()
    assert found.tool.startswith("dspy 3.4")
    assert found.replies > 2
    assert f"{len(prompt.examples)} demonstrations" in found.notes[0]


@pytest.mark.parametrize("change", [reverse_fields, drop_field])
def test_a_state_whose_fields_are_not_the_signatures_fails(change, context, mistaken) -> None:
    """DSPy would load it without a word and describe each field by another's text."""
    found = mistaken("dspy", context(Registry().get("groundedness")), in_state(change))
    assert "in this order" in " ".join(found.problems)


def test_other_instructions_in_the_state_fail(context, mistaken) -> None:
    """What is saved is what DSPy sends."""
    given = context(Registry().get("groundedness"))
    found = mistaken(
        "dspy", given, in_state(lambda signature: signature.update(instructions="Be kind."))
    )
    assert "instructions" in " ".join(found.problems)


@pytest.mark.parametrize("name", Registry().names())
def test_every_shipped_judge_is_written(name: str, context) -> None:
    """As a module that parses and a state with inputs before outputs."""
    prompt = Registry().get(name)
    exported_files = TARGET.write(context(prompt))
    (module, state) = exported_files.files
    ast.parse(exported_files.files[module])
    saved = json.loads(exported_files.files[state])["judge"]
    outputs = list(prompt.reply_schema)
    prefixes = [field["prefix"] for field in saved["signature"]["fields"]]
    assert prefixes == [n.replace("_", " ").title() + ":" for n in (*prompt.inputs, *outputs)]
    assert saved["signature"]["instructions"] == prompt.system_text()
    assert [demo["judgewright_reply"] for demo in saved["demos"]] == [
        e.reply for e in prompt.examples
    ]
    assert re.search(
        rf"^(from|import) {module.removesuffix('.py')}\b", exported_files.usage, re.MULTILINE
    )


def test_threshold_and_origin_arrive(context) -> None:
    """The rule's own threshold, and at the top where it was gated."""
    given = replace(context(Registry().get("groundedness")), rule=DecisionRule(threshold=3))
    text = next(iter(TARGET.write(given).files.values()))
    assert "THRESHOLD = 3.0\n" in text
    assert "gated on simulated [SIMULATED" in ast.get_docstring(ast.parse(text))


@pytest.mark.parametrize("name", ["class", "json", "signature", "str", "model_id"])
def test_a_field_that_a_signature_cannot_have_is_refused(name: str, context) -> None:
    """By the name that it cannot have."""
    with pytest.raises(Refused, match=name):
        TARGET.write(context(replace(Registry().get("groundedness"), template=f"{{{{{name}}}}}")))


def test_a_field_of_row_and_reply_is_refused(context) -> None:
    """A signature would have it once."""
    with pytest.raises(Refused, match="evidence"):
        TARGET.write(context(replace(Registry().get("groundedness"), template="{{evidence}}")))


@pytest.mark.parametrize("name", ["first reason", "_reason", "1st"])
def test_a_field_of_the_reply_that_is_no_identifier_is_refused(name: str, context) -> None:
    """JSON takes any name, Python does not."""
    prompt = replace(Registry().get("groundedness"), reply_schema={name: "text", "score": "score"})
    with pytest.raises(Refused, match=name):
        TARGET.write(context(prompt))


def test_every_name_of_a_signature_class_is_reserved() -> None:
    """Whatever DSPy's class and its metaclass have in public cannot be a field."""
    import dspy

    names = {
        n
        for n in (*dir(dspy.Signature), *dir(type(dspy.Signature)))
        if not n.startswith(("_", "model_", "parse_"))
    }
    assert names <= RESERVED
