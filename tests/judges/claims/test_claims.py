"""Groundedness claim by claim: what is judged, what is shown, and what the verdict hangs on."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import (
    BINARY,
    Answer,
    Dataset,
    InputError,
    OutputScale,
    PromptError,
    Registry,
    Row,
    Unfilled,
    Unscored,
    Verdict,
)
from judgewright.judges.claims import (
    ClaimSettings,
    Splitter,
    Trivial,
    join_claims,
    judge_claims,
    split_responses,
    split_sentences,
)
from judgewright.judges.models import Client, Completion, Request
from judgewright.judges.simulated import Simulated

PROMPT = Registry().get("groundedness")
SOURCE = (
    "The town council of Brenk voted on Monday to close the old harbour. Mayor Ilse Tamm said that"
    " the harbour lost 40 jobs in 2019. The ferry to Osmark will sail from the new pier. Fishing"
    " boats may stay until the spring."
)
GOOD = "The ferry to Osmark will sail from the new pier. Fishing boats may stay until the spring."
MIXED = (
    "The ferry to Osmark will sail from the new pier. Penguins in Antarctica eat 700 krill every"
    " morning."
)


def dataset(*statements: str, label: float | None = None) -> Dataset:
    """Rows with the same source and these statements."""
    rows = [
        Row(id=f"r{i}", inputs={"source": SOURCE, "statement": text}, label=label)
        for i, text in enumerate(statements)
    ]
    return Dataset.of(rows, labels=BINARY)


class Watched(Simulated):
    """The simulated model, which remembers what it was asked and may refuse claims with a word in
    them.
    """

    def __init__(self, refuse: str = "\0") -> None:
        super().__init__()
        self.refuse = refuse
        self.judged: list[str] = []

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Answer, or refuse."""
        if request.messages[0].content.startswith("You judge"):
            self.judged.append(request.messages[-1].content)
            if self.refuse in request.messages[-1].content:
                return Completion(text="", refusal="I would rather not")
        return await super().complete(request, unsupported_parameters=unsupported_parameters)


def test_every_claim_is_judged_against_the_whole_source_and_the_lowest_decides() -> None:
    """Each request holds the source in full and one claim; the invented one makes the response
    unsupported.
    """
    model = Watched()
    with Client(model) as client:
        found = judge_claims(PROMPT, dataset(GOOD, MIXED), client)
    assert len(model.judged) == 3  # the sentence that both responses share is asked about once
    assert all(SOURCE in asked and "old pier" not in asked for asked in model.judged)
    good, mixed = found.responses
    assert isinstance(good.answer, Verdict)
    assert isinstance(mixed.answer, Verdict)
    assert (good.answer.positive, mixed.answer.positive) == (True, False)
    assert mixed.deciding == 1
    assert mixed.claims[1].text.startswith("Penguins")
    assert found.judged.answers == (good.answer, mixed.answer)
    assert found.judged.simulated
    assert found.counts == {
        "responses": 2,
        "claims": 4,
        "trivial": 0,
        "strayed": 0,
        "supported": 3,
        "unsupported": 1,
        "unscored": 0,
    }


def test_the_description_shows_each_claim_its_evidence_its_verdict_and_the_aggregate() -> None:
    """For people as lines, for programs as JSON; both say what decides."""
    with Client(Simulated()) as client:
        found = judge_claims(PROMPT, dataset(MIXED), client)
    text, body = found.describe(), json.loads(json.dumps(found.to_json()))
    assert text.startswith("SIMULATED: 1 responses, 2 claims")
    assert "r0: NOT supported" in text
    assert "1 of 2 judged claims supported" in text
    assert text.index("1. The ferry to Osmark") < text.index("2. Penguins")
    assert (
        'evidence: support of the statement by the source | "The ferry to Osmark will sail' in text
    )
    assert text.count("<- decides") == 1
    (response,) = body["responses"]
    assert (response["supported"], response["deciding"]) == (False, 1)
    assert [claim["supported"] for claim in response["claims"]] == [True, False]
    assert all(claim["evidence"] for claim in response["claims"])


def test_trivial_claims_are_not_judged_and_do_not_drag_a_response_down() -> None:
    """Small talk finds no support in any source."""
    chatty = f"Sure, I can help you with that! {GOOD} I hope this helps!"
    model = Watched()
    with Client(model) as client:
        found = judge_claims(PROMPT, dataset(chatty), client)
        kept = judge_claims(PROMPT, dataset(chatty), client, ClaimSettings(trivial="none"))
    assert [claim.trivial for claim in found.responses[0].claims] == [True, False, False, True]
    (with_talk,), (without,) = kept.judged.answers, found.judged.answers
    assert isinstance(with_talk, Verdict)
    assert isinstance(without, Verdict)
    assert (with_talk.positive, without.positive) == (False, True)
    assert sum("hope this helps" in asked for asked in model.judged) == 1  # by the second run alone


