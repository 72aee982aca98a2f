"""Read a verdict out of a model's reply.

Structured output is trusted first: a JSON object with the prompt's score field. Otherwise the text is
searched, and the LAST verdict in it counts, because a reply may quote the row, the scale or its own draft
before it decides. A reply without a readable verdict is `Unscored`; it is never a zero.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import orjson

from .models.model import Completion
from .prompt import JudgePrompt
from .scale import OutputScale
from .verdict import Answer, Unscored, Verdict

MAX_REPLY = 1 << 20
"""Characters; a longer reply is not read."""

_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"\A\s*```[a-z]*\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL | re.IGNORECASE)
_SCORE_WORDS = ("score", "grade", "rating", "verdict", "label", "final answer", "answer")
_WORDS_FOR_ONE = frozenset({"yes", "true", "1", "positive"})
_WORDS_FOR_ZERO = frozenset({"no", "false", "0", "negative"})


@dataclass(frozen=True, slots=True)
class _Found:
    score: float
    parser: str
    confidence: float | None = None
    rationale: str = ""


def response_format(prompt: JudgePrompt) -> dict[str, Any] | None:  # Any: JSON schema
    """Return the JSON schema a prompt's reply must follow, as `response_format`; None for a plain-text reply."""
    if not prompt.reply_schema:
        return None
    scale = prompt.scale
    score: dict[str, Any] = {"type": "integer", "enum": [int(g) for g in scale.levels]}
    if scale.kind == "choice" or (scale.kind == "binary" and scale.labels):
        score = {"type": "string", "enum": list(scale.labels)}
    if scale.kind == "probability":
        score = {"type": "number"}
    kinds = {"text": {"type": "string"}, "confidence": {"type": "number"}, "score": score}
    schema = {
        "type": "object",
        "properties": {name: kinds[kind] for name, kind in prompt.reply_schema.items()},
        "required": list(prompt.reply_schema),
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": schema}}


def read_reply(prompt: JudgePrompt, row_id: str, completion: Completion) -> Answer:
    """Turn a completion into a verdict, or into the reason why there is none."""
    common = {
        "row_id": row_id,
        "reply_hash": completion.reply_hash,
        "tokens_in": completion.tokens_in,
        "tokens_out": completion.tokens_out,
        "cost": completion.cost,
        "latency": completion.latency,
    }
    if completion.refusal or completion.finish_reason == "content_filter":
        return Unscored(reason="refused", detail=(completion.refusal or "content filter")[:200], **common)
    if completion.finish_reason == "length":
        return Unscored(reason="truncated", detail="the reply was cut at max_tokens", **common)
    if len(completion.text) > MAX_REPLY:
        return Unscored(reason="parse", detail=f"a reply of {len(completion.text):,} characters is not read", **common)
    text = _THINKING.sub("", completion.text).strip()
    body = _json_object(text)
    found = _from_text(prompt, text) if body is None else _from_json(prompt, body)
    if found is None:
        return Unscored(reason="parse", detail=f"no verdict in {text[:120]!r}", **common)
    if not prompt.scale.contains(found.score):
        detail = f"score {found.score:g} is outside {prompt.scale.describe()}"
        return Unscored(reason="parse", detail=detail, **common)
    return Verdict(
        score=found.score,
        positive=prompt.scale.positive(found.score),
        confidence=found.confidence,
        rationale=found.rationale,
        parser=found.parser,
        **common,
    )


def _json_object(text: str) -> dict[str, Any] | None:  # Any: JSON from a model
    """The reply as a JSON object; None where it is not one, and its prose is searched instead."""
    fence = _FENCE.match(text)
    try:
        body = orjson.loads((fence.group(1) if fence else text).encode("utf-8", "replace"))
    except orjson.JSONDecodeError:
        return None
    return body if isinstance(body, dict) else None


def _from_json(prompt: JudgePrompt, body: dict[str, Any]) -> _Found | None:  # Any: JSON from a model
    """The verdict of a JSON reply; its texts may quote the row and are not searched for one."""
    for name in (*_fields(prompt, "score"), "score"):
        if name in body:
            score = _grade(prompt.scale, body[name])
            if score is None:
                return None
            confidence = next((_share(body[f]) for f in _fields(prompt, "confidence") if f in body), None)
            rationale = "\n".join(str(body[f]) for f in _fields(prompt, "text") if f in body)
            return _Found(score, "json", confidence, rationale)
    return None


def _fields(prompt: JudgePrompt, kind: str) -> tuple[str, ...]:
    return tuple(name for name, found in prompt.reply_schema.items() if found == kind)


def _from_text(prompt: JudgePrompt, text: str) -> _Found | None:
    words = dict.fromkeys((*(n.replace("_", " ") for n in _fields(prompt, "score")), *_SCORE_WORDS))
    named = "|".join(re.escape(w).replace(r"\ ", r"[ _]") for w in sorted(words, key=len, reverse=True))
    value = _value_pattern(prompt.scale)
    said = rf"(?<!\w)(?:{named}){_MARKS}(?:[:=]|\bis\b){_MARKS}({value})"
    matches = list(re.finditer(said, text, re.IGNORECASE))
    if matches:
        written, parser = matches[-1].group(1), "last"
    elif whole := re.fullmatch(rf"{_MARKS}({value}){_MARKS}\.?", text, re.IGNORECASE):
        written, parser = whole.group(1), "whole"
    else:
        return None
    score = _grade(prompt.scale, re.sub(r"\s*(?:/|out of)\s*\d+$", "", written))
    if score is None:
        return None
    stated = re.findall(rf"confidence{_MARKS}\s*[:=]{_MARKS}(\d*\.?\d+)(?![\w.%])", text, re.IGNORECASE)
    return _Found(score, parser, _share(float(stated[-1])) if stated else None, text)


_MARKS = r"[\s\"'*_`\[\](){}]{0,40}+"
"""Markdown, quotes and brackets around a name or a value; possessive and bounded, so that no reply can stall us."""


def _value_pattern(scale: OutputScale) -> str:
    """A pattern for one value of the scale that does not match part of a longer word or number."""
    end = r"(?![\w]|\.\d|\s*[-–/]\s*\d)"
    words = [re.escape(label) for label in sorted(scale.labels, key=len, reverse=True)]
    if scale.kind == "choice":
        return rf"(?:{'|'.join(words)}){end}"
    if scale.kind == "binary":
        plain = ("yes", "no", "true", "false", "1", "0")
        return rf"(?:{'|'.join(dict.fromkeys((*words, *plain)))}){end}"
    out_of = rf"\s*(?:/|out of)\s*{scale.high}(?![\w.])"
    return rf"-?\d+(?:\.\d+)?(?:{out_of}|{end})"


def _grade(scale: OutputScale, value: Any) -> float | None:  # Any: JSON from a model
    """Read one value as a grade on the scale; None where it is not one."""
    if isinstance(value, str):
        word = value.strip()
        folded = [label.casefold() for label in scale.labels]
        if word.casefold() in folded and folded.count(word.casefold()) == 1:
            return float(folded.index(word.casefold()))
        if word in scale.labels:
            return float(scale.labels.index(word))
        if scale.kind == "choice":
            return None
        if scale.kind == "binary":
            return 1.0 if word.lower() in _WORDS_FOR_ONE else 0.0 if word.lower() in _WORDS_FOR_ZERO else None
        return float(word) if re.fullmatch(r"-?\d{1,9}(?:\.\d{1,9})?", word) else None
    if isinstance(value, bool):
        return float(value) if scale.kind == "binary" else None
    if isinstance(value, int | float) and math.isfinite(value) and scale.kind != "choice":
        return float(value)
    return None


def _share(value: Any) -> float | None:  # Any: JSON from a model
    """Read a stated confidence in [0, 1]; anything else counts as not stated."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0.0 <= value <= 1.0:
        return float(value)
    return None
