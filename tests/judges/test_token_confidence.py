"""Tok confidence: the deciding token and no other, renormalised over grades, refused in place of
guessed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import (
    BINARY,
    Answer,
    Dataset,
    InputError,
    JudgePrompt,
    JudgeSettings,
    ModelError,
    OutputScale,
    Registry,
    Row,
    Unscored,
    Verdict,
    judge,
    judge_request,
    read_reply,
    with_token_confidence,
)
from judgewright.judges.models import Client, Completion, Endpoint, Request, TokenLogprob
from judgewright.judges.simulated import Faults, Server, Simulated, make_app

GRADED = OutputScale()
TEN = OutputScale(low=0, high=10, threshold=5)
SUPPORT = OutputScale(
    kind="choice", labels=("not supported", "partially supported", "fully supported"), threshold=1
)
Alternatives = dict[str, float]
Piece = str | tuple[str, Alternatives]
TOK = JudgeSettings(confidence="tok")
GROUNDEDNESS = Registry().get("groundedness")


def prompt(scale: OutputScale = GRADED, *, as_json: bool = False) -> JudgePrompt:
    """A judge with a prose or a JSON reply."""
    schema = {"evidence": "text", "score": "score", "confidence": "confidence"} if as_json else {}
    return JudgePrompt(
        name="p",
        system="Judge.",
        criteria="C.",
        template="{{text}}",
        reply="Score:",
        scale=scale,
        reply_schema=schema,
    )


def completion(pieces: Sequence[Piece], text: str | None = None) -> Completion:
    """A reply made of tokens; one with alternatives is (token, {alternative: probability})."""
    tokens = []
    for piece in pieces:
        token, top = piece if isinstance(piece, tuple) else (piece, {piece: 0.98, "~": 0.01})
        logprobs = tuple((name, math.log(p) if p else -math.inf) for name, p in top.items())
        tokens.append(TokenLogprob(token, math.log(top.get(token, 0.5)), logprobs))
    return Completion(
        text="".join(t.token for t in tokens) if text is None else text, logprobs=tuple(tokens)
    )


def tok(asked: JudgePrompt, pieces: Sequence[Piece], text: str | None = None) -> Answer:
    """Read a reply and put the tokens' confidence in."""
    reply = completion(pieces, text)
    return with_token_confidence(asked, read_reply(asked, reply), reply)


DECIDES: Alternatives = {"2": 0.6, "3": 0.2, "1": 0.1, "0": 0.05, "x": 0.05}
EARLIER: Alternatives = {"2": 0.001, "0": 0.999}


@pytest.mark.parametrize(
    ("asked", "pieces", "score", "probability", "mass"),
    [
        (
            prompt(),
            ["Score", ":", (" 2", {" 2": 0.6, " 1": 0.3, " maybe": 0.1})],
            2,
            0.6 / 0.9,
            0.9,
        ),
        (prompt(), ["Score: ", ("2", {"2": 0.5, " 2": 0.1, "**2": 0.1, "1": 0.3})], 2, 0.7, 1.0),
        (
            prompt(as_json=True),
            [
                '{"evidence":"',
                "Score: ",
                ("2", EARLIER),
                '", "',
                'score": ',
                ("2", DECIDES),
                ', "confidence":0.',
                "2}",
            ],
            2,
            0.8 / 0.95,
            0.95,
        ),
        (
            prompt(as_json=True),
            [
                '{"score":"',
                ("2", DECIDES),
                '","evidence":"2 of 2", "confidence":',
                "0",
                ".",
                ("2", EARLIER),
                "}",
            ],
            2,
            0.8 / 0.95,
            0.95,
        ),
        (
            prompt(),
            ["Score: ", ("2", EARLIER), "\nNo.\nScore: ", ("2", DECIDES), "\nConfidence: 0.", "2"],
            2,
            16 / 19,
            0.95,
        ),
        (prompt(), ["Score: ", ("1", {"1": 0.9, "2": 0.1}), ".", "0"], 1, 0.1, 1.0),
        (
            prompt(BINARY),
            [("Yes", {"Yes": 0.7, " yes": 0.1, "No": 0.1, "Maybe": 0.1})],
            1,
            8 / 9,
            0.9,
        ),
        (prompt(BINARY), ["Score:", (" No", {" No": 0.9, " Yes": 0.1})], 0, 0.1, 1.0),
        (
            prompt(BINARY, as_json=True),
            ['{"score":', ("true", {"true": 0.8, "false": 0.2}), "}"],
            1,
            0.8,
            1.0,
        ),
        (prompt(TEN), ["Score: ", ("10", {"10": 0.6, "1": 0.3, "9": 0.1})], 10, 0.7, 1.0),
        (prompt(TEN), ["Score: ", ("9", {"9": 0.6, "1": 0.3, "2": 0.1})], 9, 0.6 / 0.7, 0.7),
        (
            prompt(SUPPORT),
            ["Score: ", ("Part", {"Part": 0.5, "Not": 0.3, "F": 0.2}), "ially", " supported"],
            1,
            0.5,
            1.0,
        ),
    ],
)
def test_the_deciding_token_gives_the_confidence(
    asked: JudgePrompt, pieces: list[Piece], score: float, probability: float, mass: float
) -> None:
    """Worked by hand: shares of the grades at the token that decided, whatever else looks like
    it.
    """
    answer = tok(asked, pieces)
    assert isinstance(answer, Verdict)
    assert answer.score == score
    assert answer.probability == pytest.approx(probability)
    assert answer.mass == pytest.approx(mass)


