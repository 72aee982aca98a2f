"""A judge handed over as the question of a decision model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from judgewright.judges import DecisionRule, InputError, Platt, Registry
from judgewright.judges.asked_question import verdict_scale
from judgewright.judges.registry import KeptRule
from judgewright.runs.actions.export import export_context
from judgewright.runs.exports import TARGETS, ExportContext, Refused, make_files, write_export
from judgewright.runs.store.workspace import Workspace

APIS = ("decisions", "systemone", "sglang")
KINDS = ("groundedness", "answerability", "routing", "diras_probability")
TOOLS = sorted(name for name, target in TARGETS.items() if target.question and name != "python")
REFUSES_LABELS = ("deepeval", "lmeval")


def question(name: str, api: str = "systemone", **rule: object) -> ExportContext:
    """Return a shipped judge that asks a decision model, with a cut of .3 unless it chooses."""
    prompt = Registry().get(name)
    threshold = prompt.scale.threshold if prompt.scale.kind == "choice" else 0.3
    decided = DecisionRule(**{"threshold": threshold, **rule})
    return ExportContext(prompt=prompt, rule=decided, provenance={}, api=api)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("name", KINDS)
def test_the_same_question_is_asked_and_read_in_plain_python(name: str, api: str, exported) -> None:
    """What is sent is our body, and every form of answer gets our verdict."""
    verification = exported("python", question(name, api))
    assert verification.problems == ()
    assert verification.replies > 6


def test_a_calibrated_cut_arrives_as_a_raw_one(exported) -> None:
    """With slope 1 and intercept -1 the raw probability must be .731 for a calibrated .5."""
    calibration = Platt(slope=1.0, intercept=-1.0)
    judge = question("groundedness", threshold=0.5, calibration=calibration)
    verification = exported("python", judge)
    assert verification.problems == ()
    assert any("0.731059, the raw probability" in line for line in verification.differences)


def test_a_wrong_reading_is_found(mistaken) -> None:
    """An exporter that took another grade for good would be noticed."""
    verification = mistaken(
        "python",
        question("groundedness"),
        lambda text: text.replace('"good": [\n', '"good": [0,\n'),
    )
    assert any("is scored" in problem for problem in verification.problems)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["groundedness", "routing"])
@pytest.mark.parametrize("target", TOOLS)
def test_the_same_question_is_asked_in_the_real_tool(target: str, name: str, exported) -> None:
    """The tools whose adapters ask through the OpenAI client need nothing else."""
    if name == "routing" and target in REFUSES_LABELS:
        pytest.skip("it refuses labels")
    assert exported(target, question(name)).problems == ()


def test_a_tool_that_asks_chat_models_itself_is_refused() -> None:
    """Its own client would send messages."""
    for name, target in TARGETS.items():
        if not target.question:
            with pytest.raises(Refused, match=f"{name} asks chat models"):
                make_files(question("groundedness"), target)


def test_the_cut_of_the_judge_is_the_exports(tmp_path) -> None:
    """The rule on decision models' answers, and not that of chat models; one of another interface
    is refused.
    """
    prompt = Registry().get("groundedness")
    with Workspace(tmp_path / "w") as place:
        own = KeptRule(
            rule=DecisionRule(threshold=0.31),
            judge=f"{prompt.name}@{prompt.version}",
            asked_at=prompt.scale.threshold,
            dataset="rows",
            dataset_hash="0" * 12,
            rows=100,
            model="jev",
            confidence="ask",
            metric="f1",
            simulated=False,
            api="systemone",
        )
        assert export_context(place, prompt, api="sglang").rule.threshold == 0.5
        place.registry.keep_rule(prompt, own)
        chat = own.model_copy(update={"api": None, "rule": DecisionRule(threshold=3)})
        place.registry.keep_rule(prompt, chat)
        given = export_context(place, prompt, api="systemone")
        assert given.rule.threshold == 0.31
        assert given.scale == verdict_scale(prompt.scale)
        assert "fitted on jev" in given.origin
        assert export_context(place, prompt).rule.threshold == 3
        with pytest.raises(InputError, match=r"chosen on jev \(systemone\), not on sglang"):
            export_context(place, prompt, api="sglang")
        export = write_export(given, TARGETS["python"], tmp_path / "out")
        same = replace(given, provenance={}, asked={})
        assert replace(export.context, provenance={}) == same
