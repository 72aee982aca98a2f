"""The bodies of the three interfaces of decision models: what is sent, and what an answer says.

An answer is kept as the endpoint wrote it and read each time it is used. What cannot be a
distribution over the answers leaves the row without a verdict; it is never a zero nor a half.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from ..errors import ModelError
from .model import Completion
from .question import DecisionApi, Question, QuestionKind, State
from .tokens import approximate_tokens

PATHS: Mapping[DecisionApi, str] = {
    "decisions": "/decisions",
    "systemone": "/systemone",
    "sglang": "/decisions",
}
_TYPES: Mapping[DecisionApi, Mapping[QuestionKind, str]] = {
    "decisions": {"yes_no": "predicate", "score": "score", "choice": "choice"},
    "systemone": {"yes_no": "noul", "score": "score", "choice": "choice"},
    "sglang": {"yes_no": "yes_no", "score": "score", "choice": "choice"},
}
_SUM = 0.02
"""How far probabilities may be from a sum of 1: services round each of them to .01."""
_SUM_OF_EACH = 0.005
_MOST_TOKENS = 20_000_000

Json = dict[str, Any]  # Any: JSON as the endpoint defines it


class NoDistribution(ValueError):
    """An answer is no distribution over the possible answers; the message says why."""


def wire_body(api: DecisionApi, model: str, questions: Sequence[Question], state: State) -> Json:
    """Return what is sent; the questions are `q0`, `q1` and so on, which no model is shown."""
    named = [(f"q{number}", question) for number, question in enumerate(questions)]
    body: Json = {"model": model, "state" if api == "systemone" else "input": state}
    if api == "systemone":
        return body | {"questions": {name: _system_one(question) for name, question in named}}
    write = _openai if api == "decisions" else _sglang
    return body | {"questions": [write(name, question) for name, question in named]}


def _openai(name: str, question: Question) -> Json:
    body: Json = {"type": _TYPES["decisions"][question.kind], "name": name}
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
        "type": _TYPES["systemone"][question.kind],
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
    """Read the body of a 200: a completion for each question, whose text is its answer as JSON.

    Tokens are those of the whole request at the first question and 0 at the others, as one request
    is billed once.

    Raises:
        ModelError: It is no answer to any question.
    """
    body = _unwrapped(raw)
    answers = body.get("answers")
    if not isinstance(answers, list | dict):
        raise ModelError(
            f"the endpoint's reply has no answers: {raw[:200].decode('utf-8', 'replace')!r}",
            retryable=True,
            status=200,
        )
    in_order = _in_order(answers, len(questions))
    tokens_in, tokens_out, cached, extra = _usage(body.get("usage"), questions, state)
    completions: list[Completion] = []
    for number, answer in enumerate(in_order):
        first = number == 0
        refused = isinstance(answer, dict) and answer.get("type") == "refusal"
        completions.append(
            Completion(
                text=orjson.dumps(answer).decode(),
                finish_reason="content_filter" if refused else "stop",
                refusal="the model refuses the question" if refused else None,
                tokens_in=tokens_in if first else 0,
                tokens_out=tokens_out if first else 0,
                tokens_cached=cached if first else 0,
                model_returned=str(body.get("model") or ""),
                extra=extra,
            )
        )
    return completions


def _unwrapped(raw: bytes) -> Json:
    """Return the body, out of the envelope that some gateways put round it."""
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        body = _lenient(raw)
    if isinstance(body, dict) and "answers" not in body and isinstance(body.get("result"), dict):
        body = body["result"]
    if not isinstance(body, dict):
        raise ModelError("the endpoint's reply is no JSON object", retryable=True, status=200)
    return body


def _lenient(raw: bytes) -> Any:  # Any: JSON
    """Read JSON that holds NaN or Infinity, which become null: one such number costs its row."""
    try:
        return json.loads(raw, parse_constant=lambda _: None)
    except ValueError:
        return None


def _in_order(answers: Any, questions: int) -> list[Any]:  # Any: JSON
    """Return the answer to each question; None where there is none."""
    if isinstance(answers, dict):
        return [answers.get(f"q{number}") for number in range(questions)]
    # A list is in the order of the questions; one of another length says nothing of any of them.
    return list(answers) if len(answers) == questions else [None] * questions


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

    Sums that are off by rounding are brought to 1.

    Args:
        api: The interface.
        question: What was asked.
        text: The text of a completion of `read_answers`.

    Raises:
        NoDistribution: The answer is missing, of another type, or its numbers are none.
    """
    answer = orjson.loads(text)
    if not isinstance(answer, dict):
        raise NoDistribution("there is no answer to this question")
    expected = _TYPES[api][question.kind]
    if answer.get("type") != expected:
        raise NoDistribution(
            f"the answer is of the type {answer.get('type')!r:.40}, not {expected}"
        )
    if question.kind == "yes_no" and api != "sglang":
        yes = _probability(answer.get("probability" if api == "decisions" else "noul"), "yes")
        return (1.0 - yes, yes)
    by_name = _by_name(answer.get("probabilities"))
    names = [option.name for option in question.options]
    if question.kind == "yes_no":
        names = ["no", "yes"]
    elif question.kind == "score" and api != "decisions":
        names = [str(index) for index in range(len(names))]
    return _summing_to_one([_probability(by_name.get(name), name) for name in names])


def _by_name(probabilities: Any) -> Mapping[str, Any]:  # Any: JSON
    if isinstance(probabilities, dict):
        return probabilities
    by_name: dict[str, Any] = {}
    for part in probabilities if isinstance(probabilities, list) else ():
        if isinstance(part, dict):
            by_name[str(part.get("label", part.get("value")))] = part.get("probability")
    return by_name


def _probability(value: Any, name: str) -> float:  # Any: JSON
    if type(value) not in (int, float) or not math.isfinite(value):
        raise NoDistribution(
            f"the probability of {name!r:.80} is {value!r:.40}, which is no number"
        )
    if not 0.0 <= value <= 1.0:
        raise NoDistribution(f"the probability of {name!r:.80} is {value!r}, not within [0, 1]")
    return float(value)


def _summing_to_one(probabilities: Sequence[float]) -> tuple[float, ...]:
    total = math.fsum(probabilities)
    if abs(total - 1.0) > max(_SUM, _SUM_OF_EACH * len(probabilities)):
        raise NoDistribution(f"the probabilities sum to {total:.4g}, not to 1")
    return tuple(value / total for value in probabilities)
