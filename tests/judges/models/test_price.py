"""Prices: bundled, the user's own, and unknown."""

import socket

import pytest

from judgewright.judges import InputError
from judgewright.judges.models import Prices

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


def test_the_users_file_wins(tmp_path):
    """JSON: over the public price, for one endpoint only where it says so, cached at its own
    price.
    """
    path = tmp_path / "prices.json"
    path.write_text(
        '{"gpt-6-luna": {"input": 1, "output": 2}, '
        '"gpt-6-luna@http://gate/v1": {"input": 10, "output": 20, "cached": 5}}'
    )
    prices = Prices(path)
    assert prices.cost("gpt-6-luna", OPENAI, 1_000_000, 500_000, 1_000_000) == pytest.approx(2.0)
    assert prices.cost("gpt-6-luna", "http://gate/v1", 1_000_000, 0, 500_000) == pytest.approx(7.5)


def test_a_price_file_may_be_toml(tmp_path):
    """The same words in TOML."""
    path = tmp_path / "prices.toml"
    path.write_text('["my-llama"]\ninput = 0.5\noutput = 0.5\n')
    assert Prices(path).cost("my-llama", "http://x/v1", 2_000_000, 0) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("p.json", "{", "neither JSON nor TOML"),
        ("p.toml", "a =", "neither JSON nor TOML"),
        ("p.json", '{"m": {"input": 1}}', "m.output: Field required"),
        ("p.json", '{"m": {"input": -1, "output": 0}}', "m.input"),
        ("p.json", '{"m": {"input": 1, "output": 1, "per": "token"}}', "m.per"),
        ("p.json", "[1]", "valid dictionary"),
    ],
)
def test_a_price_file_that_cannot_be_used_says_where(tmp_path, name, text, said):
    """A wrong price is worse than none."""
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        Prices(path).cost("m", OPENAI, 1, 1)


def test_a_missing_price_file_is_named(tmp_path):
    """With its path."""
    with pytest.raises(InputError, match=r"absent\.json' cannot be read"):
        Prices(tmp_path / "absent.json").cost("m", OPENAI, 1, 1)


def test_prices_never_touch_the_network(monkeypatch):
    """No socket is opened, for a known and for an unknown model."""

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("the network was touched")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert Prices().cost("gpt-6-luna", OPENAI, 1, 1) is not None
    assert Prices().cost("gpt-99", OPENAI, 1, 1) is None
