"""Templates of the messages that an exported Python module sends, and of how it reads replies: what
the modules of all tools share.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from string import Template

from ...judges import JudgePrompt, Row, reply_reading
from ..exports import embedded_code
from .source_text import comment_text, json_literal, literal, number_literal, text_literal
from .target import ExportContext

_USER_TEXT = Template('''\
NAME = $name
VERSION = $version
INPUTS = $inputs
TEMPLATE = $template
REPLY = $reply
"""How to answer; it closes the message."""


$fenced

def user_text(row):
    """Return the message that shows a row, a mapping with the inputs; it is what Judgewright sends."""
    return fenced(TEMPLATE, {name: row[name] for name in INPUTS}, VERSION) + REPLY
''')  # noqa: E501

_MESSAGES = Template('''\
FIXED = [
$fixed]
"""The messages before the row."""

REQUEST = $request
"""What a request says besides the model and the messages, as the judge was asked when it was measured."""


def messages(row):
    """Return the chat messages for one row."""
    return [*FIXED, {"role": "user", "content": user_text(row)}]


def settings(**parameters):
    """Return REQUEST with some parameters replaced, or left out where they are None."""
    told = {**REQUEST, **parameters}
    return {name: value for name, value in told.items() if value is not None}
''')  # noqa: E501

_READING = Template('''\
THRESHOLD = $threshold
"""A grade at or above it is positive."""

REPLY_FORM = $form
"""What a reply looks like."""


$functions''')

_READER = """

# How a reply is read, word for word as Judgewright reads it; the same in every export.

"""
_RAW_SCORES = "Scores are the judge's raw probabilities."
_IMPORTS = """\
import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, TypedDict, cast
"""
"""What the parts need that all modules share."""


def stem(prompt: JudgePrompt) -> str:
    """Return the judge's name as a Python module can be called."""
    name = prompt.name.replace("-", "_")
    return name if name.isidentifier() else f"judge_{name}"


def fill_module(template: Template, context: ExportContext, **parts: str) -> str:
    """Return a module's text: the template with the parts that all modules share and its own, then
    the reader.
    """
    scale = context.prompt.scale
    decision = (
        f"Positive at {context.raw_threshold:.6g} or above on the scale from {scale.low} to"
        f" {scale.high}"
    )
    if scale.kind == "graded" and scale.labels:
        decision = (
            f"Grades are places in {', '.join(scale.labels)}; positive at"
            f" {context.raw_threshold:.6g} or above"
        )
    if scale.low_is_good:
        decision = (
            f"Grades are 1 minus the number of a reply; positive at {context.raw_threshold:.6g} or"
            " above"
        )
    if scale.kind == "choice":
        decision = f"One of {', '.join(scale.labels)}"
    text = template.substitute(
        origin=comment_text(context.origin),
        decision=comment_text(decision),
        imports=_IMPORTS.rstrip(),
        user_text=user_text_part(context.prompt),
        messages=messages_part(context),
        reading=reading_part(context),
        **parts,
    )
    return text.rstrip() + "\n" + _READER + reader_part()


def reader_part() -> str:
    """Return the reader of replies, which needs nothing but `_IMPORTS`."""
    return (
        inspect.getsource(reply_reading)
        .split("# What follows goes into each Python export.\n")[1]
        .lstrip()
    )


def user_text_part(prompt: JudgePrompt) -> str:
    """Return `user_text(row)` and what it needs; prompt text stands in it as string literals."""
    reply = prompt.reply.strip()
    return _USER_TEXT.substitute(
        name=literal(prompt.name),
        version=literal(prompt.version),
        inputs=literal(prompt.inputs),
        template=text_literal(prompt.template, 0),
        reply=text_literal(f"\n\n{reply}" if reply else "", 0),
        fenced=inspect.getsource(embedded_code.fenced),
    )


def messages_part(context: ExportContext) -> str:
    """Return `messages(row)` and `settings()`, which need `user_text`."""
    prompt = context.prompt
    empty_row = Row(id="", inputs=dict.fromkeys(prompt.inputs, ""))
    *fixed, _ = prompt.messages(empty_row)
    lines = []
    for message in fixed:
        content = text_literal(str(message.content), 8)
        lines.append(
            f'    {{\n        "role": "{message.role}",\n        "content": {content},\n    }},\n'
        )
    return _MESSAGES.substitute(fixed="".join(lines), request=json_literal(context.request))


def reading_part(context: ExportContext) -> str:
    """Return `read_reply`, `read_completion`, the threshold and the form of a reply; they need
    `reader_part`.
    """
    return _READING.substitute(
        threshold=number_literal(context.raw_threshold),
        form=json_literal(dict(context.prompt.reply_form)),
        functions="\n\n".join(
            map(inspect.getsource, (embedded_code.read_reply, embedded_code.read_completion))
        ),
    )


def example_row(names: Sequence[str]) -> str:
    """Return a row as the lines that show the use write it."""
    return "{" + ", ".join(f'{literal(name)}: "..."' for name in names) + "}"


def module_differences(context: ExportContext) -> tuple[str, ...]:
    """Say how a calibrated rule arrives in a module."""
    rule, low = context.rule, context.prompt.scale.low_is_good
    if rule.calibration is None:
        return ()
    if context.prompt.scale.kind != "probability":
        return (
            (
                "The calibration of the rule concerns the stated confidence, which the module does"
                " not use."
            ),
        )
    scores, raw = ("Grades are not calibrated.", "grade") if low else (_RAW_SCORES, "probability")
    return (
        (
            f"{scores} THRESHOLD is {context.raw_threshold:.6g}, the raw {raw} from which the"
            f" calibrated one reaches {rule.threshold:g}, so `positive` decides as the rule does."
        ),
    )
