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
from .question import INTERFACES, DecisionApi, Option, Question, State
from .wire import MAX_TEXT, read_body, read_usage

_NAMES: Mapping[DecisionApi, Mapping[str, str]] = {
    "decisions": {one: one for one in ("name", "instructions", "choices", "value")},
    "sglang": {"name": "id", "instructions": "question", "choices": "options", "value": "name"},
}
"""What the interfaces that list questions call the fields of one."""
_USAGE = {
    "input_tokens": "prompt_tokens",
    "output_tokens": "completion_tokens",
    "input_tokens_details": "prompt_tokens_details",
}
"""What chat endpoints call these fields."""

Json = dict[str, Any]  # Any: JSON as the endpoint defines it


def wire_body(api: DecisionApi, model: str, questions: Sequence[Question], state: State) -> Json:
    """Return what is sent; the questions are `q0`, `q1` and so on, which no model is shown."""
    named = [(f"q{number}", question) for number, question in enumerate(questions)]
    if INTERFACES[api].by_name:
        by_name = {name: _system_one(question) for name, question in named}
        return {"model": model, "state": state, "questions": by_name}
    listed = [_listed(api, name, question) for name, question in named]
    return {"model": model, "input": state, "questions": listed}


def _system_one(question: Question) -> Json:
    body: Json = {"type": type_of("systemone", question.kind)}
    body["instructions"] = question.instructions
    texts = [option.meaning or option.name for option in question.options]
    if question.kind == "choice":
        body["criteria"] = {option.name: option.meaning or None for option in question.options}
    elif question.kind == "score":
        body["criteria"] = texts
    elif any(option.meaning for option in question.options):
        body["criteria"] = {"false": texts[0], "true": texts[1]}
    return body


def _listed(api: DecisionApi, name: str, question: Question) -> Json:
    names = _NAMES[api]
    body: Json = {names["name"]: name, "type": type_of(api, question.kind)}
    body[names["instructions"]] = _with_meanings(question)
    if question.kind == "choice":
        body[names["choices"]] = [_described(names["value"], one) for one in question.options]
    elif question.kind == "score" and INTERFACES[api].names_levels:
        body["levels"] = [_described("label", one) for one in question.options]
    elif question.kind == "score":
        body["levels"] = [one.meaning or one.name for one in question.options]
    return body


def _described(field: str, option: Option) -> Json:
    named = {field: option.name}
    return named | {"description": option.meaning} if option.meaning else named


def _with_meanings(question: Question) -> str:
    """Return the instructions; of yes/no with what each answer means, which has no field there."""
    if question.kind != "yes_no":
        return question.instructions
    no, yes = (option.meaning for option in question.options)
    lines = [f"Yes means: {yes}"] * bool(yes) + [f"No means: {no}"] * bool(no)
    return "\n\n".join(filter(None, [question.instructions, "\n".join(lines)]))


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
    usage = body.get("usage")
    if isinstance(usage, dict):
        usage = {"completion_tokens": 0} | {_USAGE.get(name, name): n for name, n in usage.items()}
    sent_texts = [*(question.instructions for question in questions), str(state)]
    tokens_in, tokens_out, cached, extra = read_usage(usage, sent_texts, "")
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
