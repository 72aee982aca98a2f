"""Servers on the loopback that speak Anthropic's Messages and Gemini's generateContent, with a
simulated judge behind.

They are strict: their own wire format and nothing else, the headers that the real ones demand, no
unknown fields.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

import orjson

from judgewright.judges.models import Completion, Message, Request
from judgewright.judges.simulated import Simulated

Dialect = Literal["anthropic", "gemini"]
Answer = tuple[int, Any, dict[str, str]]
"""Status, body and headers."""


@dataclass
class Seen:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class Provider:
    """One server: what it demands and what it saw."""

    dialect: Dialect
    key: str
    url: str = ""
    seen: list[Seen] = field(default_factory=list)
    answer: Callable[[int], Answer | None] = lambda nth: None
    """What to say to the nth request, from 1; None for a reply of the simulated model."""
    thought: int = 0
    """Tokens of thinking before each reply."""
    bearer: bool = False
    """Whether the key has to come as a bearer token, as Vertex AI and Bedrock want it."""


def _anthropic(provider: Provider, seen: Seen) -> Answer:
    """Answer as POST /v1/messages does."""
    if seen.path != "/v1/messages":
        return _anthropic_error(404, "not_found_error", "Not found")
    if seen.headers.get("x-api-key") != provider.key or "authorization" in seen.headers:
        return _anthropic_error(401, "authentication_error", "invalid x-api-key")
    if seen.headers.get("anthropic-version") != "2023-06-01":
        return _anthropic_error(
            400, "invalid_request_error", "anthropic-version: header is required"
        )
    known = {
        "model",
        "messages",
        "max_tokens",
        "system",
        "temperature",
        "output_format",
        "output_config",
        "thinking",
    }
    if unknown := set(seen.body) - known:
        return _anthropic_error(
            400, "invalid_request_error", f"{min(unknown)}: Extra inputs are not permitted"
        )
    if not isinstance(seen.body.get("max_tokens"), int):
        return _anthropic_error(400, "invalid_request_error", "max_tokens: Field required")
    messages = (
        [Message("system", _texts(seen.body.get("system", [])))] if "system" in seen.body else []
    )
    for message in seen.body["messages"]:
        if message["role"] not in ("user", "assistant"):
            return _anthropic_error(400, "invalid_request_error", "messages: Unexpected role")
        messages.append(Message(message["role"], _texts(message["content"])))
    completion = _complete(provider, messages, seen.body["max_tokens"], seen.body)
    content = [{"type": "text", "text": completion.text}] if completion.text else []
    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": seen.body["model"],
        "content": content,
        "stop_reason": "max_tokens" if completion.finish_reason == "length" else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": completion.tokens_in,
            "output_tokens": completion.tokens_out,
            "cache_read_input_tokens": 7,
            "cache_creation_input_tokens": 0,
        },
    }
    return 200, body, {"anthropic-ratelimit-requests-remaining": "900"}


def _anthropic_error(status: int, kind: str, message: str) -> Answer:
    return status, {"type": "error", "error": {"type": kind, "message": message}}, {}


def _gemini(provider: Provider, seen: Seen) -> Answer:
    """Answer as POST models/NAME:generateContent does."""
    if not seen.path.endswith(":generateContent") or "/models/" not in seen.path:
        return _gemini_error(404, "NOT_FOUND", "Requested entity was not found.")
    key, token = seen.headers.get("x-goog-api-key"), seen.headers.get("authorization")
    if (key, token) != (
        (None, f"Bearer {provider.key}") if provider.bearer else (provider.key, None)
    ):
        return _gemini_error(
            400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."
        )
    if unknown := set(seen.body) - {"contents", "system_instruction", "generationConfig"}:
        return _gemini_error(
            400, "INVALID_ARGUMENT", f'Unknown name "{min(unknown)}": Cannot find field.'
        )
    messages = []
    if "system_instruction" in seen.body:
        messages.append(Message("system", _texts(seen.body["system_instruction"]["parts"])))
    for turn in seen.body["contents"]:
        messages.append(
            Message("assistant" if turn["role"] == "model" else "user", _texts(turn["parts"]))
        )
    config = seen.body.get("generationConfig", {})
    completion = _complete(provider, messages, config.get("max_output_tokens"), config)
    candidate: dict[str, Any] = {
        "finishReason": "MAX_TOKENS" if completion.finish_reason == "length" else "STOP",
        "index": 0,
    }
    if completion.text:
        candidate["content"] = {"role": "model", "parts": [{"text": completion.text}]}
    usage = {
        "promptTokenCount": completion.tokens_in,
        "candidatesTokenCount": completion.tokens_out - provider.thought if completion.text else 0,
        "thoughtsTokenCount": provider.thought if completion.text else completion.tokens_out,
        "totalTokenCount": completion.tokens_in + completion.tokens_out,
        "cachedContentTokenCount": 7,
    }
    return 200, {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-x"}, {}


def _gemini_error(status: int, kind: str, message: str) -> Answer:
    return status, {"error": {"code": status, "message": message, "status": kind}}, {}


def _texts(parts: Any) -> str:
    return parts if isinstance(parts, str) else "".join(part["text"] for part in parts)


def _complete(
    provider: Provider, messages: list[Message], limit: int | None, body: dict[str, Any]
) -> Completion:
    """Answer as the simulated model, after so many tokens of thinking."""
    if limit is not None and limit <= provider.thought:
        return Completion(text="", finish_reason="length", tokens_in=50, tokens_out=limit)
    schema = body.get("output_format") or body.get("response_json_schema")
    form = None
    if schema is not None:
        form = {
            "type": "json_schema",
            "json_schema": {"name": "v", "schema": schema.get("schema", schema)},
        }
    request = Request(
        messages=tuple(messages),
        max_tokens=limit and limit - provider.thought,
        response_format=form,
        temperature=body.get("temperature"),
    )
    completion = asyncio.run(Simulated().complete(request))
    return Completion(
        text=completion.text,
        finish_reason=completion.finish_reason,
        tokens_in=completion.tokens_in,
        tokens_out=completion.tokens_out + provider.thought,
    )


@contextmanager
def providing(dialect: Dialect, key: str, **more: Any) -> Iterator[Provider]:
    """Serve one provider on a free port."""
    provider = Provider(dialect, key, **more)
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:  # the name that http.server calls
            raw = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            with lock:
                provider.seen.append(Seen(self.path, headers, orjson.loads(raw)))
                seen, nth = provider.seen[-1], len(provider.seen)
            answer = provider.answer(nth)
            if answer is None:
                answer = (_anthropic if dialect == "anthropic" else _gemini)(provider, seen)
            status, body, more_headers = answer
            content = orjson.dumps(body)
            self.send_response(status)
            for name, value in {"content-type": "application/json", **more_headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    provider.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
