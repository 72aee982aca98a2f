"""What decision endpoints may answer, over real HTTP: nothing is scored that is no distribution."""

import gzip
import json

import pytest

from judgewright.judges import ModelError, Registry, Unscored, Verdict
from judgewright.judges.asked_question import AskedQuestion
from judgewright.judges.models import Client, ModelSettings
from judgewright.judges.models.decision_endpoint import DecisionEndpoint
from judgewright.judges.rows import Row

KEY = "sk-test-CANARY-5f3a9c1e7b"
JUDGE = Registry().get("groundedness")
ROW = Row(id="r", inputs={"source": "Open 9-5.", "statement": "It opens at 9."})
EVERY_API = pytest.mark.parametrize("api", ["decisions", "systemone", "sglang"])


@pytest.fixture(params=["openai", "plain"])
def transport(request) -> str:
    """What sends the requests: everything here holds for both."""
    return request.param


def answer_of(api, shares, **more):
    """An answer to the question of `JUDGE`, which has four grades."""
    listed = [{"label": str(i), "value": i, "probability": p} for i, p in enumerate(shares)]
    by_name = {str(i): p for i, p in enumerate(shares)}
    probabilities = listed if api == "decisions" else by_name
    return {"type": "score", "score": 1.0, "probabilities": probabilities, **more}


def body_of(api, answer, **more):
    """The body around an answer."""
    answers = [{"name": "q0", **answer}] if api == "decisions" else {"q0": answer}
    return {"model": "m-1", "answers": answers, "usage": {"input_tokens": 9}, **more}


def ask(fake, api, transport, *, url=None, path=None):
    """Return the answer about a row, or the error of the request."""
    address = {"base_url": url or fake.url, "api_key": KEY, "timeout": 10.0, "path": path}
    model = DecisionEndpoint(name="m", api=api, transport=transport, **address)
    asked = AskedQuestion(prompt=JUDGE, api=api)
    with Client(model, settings=ModelSettings(api=api), tries=2, max_unreadable=20) as client:
        try:
            return asked.read(client.ask_one(asked.request(ROW)))
        except ModelError as error:
            return error


EVEN = (0.25,) * 4
DEEP = "[" * 400 + "]" * 400
SPOILT = {
    # Words in a good body, and what stands there instead.
    "deeper than is read": ('"score": 1.0', '"score": ' + "[" * 100_000 + "]" * 100_000),
    "deeper than is kept": ('"score": 1.0', f'"score": {DEEP}'),
    "half a million lists": ('"score": 1.0', '"score": [' + "[]," * 500_000 + "[]]"),
    "a name of two megabytes": ('"score": 1.0', f'"score": "{"x" * 2**21}"'),
    "a lone surrogate": ('"score": 1.0', '"score": "\\ud800"'),
    "a lone surrogate as model": ('"m-1"', '"\\ud800"'),
    "NaN": ("0.25", "NaN"),
    "1e400": ("0.25", "1e400"),
    "thirty digits": ("0.25", "1" * 30),
    "five thousand digits": ("0.25", "1" * 5000),
    "true": ("0.25", "true"),
    "a text": ("0.25", '"0.25"'),
    "a negative share": ("0.25", "-0.25"),
    "a field that stands twice": ('"score": 1.0', '"probabilities": {"0": 1}'),
}


@EVERY_API
@pytest.mark.parametrize("spoilt", SPOILT)
def test_an_answer_that_is_no_distribution_is_not_scored(fake, api, transport, spoilt):
    """It ends in a short error or in an unscored row, and the process goes on."""
    text = json.dumps(body_of(api, answer_of(api, EVEN)))
    fake.answer = lambda seen: fake.Reply(body=text.replace(*SPOILT[spoilt], 1).encode())
    got = ask(fake, api, transport)
    assert isinstance(got, ModelError | Unscored)
    assert len(str(got)) < 700


@EVERY_API
def test_answers_to_something_else_are_not_scored(fake, api, transport):
    """Of the other family, of another length, under other names, of more or fewer grades."""
    other = "systemone" if api == "decisions" else "decisions"
    good = body_of(api, answer_of(api, EVEN))
    wrong = [
        body_of(other, answer_of(other, EVEN)),
        {**good, "answers": list(good["answers"]) and [] if api == "decisions" else {}},
        {**good, "answers": "yes"},
        {**good, "answers": None},
        [good],
        body_of(api, answer_of(api, EVEN), answers={"q7": answer_of(api, EVEN)}),
        body_of(api, answer_of(api, EVEN), answers=[{**answer_of(api, EVEN), "name": "q7"}]),
        body_of(api, answer_of(api, (*EVEN, 0.9))),
        body_of(api, answer_of(api, (0.5, 0.5))),
        body_of(api, answer_of(api, EVEN, type="choice")),
        {"choices": [{"message": {"content": "3"}, "finish_reason": "stop"}]},
    ]
    for body in wrong:
        fake.answer = lambda seen, body=body: fake.Reply(body=body)
        assert isinstance(ask(fake, api, transport), ModelError | Unscored), body


