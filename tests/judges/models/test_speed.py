"""A model that writes slowly: what its time limit cannot reach is not asked for."""

import asyncio

import pytest

from judgewright.judges import ModelError
from judgewright.judges.models import (
    AdaptiveLimit,
    Client,
    Completion,
    Endpoint,
    Message,
    Request,
    Speed,
)

LONG = Request(messages=(Message("user", "write"),), default_max_tokens=4096, purpose="optimizer")


def reply(tokens: int, finish_reason: str = "stop") -> Completion:
    return Completion(text="x", tokens_out=tokens, finish_reason=finish_reason)


def test_a_long_reply_is_asked_for_only_as_far_as_the_time_limit_reaches() -> None:
    """4,096 tokens at 7 a second take ten minutes; of 120 s four fifths are used."""
    speed = Speed(120.0)
    assert speed.fitted(LONG).token_limit == 512  # nobody knows yet
    speed.learn(reply(70), 10.0)
    assert speed.fitted(LONG).token_limit == int(0.8 * 120 * 7)
    short = Request(messages=LONG.messages, max_tokens=512)
    assert speed.fitted(short) is short
    speed.learn(reply(400), 4.0)
    assert speed.fitted(LONG) is LONG


def test_a_reply_of_few_words_says_nothing_about_the_speed() -> None:
    """Most of its time went into reading the request."""
    speed = Speed(120.0)
    speed.learn(reply(2), 10.0)
    assert speed.per_second is None
    assert Speed(120.0).fitted(Request(messages=LONG.messages, max_tokens=4000)).token_limit == 4000


def test_a_try_that_was_late_makes_the_next_one_shorter() -> None:
    """Also where no reply has come yet."""
    speed = Speed(120.0)
    speed.late()
    assert speed.fitted(LONG).token_limit == 128


def test_a_reply_that_was_cut_before_the_speed_was_known_is_asked_again_with_its_whole_room(
    fake,
) -> None:
    """A fast model; the second request is under the same key, and both are paid for."""

    def answer(seen):
        limit = seen.body["max_tokens"]
        choice = {
            "message": {"content": "x"},
            "finish_reason": "length" if limit < 4096 else "stop",
        }
        usage = {"prompt_tokens": 9, "completion_tokens": min(limit, 900)}
        return fake.Reply(body={"choices": [choice], "usage": usage})

    fake.answer = answer
    with Client(Endpoint(name="m", base_url=fake.url, api_key=None)) as client:
        assert client.ask_one(LONG).finish_reason == "stop"
        client.ask_one(LONG)
    assert [seen.body["max_tokens"] for seen in fake.seen] == [512, 4096]
    assert client.stats.calls == 2
    assert client.stats.speed is not None


class Late:
    """A model that never answers in time."""

    name, endpoint, simulated = "late", "test:1", False

    def __init__(self) -> None:
        self.limits: list[int | None] = []

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        self.limits.append(request.token_limit)
        await asyncio.sleep(0)
        raise ModelError(
            "no answer within 120 s", retryable=True, late=True, hint="raise `timeout`"
        )

    async def close(self) -> None: ...


def test_a_model_that_is_never_in_time_is_given_up_after_three_tries(instant) -> None:
    """Each with a smaller limit; the error names the setting that helps."""
    model = Late()
    with (
        Client(model, clock=instant) as client,
        pytest.raises(ModelError, match="given up after 3 tries") as caught,
    ):
        client.ask_one(LONG)
    assert model.limits == [512, 128, 32]
    assert caught.value.hint == "raise `timeout`"


def test_requests_that_wait_for_each_other_at_the_server_become_fewer(instant) -> None:
    """Half of them with each that takes more than half of its time limit, down to one."""
    limit = AdaptiveLimit(instant, start=8)
    for expected in (4, 2, 1, 1):
        ticket = limit.admit()
        assert ticket is not None
        limit.release(ticket, answered=True, patience=0.6)
        assert limit.limit == expected
