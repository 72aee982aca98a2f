"""The served endpoint, spoken to over a real socket."""

import http.client
import json
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from judgewright.judges import ModelError, WorldError
from judgewright.judges.models import Completion, Request, TokenLogprob
from judgewright.judges.simulated import Faults, Server, make_app


class Echo:
    """Answers with the request it was given, so that a test sees what arrived."""

    name = "echo"
    endpoint = "test:echo"
    simulated = True

    def __init__(self) -> None:
        self.seen: list[Request] = []

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """See `Model.complete`."""
        self.seen.append(request)
        text = "score: 2 because " + request.messages[-1].content
        if "LIMIT" in text:
            raise ModelError("too many rows today", status=429, retry_after=1.5)
        tokens = tuple(TokenLogprob(t, -0.25, ((t, -0.25), ("é", -1.5))) for t in ("score", ": 2"))
        return Completion(
            text=text,
            tokens_in=7,
            tokens_out=12,
            tokens_cached=3,
            model_returned="echo-1",
            fingerprint="fp-echo",
            logprobs=tokens if request.top_logprobs is not None else (),
        )

    async def close(self) -> None:
        """See `Model.close`."""


@pytest.fixture(scope="module")
def plain() -> Iterator[Server]:
    """A server without faults, shared by the tests that count nothing."""
    with Server(make_app(Echo())) as server:
        yield server


Answer = tuple[int, dict[str, Any], Mapping[str, str]]


def call(
    server: Server, path: str, body: object = None, headers: Mapping[str, str] | None = None
) -> Answer:
    """Send one request on a connection of its own; return status, JSON and headers."""
    at = urllib.parse.urlsplit(server.base_url)
    connection = http.client.HTTPConnection(at.hostname or "", at.port, timeout=600)
    try:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        method, sent = ("GET", None) if body is None else ("POST", content)
        connection.request(method, path, sent, headers or {})
        response = connection.getresponse()
        return (
            response.status,
            json.loads(response.read()),
            {k.lower(): v for k, v in response.getheaders()},
        )
    finally:
        connection.close()


def ask(server: Server, content: str = "hello", **more: object) -> Answer:
    """Send one chat completion."""
    return call(
        server, "/v1/chat/completions", {"messages": [{"role": "user", "content": content}], **more}
    )


def stats(server: Server) -> dict[str, Any]:
    """Read the counts."""
    return call(server, "/stats")[1]


def test_a_completion_has_the_shape_openai_gives(plain: Server) -> None:
    """The `openai` package's own type reads the answer: text, usage, fingerprint and
    log-probabilities.
    """
    from openai.types.chat import ChatCompletion

    status, body, _ = ask(plain, logprobs=True, top_logprobs=2, model="echo")
    read = ChatCompletion.model_validate(body, strict=True)
    assert status == 200
    assert read.choices[0].message.content == "score: 2 because hello"
    assert read.choices[0].finish_reason == "stop"
    assert (read.model, read.system_fingerprint) == ("echo-1", "fp-echo")
    assert read.usage is not None
    assert (read.usage.prompt_tokens, read.usage.completion_tokens, read.usage.total_tokens) == (
        7,
        12,
        19,
    )
    assert read.usage.prompt_tokens_details is not None
    assert read.usage.prompt_tokens_details.cached_tokens == 3
    assert read.choices[0].logprobs is not None
    assert read.choices[0].logprobs.content is not None
    first = read.choices[0].logprobs.content[0]
    assert (first.token, first.logprob, [t.token for t in first.top_logprobs]) == (
        "score",
        -0.25,
        ["score", "é"],
    )


def test_the_request_arrives_as_it_was_sent() -> None:
    """Body in, body out: what a client sends through `Request.body` is what the model behind the
    server sees.
    """
    from judgewright.judges.models import Message

    sent = Request(
        messages=(Message("system", "be strict"), Message("user", "is 1 = 1?")),
        temperature=0.0,
        max_tokens=64,
        top_logprobs=3,
        response_format={"type": "json_object"},
        repeat=4,
    )
    model = Echo()
    with Server(make_app(model)) as server:
        call(server, "/v1/chat/completions", {"model": "echo", **sent.body()})
    assert model.seen == [sent]


def test_newer_parameter_names_and_content_parts_are_understood() -> None:
    """`max_completion_tokens`, the developer role and lists of text parts are read too."""
    model = Echo()
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    messages = [{"role": "developer", "content": "be strict"}, {"role": "user", "content": parts}]
    with Server(make_app(model)) as server:
        call(server, "/v1/chat/completions", {"messages": messages, "max_completion_tokens": 9})
    assert [(m.role, m.content) for m in model.seen[0].messages] == [
        ("system", "be strict"),
        ("user", "ab"),
    ]
    assert model.seen[0].max_tokens == 9
    assert model.seen[0].top_logprobs is None


