"""A response taken apart into claims: by a sentence tokenizer or by a model, and the trivial ones picked out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..instruction import ASKING, Filled, Unfilled, ask_instruction, load_instruction, number_lines
from ..judge import JudgeSettings
from ..models.client import Client, Progress

Splitter = Literal["sentence", "model"]
Trivial = Literal["none", "rule", "model"]

MOST_CLAIMS = 500
"""Claims of one response; one with more is not judged, because each of them costs a call with the whole source."""
NEAR = 0.5
"""Share of a claim's words that must stand in the response, and of a sentence's words that its claims must have."""

_BULLET = re.compile(r"^\s*(?:[-*•‣◦–—]|\(?\d{1,3}[.)]|\(?[a-z]\)|#{1,6})\s+")
_HEADING = re.compile(r"[^.!?]{0,80}:")
_WORD = re.compile(r"[^\W_]+")
_TALK = re.compile(
    r"(?:sure|certainly|of course|absolutely|great question|hello|hi|thank(?:s| you)\b.{0,40}"
    r"|(?:i )?hope (?:this|that|it) helps?.{0,20}|(?:please )?let me know\b.{0,80}|(?:please )?feel free to\b.{0,80}"
    r"|(?:sure|certainly|of course|absolutely|okay|ok)?[,!.]? ?(?:here|below) (?:is|are)\b.{0,80}:)[.!]?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitClaim:
    """One claim of a response before it is judged."""

    text: str
    trivial: bool = False
    """Whether it asserts nothing; such a claim is not judged."""
    strayed: bool = False
    """Whether a model's claim says what the response does not; such a claim is shown and not judged."""


Split = tuple[SplitClaim, ...] | Unfilled


def split_sentences(text: str, *, language: str = "en") -> tuple[str, ...]:
    """Split a text into sentences; nothing for a text without a letter or digit.

    Lines are split first: a list item, a heading and a paragraph each stand alone, and lose their bullet or number.
    A line that goes on in lower case was wrapped and is joined to the one before. A quotation keeps its sentences
    together.

    Args:
        text: The response.
        language: An ISO 639 code, for the abbreviations that end no sentence.
    """
    from sentencex import segment  # pyright: ignore[reportAttributeAccessIssue]  # compiled, without stubs

    found = (sentence.strip() for line in _lines(text) for sentence in segment(language, line))
    return tuple(sentence for sentence in found if _WORD.search(sentence))


def _lines(text: str) -> list[str]:
    lines: list[str] = []
    fresh = True
    for raw in text.splitlines():
        line = _BULLET.sub("", raw).strip()
        wrapped = not fresh and line == raw.strip() and line[:1].islower()
        if wrapped and lines:
            lines[-1] = f"{lines[-1]} {line}"
        elif line:
            lines.append(line)
        fresh = not line
    return lines


def split_responses(
    responses: Sequence[str],
    client: Client,
    *,
    splitter: Splitter = "sentence",
    trivial: Trivial = "model",
    settings: JudgeSettings = ASKING,
    progress: Callable[[Progress], None] | None = None,
) -> list[Split]:
    """Split responses into claims and mark those that are trivial.

    A response whose request failed, or that has more than `MOST_CLAIMS`, is `Unfilled`; it never falls back to another
    way of splitting.

    Args:
        responses: The texts.
        client: Asked once a response for `splitter="model"`, and once more for `trivial="model"`.
        splitter: By sentence tokenizer, or by a model, whose claims are held against the response: one of which less
            than half of the words stand there has strayed, and a sentence that its claims do not cover is added
            as a claim of its own.
        trivial: Who says which claims assert nothing: nobody, a short list of English formulas, or a model.
        settings: Sampling and limits.
        progress: Called while answers come in.
    """
    if splitter == "sentence":
        found = [_by_sentence(text, settings.max_chars) for text in responses]
    else:
        found = _split_by_model(responses, client, settings, progress)
    found = [_within_reason(split) for split in found]
    if trivial == "rule":
        return [split if isinstance(split, Unfilled) else _marked(split, _formulas(split)) for split in found]
    return _mark_by_model(found, client, settings, progress) if trivial == "model" else found


