"""Which prompt of a file is its judge: the one that asks for a verdict, not the one that writes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ...judges import InputError
from ..exports.template_parts import Field
from .foreign_judge import ForeignJudge
from .stated_answer import read_answer
from .text_units import FIELD, plain_marks, read_units, without_rows, words_on_answer

_JUDGE_NAME = re.compile(
    r"judge|eval|grad(?:e|ing)|rubric|scor(?:e|ing)|rat(?:e|ing)(?![a-z])|critic|review|verif|check|assess|verdict|police"
    r"|bewert|prüf|pruef|urteil|gutacht|juge|évalu|juez|giudi|valuta|juiz|avalia|beoordeel",
    re.IGNORECASE,
)
"""Names of a prompt that judges."""


def judges_among(prompts: Sequence[ForeignJudge]) -> tuple[ForeignJudge, ...]:
    """Return the one prompt that is the judge; where that cannot be told, all that may be it.

    Raises:
        InputError: Several of them are judges.
    """
    asking = [asks_for_verdict(prompt) for prompt in prompts]
    for surely in (2, 1):
        found = [prompt for prompt, asks in zip(prompts, asking, strict=True) if asks >= surely]
        called = [prompt for prompt in found if _JUDGE_NAME.search(prompt.string)]
        if len(found) == 1 or len(called) == 1:
            return (_with_note((called if len(called) == 1 else found)[0], prompts),)
        if found and surely == 2:
            raise several(found)
        if found:
            return tuple(found)
    return tuple(prompts)


def several(prompts: Sequence[ForeignJudge]) -> InputError:
    """Return the error that asks which of several prompts is meant."""
    lines = ", ".join(f"{prompt.string or 'a string'}{prompt.at}" for prompt in prompts)
    return InputError(
        f"it holds several prompts with fields: {lines}", hint="say which with --string NAME"
    )


def the_one(prompts: Sequence[ForeignJudge], words: Sequence[str]) -> ForeignJudge:
    """Return the one prompt in which all these words stand.

    Raises:
        InputError: They stand in several, or in none.
    """
    said = [word for word in words if word]
    found = [prompt for prompt in prompts if said and all(word in text_of(prompt) for word in said)]
    if len(prompts) == 1:
        return prompts[0]
    if len(found) != 1:
        raise several(prompts)
    return _with_note(found[0], prompts)


def text_of(judge: ForeignJudge, field: str = "{%s}") -> str:
    """Return the messages of a prompt as one text, each field as `{name}` or in another form."""
    texts = (
        "".join(field.replace("%s", p.name) if isinstance(p, Field) else p for p in m.parts)
        for m in judge.messages
    )
    return "\n\n".join(texts)


def asks_for_verdict(judge: ForeignJudge) -> int:
    """Return 2 where a prompt names the answers that it wants, 1 where it leaves something of them
    open, else 0.
    """
    messages = (message for message in judge.messages if message.role != "assistant")
    text = "\n\n".join(
        "".join(FIELD if isinstance(p, Field) else p for p in m.parts) for m in messages
    )
    text = plain_marks(text)
    units = read_units(text)
    answer = read_answer(words_on_answer(text, units), without_rows(text, units).replace(FIELD, ""))
    return (
        1
        if answer.questions
        else 2
        if answer.scale is not None or judge.scale or judge.labels
        else 0
    )


def _with_note(judge: ForeignJudge, prompts: Sequence[ForeignJudge]) -> ForeignJudge:
    """Say which of several prompts was taken."""
    others = [prompt.string or "another string" for prompt in prompts if prompt != judge]
    if not others:
        return judge
    taken = f"{judge.string or 'the string'}{judge.at}"
    note = (
        f"Its file also holds {', '.join(others)}; {taken} asks for a verdict. --string NAME takes"
        " another."
    )
    return replace(judge, notes=(*judge.notes, note))
