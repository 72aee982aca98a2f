"""Reasons for demonstrations: written from the row by the optimizer model, and checked before they
are shown.

A judge that is shown invented reasons learns to invent, and one that is shown none learns not to
reason.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ...judges import Completion, Example, JudgePrompt, Message, Request, Verdict, read_reply
from ..brief import Brief
from ..brief_figures import describe_wish
from .demonstrations import Demonstration, fields_of, write_reply
from .texts import TEXT_LIMIT
from .workbench import Workbench

LEAST_SURE, MOST_SURE = 0.5, 0.99
"""The confidences that a demonstration may state: a judge that is never unsure cannot be ranked by
it.
"""
_SYSTEM = """\
You write the reply of a demonstration for an LLM judge. You are given the judge's prompt, a row, and the grade that \
people gave the row. Write the reply that a careful judge gives with that grade, in the format that the prompt asks \
for. Reason from the row alone; what you quote must stand in the row word for word; state a confidence between \
{low:g} and {high:g}.
People gave this row the grade: {grade}
{wish}

The judge's prompt:
{prompt}"""  # noqa: E501
_QUOTED = re.compile(r"[\"“”]([^\"“”]{12,})[\"“”]")
_EVIDENCE = re.compile(r"(?i)evidence|quot|passage|span")
_CUT = re.compile(r"\s*(?:\.\.\.|…|\[\.\.\.\])\s*")


def with_reasons(
    choices: Sequence[Demonstration], brief: Brief, bench: Workbench, *, step: int
) -> tuple[list[Demonstration], int]:
    """Give reasons to the demonstrations that have none that can be shown; one without any is left
    out.

    Args:
        choices: Demonstrations; those that the judge graded as people did have its own reasons,
            which are checked too.
        brief: Says what is wanted, and which prompt it is.
        bench: The optimizer model.
        step: Makes equal requests of different steps different.

    Returns:
        The demonstrations that can be shown, in their order, and how many requests were made.
    """
    gives_reasons = "text" in brief.prompt.reply_schema.values()
    found: dict[str, Example | None] = {}
    for one in choices:
        own = one.example if one.reasoned else None
        if own is not None and gives_reasons:
            own = check_reply(brief.prompt, one, own.reply)
        found[one.row.id] = own
    lacking = [one for one in choices if found[one.row.id] is None]
    requests = [_request(one, brief, step) for one in lacking]
    for one, reply in zip(lacking, bench.ask(requests) if requests else [], strict=True):
        found[one.row.id] = check_reply(brief.prompt, one, reply.text)
    shown = [(one, found[one.row.id]) for one in choices]
    usable = [
        replace(one, example=example, reasoned=True)
        for one, example in shown
        if example is not None
    ]
    return usable, len(requests)


def _request(one: Demonstration, brief: Brief, step: int) -> Request:
    prompt = brief.prompt
    system = _SYSTEM.format(
        low=LEAST_SURE, high=MOST_SURE, grade=prompt.scale.name(one.grade), wish=describe_wish(brief.goal),  # noqa: E501
        prompt=prompt.system_text(),
    )  # fmt: skip
    user = replace(prompt, examples=()).messages(one.row)[-1].content
    return Request(
        messages=(Message("system", system), Message("user", user)),
        temperature=0.0,
        default_max_tokens=TEXT_LIMIT,
        repeat=step,
        purpose="optimizer",
    )


def check_reply(prompt: JudgePrompt, one: Demonstration, reply: str) -> Example | None:
    """Return a demonstration with a written reply; None where the reply may not be shown.

    It gives people's grade in the judge's format, fills every text field, quotes the row alone, its
    evidence the text that the prompt wants it from, and is plausibly sure.
    """
    answer = read_reply(prompt, Completion(text=reply))
    if not isinstance(answer, Verdict) or answer.score != one.grade:
        return None
    names = [name for name, kind in prompt.reply_schema.items() if kind == "text"]
    lines = answer.rationale.split("\n")
    if len(lines) != len(names) or not all(map(str.strip, lines)):
        return None
    plausible = answer.confidence is not None and LEAST_SURE <= answer.confidence <= MOST_SURE
    if "confidence" in prompt.reply_schema.values() and not plausible:
        return None
    allowed = {_plain(phrase) for phrase in re.findall(r"\"([^\"]+)\"", prompt.reply)}
    row = _plain(" ".join(one.example.inputs.values()))
    for name, line in zip(names, lines, strict=True):
        quotes: list[str] = _QUOTED.findall(line)
        source = row
        if _EVIDENCE.search(name):
            source = _plain(one.example.inputs.get(_quoted_input(prompt, name), row))
            if not quotes and _plain(line) not in allowed:
                quotes = [line]
        for quote in quotes:
            if _plain(quote) not in allowed and any(
                _plain(piece) not in source for piece in _CUT.split(quote)
            ):
                return None
    reply = write_reply(prompt, fields_of(prompt, one.grade, answer.rationale, answer.confidence))
    return replace(one.example, reply=reply)


def _quoted_input(prompt: JudgePrompt, field: str) -> str:
    """Return the input that the reply clause wants a field's quotation from; empty where it names
    none.
    """
    clause = re.search(rf"(?m)^.*\"{re.escape(field)}\"\s*:(.*)$", prompt.reply)
    named = re.findall(r"\b(?:of|from|in) the (\w+)", clause[1]) if clause else []
    return next((name for name in named if name in prompt.inputs), "")


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip("\"\u201c\u201d'. ")
