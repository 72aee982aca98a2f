"""A model's settings: what they add to a request, what may not be set, and that none change
nothing.
"""

import hashlib
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgewright.judges import InputError, JudgeSettings, ModelError, Registry, Row, judge_request
from judgewright.judges.models import (
    OMIT,
    Client,
    Endpoint,
    Message,
    ModelSettings,
    Price,
    Request,
)

ASK = Request(messages=(Message("user", "Is it so?"),), default_max_tokens=512)
EFFORT = {"reasoning_effort": "low"}


def key(request: Request) -> bytes:
    """Return the request's key at one endpoint."""
    return request.key(endpoint="https://h/v1", model="m")


def test_without_settings_the_key_is_what_it_was_before_there_were_any() -> None:
    """Stored calls of older versions are found again."""
    body = {
        "schema": 1,
        "endpoint": "https://h/v1",
        "model": "m",
        "messages": [{"role": "user", "content": "Is it so?"}],
        "temperature": 0.0,
        "max_tokens": 512,
        "seed": 0,
    }
    old = hashlib.blake2b(orjson.dumps(body, option=orjson.OPT_SORT_KEYS), digest_size=32).digest()
    assert key(ASK) == key(ModelSettings().apply(ASK)) == old


@pytest.mark.parametrize(
    "settings",
    [{"extra_body": EFFORT}, {"temperature": 0.3}, {"temperature": OMIT}, {"max_tokens": 4000}],
    ids=lambda settings: next(iter(settings)),
)
def test_what_may_change_the_answer_is_part_of_the_key(settings: dict[str, Any]) -> None:
    """And what cannot is not."""
    assert key(ModelSettings(**settings).apply(ASK)) != key(ASK)
    rest = ModelSettings(
        headers={"X-Team": "a"},
        timeout=5,
        concurrency=2,
        requests_per_minute=9,
        price=Price(input=1, output=2),
    )
    assert key(rest.apply(ASK)) == key(ASK)


def test_each_role_has_its_own_limit_and_a_stated_one_wins() -> None:
    """`max_tokens` is for verdicts; the optimizer and the loss writer have theirs."""
    settings = ModelSettings(max_tokens=4000, optimizer_max_tokens=9000)
    limits: dict[str, tuple[int | None, int | None]] = {}
    for purpose in ("judge", "optimizer", "loss"):
        usual = Request(messages=ASK.messages, purpose=purpose, default_max_tokens=512)
        stated = Request(messages=ASK.messages, purpose=purpose, max_tokens=7)
        limits[purpose] = settings.apply(usual).max_tokens, settings.apply(stated).max_tokens
    assert limits == {"judge": (4000, 7), "optimizer": (9000, 7), "loss": (9000, 7)}


def test_a_judge_asks_with_512_tokens_unless_somebody_says_otherwise() -> None:
    """First the command, then the model's settings."""
    prompt = Registry().get("groundedness")
    row = Row(id="1", inputs=dict.fromkeys(prompt.inputs, "text"), label=None)
    usual = judge_request(prompt, row, settings=JudgeSettings())
    stated = judge_request(prompt, row, settings=JudgeSettings(max_tokens=100))
    settings = ModelSettings(max_tokens=4000)
    assert usual.body()["max_tokens"] == 512
    assert [settings.apply(request).body()["max_tokens"] for request in (usual, stated)] == [
        4000,
        100,
    ]


SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.text()
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=2))
NAMES = st.text("abcdefgh_", min_size=1, max_size=8).map(lambda name: f"x_{name}")