@pytest.mark.parametrize(
    ("asked", "pieces", "detail"),
    [
        (
            prompt(TEN),
            ["Score: ", ("1", {"1": 0.9, "2": 0.1}), ("0", {"0": 0.9, ".": 0.1})],
            "spans several tokens",
        ),
        (
            prompt(),
            ["Score: ", ("2", {"2": 0.2, "two": 0.5, "1": 0.1})],
            "only 0.300 of the probability",
        ),
        (prompt(), ["Score: ", ("2", {"2": 1.0})], "no alternatives"),
        (prompt(), [("Score: 2", DECIDES)], "no token"),
    ],
)
def test_a_row_without_a_usable_token_is_unscored_with_the_reason(
    asked: JudgePrompt, pieces: list[Piece], detail: str
) -> None:
    """It is never given the stated confidence, nor certainty."""
    answer = tok(asked, pieces)
    assert isinstance(answer, Unscored)
    assert answer.reason == "logprobs"
    assert detail in answer.detail


@pytest.mark.parametrize(
    "pieces",
    [
        ["<think>", "Score: ", ("2", EARLIER), "</think>", "Score: ", ("2", DECIDES), "</s>"],
        ["Score: ", ("2", EARLIER), " caf", "\ufffd", "\ufffd", "\nScore: ", ("2", DECIDES)],
    ],
)
def test_tokens_that_are_not_in_the_text_do_not_shift_the_place(pieces: list[Piece]) -> None:
    """Thinking and end marks that the endpoint cut off, and letters in pieces, are passed over."""
    text = "Score: 2" if "<think>" in pieces else "Score: 2 café\nScore: 2"
    answer = tok(prompt(), pieces, text)
    assert isinstance(answer, Verdict)
    assert answer.probability == pytest.approx(0.8 / 0.95)


def test_an_unreadable_reply_keeps_its_own_reason() -> None:
    """Tokens do not turn a reply without a verdict into one."""
    assert isinstance(answer := tok(prompt(), ["I ", "think", (" 2", DECIDES), " or 3"]), Unscored)
    assert answer.reason == "parse"


@given(
    shares=st.lists(st.floats(0.001, 1.0), min_size=4, max_size=4),
    other=st.floats(0.0, 0.9),
    score=st.integers(0, 3),
    threshold=st.integers(1, 3),
)
def test_shares_are_renormalised_over_the_grades(
    shares: list[float], other: float, score: int, threshold: int
) -> None:
    """P(positive) is the grades' own share from the threshold up; the confidence is that in the
    decision.
    """
    scaled = [share / sum(shares) * (1 - other) for share in shares]
    asked = prompt(OutputScale(threshold=threshold))
    answer = tok(
        asked,
        ["Score: ", (str(score), {**{str(g): p for g, p in enumerate(scaled)}, "and": other})],
    )
    if sum(scaled) < 0.499:
        assert isinstance(answer, Unscored)
    elif sum(scaled) > 0.501:
        assert isinstance(answer, Verdict)
        assert answer.probability == pytest.approx(sum(scaled[threshold:]) / sum(scaled))
        assert answer.mass == pytest.approx(1 - other)
        confidence = answer.probability if score >= threshold else 1 - answer.probability  # type: ignore[operator]
        assert answer.confidence == pytest.approx(confidence)


@settings(max_examples=60)
@given(
    text=st.text('0123 {}":,.\nScore', max_size=40),
    cuts=st.lists(st.integers(1, 4), min_size=40, max_size=40),
)
def test_no_reply_crashes_and_none_is_certain_by_silence(text: str, cuts: list[int]) -> None:
    """Any text cut anywhere gives a verdict with a confidence and its mass, or the reason why
    not.
    """
    pieces: list[Piece] = []
    at = 0
    for cut in cuts:
        if text[at : at + cut]:
            pieces.append((text[at : at + cut], {text[at : at + cut]: 0.7, "1": 0.1, "3": 0.1}))
        at += cut
    answer = tok(prompt(), pieces, text)
    if isinstance(answer, Verdict):
        assert answer.confidence is not None
        assert answer.mass is not None
        assert 0 <= answer.confidence <= 1
        assert answer.mass >= 0.5


