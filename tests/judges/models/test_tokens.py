"""Token counts: exact from local files, estimated elsewhere, never downloaded."""

import hashlib
import socket
import subprocess
import sys
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges.models import approximate_tokens, count_tokens, estimate_tokens, tokens

BUNDLED = count_tokens("x", "gpt-4o").exact
needs_files = pytest.mark.skipif(not BUNDLED, reason="no tiktoken encoding file on this machine")


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Counting must not open a socket."""

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("the network was touched")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@needs_files
def test_known_texts_have_their_published_counts():
    """The example of OpenAI's cookbook: `tiktoken is great!` is 6 tokens in cl100k and o200k
    alike.
    """
    for model, name in (
        ("gpt-4", "cl100k_base"),
        ("gpt-4o-mini", "o200k_base"),
        ("openai/gpt-4o", "o200k_base"),
    ):
        count = count_tokens("tiktoken is great!", model)
        assert (count.n, count.exact, count.method) == (6, True, f"tiktoken {name}")


@needs_files
def test_a_special_token_in_a_row_is_plain_text():
    """`<|endoftext|>` in a row is neither an error nor one token."""
    assert count_tokens("<|endoftext|>", "gpt-4").n > 1


@needs_files
def test_a_million_spaces_are_counted():
    """tiktoken panics on them in one piece."""
    count = count_tokens(" " * 1_200_000, "gpt-4o")
    assert count.n > 1000
    assert not count.exact


def test_an_unknown_model_is_estimated_and_says_so():
    """The method names the rule."""
    count = count_tokens("abcdefgh", "llama-3")
    assert (count.n, count.exact) == (2, False)
    assert count.method.startswith("estimate")


def test_an_encoding_that_is_not_on_disk_is_estimated(monkeypatch, tmp_path):
    """Nobody bundles GPT-3's r50k_base, and nothing is downloaded; a damaged file of it is passed
    over.
    """
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    tokens._load.cache_clear()
    assert not count_tokens("some text", "davinci").exact
    tokens._load.cache_clear()
    url = "https://openaipublic.blob.core.windows.net/encodings/r50k_base.tiktoken"
    folder = tmp_path / "data-gym-cache"
    folder.mkdir()
    (folder / hashlib.sha1(url.encode()).hexdigest()).write_text("IQ== 0\n")
    assert not count_tokens("some text", "davinci").exact


def test_counting_does_not_import_litellm():
    """Importing litellm goes online; only its folder is looked up."""
    code = (
        "import sys; from judgewright.judges.models.tokens import count_tokens; "
        "count_tokens('x', 'gpt-4o'); sys.exit('litellm' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("", 0),
        ("a" * 400, 100),
        ("ж" * 400, 100),
        ("漢" * 400, 300),
        ("ひ" * 4, 3),
        ("한" * 4, 3),
        ("a" * 4 + "字" * 4, 4),
    ],
)
def test_the_stated_estimate_is_a_quarter_and_three_quarters(text, n):
    """A quarter token a character, three quarters for Chinese, Japanese and Korean."""
    assert approximate_tokens(text) == n


@needs_files
@pytest.mark.parametrize(
    "text",
    [
        "The refund window is thirty days from the date of delivery, unless the item was damaged. "
        * 20,
        '{"score": 2, "reason": "the text says so", "ids": [1, 22, 333]} ' * 20,
        "请根据评审标准判断客服回复是否提供了退款期限，并给出零到一之间的分数和简短理由。" * 20,
        "Оцените, указан ли в ответе срок возврата средств, и кратко объясните своё решение. " * 20,
        "मूल्यांकन करें कि उत्तर में धनवापसी की अवधि बताई गई है या नहीं। " * 20,
        "😀🎉👩‍💻🚀 done → next ✅ " * 20,
    ],
)
def test_the_reserving_estimate_covers_the_exact_count(text):
    """English, JSON, Chinese, Russian, Hindi and emoji, against both of tiktoken's usual
    encodings.
    """
    for model in ("gpt-4o", "gpt-4"):
        assert estimate_tokens(text) >= count_tokens(text, model).n


@settings(max_examples=100, deadline=None)
@given(st.text(), st.text())
def test_estimates_are_additive_up_to_rounding(one, two):
    """Two texts together need what they need apart."""
    for estimate in (approximate_tokens, estimate_tokens):
        assert 0 <= estimate(one) + estimate(two) - estimate(one + two) <= 2
