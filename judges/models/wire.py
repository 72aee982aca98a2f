"""Read what an OpenAI-compatible endpoint sends back, once and strictly: a completion or an error.

Pure functions over bytes, so that whatever carries them (one call, a batch file) is read alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from html import unescape
from typing import Annotated, Any
from urllib.parse import urljoin

import orjson
from pydantic import BaseModel, FailFast, Field, FiniteFloat, TypeAdapter, ValidationError

from ..errors import InputError, ModelError
from ..reply_reading import FINISHES, plain_finish
from .base_url import checked_url
from .model import REASONING, REFUSABLE, Completion, Request, TokenLogprob
from .rates import read_seconds
from .tokens import approximate_tokens
from .transport import CHAT

MAX_TEXT = 2**20
"""Characters of an answer that are kept."""
_MOST_TOKENS = 20_000_000
"""Twice the longest context a model has; an endpoint that reports more in one call does not count.
"""
_MOST_PARTS = 400_000
"""Objects and lists in a body: four bytes of `[],` are a hundred once they are read."""
_MOST_LOGPROBS = 20_000
"""Tokens of a reply whose log-probabilities are kept."""
_MOST_ALTERNATIVES = 100
_MESSAGE_CAP = 300
_SAYING = (
    "message",
    "error",
    "detail",
    "details",
    "errors",
    "error_message",
    "errorMessage",
    "error_description",
    "msg",
    "description",
    "reason",
    "title",
    "base_resp",
    "status_msg",
)
"""Fields in which an error says what is wrong."""
_DEEPEST = 5
_PAGE = 20_000
"""Bytes of a web page in which its title is looked for."""
_ERROR_CHARS = 500
"""Characters of an error that are looked at: some servers quote the request further down, row text
included.
"""

_NAMES = re.compile(
    r"(max_(?:completion_)?tokens|temperature|(?:top_)?log_?probs|response[_"
    r" ]format|json_(?:schema|object)|grammar"
    r"|seed)(?![a-z0-9])",
    re.I,
)
"""What an error may name of a request; it says which parameter is tried first, and nothing else."""
_OURS = {"model", "messages", "input", "state", "questions", "top_logprobs", *REFUSABLE}
"""Fields of a request that are no extra ones."""
_UNFINISHED = re.compile(r"could not finish the message because max_(?:completion_)?tokens", re.I)
_QUOTA_CODES = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "4006"}
"""The last is Cloudflare's."""
_FILTER_CODES = {"content_filter", "ResponsibleAIPolicyViolation", "refusal"}
_CODES = _QUOTA_CODES | _FILTER_CODES
_RETRY_DELAY = re.compile(rb'"retryDelay"\s*:\s*"([0-9]{1,6}(?:\.[0-9]{1,9})?)s"')
_NO_CREDIT = re.compile(r"credit balance is too low", re.I)
_WRONG_KEY = re.compile(r"api[ _]key (?:is )?(?:not valid|invalid|expired)", re.I)
_FLAGGED = re.compile(r"flagged|moderation|content policy|safety", re.I)
_MAY_REFUSE = {400, 403, 404, 422, 500, 501}
_FATAL = {401, 402, 404, 405, 410}
ENDINGS = frozenset(FINISHES.values())
"""How a whole or a cut reply ends; any other end is a failure, whatever it is called."""
_TRANSIENT = {408, 409, 425, 429}
_HINTS = {
    401: "check the key in OPENAI_API_KEY, and that it belongs to this endpoint",
    402: "the account has no credit left",
    403: "the key may not use this model or endpoint",
    404: (
        "check the model's name, and that the base URL ends where /chat/completions begins (often"
        " in /v1); a decision model needs api: judgewright models add NAME --api"
    ),
}


class _Part(BaseModel):
    text: str | None = None


class _Message(BaseModel):
    content: str | list[Any] | None = None  # Any: a million wrong parts would be a million errors
    refusal: str | None = None
    tool_calls: Any = None  # Any: only whether there are some is asked
    function_call: Any = None  # Any: likewise


class _Choice(BaseModel):
    message: _Message
    error: Any = None  # Any: whatever a gateway puts there
    finish_reason: str | None = None
    # Any: read by itself, so that a malformed one costs the log-probabilities and not the reply
    logprobs: Any = None


