"""Requests, answers and errors as decision endpoints word them: OpenAI's decisions, System One and
SGLang's decisions. What a request may hold is in `decision_requests.yaml`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeGuard

from pydantic_core import SchemaValidator, ValidationError

from ..errors import InputError
from ..files.small_file import read_our_yaml
from ..models.question import DecisionApi, Option, Question, State

Json = dict[str, Any]  # Any: JSON
_YES_NO = {"decisions": "predicate", "systemone": "noul", "sglang": "yes_no"}


@dataclass(frozen=True, slots=True)
class NamedQuestion:
    """A question as a request has it."""

    name: str | None
    question: Question
    values: tuple[str | bool, ...]
    """Its options as they are written in an answer."""


@dataclass(eq=False)
class DecisionError(Exception):
    """A request that gets an error."""

    status: int
    message: str
    code: str | None = None
    problems: Sequence[Json] = ()
    """The fields that are wrong, by `loc`, `msg` and `type`."""
    retry_after: float | None = None
    """Seconds."""


def read_decision(api: DecisionApi, body: Json) -> tuple[State, list[NamedQuestion]]:
    """Return what a request is about and what it asks.

    Raises:
        DecisionError: Fields are missing, unknown or wrong; all of them are named.
    """
    try:
        _validator(api).validate_python(body, strict=True)
    except ValidationError as error:
        listed = error.errors(include_url=False, include_context=False, include_input=False)
        problems = [dict(problem) for problem in listed]
        message = f"{_field(problems)}: {problems[0]['msg']}"
        raise invalid(api, message, problems) from None
    pairs = _named(body["questions"])
    names = [name for name, _ in pairs if name is not None]
    if len(set(names)) < len(names):
        raise invalid(api, "two questions have one name")
    try:
        questions = [_question(name, one) for name, one in pairs]
    except InputError as error:
        raise invalid(api, str(error)) from None
    state = body["state" if api == "systemone" else "input"]
    return _texts(state) if _is_object(state) else _text(state), questions


def invalid(api: DecisionApi, message: str, problems: Sequence[Json] = ()) -> DecisionError:
    """Return the error of a request that is not understood."""
    problems = problems or [{"loc": (), "msg": message, "type": "value_error"}]
    status = 422 if api == "systemone" else 400
    return DecisionError(status, message, problems[0]["type"], problems)


def _field(problems: Sequence[Json]) -> str | None:
    return ".".join(map(str, problems[0]["loc"])) or None if problems else None


def _is_object(value: Any) -> TypeGuard[Json]:  # Any: JSON
    return isinstance(value, dict)


def _named(questions: Json | list[Json]) -> list[tuple[str | None, Json]]:
    if isinstance(questions, dict):
        return list(questions.items())
    return [(one.get("name", one.get("id")), one) for one in questions]


@cache
def _validator(api: DecisionApi) -> SchemaValidator:
    return SchemaValidator(read_our_yaml(Path(__file__).parent / "decision_requests.yaml")[api])


def _question(name: str | None, body: Json) -> NamedQuestion:
    match body:
        case {"choices": items} | {"options": items}:
            pairs = [(one.get("value", one.get("name")), one.get("description")) for one in items]
        case {"levels": [{"label": _}, *_] as items}:
            pairs = [(one["label"], one.get("description")) for one in items]
        case {"levels": items} | {"type": "score", "criteria": items}:
            pairs = [(str(level), text) for level, text in enumerate(items)]
        case {"type": "choice", "criteria": texts}:
            pairs = list(texts.items())
        case _:
            texts = body.get("criteria") or {"false": body.get("no"), "true": body.get("yes")}
            pairs = [("no", texts.get("false")), ("yes", texts.get("true"))]
    question = Question(
        kind="yes_no" if body["type"] in _YES_NO.values() else body["type"],
        instructions=_text(body.get("instructions", body.get("question"))),
        options=tuple(Option(_text(value), _text(meaning)) for value, meaning in pairs),
    )
    if not question.instructions and not any(option.meaning for option in question.options):
        raise InputError("a question needs instructions or criteria")
    return NamedQuestion(name, question, tuple(value for value, _ in pairs))


def _texts(body: Json) -> dict[str, str]:
    return {name: _text(value) for name, value in body.items()}


def _text(value: Any) -> str:  # Any: JSON
    """Return a text, that of messages and parts, or JSON as text; nothing for null."""
    match value:
        case None:
            return ""
        case str():
            return value
        case {"role": _, "content": inner} | {"type": "input_text", "text": inner}:
            return _text(inner)
        case {"type": "input_json", "data": inner} if _is_object(inner):
            # Tags without a salt, as the fields of a prompt have them.
            return "\n".join(f"<{key}>\n{text}\n</{key}>" for key, text in _texts(inner).items())
        case [{"role": _} | {"type": "input_text" | "input_json"}, *_]:
            return "\n\n".join(map(_text, value))
        case _:
            return json.dumps(value, ensure_ascii=False)


def write_answer(
    api: DecisionApi, asked: NamedQuestion, clean: Sequence[float], shown: Sequence[float]
) -> Json:
    """Write an answer.

    Args:
        api: Which kind of endpoint answers.
        asked: What was asked.
        clean: A probability for each option; what is chosen, and how surely, follows from them.
        shown: The probabilities that are written.
    """
    kind = asked.question.kind
    answer: Json = {"type": _YES_NO[api] if kind == "yes_no" else kind}
    if api == "decisions":
        answer["name"] = asked.name
    if kind == "yes_no" and api != "sglang":
        return answer | {"probability" if api == "decisions" else "noul": shown[1]}
    answer |= _chosen(asked, clean)
    shares = list(zip(asked.values, shown, strict=True))
    answer["probabilities"] = dict(shares)
    if api == "decisions":
        answer["probabilities"] = [
            {"value": value if kind == "choice" else index, "probability": share}
            | ({"label": value} if kind == "score" else {})
            for index, (value, share) in enumerate(shares)
        ]
    elif api == "sglang":
        answer |= {"label_mass": 0.9 + 0.1 * max(clean)}
        answer.pop("confidence", None)
    elif kind == "score":
        answer["legend"] = {option.name: option.meaning for option in asked.question.options}
    return answer


def _chosen(asked: NamedQuestion, shares: Sequence[float]) -> Json:
    top, count = shares.index(max(shares)), len(shares)
    if asked.question.kind == "yes_no":
        return {}
    if asked.question.kind == "choice":
        confidence = (count * shares[top] - 1) / (count - 1)
        return {"choice": asked.values[top], "confidence": confidence}
    away = sum(share * abs(level - top) for level, share in enumerate(shares))
    return {
        "score": sum(level * share for level, share in enumerate(shares)),
        "confidence": max(0.0, 1 - away * count / (count * count // 4)),
    }


def write_answers(
    api: DecisionApi, model: str, answers: Sequence[tuple[str | None, Json]], tokens: int
) -> Json:
    """Write the body of a response: the answers with the names of their questions, and the tokens
    that the request had.
    """
    if api == "decisions":
        usage = {
            "input_tokens": tokens,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": len(answers),
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens + len(answers),
        }
        return {"model": model, "answers": [answer for _, answer in answers], "usage": usage}
    if api == "systemone":
        usage = {"input_tokens": tokens, "output_tokens": 3 * len(answers)}
        return {"model": model, "answers": dict(answers), "usage": usage}
    usage = {"prompt_tokens": tokens, "completion_tokens": 0}
    head = {"object": "decisions", "model": model, "prompt_format_version": 1}
    return {**head, "answers": dict(answers), "usage": usage}


def write_error(api: DecisionApi, error: DecisionError) -> Json:
    """Write the body of an error."""
    if api == "systemone":
        if error.code == "context_length_exceeded":
            return {"detail": {"error_type": "max_tokens_exceeded"}}
        detail = [{**problem, "loc": ("body", *problem["loc"])} for problem in error.problems]
        return {"detail": detail or error.message}
    kind = "server_error" if error.status >= 500 else "invalid_request_error"
    if error.status == 429:
        kind = "rate_limit_error"
    fields = {"message": error.message, "type": kind, "param": _field(error.problems)}
    if api == "decisions":
        return {"error": {**fields, "code": error.code}}
    return {"object": "error", **fields, "code": error.status}
