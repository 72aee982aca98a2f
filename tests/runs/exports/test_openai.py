"""OpenAI graders: the client's own types take them, and the decision arrives with them."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgewright.judges import DecisionRule, Isotonic, JudgePrompt, Platt, Registry
from judgewright.runs.exports import TARGETS, ExportContext, Refused, Verification, fill, template_messages

HOSTILE = 'Braces {a} {% raw %} {# c #} ${x} %s "quotes" \'\'\' \\ """ \r\n\ttabs 漢字 \u202e ' + "x" * 20_000
TEXT = st.text(alphabet=st.one_of(st.sampled_from("{}%# a\n"), st.characters(exclude_categories=("Cs",))), max_size=30)


def shipped(name: str) -> JudgePrompt:
    """A judge as it ships."""
    return Registry().get(name)


def written(given: ExportContext) -> tuple[dict, dict]:
    """The grader, and the one criterion of the eval."""
    grader, whole = map(json.loads, TARGETS["openai"].write(given).files.values())
    return grader, whole["testing_criteria"][0]


@pytest.mark.parametrize("name", Registry().names())
def test_every_shipped_judge_is_verified(name: str, context, exported) -> None:
    """The client's types know every part of it; filled by replacement it is our messages."""
    found: Verification = exported("openai", context(shipped(name)))
    assert found.problems == ()
    assert any("servers" in sentence for sentence in found.differences)


@given(text=TEXT)
def test_any_text_comes_back_or_is_refused(text: str) -> None:
    """What stands in `{{...}}` is refused; all else is filled as it was written."""
    prompt = replace(shipped("groundedness"), criteria=text, reply=text)
    handed = ExportContext(prompt=prompt, rule=prompt.rule, provenance={})
    row = {"source": "{{item.statement}}", "statement": "{x}"}
    try:
        grader, _ = written(handed)
    except Refused:
        assert "{{" in text or "{" in text[-1:] + text[:1] or text.strip()[:1] == "}" or text.strip()[-1:] == "{"
        return
    place = re.compile(r"\{\{\s*item\.(\w+)\s*\}\}")
    filled = [place.sub(lambda found: row[found.group(1)], m["content"]) for m in grader["input"]]
    assert filled == [m["content"] for m in fill(template_messages(prompt), row)]


def test_hostile_prompt_text_round_trips(context, exported) -> None:
    """All but double braces arrives."""
    prompt = replace(shipped("groundedness"), system=HOSTILE, criteria=HOSTILE, reply=HOSTILE)
    assert exported("openai", context(prompt)).problems == ()


def test_a_graded_judge_is_scored_on_its_own_scale(context) -> None:
    """0..3 with the rule's threshold; the grader alone has no place for it."""
    given = replace(context(shipped("groundedness")), rule=DecisionRule(threshold=3))
    grader, criterion = written(given)
    assert (grader["type"], grader["range"], criterion["pass_threshold"]) == ("score_model", [0, 3], 3.0)
    assert "pass_threshold" not in grader


def test_labels_pass_from_the_threshold_on(context) -> None:
    """Binary words and choices are labels, those at or above the threshold pass."""
    assert written(context(shipped("answerability")))[0]["passing_labels"] == ["yes"]
    assert written(context(shipped("routing")))[0]["passing_labels"] == ["inventory", "support", "staff"]


@pytest.mark.parametrize(
    ("calibration", "threshold"),
    [
        (Platt(slope=1.0, intercept=-1.0), 0.7310585786),
        (Isotonic(x=(0.2, 0.8), y=(0.0, 1.0)), 0.5),
        (Isotonic(x=(0.5,), y=(0.1,)), 1.0),
    ],
)
def test_a_calibrated_rule_passes_what_it_passed(calibration, threshold: float, context, exported) -> None:
    """The threshold is brought back to raw probabilities; where nothing is positive it lies above 1."""
    rule = DecisionRule(threshold=0.5, calibration=calibration)
    given = replace(context(shipped("diras_probability")), rule=rule)
    found = written(given)[1]["pass_threshold"]
    assert found == pytest.approx(threshold)
    assert (found > 1.0) == (calibration(1.0) < 0.5)
    assert exported("openai", given).problems == ()


def test_the_gated_model_is_named_unless_it_was_simulated(context) -> None:
    """A name in the JSON must not pretend to a gate that was none."""
    assert written(context(shipped("routing")))[0]["model"] == "MODEL"
    real = context(shipped("routing"), gated_on="gpt-4o@https://api.openai.com/v1", simulated=False)
    assert written(real)[0]["model"] == "gpt-4o"


def test_an_eval_without_its_threshold_fails(context, mistaken) -> None:
    """Every score would pass."""

    def edit(text: str) -> str:
        body = json.loads(text)
        for criterion in body.get("testing_criteria", ()):
            del criterion["pass_threshold"]
        return json.dumps(body)

    assert "passes at None" in " ".join(mistaken("openai", context(shipped("groundedness")), edit).problems)
