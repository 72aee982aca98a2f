"""The judge that an export carries as data: it sends what we send, reads as we read, and decides as
the rule does.
"""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import (
    Case,
    CaseBank,
    Cases,
    DecisionRule,
    Isotonic,
    JudgePrompt,
    Platt,
    Registry,
    Row,
)
from judgewright.runs.exports import TARGETS, ExportContext, stem, write_export

from .exported_judge import exported_judge

BRACES = ("{", "}", "{{", "}}", "{{x}}", "{% raw %}", "%}", "$name", "$$", "%s", "#")
QUOTES = ('"', '"""', "'", "'''", "\\", "\\n", "</source>", "score: 3", "source", "a b", " ")
BREAKS = ("\n", "\r\n", "\t", "\x85", "\u2028", "\x00", "\u202e", "é", "漢", "🙂")
PIECES = st.sampled_from((*BRACES, *QUOTES, *BREAKS))
HOSTILE = st.lists(PIECES, max_size=12).map("".join)


def judge_of(prompt: JudgePrompt, rule: DecisionRule | None = None):
    """A judge as an export has it."""
    return exported_judge(ExportContext(prompt=prompt, rule=rule or prompt.rule, provenance={}))


def ours(prompt: JudgePrompt, inputs: dict[str, str]) -> list[dict[str, str]]:
    """The messages that Judgewright sends."""
    return [
        {"role": m.role, "content": m.content} for m in prompt.messages(Row(id="", inputs=inputs))
    ]


def read(judge, reply: str | None) -> float | None:
    """The grade that the export reads; None where it refuses."""
    try:
        return judge.read_reply(reply)[0]
    except ValueError:
        return None


def test_fields_may_have_names_in_any_letters() -> None:
    """The export sends what we send, and fences them by their names."""
    prompt = replace(Registry().get("groundedness"), template="{{Prüftext}}\n{{本文}}\n{{1st}}")
    inputs = {"Prüftext": "a {{本文}}", "本文": "b"}
    messages = ours(prompt, inputs)
    assert prompt.inputs == ("Prüftext", "本文")
    assert judge_of(prompt).messages(inputs) == messages
    assert "<本文-" in messages[-1]["content"]


@settings(max_examples=150, deadline=None)
@given(text=st.tuples(HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE), row=st.tuples(HOSTILE, HOSTILE))
def test_hostile_prompts_and_rows_are_sent_as_judgewright_sends_them(
    text: tuple[str, ...], row: tuple[str, str]
) -> None:
    """Fences included, byte for byte, whatever stands in the prompt, its cases and the row."""
    system, criteria, before, reply, shown = text
    prompt = replace(
        Registry().get("groundedness"),
        system=system,
        criteria=criteria,
        template=before + "{{source}}" + before + "{{statement}}",
        reply=reply,
    )
    case = Case(dict.fromkeys(prompt.inputs, shown), 1, reason=reply)
    prompt = replace(prompt, cases=Cases(bank=CaseBank(cases=(case,)), by="fixed"))
    inputs = dict(zip(prompt.inputs, itertools.cycle(row), strict=False))
    assert judge_of(prompt).messages(inputs) == ours(prompt, inputs)


def test_a_reply_of_null_has_no_grade() -> None:
    """An endpoint may send it; the module says so as of any other reply that it cannot read."""
    assert read(judge_of(Registry().get("groundedness")), None) is None


def test_a_judge_runs_without_judgewright(tmp_path: Path, context) -> None:
    """By the files of the export and the standard library, from whatever folder; of another version
    of the reader it is refused.
    """
    write_export(context(Registry().get("groundedness")), TARGETS["python"], tmp_path / "out")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from judgewright_judge import Judge\n"
        "judge = Judge(sys.argv[1] + '/judge.json')\n"
        "grade, reasons = judge.read_reply('{\"score\": 2}')\n"
        "print(grade, judge.positive(grade), 'judgewright' in sys.modules)\n"
    )
    command = [sys.executable, "-I", "-S", "-c", code, str(tmp_path / "out")]
    ran = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    assert ran.stdout == "2.0 True False\n", ran.stderr
    data = tmp_path / "out" / "judge.json"
    data.write_text(data.read_text().replace('"schema_version": 1', '"schema_version": 2'))
    ran = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    assert "is not of the version of Judgewright that" in ran.stderr


@settings(max_examples=100, deadline=None)
@given(
    x=st.lists(st.floats(0, 1), min_size=1, max_size=5, unique=True),
    threshold=st.floats(0.01, 0.99),
    scores=st.lists(st.floats(0, 1), max_size=20),
)
def test_a_calibrated_rule_decides_the_same_by_its_raw_threshold(
    x: list[float], threshold: float, scores: list[float]
) -> None:
    """Folding a calibration that rises into the threshold changes no decision, the knots' own
    included.
    """
    knots = tuple(sorted(x))
    for calibration in (
        Isotonic(x=knots, y=tuple(value**2 for value in knots)),
        Platt(slope=0.7, intercept=-0.3),
        Platt(slope=0.0, intercept=5.0),
    ):
        rule = DecisionRule(threshold=threshold, calibration=calibration)
        raw = ExportContext(
            prompt=Registry().get("diras_probability"), rule=rule, provenance={}
        ).raw_threshold
        for score in (*scores, *knots):
            assert (score >= raw) == (calibration(score) >= threshold)


def test_a_rule_that_takes_nothing_for_positive_arrives_as_infinity() -> None:
    """JSON has no word for it."""
    rule = DecisionRule(threshold=0.9, calibration=Platt(slope=0.0, intercept=0.0))
    prompt = Registry().get("diras_probability")
    assert judge_of(prompt, rule).threshold == math.inf
    assert judge_of(prompt, rule).positive(1.0) is False


@pytest.mark.parametrize(("name", "module"), [("my-judge", "my_judge"), ("3way", "judge_3way")])
def test_a_judges_name_becomes_a_modules(name: str, module: str) -> None:
    """Hyphens and a leading digit are no identifier."""
    assert stem(replace(Registry().get("groundedness"), name=name)) == module
