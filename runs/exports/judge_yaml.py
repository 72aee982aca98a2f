"""The prompt file itself: what `JudgePrompt` reads back, byte for byte the same version."""

from __future__ import annotations

import orjson

from ...judges import DecisionRule, JudgePrompt


def judge_yaml(prompt: JudgePrompt, provenance: dict[str, object], rule: DecisionRule | None = None) -> str:
    """Write the prompt as YAML, under a comment that says where it comes from, and by which rule it decides."""
    told = provenance
    if rule is not None:
        told = {**provenance, "rule": rule.version, "decides": orjson.dumps(rule.to_json()).decode()}
    lines = [f"# {key}: {value}".replace("\n", " ") for key, value in told.items()]
    return "\n".join([*lines, prompt.to_yaml()])
