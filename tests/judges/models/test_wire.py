"""Bodies of completions and of faults, in the shapes and wordings servers really use."""

import contextlib
import tracemalloc
from operator import itemgetter
from pathlib import Path

import orjson
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import ModelError
from judgewright.judges.models import (
    Completion,
    Message,
    Request,
    read_answering_fault,
    read_completion,
    read_fault,
    read_retry_after,
)
from judgewright.judges.models.wire import read_answer

ASKED = Request(
    messages=(Message("system", "s" * 40), Message("user", "u" * 40)),
    max_tokens=50,
    top_logprobs=5,
    response_format={"type": "json_object"},
)
SENT = [*ASKED.body(), "model"]


ANSWERS = yaml.safe_load(Path(__file__).with_name("refusals.yaml").read_text(encoding="utf-8"))


def raw_body(said: object) -> bytes:
    """The bytes of a body; one that is a text is no JSON."""
    return said.encode() if isinstance(said, str) else orjson.dumps(said)


def body(content: object = "hi", *, usage: object = None, **choice: object) -> bytes:
    first = {
        "message": {"role": "assistant", "content": content},
        "finish_reason": "stop",
        **choice,
    }
    return orjson.dumps({"choices": [first], "usage": usage})


def test_a_whole_reply_is_read():
    """Text, reason, usage with the cached part, model, fingerprint and log-probabilities."""
    raw = orjson.dumps(
        {
            "model": "gpt-x-2025",
            "system_fingerprint": "fp_1",
            "choices": [
                {
                    "message": {
                        "role": "assistant",
                        "content": "2",
                        "reasoning_content": "hm",
                        "refusal": None,
                    },
                    "finish_reason": "stop",
                    "logprobs": {
                        "content": [
                            {
                                "token": "2",
                                "logprob": -0.1,
                                "bytes": [50],
                                "top_logprobs": [
                                    {"token": "2", "logprob": -0.1},
                                    {"token": "1", "logprob": -2.5},
                                ],
                            }
                        ]
                    },
                }
            ],
            "usage": {
                "prompt_tokens": 9,
                "completion_tokens": 1,
                "prompt_tokens_details": {"cached_tokens": 4},
            },
        }
    )
    got = read_completion(raw, ASKED)
    assert (got.text, got.finish_reason, got.refusal) == ("2", "stop", None)
    assert (got.tokens_in, got.tokens_out, got.tokens_cached) == (9, 1, 4)
    assert (got.model_returned, got.fingerprint) == ("gpt-x-2025", "fp_1")
    assert got.logprobs[0].top == (("2", -0.1), ("1", -2.5))
    assert (got.extra, got.reasoning_tokens) == ({}, None)


@pytest.mark.parametrize(
    "where",
    [{"completion_tokens_details": {"reasoning_tokens": 7}}, {"reasoning_tokens": 7}],
    ids=["OpenAI", "others"],
)
def test_reasoning_tokens_are_read_wherever_they_stand(where):
    """Part of the tokens out."""
    got = read_completion(body(usage={"prompt_tokens": 9, "completion_tokens": 8, **where}), ASKED)
    assert (got.tokens_out, got.reasoning_tokens) == (8, 7)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("", ""),
        (
            [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}],
            "ab",
        ),
        ("漢\u0000\u202e", "漢\u0000\u202e"),
    ],
)
def test_content_comes_in_several_shapes(content, text):
    """Null, empty, a list of parts, any characters."""
    assert read_completion(body(content), ASKED).text == text


def test_a_refusal_is_kept():
    """OpenAI's own field."""
    raw = orjson.dumps(
        {
            "choices": [
                {"message": {"content": None, "refusal": "I can't."}, "finish_reason": "stop"}
            ]
        }
    )
    assert read_completion(raw, ASKED).refusal == "I can't."


@pytest.mark.parametrize(
    ("reason", "read"),
    [
        ("length", "length"),
        ("MAX_TOKENS", "length"),
        (None, "stop"),
        ("", "stop"),
        ("eos_token", "stop"),
        ("end_turn", "stop"),
        ("content_filter", "content_filter"),
        ("SAFETY", "content_filter"),
        ("function_call", "tool_calls"),
        ("FinishReason.STOP", "stop"),
        ("FINISH_REASON_STOP", "stop"),
        ("max-tokens", "length"),
        ("maxTokens", "length"),
        ("FinishReason.MAX_TOKENS", "length"),
        ("endTurn", "stop"),
        ("null", "stop"),
        ("guardrail_intervened", "content_filter"),
        ("Content-Filter", "content_filter"),
    ],
)
def test_the_reason_for_the_end_is_kept(reason, read):
    """Words that mean the same become one, however they are spelled."""
    assert read_completion(body(finish_reason=reason), ASKED).finish_reason == read


