"""Anthropic, Gemini and Vertex AI through LiteLLM, against servers that speak their wire
formats.
"""

from __future__ import annotations

import logging
import random
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from judgewright.judges import InputError, Message, ModelError, Request
from judgewright.judges.models import Client, Completion, MemoryRecord
from judgewright.plugins.litellm.litellm_model import LiteLLMModel

from .foreign_providers import Provider, providing

KEY = "sk-test-CANARY-77aa88bb99"
DECOY = "sk-test-DECOY-11cc22dd33"
NAMES: dict[str, str] = {
    "anthropic": "litellm/anthropic/claude-sonnet-4-5",
    "gemini": "litellm/gemini/gemini-2.5-flash",
}
SCHEMA = {
    "type": "json_schema",
    "json_schema": {
        "name": "verdict",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"score": {"type": "integer", "enum": [0, 1, 2, 3]}},
        },
    },
}
JUDGE = (
    Message("system", "You judge groundedness. Grade from 0 to 3. Answer with JSON."),
    Message(
        "user",
        "<source-0a1b2c>The sky is blue.</source-0a1b2c>\n"
        "<statement-0a1b2c>The sky is blue.</statement-0a1b2c>",
    ),
)


class Eager(random.Random):
    """Draws the shortest jitter, so that a retry comes at once."""

    def uniform(self, a: float, b: float) -> float:
        """Return the lower bound."""
        return a


def judging(**more: Any) -> Request:
    """A request of a judge."""
    return Request(**{"messages": JUDGE, "max_tokens": 512, "response_format": SCHEMA, **more})


def model(provider: Provider, **more: Any) -> LiteLLMModel:
    """The model that the provider serves."""
    return LiteLLMModel(
        **{"name": NAMES[provider.dialect], "base_url": provider.url, "api_key": KEY, **more}
    )


def client(provider: Provider, **more: Any) -> Client:
    """A client of it."""
    return Client(model(provider, **more), rng=Eager(), record=MemoryRecord(), tries=3)


