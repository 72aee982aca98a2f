"""The prompt file itself: what `JudgePrompt` reads back, byte for byte the same version."""

from __future__ import annotations

from ...judges import JudgePrompt


def judge_yaml(prompt: JudgePrompt, provenance: dict[str, object]) -> str:
    """Write the prompt as YAML, under a comment that says where it comes from."""
    lines = [f"# {key}: {value}".replace("\n", " ") for key, value in provenance.items()]
    return "\n".join([*lines, prompt.to_yaml()])
