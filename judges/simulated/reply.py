"""How the simulated judge writes its opinion down: JSON by schema, lines by the reply clause, or loose prose."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
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


def write_opinion(rules: Rules, task: TaskName, told: Instructions, opinion: Opinion) -> str:
    """Return the reply's text in the form the prompt asks for."""
    form = told.form
    if form.kind == "json":
        body = {name: _value(rules, task, opinion, role, form.schema.get(name, {})) for name, role in form.names}
        return orjson.dumps(body).decode()
    if not form.names and draw("prose", opinion.features.digest) < rules.attention.unformatted:
        return "There is something to be said for it, though one could see it either way; on balance it is fair."
    names = form.names or _DEFAULT
    return "\n".join(f"{name}: {_value(rules, task, opinion, role, {})}" for name, role in names)


def _value(rules: Rules, task: TaskName, opinion: Opinion, role: Role, spec: Mapping[str, Any]) -> str | int | float:
    """Return one field of the reply, of the type its schema asks for."""
    if role == "score":
        if spec.get("type") == "boolean":
            return bool(opinion.position >= 0.5)
        enum = spec.get("enum")
        if enum:
            return next((value for value in enum if str(value) == opinion.score), enum[0])
        if spec.get("type") == "string":
            return opinion.score
        number = _number(opinion.score)
        return opinion.score if number is None else number
    if role == "confidence":
        return opinion.confidence if spec.get("type") != "string" else f"{opinion.confidence:g}"
    text = {"criterion": rules.tasks[task].criterion, "evidence": _evidence(rules, opinion)}.get(role)
    enum = spec.get("enum")
    return enum[0] if enum else text or _reason(rules, opinion)


def _number(text: str) -> int | float | None:
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return None


def _evidence(rules: Rules, opinion: Opinion) -> str:
    features = opinion.features
    if features["abstains"]:
        return "abstention"
    if features["window"] < rules.shape.nothing_found or not features.evidence:
        return "nothing found"
    quote = " ".join(features.evidence.split())
    limit = rules.shape.quote_chars
    return f'"{quote if len(quote) <= limit else quote[:limit].rsplit(" ", 1)[0] + " ..."}"'


def _reason(rules: Rules, opinion: Opinion) -> str:
    features = opinion.features
    if features["abstains"]:
        return "The text says that it does not know."
    if features.missing and opinion.position < 0.5:
        return f"Not found: {', '.join(features.missing)}."
    if opinion.position >= 0.5:
        return "The wording is largely found, close together."
    return "Too little of it is found."


def log_probabilities(text: str, told: Instructions, opinion: Opinion, top: int) -> tuple[TokenLogprob, ...]:
    """Return one entry per token; the score's token carries the alternatives on the scale."""
    at = _score_span(text, told, opinion)
    out: list[TokenLogprob] = []
    if at is None:
        return tuple(_plain(token, top) for token in _split(text))
    out.extend(_plain(token, top) for token in _split(text[: at[0]]))
    levels = told.scale.levels or (opinion.score,)
    shares = opinion.shares if told.scale.levels else (opinion.confidence,)
    ranked = sorted(zip(levels, shares, strict=True), key=lambda pair: -pair[1])[:top]
    mine = dict(zip(levels, shares, strict=True)).get(opinion.score, opinion.confidence)
    out.append(
        TokenLogprob(text[at[0] : at[1]], math.log(mine), tuple((name, math.log(share)) for name, share in ranked))
    )
    out.extend(_plain(token, top) for token in _split(text[at[1] :]))
    return tuple(out)


def _score_span(text: str, told: Instructions, opinion: Opinion) -> tuple[int, int] | None:
    name = next((n for n, role in (told.form.names or _DEFAULT) if role == "score"), "Score")
    found = list(re.finditer(rf'{re.escape(name)}"?\s*:\s*"?({re.escape(opinion.score)})', text))
    return found[-1].span(1) if found else None


def _split(text: str) -> list[str]:
    return _TOKENS.findall(text)


def _plain(token: str, top: int) -> TokenLogprob:
    return TokenLogprob(token, -0.01, ((token, -0.01),) if top else ())


def read_score(text: str) -> str | None:
    """Return the grade that a demonstration's reply shows, as it is written; the last one counts."""
    found = re.findall(r"(?i)\b(?:score|grade|rating|verdict|label|answer)\"?\s*:\s*\"?([\w.-]+)", text)
    return found[-1].rstrip(".") if found else None
