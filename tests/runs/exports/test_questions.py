"""A judge handed over as the question of a decision model."""

from __future__ import annotations

from dataclasses import replace

import pytest

import judgewright as jw
from judgewright.judges import DecisionRule, InputError, Platt, Registry
from judgewright.judges.asked_question import verdict_scale
from judgewright.judges.cascade import Cascade
from judgewright.judges.registry import KeptRule
from judgewright.runs.actions.export import export_context, hand_over
from judgewright.runs.config.environment import Environment
from judgewright.runs.exports import (
    TARGETS,
    ExportContext,
    Refused,
    make_files,
    pack_export,
    read_export,
    write_export,
)
from judgewright.runs.store.workspace import Workspace

APIS = ("decisions", "systemone", "sglang")
KINDS = ("groundedness", "answerability", "routing", "diras_probability")
TOOLS = sorted(name for name, target in TARGETS.items() if target.question and name != "python")
REFUSES_LABELS = ("deepeval", "lmeval")
ME = Environment()


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
    """Those whose adapters ask through the OpenAI client need nothing else; LangChain's own
    runnable asks OpenAI's interface.
    """
    if name == "routing" and target in REFUSES_LABELS:
        pytest.skip("it refuses labels")
    assert exported(target, question(name, TARGETS[target].question[-1])).problems == ()


@pytest.mark.parametrize("api", APIS)
def test_a_tool_that_asks_other_models_is_refused(api: str) -> None:
    """Its own client would send another body; the message says what it does ask."""
    refused = [name for name, target in TARGETS.items() if api not in target.question]
    assert ("langchain" in refused) == (api != "decisions")
    for name in refused:
        with pytest.raises(Refused, match=f"{name} asks chat models.*, not {api}"):
            make_files(question("groundedness", api), TARGETS[name])


@pytest.mark.parametrize("target", [*TOOLS, "python"])
def test_a_question_comes_without_what_is_a_chat_models(target: str) -> None:
    """Neither a prompt for a store nor a word on a request's fields or on fences."""
    packed = pack_export(question("groundedness", "decisions"), TARGETS[target])
    assert not {"prompt.json", "slow_judge.json"} & packed.files.keys()
    said = " ".join(packed.body["declared_differences"])
    assert not any(word in said for word in ("prompt.json", "push()", "max_completion_tokens"))


def test_python_writes_a_question_too(tmp_path) -> None:
    """By the argument that the command has as an option."""
    out = jw.export(
        "groundedness", to="python", out=tmp_path / "out", api="sglang", workspace=tmp_path
    )
    assert read_export(out).context.api == "sglang"


def test_no_registry_gets_a_question(tmp_path) -> None:
    """What is stored there is a prompt of chat models."""
    with pytest.raises(InputError, match="no questions"):
        hand_over(
            question("groundedness"), TARGETS["mlflow"], tmp_path, environment=ME, push="http://x"
        )
    assert list(tmp_path.iterdir()) == []


# --- cascades


def cascade(name: str, api: str = "systemone", **rule: object) -> ExportContext:
    """Return a shipped judge that asks a slow model between .25 and .75."""
    context = question(name, api, **rule)
    band = Cascade(model="chat", low=0.25, high=0.75)
    return replace(context, prompt=replace(context.prompt, cascade=band))


@pytest.mark.parametrize(
    ("name", "api"),
    [
        ("groundedness", "decisions"),
        ("answerability", "systemone"),
        ("diras_probability", "sglang"),
    ],
)
def test_a_cascade_asks_both_models_in_plain_python(name: str, api: str, exported) -> None:
    """The slow one in the band alone, with our messages and the judge's request; every form of its
    reply is read as ours, and decides at the judge's own threshold.
    """
    verification = exported("python", cascade(name, api))
    assert verification.problems == ()
    assert verification.replies > 70
    assert any("`slow_client`" in line for line in verification.differences)


def test_a_calibrated_cut_holds_outside_the_band(exported) -> None:
    """The band is of the raw probability, and no calibration touches what the slow model said."""
    calibration = Platt(slope=1.0, intercept=-1.0)
    judge = cascade("groundedness", threshold=0.5, calibration=calibration)
    assert exported("python", judge).problems == ()


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"band": [\n      0.25', '"band": [\n      0.6', "the slow model is not asked"),
        ("self._band[0] <= grade", "0 <= grade", "the slow model is asked"),
        ("self.slow.positive(grade)", "grade > 2", "is scored"),
        ('"temperature": 0.0', '"temperature": 0.7', "temperature is 0.7"),
        ('"model": "chat"', '"model": "other"', "the model is 'other'"),
        ("Indirect evidence counts", "Indirect evidence never counts", "row 1"),
    ],
)
def test_a_wrong_cascade_is_found(old: str, new: str, problem: str, mistaken) -> None:
    """Another band, threshold, request, model or wording."""
    found = mistaken("python", cascade("groundedness"), lambda text: text.replace(old, new))
    assert any(problem in one for one in found.problems)


@pytest.mark.slow
@pytest.mark.parametrize("target", TOOLS)
def test_a_cascade_asks_both_models_in_the_real_tool(target: str, exported) -> None:
    """All that it takes is what every adapter shares."""
    assert exported(target, cascade("groundedness", TARGETS[target].question[0])).problems == ()


def test_a_cascade_that_one_model_decides_is_refused() -> None:
    """One whose fast model is a chat model, one of all rows, and one whose cut is none."""
    judge = cascade("groundedness")
    everything = replace(judge.prompt, cascade=Cascade(model="chat", low=0, high=1))
    for one in (replace(judge, api=None), replace(judge, prompt=everything)):
        with pytest.raises(Refused, match="asks two models"):
            make_files(one, TARGETS["python"])
    with pytest.raises(Refused, match="cut decides every row alike"):
        make_files(replace(judge, rule=DecisionRule(threshold=0)), TARGETS["python"])


def test_the_yaml_of_a_cascade_is_verified(exported) -> None:
    """Its messages are those of its own version."""
    assert exported("yaml", replace(cascade("groundedness"), api=None)).problems == ()


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
