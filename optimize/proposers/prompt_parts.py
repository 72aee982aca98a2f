"""How a prompt and its parts are shown to the optimizer model, and how a new text of a part is put
back.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from ...judges import Completion, Example, InputError, JudgePrompt, Row, Verdict, read_reply

Part = Literal["criteria", "anchors", "system", "examples", "reply"]
PARTS: tuple[Part, ...] = ("criteria", "anchors", "system", "examples", "reply")
"""The parts of a prompt that may be rewritten; of the scale only its anchors, the words for what a
grade means.
"""
ROLES: dict[Part, str] = {
    "criteria": "evaluation criteria that an LLM judge follows when it grades a row",
    "anchors": "anchors of an LLM judge's scale, a line for each grade that says what it means",
    "system": "system message that tells an LLM judge its role, above the criteria",
    "examples": "replies that an LLM judge is shown as demonstrations, numbered",
    "reply": "clause that tells an LLM judge how to give its answer",
}
GROWTH = 1.3
"""How much longer a new text may be than the one it replaces."""
ROOM = 80
"""Words that may be added however short the old text is: two or three rules."""
_HEAD = re.compile(r"(?m)^Reply (\d{1,3}):[ \t]*\n?")


def text_of(prompt: JudgePrompt, part: Part) -> str:
    """Return the text of a part; of the demonstrations their replies, since their inputs are
    rows.
    """
    if part == "examples":
        return "\n\n".join(
            f"Reply {i}:\n{example.reply}" for i, example in enumerate(prompt.examples, 1)
        )
    return prompt.scale.anchors_text if part == "anchors" else str(getattr(prompt, part))


def with_text(prompt: JudgePrompt, part: Part, text: str) -> tuple[JudgePrompt | None, str]:
    """Return the prompt with a new text of a part, or None and why it cannot be one."""
    if part == "anchors":
        try:
            return replace(prompt, scale=prompt.scale.with_anchors(text)), ""
        except InputError as error:
            return None, str(error)
    if part != "examples":
        return replace(prompt, **{part: text}), ""
    parts = _HEAD.split(text)
    numbers, replies = parts[1::2], [reply.strip() for reply in parts[2::2]]
    if numbers != [str(i) for i in range(1, len(prompt.examples) + 1)]:
        return (
            None,
            (
                f"it has the replies {', '.join(numbers) or 'none'}; 1 to {len(prompt.examples)}"
                " are needed"
            ),
        )
    examples: list[Example] = []
    for number, example, reply in zip(numbers, prompt.examples, replies, strict=True):
        grade = grade_of(prompt, reply)
        # The grade is people's; only the words around it may be rewritten.
        if grade is None or grade != grade_of(prompt, example.reply):
            return (
                None,
                f"reply {number} does not give the grade of the old one in the judge's format",
            )
        examples.append(Example(inputs=example.inputs, reply=reply))
    return replace(prompt, examples=tuple(examples)), ""


def grade_of(prompt: JudgePrompt, reply: str) -> float | None:
    """Return the grade the judge's own reader finds in a reply; None where it finds none."""
    answer = read_reply(prompt, Completion(text=reply))
    return answer.score if isinstance(answer, Verdict) else None


def show_prompt(prompt: JudgePrompt, part: Part) -> str:
    """Show the whole prompt; the part that is to be changed stands between tags of its name."""
    parts: tuple[Part, ...] = ("system", "criteria", "reply")
    titles = {"system": "Its role", "criteria": "Its criteria", "reply": "How it must answer"}
    lines = [f"The judge is given these texts of a row: {', '.join(prompt.inputs)}."]
    lines += [f"{titles[other]}:\n{text_of(prompt, other)}" for other in parts if other != part]
    lines.append(f"The scale: {prompt.scale.describe()}")
    if part != "anchors":
        lines += [f"  {grade} means: {meaning}" for grade, meaning in prompt.scale.anchors.items()]
    if prompt.examples and part != "examples":
        lines.append(f"It is shown {len(prompt.examples)} demonstrations.")
    tag = part.upper()
    rest = "\n".join(lines)
    return (
        f"<{tag}>\n{text_of(prompt, part)}\n</{tag}>\n\n<REST_OF_PROMPT>\n{rest}\n</REST_OF_PROMPT>"
    )


def constraints(prompt: JudgePrompt, part: Part) -> list[str]:
    """Return what a new text must keep, in words; `check_candidate` refuses what does not.

    Args:
        prompt: The prompt that is changed.
        part: The part that is written anew.
    """
    words = len(text_of(prompt, part).split())
    most = max(math.ceil(GROWTH * words), words + ROOM)
    rules = [
        "Keep what is right in the text; change or add as little as the errors call for.",
        "Write general rules; never quote or describe a particular example.",
        (
            f"Do not change the scale ({prompt.scale.describe()}) or the reply format, and use no"
            " placeholders."
        ),
        f"Stay under {most} words; the present text has {words}.",
    ]
    if part == "reply":
        fields = ", ".join(prompt.reply_schema) or "nothing but the grade"
        rules[2] = (
            f"Do not change the scale ({prompt.scale.describe()}); the reply holds, in this order:"
            f" {fields}."
        )
    if part == "anchors":
        grades = ", ".join(f'"{grade}: "' for grade in prompt.scale.anchors)
        rules[2] = (
            f"Keep a line for each grade, beginning in this order with {grades}; add no grade and"
            " take none out."
        )
    if part == "examples":
        rules[1] = (
            "Change only what the replies say beside the grade; quote nothing but the reply's own"
            " row."
        )
        rules[3] = 'Keep each reply in its format, under its line "Reply N:".'
    return rules


def rows_shown(prompt: JudgePrompt, rows: Iterable[Row]) -> list[str]:
    """Return the ids of the rows that the prompt shows as demonstrations."""
    demonstrated = {
        tuple(example.inputs.get(name, "") for name in prompt.inputs) for example in prompt.examples
    }
    return (
        [row.id for row in rows if same_inputs(prompt, row) in demonstrated] if demonstrated else []
    )


def same_inputs(prompt: JudgePrompt, row: Row) -> tuple[str, ...]:
    """Return the texts of a row that the prompt's template shows, in order: what a demonstration is
    known by.
    """
    return tuple(row.inputs[name] for name in prompt.inputs)
