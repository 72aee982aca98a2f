"""What a prompt's own words say of the answer: the scale, and the form of the reply."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files

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
    """Read the scale from a prompt's words; None where they tell of none."""
    if listed := _LISTED.search(text):
        grades = [int(n) for n in re.findall(r"[0-9]+", listed.group("all"))]
        return _scale(min(grades), max(grades))
    if found := _RANGE.search(text):
        low, high = found.group("low"), found.group("high")
        if (float(low), float(high)) == (0.0, 1.0) and ("." in low + high or "between" in found.group().lower()):
            return OutputScale(kind="probability", threshold=0.5)
        if float(low) < float(high):
            return _scale(int(float(low)), int(float(high)))
    if _YES_NO.search(text):
        return OutputScale(kind="binary", labels=("no", "yes"), threshold=1.0)
    return None


def _scale(low: int, high: int) -> OutputScale:
    if (low, high) == (0, 1):
        return OutputScale(kind="binary", threshold=1.0)
    return OutputScale(low=low, high=high, threshold=float(-(-(low + high) // 2)))


def read_reply_schema(text: str) -> dict[str, str] | None:
    """Read the form of the reply from a prompt's words: JSON fields, empty for prose, None where they do not tell."""
    keys = list(dict.fromkeys(key for key in _KEY.findall(text) if key == key.strip()))
    score = next((key for name in _SCORES for key in keys if key.lower().replace(" ", "_") == name), None)
    if score is not None:
        return {
            key: "score" if key == score else "confidence" if key.lower() == "confidence" else "text" for key in keys
        }
    return {} if _PROSE.search(text) else None


def reply_clause(scale: OutputScale) -> tuple[str, Mapping[str, str]]:
    """Return a clause of our own for a scale, and the JSON fields it asks for."""
    text = files("judgewright.runs.imports").joinpath("reply_clauses.yaml").read_text(encoding="utf-8")
    clauses = yaml.safe_load(text)
    labels = scale.labels or ("no", "yes")
    values = {"low": scale.low, "high": scale.high, "labels": ", ".join(f'"{label}"' for label in labels)}
    value = clauses["values"][scale.kind]
    for name, shown in values.items():
        value = value.replace(f"<{name}>", str(shown))
    return clauses["clause"].replace("<value>", value).strip(), {"reason": "text", "score": "score"}


def own_words() -> Mapping[str, str]:
    """Return the words of ours that stand where a tool's prompt has none."""
    text = files("judgewright.runs.imports").joinpath("reply_clauses.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)["stand_ins"]
