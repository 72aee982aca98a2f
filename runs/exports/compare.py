"""Compare what a tool sent and made of replies with what Judgewright sends and makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import orjson

from ...judges import (
    JudgePrompt,
    JudgeSettings,
    OutputScale,
    Row,
    Verdict,
    apply_rule,
    judge_request,
    read_reply,
)
from ...judges.asked_question import AskedQuestion
from ...judges.models.decision_wire import read_answers, wire_body
from ...judges.models.wire import read_completion
from ...judges.verdict import Answer
from .manifest import Export
from .reply_forms import CUT, FormOfReply
from .target import SAME_LIMIT, ExportContext, ScoreMap
from .template_parts import fill, template_messages

TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one reply says of a row."""

    score: float | None
    """The tool's score, or our grade; None where the row is unscored."""
    positive: bool | None = None
    """The decision; None where there is none, or the tool makes none."""
    said: str = ""
    """The tool's words on a reply without a score."""

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Outcome:  # Any: JSON
        """Read what a check wrote."""
        return cls(
            score=body["score"], positive=body.get("positive"), said=str(body.get("said") or "")
        )


def our_outcome(context: ExportContext, form: FormOfReply) -> Outcome:
    """Return what Judgewright makes of an endpoint's answer, read as its own client reads it."""
    slow = context.slow if asks_slow(context, form) else None
    answer = _our_answer(slow or context, form)
    if not isinstance(answer, Verdict):
        return Outcome(score=None)
    if slow is not None:
        end = context.scale.high if answer.positive else context.scale.low
        return Outcome(score=end, positive=answer.positive)
    decided = apply_rule(answer, context.scale, context.rule)
    return Outcome(score=answer.score, positive=isinstance(decided, Verdict) and decided.positive)


def asks_slow(context: ExportContext, form: FormOfReply) -> bool:
    """Whether the slow model of a cascade decides after this answer of the fast one."""
    cascade = context.prompt.cascade
    return cascade is not None and cascade.asks(_our_answer(context, form), context.scale)


