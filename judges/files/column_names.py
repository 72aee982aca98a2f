"""What the names of columns say of what they hold, by the table `column_names.yaml`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import cast

from .small_file import read_our_yaml

SAYS, MAY, NOTHING = range(3)
"""How a name tells that a column holds something: it says so, it may mean it, it does not."""
_TEXTS = ("source", "question", "answer", "reference")
_LONG, _SENTENCE = 5, 5
"""Letters of a name that is found in compounds; spaces of one that is a sentence."""
_MISSPELT = 0.85
"""Likeness from which another name is taken for a slip."""
_WORD = re.compile("\\d+|[\u3040-\u9fff]|[^\\W\\d_\u3040-\u9fff]+")
"""A number, a word, or a character of Chinese or Japanese."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@cache
def words_of_name(name: str) -> str:
    """Return the words of a name in lower case, without accents, a space between two."""
    plain = unicodedata.normalize("NFKD", _CAMEL.sub(" ", name))
    plain = "".join(one for one in plain if not "\u0300" <= one <= "\u036f")
    return " ".join(_WORD.findall(unicodedata.normalize("NFKC", plain).casefold()))


@cache
def name_table() -> Mapping[str, Mapping[str, frozenset[str]]]:
    read = read_our_yaml(Path(__file__).parent / "column_names.yaml")
    table = cast("dict[str, dict[str, list[str]]]", read)
    return {
        part: {concept: frozenset(map(words_of_name, names)) for concept, names in lists.items()}
        for part, lists in table.items()
    }


@cache
def concept_of(role: str) -> str:
    """Return what a role of a judge is, as the table has it; the role itself where it has none."""
    if role == "score":
        return "verdict"
    return next((one for one in _TEXTS if meanings(role).get(one) == SAYS), role)


@cache
def rank_of(name: str, role: str) -> int:
    """Return how the name of a column tells that it holds a role."""
    concept, own, words = concept_of(role), words_of_name(role), words_of_name(name)
    listed = any(concept in part for part in name_table().values())
    if not listed and _stands(own, words):
        return SAYS
    like = SequenceMatcher(None, words, own).ratio() >= _MISSPELT
    return min(meanings(name).get(concept, NOTHING), MAY if like else NOTHING)


@cache
def meanings(name: str) -> Mapping[str, int]:
    """Return what a name tells that a column holds, and how; `other` is what no judge reads."""
    says, may, words = name_table()["says"], name_table()["may"], words_of_name(name)
    last = name.rpartition(".")[2]
    ranks = {concept: MAY for concept, names in may.items() if words in names}
    listed = ranks or any(words in names for names in says.values())
    if not listed and _is_other(words):
        return {"other": SAYS}
    # A name that is a sentence has many words that say little.
    rank = SAYS if name.count(" ") < _SENTENCE else MAY
    said = (one for one, names in says.items() if any(_stands(name, words) for name in names))
    ranks = dict.fromkeys(said, rank) | ranks
    texts = [one for one in _TEXTS if ranks.get(one) == SAYS]
    if "reference" in texts:
        # An expected answer is none of a model.
        ranks = {one: rank for one, rank in ranks.items() if one not in texts[:-1]}
    elif len(texts) > 1:
        ranks |= meanings(last) if last != name else dict.fromkeys(texts, MAY)
    if ranks.get("verdict") == SAYS:
        ranks.pop("label", None)
    return ranks


def _stands(name: str, words: str) -> bool:
    """Whether a name stands among words; a long one may begin or end one of them."""
    compound = len(name) >= _LONG and any(
        word.startswith(name) or word.endswith(name) for word in words.split()
    )
    return f" {name} " in f" {words} " or compound


def _is_other(words: str) -> bool:
    ends = name_table()["ends"]
    begins = any(f"{words} ".startswith(f"{one} ") for one in ends["first"])
    return begins or any(f" {words}".endswith(f" {one}") for one in ends["first"] | ends["last"])
