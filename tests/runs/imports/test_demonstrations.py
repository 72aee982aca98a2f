"""Demonstrations that do not match the last message letter by letter."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from judgewright.judges import Case, InputError, JudgePrompt, Row
from judgewright.runs.imports import AddOptions, read_own_prompts, understand

SYSTEM = (
    "You check library answers. The answer must name the shelf. End with the line Verdict: GOOD"
    " or BAD"
)
ANSWERS = AddOptions(
    labels=("BAD", "GOOD"), verdict="Verdict: ...", criteria="The answer must name the shelf."
)
LAST = "Reader: {reader}\nShelf note: {note}\nAnswer: {answer}"


def judge_in(tmp_path: Path, name: str, text: str) -> JudgePrompt:
    """The judge that a file becomes, read without a question."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    found = understand(read_own_prompts(path)[0], ANSWERS)
    assert found.prompt is not None, found.questions
    return found.prompt


def shown_case(judge: JudgePrompt) -> Case:
    """The one case that stands before every row."""
    assert judge.cases is not None
    assert (judge.cases.by, judge.cases.count) == ("fixed", 1)
    (case,) = judge.cases.bank.cases
    return case


def chat(shown: str, last: str = LAST) -> str:
    """A chat with one demonstration, as JSON."""
    turns = [("system", SYSTEM), ("user", shown), ("assistant", "Verdict: BAD"), ("user", last)]
    return json.dumps([{"role": role, "content": text} for role, text in turns])


@pytest.mark.parametrize(
    ("shown", "row"),
    [
        ("Reader: Where is it?\nShelf note:\nAnswer: Upstairs.", ("Where is it?", "", "Upstairs.")),
        ("Reader: Where is it?\nShelf note: \nAnswer:", ("Where is it?", "", "")),
        (
            "Reader:Where is it?\nShelf note:  A 3  \nAnswer:   Upstairs.",
            ("Where is it?", "A 3", "Upstairs."),
        ),
        (
            "Reader: Where?\n\nShelf note: A 3\n\nAnswer: Up\nand left.\n",
            ("Where?", "A 3", "Up\nand left."),
        ),
        ("reader: Where?\r\nShelf Note: A 3\r\nANSWER: Up.", ("Where?", "A 3", "Up.")),
    ],
)
def test_a_demonstration_is_read_by_its_labels(
    tmp_path: Path, shown: str, row: tuple[str, str, str]
) -> None:
    """An empty value is one; blanks, empty lines and capitals do not hide a label."""
    judge = judge_in(tmp_path, "chat.json", chat(shown))
    case = shown_case(judge)
    assert tuple(case.inputs[name] for name in ("reader", "note", "answer")) == row
    asked = Row(id="", inputs=dict.fromkeys(judge.inputs, "x"))
    assert "People's grade: BAD" in judge.messages(asked)[-1].content


def test_a_field_on_the_line_after_its_label_may_be_empty(tmp_path: Path) -> None:
    """Likewise with labels that stand alone on their line."""
    last = "Reader:\n{reader}\n\nShelf note:\n{note}\n\nAnswer:\n{answer}"
    shown = "Reader:\nWhere?\n\nShelf note:\n\nAnswer:\nUp."
    case = shown_case(judge_in(tmp_path, "chat.json", chat(shown, last)))
    assert dict(case.inputs) == {"reader": "Where?", "note": "", "answer": "Up."}


@pytest.mark.parametrize(
    "shown", ["Reader: Where?\nAnswer: Up.", "Reader: Where?\nAnswer: Up.\nShelf note: A 3"]
)
def test_a_demonstration_without_a_label_is_refused(tmp_path: Path, shown: str) -> None:
    """A label that is not there, or in another place, leaves its row unknown."""
    path = tmp_path / "chat.json"
    path.write_text(chat(shown), encoding="utf-8")
    with pytest.raises(InputError, match="demonstration 1"):
        understand(read_own_prompts(path)[0], ANSWERS)
