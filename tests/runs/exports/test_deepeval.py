"""DeepEval: the metric sends our messages from a test case, and decides at our threshold on a scale from 0 to 1."""

from __future__ import annotations

from dataclasses import replace

import pytest

from judgewright.judges import DecisionRule, JudgePrompt, Shelf
from judgewright.judges.prompt import Example
from judgewright.judges.scale import Platt
from judgewright.runs.exports import Refused
from judgewright.runs.exports.deepeval import TARGET, places_of

HOSTILE = 'Braces {a} {{b}} {% raw %} {# c #} "quotes" \'\'\' \\ """ $x ${y} \r\n\ttabs 漢字 \u202e ' + "x" * 20_000


def shipped(name: str) -> JudgePrompt:
    """A judge as it ships."""
    return Shelf().get(name)


def in_chat() -> JudgePrompt:
    """A judge with a demonstration, whose reply is a line of prose."""
    example = Example(inputs={"source": "{ice}", "statement": "Ice is cold."}, reply="Score: 0")
    reply = "Write one line: Score: and a whole number from 0 to 3."
    return replace(shipped("groundedness"), reply=reply, reply_schema={}, examples=(example,))


@pytest.mark.parametrize("name", Shelf().names())
def test_every_shipped_judge_is_written(name: str, handover) -> None:
    """The modules compile and say where the judge was gated; a choice is refused."""
    if shipped(name).scale.kind == "choice":
        with pytest.raises(Refused, match="number against a threshold"):
            TARGET.write(handover(shipped(name)))
        return
    files = TARGET.write(handover(shipped(name))).files
    for file, text in files.items():
        compile(text, file, "exec")
        assert text.startswith(f'"""{name}@{shipped(name).version}, gated on simulated [SIMULATED')


@pytest.mark.parametrize("name", ["groundedness", "answerability", "answer_correctness"])
def test_each_kind_of_scale_is_verified(name: str, handover, exported) -> None:
    """Our messages, and scores from 0 to 1; the GEval beside it has the same ends and threshold."""
    found = exported("deepeval", handover(shipped(name)))
    assert found.problems == ()
    assert found.replies > 2


def test_hostile_prompt_text_arrives(handover, exported) -> None:
    """Braces of every dialect, quotes, line breaks and twenty thousand letters stand in every part."""
    prompt = replace(shipped("groundedness"), system=HOSTILE, criteria=HOSTILE, reply=HOSTILE)
    assert exported("deepeval", handover(prompt)).problems == ()


def test_demonstrations_and_prose_replies_arrive(handover, exported) -> None:
    """A judge with turns of a chat before the row, and a reply that is no JSON."""
    found = exported("deepeval", handover(in_chat()))
    assert found.problems == ()
    assert any("prose" in told for told in found.differences)


@pytest.mark.parametrize("threshold", [1, 2.5, 3])
def test_the_rule_in_force_decides_in_the_tool(threshold: float, handover, exported) -> None:
    """The probe asks DeepEval whether each grade passes, in the metric and in the GEval."""
    given = replace(handover(shipped("groundedness")), rule=DecisionRule(threshold=threshold))
    assert exported("deepeval", given).problems == ()


def test_a_calibrated_rule_arrives_as_a_raw_threshold(handover, exported) -> None:
    """The calibration is folded into the threshold, and the manifest says so."""
    rule = DecisionRule(threshold=0.5, calibration=Platt(slope=1.0, intercept=-1.0))
    given = replace(handover(shipped("diras_probability")), rule=rule)
    assert "THRESHOLD = 0.731058" in TARGET.write(given).files["diras_probability_deepeval.py"]
    found = exported("deepeval", given)
    assert found.problems == ()
    assert any("raw probability" in told for told in found.differences)


def test_a_geval_with_another_threshold_fails(handover, mistaken) -> None:
    """DeepEval's default of 0.5 would let a 2 of 3 pass as the rule does, and so does this one; 1 does not."""
    given = handover(shipped("groundedness"))
    found = mistaken("deepeval", given, lambda text: text.replace("threshold=(2.0 - 0) / (3 - 0)", "threshold=1.0"))
    assert "grade 2 is decided otherwise" in " ".join(found.problems)


def test_each_place_of_a_test_case_is_taken_once() -> None:
    """Two passages cannot both be the retrieval context; the second stands in the metadata."""
    prompt = replace(shipped("groundedness"), template="{{source}} {{passages}} {{class}} {{answer}}")
    assert places_of(prompt) == {
        "source": "retrieval_context",
        "passages": None,
        "class": None,
        "answer": "actual_output",
    }