@EVERY_API
def test_what_says_nothing_of_the_answer_costs_no_answer(fake, api, transport):
    """Absurd usage, a long or strange model, a gateway's envelope, a packed body; and the key is
    kept nowhere.
    """
    usage = {"input_tokens": 10**15, "prompt_tokens": -4, "output_tokens": True}
    good = body_of(api, answer_of(api, (0.1, 0.2, 0.3, 0.4), legend=KEY), usage=usage, model=KEY)
    envelope = {"result": good, "success": True, "errors": [], "messages": []}
    for body in (good, {**good, "model": "x" * 2**21}, {**good, "model": {"a": KEY}}, envelope):
        packed = gzip.compress(json.dumps(body).encode())
        head = {"content-encoding": "gzip"}
        fake.answer = lambda seen, raw=packed, head=head: fake.Reply(body=raw, headers=head)
        got = ask(fake, api, transport)
        assert isinstance(got, Verdict)
        assert got.distribution == pytest.approx((0.1, 0.2, 0.3, 0.4))
        assert KEY not in repr(got)


def enveloped(code, message):
    """Cloudflare's error."""
    return {"result": None, "success": False, "errors": [{"code": code, "message": message}]}


ERRORS = {
    # Status and body; how many requests are sent; words of the error and its hint.
    "too long": (413, enveloped(5021, "too long"), 1, "413: too long"),
    "invalid": (422, enveloped(5012, "state, input, questions"), 1, "API (decisions: OpenAI"),
    "busy": (429, enveloped(3040, "busy"), 2, "given up after 2 tries"),
    "daily quota": (429, enveloped(4006, "quota"), 1, "no credit"),
    "daily quota in a 200": (200, enveloped(4006, "quota"), 1, "no credit"),
    "overloaded": (529, {"error": {"message": "overloaded"}}, 2, "529: overloaded"),
    "gateway": (504, b"<html><title>Gateway Time-out</title></html>", 2, "'Gateway Time-out'"),
    "a page": (200, b"<html><title>Sign on</title></html>", 2, "in place of a model"),
    "no route": (
        404,
        {"error": {"message": "no"}},
        1,
        "(PATH) and api, API (decisions: OpenAI",
    ),
    "unknown field": (
        400,
        {"error": {"message": "Unknown: state"}},
        1,
        "API (decisions: OpenAI",
    ),
    "wrong key": (401, {"error": {"message": f"{KEY} is wrong"}}, 1, "[key] is wrong"),
    "no key": (403, {"detail": f"{KEY} is wrong"}, 1, "[key] is wrong"),
    "deep": (500, f'{{"a": {DEEP}}}'.encode(), 2, "500: "),
}


@EVERY_API
@pytest.mark.parametrize("case", ERRORS)
def test_an_error_is_told_and_tried_again_only_where_that_may_help(fake, api, transport, case):
    """And nothing of ours is left out in further tries: a decision model takes no such setting."""
    status, body, requests, words = ERRORS[case]
    fake.answer = lambda seen: fake.Reply(status=status, body=body)
    got = ask(fake, api, transport)
    assert isinstance(got, ModelError)
    assert len(fake.seen) == requests
    path = "/systemone" if api == "systemone" else "/decisions"
    assert words.replace("API", api).replace("PATH", path) in f"{got} {got.hint}"
    assert KEY not in f"{got} {got.hint}"


@EVERY_API
@pytest.mark.parametrize("status", [400, 403, 422])
@pytest.mark.parametrize("field", ["code", "type"])
def test_a_refusal_as_an_error_is_a_refused_row(fake, api, transport, status, field):
    """And no failure of the run."""
    for word in ("refusal", "content_filter"):
        body = {"error": {"message": "I will not judge this.", field: word}}
        fake.answer = lambda seen, body=body: fake.Reply(status=status, body=body)
        got = ask(fake, api, transport)
        assert isinstance(got, Unscored)
        assert got.reason == "refused"


@EVERY_API
def test_a_redirect_is_named_with_the_path_of_the_interface(fake, api, transport):
    """It is not followed, and the address that could be named instead is said."""
    path = "/systemone" if api == "systemone" else "/decisions"
    to = {"location": f"https://other.example/v2{path}"}
    fake.answer = lambda seen: fake.Reply(status=307, headers=to)
    got = ask(fake, api, transport)
    assert "base_url: https://other.example/v2" in str(got.hint)
    assert len(fake.seen) == 1


@pytest.mark.parametrize(
    "path", ["//other.example/", "/../../x", "/@other.example/x", "/x/@cf/m", "/.", "/~/x:1"]
)
def test_no_path_leads_to_another_origin(fake, transport, path):
    """Whatever stands behind the address, with or without a path of its own."""
    fake.answer = lambda seen: fake.Reply(body=body_of("systemone", answer_of("systemone", EVEN)))
    for url in (fake.url, fake.url.removesuffix("/v1")):
        assert isinstance(ask(fake, "systemone", transport, url=url, path=path), Verdict)
    assert len(fake.paths) == 2
    assert all(one.startswith("/") for one in fake.paths)
