"""openevals exports: our messages, fences included, through `create_llm_as_judge`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from judgewright.judges import JudgePrompt, Registry
from judgewright.runs.exports import TARGETS, Refused, Verification

HOSTILE = (
    'Braces {a} {{b}} {{{c}}} {% raw %} {# c #} ${x} %s "quotes" \'\'\' \\ """ \r\n\ttabs 漢字'
    " \u202e " + "x" * 20_000
)
KINDS = ["groundedness", "answerability", "routing", "diras_probability", "search_relevance"]


def shipped(name: str) -> JudgePrompt:
    """A judge as it ships."""
    return Registry().get(name)


@pytest.mark.parametrize("name", Registry().names())
def test_every_shipped_judge_is_a_module(name: str, context) -> None:
    """The module compiles, and asks for the reply's fields in their order."""
    prompt = shipped(name)
    exported_files = TARGETS["openevals"].write(context(prompt))
    ((module, code),) = exported_files.files.items()
    compile(code, module, "exec")
    places = [
        code.index(f'"{field}": {{', code.index("REQUEST = ")) for field in prompt.reply_schema
    ]
    assert places == sorted(places)
    assert exported_files.own_fences


def test_a_judge_that_replies_in_prose_is_verified(context, exported) -> None:
    """openevals is handed the grade that was read, so it need not make the judge answer in JSON."""
    prompt = replace(shipped("groundedness"), reply="End with a line Score: N.", reply_schema={})
    assert exported("openevals", context(prompt)).problems == ()


@pytest.mark.parametrize("name", ["attachments", "config", "scorer"])
def test_a_field_that_openevals_keeps_is_refused(name: str, context) -> None:
    """It would be gone from the row, or taken for something else."""
    prompt = replace(shipped("groundedness"), template=f"{{{{source}}}} {{{{{name}}}}}")
    with pytest.raises(Refused, match=name):
        TARGETS["openevals"].write(context(prompt))


@pytest.mark.parametrize("name", KINDS)
def test_it_is_verified_in_openevals(name: str, context, exported) -> None:
    """A LangChain model and an OpenAI client are sent our messages over hostile rows, and each
    grade is read.
    """
    found: Verification = exported("openevals", context(shipped(name)))
    assert found.problems == ()
    assert found.replies >= 3


def test_openevals_own_names_can_be_fields(context, exported) -> None:
    """`inputs`, `outputs` and `reference_outputs` arrive as they are."""
    prompt = replace(
        shipped("groundedness"), template="{{inputs}}\n{{outputs}}\n{{reference_outputs}}"
    )
    assert exported("openevals", context(prompt)).problems == ()


def test_hostile_prompt_text_round_trips_in_openevals(context, exported) -> None:
    """Braces of every template syntax, quotes, line breaks and twenty thousand letters arrive."""
    prompt = replace(shipped("groundedness"), system=HOSTILE, criteria=HOSTILE, reply=HOSTILE)
    assert exported("openevals", context(prompt)).problems == ()


def test_a_scale_of_another_width_fails(context, mistaken) -> None:
    """Grades brought to 0..1 are not the grades that the manifest says."""
    found = mistaken(
        "openevals",
        context(shipped("groundedness")),
        lambda text: text.replace('"score": score,', '"score": score / 3,'),
    )
    assert "a reply (grade 3): is scored 1, not 3" in found.problems