@given(extra=st.dictionaries(NAMES, JSON, max_size=4), limit=st.none() | st.integers(1, 9999))
def test_settings_only_add_to_a_request(extra: dict[str, Any], limit: int | None) -> None:
    """What they do not name stays, and applying them twice is applying them once."""
    settings = ModelSettings(extra_body=extra, max_tokens=limit)
    applied = settings.apply(ASK)
    assert applied.body() == {**ASK.body(), **extra, "max_tokens": limit or 512}
    assert settings.apply(applied) == applied


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"extra_body": {"messages": []}}, "extra_body.messages: this field cannot be set here"),
        (
            {"extra_body": {"temperature": 1}},
            "extra_body.temperature: this field cannot be set here",
        ),
        ({"extra_body": {"api_key": "sk-CANARY"}}, "extra_body.api_key: no key belongs here"),
        (
            {"headers": {"Authorization": "Bearer sk-CANARY"}},
            "headers.Authorization: a secret header",
        ),
        ({"headers": {"x-api-key": "sk-CANARY"}}, "headers.x-api-key: a secret header"),
        ({"headers": {"X-Goog-Api-Key": "sk-CANARY"}}, "headers.X-Goog-Api-Key: a secret header"),
        ({"headers": {"Cookie": "a=CANARY"}}, "headers.Cookie: a secret header"),
        ({"headers": {"X-Auth-Token": "CANARY"}}, "headers.X-Auth-Token: a secret header"),
        ({"headers": {"Host": "other"}}, "headers.Host: the HTTP client sets this header"),
        ({"headers": {"X A": "b"}}, "headers: 'X A' is not the name of a header"),
        ({"headers": {"X-A": "b\r\nHost: c"}}, "headers.X-A: the value has characters"),
        ({"max_tokens": 0}, "max_tokens: 0 is below 1"),
        ({"requests_per_minute": -3}, "requests_per_minute: -3 is below 1"),
        ({"timeout": 0}, "timeout: 0 is not a number of seconds"),
        ({"timeout": float("nan")}, "timeout: nan is not a number of seconds"),
        ({"temperature": 3}, "temperature: 3 is not between 0 and 2"),
    ],
)
def test_what_cannot_be_set_is_refused_by_name(settings: dict[str, Any], message: str) -> None:
    """A key is never quoted."""
    with pytest.raises(InputError) as caught:
        ModelSettings(**settings)
    assert str(caught.value).startswith(message)
    assert "CANARY" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize(
    ("status", "message", "param"),
    [
        (400, "Unrecognized request argument supplied: reasoning_effort", ""),
        (400, "Invalid value: 'low'.", "reasoning_effort"),
        (400, "Unsupported parameter.", "reasoning_effort.x"),
        (422, "body.reasoning_effort: Extra inputs are not permitted (extra_forbidden)", ""),
    ],
)
def test_a_refused_extra_field_stops_at_once_and_is_named(
    fake, status: int, message: str, param: str
) -> None:
    """Leaving it out would answer another question than the person asked."""
    error = {"message": message, "param": param}
    fake.answer = lambda seen: fake.Reply(status=status, body={"error": error})
    settings = ModelSettings(extra_body=EFFORT)
    model = Endpoint(name="m", base_url=fake.url, api_key=None)
    with (
        Client(model, settings=settings, concurrency=1) as client,
        pytest.raises(ModelError) as refused,
    ):
        client.ask([Request(messages=(Message("user", str(i)),)) for i in range(30)])
    assert str(refused.value).startswith(
        "the endpoint refuses reasoning_effort of the model's extra_body"
    )
    assert "take reasoning_effort out" in str(refused.value.hint)
    assert len(fake.seen) == 1


def test_an_error_about_something_else_is_not_blamed_on_an_extra_field(fake) -> None:
    """The endpoint refuses the temperature; it is left out, and the extra field stays."""
    refusal = {
        "message": "temperature is not supported with reasoning_effort",
        "param": "temperature",
    }
    ok = fake.completion()

    def answer(seen: Any) -> Any:
        return (
            fake.Reply(status=400, body={"error": refusal})
            if "temperature" in seen.body
            else fake.Reply(body=ok)
        )

    fake.answer = answer
    model = Endpoint(name="m", base_url=fake.url, api_key=None)
    with Client(model, settings=ModelSettings(extra_body=EFFORT)) as client:
        completion = client.ask_one(ASK)
    assert completion.dropped == ("temperature",)
    assert fake.seen[-1].body["reasoning_effort"] == "low"
