"""Endpoints that refuse a parameter of a request, over real HTTP: it is found by trial, whatever
they say.
"""

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from judgewright.judges import ModelError
from judgewright.judges.models import Client, Completion, Endpoint, Message, Request

SCHEMA = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": {"type": "object"}}}


class Eager(random.Random):
    """Draws the shortest jitter, so that a retry comes at once."""

    def uniform(self, a: float, b: float) -> float:
        return a


def said(message: str, **more: object) -> dict[str, object]:
    return {"error": {"message": message, "type": "invalid_request_error", **more}}


ANSWERS = yaml.safe_load(Path(__file__).with_name("refusals.yaml").read_text(encoding="utf-8"))


def refusing(
    fake: Any, *rules: tuple[Callable[[Mapping[str, Any]], bool], int, object]
) -> Callable[[Any], Any]:
    """Return an endpoint that refuses what any rule holds for."""

    def answer(seen: Any) -> Any:
        for refuses, status, body in rules:
            if refuses(seen.body):
                return fake.Reply(status=status, body=body)
        return fake.Reply(body=fake.completion())

    return answer


def has(name: str, value: object = None) -> Callable[[Mapping[str, Any]], bool]:
    """Refuse a parameter, or one value of it."""

    def refuses(body: Mapping[str, Any]) -> bool:
        sent = body.get(name)
        if isinstance(sent, Mapping):
            sent = sent["type"]
        return name in body and (value is None or sent == value)

    return refuses


def judging(n: int = 30, **more: Any) -> list[Request]:
    usual: dict[str, Any] = {"max_tokens": 512, "response_format": SCHEMA, "top_logprobs": 2}
    return [Request(messages=(Message("user", f"row {i}"),), **{**usual, **more}) for i in range(n)]


def asking(fake: Any, **more: Any) -> Client:
    return Client(Endpoint(name="m", base_url=fake.url, api_key=None, transport="plain"), **more)


@pytest.mark.parametrize("case", ANSWERS["found by trial"], ids=lambda case: case["server"])
def test_a_refused_parameter_is_found_by_trial_and_every_row_is_answered(fake, case):
    """Refusals that people report, and such as say nothing; what innocent parameters there are
    stay.
    """
    parameter, value, body = case["parameter"], case.get("value"), case["body"]
    body = body.encode() if isinstance(body, str) else body
    fake.answer = refusing(fake, (has(parameter, value), case["status"], body))
    with asking(fake) as client:
        got = client.ask(judging())
        tries = len(fake.seen)
        client.ask(judging(5, top_logprobs=None))
    assert all(isinstance(one, Completion) for one in got)
    expected = case.get("dropped", "json_schema" if value == "json_schema" else parameter)
    assert client.stats.dropped == {expected}
    assert tries <= 30 + 20 + 8
    assert len(fake.seen) == tries + 5
    sent = fake.seen[-1].body
    assert {"seed", "temperature", "max_tokens", "response_format"} - {parameter} <= sent.keys()
    if expected == "json_schema":
        assert sent["response_format"] == {"type": "json_object"}


def test_two_parameters_without_a_reason_are_found_and_the_others_are_asked_with_again(fake):
    """No single change helps: all are left out, and then asked with again one by one."""
    body = said("Bad Request")
    fake.answer = refusing(
        fake, (has("temperature"), 400, body), (has("response_format"), 400, body)
    )
    with asking(fake, concurrency=1) as client:
        assert all(isinstance(one, Completion) for one in client.ask(judging()))
    assert not {"temperature", "response_format"} & fake.seen[-1].body.keys()
    assert {"seed", "logprobs", "max_tokens"} <= fake.seen[-1].body.keys()
    assert len(fake.seen) <= 30 + 12


def test_a_row_that_is_refused_for_its_own_sake_changes_nothing_for_the_others(fake):
    """Its refusal names a parameter; rows that were on their way at the time are answered as they
    were asked.
    """
    rows = judging(30)

    def answer(seen):
        if seen.body["messages"][0]["content"] == "row 0":
            return fake.Reply(status=400, body=said("max_tokens must be at least 1, got -904."))
        return fake.Reply(body=fake.completion())

    fake.answer = answer
    with asking(fake) as client:
        got = client.ask(rows)
    assert [isinstance(one, Completion) for one in got] == [False] + [True] * 29
    assert client.stats.dropped == set()


