"""Requests, answers and errors as decision endpoints word them: OpenAI's decisions, System One and
SGLang's decisions. What a request may hold is in `decision_requests.yaml`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic_core import SchemaValidator, ValidationError

from ..distribution_reading import type_of
from ..errors import InputError
from ..files.small_file import read_our_yaml
from ..models.question import DecisionApi, Option, Question, State

Json = dict[str, Any]  # Any: JSON
Named = list[tuple[str | None, Question]]
"""Questions with the names that a request gives them."""


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


def read_decision(api: DecisionApi, body: Json) -> tuple[State, Named]:
    """Return what a request is about and what it asks.

    Raises:
        DecisionError: Fields are missing, unknown or wrong; all of them are named.
    """
    try:
        _validator(api).validate_python(body, strict=True)
        pairs = body["questions"]
        if api == "systemone":
            pairs = [{"name": name, **one} for name, one in pairs.items()]
        named = [(one.get("name", one.get("id")), _question(one)) for one in pairs]
    except ValidationError as error:
        listed = error.errors(include_url=False, include_context=False, include_input=False)
        problems = [dict(problem) for problem in listed]
        message = f"{_path(problems)}: {problems[0]['msg']}"
        raise invalid(api, message, problems) from None
    except InputError as error:
        raise invalid(api, str(error)) from None
    names = [name for name, _ in named if name is not None]
    if len(set(names)) < len(names):
        raise invalid(api, "two questions have one name")
    match body:
        case {"state": {**texts}}:
            return {name: _text(text) for name, text in texts.items()}, named
        case _:
            return _text(body.get("input", body.get("state"))), named


def invalid(api: DecisionApi, message: str, problems: Sequence[Json] = ()) -> DecisionError:
    """Return the error of a request that is not understood."""
    problems = problems or [{"loc": (), "msg": message, "type": "value_error"}]
    status = 422 if api == "systemone" else 400
    return DecisionError(status, message, problems[0]["type"], problems)


def _path(problems: Sequence[Json]) -> str | None:
    return ".".join(map(str, problems[0]["loc"])) or None if problems else None


@cache
def _validator(api: DecisionApi) -> SchemaValidator:
    return SchemaValidator(read_our_yaml(Path(__file__).parent / "decision_requests.yaml")[api])


def _question(body: Json) -> Question:
    match body:
        case {"choices": items} | {"options": items} | {"levels": [{"label": _}, *_] as items}:
            names = [one.get("value", one.get("label", one.get("name"))) for one in items]
            pairs = [(name, one.get("description")) for name, one in zip(names, items, strict=True)]
        case {"levels": items} | {"type": "score", "criteria": items}:
            pairs = [(str(level), text) for level, text in enumerate(items)]
        case {"type": "choice", "criteria": texts}:
            pairs = list(texts.items())
        case _:
            texts = body.get("criteria") or {"false": body.get("no"), "true": body.get("yes")}
            pairs = [("no", texts.get("false")), ("yes", texts.get("true"))]
    question = Question(
        kind="yes_no" if body["type"] not in ("choice", "score") else body["type"],
        instructions=_text(body.get("instructions", body.get("question"))),
        options=tuple(Option(name, _text(meaning)) for name, meaning in pairs),
    )
    meanings = any(option.meaning for option in question.options)
    if question.kind == "yes_no" and not (question.instructions or meanings):
        raise InputError("a question of yes or no needs instructions or criteria")
    return question


def _text(value: Any) -> str:  # Any: JSON
    """Return a text, or JSON as text; nothing for null."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def write_answer(
    api: DecisionApi, question: Question, clean: Sequence[float], shown: Sequence[float]
) -> Json:
    """Write an answer: what is chosen, and how surely, follows from the probabilities `clean`, and
    `shown` are written.
    """
    answer: Json = {"type": type_of(api, question.kind)}
    if question.kind == "yes_no" and api != "sglang":
        return answer | {"probability" if api == "decisions" else "noul": shown[1]}
    names = [option.name for option in question.options]
    top, count = clean.index(max(clean)), len(clean)
    if question.kind == "choice":
        answer |= {"choice": names[top], "confidence": (count * clean[top] - 1) / (count - 1)}
    elif question.kind == "score":
        away = sum(share * abs(level - top) for level, share in enumerate(clean))
        answer["score"] = sum(level * share for level, share in enumerate(clean))
        answer["confidence"] = max(0.0, 1 - away * count / (count * count // 4))
    answer["probabilities"] = dict(zip(names, shown, strict=True))
    if api == "decisions":
        answer["probabilities"] = [
            {"value": name, "probability": share}
            if question.kind == "choice"
            else {"value": level, "label": name, "probability": share}
            for level, (name, share) in enumerate(zip(names, shown, strict=True))
        ]
    elif api == "sglang":
        answer.pop("confidence", None)
        answer["label_mass"] = 0.9 + 0.1 * max(clean)
    elif question.kind == "score":
        answer["legend"] = {option.name: option.meaning for option in question.options}
    return answer


def write_answers(
    api: DecisionApi, model: str, answers: Sequence[tuple[str | None, Json]], tokens: int
) -> Json:
    """Write the body of a response to a request of so many tokens, from the answers by name."""
    if api == "sglang":
        usage = {"prompt_tokens": tokens, "completion_tokens": 0}
        head = {"object": "decisions", "model": model, "prompt_format_version": 1}
        return {**head, "answers": dict(answers), "usage": usage}
    usage: Json = {"input_tokens": tokens, "output_tokens": len(answers)}
    if api == "systemone":
        return {"model": model, "answers": dict(answers), "usage": usage}
    usage["total_tokens"] = tokens + len(answers)
    usage["input_tokens_details"] = {"cached_tokens": 0, "cache_write_tokens": 0}
    usage["output_tokens_details"] = {"reasoning_tokens": 0}
    listed = [{"name": name, **answer} for name, answer in answers]
    return {"model": model, "answers": listed, "usage": usage}


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
    fields = {"message": error.message, "type": kind, "param": _path(error.problems)}
    if api == "decisions":
        return {"error": {**fields, "code": error.code}}
    return {"object": "error", **fields, "code": error.status}
