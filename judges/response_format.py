"""The JSON schema that a prompt's reply must follow, for endpoints that can hold a model to one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .prompt import JudgePrompt


def response_format(prompt: JudgePrompt) -> dict[str, Any] | None:  # Any: JSON schema
    """Return the JSON schema a prompt's reply must follow, as `response_format`; None for a
    plain-text reply.
    """
    if not prompt.reply_schema:
        return None
    scale = prompt.scale
    score: dict[str, Any] = {"type": "integer", "enum": [int(g) for g in scale.levels]}
    if scale.labels:
        score = {"type": "string", "enum": list(scale.labels)}
        # numbers whose lowest is the best, and half points
        for kind, number, form in (
            ("number", float, r"-?[0-9]+(?:\.[0-9]+)?"),
            ("integer", int, r"-?[0-9]+"),
        ):
            if all(re.fullmatch(form, label) for label in scale.labels):
                score = {"type": kind, "enum": [number(label) for label in scale.labels]}
    if scale.kind == "binary" and set(scale.labels) == {"false", "true"}:
        score = {"type": "boolean"}
    if scale.kind == "probability":
        score = {"type": "number"}
    kinds = {"text": {"type": "string"}, "confidence": {"type": "number"}, "score": score}
    schema = _object_schema({name: kinds[kind] for name, kind in prompt.reply_schema.items()})
    return {
        "type": "json_schema",
        "json_schema": {"name": "verdict", "strict": True, "schema": schema},
    }


def _object_schema(fields: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:  # Any: JSON schema
    """Return the schema of an object with these fields; `a.b` is the field `b` of an object `a`."""
    inner: dict[str, dict[str, Mapping[str, Any]]] = {}
    for name, schema in fields.items():
        outer, _, rest = name.partition(".")
        inner.setdefault(outer, {})[rest] = schema
    properties = {
        name: rest[""] if "" in rest else _object_schema(rest) for name, rest in inner.items()
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(inner),
        "additionalProperties": False,
    }
