"""Split a response into claims, by a sentence tokenizer or by a model, and mark those that assert
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..errors import InputError
from ..instruction import ASKING, Filled, Unfilled, ask_instruction, load_instruction, number_lines
from ..judge import JudgeSettings
from ..models.client import Client
from ..models.counters import Progress

Splitter = Literal["sentence", "model"]
Trivial = Literal["none", "model"]

MOST_CLAIMS = 500
"""Claims of one response; one with more is not judged, because each of them costs a call with the
whole source.
"""
NEAR = 0.5
"""Share of a claim's words that must stand in the response, and of a sentence's words that its
claims must have."""

_BULLET = re.compile(r"^\s*(?:[-*•‣◦–—]|\(?\d{1,3}[.)]|\(?[a-z]\)|#{1,6})\s+")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitClaim:
    """One claim of a response before it is judged."""

    text: str
    trivial: bool = False
    """Whether it asserts nothing; such a claim is not judged."""
    strayed: bool = False
    """Whether a model's claim says what the response does not; such a claim is shown and not
    judged.
    """


Split = tuple[SplitClaim, ...] | Unfilled


def split_sentences(text: str) -> tuple[str, ...]:
    """Split a text into sentences; nothing for a text without a letter or digit.

    Lines are split first: a list item, a heading and a paragraph each stand alone, and lose their
    bullet or number. A line that goes on in lower case was wrapped and is joined to the one before.
    A quotation keeps its sentences together.

    The abbreviations that end no sentence are English ones.
    """
    from sentencex import segment  # pyright: ignore[reportAttributeAccessIssue]  # no stubs

    sentences: list[str] = []
    for line in _lines(text):
        sentences += [
            sentence.strip() for sentence in segment("en", line) if _WORD.search(sentence)
        ]
    return tuple(sentences)


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

    A response whose request failed, or that has more than `MOST_CLAIMS`, is `Unfilled`; it never
    falls back to another way of splitting.

    Args:
        responses: The texts.
        client: Asked once a response for `splitter="model"`, and once more for `trivial="model"`.
        splitter: By sentence tokenizer, or by a model, whose claims are held against the response:
            one of which less than half of the words stand there has strayed, and a sentence that
            its claims do not cover is added as a claim of its own.
        trivial: Who says which claims assert nothing: nobody, or a model.
        settings: Sampling and limits.
        progress: Called while answers come in.

    Raises:
        InputError: Nobody of that name says which claims are trivial.
    """
    if trivial not in ("model", "none"):
        raise InputError(
            f"{trivial!r} no longer says which claims are trivial; a model does, or nobody",
            hint="start the run again",
        )
    if splitter == "sentence":
        splits = [_by_sentence(text, settings.max_chars) for text in responses]
    else:
        splits = _by_model(responses, client, settings, progress)
    splits = [_within_limit(split) for split in splits]
    if trivial == "model":
        return _mark_by_model(splits, client, settings, progress)
    return splits


def _by_sentence(text: str, max_chars: int) -> Split:
    if len(text) > max_chars:
        detail = f"{len(text):,} characters, the limit is {max_chars:,}"
        return Unfilled(reason="oversized", detail=detail)
    return tuple(SplitClaim(text=sentence) for sentence in split_sentences(text))


def _by_model(
    responses: Sequence[str],
    client: Client,
    settings: JudgeSettings,
    progress: Callable[[Progress], None] | None,
) -> list[Split]:
    with_text = [i for i, text in enumerate(responses) if _WORD.search(text)]
    items = [{"response": responses[i]} for i in with_text]
    answers = ask_instruction(
        load_instruction("split_claims"), items, client, settings=settings, progress=progress
    )
    splits: list[Split] = [()] * len(responses)
    for i, answer in zip(with_text, answers, strict=True):
        splits[i] = _compared(responses[i], answer)
    return splits


def _within_limit(split: Split) -> Split:
    if isinstance(split, Unfilled) or len(split) <= MOST_CLAIMS:
        return split
    detail = f"{len(split):,} claims, the limit is {MOST_CLAIMS}"
    return Unfilled(reason="oversized", detail=detail)


def _compared(response: str, answer: Filled | Unfilled) -> Split:
    """Compare a model's claims with the response, and add the sentences that they do not cover."""
    if isinstance(answer, Unfilled):
        return replace(answer, detail=f"not split into claims: {answer.detail}")
    response_words = _words(response)
    claims: list[SplitClaim] = []
    covered: set[str] = set()
    for text in answer.texts("claims"):
        if not _WORD.search(text):
            continue
        words = _words(text)
        strayed = _share(words, response_words) < NEAR
        claims.append(SplitClaim(text=" ".join(text.split()), strayed=strayed))
        # What the model made up covers nothing of the response.
        if not strayed:
            covered |= words
    for sentence in split_sentences(response):
        if _share(_words(sentence), covered) < NEAR:
            claims.append(SplitClaim(text=sentence))
    return tuple(claims)


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def _share(of: set[str], among: set[str]) -> float:
    return len(of & among) / len(of) if of else 1.0


def _mark_by_model(
    splits: list[Split],
    client: Client,
    settings: JudgeSettings,
    progress: Callable[[Progress], None] | None,
) -> list[Split]:
    open_splits = {
        i: split for i, split in enumerate(splits) if split and not isinstance(split, Unfilled)
    }
    items = [
        {"claims": number_lines([claim.text for claim in split])} for split in open_splits.values()
    ]
    answers = ask_instruction(
        load_instruction("trivial_claims"), items, client, settings=settings, progress=progress
    )
    marked = list(splits)
    for (i, claims), answer in zip(open_splits.items(), answers, strict=True):
        if isinstance(answer, Unfilled):
            marked[i] = replace(
                answer, detail=f"trivial claims were not told apart: {answer.detail}"
            )
            continue
        positions = {number - 1 for number in answer.numbers("trivial")}
        if unknown := positions - set(range(len(claims))):
            detail = (
                f"trivial claims were not told apart: the reply names claim {min(unknown) + 1} of"
                f" {len(claims)}"
            )
            marked[i] = Unfilled(reason="parse", detail=detail)
        else:
            marked[i] = _marked(claims, positions)
    return marked


def _marked(claims: tuple[SplitClaim, ...], trivial: set[int]) -> tuple[SplitClaim, ...]:
    return tuple(replace(claim, trivial=i in trivial) for i, claim in enumerate(claims))
