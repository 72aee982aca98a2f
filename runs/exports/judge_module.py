"""The parts that Python modules for tools have in common: a judge's messages, and how its replies are read."""

from __future__ import annotations

import inspect
import math
from string import Template

from ...judges import JudgePrompt, Row
from . import portable
from .python_text import plain, python_text
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
''')

_MESSAGES = Template('''\
FIXED = [
$fixed]
"""The messages before the row."""


def messages(row):
    """Return the chat messages for one row."""
    return [*FIXED, {"role": "user", "content": user_text(row)}]
''')

_READING = Template('''\
THRESHOLD = $threshold
"""A grade at or above it is positive."""


$functions

def read_reply(reply):
    """Return the grade that a reply gives, and its reasons.

    Raises:
        ValueError: It gives no grade of the scale; such a row has no score, not a zero.
    """
$body
''')

_JSON_BODY = Template("""\
    body = last_object(without_thinking(reply), $names)
    if body is None:
        raise ValueError(f"no verdict in {reply[:120]!r}")
    value = next(body[name] for name in $names if name in body)
    reasons = [str(body[name]) for name in $texts if name in body]
    return $grade, "\\n".join(reasons)""")

_PROSE_BODY = Template("""\
    text = without_thinking(reply)
    body = last_object(text, $names)
    value = last_line(text) if body is None else next(body[name] for name in $names if name in body)
    return $grade, text""")


def stem(prompt: JudgePrompt) -> str:
    """Return the judge's name as a Python module can be called."""
    name = prompt.name.replace("-", "_")
    return name if name.isidentifier() else f"judge_{name}"


def fill_module(template: Template, handover: ExportContext, **parts: str) -> str:
    """Return a module's text: the template with the parts that all modules share, and its own."""
    return template.substitute(
        origin=plain(handover.origin),
        decision=plain(_decision(handover)),
        user_text=user_text_part(handover.prompt),
        messages=messages_part(handover.prompt),
        reading=reading_part(handover),
        **parts,
    )


def user_text_part(prompt: JudgePrompt) -> str:
    """Return `user_text(row)` and what it needs; prompt text stands in it as string literals."""
    return _USER_TEXT.substitute(
        name=literal(prompt.name),
        version=literal(prompt.version),
        inputs=literal(prompt.inputs),
        template=python_text(prompt.template, 0),
        reply=python_text("\n\n" + prompt.reply.strip() if prompt.reply.strip() else "", 0),
        fenced=inspect.getsource(portable.fenced),
    )


def messages_part(prompt: JudgePrompt) -> str:
    """Return `messages(row)`, which needs `user_text`."""
    fixed = prompt.messages(Row(id="", inputs=dict.fromkeys(prompt.inputs, "")))[:-1]
    return _MESSAGES.substitute(
        fixed="".join(
            f'    {{\n        "role": "{m.role}",\n        "content": {python_text(str(m.content), 8)},\n    }},\n'
            for m in fixed
        )
    )


def reading_part(handover: ExportContext) -> str:
    """Return `read_reply(reply)`, the threshold, and what they need."""
    prompt, scale = handover.prompt, handover.prompt.scale
    plain_score = ("score",) if prompt.reply_schema.get("score", "score") == "score" else ()
    names = tuple(dict.fromkeys((*(n for n, kind in prompt.reply_schema.items() if kind == "score"), *plain_score)))
    texts = tuple(name for name, kind in prompt.reply_schema.items() if kind == "text")
    used, written = {
        "graded": ((portable.number, portable.whole_number), f"whole_number(value, {scale.low}, {scale.high})"),
        "probability": ((portable.number, portable.share), "share(value)"),
        "choice": ((portable.place,), f"place(value, {literal(scale.labels)})"),
        "binary": ((portable.place, portable.yes_or_no), f"yes_or_no(value, {literal(scale.labels)})"),
    }[scale.kind]
    prose = () if prompt.reply_schema else (portable.last_line,)
    functions = (portable.without_thinking, portable.last_object, *prose, *used)
    body = (_JSON_BODY if prompt.reply_schema else _PROSE_BODY).substitute(
        names=literal(names), grade=written, texts=literal(texts)
    )
    return _READING.substitute(
        threshold=number_text(raw_threshold(handover)),
        functions="\n\n".join(map(inspect.getsource, functions)),
        body=body,
    )


def literal(value: object) -> str:
    """Return a string or a tuple of strings as the formatter would write it, in double quotes where it can."""
    if isinstance(value, tuple):
        items = ", ".join(map(literal, value))
        return f"({items},)" if len(value) == 1 else f"({items})"
    text = repr(value)
    plain_text = isinstance(value, str) and text[0] == "'" and not {'"', "'", "\\"} & set(text[1:-1])
    return f'"{text[1:-1]}"' if plain_text else text


def number_text(number: float) -> str:
    """Return a number as Python reads it back."""
    return repr(number) if math.isfinite(number) else f'float("{number}")'


def raw_threshold(handover: ExportContext) -> float:
    """Return the grade from which the rule says positive; a rising calibration of probabilities is folded into it.

    The least float that the calibrated rule takes for positive, found by bisection, so that no row is decided
    differently; infinity where the rule takes none.
    """
    rule = handover.rule
    if rule.calibration is None or handover.prompt.scale.kind != "probability":
        return rule.threshold
    low, high = 0.0, 1.0
    if rule.calibration(low) >= rule.threshold:
        return low
    if rule.calibration(high) < rule.threshold:
        return math.inf
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if rule.calibration(middle) >= rule.threshold else (middle, high)
    return high


def calibration_difference(handover: ExportContext) -> tuple[str, ...]:
    """Say how a calibrated rule arrives in a module; nothing where there is none."""
    rule = handover.rule
    if rule.calibration is None:
        return ()
    if handover.prompt.scale.kind != "probability":
        return ("The calibration of the rule concerns the stated confidence, which the module does not use.",)
    return (
        f"Scores are the judge's raw probabilities. THRESHOLD is {raw_threshold(handover):.6g}, the raw probability "
        f"from which the calibrated one reaches {rule.threshold:g}, so `positive` decides as the rule does.",
    )


def prose_difference(prompt: JudgePrompt) -> tuple[str, ...]:
    """Say what of a plain-text reply is not read; nothing for JSON."""
    if prompt.reply_schema:
        return ()
    return (
        "Of a reply in prose the module reads JSON, else the last line that names the verdict, else a reply that is "
        "nothing but a value; Judgewright reads more forms, and such a reply has no score in the tool.",
    )


def _decision(handover: ExportContext) -> str:
    scale, threshold = handover.prompt.scale, raw_threshold(handover)
    if scale.kind == "choice":
        return f"One of {', '.join(scale.labels)}"
    return f"Positive at {threshold:.6g} or above on the scale from {scale.low} to {scale.high}"