@pytest.fixture(params=["anthropic", "gemini"])
def provider(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    """A server, and an environment full of keys that are not meant for it."""
    for name in (
        "ANTHROPIC_API_KEY",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "OPENAI_API_KEY",
        "AWS_BEARER_TOKEN_BEDROCK",
    ):
        monkeypatch.setenv(name, DECOY)
    for name in ("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL", "GEMINI_API_BASE"):
        monkeypatch.setenv(name, "http://127.0.0.1:1/elsewhere")
    with providing(request.param, KEY) as served:
        yield served


def test_a_reply_comes_back_with_its_usage(provider: Provider) -> None:
    """One request, with the key in its place and none from the environment; what is not sent is
    said.
    """
    with client(provider) as asking:
        completion = asking.ask_one(judging())
    assert '"score"' in completion.text
    assert (completion.finish_reason, completion.tokens_cached) == ("stop", 7)
    assert completion.tokens_in > 7
    assert completion.tokens_out > 0
    (seen,) = provider.seen
    assert DECOY not in str(seen)
    if provider.dialect == "anthropic":
        assert completion.dropped == ("seed",)
        assert seen.body["max_tokens"] == 512
    else:
        assert completion.dropped == ()
        assert seen.body["generationConfig"]["seed"] == 0


def test_a_cut_reply_is_asked_for_with_more_room(provider: Provider) -> None:
    """`max_tokens` and `MAX_TOKENS` are the end that `length` is; Gemini says what it thought
    with.
    """
    provider.thought = 600
    with client(provider) as asking:
        completion = asking.ask_one(judging())
    assert completion.finish_reason == "stop"
    assert len(provider.seen) == 2
    if provider.dialect == "gemini":
        assert completion.reasoning_tokens == 600


@pytest.mark.parametrize("status", [429, 500, 529])
def test_a_passing_fault_is_tried_again_by_us_alone(provider: Provider, status: int) -> None:
    """The provider's pause is kept; LiteLLM itself tries once."""
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    provider.answer = lambda nth: (status, body, {"retry-after": "0"}) if nth < 3 else None
    with client(provider) as asking:
        assert asking.ask_one(judging()).text
    assert len(provider.seen) == 3
    assert asking.stats.retries == 2 == asking.stats.attempts - 1 - len(asking.stats.dropped)


def said(message: str, **more: Any) -> dict[str, Any]:
    """An error in a body."""
    return {"type": "error", "error": {"message": message, **more}}


RETRY_INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "4s"}
FAULTS: dict[str, tuple[int, Any, dict[str, str], dict[str, Any], str]] = {
    "a pause in a header": (
        *(429, said("slow down", type="rate_limit_error"), {"retry-after": "4"}),
        *({"retryable": True, "retry_after": 4.0, "status": 429}, "slow down"),
    ),
    "a pause in the body, as Gemini has it": (
        *(429, said("exhausted", code=429, status="RESOURCE_EXHAUSTED", details=[RETRY_INFO]), {}),
        *({"retryable": True, "retry_after": 4.0, "status": 429}, "exhausted"),
    ),
    "no credit, as Anthropic says it": (
        *(400, said("Your credit balance is too low to access the Anthropic API.", type="x"), {}),
        *({"fatal": True, "hint": "the account has no credit left"}, "credit"),
    ),
    "no reply": (200, ["hello"], {}, {"retryable": True, "status": 200}, "cannot be read"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_what_a_provider_answers_is_told_by_the_error(provider: Provider, case: str) -> None:
    """From its status, its headers and its body, and not as LiteLLM has it."""
    status, body, headers, fields, message = FAULTS[case]
    provider.answer = lambda nth: (status, body, headers)
    error = failure(provider)
    assert {name: getattr(error, name) for name in fields} == fields
    assert message in str(error)


def test_a_wrong_key_stops_at_once_and_is_in_no_message(
    provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    """Fatal, with what to do; the key is neither in the error nor in what is behind it nor in a
    log.
    """
    caplog.set_level(logging.DEBUG)
    error = failure(provider, api_key="sk-test-WRONG-5544332211", key_hint="look into VARIABLE")
    assert (error.fatal, error.hint) == (True, "look into VARIABLE")
    assert (
        "WRONG" not in f"{error} {error.hint} {error.__cause__} {error.__context__} {caplog.text}"
    )
    assert error.__context__ is None


def test_a_redirect_is_not_followed(provider: Provider) -> None:
    """Neither the row nor the key goes to an address that nobody named."""
    with providing(provider.dialect, KEY) as other:
        provider.answer = lambda nth: (307, {}, {"location": f"{other.url}/v1/messages"})
        error = failure(provider)
        assert not other.seen
    assert (error.fatal, error.status) == (True, 307)
    assert other.url in str(error)


def test_a_refused_parameter_is_left_out_from_then_on(provider: Provider) -> None:
    """Newer models refuse a temperature; the provider says so, and the request goes without it."""
    said = "`temperature` is deprecated for this model."

    def answer(nth: int) -> Any:
        body = provider.seen[nth - 1].body
        if "temperature" in body.get("generationConfig", body):
            return (
                400,
                {"type": "error", "error": {"type": "invalid_request_error", "message": said}},
                {},
            )
        return None

    provider.answer = answer
    with client(provider) as asking:
        assert "temperature" in asking.ask_one(judging()).dropped


def test_nobody_there_costs_nothing(provider: Provider) -> None:
    """A refused connection is an error that was never sent."""
    error = failure(provider, base_url="http://127.0.0.1:9")
    assert "cannot be reached" in str(error)


def test_an_access_token_of_vertex_ai_goes_as_a_bearer_token() -> None:
    """It speaks as Gemini does, below the path of a project."""
    with providing("gemini", KEY, bearer=True) as provider:
        url = f"{provider.url}/v1/projects/p/locations/europe-west1/publishers/google"
        named = {"name": "litellm/vertex_ai/gemini-2.5-flash", "base_url": url}
        with client(provider, **named) as asking:
            assert asking.ask_one(judging()).text
        assert (
            provider.seen[0].path
            == "/v1/projects/p/locations/europe-west1/publishers/google/models/gemini-2.5-flash:generateContent"  # noqa: E501
        )


def test_bedrock_is_asked_with_its_key_and_without_a_look_at_aws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The Converse format; no profile, no instance and no other key is looked up."""
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", DECOY)
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    monkeypatch.setenv("AWS_BEDROCK_RUNTIME_ENDPOINT", "http://127.0.0.1:1")
    body = {
        "output": {"message": {"role": "assistant", "content": [{"text": '{"score": 2}'}]}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 20, "outputTokens": 5, "totalTokens": 25},
        "metrics": {"latencyMs": 1},
    }
    with providing("anthropic", KEY, answer=lambda nth: (200, body, {})) as provider:
        named = {"name": "litellm/bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0"}
        with client(provider, **named) as asking:
            completion = asking.ask_one(judging(response_format=None))
        (seen,) = provider.seen
    assert (completion.text, completion.tokens_in, completion.tokens_out) == ('{"score": 2}', 20, 5)
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.path.endswith("/converse")
    assert seen.body["inferenceConfig"]["maxTokens"] == 512


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"name": "litellm/cohere/command"}, "anthropic, gemini, bedrock, vertex_ai"),
        ({"name": "litellm/anthropic"}, "no name of a model"),
        ({"extra_body": ["api_base"]}, "extra_body.api_base"),
        ({"extra_body": ["mock_response"]}, "extra_body.mock_response"),
        ({"base_url": "ftp://host"}, "not an http"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is_imported(
    more: dict[str, Any], said: str
) -> None:
    """A provider nobody has looked at, and fields that LiteLLM takes as settings of its own."""
    with pytest.raises(InputError, match=said):
        LiteLLMModel(
            **{"name": NAMES["gemini"], "base_url": "http://127.0.0.1:9", "api_key": KEY, **more}
        )


@pytest.mark.slow
def test_loading_it_downloads_nothing_and_reads_no_env_file(tmp_path: Any) -> None:
    """No socket is opened, no `.env` is read, no variable stays behind, nothing is printed."""
    (tmp_path / ".env").write_text("ANTHROPIC_BASE_URL=http://evil.example\n")
    code = (
        "import os, sys; before = dict(os.environ)\n"
        "def hook(event, args):\n"
        "    if event in ('socket.connect', 'socket.getaddrinfo'): print(event, args)\n"
        "sys.addaudithook(hook)\n"
        "from judgewright.optimize.proposers.import_litellm import load_litellm\n"
        "from judgewright.plugins.litellm.litellm_model import LiteLLMModel\n"
        "assert 'litellm' not in sys.modules\n"
        "load_litellm()\n"
        "assert dict(os.environ) == before, set(os.environ) ^ set(before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def failure(provider: Provider, **more: Any) -> ModelError:
    """The error of a single try."""
    import asyncio

    asked = model(provider, **more)

    async def ask() -> Completion:
        try:
            return await asked.complete(judging(), unsupported_parameters=frozenset({"seed"}))
        finally:
            await asked.close()

    with pytest.raises(ModelError) as failed:
        asyncio.run(ask())
    return failed.value


@pytest.mark.slow
def test_the_first_reply_through_litellm_warns_of_nothing() -> None:
    """Its types are built while it is loaded: later the warning would come in the middle of a
    request.
    """
    code = "\n".join(
        (
            "import warnings",
            "from judgewright.optimize.proposers.import_litellm import load_litellm",
            "litellm = load_litellm()",
            "warnings.simplefilter('error')",
            "litellm.ModelResponse()",
        )
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
