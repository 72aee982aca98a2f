"""What a prompt's own words say of the answer: its scale, and the form of the reply."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import yaml

from ...judges import OutputScale

_KEY = re.compile(r"""["'`]([A-Za-z_][A-Za-z0-9_ ]{0,40})["'`]\s*(?::|–|-|—)""")
_SCORES = ("score", "rating", "grade", "verdict", "result", "label", "final_score", "overall_score", "relevance")
_PROSE = re.compile(
    r"(?:final score|score|grade|rating|verdict|label|answer)[*_ ]{0,3}\s?[:=]"
    r"|(?:only|just|simply)\b[^.\n]{0,40}\b(?:number|integer|digit|yes|no|score|rating)\b"
    r"|\b(?:number|integer|score|rating|yes or no)\b[^.\n]{0,30}\b(?:only|nothing else)",
    re.IGNORECASE,
)
_MARKS = r"[\"'`]?"
_OR = rf"{_MARKS}\s?(?:[|/,]|or|and)\s?(?:or )?{_MARKS}"
_YES_NO = re.compile(rf"\b(?:yes{_OR}no|no{_OR}yes)\b", re.IGNORECASE)
_RANGE = re.compile(
    r"\b(?:scale|scores?|ratings?|grades?|numbers?|integers?|from|between)\b[^.\n0-9]{0,60}?"
    r"(?P<low>-?[0-9]+(?:\.0)?)\s?(?:to|and|-|–|\.\.)\s?(?P<high>[0-9]+(?:\.0)?)\b",
    re.IGNORECASE,
)
_LISTED = re.compile(
    r"\b(?:score|rating|grade|number|integer|value)s?\b[^.\n0-9]{0,40}?"
    r"(?P<all>[0-9]+(?:,\s?(?:or )?[0-9]+|\s?or [0-9]+)+)",
    re.IGNORECASE,
)


def read_scale(text: str) -> OutputScale | None:
    """Read the scale from a prompt's words; None where they name none."""
    listed = _LISTED.search(text)
    if listed:
        grades = [int(number) for number in re.findall(r"[0-9]+", listed.group("all"))]
        return _whole_number_scale(min(grades), max(grades))
    match = _RANGE.search(text)
    if match:
        low, high = float(match.group("low")), float(match.group("high"))
        with_decimals = "." in match.group("low") + match.group("high")
        # "from 0 to 1" may be two grades; "0.0 to 1.0" and "between 0 and 1" are probabilities.
        if (low, high) == (0.0, 1.0) and (with_decimals or "between" in match.group().lower()):
            return OutputScale(kind="probability", threshold=0.5)
        if low < high:
            return _whole_number_scale(int(low), int(high))
    if _YES_NO.search(text):
        return OutputScale(kind="binary", labels=("no", "yes"), threshold=1.0)
    return None


def _whole_number_scale(low: int, high: int) -> OutputScale:
    if (low, high) == (0, 1):
        return OutputScale(kind="binary", threshold=1.0)
    middle = float(-(-(low + high) // 2))  # rounded up
    return OutputScale(low=low, high=high, threshold=middle)


def read_reply_schema(text: str) -> dict[str, str] | None:
    """Read the form of the reply from a prompt's words: JSON fields, empty for prose, None where they do not tell."""
    keys = [key for key in dict.fromkeys(_KEY.findall(text)) if key == key.strip()]
    by_name = {key.lower().replace(" ", "_"): key for key in reversed(keys)}
    score = next((by_name[name] for name in _SCORES if name in by_name), None)
    if score is None:
        return {} if _PROSE.search(text) else None
    schema = dict.fromkeys(keys, "text")
    for key in keys:
        if key.lower() == "confidence":
            schema[key] = "confidence"
    schema[score] = "score"
    return schema


def reply_clause(
    scale: OutputScale, *, overrides: bool = True, reason: str = "reason", score: str = "score"
) -> tuple[str, Mapping[str, str]]:
    """Return a clause of our own for a scale, and the JSON fields it asks for.

    Args:
        scale: What the verdict may be.
        overrides: Whether words before it ask for another form of answer.
        reason: The field for the reason.
        score: The field for the verdict.
    """
    clauses = _clauses()
    value = clauses["values"]["choice" if scale.labels else scale.kind]
    labels = ", ".join(f'"{label}"' for label in scale.labels or ("no", "yes"))
    for name, text in {"low": str(scale.low), "high": str(scale.high), "labels": labels}.items():
        value = value.replace(f"<{name}>", text)
    clause = clauses["clause" if overrides else "added"]
    for name, text in {"value": value, "reason": reason, "score": score}.items():
        clause = clause.replace(f"<{name}>", text)
    return clause.strip(), {reason: "text", score: "score"}


def own_words() -> Mapping[str, str]:
    """Return the words of ours that stand where a tool's prompt has none."""
    return _clauses()["stand_ins"]


def _clauses() -> dict[str, Any]:  # Any: YAML
    path = files("judgewright.runs.imports") / "reply_clauses.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))