def _by_sentence(text: str, most: int) -> Split:
    if len(text) > most:
        return Unfilled(reason="oversized", detail=f"{len(text):,} characters, the limit is {most:,}")
    return tuple(SplitClaim(text=sentence) for sentence in split_sentences(text))


def _within_reason(split: Split) -> Split:
    if isinstance(split, Unfilled) or len(split) <= MOST_CLAIMS:
        return split
    return Unfilled(reason="oversized", detail=f"{len(split):,} claims, the limit is {MOST_CLAIMS}")


def _split_by_model(
    responses: Sequence[str], client: Client, settings: JudgeSettings, progress: Callable[[Progress], None] | None
) -> list[Split]:
    some = [i for i, text in enumerate(responses) if _WORD.search(text)]
    items = [{"response": responses[i]} for i in some]
    answers = ask_instruction(load_instruction("split_claims"), items, client, settings=settings, progress=progress)
    found: list[Split] = [()] * len(responses)
    for i, answer in zip(some, answers, strict=True):
        found[i] = _held(responses[i], answer)
    return found


def _held(response: str, answer: Filled | Unfilled) -> Split:
    """Hold a model's claims against the response, and add the sentences that it passed over."""
    if isinstance(answer, Unfilled):
        return replace(answer, detail=f"not split into claims: {answer.detail}")
    said = _words(response)
    texts = [" ".join(text.split()) for text in answer.texts("claims") if _WORD.search(text)]
    claims = [SplitClaim(text=text, strayed=_share(_words(text), said) < NEAR) for text in texts]
    covered = {word for claim in claims if not claim.strayed for word in _words(claim.text)}
    passed = [s for s in split_sentences(response) if _share(_words(s), covered) < NEAR]
    return (*claims, *(SplitClaim(text=sentence) for sentence in passed))


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def _share(of: set[str], among: set[str]) -> float:
    return len(of & among) / len(of) if of else 1.0


def _mark_by_model(
    found: list[Split], client: Client, settings: JudgeSettings, progress: Callable[[Progress], None] | None
) -> list[Split]:
    asked = [i for i, split in enumerate(found) if not isinstance(split, Unfilled) and split]
    items = [{"claims": number_lines([claim.text for claim in _claims(found[i])])} for i in asked]
    answers = ask_instruction(load_instruction("trivial_claims"), items, client, settings=settings, progress=progress)
    out = list(found)
    for i, answer in zip(asked, answers, strict=True):
        out[i] = _told_apart(_claims(found[i]), answer)
    return out


def _told_apart(claims: tuple[SplitClaim, ...], answer: Filled | Unfilled) -> Split:
    if isinstance(answer, Unfilled):
        return replace(answer, detail=f"trivial claims were not told apart: {answer.detail}")
    numbers = set(answer.numbers("trivial"))
    if strange := sorted(numbers - set(range(1, len(claims) + 1))):
        detail = f"trivial claims were not told apart: the reply names claim {strange[0]} of {len(claims)}"
        return Unfilled(reason="parse", detail=detail)
    return _marked(claims, {number - 1 for number in numbers})


def _claims(split: Split) -> tuple[SplitClaim, ...]:
    assert not isinstance(split, Unfilled)
    return split


def _marked(claims: tuple[SplitClaim, ...], trivial: set[int]) -> tuple[SplitClaim, ...]:
    return tuple(replace(claim, trivial=i in trivial) for i, claim in enumerate(claims))


def _formulas(claims: tuple[SplitClaim, ...]) -> set[int]:
    """Positions of the claims that are a question, a heading or a turn of phrase of the conversation."""
    texts = [claim.text.strip() for claim in claims]
    return {i for i, t in enumerate(texts) if t.endswith("?") or _TALK.fullmatch(t) or _HEADING.fullmatch(t)}
