"""Everything about a judge as one JSON object: messages, inputs, scale, rule, reply schema, provenance."""

from __future__ import annotations

import orjson

from ...judges import DecisionRule, JudgePrompt, response_format
from .messages import DIFFERENCE, template_messages


def judge_json(prompt: JudgePrompt, provenance: dict[str, object], rule: DecisionRule | None = None) -> str:
    """Write the judge as one JSON object with a schema version; the rule is the prompt's own unless given."""
    scale, decided = prompt.scale, rule or prompt.rule
    body = {
        "schema_version": 1,
        "name": prompt.name,
        "version": prompt.version,
        "parent": prompt.parent,
        "note": prompt.note,
        "rule": {**decided.to_json(), "version": decided.version, "asked_at": scale.threshold},
        "inputs": list(prompt.inputs),
        "scale": {
            "kind": scale.kind,
            "low": scale.low,
            "high": scale.high,
            "labels": list(scale.labels),
            "anchors": dict(scale.anchors),
        },
        "messages": template_messages(prompt),
        "response_format": response_format(prompt),
        "provenance": provenance,
        "declared_differences": [DIFFERENCE],
    }
    return orjson.dumps(body, option=orjson.OPT_INDENT_2).decode() + "\n"
