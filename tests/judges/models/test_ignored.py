"""Which parameters a reply shows to be ignored."""

from typing import Any

import pytest

from judgewright.judges.models import (
    Client,
    Completion,
    Endpoint,
    Message,
    Request,
    TokenLogprob,
    ignored_parameters,
)

FORM = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": {"type": "object"}}}
ASK = (Message("user", "Is it so?"),)


def ask(**fields: Any) -> Request:  # Any: the fields of a request
    """Return a request with these parameters."""
    return Request(messages=ASK, **fields)


@pytest.mark.parametrize(
    ("request_", "reply", "ignored"),
    [
        (ask(response_format=FORM), Completion(text=' {"score": 2}\n'), ()),
        (ask(response_format=FORM), Completion(text="Grade: 2"), ("response_format",)),
        (
            ask(response_format=FORM),
            Completion(text='<think>so</think>{"score": 2}'),
            ("response_format",),
        ),
        (ask(response_format=FORM), Completion(text='{"sco', finish_reason="length"), ()),
        (ask(response_format=FORM), Completion(text="", finish_reason="content_filter"), ()),
        (ask(response_format=FORM), Completion(text="Grade: 2", dropped=("response_format",)), ()),
        (ask(top_logprobs=3), Completion(text="2"), ("logprobs",)),
        (ask(top_logprobs=3), Completion(text="2", logprobs=(TokenLogprob("2", -0.1),)), ()),
        (ask(top_logprobs=3), Completion(text="2", dropped=("logprobs",)), ()),
        (ask(max_tokens=10), Completion(text="2", tokens_out=14), ()),
        (ask(max_tokens=10), Completion(text="2", tokens_out=15), ("max_tokens",)),
        (ask(default_max_tokens=10), Completion(text="2", tokens_out=15), ("max_tokens",)),
        (
            ask(max_tokens=10),
            Completion(text="2", tokens_out=15, extra={"tokens": "estimated"}),
            (),
        ),
        (ask(max_tokens=10), Completion(text="2", tokens_out=15, dropped=("max_tokens",)), ()),
        (ask(), Completion(text="2", tokens_out=9_999), ()),
    ],
)
def test_what_a_reply_shows(request_: Request, reply: Completion, ignored: tuple[str, ...]) -> None:
    """A reply that was cut or refused, and a parameter that was left out, show nothing."""
    assert ignored_parameters(request_, reply) == ignored


def test_the_client_counts_what_is_ignored_and_keeps_what_is_refused(fake) -> None:
    """Replies that are cached are not counted again; what was refused when they were made is known
    from them.
    """
    refusal = {
        "message": "Unsupported parameter: 'seed'",
        "param": "seed",
        "code": "unsupported_parameter",
    }

    def answer(seen: Any) -> Any:
        if "seed" in seen.body:
            return fake.Reply(status=400, body={"error": refusal})
        return fake.Reply(body=fake.completion("Grade: 2"))

    fake.answer = answer
    model = Endpoint(name="m", base_url=fake.url, api_key=None)
    with Client(model) as client:
        requests = [
            Request(messages=(Message("user", str(i)),), response_format=FORM, max_tokens=2)
            for i in range(3)
        ]
        client.ask(requests)
        assert (client.stats.ignored, client.stats.dropped) == ({"response_format": 3}, {"seed"})
        client.stats.dropped.clear()
        client.ask(requests)
    assert (client.stats.ignored, client.stats.dropped) == ({"response_format": 3}, {"seed"})