@pytest.mark.parametrize(
    "reason", ["error", "insufficient_system_resource", "abort", "network_error", "x" * 99]
)
def test_any_other_end_is_a_failure_and_no_answer(reason):
    """Half a reply in a 200: it is asked for again, as after a 502."""
    with pytest.raises(ModelError, match=f"ended by '{reason[:40].lower()}'") as caught:
        read_completion(body('{"crit', finish_reason=reason), ASKED)
    assert (caught.value.retryable, caught.value.status, caught.value.fatal) == (True, 502, False)


def test_an_error_in_a_choice_is_said():
    """A gateway whose upstream died in the midst of a reply."""
    raw = body("", error={"code": 503, "message": "Upstream died"}, finish_reason="error")
    with pytest.raises(ModelError, match="failed while it answered: Upstream died") as caught:
        read_completion(raw, ASKED)
    assert (caught.value.retryable, caught.value.status) == (True, 503)


@pytest.mark.parametrize("case", ANSWERS["words"], ids=itemgetter("message"))
def test_what_an_error_says_is_shown_wherever_it_stands(case):
    """Nested, as a text, as a list, or as a web page."""
    with pytest.raises(ModelError, match=case["message"]):
        raise read_fault(401, raw_body(case["body"]), {}, sent=SENT)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        "x",
        *(
            {"prompt_tokens": n, "completion_tokens": 2}
            for n in (None, -1, 9e18, 9 * 10**18, 1e30, 7.0, "7", True)
        ),
        *({"prompt_tokens": 9, "completion_tokens": n} for n in (20_000_001, float("-inf"), [2])),
        {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 9 * 10**18},
        {
            "prompt_tokens": 9,
            "completion_tokens": 2,
            "prompt_tokens_details": {"cached_tokens": 2**63},
        },
    ],
    ids=repr,
)
def test_missing_or_absurd_usage_is_estimated_and_said(usage):
    """80 characters asked, 8 answered, at a quarter token each; nothing that a database cannot hold
    is believed.
    """
    got = read_completion(body("12345678", usage=usage), ASKED)
    assert (got.tokens_in, got.tokens_out, got.extra) == (20, 2, {"tokens": "estimated"})


GOOD = b'{"message": {"content": "2"}, "logprobs": {"content": ['


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b'{"choices": [' + b"0," * 1_000_000 + b"0]}", "choices.0"),
        (b'{"choices": [' + b"{}," * 1_000_000 + b"{}]}", "more than 400,000 parts"),
        (
            b'{"choices": [{"message": {"content": [' + b"0," * 1_000_000 + b"0]}}]}",
            "not a chat completion",
        ),
        (b'{"choices": [' + GOOD + b"0," * 1_000_000 + b"0]}}]}", ""),
        (b'{"choices": [' + GOOD + b'{"token":"a","logprob":0},' * 150_000 + b"0]}}]}", ""),
    ],
    ids=["choices", "lists", "parts", "bad log-probabilities", "too many log-probabilities"],
)
def test_a_body_of_a_million_small_things_is_read_in_little_memory(raw, message):
    """A few megabytes of JSON, each part of which would have an error, or an object, of its own."""
    tracemalloc.start()
    try:
        if message:
            with pytest.raises(ModelError, match=message):
                read_completion(raw, ASKED)
        else:
            assert read_completion(raw, ASKED).logprobs == ()
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "logprobs",
    [
        "x",
        {"content": [{"token": 1}]},
        {"tokens": ["a"], "token_logprobs": [-1]},
        {"content": None},
    ],
)
def test_malformed_log_probabilities_cost_only_themselves(logprobs):
    """The old completions format, or nonsense: the reply stands."""
    got = read_completion(body("hi", logprobs=logprobs), ASKED)
    assert (got.text, got.logprobs) == ("hi", ())


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"<html>502 Bad Gateway</html>",
        b"null",
        b"[]",
        b'{"choices": []}',
        b'{"choices": [{}]}',
        b'{"choices": [{"message": {"content": 5}}]}',
        b'{"choices": [{"message": {"content": "a"}}], "x": NaN}',
        b'{"choices": [{"message": {"content": "\\ud800"}}]}',
        b"[" * 100_000,
        b'{"choices": [{"message": {"content": "cut',
        b"\xff\xfe",
    ],
)
def test_garbage_is_a_fault_that_may_pass(raw):
    """A broken proxy answers 200; the same request may succeed."""
    with pytest.raises(ModelError) as caught:
        read_completion(raw, ASKED)
    assert caught.value.retryable
    assert caught.value.status == 200
    assert not caught.value.fatal
    assert caught.value.no_model == raw.startswith(b"<")


def test_a_reply_far_too_long_is_a_failure_and_not_asked_for_again():
    """More than a mebibyte of text is no verdict."""
    with pytest.raises(ModelError, match="1,048,577 characters") as caught:
        read_completion(body("x" * (2**20 + 1)), ASKED)
    assert not caught.value.retryable


