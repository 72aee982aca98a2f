"""The words of several languages by which prompts are read; they stand in YAML, a stem ends in a
star.
"""

from __future__ import annotations

import re
import unicodedata
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
    return "|".join(re.escape(word).replace("_", r"\s").replace(r"\*", r"\w*") for word in words)


@cache
def means(kind: str, word: str, *, plain: bool = False) -> bool:
    """Whether a word is one of a kind, also with another ending: `erfundene` by `erfunden`.

    Args:
        kind: The kind.
        word: In small letters.
        plain: Whether it has no accents, as names of fields have none.
    """
    known = _without_accents(kind) if plain else words_of(kind)
    if word in known or word.replace("-", "_") in known:
        return True
    if "-" in word:
        return any(means(kind, part, plain=plain) for part in word.split("-") if len(part) > 3)
    if len(word) > 5 and word[-1] in "aeo" and any(word[:-1] + vowel in known for vowel in "aeo"):
        return True  # corretto, corretta
    if re.search(r"euses?$", word) and re.sub(r"euses?$", "eux", word) in known:
        return True
    return any(len(word) - cut >= 5 and word[:-cut] in known for cut in (1, 2, 3))


@cache
def _without_accents(kind: str) -> frozenset[str]:
    return frozenset(map(without_accents, words_of(kind)))


def without_accents(text: str) -> str:
    """Return a text without accents, umlauts as one letter however they are written."""
    letters = unicodedata.normalize("NFKD", text)
    return re.sub(
        r"([aou])e",
        r"\1",
        "".join(letter for letter in letters if not unicodedata.combining(letter)),
    )