def test_a_response_that_asserts_nothing_is_fully_supported_and_says_so() -> None:
    """By convention, with the reason in the rationale; no confidence is made up."""
    with Client(Simulated()) as client:
        answer = judge_claims(PROMPT, dataset("I hope this helps! Sure!"), client).judged.answers[0]
    assert isinstance(answer, Verdict)
    assert (answer.score, answer.positive, answer.confidence) == (3.0, True, None)
    assert "none of the 2 claims asserts anything" in answer.rationale


def test_an_empty_response_and_a_failed_split_are_unscored() -> None:
    """Neither is wrong and neither is supported."""

    class Mute(Simulated):
        """Says nothing to whoever asks for claims."""

        async def complete(
            self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
        ) -> Completion:
            """Answer once."""
            if request.messages[0].content.startswith("You split"):
                return Completion(text="...")
            return await super().complete(request, unsupported_parameters=unsupported_parameters)

    with Client(Mute()) as client:
        empty, whole = judge_claims(
            PROMPT, dataset("  ", GOOD), client, ClaimSettings(splitter="model")
        ).judged.answers
    assert isinstance(empty, Unscored)
    assert "no text" in empty.detail
    assert isinstance(whole, Unscored)
    assert "not split into claims" in whole.detail


def test_a_refused_claim_leaves_its_response_unscored_unless_another_decides() -> None:
    """And changes nothing about the response beside it."""
    with Client(Simulated()) as client:
        before = judge_claims(
            PROMPT, dataset(GOOD, MIXED, "The ferry will sail."), client
        ).judged.answers
    with Client(Watched(refuse="Osmark will sail from the new pier.\n</statement")) as client:
        good, mixed, other = judge_claims(
            PROMPT, dataset(GOOD, MIXED, "The ferry will sail."), client
        ).judged.answers
    assert isinstance(good, Unscored)
    assert good.reason == "refused"
    assert isinstance(mixed, Verdict)
    assert not mixed.positive
    assert other == before[2]


def test_what_cannot_be_split_is_refused_before_anything_is_asked() -> None:
    """An unknown field, a row without it, labels without an order."""
    choice = replace(PROMPT, scale=OutputScale(kind="choice", labels=("a", "b")))
    with Client(Simulated()) as client:
        with pytest.raises(InputError, match="a, b have no order"):
            judge_claims(choice, dataset(GOOD), client)
        with pytest.raises(InputError, match="no input 'statement' to split"):
            judge_claims(Registry().get("context_relevance"), dataset(GOOD), client)
        bare = Dataset.of([Row(id="x", inputs={"source": SOURCE})], labels=BINARY)
        with pytest.raises(PromptError, match="row 'x' has no field 'statement'"):
            judge_claims(PROMPT, bare, client)
        assert client.stats.requests == 0


def claim(score: float | None, confidence: float | None = None) -> tuple[str, Answer]:
    """A claim with a score, or unscored without one."""
    if score is None:
        return "c", Unscored(row_id="c", reason="endpoint", detail="down", tokens_in=3)
    verdict = Verdict(
        row_id="c",
        score=score,
        positive=OutputScale().positive(score),
        confidence=confidence,
        tokens_in=3,
        cost=0.5,
    )
    return "c", verdict


def test_the_lowest_claim_decides_and_lends_its_confidence() -> None:
    """One unsupported claim among supported ones makes the response unsupported."""
    joined = join_claims("r", [claim(3, 0.9), ("t", None), claim(0, 0.8), claim(2, 0.7)])
    assert isinstance(joined.answer, Verdict)
    assert (joined.answer.score, joined.answer.positive, joined.answer.confidence) == (
        0.0,
        False,
        0.8,
    )
    assert joined.deciding == 2
    assert "2 of 3 judged claims supported, 1 not judged" in joined.answer.rationale
    assert (joined.answer.tokens_in, joined.answer.cost) == (9, 1.5)


@pytest.mark.parametrize(("score", "deciding"), [(0, 1), (3, 0)])
def test_of_equal_grades_the_one_least_likely_supported_decides(
    score: float, deciding: int
) -> None:
    """The surest among unsupported claims, the least sure among supported ones."""
    joined = join_claims("r", [claim(score, 0.6), claim(score, 0.9)])
    assert joined.deciding == deciding


def test_an_unscored_claim_leaves_the_response_unscored_unless_it_is_decided() -> None:
    """An unsupported claim decides already, which the rationale says; supported ones do not."""
    decided = join_claims("r", [claim(None), claim(1)]).answer
    assert isinstance(decided, Verdict)
    assert not decided.positive
    assert "1 without a verdict could only lower it" in decided.rationale
    assert decided.cost is None
    for claims in ([claim(3), claim(None)], [claim(None)]):
        open_one = join_claims("r", claims).answer
        assert isinstance(open_one, Unscored)
        assert open_one.reason == "endpoint"
        assert "have no verdict" in open_one.detail


