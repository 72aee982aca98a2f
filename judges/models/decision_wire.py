"""The bodies of the three interfaces of decision models: what is sent, and what an answer says.

An answer is kept as the endpoint wrote it and read each time it is used. What cannot be a
distribution over the answers leaves the row without a verdict; it is never a zero nor a half.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from ..distribution_reading import distribution_of, type_of
from ..errors import ModelError
from .model import Completion
from .question import DecisionApi, Question, State
from .tokens import approximate_tokens
from .wire import MAX_TEXT, read_body

PATHS: Mapping[DecisionApi, str] = {
    "decisions": "/decisions",
    "systemone": "/systemone",
    "sglang": "/decisions",
}
_MOST_TOKENS = 20_000_000

Json = dict[str, Any]  # Any: JSON as the endpoint defines it


def wire_body(api: DecisionApi, model: str, questions: Sequence[Question], state: State) -> Json:
    """Return what is sent; the questions are `q0`, `q1` and so on, which no model is shown."""
    named = [(f"q{number}", question) for number, question in enumerate(questions)]
    body: Json = {"model": model, "state" if api == "systemone" else "input": state}
    if api == "systemone":
        return body | {"questions": {name: _system_one(question) for name, question in named}}
    write = _openai if api == "decisions" else _sglang
    return body | {"questions": [write(name, question) for name, question in named]}


def _openai(name: str, question: Question) -> Json:
    body: Json = {"type": type_of("decisions", question.kind), "name": name}
    body["instructions"] = _with_meanings(question)
    if question.kind == "choice":
        body["choices"] = [_described("value", option) for option in question.options]
    if question.kind == "score":
        body["levels"] = [_described("label", option) for option in question.options]
    return body


def _described(field: str, option: Any) -> Json:  # Any: an Option
    named = {field: option.name}
    return named | {"description": option.meaning} if option.meaning else named


def _system_one(question: Question) -> Json:
    body: Json = {
        "type": type_of("systemone", question.kind),
        "instructions": question.instructions,
    }
    meanings = [option.meaning for option in question.options]
    if question.kind == "choice":
        body["criteria"] = {option.name: option.meaning or None for option in question.options}
    elif question.kind == "score":
        body["criteria"] = [option.meaning or option.name for option in question.options]
    elif any(meanings):
        words = [option.meaning or option.name for option in question.options]
        body["criteria"] = {"false": words[0], "true": words[1]}
    return body


def _sglang(name: str, question: Question) -> Json:
    body: Json = {"id": name, "type": question.kind, "question": _with_meanings(question)}
    if question.kind == "choice":
        body["options"] = [
            {"name": option.name} | ({"description": option.meaning} if option.meaning else {})
            for option in question.options
        ]
    if question.kind == "score":
        body["levels"] = [option.meaning or option.name for option in question.options]
    return body


def _with_meanings(question: Question) -> str:
    """Return the instructions; of yes/no with what each answer means, which has no field there."""
    if question.kind != "yes_no":
        return question.instructions
    lines = [
        f"{answer} means: {option.meaning}"
        for answer, option in zip(("No", "Yes"), question.options, strict=True)
        if option.meaning
    ]
    return "\n\n".join(
        [question.instructions, "\n".join(reversed(lines))] if lines else [question.instructions]
    )


def read_answers(
    api: DecisionApi, raw: bytes, questions: Sequence[Question], state: State
) -> list[Completion]:
    """Read the body of a 200 as `read_together` does: a completion for each question."""
    return split_answers(read_together(api, raw, questions, state))


def read_together(
    api: DecisionApi, raw: bytes, questions: Sequence[Question], state: State
) -> Completion:
    """Read the body of a 200; the text is the list of the answers as JSON, null where there is
    none.

    Raises:
        ModelError: It is no answer to any question.
    """
    body = read_body(raw, "answers", _parsed)
    answers = body.get("answers") if isinstance(body, dict) else None
    if not isinstance(answers, list if api == "decisions" else dict):
        raise ModelError(f"the endpoint's reply has no answers as {api} has them", status=200)
    text = orjson.dumps(_in_order(answers, len(questions))).decode()
    if len(text) > MAX_TEXT:
        raise ModelError(f"answers of {len(text):,} characters are not kept", status=200)
    tokens_in, tokens_out, cached, extra = _usage(body.get("usage"), questions, state)
    return Completion(
        text=text,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        tokens_cached=cached,
        model_returned=str(body.get("model") or "")[:200],
        extra=extra,
    )


def split_answers(together: Completion) -> list[Completion]:
    """Return a completion for each question of one of `read_together`, whose text is its answer.

    Tokens and cost are the first one's, as one request is billed once.
    """
    free = replace(together, tokens_in=0, tokens_out=0, tokens_cached=0, cost=0.0)
    completions: list[Completion] = []
    for answer in orjson.loads(together.text):
        refused = isinstance(answer, dict) and answer.get("type") == "refusal"
        completions.append(
            replace(
                free if completions else together,
                text=orjson.dumps(answer).decode(),
                finish_reason="content_filter" if refused else "stop",
                refusal="the model refuses the question" if refused else None,
            )
        )
    return completions


def _parsed(raw: bytes) -> Any:  # Any: JSON
    """Return the body, out of the envelope that some gateways put round it; None for what is no
    JSON, says a thing twice or cannot be kept.

    NaN and Infinity become null: one such number costs its row.
    """
    try:
        body = json.loads(raw, object_pairs_hook=_once_each, parse_constant=lambda _: None)
        orjson.dumps(body)
    except (ValueError, TypeError, RecursionError):
        return None
    if isinstance(body, dict) and "answers" not in body and isinstance(body.get("result"), dict):
        return body["result"]
    return body


def _once_each(pairs: list[tuple[str, Any]]) -> Json:  # Any: JSON
    body = dict(pairs)
    if len(body) < len(pairs):
        raise ValueError("a name stands twice")
    return body


def _in_order(answers: Any, questions: int) -> list[Any]:  # Any: JSON
    """Return the answer to each question; None where there is none."""
    names = [f"q{number}" for number in range(questions)]
    if isinstance(answers, dict):
        return [answers.get(name) for name in names]
    # A list is in the order of the questions; one of another length says nothing of any of them.
    if len(answers) != questions:
        return [None] * questions
    return [
        answer if isinstance(answer, dict) and answer.get("name") in (name, None) else None
        for answer, name in zip(answers, names, strict=True)
    ]


def _usage(
    usage: Any,
    questions: Sequence[Question],
    state: State,  # Any: JSON
) -> tuple[int, int, int, dict[str, str]]:
    reported = usage if isinstance(usage, dict) else {}
    tokens_in = _count(reported, "input_tokens", "prompt_tokens")
    tokens_out = _count(reported, "output_tokens", "completion_tokens") or 0
    if tokens_in is None:
        texts = [*(question.instructions for question in questions), str(state)]
        return sum(map(approximate_tokens, texts)), 0, 0, {"tokens": "estimated"}
    details = reported.get("input_tokens_details")
    cached = _count(details, "cached_tokens") or 0 if isinstance(details, dict) else 0
    return tokens_in, tokens_out, min(cached, tokens_in), {}


def _count(fields: Json, *names: str) -> int | None:
    for name in names:
        value = fields.get(name)
        if type(value) is int and 0 <= value <= _MOST_TOKENS:
            return value
    return None


def read_distribution(api: DecisionApi, question: Question, text: str) -> tuple[float, ...]:
    """Return the probability of each answer, in the order of the question's options.

    Args:
        api: The interface.
        question: What was asked.
        text: The text of a completion of `read_answers`.

    Raises:
        NoDistribution: See `distribution_of`.
    """
    names = [option.name for option in question.options]
    return distribution_of(orjson.loads(text), api=api, kind=question.kind, names=names)
