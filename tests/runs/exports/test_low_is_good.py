"""Exports of a judge whose low numbers are good: the grade is turned, or the export is refused or
says it.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from judgewright.judges import DecisionRule, OutputScale, Platt, Registry
from judgewright.runs.exports import TARGETS, ExportContext, write_export
from judgewright.runs.exports.manifest import build_manifest
from judgewright.runs.exports.target import LOW_IS_GOOD

from .exported_judge import judge_data

PLAIN = ("yaml", "jinja", "markdown")

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
    """In the judge that it reads; the numbers of a judge without it are read as they stand."""
    files = TARGETS[target].write(context()).files
    assert ("judge.json" in files) == (target not in PLAIN)
    if target in PLAIN:
        return
    assert judge_data(target, context())["form"]["low_is_good"] is True
    scale = replace(JUDGE.scale, low_is_good=False)
    high = ExportContext(prompt=replace(JUDGE, scale=scale), rule=JUDGE.rule, provenance={})
    assert "low_is_good" not in judge_data(target, high)["form"]


def test_dspy_keeps_the_number_of_the_reply_in_its_prediction(tmp_path: Path) -> None:
    """DSPy makes demonstrations of predictions, which must say what a reply would; the grade is 1
    minus it.
    """
    write_export(context(), TARGETS["dspy"], tmp_path / "out")
    code = (
        "import low_dspy as judge\n"
        "print([judge.value_of(grade) for grade in (1.0, 0.7, 0.1)])\n"
        "print(judge.grade_of({'score': 0.3}))\n"
        "print([judge.positive({'score': number}) for number in (0.3, 0.31)])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path / "out",
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout == "[0.0, 0.3, 0.9]\n0.7\n[True, False]\n", ran.stderr


def test_a_calibrated_rule_arrives_with_the_threshold_of_the_raw_grade() -> None:
    """1 minus the number is what was calibrated."""
    given = context(CALIBRATED)
    calibration = CALIBRATED.calibration
    assert calibration is not None
    raw = given.raw_threshold
    assert calibration(raw) >= 0.4 > calibration(math.nextafter(raw, 0.0))
    python = TARGETS["python"].write(given)
    assert judge_data("python", given)["threshold"] == raw
    assert any("the raw grade from which" in sentence for sentence in python.differences)
    assert any(
        "the raw grade from which" in sentence
        for sentence in TARGETS["promptfoo"].write(given).differences
    )
    told = build_manifest(given, TARGETS["jinja"], TARGETS["jinja"].write(given))[
        "declared_differences"
    ]
    assert any("calibrates one minus the judge's number" in sentence for sentence in told)


def test_plain_files_say_it_too() -> None:
    """Markdown in its sentence, Langfuse in its config."""
    assert "Positive where 1 minus the number is 0.7 or above" in next(
        iter(TARGETS["markdown"].write(context()).files.values())
    )
    prompt = json.loads(TARGETS["langfuse"].write(context()).files["prompt.json"])
    assert prompt["config"]["judgewright"]["scale"]["low_is_good"] is True
