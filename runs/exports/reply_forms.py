"""The forms of reply that an export is tried with: what models, filters and limits make of a
verdict.

Each is what an endpoint answers, for one judge; Judgewright's own reading of it is what the tool
has to agree with.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from ...judges import JudgePrompt
from ...judges.asked_question import AskedQuestion
from ...judges.models.decision_wire import wire_body
from ...judges.simulated.decisions import read_decision, write_answer, write_answers
from .target import ExportContext

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
    decision: Mapping[str, Any] = field(default_factory=dict[str, Any])  # Any: JSON
    """The body of a decision model's answer; what a slow model writes stands in it too."""

    def body(self) -> dict[str, Any]:  # Any: JSON
        """Return the chat completion, as OpenAI's endpoint words it, in the body of a decision."""
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
            **self.decision,
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "loopback",
            "choices": [choice],
            "usage": usage,
        }


def reply_forms(judge: JudgePrompt) -> list[FormOfReply]:
    """Return a well-formed reply for each grade of a judge, and then all forms of the table."""
    from jinja2 import StrictUndefined, Template

    grades = list(judge.scale.levels) or [0.0, 0.25, 0.5, 1.0]
    if len(grades) > MAX_GRADES:
        grades = [*grades[:5], *grades[-6:]]
    forms = [
        FormOfReply(name=f"grade {grade:g}", content=write_verdict(judge, grade))
        for grade in grades
    ]
    values = _values(judge, grades[0], grades[-1])
    for name, answer in _table().items():
        if content := answer["content"]:
            filled = Template(content, undefined=StrictUndefined, keep_trailing_newline=True)
            answer = {**answer, "content": filled.render(values)}
        forms.append(FormOfReply(name=name, **answer))
    return forms


def answer_forms(context: ExportContext) -> list[FormOfReply]:
    """Return an answer that is sure of each grade, then rounded ones, and what is no answer."""
    assert context.api is not None
    api = context.api
    asked = AskedQuestion(prompt=context.prompt, api=api)
    _, [(_, question)] = read_decision(api, wire_body(api, "loopback", [asked.question], ""))
    count = len(question.options)

    def answering(name: str, *answers: dict[str, Any]) -> FormOfReply:  # Any: JSON
        named = [("q0", answer) for answer in answers]
        body = write_answers(api, "loopback", named, 1)
        return FormOfReply(name=name, content=None, decision=body)

    def answered(name: str, shares: Sequence[float]) -> FormOfReply:
        return answering(name, write_answer(api, question, shares, shares))

    sure = [
        [0.8 if number == top else 0.2 / (count - 1) for number in range(count)]
        for top in range(count)
    ]
    forms = [
        *(answered(f"grade {top}", shares) for top, shares in enumerate(sure)),
        answered("an even split", [1 / count] * count),
        answered("a sum of .99", [share * 0.99 for share in sure[-1]]),
        answered("a sum of 1.2", [share * 1.2 for share in sure[0]]),
        answered("a probability of 1.7", [1.7] * count),
        answering(CUT, {"type": "refusal"}),
        answering("no answer"),
    ]
    slow = context.slow
    if slow is None:
        return forms
    replies = reply_forms(slow.prompt)
    in_band = answered("", _within_band(context, asked.good, count))
    return [
        *(replace(replies[0], name=form.name, decision=form.decision) for form in forms),
        *(
            replace(one, name=f"in the band: {one.name}", decision=in_band.decision)
            for one in replies
        ),
    ]


def _within_band(context: ExportContext, good: Sequence[int], count: int) -> list[float]:
    """Return probabilities of so many grades, the good ones together in the middle of the band."""
    cascade = context.prompt.cascade
    assert cascade is not None
    middle = (cascade.low + cascade.high) / 2
    other = (1 - middle) / (count - len(good))
    return [middle / len(good) if place in good else other for place in range(count)]


@cache
def _table() -> dict[str, dict[str, Any]]:  # Any: YAML
    path = files("judgewright.runs.exports") / "reply_forms.yaml"
    forms: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {
        name: {"content": form} if isinstance(form, str) else form for name, form in forms.items()
    }


def _values(judge: JudgePrompt, lowest: float, highest: float) -> dict[str, object]:
    """Return what the templates of the table are filled with."""
    field, good = judge.reply_fields["score"][0], write_verdict(judge, highest)
    value, other_value = (
        json.dumps(_value(judge, grade), ensure_ascii=False) for grade in (highest, lowest)
    )
    quoted = {"why": f'{{"{field}": {value}}}', field: json.loads(other_value)}
    return {
        "good": good,
        "half": good[: len(good) // 2],
        "other": write_verdict(judge, lowest),
        "word": str(_value(judge, highest)),
        "other_word": str(_value(judge, lowest)),
        "value": value,
        "other_value": other_value,
        "quoted": json.dumps(quoted),
        "grade": float(highest),
        "high": judge.scale.high,
        "low": judge.scale.low,
        "field": field,
        "text": WHY,
    }


def write_verdict(judge: JudgePrompt, grade: float, **others: object) -> str:
    """Write a reply as the prompt asks for it: an object of its fields, or the line with the
    verdict.
    """
    if judge.reply_schema:
        return json.dumps(_fields(judge, grade) | others, ensure_ascii=False)
    word = str(_value(judge, grade))
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
