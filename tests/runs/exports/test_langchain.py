"""LangChain exports: f-string templates without the tool, the chain and the push with it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgewright.judges import DecisionRule, JudgePrompt, Platt, Registry
from judgewright.runs.exports import (
    TARGETS,
    Field,
    TemplateMessage,
    Verification,
    chat_prompt,
    fill,
    template_messages,
)

HOSTILE = (
    'Braces {a} {{b}} {{{c}}} {% raw %} {# c #} ${x} %s "quotes" \'\'\' \\ """ \r\n\ttabs 漢字'
    " \u202e " + "x" * 20_000
)
KINDS = ["groundedness", "answerability", "routing", "diras_probability", "search_relevance"]
TEXT = st.text(
    alphabet=st.one_of(st.sampled_from("{}%#$\\\"'\n"), st.characters(exclude_categories=("Cs",))),
    max_size=40,
)


def shipped(name: str) -> JudgePrompt:
    """A judge as it ships."""
    return Registry().get(name)


def rendered(text: str, row: dict[str, str]) -> list[str]:
    """What Python's own formatter, which LangChain uses, makes of the templates."""
    messages = json.loads(text)["kwargs"]["messages"]
    return [message["kwargs"]["prompt"]["kwargs"]["template"].format(**row) for message in messages]


@given(before=TEXT, after=TEXT, value=TEXT)
def test_any_text_comes_back_from_the_templates(before: str, after: str, value: str) -> None:
    """Literal braces are doubled; the row's own stay what they are."""
    message = TemplateMessage(role="user", parts=(before, Field("source"), after))
    assert rendered(chat_prompt((message,)), {"source": value}) == [before + value + after]


@pytest.mark.parametrize("name", Registry().names())
def test_every_shipped_judge_is_a_module_and_a_chat_prompt(name: str, context) -> None:
    """The module compiles, says where the judge was gated, and the templates give its messages."""
    prompt = shipped(name)
    exported_files = TARGETS["langchain"].write(context(prompt))
    (module, code), (_, text) = exported_files.files.items()
    compile(code, module, "exec")
    assert code.startswith(f'"""{prompt.name}@{prompt.version}, gated on simulated [SIMULATED')
    row = {field: f"{{{field}}} {{{{x}}}}" for field in prompt.inputs}
    assert rendered(text, row) == [m["content"] for m in fill(template_messages(prompt), row)]
    assert f"from {module.removesuffix('.py')} import" in exported_files.usage


def test_a_calibrated_rule_arrives_as_a_threshold_on_the_raw_probability(context) -> None:
    """With slope 1 and intercept -1 the raw probability must be 0.731 for a calibrated 0.5."""
    rule = DecisionRule(threshold=0.5, calibration=Platt(slope=1.0, intercept=-1.0))
    exported_files = TARGETS["langchain"].write(
        replace(context(shipped("diras_probability")), rule=rule)
    )
    line = next(
        line
        for line in next(iter(exported_files.files.values())).splitlines()
        if line.startswith("THRESHOLD")
    )
    assert float(line.split("=")[1]) == pytest.approx(0.7310585786)
    assert any("0.731059" in sentence for sentence in exported_files.differences)


@pytest.mark.parametrize("name", KINDS)
def test_it_is_verified_in_langchain(name: str, context, exported) -> None:
    """The chain sends our messages over hostile rows and reads every grade; what push() sends is
    the same prompt.
    """
    found: Verification = exported("langchain", context(shipped(name)))
    assert found.problems == ()
    assert found.replies >= 3


def test_hostile_prompt_text_round_trips_in_langchain(context, exported) -> None:
    """Braces of every template syntax, quotes, line breaks and twenty thousand letters arrive."""
    prompt = replace(shipped("groundedness"), system=HOSTILE, criteria=HOSTILE, reply=HOSTILE)
    assert exported("langchain", context(prompt)).problems == ()


def test_a_prompt_in_prose_is_read_by_its_verdict_line(context, exported) -> None:
    """Without a JSON reply the last line that names the verdict decides."""
    prompt = replace(shipped("groundedness"), reply="End with a line Score: N.", reply_schema={})
    assert exported("langchain", context(prompt)).problems == ()


def test_braces_that_are_not_doubled_fail(context, mistaken) -> None:
    """An f-string template with the prompt's own braces in it single renders other messages, or
    none at all.
    """
    prompt = replace(shipped("groundedness"), criteria="Give {{1}} for what is true.")
    found = mistaken("langchain", context(prompt), lambda text: text.replace("{{{{1}}}}", "{{1}}"))
    assert any("{1}" in problem for problem in found.problems)
