"""Groundedness claim by claim: what is judged, what is shown, and what the verdict hangs on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from judgewright.judges import (
    BINARY,
    Dataset,
    InputError,
    PromptError,
    Registry,
    Row,
    Unscored,
    Verdict,
)
from judgewright.judges.claims import ClaimSettings, judge_claims
from judgewright.judges.files import load_dataset
from judgewright.judges.metrics import measure
from judgewright.judges.models import Client, Completion, Request
from judgewright.judges.simulated import Simulated

DATA = Path(__file__).resolve().parents[3] / "../shared/data"
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


def test_an_abstaining_response_counts_as_grounded() -> None:
    """The judge's criteria say so for the claim."""
    with Client(Simulated()) as client:
        judged = judge_claims(PROMPT, dataset("I do not know the answer."), client)
    assert isinstance(judged.judged.answers[0], Verdict)
    assert judged.judged.answers[0].positive
    assert "abstention" in judged.responses[0].claims[0].evidence


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
    """An unknown field, and a row without it."""
    with Client(Simulated()) as client:
        with pytest.raises(InputError, match="no input 'answer' to split"):
            judge_claims(PROMPT, dataset(GOOD), client, field="answer")
        bare = Dataset.of([Row(id="x", inputs={"source": SOURCE})], labels=BINARY)
        with pytest.raises(PromptError, match="row 'x' has no field 'statement'"):
            judge_claims(PROMPT, bare, client)
        assert client.stats.requests == 0


@pytest.mark.skipif(not DATA.exists(), reason="the shared data are not beside the checkout")
def test_real_responses_are_judged_by_claim_in_every_way() -> None:
    """Forty RAGTruth answers, split both ways and joined three ways, give a benchmark; a minimum is
    never kinder.
    """
    rows = load_dataset(
        DATA / "groundedness_ragtruth_qa_response.jsonl",
        inputs=PROMPT.inputs,
        scale=PROMPT.scale,
        limit=40,
    )
    with Client(Simulated()) as client:
        for splitter in ("sentence", "model"):
            tables = {
                how: judge_claims(
                    PROMPT,
                    rows,
                    client,
                    ClaimSettings(splitter=splitter, trivial="none", aggregate=how),  # type: ignore[arg-type]
                ).judged
                for how in ("min", "mean", "share")
            }
            assert all(measure(table, resamples=50).n > 30 for table in tables.values())
            assert tables["min"].predicted.tolist() == tables["share"].predicted.tolist()
            assert (tables["min"].score / 3 <= tables["mean"].score + 1e-9).all()
