"""Rows with the replies to them, as chats and older prompt files have them, as decided cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .cases import Case, CaseBank, Cases
from .errors import PromptError
from .reply_reading import ReplyForm, Unreadable, read_text
from .scale import OutputScale


def cases_of_replies(
    replies: Sequence[tuple[Mapping[str, str], str]], form: ReplyForm, scale: OutputScale
) -> Cases:
    """Return rows, each its inputs and the reply to it, as cases that all stand before every row.

    Raises:
        PromptError: A reply has no verdict.
    """
    cases: list[Case] = []
    for number, (inputs, reply) in enumerate(replies, start=1):
        try:
            reading = read_text(reply, form)
        except Unreadable as error:
            raise PromptError(
                f"the reply of demonstration {number} has no verdict: {error}",
                hint="write it as the judge is told to reply",
            ) from None
        texts = {name: reading.fields.get(name, "") for name in form["texts"]}
        reason = "\n".join(f"{name}: {text}" for name, text in texts.items() if text)
        label = scale.name(reading.score)
        cases.append(Case(inputs=inputs, label=label, reason=reason or reading.rationale))
    bank = CaseBank(cases=tuple(cases), labels=scale)
    return Cases(bank=bank, count=len(cases), balanced=False, by="fixed")