# The whole path: simulated, over HTTP, refused.


def rows(n: int = 12) -> Dataset:
    """Rows for the groundedness judge, some supported and some not."""
    facts = [
        "The pier closes at eight.",
        "The pier closes at nine.",
        "Boats may stay until spring.",
        "It is blue.",
    ]
    source = "The pier closes at eight in the evening. Boats may stay until the spring tide."
    made = [
        Row(
            id=f"r{i}",
            inputs={"source": f"Notice {i}. {source}", "statement": facts[i % 4]},
            label=float(i % 2),
        )
        for i in range(n)
    ]
    return Dataset.of(made, labels=BINARY, name="rows")


def test_the_simulated_judges_shares_come_through() -> None:
    """For each row, the confidence is what its one token with four alternatives says."""
    with Client(Simulated()) as client:
        judged = judge(GROUNDEDNESS, rows(), client, settings=TOK)
        asked = judge(GROUNDEDNESS, rows(), client)
        replies = client.ask(
            [judge_request(GROUNDEDNESS, row, settings=TOK) for row in rows().rows]
        )
    assert judged.unscored == {}
    for verdict, reply in zip(judged.verdicts, replies, strict=True):
        assert isinstance(reply, Completion)
        (token,) = [t for t in reply.logprobs if len(t.top) == 4]
        shares = {int(name): math.exp(p) for name, p in token.top}
        assert verdict.probability == pytest.approx((shares[2] + shares[3]) / sum(shares.values()))
    assert [v.score for v in judged.verdicts] == [v.score for v in asked.verdicts]
    assert [v.confidence for v in judged.verdicts] != [v.confidence for v in asked.verdicts]


def test_an_endpoint_that_gives_logprobs_gives_the_same_confidence_over_http() -> None:
    """The wire loses nothing."""
    with Client(Simulated()) as client:
        here = judge(GROUNDEDNESS, rows(), client, settings=TOK)
    with (
        Server(make_app(Simulated())) as server,
        Client(Endpoint(name="s", base_url=server.base_url, api_key=None)) as client,
    ):
        there = judge(GROUNDEDNESS, rows(), client, settings=TOK)
    assert [v.confidence for v in there.verdicts] == pytest.approx(
        [v.confidence for v in here.verdicts]
    )
    assert there.simulated


def test_an_endpoint_that_refuses_logprobs_is_refused_after_one_row() -> None:
    """No other row is paid for, and the hint names the way out."""
    with (
        Server(make_app(Simulated(), Faults(refuse=frozenset({"logprobs"})))) as server,
        Client(Endpoint(name="s", base_url=server.base_url, api_key=None)) as client,
    ):
        with pytest.raises(ModelError, match="refuses token log-probabilities") as refused:
            judge(GROUNDEDNESS, rows(), client, settings=TOK)
        assert client.stats.calls == 1
        assert judge(GROUNDEDNESS, rows(), client).unscored == {}
    assert refused.value.hint is not None
    assert "--confidence ask" in refused.value.hint


class Silent(Simulated):
    """A model that takes the parameter and ignores it."""

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Answer without log-probabilities."""
        return replace(
            await super().complete(request, unsupported_parameters=unsupported_parameters),
            logprobs=(),
        )


def test_an_endpoint_that_silently_drops_logprobs_is_refused_too() -> None:
    """An empty answer to the question is a no."""
    with Client(Silent()) as client:
        with pytest.raises(ModelError, match="gives no token log-probabilities"):
            judge(GROUNDEDNESS, rows(), client, settings=TOK)
        assert client.stats.calls == 1


def test_a_judge_without_grades_has_no_tok_confidence() -> None:
    """A probability is no grade; nothing is asked."""
    asked = replace(GROUNDEDNESS, scale=OutputScale(kind="probability", threshold=0.5))
    with Client(Simulated()) as client:
        with pytest.raises(InputError, match="no grades"):
            judge(asked, rows(), client, settings=TOK)
        assert client.stats.requests == 0


def test_log_probabilities_are_asked_for_tok_alone() -> None:
    """So that requests made before have the key they had."""
    row = rows().rows[0]
    assert judge_request(GROUNDEDNESS, row, settings=JudgeSettings()).top_logprobs is None
    assert judge_request(GROUNDEDNESS, row, settings=TOK).top_logprobs == 20
