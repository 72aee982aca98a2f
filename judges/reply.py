"""Turn a model's completion into a verdict, or into the reason why there is none.

What a text says is read by `reply_reading.py`, which exports carry with them. A reply without a
readable verdict is `Unscored`; it is never a zero, and never an earlier grade.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from .distribution_reading import NoDistribution
from .models.model import Completion
from .prompt import JudgePrompt
from .reply_reading import (
    MAX_REPLY,
    Reading,
    Unreadable,
    on_scale,
    read_object,
    read_text,
    require_whole,
)
from .verdict import Answer, Unscored, UnscoredReason, Verdict


def read_reply(prompt: JudgePrompt, completion: Completion, *, row_id: str = "") -> Answer:
    """Turn a completion into a verdict, or into the reason why there is none."""

    def read(text: str) -> dict[str, Any]:  # Any: fields of a verdict
        reading = _read(prompt, text)
        return {
            "score": reading.score,
            "positive": prompt.scale.positive(reading.score),
            "confidence": reading.confidence,
            "rationale": _storable(reading.rationale),
            "parser": reading.parser,
        }

    return answer_of(completion, read, row_id=row_id)


def answer_of(
    completion: Completion,
    read: Callable[[str], dict[str, Any]],  # Any: fields of a verdict
    *,
    row_id: str,
) -> Answer:
    """Return the verdict whose fields are read in a whole reply, or the reason why there is none;
    `read` raises `Unreadable` or `NoDistribution`.
    """
    common = {
        "row_id": row_id,
        "reply_hash": completion.reply_hash,
        "tokens_in": completion.tokens_in,
        "tokens_out": completion.tokens_out,
        "cost": completion.cost,
        "latency": completion.latency,
    }
    broken = why_broken(completion)
    if broken is not None:
        return Unscored(reason=broken[0], detail=broken[1], **common)
    try:
        return Verdict(**read(completion.text), **common)
    except (Unreadable, NoDistribution) as error:
        return Unscored(reason="parse", detail=str(error), **common)


def _read(prompt: JudgePrompt, text: str) -> Reading:
    """Read a text as `read_text` does, a reply that is one flat object in a tenth of its time."""
    form = prompt.reply_form
    if form["json"] and len(text) <= MAX_REPLY:
        fields = _plain_object(text.strip())
        if fields is not None and form["field"] in fields:
            reading = read_object(fields, form)
            if reading is not None:
                return on_scale(reading, text, form)
    return read_text(text, form)


def _storable(text: str) -> str:
    """Return a text without lone surrogates, which cannot be stored."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def why_unreadable(answer: Answer) -> str:
    """Return why a reply has no verdict that can be read; empty where it has one, was cut or is a
    refusal.
    """
    return answer.detail if isinstance(answer, Unscored) and answer.reason == "parse" else ""


def why_broken(completion: Completion) -> tuple[UnscoredReason, str] | None:
    """Return why a reply is not a complete answer in its text, as a reason and in words; None where
    it is.
    """
    try:
        require_whole(completion.finish_reason, completion.refusal)
    except Unreadable as error:
        if error.reason == "truncated":
            return (
                "truncated",
                (
                    f"{cut_off(completion)}; raise --max-tokens, or max_tokens of the model in"
                    " models.yaml"
                ),
            )
        return error.reason, str(error)
    return None


def cut_off(completion: Completion) -> str:
    """Say that a reply was cut at its limit of tokens, and how many of them the model thought
    with.
    """
    thought = completion.reasoning_tokens
    spent = f", after {thought:,} tokens of reasoning" if thought else ""
    limit = completion.token_limit
    return (
        f"the reply was cut off at {f'{limit:,} tokens' if limit else 'its limit of tokens'}{spent}"
    )


def _plain_object(text: str) -> dict[str, Any] | None:  # Any: JSON from a model
    """Read a reply that is one flat object, as nearly all are; None where it is anything else.

    A field that stands twice shows in the number of quotes.
    """
    if not text.startswith("{"):
        return None
    try:
        body = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    quotes = 2 * len(body)
    for name, value in body.items():
        kind = type(value)
        if kind is str:
            quotes += 2
        elif kind is int:
            body[name] = float(value)
        elif kind is not float and kind is not bool and value is not None:
            return None
    return body if _count_quotes(text) == quotes else None


def _count_quotes(text: str) -> int:
    """Count the quotes of a JSON text that open or close a string: those that are not escaped."""
    if "\\" not in text:
        return text.count('"')
    # A backslash that is escaped itself escapes nothing.
    text = text.replace("\\\\", "")
    return text.count('"') - text.count('\\"')
