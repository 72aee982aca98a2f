"""The forms of reply that an export is tried with: what models, filters and limits make of a
verdict.

Each is what an endpoint answers, for one judge; Judgewright's own reading of it is what the tool
has to agree with.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...judges import JudgePrompt

MAX_GRADES = 11
"""Of a long scale, the five lowest and the six highest grades are tried."""
WHY = "The text says so."
NO_REASON = "no reason for its end"
CUT = "cut by its limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class FormOfReply:
    """One answer of an endpoint."""

    name: str
    """What a report calls it."""
    content: str | None
    finish_reason: str | None = "stop"
    refusal: str | None = None
    calls_tool: bool = False

    def body(self) -> dict[str, Any]:  # Any: JSON
        """Return the chat completion, as OpenAI's endpoint words it."""
        message: dict[str, Any] = {
            "role": "assistant",
            "content": self.content,
            "refusal": self.refusal,
        }
        if self.calls_tool:
            function = {"name": "verdict", "arguments": '{"score": 1}'}
            message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
        choice = {
            "index": 0,
            "finish_reason": self.finish_reason,
            "logprobs": None,
            "message": message,
        }
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "loopback",
            "choices": [choice],
            "usage": usage,
        }


def reply_forms(judge: JudgePrompt) -> list[FormOfReply]:
    """Return a well-formed reply for each grade of a judge, and then all other forms."""
    grades = list(judge.scale.levels) or [0.0, 0.25, 0.5, 1.0]
    if len(grades) > MAX_GRADES:
        grades = [*grades[:5], *grades[-6:]]
    forms = [
        FormOfReply(name=f"grade {grade:g}", content=write_verdict(judge, grade))
        for grade in grades
    ]
    low, high = grades[0], grades[-1]
    forms += _around(write_verdict(judge, high), write_verdict(judge, low))
    forms += _ended(write_verdict(judge, high))
    forms += _bare(judge, high, low)
    forms += _objects(judge, high, low)
    return forms


def write_verdict(judge: JudgePrompt, grade: float, **others: object) -> str:
    """Write a reply as the prompt asks for it: an object of its fields, or the line with the
    verdict.
    """
    if judge.reply_schema:
        return json.dumps(_fields(judge, grade) | others, ensure_ascii=False)
    word = _word(judge, grade)
    before, after = judge.mark_sides
    if before:
        return f"{WHY}\n{before} {word} {after}".rstrip()
    if judge.reply_mark == "start":
        return f"{word}, because the text says so."
    return f"{WHY}\n{word}" if judge.reply_mark else f"{WHY}\nScore: {word}"


def _fields(judge: JudgePrompt, grade: float) -> dict[str, object]:
    values = {"text": WHY, "confidence": 0.75, "score": _value(judge, grade)}
    return {name: values[kind] for name, kind in judge.reply_schema.items()}


def _value(judge: JudgePrompt, grade: float) -> object:
    if judge.scale.kind == "probability":
        return judge.scale.written(grade)
    return judge.scale.labels[int(grade)] if judge.scale.labels else int(grade)


def _word(judge: JudgePrompt, grade: float) -> str:
    return str(_value(judge, grade))