@pytest.mark.parametrize(
    ("body", "parameter"),
    [
        ({"messages": [{"role": "user", "content": "x"}], "stream": True}, "stream"),
        ({"messages": [{"role": "user", "content": "x"}], "n": 2}, "n"),
        ({"messages": "hello"}, "messages"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages"),
        ({}, "messages"),
        ([], None),
        (b"{not json", None),
    ],
)
def test_what_is_not_served_is_refused_with_400(
    plain: Server, body: object, parameter: str | None
) -> None:
    """Streaming, several choices and malformed bodies never reach the model."""
    billed = stats(plain)["billed"]
    status, answer, _ = call(plain, "/v1/chat/completions", body)
    assert status == 400
    assert answer["error"]["param"] == parameter
    assert answer["error"]["message"]
    assert stats(plain)["billed"] == billed


def test_a_refused_parameter_is_named_and_the_rest_completes() -> None:
    """Capability probing sees the shape hosted endpoints use, and a request without the parameter
    is answered.
    """
    values: dict[str, object] = {
        "temperature": 0.0,
        "logprobs": True,
        "response_format": {"type": "json_object"},
        "max_tokens": 5,
        "max_completion_tokens": 5,
        "seed": 0,
    }
    with Server(make_app(Echo(), Faults(refuse=frozenset(values)))) as server:
        for name, value in values.items():
            status, body, _ = ask(server, **{name: value})
            assert (status, body["error"]["param"]) == (400, name)
            assert body["error"]["code"] == "unsupported_parameter"
        assert ask(server)[0] == 200
        assert stats(server)["refused"] == dict.fromkeys(values, 1)


def test_statuses_come_with_retry_after_and_are_not_billed() -> None:
    """A 429 says how long to wait, and the model did no work."""
    with Server(make_app(Echo(), Faults.parse("429=1,retry_after=0.05"))) as server:
        status, body, headers = ask(server)
        assert (status, headers["retry-after"]) == (429, "0.05")
        assert body["error"]["type"] == "rate_limit_error"
        counted = stats(server)
    assert (counted["requests"], counted["billed"], counted["faults"]) == (1, 0, {"429": 1})


def test_garbage_and_truncation_stick_to_a_body() -> None:
    """Asked again, a spoilt body is spoilt in the same way; another body may be whole."""
    with Server(make_app(Echo(), Faults.parse("garbage=0.4,truncate=0.4,seed=2"))) as server:
        rounds = [[ask(server, f"row {i}")[1]["choices"][0] for i in range(30)] for _ in range(2)]
    assert rounds[0] == rounds[1]
    texts = [choice["message"]["content"] for choice in rounds[0]]
    whole = [f"score: 2 because row {i}" for i in range(30)]
    cut = [choice["finish_reason"] == "length" for choice in rounds[0]]
    assert sum(cut) >= 5
    assert all(w.startswith(t) and t != w for t, w, c in zip(texts, whole, cut, strict=True) if c)
    assert sum("score" not in t for t in texts) >= 5
    assert any(t == w for t, w in zip(texts, whole, strict=True))


def test_a_timeout_holds_the_connection_and_drops_it() -> None:
    """The caller gets a broken answer, and the model was paid."""
    with Server(make_app(Echo(), Faults.parse("timeout=1,hold=0.01,once=true"))) as server:
        with pytest.raises(http.client.IncompleteRead):
            ask(server)
        assert ask(server)[0] == 200
        counted = stats(server)
    assert (counted["billed"], counted["bodies"], counted["answers"]) == (
        2,
        1,
        {"dropped": 1, "200": 1},
    )


def test_badjson_is_a_200_that_cannot_be_read() -> None:
    """The body breaks off in the middle."""
    with (
        Server(make_app(Echo(), Faults.parse("badjson=1"))) as server,
        pytest.raises(json.JSONDecodeError),
    ):
        ask(server)


def test_a_models_own_failure_keeps_its_status(plain: Server) -> None:
    """What the model raises is what the client sees."""
    status, body, headers = ask(plain, "LIMIT")
    assert (status, headers["retry-after"]) == (429, "1.5")
    assert body["error"]["message"] == "too many rows today"


def test_a_key_is_neither_asked_for_nor_shown() -> None:
    """Nothing the server says contains the header it was sent."""
    secret = "sk-test-CANARY-1234567890"
    headers = {"authorization": f"Bearer {secret}"}
    with Server(make_app(Echo(), Faults.parse("503=0.5"))) as server:
        bodies = [{"messages": [{"role": "user", "content": str(i)}]} for i in range(8)]
        said = [call(server, "/v1/chat/completions", body, headers) for body in bodies]
        said.append(call(server, "/stats", headers=headers))
    assert {status for status, _, _ in said} == {200, 503}
    assert secret not in repr(said)


def test_stats_count_requests_answers_and_bills() -> None:
    """A body asked twice is billed twice and counted as one body; refusals are answers too."""
    with Server(make_app(Echo())) as server:
        ask(server)
        ask(server)
        ask(server, "other")
        ask(server, n=3)
        counted = stats(server)
    assert counted["answers"] == {"200": 3, "400": 1}
    assert (counted["requests"], counted["billed"], counted["bodies"]) == (4, 3, 2)


def test_a_taken_port_is_said() -> None:
    """The message names the address."""
    with Server(make_app(Echo())) as server:
        port = urllib.parse.urlsplit(server.base_url).port or 0
        with pytest.raises(WorldError, match=str(port)):
            Server(make_app(Echo()), port=port).run(print)