def test_an_error_in_a_200_is_read_as_the_error_it_is():
    """OpenRouter sends upstream faults so."""
    raw = b'{"error": {"code": 429, "message": "Provider returned error"}}'
    with pytest.raises(ModelError, match="answered 429: Provider returned error") as caught:
        read_completion(raw, ASKED)
    assert caught.value.retryable


FIELDS = st.sampled_from(
    ["choices", "message", "content", "error", "usage", "code", "param", "type"]
)
SMALL = (
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
JSON = st.recursive(
    SMALL, lambda inner: st.lists(inner) | st.dictionaries(FIELDS, inner), max_leaves=12
)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300) | JSON.map(orjson.dumps))
def test_no_bytes_raise_anything_but_a_model_error(raw):
    """Whatever the body, it is a completion or a fault."""
    with contextlib.suppress(ModelError):
        assert isinstance(read_completion(raw, ASKED), Completion)
    assert len(str(read_fault(400, raw, {}, sent=SENT))) < 400
    assert isinstance(read_fault(400, raw, {}, sent=SENT), ModelError)
    read_answering_fault(raw, ASKED)


def fault(message: object, param: str | None = None, code: object = None) -> dict:
    return {
        "error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    }


@pytest.mark.parametrize("case", ANSWERS["refusals"], ids=lambda case: case["server"])
def test_the_parameter_that_an_error_names_is_read(case):
    """In the words of OpenAI, vLLM, llama.cpp, Ollama, Mistral, Gemini and Anthropic."""
    error = read_fault(case["status"], raw_body(case["body"]), {}, sent=SENT)
    assert error.refused_parameter == case["parameter"]
    assert not error.fatal


@pytest.mark.parametrize(
    "said", ["'n_probs' is not supported", "context length exceeded", "the seeds of doubt"]
)
def test_an_error_that_names_no_parameter_is_the_requests_own_until_a_trial(said):
    """What it means is not read from its words."""
    error = read_fault(400, orjson.dumps(fault(said)), {}, sent=SENT)
    assert (error.refused_parameter, error.retryable, error.fatal) == (None, False, False)


def test_only_a_parameter_that_was_sent_can_be_refused():
    """A server that goes on refusing what it no longer gets is not believed."""
    raw = orjson.dumps(fault("Unsupported parameter: 'seed'", "seed", "unsupported_parameter"))
    assert read_fault(400, raw, {}, sent=["messages", "temperature"]).refused_parameter is None


@pytest.mark.parametrize(
    ("status", "code", "retryable", "fatal"),
    [
        (401, None, False, True),
        (402, None, False, True),
        (403, None, False, True),
        (404, "model_not_found", False, True),
        (307, None, False, True),
        (429, None, True, False),
        (429, "insufficient_quota", False, True),
        (400, None, False, False),
        (408, None, True, False),
        (409, None, True, False),
        (500, None, True, False),
        (502, None, True, False),
        (503, None, True, False),
        (529, None, True, False),
    ],
)
def test_each_status_is_fatal_passing_or_the_rows_own(status, code, retryable, fatal):
    """A wrong key stops the run, an overload is tried again, a bad request is one row's."""
    error = read_fault(status, orjson.dumps(fault("no", code=code)), {}, sent=SENT)
    assert (error.retryable, error.fatal, error.status) == (retryable, fatal, status)


def test_one_flagged_row_does_not_stop_a_run():
    """OpenRouter answers 403 for an input its moderation flagged."""
    raw = orjson.dumps(
        {"error": {"code": 403, "message": "Your input was flagged", "metadata": {}}}
    )
    assert not read_fault(403, raw, {}, sent=SENT).fatal


def test_azures_content_filter_is_a_refusal():
    """A 400 that says content_filter is an answer about the row, not a failed call."""
    raw = orjson.dumps(fault("The response was filtered", "prompt", "content_filter"))
    got = read_answering_fault(raw, ASKED)
    assert got is not None
    assert (got.finish_reason, got.refusal) == ("content_filter", "The response was filtered")
    assert read_answer(400, raw, {}, ASKED, sent=SENT) == got
    assert read_answering_fault(orjson.dumps(fault("else")), ASKED) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "-4"}, None),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "1m30s"}, 90.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": f"Mon, 01 Jan {10**30} 00:00:00 GMT"}, None),
        (
            {
                "retry-after": "Wed, 21 Oct 2015 07:28:30 GMT",
                "date": "Wed, 21 Oct 2015 07:28:00 GMT",
            },
            30.0,
        ),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT"}, 0.0),
    ],
)
def test_retry_after_is_read_in_every_form(headers, seconds):
    """Milliseconds, seconds, and a date against the server's own clock."""
    assert read_retry_after(headers) == seconds