def _around(good: str, other: str) -> Iterator[FormOfReply]:
    """Yield what models write around a verdict."""
    texts = {
        "in a fence": f"```json\n{good}\n```",
        "in a fence without a language": f"```\n{good}\n```",
        "after a sentence": f"Here is my verdict:\n{good}",
        "before a sentence": f"{good}\n\nI hope that this helps.",
        "after thinking": f"<think>Is it {other}? No.</think>\n{good}",
        "after thinking in another tag": f"<thinking>\n{other}\n</thinking>\n\n{good}",
        "after thinking whose opening tag is missing": f"So {other} at first.\n</think>\n{good}",
        "thinking that never ends": f"<think>It may be {good}",
        "a draft, then a verdict": f"{other}\n\nOn reflection:\n{good}",
        "a verdict, twice": f"{good}\n{good}",
        "line breaks of Windows": f"\r\n{good}\r\n",
        "a mark of the byte order": f"\ufeff{good}",
        "two thousand words": f"{'word ' * 2000}\n{good}",
        "in a list": f"[{good}]",
        "in quotation marks": f'"{good}"',
        "cut within, told as whole": good[: len(good) // 2],
        "in an object that is broken": f'{{"thoughts": {{{good}',
        "curly quotes": good.replace('"', "”"),
        "apostrophes for quotes": good.replace('"', "'"),
    }
    for name, content in texts.items():
        yield FormOfReply(name=name, content=content)


def _ended(good: str) -> Iterator[FormOfReply]:
    """Yield replies whose end is told in other words, that are not whole, and none at all."""
    yield FormOfReply(name=NO_REASON, content=good, finish_reason=None)
    yield FormOfReply(name="ended by eos", content=good, finish_reason="eos")
    yield FormOfReply(name="whole, but ended by its limit", content=good, finish_reason="length")
    yield FormOfReply(name=CUT, content=good[: len(good) // 2], finish_reason="length")
    yield FormOfReply(name="ended by a filter", content=good, finish_reason="content_filter")
    yield FormOfReply(name="nothing, by a filter", content=None, finish_reason="content_filter")
    yield FormOfReply(
        name="a refusal in its own field", content=None, refusal="I cannot help with that."
    )
    yield FormOfReply(
        name="a refusal beside a verdict", content=good, refusal="I cannot help with that."
    )
    yield FormOfReply(name="a refusal in words", content="I'm sorry, but I cannot judge that.")
    yield FormOfReply(
        name="a call of a tool", content=None, finish_reason="tool_calls", calls_tool=True
    )
    yield FormOfReply(name="a verdict with a call of a tool", content=good, calls_tool=True)
    yield FormOfReply(name="null", content=None)
    yield FormOfReply(name="empty", content="")
    yield FormOfReply(name="white space", content=" \n\t")


def _bare(judge: JudgePrompt, high: float, low: float) -> Iterator[FormOfReply]:
    """Yield verdicts in prose, which a judge that asks for JSON may get too."""
    word, other, top = _word(judge, high), _word(judge, low), judge.scale.high
    texts = {
        "the value alone": word,
        "the value in bold, with a full stop": f"**{word}**.",
        "a line with the verdict": f"{WHY}\n\n**Score:** {word}",
        "two lines with a verdict": f"Score: {other}\nNo, wait.\nFinal score: {word}",
        "a sentence with the verdict": f"{WHY} The score is {word}.",
        "a value out of so many": f"Score: {word}/{top}",
        "a range": f"Score: {other}-{word}",
        "one of two": f"Score: {other} or {word}",
        "a value in a sentence": f"It holds for {word} of the texts.",
        "a line without a value": f"Score: {word}\nScore: n/a",
    }
    for name, content in texts.items():
        yield FormOfReply(name=name, content=content)


def _objects(judge: JudgePrompt, high: float, low: float) -> Iterator[FormOfReply]:
    """Yield objects that are not quite the one that was asked for."""
    field = judge.reply_fields["score"][0]
    value, other = (json.dumps(_value(judge, grade), ensure_ascii=False) for grade in (high, low))
    why = json.dumps(WHY)
    texts = {
        "a field twice, alike": f'{{"{field}": {value}, "why": {why}, "{field}": {value}}}',
        "a field twice, unlike": f'{{"{field}": {other}, "why": {why}, "{field}": {value}}}',
        "the value null": f'{{"why": {why}, "{field}": null}}',
        "no field with the value": f'{{"why": {why}}}',
        "an empty object": "{}",
        "the value as text": f'{{"{field}": "{_word(judge, high)}"}}',
        "the value with white space": f'{{"{field}": " {_word(judge, high)} "}}',
        "the value as a float": f'{{"{field}": {float(high)}}}',
        "the value in other letters": f'{{"{field}": "{_word(judge, high).upper()}"}}',
        "a value above the scale": f'{{"{field}": {judge.scale.high + 1}}}',
        "a value below the scale": f'{{"{field}": {judge.scale.low - 1}}}',
        "a value between two grades": f'{{"{field}": {judge.scale.low + 0.5}}}',
        "a value that is no word of the scale": f'{{"{field}": "perhaps"}}',
        "true": f'{{"{field}": true}}',
        "not a number": f'{{"{field}": NaN}}',
        "a number without end": f'{{"{field}": 1e999}}',
        "the value in a list": f'{{"{field}": [{value}]}}',
        "the object in an object": f'{{"result": {{"{field}": {value}}}}}',
        "the verdict quoted in a text": json.dumps(
            {"why": f'{{"{field}": {value}}}', field: json.loads(other)}
        ),
        "a comma too many": f'{{"{field}": {value},}}',
        "a name in capitals": f'{{"{field.upper()}": {value}}}',
        "fields that nobody asked for": f'{{"a": [1, {{"b": 2}}], "{field}": {value}, "c": null}}',
        "half a letter": f'{{"why": "\\ud800", "{field}": {value}}}',
        "a comment": f'{{"{field}": {value}}} // {other}',
        "two objects, the first with the value": f'{{"{field}": {value}}} {{"why": {why}}}',
    }
    for name, content in texts.items():
        yield FormOfReply(name=name, content=content)