def _our_answer(context: ExportContext, form: FormOfReply) -> Answer:
    prompt, raw = context.prompt, orjson.dumps(form.body())
    if context.api is not None:
        asked = AskedQuestion(prompt=prompt, api=context.api)
        return asked.read(read_answers(context.api, raw, [asked.question], "")[0])
    row = Row(id="", inputs=dict.fromkeys(prompt.inputs, ""))
    request = judge_request(prompt, row, settings=JudgeSettings())
    return read_reply(prompt, read_completion(raw, request))


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row, and how the endpoint answers it."""

    name: str
    """What a report calls it."""
    row: Mapping[str, str]
    form: FormOfReply


def cases_of(inputs: Sequence[Mapping[str, str]], forms: Sequence[FormOfReply]) -> list[Case]:
    """Return every row with the first form of answer, then the first row with every form."""
    rows = enumerate(inputs, start=1)
    return [
        *(Case(name=f"row {number}", row=row, form=forms[0]) for number, row in rows),
        *(Case(name=f"a reply ({form.name})", row=inputs[0], form=form) for form in forms),
    ]


def compare_outcomes(
    export: Export, cases: Sequence[Case], outcomes: Sequence[Outcome]
) -> list[str]:
    """Say which replies a tool scores or decides otherwise.

    Args:
        export: The export.
        cases: What was tried.
        outcomes: What the tool made of each.
    """
    if export.body["scores"] is None:
        return ["the manifest says that the tool reads no reply, and it did"]
    score_map, context = ScoreMap(**export.body["scores"]), export.context
    problems: list[str] = []
    unread: set[str] = set(export.body["unread"])
    for case, outcome in zip(cases, outcomes, strict=True):
        if case.form.name not in unread:
            ours = our_outcome(context, case.form)
            if problem := _difference(ours, outcome, score_map, context.scale):
                problems.append(f"{case.name}: {problem}")
        elif outcome.score is not None:
            problems.append(
                f"{case.name}: is scored {outcome.score:g}, and declared as left unscored"
            )
    return problems


def many_rows(forms: Sequence[FormOfReply], *, first: int) -> list[int]:
    """Return the cases that a tool's own run over many rows gets: the highest grade, a reply
    without one, the lowest.

    Args:
        forms: The replies.
        first: The case of the first of them.
    """
    names = [form.name for form in forms]
    highest = max(number for number, name in enumerate(names) if name.startswith("grade "))
    return [first + highest, first + names.index(CUT), first]


def compare_average(
    export: Export, forms: Sequence[FormOfReply], average: Mapping[str, Any]
) -> list[str]:  # Any: JSON
    """Say where a tool's average over `many_rows` is not what the manifest says of a row without a
    verdict.

    Args:
        export: The export.
        forms: The replies.
        average: `by`, what of the tool averaged, and `mean`; None where it gave none.
    """
    score_map, context, total = ScoreMap(**export.body["scores"]), export.context, 0.0
    highest, _, lowest = many_rows(forms, first=0)
    for number in (highest, lowest):
        grade = our_outcome(context, forms[number]).score
        assert grade is not None
        total += score_map.tool_score(grade, context.scale)
    counted = export.body["unscored_rows"] == "counted as 0"
    expected, mean = total / (3 if counted else 2), average["mean"]
    if mean is not None and abs(mean - expected) <= TOLERANCE:
        return []
    made_of_it = "gives no average" if mean is None else f"averages {mean:g}"
    declared = "counted as 0" if counted else "left out"
    return [
        f"{average['by']} {made_of_it} where one of three rows has no verdict, not {expected:g}:"
        f" declared as {declared}"
    ]


def _difference(ours: Outcome, theirs: Outcome, score_map: ScoreMap, scale: OutputScale) -> str:
    if ours.score is None:
        return "" if theirs.score is None else f"has no verdict, and is scored {theirs.score:g}"
    expected = score_map.tool_score(ours.score, scale)
    if theirs.score is None:
        return f"is unscored ({theirs.said or 'without a word'}), not scored {expected:g}"
    if abs(theirs.score - expected) > TOLERANCE:
        return f"is scored {theirs.score:g}, not {expected:g}"
    if theirs.positive is not None and theirs.positive != ours.positive and scale.kind != "choice":
        words = {True: "positive", False: "negative"}
        return (
            f"with the score {theirs.score:g} is decided {words[theirs.positive]}, not"
            f" {words[bool(ours.positive)]}"
        )
    return ""


def compare_question(
    context: ExportContext, inputs: Mapping[str, str], sent: Mapping[str, Any], *, model: str
) -> str:  # Any: JSON
    """Say what of a question to a decision model is not ours; empty where all of it is."""
    assert context.api is not None
    asked = AskedQuestion(prompt=context.prompt, api=context.api)
    state = asked.state(Row(id="", inputs=inputs))
    expected = wire_body(context.api, model, [asked.question], state)
    for name in {**expected, **sent}:
        if sent.get(name) != expected.get(name):
            return f"{name} is {_short(sent.get(name))}, not {_short(expected.get(name))}"
    return ""


def compare_settings(
    export: Export, sent: Mapping[str, Any], *, model: str
) -> list[str]:  # Any: JSON
    """Say what of a request, besides its messages, is not what the manifest says."""
    ours: dict[str, Any] = export.body["request"]
    request = {name: value for name, value in sent.items() if name not in ("messages", "model")}
    also: set[str] = set(export.body["also_sends"])
    if (
        "max_tokens" in ours
        and SAME_LIMIT in also
        and SAME_LIMIT in request
        and "max_tokens" not in request
    ):
        request["max_tokens"] = request.pop(SAME_LIMIT)
    problems: list[str] = []
    if sent.get("model") != model:
        problems.append(f"the model is {sent.get('model')!r}, not {model!r}")
    for name, value in ours.items():
        if name not in request:
            problems.append(f"{name} is not sent")
        elif request[name] != value:
            problems.append(f"{name} is {_short(request[name])}, not {_short(value)}")
    for name, value in request.items():
        if name not in ours and not (name in also and value is False):
            problems.append(f"{name} is sent as {_short(value)}, and is no part of the request")
    return problems


def _short(value: object) -> str:
    return orjson.dumps(value).decode()[:200]


def compare_messages(
    judge: JudgePrompt,
    inputs: Mapping[str, str],
    sent: Sequence[Mapping[str, str]],
    *,
    own_fences: bool,
) -> str:
    """Say where the messages of one row first differ from ours; empty where they are equal."""
    if own_fences:
        messages = judge.messages(Row(id="", inputs=inputs))
        return first_difference([{"role": m.role, "content": m.content} for m in messages], sent)
    return first_difference(fill(template_messages(judge), inputs), sent)


def first_difference(
    expected: Sequence[Mapping[str, str]], sent: Sequence[Mapping[str, str]]
) -> str:
    """Say where two lists of messages first differ; empty where they are equal."""
    expected_roles = [message["role"] for message in expected]
    roles = [message.get("role") for message in sent]
    if roles != expected_roles:
        return f"the roles are {roles}, not {expected_roles}"
    for number, (ours, theirs) in enumerate(zip(expected, sent, strict=True), start=1):
        a, b = ours["content"], _text(theirs.get("content"))
        if a != b:
            at = next(
                (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y),
                min(len(a), len(b)),
            )
            return (
                f"message {number} ({ours['role']}) at character {at}: {b[at : at + 40]!r}, not"
                f" {a[at : at + 40]!r}"
            )
    return ""


def _text(content: Any) -> str:  # Any: JSON
    """Return a content as text; clients may send it as a list of parts."""
    if not isinstance(content, list):
        return str(content)
    return "".join(str(part.get("text", "")) for part in cast("list[dict[str, Any]]", content))
