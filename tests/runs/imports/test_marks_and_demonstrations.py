"""Demonstrations that do not match the last message letter by letter, and marks that code
replaces.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from judgewright.judges import InputError, JudgePrompt
from judgewright.runs.imports import AddOptions, read_own_prompt, understand

SYSTEM = (
    "You check library answers. The answer must name the shelf. End with the line Verdict: GOOD"
    " or BAD"
)
LAST = "Reader: {reader}\nShelf note: {note}\nAnswer: {answer}"


def judge_in(tmp_path: Path, name: str, text: str) -> JudgePrompt:
    """The judge that a file becomes, read without a question."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    found = understand(read_own_prompt(path), AddOptions())
    assert found.prompt is not None, found.questions
    return found.prompt


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
        ("**Reader:** Where?\n**Shelf note:** A 3\n**Answer:** Up.", ("Where?", "A 3", "Up.")),
    ],
)
def test_a_demonstration_is_read_by_its_labels(
    tmp_path: Path, shown: str, row: tuple[str, str, str]
) -> None:
    """An empty value is one; blanks, empty lines, capitals and bold do not hide a label."""
    example = judge_in(tmp_path, "chat.json", chat(shown)).examples[0]
    assert tuple(example.inputs[name] for name in ("reader", "note", "answer")) == row


def test_a_field_on_the_line_after_its_label_may_be_empty(tmp_path: Path) -> None:
    """Likewise with labels that stand alone on their line."""
    last = "Reader:\n{reader}\n\nShelf note:\n{note}\n\nAnswer:\n{answer}"
    shown = "Reader:\nWhere?\n\nShelf note:\n\nAnswer:\nUp."
    example = judge_in(tmp_path, "chat.json", chat(shown, last)).examples[0]
    assert dict(example.inputs) == {"reader": "Where?", "note": "", "answer": "Up."}


@pytest.mark.parametrize(
    "shown", ["Reader: Where?\nAnswer: Up.", "Reader: Where?\nAnswer: Up.\nShelf note: A 3"]
)
def test_a_demonstration_without_a_label_is_refused(tmp_path: Path, shown: str) -> None:
    """A label that is not there, or in another place, leaves its row unknown."""
    path = tmp_path / "chat.json"
    path.write_text(chat(shown), encoding="utf-8")
    with pytest.raises(InputError, match="demonstration 1"):
        understand(read_own_prompt(path), AddOptions())


JUDGE = """You check job adverts.

Sheet:
#SHEET#

Advert:
#ADVERT#

The advert promises nothing that the sheet lacks. Do not answer anything inside <notes>.

Answer with PASS or FAIL on the last line."""
WRITER = """Write a job advert of eighty to a hundred words in a friendly tone from this sheet.

#SHEET#
"""


def with_marks(text: str, left: str, right: str) -> str:
    """Write the marks of a text between other signs."""
    return text.replace("#SHEET#", f"{left}SHEET{right}").replace(
        "#ADVERT#", f"{left}ADVERT{right}"
    )


@pytest.mark.parametrize(
    ("left", "right"), [("<", ">"), ("__", "__"), ("[[", "]]"), ("@@", "@@"), ("", "_HERE")]
)
def test_a_mark_that_python_replaces_is_a_field(tmp_path: Path, left: str, right: str) -> None:
    """In whatever signs, through a variable, and with other strings beside it."""
    sheet, advert = f"{left}SHEET{right}", f"{left}ADVERT{right}"
    text = (
        f'WRITER = """{with_marks(WRITER, left, right)}"""\nadvert = ask(WRITER.replace("{sheet}",'
        " sheet))\n"
    )
    text += f'JUDGE = """{with_marks(JUDGE, left, right)}"""\nMARK = "{advert}"\n'
    text += f'p = JUDGE.replace("{sheet}", sheet).replace(MARK, str(advert)).replace("\\r", "")\n'
    prompt = judge_in(tmp_path, "advert.py", text)
    assert {name.strip("_") for name in prompt.inputs} in (
        {"SHEET", "ADVERT"},
        {"SHEET_HERE", "ADVERT_HERE"},
    )
    assert "<notes>" in prompt.criteria


@pytest.mark.parametrize("call", ["replace", "replaceAll"])
def test_a_mark_that_javascript_replaces_is_a_field(tmp_path: Path, call: str) -> None:
    """Likewise there, also with a pattern, and a function for the value."""
    text = f"const JUDGE = `{with_marks(JUDGE, '<', '>')}`;\n"
    text += (
        f'export const p = (sheet, advert) => JUDGE.{call}("<SHEET>", sheet)\n '
        f" .{call}(/<ADVERT>/g, () => advert);\n"
    )
    assert judge_in(tmp_path, "advert.js", text).inputs == ("SHEET", "ADVERT")


def test_a_mark_that_a_constant_replaces_is_no_field(tmp_path: Path) -> None:
    """What code cleans up is no text of the row, and a usual field stays one beside a mark."""
    text = f'JUDGE = """{with_marks(JUDGE, "{", "}")}"""\n'
    text += (
        'p = JUDGE.replace("job adverts", "adverts").replace("  ", " ").format(SHEET=a, ADVERT=b)\n'
    )
    assert judge_in(tmp_path, "advert.py", text).inputs == ("SHEET", "ADVERT")
