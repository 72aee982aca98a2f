"""Words of ours that a prompt gets where it has none that say how to answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import yaml

from ...judges import OutputScale


def reply_clause(
    scale: OutputScale,
    *,
    reasons: Sequence[str] = ("reason",),
    score: str = "score",
) -> tuple[str, Mapping[str, str]]:
    """Return a clause of our own for a scale, and the JSON fields it asks for.

    Args:
        scale: What the verdict may be.
        reasons: The fields for the reason; texts, each with its own name.
        score: The field for the verdict.
    """
    clauses = _clauses()
    kind = "low_probability" if scale.low_is_good else scale.kind
    value = clauses["values"]["choice" if scale.labels else kind]
    labels = ", ".join(f'"{label}"' for label in scale.labels or ("no", "yes"))
    for name, text in {"low": str(scale.low), "high": str(scale.high), "labels": labels}.items():
        value = value.replace(f"<{name}>", text)
    clause = clauses["clause"]
    texts = "\n".join(clauses["text"].strip().replace("<reason>", reason) for reason in reasons)
    for name, text in {"value": value, "texts": texts, "score": score}.items():
        clause = clause.replace(f"<{name}>", text)
    return clause.strip(), {**dict.fromkeys(reasons, "text"), score: "score"}


def own_words() -> Mapping[str, str]:
    """Return the words of ours that stand where a tool's prompt has none."""
    return _clauses()["stand_ins"]


def _clauses() -> dict[str, Any]:  # Any: YAML
    path = files("judgewright.runs.imports") / "reply_clauses.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))
