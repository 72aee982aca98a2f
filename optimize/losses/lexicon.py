"""The words by which objectives are read; `words.yaml` lists them.

A text is cut into tokens of one symbol each. A word that is not listed is unknown, and a clause
with an unknown word is not understood: so nothing is read into a sentence that it does not say.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

Worth = Literal["good", "bad"]


def _read_words() -> Mapping[str, Any]:
    """Read the list of words, each `<part>` of a pattern written out."""
    text = (Path(__file__).parent / "words.yaml").read_text("utf-8")
    for name, part in yaml.safe_load(text)["parts"].items():
        text = text.replace(f"<{name}>", part)
    return yaml.safe_load(text)


_WORDS = _read_words()
BRIER = "brier"
METRIC_WORDS: Mapping[str, str] = {
    name: "|".join(words) for name, words in _WORDS["metrics"].items()
} | {BRIER: "|".join([*_WORDS["metrics"][BRIER], *_WORDS["words"]["c"]])}
"""Spellings of the metrics that an objective may name, without accents."""
_NEGATED = r"(?:not(?: really)?|nicht|non|no|nao|pas|ne sont pas|n est pas)[ -]+"
_NUMBERS = (
    ("one", "eine?n?", "une?", "uno?a?", "una", "uma?"),
    ("two", "zwei", "deux", "dos", "due", "doi?s|duas"),
    ("three", "drei", "trois", "tres", "tre", "tres"),
    ("four", "vier", "quatre", "cuatro", "quattro", "quatro"),
    ("five", "funf", "cinq", "cinco", "cinque", "cinco"),
    ("six", "sechs", "six", "seis", "sei", "seis"),
    ("seven", "sieben", "sept", "siete", "sette", "sete"),
    ("eight", "acht", "huit", "ocho", "otto", "oito"),
    ("nine", "neun", "neuf", "nueve", "nove", "nove"),
    ("ten", "zehn", "dix", "diez", "dieci", "dez"),
)
_UNIT = (
    r"(?:%|percent(?:age points?)?|per cent|prozent(?:punkte?n?)?|pour ?cent|por ciento|por"
    r" cento|per cento|percento"
    r"|points? de pourcentage|puntos?"
    r" porcentuales|points?|punkte?n?|puntos?|punti|punto|pontos?|pp|pts?)(?!\w)"
)
_AMOUNT = re.compile(
    rf"(?P<number>\d{{1,3}}(?:[.,]\d{{1,6}})?|\.\d{{1,6}})(?!\d)(?:[\s-]*(?P<unit>{_UNIT}))?"
)
_WORD_AMOUNT = re.compile(
    "(?:"
    + "|".join(f"(?P<n{i}>{'|'.join(words)})" for i, words in enumerate(_NUMBERS, 1))
    + rf")[\s-]+(?P<unit>{_UNIT})"
)
_TENTH = re.compile(
    r"(?:a|one|ein|un|une|una|um|uma) (?:tenth|zehntel|dixieme|decimo|decima parte)(?!\w)"
)


def _whole(phrases: Iterable[str]) -> re.Pattern[str]:
    """Match a phrase that ends where a word ends, the longer one before the shorter."""
    longest_first = sorted(phrases, key=len, reverse=True)
    return re.compile(rf"(?:{'|'.join(longest_first)})(?:(?<=\W)|(?!\w))")


Words = tuple[tuple[str, str, re.Pattern[str]], ...]
"""Words to read by: symbol, metric or class, pattern."""

CLASS_WORDS: Words = (
    *(("M", name, _whole(words)) for name, words in _WORDS["classes"]["metrics"].items()),
    *((symbol, "", _whole(words)) for symbol, words in _WORDS["classes"]["words"].items()),
)
"""Those of objectives about a judge that chooses among classes; they come before the others."""

_SYMBOLS: Words = (
    *(("M", name, _whole(words)) for name, words in _WORDS["metrics"].items()),
    ("N", "", _whole([*_WORDS["bad"], *(_NEGATED + word for word in _WORDS["good"])])),
    ("P", "", _whole(_WORDS["good"])),
    *(
        (symbol, BRIER * (symbol == "c"), _whole(words))
        for symbol, words in _WORDS["words"].items()
    ),
)
_UNKNOWN = re.compile(r"[^\W_]+|\S")


@dataclass(frozen=True, slots=True)
class Token:
    """A word or phrase of a text; what it means is its symbol."""

    symbol: str
    """A key of the table above, `M` metric, `P` and `N` the good and the bad class, `@` one of
    several classes, `#` amount, `?` unknown."""
    start: int
    end: int
    word: str
    metric: str = ""
    """The metric, also of `c`, or the class of `@`."""
    number: float = 0.0
    unit: str = ""
    """`share` for per cent, `points`, or empty."""


def tokens(text: str, words: Words = ()) -> Iterator[Token]:
    """Cut a text into tokens; words that mean nothing of their own have an empty symbol.

    Args:
        text: An objective.
        words: Further words, before the usual ones.
    """
    plain = plain_text(text)
    at = 0
    while at < len(plain):
        if plain[at].isspace() and plain[at] != "\n" and not re.match(r"\s[-–—]+\s", plain[at:]):
            at += 1
            continue
        token = _token_at(plain, at, words)
        at = token.end
        yield token


def _token_at(plain: str, at: int, words: Words) -> Token:
    """Return the longest token that begins here."""
    if (match := _TENTH.match(plain, at)) is not None:
        return Token("#", at, match.end(), match[0], number=0.1)
    if (match := _WORD_AMOUNT.match(plain, at)) is not None:
        number = next(i for i in range(1, 11) if match[f"n{i}"])
        return Token(
            "#", at, match.end(), match[0], number=float(number), unit=_unit(match["unit"])
        )
    if (match := _AMOUNT.match(plain, at)) is not None:
        number = float(match["number"].replace(",", "."))
        return Token("#", at, match.end(), match[0], number=number, unit=_unit(match["unit"]))
    best = Token("?", at, at, "")
    for symbol, metric, pattern in (*words, *_SYMBOLS):
        match = pattern.match(plain, at)
        if match is not None and match.end() > best.end:
            best = Token(symbol, at, match.end(), match[0], metric=metric)
    if best.end > at:
        return best
    match = _UNKNOWN.match(plain, at)
    end = match.end() if match else at + 1
    return Token("?", at, end, plain[at:end])


def _unit(text: str | None) -> str:
    if not text:
        return ""
    return (
        "share"
        if text[0] == "%"
        or re.fullmatch(r"percent|per cent|prozent|pour ?cent|por ci?ento|per cento", text)
        else "points"
    )


def plain_text(text: str) -> str:
    """Return the text in small letters without accents and typographic marks, as long as it was."""
    letters: list[str] = []
    for letter in text:
        base = unicodedata.normalize("NFD", letter)[0].lower()
        letters.append(base if len(base) == 1 else letter)
    plain = "".join(letters).replace("’", "'")
    # An apostrophe joins two words, of which each counts.
    plain = re.sub(
        r"\b(?:don't|doesn't|won't|isn't|aren't|shouldn't|mustn't|can't)\b", _spelled_out, plain
    )
    return re.sub(r"(?<=\b[a-z])'(?=\w)|(?<=\bqu)'|(?<=dell)'", " ", plain)


_SLICE = r"(?:slices?|segment[oi]?|tranche|ausschnitt|teilmenge|fetta|fatia)"
_SLICE_BEFORE = (
    r"(?:(?:on|in|for|within|auf|im|fur|sur|dans|pour|en|sobre|para|su|nella|sulla|em|no|na)\s+)?"
    rf"(?:(?:the|dem|den|der|die|das|la|le|el|il|lo|o|a)\s+)?{_SLICE}\s+"
)


def speaks_of_slice(text: str) -> bool:
    """Whether a text has a word for a slice."""
    return re.search(rf"(?<!\w){_SLICE}(?!\w)", plain_text(text)) is not None


def cut_out_slices(text: str, names: Iterable[str]) -> tuple[str, list[str]]:
    """Return a text with `on the slice NAME` blanked out, as long as it was, and the names found in
    it.

    Args:
        text: An objective.
        names: Of saved slices.
    """
    found: list[str] = []
    for name in sorted(names, key=len, reverse=True):
        named = rf"['\"]?{re.escape(plain_text(name))}['\"]?"
        match = re.search(rf"(?<!\w){_SLICE_BEFORE}{named}(?![\w-])", plain_text(text))
        if match is not None:
            found.append(name)
            text = text[: match.start()] + " " * len(match[0]) + text[match.end() :]
    return text, found


def _spelled_out(match: re.Match[str]) -> str:
    """Write `don't` as ` not `, filled up to its length."""
    return "not".ljust(len(match[0]))


def worth_of(text: str) -> Worth | None:
    """Return whether a description of a class praises or blames; None where it does neither, or
    both.
    """
    found: set[Worth] = set()
    before = ""
    for token in tokens(text):
        if token.symbol in ("P", "N"):
            praises = (token.symbol == "P") != (before in ("X", "W"))
            found.add("good" if praises else "bad")
        before = token.symbol or before
    return found.pop() if len(found) == 1 else None
