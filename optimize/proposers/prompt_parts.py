"""How a prompt and its parts are shown to the optimizer model, and how a new text of a part is put
back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from ...judges import InputError, JudgePrompt, Row, estimate_tokens
from ..invariants import token_cap

Part = Literal["criteria", "anchors", "system", "cases", "reply"]
PARTS: tuple[Part, ...] = ("criteria", "anchors", "system", "cases", "reply")
"""The parts of a prompt that may change; of the scale only its anchors, the words for what a grade
means. All but the decided cases are texts that are written anew.
"""
ROLES: dict[Part, str] = {
    "criteria": "evaluation criteria that an LLM judge follows when it grades a row",
    "anchors": "anchors of an LLM judge's scale, a line for each grade that says what it means",
    "system": "system message that tells an LLM judge its role, above the criteria",
    "reply": "clause that tells an LLM judge how to give its answer",
}
ASKED = (
    "It is asked as one question of a decision model, which answers each row at once with a"
    " probability for each answer. It writes no word: there are no reasons to read."
)
AS_A_QUESTION = (
    "The judge is a question: say what decides it. No steps to go through, no reasons to give, no"
    " word on the form of the answer."
)
"""A rule for new texts of a judge that a decision model answers."""
GROWTH = 1.3
"""How much longer a new text may be than the one it replaces."""
ROOM = 80
"""Words that may be added however short the old text is: two or three rules."""
KINDS_ROOM = 250
"""Words that may be added where rules are written by kind of text."""
_SURELY = 0.85
"""Share of the tokens that are left which words are promised: new words may be longer than the old
ones.
"""


def text_of(prompt: JudgePrompt, part: Part) -> str:
    """Return the text of a part; of the cases which they are."""
    if part == "cases":
        if prompt.cases is None:
            return ""
        return f"{prompt.cases.describe()} (bank {prompt.cases.bank.version})"
    return prompt.scale.anchors_text if part == "anchors" else str(getattr(prompt, part))


def with_text(prompt: JudgePrompt, part: Part, text: str) -> tuple[JudgePrompt | None, str]:
    """Return the prompt with a new text of a part, or None and why it cannot be one."""
    if part == "anchors":
        try:
            return replace(prompt, scale=prompt.scale.with_anchors(text)), ""
        except InputError as error:
            return None, str(error)
    return replace(prompt, **{part: text}), ""


def join_texts(texts: Mapping[Part, str]) -> str:
    """Write the texts of parts as one: each between tags of its name, a single one as it is."""
    if len(texts) == 1:
        return next(iter(texts.values()))
    return "\n\n".join(_tagged(part, text) for part, text in texts.items())


def _tagged(part: Part, text: str) -> str:
    return f"<{part.upper()}>\n{text}\n</{part.upper()}>"


def show_prompt(prompt: JudgePrompt, *marked: Part, question: bool = False) -> str:
    """Show the whole prompt; the parts that are to be changed stand between tags of their names.

    Args:
        prompt: The prompt.
        marked: The parts that are to be changed.
        question: Whether a decision model answers, which is not sent the reply clause.
    """
    parts: tuple[Part, ...] = (
        ("system", "criteria") if question else ("system", "criteria", "reply")
    )
    titles = {"system": "Its role", "criteria": "Its criteria", "reply": "How it must answer"}
    lines = [f"The judge is given these texts of a row: {', '.join(prompt.inputs)}."]
    shown: list[Part] = [part for part in parts if part not in marked]
    lines += [f"{titles[part]}:\n{text_of(prompt, part)}" for part in shown]
    lines.append(f"The scale: {prompt.scale.describe()}")
    if "anchors" not in marked:
        lines += [f"  {grade} means: {meaning}" for grade, meaning in prompt.scale.anchors.items()]
    if question:
        lines.append(ASKED)
    if prompt.cases is not None and (prompt.cases_by_row or not question):
        lines.append(f"Before each row it is shown {prompt.cases.describe()}.")
    rest = "\n".join(lines)
    texts = "\n\n".join(_tagged(part, text_of(prompt, part)) for part in marked)
    return f"{texts}\n\n<REST_OF_PROMPT>\n{rest}\n</REST_OF_PROMPT>"


def tokens_left(prompt: JudgePrompt, old: str, cap: int | None) -> int:
    """Return about how many tokens a new text may have in place of an old one.

    Args:
        prompt: The prompt that is changed.
        old: The text that is written anew.
        cap: Of the whole prompt, by the one that the run began with; None for this one's.
    """
    whole = estimate_tokens(f"{prompt.system}\n{prompt.criteria}\n{prompt.reply}")
    return (token_cap(prompt) if cap is None else cap) - whole + estimate_tokens(old)


def _words_left(prompt: JudgePrompt, parts: Sequence[Part], most: int, cap: int | None) -> int:
    """Return how many words a new text of parts may have: `most`, or fewer where no more surely fit
    under the cap; never fewer than there are.
    """
    old = "\n".join(text_of(prompt, part) for part in parts)
    words = len(old.split())
    share = tokens_left(prompt, old, cap) / max(estimate_tokens(old), 1)
    return max(words, min(most, math.floor(_SURELY * share * words)))


def constraints(
    prompt: JudgePrompt, part: Part, cap: int | None = None, *, question: bool = False
) -> list[str]:
    """Return what a new text must keep, in words; `check_candidate` refuses what does not.

    Args:
        prompt: The prompt that is changed.
        part: The part that is written anew.
        cap: Tokens that the whole new prompt may have; None for what this prompt allows.
        question: Whether a decision model answers.
    """
    words = len(text_of(prompt, part).split())
    most = max(math.ceil(GROWTH * words), words + ROOM)
    most = _words_left(prompt, (part,), most, cap)
    rules = [
        "Keep what is right in the text; change or add as little as the errors call for.",
        "Write general rules; never quote or describe a particular example.",
        (
            f"Do not change the scale ({prompt.scale.describe()})"
            f"{'' if question else ' or the reply format'}, and use no placeholders."
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
    return [*rules, AS_A_QUESTION] if question else rules


def constraints_by_kind(
    prompt: JudgePrompt, parts: Sequence[Part], cap: int | None = None, *, question: bool = False
) -> list[str]:
    """Return what new texts of parts must keep, where they are learned from all rows.

    Args:
        prompt: The prompt that is changed.
        parts: The parts that are written anew, in one answer.
        cap: Tokens that the whole new prompt may have; None for what this prompt allows.
        question: Whether a decision model answers.
    """
    words = sum(len(text_of(prompt, part).split()) for part in parts)
    most = _words_left(prompt, parts, words + KINDS_ROOM, cap)
    names = " and ".join(parts)
    rules = [
        "Where people draw different lines for different kinds of text, write a rule for each kind,"
        " and one for all others. Tell a kind by what the judge can see, never by the name of a"
        " column, a data set or a row number.",
        "A rule must mend more rows than it turns wrong, and keep the numbers that have to be kept."
        " Leave as it is what works.",
        "Write rules, never quote or describe a particular row; build nothing on labels in doubt.",
        f"Stay under {most} words in all; the present {names} have {words}.",
    ]
    if len(parts) > 1:
        tags = ", then ".join(f"<{part.upper()}>...</{part.upper()}>" for part in parts)
        rules.append(f"Write {names} so that they agree, each whole, between its own tags: {tags}.")
    for part in parts:
        rules.append(constraints(prompt, part, question=question)[2])
    if question:
        rules.append(AS_A_QUESTION)
    return list(dict.fromkeys(rules))


def same_inputs(prompt: JudgePrompt, row: Row) -> tuple[str, ...]:
    """Return the texts of a row that the prompt's template shows, in order."""
    return tuple(row.inputs[name] for name in prompt.inputs)
