"""What people call the columns of data files, by the table `column_names.yaml`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import cast

from .small_file import read_our_yaml

_TEXTS = ("source", "question", "answer", "reference")
_MISSPELT = 0.75
"""Likeness from which another name is taken for a slip."""
_WORD = re.compile("\\d+|[\u3040-\u9fff]+|[^\\W\\d_\u3040-\u9fff]+")
"""A number, a word, or characters of Chinese or Japanese."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@cache
def words_of_name(name: str) -> str:
    """Return the words of a name in lower case, without accents, a space between two."""
    plain = unicodedata.normalize("NFKD", _CAMEL.sub(" ", name))
    plain = "".join(one for one in plain if not "\u0300" <= one <= "\u036f")
    return " ".join(_WORD.findall(unicodedata.normalize("NFKC", plain).casefold()))


@cache
def _name_table() -> Mapping[str, frozenset[str]]:
    read = read_our_yaml(Path(__file__).parent / "column_names.yaml")
    table = cast("dict[str, list[str]]", read)
    return {concept: frozenset(map(words_of_name, names)) for concept, names in table.items()}


@cache
def meanings(name: str) -> frozenset[str]:
    """Return what a column of this name holds; `other` is what no judge reads."""
    words = words_of_name(name)
    return frozenset(concept for concept, names in _name_table().items() if words in names)


@cache
def concept_of(role: str) -> str:
    """Return what a role of a judge is, as the table has it; the role itself where it has none."""
    if role == "score":
        return "verdict"
    return next((one for one in _TEXTS if one in meanings(role)), role)


def is_name_of(name: str, role: str) -> bool:
    """Whether a column of this name holds what a role is."""
    concept = concept_of(role)
    return words_of_name(name) == words_of_name(role) or concept in meanings(name)


def near_names(column: str, names: Iterable[str]) -> list[str]:
    """Return the names that look like a column's, or mean the same, best first; of a dotted name
    the last part.
    """
    names = list(names)
    folded = column.casefold()
    near = [name for name in names if name.rpartition(".")[2].casefold() == folded]
    near += [name for name in names if is_name_of(name, column)]
    near += get_close_matches(column, names, cutoff=_MISSPELT)
    return list(dict.fromkeys(near))[:3]
