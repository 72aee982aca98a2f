"""Models, keys and budgets as the caller names them."""

import pytest

from judgewright.judges import InputError
from judgewright.judges.models import Endpoint
from judgewright.judges.simulated import Simulated
from judgewright.runs.config import Environment, open_model, parse_budget, read_environment

KEY, OWN = "sk-test-CANARY-openai", "sk-test-CANARY-own"
AT_OPENAI = Environment(openai_key=KEY)
ODD_URLS = (
    "x@http://[",
    "x@ftp://y",
    "x@HTTPX://y",
    "x@http://h:99999999",
    "x@http://h:abc",
    "x@ftp://user:secret@y",
    "x@http://user:secret@[",
)


@pytest.mark.parametrize(
    ("spec", "name", "url"),
    [
        ("your-model", "your-model", "https://api.openai.com/v1"),
        ("llama3@http://127.0.0.1:8080/v1", "llama3", "http://127.0.0.1:8080/v1"),
        ("org/model@v2@https://host/v1/", "org/model@v2", "https://host/v1"),
    ],
)
def test_a_model_is_a_name_or_a_name_at_a_url(spec: str, name: str, url: str) -> None:
    """A plain name stands at OPENAI_BASE_URL."""
    named = AT_OPENAI.model(spec)
    assert (named.name, named.model, named.base_url) == (spec, name, url)
    assert isinstance(open_model(spec, AT_OPENAI, concurrency=4), Endpoint)
    assert isinstance(open_model("simulated", AT_OPENAI, concurrency=4), Simulated)


@pytest.mark.parametrize(
    "spec", ["", "@https://host/v1", "m@https://", "m@https://user:secret@host/v1", *ODD_URLS]
)
def test_a_bad_model_name_is_refused(spec: str) -> None:
    """No name, no host, or a password in the URL."""
    with pytest.raises(InputError) as refused:
        open_model(spec, AT_OPENAI, concurrency=4)
    assert "secret" not in str(refused.value)


def test_the_environment_is_read_once_and_shows_no_key() -> None:
    """Variables become fields; the repr has no key."""
    found = read_environment(
        {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://h/v1", "JUDGEWRIGHT_API_KEY": OWN}
    )
    assert (found.openai_key, found.own_key, found.base_url) == (KEY, OWN, "http://h/v1")
    assert "CANARY" not in repr(found)
    assert read_environment({}).base_url == "https://api.openai.com/v1"
    assert "CANARY" not in repr(found.keyring())


@pytest.mark.parametrize(
    ("text", "money", "tokens"),
    [
        (None, None, None),
        ("5", 5.0, None),
        ("$2.50", 2.5, None),
        ("200000tokens", None, 200_000),
        ("1_000 tokens", None, 1000),
    ],
)
def test_a_budget_is_dollars_or_tokens(
    text: str | None, money: float | None, tokens: int | None
) -> None:
    """Both units, and none."""
    allowance = parse_budget(text)
    assert (allowance.money, allowance.tokens) == (money, tokens)


@pytest.mark.parametrize("text", ["lots", "-1", "5 euros", "tokens", "nan"])
def test_a_budget_that_is_neither_is_refused(text: str) -> None:
    """The value is named."""
    with pytest.raises(InputError, match="budget"):
        parse_budget(text)
