"""Verdicts where a prompt's own words put them: at a mark, at an edge, deep in an object, under the
name of a grade.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from judgewright.judges import (
    Completion,
    JudgePrompt,
    OutputScale,
    PromptError,
    Row,
    Unscored,
    Verdict,
    load_prompt,
    read_reply,
)

PASS = OutputScale(kind="binary", labels=("FAIL", "PASS"), threshold=1.0)
STARS = OutputScale(low=1, high=5, threshold=3.0)
TABLE = yaml.safe_load((Path(__file__).parent / "replies.yaml").read_text(encoding="utf-8"))
LETTERS = OutputScale(kind="graded", labels=("F", "D", "C", "B", "A"), threshold=2.0)


def judge(scale: OutputScale, **parts: Any) -> JudgePrompt:
    """A prompt that answers on a scale."""
    return JudgePrompt(
        name="own",
        system="You judge.",
        criteria="Be fair.",
        template="{{Text}}",
        reply="",
        scale=scale,
        **parts,
    )


def score(prompt: JudgePrompt, reply: str) -> float | None:
    """The grade of a reply; None where it is unscored."""
    answer = read_reply(prompt, Completion(text=reply))
    assert isinstance(answer, Verdict | Unscored)
    return answer.score if isinstance(answer, Verdict) else None


@pytest.mark.parametrize(("reply", "mark", "expected"), TABLE["marks"])
def test_a_verdict_stands_at_the_mark(reply: str, mark: str, expected: float | str) -> None:
    """The last mark decides; where its place cannot be read, nothing else is tried."""
    grade = None if expected == "parse" else expected
    assert score(judge(STARS, reply_mark=mark), reply) == grade


@pytest.mark.parametrize(("reply", "expected"), TABLE["nested"])
def test_a_verdict_may_stand_inside_an_object(reply: str, expected: float | str) -> None:
    """`a.score` is the field `score` of the object `a`; said twice with two values, it says
    nothing.
    """
    grade = None if expected == "parse" else expected
    assert score(judge(STARS, reply_schema={"a.why": "text", "a.score": "score"}), reply) == grade


@pytest.mark.parametrize(
    ("reply", "grade"), [("Grade: b", 3.0), ("F", 0.0), ("Grade: E", None), ("Grade: 3", None)]
)
def test_grades_may_have_names(reply: str, grade: float | None) -> None:
    """The worst first; a number is none of them."""
    assert score(judge(LETTERS, reply_mark="Grade: ..."), reply) == grade


def test_named_grades_have_an_order_and_a_threshold() -> None:
    """Everything that is done with grades can be done with them."""
    assert (LETTERS.low, LETTERS.high, LETTERS.name(3.0)) == (0, 4, "B")
    assert LETTERS.describe() == "F < D < C < B < A, positive at C"
    half = OutputScale(kind="graded", labels=("0", "0.5", "1"), threshold=1.0)
    assert score(judge(half, reply_schema={"score": "score"}), '{"score": 0.5}') == 1.0


def test_the_criteria_stand_where_the_system_text_says() -> None:
    """Then no heading of ours comes before them."""
    row = Row(id="r", inputs={"Text": "x"})
    prompt = judge(PASS)
    own = JudgePrompt(
        name="own",
        system="You judge.\n\n<rules>\n{{criteria}}\n</rules>",
        criteria="Be fair.",
        template="{{Text}}",
        reply="",
    )
    assert str(own.messages(row)[0].content).startswith(
        "You judge.\n\n<rules>\nBe fair.\n</rules>\n\nThe fenced blocks"
    )
    assert "Criteria:\nBe fair." in str(prompt.messages(row)[0].content)


def test_marks_are_kept_and_checked() -> None:
    """In the file, in the version, and refused where they are none."""
    marked, plain = judge(STARS, reply_mark="[[...]]"), judge(STARS)
    assert load_prompt(marked.to_yaml()) == marked
    assert marked.version != plain.version
    assert "reply_mark" not in plain.to_yaml()
    with pytest.raises(PromptError, match="reply mark"):
        judge(STARS, reply_mark="somewhere")
    with pytest.raises(PromptError, match="more than once"):
        JudgePrompt(
            name="x",
            system="{{criteria}} {{criteria}}",
            criteria="c",
            template="{{Text}}",
            reply="",
        )


@pytest.mark.parametrize("mark", ["Note: ...", "Note : ..."])
@pytest.mark.parametrize(
    "reply", ["Justification : bien.\nNote : 4/5", "Note: 4", "**Note :** 4/5"]
)
def test_a_blank_may_stand_before_the_colon(mark: str, reply: str) -> None:
    """As in French, whichever way the prompt writes it."""
    assert score(judge(STARS, reply_mark=mark), reply) == 4