class _Reply(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    model: str | None = None
    system_fingerprint: str | None = None
    usage: Any = None  # Any: as for logprobs


_Tokens = Annotated[int, Field(strict=True, ge=0, le=_MOST_TOKENS)]


class _Cached(BaseModel):
    cached_tokens: _Tokens | None = None


class _Reasoning(BaseModel):
    reasoning_tokens: _Tokens | None = None


class _Usage(_Reasoning):
    prompt_tokens: _Tokens
    completion_tokens: _Tokens
    total_tokens: Annotated[int, Field(strict=True, ge=0, le=2 * _MOST_TOKENS)] | None = None
    prompt_tokens_details: _Cached | None = None
    completion_tokens_details: _Reasoning | None = None


class _TopToken(BaseModel):
    token: str
    logprob: FiniteFloat


class _Token(_TopToken):
    top_logprobs: Annotated[list[_TopToken], FailFast(), Field(max_length=_MOST_ALTERNATIVES)] = []


_LOGPROBS = TypeAdapter(Annotated[list[_Token], FailFast(), Field(max_length=_MOST_LOGPROBS)])


def read_completion(raw: bytes, request: Request) -> Completion:
    """Read the body of a 200.

    Tokens the endpoint does not report, or reports absurdly, are estimated; `extra["tokens"]` then
    says `estimated`.

    Raises:
        ModelError: It is not a chat completion, is far too long, or is an error in disguise (some
            gateways answer 200).
    """
    body = read_body(raw, "choices", _json, request.body())
    # Only the first choice is read: each of a million wrong ones would have its own error.
    if isinstance(body, dict) and isinstance(body.get("choices"), list):
        body["choices"] = body["choices"][:1]
    try:
        reply = _Reply.model_validate(body)
        choice = reply.choices[0]
        text = _text(choice.message)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "body"
        message = f"the endpoint's reply is not a chat completion: {field}: {first['msg']}"
        raise ModelError(message, retryable=True, status=200) from None
    finish = _finish(choice)
    if choice.error or finish not in ENDINGS:
        reason = (
            _words(choice.error)
            or f"the reply ended by {finish!r}, which does not say that it is whole"
        )
        message = f"the endpoint failed while it answered: {reason[:_MESSAGE_CAP]}"
        raise ModelError(message, retryable=True, status=_disguised_status(choice.error))
    if len(text) > MAX_TEXT:
        message = (
            f"the endpoint's reply is {len(text):,} characters; more than {MAX_TEXT:,} are not kept"
        )
        raise ModelError(message, status=200)
    usage = read_usage(reply.usage, [one.content for one in request.messages], text)
    tokens_in, tokens_out, cached, extra = usage
    return Completion(
        text=text,
        finish_reason=finish,
        refusal=choice.message.refusal,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        tokens_cached=cached,
        model_returned=reply.model or "",
        fingerprint=reply.system_fingerprint,
        logprobs=() if request.top_logprobs is None else _logprobs(choice.logprobs),
        extra=extra,
    )


def read_body(
    raw: bytes, field: str, parse: Callable[[bytes], Any], sent: Collection[str] = ()
) -> Any:  # Any: JSON
    """Return what `parse` makes of a 200: an object that has the field, or what is no object.

    Raises:
        ModelError: It is no JSON, is far too long, or is an error in disguise.
    """
    # Counted before parsing: the parsed body is what would not fit in memory.
    if raw.count(b"{") + raw.count(b"[") > _MOST_PARTS:
        raise ModelError(f"the endpoint's reply has more than {_MOST_PARTS:,} parts", status=200)
    body = parse(raw)
    if isinstance(body, dict) and not body.get(field) and (field not in body or _words(body)):
        fault = read_fault(_disguised_status(body), raw, {}, sent=sent)
        fault.args = (f"{fault} (in a 200)",)
        # Where no error is said to be one, something else than a model may answer.
        fault.no_model = not body.get("error")
        raise fault
    if body is None:
        no_model = raw.lstrip().startswith((b"<", b"data:"))
        words = _Fault.read(raw).message[:_MESSAGE_CAP] or "an empty body"
        message = f"{words}, answered in place of a model"
        raise ModelError(message, retryable=True, status=200, no_model=no_model)
    return body


def read_answer(
    status: int,
    raw: bytes,
    headers: Mapping[str, str],
    request: Request,
    *,
    sent: Collection[str],
    read: Callable[[bytes, Request], Completion] = read_completion,
    **address: str,
) -> Completion:
    """Read an answer, whatever its status; a 200 by `read`, what else `read_fault` takes.

    Raises:
        ModelError: It is no reply.
    """
    if 200 <= status < 300:
        return read(raw, request)
    if 400 <= status < 500 and (reply := read_answering_fault(raw, request)):
        return reply
    raise read_fault(status, raw, headers, sent=sent, **address)


def read_fault(
    status: int,
    raw: bytes,
    headers: Mapping[str, str],
    *,
    sent: Collection[str],
    base_url: str = "",
    path: str = CHAT,
    key_hint: str = "",
) -> ModelError:
    """Read an error the endpoint answered with.

    Args:
        status: The HTTP status.
        raw: The body.
        headers: With lower-case names or case-insensitive.
        sent: The parameters that were in the request.
        base_url: Where the request was sent, for a redirect that names no host.
        path: What stands behind it.
        key_hint: What to do about a key that was refused.
    """
    if 300 <= status < 400 and (location := headers.get("location")):
        return _redirect(status, urljoin(f"{base_url}{path}", location), path)
    fault = _Fault.read(raw)
    named, extra = _named(status, fault, sent)
    if extra is not None:
        message = f"the endpoint refuses {extra} of the model's extra_body"
        hint = f"take {extra} out of the model's settings, or give it a value that it knows"
        message = f"{message}: {fault.message[:_MESSAGE_CAP]}"
        return ModelError(message, status=status, fatal=True, hint=hint)
    quota = fault.code in _QUOTA_CODES or (
        status == 400 and _NO_CREDIT.search(fault.message) is not None
    )
    # Gemini answers 400 for a wrong key.
    wrong_key = status in {401, 403} or (
        status == 400 and _WRONG_KEY.search(fault.message) is not None
    )
    # A 403 may be about this one text; without a word of moderation it is about the key.
    blocked = status == 403 and not _FLAGGED.search(fault.message)
    fatal = (
        quota or blocked or status in _FATAL or 300 <= status < 400 or (wrong_key and status == 400)
    )
    transient = status in _TRANSIENT or (status >= 500 and status != 501)
    if named is not None and not quota:
        fatal = False  # it is tried first whether that parameter is meant
    retry_after = read_retry_after(headers)
    if retry_after is None and (delay := _RETRY_DELAY.search(raw)):  # Gemini's, in the body
        retry_after = float(delay[1])
    return ModelError(
        f"the endpoint answered {status}: {fault.message[:_MESSAGE_CAP] or 'no message'}",
        retryable=transient and not fatal,
        status=status,
        retry_after=retry_after,
        refused_parameter=named,
        fatal=fatal,
        hint=_HINTS[402] if quota else (key_hint if wrong_key else "") or _HINTS.get(status),
    )


def _redirect(status: int, location: str, path: str) -> ModelError:
    """A redirect is not followed: neither a row nor a key goes to an address that nobody named."""
    target = location.partition("?")[0].partition("#")[0]  # what stands there may be a secret
    hint = "check the base URL: a page and no model may stand there"
    if target.endswith(path):
        with suppress(InputError):
            base_url = checked_url(target.removesuffix(path))
            do = "ask there: NAME@" if path == CHAT else "make it the model's base_url: "
            hint = f"it was not followed; if that address is yours, {do}{base_url}"
    # It may hold a user name and a password.
    if "@" in target:
        target = "another address"
    message = f"the endpoint answered {status} and points to {target[:_MESSAGE_CAP]}"
    return ModelError(message, status=status, fatal=True, hint=hint)


def read_answering_fault(raw: bytes, request: Request) -> Completion | None:
    """Return the reply that an error stands for: a content filter stopped it (Azure), or its limit
    of tokens did.
    """
    fault = _Fault.read(raw)
    if fault.code in _FILTER_CODES:
        return Completion(
            text="", finish_reason="content_filter", refusal=fault.message[:_MESSAGE_CAP]
        )
    if not _UNFINISHED.search(fault.message[:_ERROR_CHARS]):
        return None
    tokens_in, _, _, extra = read_usage(None, [one.content for one in request.messages], "")
    # Nothing is reported, and all of it may have been paid for.
    return Completion(
        text="",
        finish_reason="length",
        tokens_in=tokens_in,
        tokens_out=request.token_limit or 0,
        extra=extra,
    )


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of `retry-after-ms` or `retry-after` (a number, `1m30s`, a date); None
    without a usable one.
    """
    date = headers.get("date", "")  # the server's own clock: ours may be off by minutes
    milliseconds = read_seconds(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000.0
    return read_seconds(headers.get("retry-after", ""), date)


@dataclass(frozen=True, slots=True)
class _Fault:
    """An error body, whatever its shape."""

    message: str
    param: str
    code: str

    @classmethod
    def read(cls, raw: bytes) -> _Fault:
        body = _json(raw)
        if isinstance(body, list) and body:
            body = body[0]
        if not isinstance(body, dict):
            text = raw[: 2 * _ERROR_CHARS].decode("utf-8", "replace").strip()
            return cls(_page_title(raw) if text.startswith("<") else text, "", "")
        error = body["error"] if isinstance(body.get("error"), dict) else body
        match body:
            case {"success": False, "errors": [dict(error), *_]}:  # Cloudflare's
                pass
        message = _words(error) or _words(body) or raw[:_ERROR_CHARS].decode("utf-8", "replace")
        code, kind = str(error.get("code") or body.get("code") or ""), str(error.get("type") or "")
        # Some servers say in `type` what others say in `code`.
        if code not in _CODES and kind in _CODES:
            code = kind
        if code and not code.isdigit() and code not in message and code not in _CODES:
            message = f"{message} ({code[:80]})"
        return cls(message, str(error.get("param") or ""), code)


def _words(value: Any, depth: int = 0) -> str:  # Any: JSON
    """Return what an error says, wherever servers put it; empty where it has no words."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        return (
            "; ".join(filter(None, (_words(part, depth + 1) for part in value[:3])))
            if depth < _DEEPEST
            else ""
        )
    fields = value if isinstance(value, dict) and depth < _DEEPEST else {}
    for name in _SAYING if fields else ():
        if words := _words(fields.get(name), depth + 1):
            loc = fields.get("loc")  # of FastAPI: where in the request
            return f"{loc[-1]}: {words}" if isinstance(loc, list) and loc else words
    return ""


