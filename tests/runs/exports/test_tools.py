"""What holds for every tool: a judge is written or refused in words, arrives in the real tool as it
is, and what the tool does otherwise is found.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from importlib.resources import files

import pytest

from judgewright.judges import (
    Case,
    CaseBank,
    Cases,
    DecisionRule,
    JudgePrompt,
    OutputScale,
    Platt,
    Registry,
)
from judgewright.runs.exports import RESERVED, TARGETS, Refused

from .exported_judge import judge_data

HOSTILE = (
    'Braces {a} {{b}} {% raw %} {{ cycler }} {# c #} "quotes" \'\'\' \\ """ \\n $x ${y} \r\n\ttabs'
    " 漢字 \u202e <<CUSTOM-TYPE-START-IDENTIFIER>>" + "x" * 20_000
)
WITHOUT_DOUBLE_BRACES = HOSTILE.replace("{{", "{").replace("}}", "}")
GROUNDEDNESS = Registry().get("groundedness")
PYTHON_TOOLS = sorted(
    name for name, target in TARGETS.items() if target.requires and target.runtime == "python"
)
IN_TOOLS = [*PYTHON_TOOLS, "dspy", "promptfoo", "python"]
REFUSES_LABELS = ("deepeval", "lmeval", "trulens")
PROSE = replace(
    GROUNDEDNESS,
    reply="Write one line: Score: and a whole number from 0 to 3.",
    reply_schema={},
    cases=Cases(
        bank=CaseBank(cases=(Case({"source": "{ice}", "statement": "Ice is cold."}, 0),)),
        by="fixed",
    ),
)
"""A case with signs of templates, and a reply that is no JSON."""
LABELLED = replace(
    Registry().get("routing"),
    scale=OutputScale(kind="choice", labels=("{a}", "it's", '"q"', "漢\\"), threshold=1.0),
)
CALIBRATED = DecisionRule(threshold=0.5, calibration=Platt(slope=1.0, intercept=-1.0))
FIELDS = [
    *((target, "self") for target in ("azure", "braintrust", "dspy", "langchain", "langfuse")),
    *((target, "self") for target in ("mlflow", "opik", "ragas", "trulens", "weave")),
    *(("dspy", name) for name in ("class", "json", "signature", "str", "model_id", "evidence")),
    *(("promptfoo", name) for name in ("output", "rubric", "env")),
    *(("openevals", name) for name in ("attachments", "config", "scorer")),
    *(("mlflow", "prompt"), ("azure", "class"), ("trulens", "class"), ("weave", "model_output")),
]
"""Fields that a tool takes for something else, or that cannot be an argument there."""


def changed(**parts: object) -> JudgePrompt:
    """The shipped judge of groundedness with other parts."""
    return replace(GROUNDEDNESS, **parts)


@pytest.mark.parametrize("name", Registry().names())
@pytest.mark.parametrize("target", IN_TOOLS)
def test_every_shipped_judge_is_written(target: str, name: str, context) -> None:
    """The adapter and the reader as they stand in the package, the judge as data beside them; only
    a choice among labels may be refused.
    """
    prompt = Registry().get(name)
    try:
        written = TARGETS[target].write(context(prompt)).files
    except Refused:
        if name == "routing" and target in REFUSES_LABELS:
            return
        raise
    adapters = files("judgewright.runs.exports") / "adapters"
    code = {path.read_text(encoding="utf-8") for path in adapters.iterdir() if path.is_file()}
    for own in ("reply_reading.py", "plain_cases.py"):
        code.add((files("judgewright.judges") / own).read_text(encoding="utf-8"))
    assert all(text in code for file, text in written.items() if file.endswith((".py", ".mjs")))
    judge = json.loads(written["judge.json"])
    assert (judge["name"], judge["version"]) == (name, prompt.version)
    assert "gated on simulated [SIMULATED" in judge["origin"]


@pytest.mark.parametrize(("target", "field"), FIELDS)
def test_a_field_that_a_tool_takes_for_its_own_is_refused(target: str, field: str, context) -> None:
    """By its name: the judge would be shown something else, or break where it is used."""
    with pytest.raises(Refused, match=f"'{field}'"):
        TARGETS[target].write(context(changed(template=f"{{{{source}}}} {{{{{field}}}}}")))


@pytest.mark.parametrize("name", ["first reason", "_reason", "1st"])
def test_a_field_of_the_reply_that_dspy_cannot_have_is_refused(name: str, context) -> None:
    """JSON takes any name, Python does not."""
    with pytest.raises(Refused, match=name):
        TARGETS["dspy"].write(context(changed(reply_schema={name: "text", "score": "score"})))


def test_every_name_of_a_signature_class_is_reserved() -> None:
    """Whatever DSPy's class and its metaclass have in public cannot be a field."""
    import dspy

    names = {*dir(dspy.Signature), *dir(type(dspy.Signature))}
    assert {n for n in names if not n.startswith(("_", "model_", "parse_"))} <= RESERVED


@pytest.mark.parametrize("target", REFUSES_LABELS)
def test_labels_without_an_order_are_refused_where_a_number_is_wanted(target: str, context) -> None:
    """A mean of warehouse and staff is nothing."""
    with pytest.raises(Refused, match="chooses one of"):
        TARGETS[target].write(context(Registry().get("routing")))


