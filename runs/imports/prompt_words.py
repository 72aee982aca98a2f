"""The words of several languages by which prompts are read; they stand in YAML, a stem ends in a star."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

import yaml


@cache
def _all() -> dict[str, str | list[str]]:
    path = files("judgewright.runs.imports") / "answer_words.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@cache
def words_of(kind: str) -> dict[str, None]:
    """Return the words of a kind, in the order of the file."""
    return dict.fromkeys(str(_all()[kind]).split())


@cache
def rows_of(kind: str) -> list[list[str]]:
    """Return the rows of a kind, each in its order."""
    return [row.split() for row in _all()[kind]]


@cache
def pattern_of(kind: str) -> str:
    """Return a pattern of the words of a kind, the longest first; `_` in a word is a blank."""
    words = sorted(words_of(kind), key=len, reverse=True)
    return "|".join(re.escape(word).replace("_", r"\s") .replace(r"\*", r"\w*") for word in words)