def _page_title(raw: bytes) -> str:
    """Return the title of a page, or the words of one without a title."""
    text = raw[:_PAGE].decode("utf-8", "replace")
    title = re.search(r"<title[^>]{0,200}>([^<]{1,500})", text, re.I)
    words = " ".join(unescape(title[1] if title else re.sub(r"<[^<>]*>", " ", text)).split())
    return f"a web page, {words!r}" if words else "a web page without a title"


def _named(status: int, fault: _Fault, sent: Collection[str]) -> tuple[str | None, str | None]:
    """Return what an error names: a parameter of ours, which may or may not be what it is about,
    and a further field of the request, for which nobody but the person can say what to do.
    """
    if status not in _MAY_REFUSE:
        return None, None
    about = f"{fault.param} {fault.message[:_ERROR_CHARS]}"
    ours = {_parameter(name) for name in sent}
    for match in _NAMES.finditer(about):
        if (parameter := _parameter(match[0])) in ours:
            return parameter, None
    for name in sent:
        if name not in _OURS and re.search(rf"\b{re.escape(name)}\b", about):
            return None, name
    return None, None


def _parameter(name: str) -> str:
    name = name.lower().replace(" ", "_").replace("log_probs", "logprobs")
    if name in ("json_schema", "json_object", "grammar"):
        return "response_format"
    return "logprobs" if name == "top_logprobs" else name


