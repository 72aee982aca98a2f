"""A judge as a Python module: its messages and the reading of its replies, which the modules of all tools share."""

from __future__ import annotations

import inspect
from string import Template

from ...judges import JudgePrompt, Row
from . import embedded_code
from .source_text import comment_text, literal, number_literal, text_literal
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
    value = $line if body is None else next(body[name] for name in $names if name in body)
    return $grade, text""")


def stem(prompt: JudgePrompt) -> str:
    """Return the judge's name as a Python module can be called."""
    name = prompt.name.replace("-", "_")
    return name if name.isidentifier() else f"judge_{name}"


def fill_module(template: Template, context: ExportContext, **parts: str) -> str:
    """Return a module's text: the template with the parts that all modules share, and its own."""
    scale = context.prompt.scale
    decision = f"Positive at {context.raw_threshold:.6g} or above on the scale from {scale.low} to {scale.high}"
    if scale.kind == "graded" and scale.labels:
        decision = f"Grades are places in {', '.join(scale.labels)}; positive at {context.raw_threshold:.6g} or above"
    if scale.kind == "choice":
        decision = f"One of {', '.join(scale.labels)}"
    return template.substitute(
        origin=comment_text(context.origin),
        decision=comment_text(decision),
        user_text=user_text_part(context.prompt),
        messages=messages_part(context.prompt),
        reading=reading_part(context),
        **parts,
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


def messages_part(prompt: JudgePrompt) -> str:
    """Return `messages(row)`, which needs `user_text`."""
    empty_row = Row(id="", inputs=dict.fromkeys(prompt.inputs, ""))
    *fixed, _ = prompt.messages(empty_row)
    lines = []
    for message in fixed:
        content = text_literal(str(message.content), 8)
        lines.append(f'    {{\n        "role": "{message.role}",\n        "content": {content},\n    }},\n')
    return _MESSAGES.substitute(fixed="".join(lines))


def reading_part(context: ExportContext) -> str:
    """Return `read_reply(reply)`, the threshold, and the functions that they need."""
    prompt, scale, schema = context.prompt, context.prompt.scale, context.prompt.reply_schema
    names = score_names(prompt)
    texts = tuple(name for name, kind in schema.items() if kind == "text")
    code = embedded_code
    readers, grade = {
        "graded": ((code.number, code.whole_number), f"whole_number(value, {scale.low}, {scale.high})")
        if not scale.labels
        else ((code.place,), f"place(value, {literal(scale.labels)})"),
        "probability": ((code.number, code.share), "share(value)"),
        "choice": ((code.place,), f"place(value, {literal(scale.labels)})"),
        "binary": ((code.place, code.yes_or_no), f"yes_or_no(value, {literal(scale.labels)})"),
    }[scale.kind]
    functions = [code.without_thinking, code.last_object, *readers]
    template = _JSON_BODY
    line = "last_line(text)"
    if not schema:
        functions.insert(2, code.last_line)
        template = _PROSE_BODY
        if prompt.mark_sides[0]:
            functions.insert(3, code.after_mark)
            line = f"after_mark(text, {literal(prompt.mark_sides[0])}, {literal(prompt.mark_sides[1])})"
        elif prompt.reply_mark:
            functions.insert(3, code.at_edge)
            line = f"at_edge(text, {prompt.reply_mark == 'start'})"
    if not schema and scale.kind == "graded" and not scale.labels:
        line = f"re.sub(r'\\s*/\\s*{scale.high}$', '', {line})"  # 4/5
    return _READING.substitute(
        threshold=number_literal(context.raw_threshold),
        functions="\n\n".join(map(inspect.getsource, functions)),
        body=template.substitute(line=line, names=literal(names), grade=grade, texts=literal(texts)),
    )


def score_names(prompt: JudgePrompt) -> tuple[str, ...]:
    """Return the fields of a reply that may hold the grade: the prompt's own, then `score` unless it is another."""
    schema = prompt.reply_schema
    names = [name for name, kind in schema.items() if kind == "score"]
    if schema.get("score", "score") == "score":
        names.append("score")
    return tuple(dict.fromkeys(names))


def module_differences(context: ExportContext) -> tuple[str, ...]:
    """Say how a calibrated rule arrives in a module, and what of a plain-text reply is not read there."""
    rule, sentences = context.rule, []
    if rule.calibration is not None and context.prompt.scale.kind != "probability":
        sentences.append("The calibration of the rule concerns the stated confidence, which the module does not use.")
    elif rule.calibration is not None:
        sentences.append(
            f"Scores are the judge's raw probabilities. THRESHOLD is {context.raw_threshold:.6g}, the raw probability "
            f"from which the calibrated one reaches {rule.threshold:g}, so `positive` decides as the rule does."
        )
    if not context.prompt.reply_schema:
        sentences.append(
            "Of a reply in prose the module reads JSON, else the last line that names the verdict, else a reply that "
            "is nothing but a value; Judgewright reads more forms, and such a reply has no score in the tool."
        )
    return tuple(sentences)
