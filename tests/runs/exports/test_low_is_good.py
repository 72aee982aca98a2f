"""Exports of a judge whose low numbers are good: the grade is turned, or the export is refused or
says it.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace

import orjson
import pytest

from judgewright.judges import DecisionRule, OutputScale, Platt, Registry
from judgewright.runs.exports import TARGETS, ExportContext
from judgewright.runs.exports.manifest import build_manifest
from judgewright.runs.exports.target import LOW_IS_GOOD

JUDGE = replace(
    Registry().get("diras_probability"),
    name="low",
    scale=OutputScale(kind="probability", threshold=0.7, low_is_good=True),
)
CALIBRATED = DecisionRule(threshold=0.4, calibration=Platt(slope=0.8, intercept=-1.1))


def context(rule: DecisionRule = JUDGE.rule) -> ExportContext:
    """The judge under a rule."""
    return ExportContext(prompt=JUDGE, rule=rule, provenance={})


@pytest.mark.parametrize("target", TARGETS)
def test_every_manifest_says_that_grades_are_one_minus_the_number(target: str) -> None:
    """Nobody holds a number of a reply against the threshold for want of a word."""
    manifest = build_manifest(context(), TARGETS[target], TARGETS[target].write(context()))
    assert LOW_IS_GOOD in manifest["declared_differences"]
    assert "own probability" not in orjson.dumps(manifest["scores"]).decode()
    assert "probability itself" not in orjson.dumps(manifest["scores"]).decode()
    if manifest["scores"] is not None:
        assert manifest["scores"]["threshold"] == 0.7


@pytest.mark.parametrize("target", TARGETS)
def test_whatever_reads_replies_is_told_that_low_is_good(target: str) -> None:
    """Each file with a form of reply has it; the numbers of a judge without it are read as they
    stand.
    """
    files = TARGETS[target].write(context()).files
    readers = [text for text in files.values() if "REPLY_FORM = " in text]
    assert all('"low_is_good": True' in text or '"low_is_good": true' in text for text in readers)
    high = ExportContext(
        prompt=replace(JUDGE, scale=replace(JUDGE.scale, low_is_good=False)),
        rule=JUDGE.rule,
        provenance={},
    )
    others = TARGETS[target].write(high).files.values()
    assert not any('"low_is_good": ' in text for text in others)
    assert bool(readers) == (target not in ("yaml", "json", "messages", "jinja", "markdown"))


def test_dspy_keeps_the_number_of_the_reply_in_its_prediction() -> None:
    """DSPy makes demonstrations of predictions, which must say what a reply would; the grade is 1
    minus it.
    """
    module = next(iter(TARGETS["dspy"].write(context()).files.values()))
    names: dict = {"THRESHOLD": 0.7, "math": math}
    start = module.index("def turned(")
    exec(module[start : module.index("\n\n\n", start)], names)
    start = module.index("def value_of(grade)")
    exec(module[start : module.index("class JudgeAdapter")], names)
    assert [names["value_of"](grade) for grade in (1.0, 0.7, 0.1)] == [0.0, 0.3, 0.9]
    assert names["grade_of"]({"score": 0.3}) == 0.7
    assert [names["positive"]({"score": number}) for number in (0.3, 0.31)] == [True, False]


def test_a_calibrated_rule_arrives_with_the_threshold_of_the_raw_grade() -> None:
    """1 minus the number is what was calibrated."""
    given = context(CALIBRATED)
    calibration = CALIBRATED.calibration
    assert calibration is not None
    raw = given.raw_threshold
    assert calibration(raw) >= 0.4 > calibration(math.nextafter(raw, 0.0))
    python = TARGETS["python"].write(given)
    assert f"THRESHOLD = {raw!r}" in next(iter(python.files.values()))
    assert any("the raw grade from which" in sentence for sentence in python.differences)
    assert any(
        "the raw grade from which" in sentence
        for sentence in TARGETS["promptfoo"].write(given).differences
    )
    told = build_manifest(given, TARGETS["json"], TARGETS["json"].write(given))[
        "declared_differences"
    ]
    assert any("calibrates one minus the judge's number" in sentence for sentence in told)


def test_plain_files_say_it_too() -> None:
    """JSON in its scale, Markdown in its sentence, Langfuse of the evaluator that its server
    runs.
    """
    body = json.loads(next(iter(TARGETS["json"].write(context()).files.values())))
    assert body["scale"]["low_is_good"] is True
    assert "Positive where 1 minus the number is 0.7 or above" in next(
        iter(TARGETS["markdown"].write(context()).files.values())
    )
    langfuse = TARGETS["langfuse"].write(context())
    assert any("low ones are good there" in sentence for sentence in langfuse.differences)
    prompt = json.loads(langfuse.files["low.langfuse.json"])
    assert prompt["config"]["judgewright"]["scale"]["low_is_good"] is True
