"""Splitting responses into claims: sentences, a model's claims, and the trivial ones."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import InputError, Unfilled
from judgewright.judges.claims import Splitter, Trivial, split_responses, split_sentences
from judgewright.judges.models import Client, Completion, Request
from judgewright.judges.simulated import Simulated


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


def test_a_claim_with_its_pronoun_resolved_has_not_strayed() -> None:
    """A claim may put a name for a pronoun; then its sentence is covered and not added again."""
    (found,) = split(Scripted(claims("Ada Brown was born in Leeds.")), "She was born in Leeds.")
    assert not isinstance(found, Unfilled)
    assert [(c.text, c.strayed) for c in found] == [("Ada Brown was born in Leeds.", False)]


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


def test_a_retired_way_to_find_trivial_claims_says_what_to_type() -> None:
    """A run of an earlier version may still name it."""
    with Client(Scripted(claims())) as client, pytest.raises(InputError) as caught:
        split_responses(["Cats purr."], client, trivial="rule")  # type: ignore[arg-type]
    assert caught.value.hint == "give --trivial model, or none"


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
