"""What the names of columns say of what they hold, by the table `column_names.yaml`."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import NamedTuple, cast

from .small_file import read_our_yaml

SURE = 0.58
"""The score from which a name says by itself what a column is."""
TEXTS = ("source", "question", "answer", "statement", "reference", "rationale")
"""What a column of text may be."""
NEAR = {"statement": "answer", "answer": "statement"}
"""What an input may be filled from as well: a claim is an answer, and the other way round."""
_MISSPELT = 0.85
"""Likeness from which another name is taken for a slip, rather than for another column."""


class _Table(NamedTuple):
    names: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]
    about: frozenset[str]
    expected: frozenset[str]
    by_program: frozenset[str]
    by_people: frozenset[str]
    one_is_bad: frozenset[str]
    preference: frozenset[str]


@cache
def name_table() -> _Table:
    table = read_our_yaml(Path(__file__).parent / "column_names.yaml")
    read = cast("dict[str, dict[str, list[list[str]]] | list[str]]", table)
    names = cast("dict[str, list[list[str]]]", read.pop("names"))
    words = {
        name: frozenset(" ".join(words_of_name(one)) for one in cast("list[str]", listed))
        for name, listed in read.items()
    }
    return _Table(
        names={
            concept: (
                tuple(" ".join(words_of_name(one)) for one in strong),
                tuple(" ".join(words_of_name(one)) for one in weak),
            )
            for concept, (strong, weak) in names.items()
        },
        **words,
    )


def usual_names(role: str) -> tuple[str, ...]:
    """Return what a column of a role is usually called, the likeliest first."""
    concept = concept_of(role)
    if concept not in name_table().names:
        return ()
    near = NEAR.get(concept)
    return (*name_table().names[concept][0], *(name_table().names[near][0] if near else ()))


@cache
def words_of_name(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case, without accents."""
    plain = unicodedata.normalize("NFKD", name)
    plain = "".join(one for one in plain if not "\u0300" <= one <= "\u036f")
    plain = unicodedata.normalize("NFKC", plain)
    parted: list[str] = []
    for before, one, after in zip(" " + plain, plain, plain[1:] + " ", strict=False):
        starts = one.isupper() and (before.islower() or (before.isupper() and after.islower()))
        if starts or (one.isdigit() and before.isalpha()):
            parted.append(" ")
        parted.append(one if one.isalnum() else " ")
    return tuple("".join(parted).casefold().split())


@cache
def concept_of(role: str) -> str:
    """Return what a role of a judge is, as the table has it; the role itself where it has none."""
    if role in name_table().names or role == "score":
        return "verdict" if role == "score" else role
    best = max(TEXTS, key=lambda concept: concept_score(words_of_name(role), concept))
    return best if concept_score(words_of_name(role), best) >= SURE else role


@cache
def says_something(name: str) -> bool:
    """Whether the name says what a column is."""
    table = name_table()
    return any(concept_score(words_of_name(name), concept) > 0.3 for concept in table.names)


@cache
def name_score(name: str, role: str) -> float:
    """Return how far the name of a column is that of a role, from 0 to 1.1."""
    outer, dot, last = name.rpartition(".")
    score = _words_score(words_of_name(name), role)
    if not dot:
        return score
    score = max(score, 0.97 * _words_score(words_of_name(last), role))
    if {*words_of_name(outer)} & name_table().expected:
        concept = concept_of(role)
        return 0.97 if concept == "reference" else score * (1 if concept == "label" else 0.3)
    return score


def _words_score(words: tuple[str, ...], role: str) -> float:
    own_words = " ".join(words_of_name(role))
    own = _listed_score(words, (own_words,)) * 1.1
    if SequenceMatcher(None, " ".join(words), own_words).ratio() >= _MISSPELT:
        own = max(own, 0.75)
    concept = concept_of(role)
    if concept not in name_table().names:
        return own
    score = max(own, concept_score(words, concept))
    if near := NEAR.get(concept):
        score = max(score, 0.85 * concept_score(words, near))
    return score


@cache
def concept_score(words: tuple[str, ...], concept: str) -> float:
    """Return how far the words of a name say that a column holds this, from 0 to 1."""
    strong, weak = name_table().names[concept]
    score = max(_listed_score(words, strong), 0.55 * _listed_score(words, weak))
    whole = " ".join(words)
    if " " not in whole and not any(map(is_eastern, whole)):
        return score
    is_whole = whole in strong
    if concept == "label":
        return _label_score(words, score, is_whole=is_whole)
    if concept == "verdict":
        return max(score, 0.9) if has_mark(words, name_table().by_program) else score
    expected = has_mark(words, name_table().expected)
    if concept == "reference" and expected and " " in whole:
        inner = max(concept_score(words[1:], one) for one in ("answer", "question", "statement"))
        return max(score, 0.95) if inner >= SURE else score
    if concept in TEXTS[:4] and not is_whole:
        about = name_table().about
        score *= 0.3 if expected and concept != "source" else 1
        score *= 0.25 if words[-1] in about or words[0] in about - {"model"} else 1
    return score


def _label_score(words: tuple[str, ...], score: float, *, is_whole: bool) -> float:
    """Return the score of a label's name with what says that people gave it, or a program."""
    if has_mark(words, name_table().by_people):
        score = max(score, 0.95 if score else 0.7)
    elif has_mark(words, name_table().by_program):
        score *= 0.4
    return score * (0.3 if words[-1] in name_table().about and not is_whole else 1)


def has_mark(words: tuple[str, ...], marks: frozenset[str]) -> bool:
    """Whether a name has one of the marks; in a name without spaces it may be anywhere."""
    return any(
        word in marks or (is_eastern(word[0]) and any(m in word for m in marks if len(m) > 1))
        for word in words
    )


def _listed_score(words: tuple[str, ...], names: Sequence[str]) -> float:
    """Return 1 for a name of the list, less for one that ends or begins with it."""
    whole = " ".join(words)
    if whole in names or whole.replace(" ", "") in names:
        return 1.0
    score = 0.0
    for name in names:
        compound = len(name) >= 5 or (len(name) >= 2 and is_eastern(name[0]))
        if whole.endswith(f" {name}"):
            score = max(score, 0.8)
        elif whole.startswith(f"{name} "):
            score = max(score, 0.7)
        elif f" {name} " in f" {whole} ":
            score = max(score, 0.55)
        elif compound and any(word.endswith(name) for word in words):
            score = max(score, 0.72)
        elif compound and any(word.startswith(name) for word in words):
            score = max(score, 0.6)
    return score


def is_eastern(character: str) -> bool:
    return "\u3040" <= character <= "\u9fff"
