"""Prices: bundled, the user's own, and unknown."""

import socket

import pytest

from judgewright.judges.models import Price, Prices

OPENAI = "https://api.openai.com/v1"


def test_a_public_price_is_the_published_one():
    """OpenAI's price list: gpt-6.1-terra at 2 in and 5 out per million tokens."""
    prices = Prices()
    assert prices.cost("gpt-6.1-terra", OPENAI, 1_000_000, 0) == pytest.approx(2.0)
    assert prices.cost("gpt-6.1-terra", OPENAI, 0, 1_000_000) == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("model", "endpoint"),
    [
        ("gpt-6-luna", OPENAI),
        ("gpt-5.4-mini", "https://RESOURCE.openai.azure.com/openai/v1"),
        ("claude-sonnet-5-5", "https://api.anthropic.com/v1"),
        ("litellm/anthropic/claude-haiku-5-5", "https://api.anthropic.com"),
        (
            "litellm/bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "https://bedrock-runtime.eu-central-1.amazonaws.com",
        ),
        ("gemini-3.8-flash", "https://generativelanguage.googleapis.com/v1beta/openai"),
        ("litellm/vertex_ai/gemini-3.8-flash", "https://europe-west1-aiplatform.googleapis.com/v1"),
        ("mistral-large-4", "https://api.mistral.ai/v1"),
        ("deepseek-v4-flash", "https://api.deepseek.com/v1"),
        ("grok-4.7", "https://api.x.ai/v1"),
        ("openai/gpt-oss-120b", "https://api.groq.com/openai/v1"),
        ("anthropic/claude-sonnet-5.5", "https://openrouter.ai/api/v1"),
    ],
)
def test_what_the_large_providers_sell_has_a_price(model: str, endpoint: str):
    """The models of the end of 2026, at the addresses that people write."""
    cost = Prices().cost(model, endpoint, 1_000_000, 1_000_000)
    assert cost is not None
    assert cost > 0.1


@pytest.mark.parametrize(
    ("model", "endpoint"),
    [
        ("no-such-model-9", OPENAI),
        ("gpt-6-luna", "http://127.0.0.1:8000/v1"),
        ("llama3", "http://localhost:11434/v1"),
    ],
)
def test_an_unknown_price_is_none_and_never_zero(model, endpoint):
    """A local server with a famous model's name is not billed as the famous one either."""
    assert Prices().cost(model, endpoint, 1000, 1000) is None


def test_simulated_models_cost_nothing():
    """In process, and served over HTTP."""
    assert Prices().cost("simulated", "simulated:abc", 1000, 1000) == 0.0
    assert Prices().cost("simulated", "http://127.0.0.1:9/v1", 1000, 1000) == 0.0


def test_the_price_of_the_settings_wins():
    """Over the public one, with cached tokens at their own price, where there is one."""
    assert Prices(Price(input=1, output=2)).cost(
        "gpt-6-luna", OPENAI, 1_000_000, 500_000, 1_000_000
    ) == pytest.approx(2.0)
    cached = Prices(Price(input=10, output=20, cached=5))
    assert cached.cost("m", "http://x/v1", 1_000_000, 0, 500_000) == pytest.approx(7.5)


def test_prices_never_touch_the_network(monkeypatch):
    """No socket is opened, for a known and for an unknown model."""

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("the network was touched")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert Prices().cost("gpt-6-luna", OPENAI, 1, 1) is not None
    assert Prices().cost("gpt-99", OPENAI, 1, 1) is None
