"""Write an opinion as a reply: JSON by schema, lines by the reply clause, or loose prose."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import orjson

from ..models.model import TokenLogprob
from .judge import Opinion
from .prompt import Instructions, Role
from .rules import Rules, TaskName, draw

_DEFAULT: tuple[tuple[str, Role], ...] = (
    ("Criterion", "criterion"),
    ("Supporting evidence", "evidence"),
    ("Score", "score"),
    ("Confidence", "confidence"),
)
_TOKENS = re.compile(r"\s?[^\W_]+|\s*[^\s\w]|\s+|_")


def write_opinion(
    rules: Rules, task: TaskName, instructions: Instructions, opinion: Opinion
) -> str:
    """Return the reply's text in the form the prompt asks for."""
    form = instructions.form
    if form.kind == "json":
        body = {
            name: _value(rules, task, opinion, role, form.schema.get(name, {}))
            for name, role in form.names
        }
        return orjson.dumps(body).decode()
    if not form.names and draw("prose", opinion.features.digest) < rules.attention["unformatted"]:
        return (
            "There is something to be said for it, though one could see it either way; on balance"
            " it is fair."
        )
    names = form.names or _DEFAULT
    before, after = ("<{0}>", "</{0}>") if form.kind == "tags" else ("{0}: ", "")
    return "\n".join(
        f"{before.format(name)}{_value(rules, task, opinion, role, {})}{after.format(name)}"
        for name, role in names
    )


def _value(
    rules: Rules, task: TaskName, opinion: Opinion, role: Role, spec: Mapping[str, Any]
) -> str | int | float:
    if role == "score":
        if spec.get("type") == "boolean":
            return bool(opinion.position >= 0.5)
        enum = spec.get("enum")
        if enum:
            return next((value for value in enum if str(value) == opinion.score), enum[0])
        if spec.get("type") == "string":
            return opinion.score
        for number in (int, float):
            with suppress(ValueError):
                return number(opinion.score)
        return opinion.score
    if role == "confidence":
        return f"{opinion.confidence:g}" if spec.get("type") == "string" else opinion.confidence
    if spec.get("enum"):
        return spec["enum"][0]
    if role == "criterion":
        return rules.tasks[task].criterion
    return _evidence(rules, opinion) if role == "evidence" else _reason(opinion)


def _evidence(rules: Rules, opinion: Opinion) -> str:
    features = opinion.features
    if features["abstains"]:
        return "abstention"
    if features["window"] < rules.shape["nothing_found"] or not features.evidence:
        return "nothing found"
    quote = " ".join(features.evidence.split())
    most = int(rules.shape["quote_chars"])
    if len(quote) > most:
        quote = quote[:most].rsplit(" ", 1)[0] + " ..."
    return f'"{quote}"'


def _reason(opinion: Opinion) -> str:
    features = opinion.features
    if features["abstains"]:
        return "The text says that it does not know."
    if features.missing and opinion.position < 0.5:
        return f"Not found: {', '.join(features.missing)}."
    if opinion.position >= 0.5:
        return "The wording is largely found, close together."
    return "Too little of it is found."


def log_probabilities(
    text: str, instructions: Instructions, opinion: Opinion, top: int
) -> tuple[TokenLogprob, ...]:
    """Return one entry per token; the score's token carries the alternatives on the scale."""
    name = next(
        (name for name, role in instructions.form.names or _DEFAULT if role == "score"), "Score"
    )
    span = None
    for match in re.finditer(rf'{re.escape(name)}"?\s*[:>]\s*"?({re.escape(opinion.score)})', text):
        span = match.span(1)
    if span is None:
        return _plain_tokens(text, top)
    start, end = span
    levels, shares = instructions.scale.levels, opinion.shares
    if not levels:
        levels, shares = (opinion.score,), (opinion.confidence,)
    by_level = dict(zip(levels, shares, strict=True))
    ranked = sorted(by_level.items(), key=lambda item: -item[1])[:top]
    score = TokenLogprob(
        text[start:end],
        math.log(by_level.get(opinion.score, opinion.confidence)),
        tuple((level, math.log(share)) for level, share in ranked),
    )
    return (*_plain_tokens(text[:start], top), score, *_plain_tokens(text[end:], top))


def _plain_tokens(text: str, top: int) -> tuple[TokenLogprob, ...]:
    tokens: list[TokenLogprob] = []
    for token in _TOKENS.findall(text):
        tokens.append(TokenLogprob(token, -0.01, ((token, -0.01),) if top else ()))
    return tuple(tokens)