def test_a_limit_that_is_too_large_is_halved_before_it_is_left_out(fake):
    """Under either name."""
    large = lambda body: max(body.get("max_tokens", 0), body.get("max_completion_tokens", 0)) > 256  # noqa: E731
    fake.answer = refusing(fake, (large, 400, said("value out of range")))
    with asking(fake, concurrency=1) as client:
        assert all(isinstance(one, Completion) for one in client.ask(judging(4)))
    assert client.stats.dropped == {"half_limit"}
    assert fake.seen[-1].body["max_tokens"] == 256


@pytest.mark.parametrize(
    "body",
    [
        said(
            "This model's maximum context length is 8192 tokens. You requested 9000 tokens",
            param="messages",
        ),
        said(
            "'max_tokens' is too large: 512. This model's maximum context length is 8192 tokens",
            param="max_tokens",
        ),
        said("no such deployment"),
        b"",
    ],
    ids=["context", "context and limit", "another", "empty"],
)
def test_a_request_that_is_refused_without_any_parameter_ends_with_the_endpoints_words(fake, body):
    """After a trial, and not one for each row."""
    fake.answer = lambda seen: fake.Reply(status=400, body=body)
    with (
        asking(fake) as client,
        pytest.raises(ModelError, match="the endpoint answered 400") as caught,
    ):
        client.ask(judging(300))
    assert len(fake.seen) <= 20 + 3 * 9 + 10
    assert caught.value.hint is not None
    if isinstance(body, dict):
        assert body["error"]["message"][:50] in str(caught.value)


def test_a_row_whose_like_was_answered_starts_no_trial(fake):
    """A text that is too long is one row's failure, at one request."""
    long = said("maximum context length; max_tokens is too large", param="max_tokens")
    fake.answer = lambda seen: (
        fake.Reply(status=400, body=long)
        if seen.text == "row 7"
        else fake.Reply(body=fake.completion())
    )
    with asking(fake, concurrency=2) as client:
        got = client.ask(judging(12))
    assert [isinstance(one, Completion) for one in got] == [i != 7 for i in range(12)]
    assert len(fake.seen) == 12


def test_what_is_known_is_not_tried_again(fake):
    """A client that is told what earlier calls were sent without begins there."""
    fake.answer = refusing(
        fake, (has("response_format"), 400, said("no")), (has("max_tokens"), 400, said("no"))
    )
    with asking(fake, omitted=("json_schema", "response_format", "max_tokens")) as client:
        client.ask(judging(9))
    assert len(fake.seen) == 9
    assert client.stats.dropped == {"response_format", "max_tokens_name"}


# What answers and is no reply.


@pytest.mark.parametrize(
    "first", ["error", "insufficient_system_resource", "network_error", "an error of a choice"]
)
def test_a_failure_inside_a_200_is_asked_again_and_never_kept(fake, first):
    """Each row's first reply fails; the record has the second alone."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": '{"crit'},
        "finish_reason": first,
    }
    if first.startswith("an error"):
        choice |= {"error": {"code": 502, "message": "Upstream died"}, "finish_reason": "error"}

    def answer(seen):
        broken = fake.completion(choices=[choice])
        return fake.Reply(body=broken if seen.nth == 1 else fake.completion())

    fake.answer = answer
    with asking(fake, rng=Eager()) as client:
        got = client.ask(judging(8))
    assert [one.finish_reason for one in got if isinstance(one, Completion)] == ["stop"] * 8
    assert len(fake.seen) == 16


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<!doctype html><html><head><title>Sign in</title></head></html>", "web page, 'Sign in'"),
        (
            {"code": "rate_limit_daily", "message": "daily quota of the upstream is used up"},
            "daily quota.*_daily",
        ),
        ({"status": "ok"}, '"status":"ok"'),
        ({"id": "x", "choices": None, "detail": "No workers available"}, "No workers available"),
        (
            {"choices": None, "base_resp": {"status_code": 1008, "status_msg": "no balance"}},
            "no balance",
        ),
        (
            b'data: {"choices": [{"delta": {"content": "{"}}]}\n\ndata: [DONE]',
            "data: .*in place of a model",
        ),
    ],
)
def test_what_is_no_model_is_said_after_a_few_requests(fake, body, message):
    """A page or an object without a reply, in a 200."""
    fake.answer = lambda seen: fake.Reply(body=body)
    with asking(fake) as client, pytest.raises(ModelError, match=message) as caught:
        client.ask(judging(300))
    assert len(fake.seen) <= 20
    assert "base URL" in str(caught.value.hint)