class Scripted:
    """Answers split requests and trivial requests each with what a function makes of the user
    message.
    """

    name, endpoint, simulated = "scripted", "https://scripted.invalid/v1", False

    def __init__(self, claims: Callable[[str], str], trivial: str = '{"trivial": []}') -> None:
        self.claims, self.trivial = claims, trivial

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Answer once."""
        splitting = request.messages[0].content.startswith("You split")
        return Completion(
            text=self.claims(request.messages[-1].content) if splitting else self.trivial
        )

    async def close(self) -> None:
        """Hold nothing open."""


def claims(*texts: str) -> Callable[[str], str]:
    """Answer every split request with these claims."""
    return lambda user: json.dumps({"claims": texts})


def split(
    model: Scripted | Simulated,
    *responses: str,
    splitter: Splitter = "model",
    trivial: Trivial = "none",
):
    """Split responses with a model."""
    with Client(model) as client:
        return split_responses(responses, client, splitter=splitter, trivial=trivial)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", ()),
        (" \n\t\n", ()),
        ("...\n---\n* \n", ()),
        ("Cats purr", ("Cats purr",)),
        (
            "Dr. Smith met Mr. Lee at 5 p.m. on Monday. They ate.",
            ("Dr. Smith met Mr. Lee at 5 p.m. on Monday.", "They ate."),
        ),
        (
            'She said "I know. It is late." Then she left.',
            ('She said "I know. It is late."', "Then she left."),
        ),
        ("It weighs 3.5 kg. It costs $1.20.", ("It weighs 3.5 kg.", "It costs $1.20.")),
        (
            "Steps:\n- Mix. Stir well.\n- Bake\n2) Eat",
            ("Steps:", "Mix.", "Stir well.", "Bake", "Eat"),
        ),
        (
            "# Title\r\nThe first\nline goes on.\n\nnew one",
            ("Title", "The first line goes on.", "new one"),
        ),
        ("你好。我不知道。", ("你好。", "我不知道。")),
    ],
)
def test_text_is_split_into_sentences_lines_and_list_items(
    text: str, sentences: tuple[str, ...]
) -> None:
    """Abbreviations and decimals end nothing; bullets go; wrapped lines are joined; quotations stay
    whole.
    """
    assert split_sentences(text) == sentences


@given(text=st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
@settings(max_examples=200, deadline=None)
def test_splitting_loses_no_letter(text: str) -> None:
    """What stands in letters in the text stands in its sentences, in order, but for numbers and
    letters of bullets.
    """
    letters = [c for c in text if c.isalpha() and not c.isascii()]
    kept = [c for c in "".join(split_sentences(text)) if c.isalpha() and not c.isascii()]
    assert kept == letters


def test_a_models_claims_are_held_against_the_response() -> None:
    """A claim the response does not make has strayed; a sentence that no claim covers becomes
    one.
    """
    response = "The bridge opened in 1932. It is painted grey every ten years by a crew of forty."
    (found,) = split(
        Scripted(
            claims("The bridge opened in 1932.", "Napoleon wept bitterly over lost elephants.")
        ),
        response,
    )
    assert not isinstance(found, Unfilled)
    assert [(c.text[:20], c.strayed) for c in found] == [
        ("The bridge opened in", False),
        ("Napoleon wept bitter", True),
        ("It is painted grey e", False),
    ]


def test_a_failed_split_is_a_reason_and_never_falls_back_to_sentences() -> None:
    """The response whose reply cannot be read is `Unfilled`; the one beside it is split."""
    model = Scripted(
        lambda user: "I would rather not" if "Odd" in user else '{"claims": ["Cats purr."]}'
    )
    odd, good, empty = split(model, "Odd one. And more.", "Cats purr.", "  ")
    assert isinstance(odd, Unfilled)
    assert odd.reason == "parse"
    assert odd.detail.startswith("not split into claims")
    assert not isinstance(good, Unfilled)
    assert [c.text for c in good] == ["Cats purr."]
    assert empty == ()


@pytest.mark.parametrize("reply", ['{"trivial": [3]}', '{"trivial": [0]}', "none of them"])
def test_an_unreadable_word_on_triviality_is_a_reason(reply: str) -> None:
    """A number that no claim has is no answer either."""
    (found,) = split(
        Scripted(claims("a"), reply), "Hello. Cats purr.", splitter="sentence", trivial="model"
    )
    assert isinstance(found, Unfilled)
    assert found.detail.startswith("trivial claims were not told apart")


def test_a_retired_way_to_find_trivial_claims_says_so() -> None:
    """A run of an earlier version may still name it."""
    with Client(Scripted(claims())) as client, pytest.raises(InputError) as caught:
        split_responses(["Cats purr."], client, trivial="rule")  # type: ignore[arg-type]
    assert caught.value.hint == "start the run again"


def test_an_enormous_response_is_a_reason_and_costs_nothing() -> None:
    """Too many characters or too many claims; the response beside it is split."""
    with Client(Scripted(claims())) as client:
        many, long, good = split_responses(
            ["Cats purr. " * 501, "x" * 500_000, "Cats purr."], client, trivial="none"
        )
    assert isinstance(many, Unfilled)
    assert (many.reason, many.detail) == ("oversized", "501 claims, the limit is 500")
    assert isinstance(long, Unfilled)
    assert long.reason == "oversized"
    assert not isinstance(good, Unfilled)
