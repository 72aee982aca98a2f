"""The chat completions API as a server speaks it: bodies in, answers out."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from ..models.model import Completion, Message, Request

if TYPE_CHECKING:
    from starlette.responses import Response


class _Part(BaseModel):
    type: Literal["text"]
    text: str


class _ChatMessage(BaseModel):
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[_Part]

    def message(self) -> Message:
        text = self.content
        if not isinstance(text, str):
            text = "".join(part.text for part in text)
        # "developer" is what newer models call the system message.
        return Message("system" if self.role == "developer" else self.role, text)


class _ChatBody(BaseModel):
    """The parameters we understand; others are accepted and do nothing, as most endpoints do."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    messages: list[_ChatMessage]
    temperature: float | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    response_format: dict[str, Any] | None = None  # Any: JSON as the endpoint defines it
    seed: int | None = None

    def request(self) -> Request:
        limit = (
            self.max_tokens if self.max_completion_tokens is None else self.max_completion_tokens
        )
        return Request(
            messages=tuple(m.message() for m in self.messages),
            temperature=self.temperature,
            max_tokens=limit,
            top_logprobs=(self.top_logprobs or 0) if self.logprobs else None,
            response_format=self.response_format,
            repeat=self.seed or 0,
        )


class RefusedError(Exception):
    """A request answered with 400; it never reaches the model."""

    def __init__(self, message: str, parameter: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter
        self.code = code


def read_body(raw: bytes) -> tuple[dict[str, Any], bytes]:  # Any: JSON before it is checked
    """Return the body and a digest of it that does not depend on the order of its keys.

    Raises:
        RefusedError: It is not a JSON object.
    """
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise RefusedError(f"the body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise RefusedError("the body is not a JSON object")
    return body, hashlib.blake2b(
        orjson.dumps(body, option=orjson.OPT_SORT_KEYS), digest_size=16
    ).digest()


def read_request(body: Mapping[str, Any]) -> Request:  # Any: JSON before it is checked
    """Return the request a body makes.

    Raises:
        RefusedError: A parameter is missing or of the wrong kind; it is named.
    """
    try:
        return _ChatBody.model_validate(body).request()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise RefusedError(f"{field}: {first['msg']}", field.partition(".")[0]) from None


def write_answer(completion: Completion, request: Request, model: str) -> bytes:
    """Write a completion as the JSON that clients of the API expect."""
    message = {"role": "assistant", "content": completion.text, "refusal": completion.refusal}
    logprobs = None
    if request.top_logprobs is not None and completion.logprobs:
        content = []
        for token in completion.logprobs:
            top = [_alternative(text, logprob) for text, logprob in token.top]
            content.append({**_alternative(token.token, token.logprob), "top_logprobs": top})
        logprobs = {"content": content, "refusal": None}
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": completion.finish_reason,
        "logprobs": logprobs,
    }
    answer = {
        "id": f"chatcmpl-{completion.reply_hash}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": completion.model_returned or model,
        "system_fingerprint": completion.fingerprint,
        "choices": [choice],
        "usage": {
            "prompt_tokens": completion.tokens_in,
            "completion_tokens": completion.tokens_out,
            "total_tokens": completion.tokens_in + completion.tokens_out,
            "prompt_tokens_details": {"cached_tokens": completion.tokens_cached},
            "completion_tokens_details": {"reasoning_tokens": completion.reasoning_tokens or 0},
        },
    }
    return orjson.dumps(answer)


def json_response(
    body: object, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a response with a body as JSON; bytes are JSON already."""
    from starlette.responses import Response

    content = body if isinstance(body, bytes) else orjson.dumps(body)
    return Response(content, status_code=status, headers=headers, media_type="application/json")


def error_response(
    status: int,
    message: str,
    *,
    code: str | None = None,
    parameter: str | None = None,
    retry_after: float | None = None,
) -> Response:
    """Return an error as the API words it."""
    kind = "invalid_request_error"
    if status == 429:
        kind = "rate_limit_error"
    elif status >= 500:
        kind = "server_error"
    body = {"error": {"message": message, "type": kind, "param": parameter, "code": code}}
    headers: dict[str, str] = {}
    if retry_after is not None and status in (429, 503):
        headers["retry-after"] = f"{retry_after:g}"
    return json_response(body, status=status, headers=headers)


def _alternative(text: str, logprob: float) -> dict[str, Any]:  # Any: JSON
    return {"token": text, "logprob": logprob, "bytes": list(text.encode("utf-8", "replace"))}