def _disguised_status(body: Any) -> int:  # Any: JSON
    """Return the status that an error in a 200 names, else that of a gateway whose server
    failed.
    """
    for part in (body.get("error"), body) if isinstance(body, dict) else ():
        fields = part if isinstance(part, dict) else {}
        for name in ("code", "status", "status_code"):
            code = str(fields.get(name))
            if code.isascii() and code.isdigit() and 400 <= int(code[:9]) < 600:
                return int(code)
    return 502


def _json(raw: bytes) -> Any:  # Any: JSON
    """Return the parsed body, None for what is no JSON; NaN, Infinity and lone surrogates are
    none.
    """
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None


def _text(message: _Message) -> str:
    if isinstance(message.content, list):
        return "".join(_Part.model_validate(part).text or "" for part in message.content)
    return message.content or ""


def _finish(choice: _Choice) -> str:
    """Return why the reply ended; a tool that was called is the end, whatever the endpoint says of
    it.
    """
    reason = plain_finish(choice.finish_reason or "")
    if reason == "stop" and (choice.message.tool_calls or choice.message.function_call):
        return "tool_calls"
    return reason


def read_usage(
    usage: Any, sent_texts: Iterable[str], text: str
) -> tuple[int, int, int, dict[str, str]]:  # Any: JSON
    """Return the tokens in, out and cached; estimated from what was asked and answered where they
    are not said.
    """
    try:
        reported = _Usage.model_validate(usage)
    except ValidationError:
        return (
            sum(map(approximate_tokens, sent_texts)),
            approximate_tokens(text),
            0,
            {"tokens": "estimated"},
        )
    cached = 0
    if reported.prompt_tokens_details is not None:
        cached = reported.prompt_tokens_details.cached_tokens or 0
    reasoning = reported.reasoning_tokens
    if reported.completion_tokens_details is not None:
        reasoning = reported.completion_tokens_details.reasoning_tokens or reasoning
    extra = {REASONING: str(reasoning)} if reasoning else {}
    return (
        reported.prompt_tokens,
        reported.completion_tokens,
        min(cached, reported.prompt_tokens),
        extra,
    )


def _logprobs(body: Any) -> tuple[TokenLogprob, ...]:  # Any: JSON
    content = body.get("content") if isinstance(body, dict) else None
    try:
        tokens = _LOGPROBS.validate_python(content or [])
    except ValidationError:
        return ()
    logprobs: list[TokenLogprob] = []
    for token in tokens:
        top = tuple((other.token, other.logprob) for other in token.top_logprobs)
        logprobs.append(TokenLogprob(token.token, token.logprob, top))
    return tuple(logprobs)