@pytest.mark.parametrize("target", IN_TOOLS)
def test_the_rule_in_force_arrives_and_a_calibrated_one_as_a_raw_threshold(
    target: str, context
) -> None:
    """Not the threshold that the prompt was asked at; with slope 1 and intercept -1 the raw
    probability must be 0.731 for a calibrated 0.5, and that is said.
    """
    own = replace(context(GROUNDEDNESS), rule=DecisionRule(threshold=3))
    assert judge_data(target, own)["threshold"] == 3.0
    calibrated = replace(context(Registry().get("diras_probability")), rule=CALIBRATED)
    assert judge_data(target, calibrated)["threshold"] == pytest.approx(0.7310585786)
    differences = TARGETS[target].write(calibrated).differences
    assert any("0.731059, the raw probability" in sentence for sentence in differences)


# --- in the real tools


def verified(target: str, exported, judges: Iterable) -> None:
    """Verify judges in a tool."""
    for judge in judges:
        verification = exported(target, judge)
        assert verification.problems == (), judge.prompt.name
        assert verification.replies > 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["groundedness", "answerability", "routing", "diras_probability"])
@pytest.mark.parametrize("target", IN_TOOLS)
def test_each_kind_of_scale_is_verified(target: str, name: str, context, exported) -> None:
    """The tool sends our messages and reads our grades: graded, yes or no, labels,
    probabilities.
    """
    if name == "routing" and target in REFUSES_LABELS:
        pytest.skip("it refuses labels")
    judge = context(LABELLED if name == "routing" else Registry().get(name))
    if name == "diras_probability":
        judge = replace(judge, rule=CALIBRATED)
    verified(target, exported, [judge])


@pytest.mark.slow
@pytest.mark.parametrize("target", IN_TOOLS)
def test_hostile_prompts_and_prose_arrive(target: str, context, exported) -> None:
    """Braces of every template syntax, quotes, line breaks and twenty thousand letters stand in
    every part; a demonstration, and a reply that is no JSON.
    """
    text = WITHOUT_DOUBLE_BRACES if target == "langfuse" else HOSTILE
    hostile = changed(system=text, criteria=text, reply=text)
    if target == "langfuse":
        assert "{{" not in text
    verified(target, exported, [context(hostile), context(PROSE)])


@pytest.mark.slow
def test_names_that_a_tool_uses_itself_can_be_fields_of_others(context, exported) -> None:
    """Words of Python in the plain judge, openevals' own names in openevals."""
    words = changed(template="{{class}} {{json}} {{tag}} {{fields}}")
    verified("python", exported, [context(words)])
    own = changed(template="{{inputs}}\n{{outputs}}\n{{reference_outputs}}")
    verified("openevals", exported, [context(own)])


@pytest.mark.slow
@pytest.mark.parametrize("target", IN_TOOLS)
def test_faults_of_an_export_are_found_in_its_tool(target: str, context, mistaken) -> None:
    """Another temperature, replies that were cut off and are scored, and decisions that are turned
    round.
    """

    def edit(text: str) -> str:
        text = text.replace('"temperature": 0.0', '"temperature": 0.7')
        text = text.replace("temperature: 0.0", "temperature: 0.7")
        text = text.replace("        require_whole(finish_reason, refusal)\n", "")
        text = text.replace("if (ending === 'length')", "if (false)")
        text = text.replace("if (ending !== 'stop')", "if (false)")
        text = text.replace("return grade >= self.threshold", "return grade < self.threshold")
        text = text.replace("threshold: 0.66", "threshold: 0.99")
        # DeepEval and TruLens compare themselves
        return text.replace("JUDGE.share(JUDGE.threshold)", "(1.5 - JUDGE.share(JUDGE.threshold))")

    problems = " | ".join(mistaken(target, context(GROUNDEDNESS), edit).problems)
    assert "temperature is 0.7, not 0.0" in problems
    assert "): has no verdict, and is scored" in problems
    assert "is decided" in problems


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "old", "new", "problem"),
    [
        (
            "openevals",
            '"score": verdict["grade"],',
            '"score": verdict["grade"] / 3,',
            "is scored 1",
        ),
        ("langfuse", "{{statement}}", "{{source}}", "message 2 (user)"),
        ("opik", "{{ statement }}", "{{ statement", "renders as another text"),
        ("phoenix", "evidence counts", "evidence never counts", "renders as another text"),
        ("langchain", "(JUDGE.messages)", "(lambda row: JUDGE.messages(row)[1:])", "the roles are"),
        ("promptfoo", "    threshold: 0.66", "    weight: 0.66", "decided positive, not negative"),
    ],
)
def test_faults_of_one_tools_files_are_found(
    target: str, old: str, new: str, problem: str, context, mistaken
) -> None:
    """A scale of another width, fields in each other's place, a stored prompt that is another text,
    a rubric without a threshold: the tool would take each without a word.
    """

    def edit(text: str) -> str:
        # What a store is given is another file than the judge that is asked.
        stored = target in ("opik", "phoenix")
        return text.replace(old, new) if not stored or text.startswith("[") else text

    assert problem in " ".join(mistaken(target, context(GROUNDEDNESS), edit).problems)


@pytest.mark.slow
def test_a_request_without_a_temperature_has_none_in_promptfoo(context, exported) -> None:
    """For a model that takes none; promptfoo has a default of its own."""
    judge = context(GROUNDEDNESS)
    request = dict(judge.request)
    del request["temperature"], request["max_tokens"]
    verified("promptfoo", exported, [replace(judge, asked=request)])
