"""What the cells of a label column stand for: words that are clear by themselves, numbers with a
gloss, stars.

Which side of other words is the good one nobody can know: they are asked about, with the option
that answers.
"""

from __future__ import annotations

import csv
import math
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import cast

from .problems import shorten
from .records import Cell
from .small_file import read_our_yaml

_NUMBERS_SHARED = 1024
"""Numbers of which the last so many different ones are there once."""
MISSING = frozenset(
    [
        *("", "nan", "<na>", "null", "none", "na", "n/a", "#n/a", "#nv", "#n/d"),
        *("inf", "+inf", "-inf", "infinity", "-infinity"),
    ]
)
"""What stands for nothing, in lower case; some of them as a spreadsheet of some language writes
them.
"""
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
LOOKED_AT = 10_000
"""Cells at the beginning of a column that show what it holds."""
_MOST_WORDS = 20
"""A column with more different words holds no labels."""
_LONGEST_WORD = 40
_PLAIN = ("yes", "no", "true", "false")
_STARS = frozenset("★⭐☆\ufe0f")
_SKIN_TONES = dict.fromkeys((65039, *range(127995, 128000)))


def _read_table() -> tuple[Mapping[str, float], tuple[Mapping[str, float], ...]]:
    """Return the words of all pairs, and those of each scale."""
    table = read_our_yaml(Path(__file__).parent / "label_words.yaml")
    read = cast("dict[str, list[list[list[str]]]]", table)
    pairs = {
        word: float(grade)
        for pair in read["pairs"]
        for grade, words in enumerate(pair)
        for word in words
    }
    scales = [
        {word: float(at) for at, words in enumerate(scale, 1) for word in words}
        for scale in read["scales"]
    ]
    return pairs, tuple(scales)


WORDS, _SCALES = _read_table()
"""What people write for 1 and 0, as far as it is clear by itself."""


def folded(text: str) -> str:
    """Return a cell as the table has it: lower case, no marks around it, spaces for - and _."""
    text = text.translate(_SKIN_TONES).strip().strip(".!\"'*:").casefold()
    return " ".join(text.replace("_", " ").replace("-", " ").split())


def number_of(text: str) -> float | None:
    """Return the number that a cell is; None for anything else, and beyond all numbers."""
    number = _float(text) if NUMBER.fullmatch(text) else math.nan
    return number if math.isfinite(number) else None


@lru_cache(maxsize=_NUMBERS_SHARED)
def _float(text: str) -> float:
    """Return a number, the same object for a grade that stands in many rows."""
    return float(text)


class ColumnWords:
    """What the words of a column stand for, as its first cells show it; `words_in` reads them."""

    def __init__(self, cells: Sequence[Cell], usual: Mapping[str, float]) -> None:
        self._cells = cells[:LOOKED_AT]
        self._usual = usual
        self.words = words_in(self._cells, usual)

    @property
    def grades(self) -> frozenset[float]:
        """The grades of the scale whose words they are, also those that no cell has; else empty."""
        return frozenset(self.words[word] for word in self.words.keys() - self._usual.keys())

    def hint(self, option: str = "--label-map") -> str | None:
        """Return the option to type for words that say nothing by themselves; None where all do."""
        return map_hint(self._cells, self.words, option)

    def notes(self, side: str) -> list[str]:
        """Return how words were read that nobody gave a grade, but for yes, no, true and false."""
        read: dict[str, float] = {}
        for text in _texts(self._cells):
            grade = _stands_for(text, self.words)
            if grade is not None and not _is_own(text, self._usual) and folded(text) not in _PLAIN:
                read[text] = grade
        if not read or len(read) > _MOST_WORDS:
            return []
        in_order = sorted(read.items(), key=lambda one: (one[1], one[0]))
        listed = ", ".join(f"{text} as {grade:g}" for text, grade in in_order)
        return [f"{side} were read as numbers: {listed}"]


def words_in(cells: Iterable[Cell], usual: Mapping[str, float]) -> Mapping[str, float]:
    """Return what the words of a column stand for, in lower case: what was said of them, then what
    they say themselves.

    `usual` is `WORDS` with what a map or the labels of a scale add; without `WORDS` only it counts,
    such as the classes of a judge that chooses.
    """
    if not usual.keys() >= WORDS.keys():
        return usual
    different_texts = _texts(cells)
    texts = [text for text in different_texts if _is_word(text)]
    if any(number_of(text) is not None for text in different_texts):
        # Beside numbers nobody knows whether `good` is a 1, or `3 apples` a 3.
        return {
            word: grade
            for word, grade in usual.items()
            if word in _PLAIN or WORDS.get(word) != grade
        }
    if any(_is_own(text, usual) for text in texts) or all(
        _stands_for(text, usual) is not None for text in texts
    ):
        return usual
    spelled = {folded(text) for text in texts}
    for scale in _SCALES:
        if spelled <= scale.keys() and len({scale[word] for word in spelled}) == len(spelled):
            return {**usual, **scale, **{text.casefold(): scale[folded(text)] for text in texts}}
    return {**usual, **_glossed(texts)}


def _texts(cells: Iterable[Cell]) -> list[str]:
    """Return the different texts of a column, in the order in which they come."""
    return list(
        dict.fromkeys(str(cell).strip() for cell in dict.fromkeys(cells) if cell is not None)
    )


def _is_own(text: str, usual: Mapping[str, float]) -> bool:
    """Whether somebody said what a word stands for, other than the table does."""
    grade = usual.get(text.casefold())
    return grade is not None and grade != WORDS.get(text.casefold())


def _is_word(text: str) -> bool:
    return text.casefold() not in MISSING and number_of(text) is None


def _stands_for(text: str, words: Mapping[str, float]) -> float | None:
    """Return the grade of a word; NaN where it stands for none, and None where nobody knows."""
    return words.get(text.casefold(), words.get(folded(text)))


def read_grade(value: Cell, words: Mapping[str, float]) -> float | None:
    """Read a grade as people write it: a number, a boolean, `yes`, `no`, `pass`, `fail` or a label
    of the scale.

    None, empty text, NaN and infinities are missing grades, and so is a word that stands for NaN.

    Raises:
        ValueError: The value is none of these.
    """
    if value is None:
        return None
    text = str(value).strip()
    grade = words.get(text.casefold())
    if grade is None:
        if type(value) is int or (type(value) is float and math.isfinite(value)):
            number = _float(text)
            return number if math.isfinite(number) else None
        if text.casefold() in MISSING:
            return None
        grade = None if isinstance(value, bool) else number_of(text)
    if grade is None and not NUMBER.fullmatch(text):
        grade = words.get(folded(text))
        if grade is None:
            raise ValueError(f"{shorten(value)} is neither a number nor {_choices(words)}")
    return None if grade is None or math.isnan(grade) else grade


def _choices(words: Mapping[str, float]) -> str:
    own = [repr(word) for word in words if word not in WORDS or words[word] != WORDS[word]]
    usual = ["'yes'", "'no'", "'pass'", "'fail'"] if words.keys() >= WORDS.keys() else []
    return (
        "one of " + ", ".join([*own[:10], *usual]) if own or usual else "a word that stands for one"
    )


def _glossed(texts: list[str]) -> Mapping[str, float]:
    """Return the numbers of cells such as `4 - Agree`, `Agree (4)`, `4/5` or stars, each of which
    has one word.
    """
    grades: dict[str, float] = {}
    glosses: dict[float, set[str]] = {}
    if len(texts) > _MOST_WORDS or any(len(text) > _LONGEST_WORD for text in texts):
        return {}
    for text in texts:
        match = NUMBER.search(text)
        if _STARS.issuperset(text):
            number, gloss = float(text.count("★") + text.count("⭐")), ""
        elif match is None or text[0] in "[{":
            return {}
        else:
            before, after = text[: match.start()], text[match.end() :]
            says_more = any(char.isalpha() for char in before + after) or after[:1] in ("/", "%")
            if not says_more or before[-1:].isalnum() or after[:1].isalnum():
                return {}
            number, gloss = float(match.group()), f"{before}#{after}".casefold()
        grades[text.casefold()] = number
        glosses.setdefault(number, set()).add(gloss)
    different = set[str]().union(*glosses.values())
    one_each = all(len(words) == 1 for words in glosses.values())
    alike = len(different) == 1
    own = len(different) == len(glosses) and not any(
        char.isdecimal() for gloss in different for char in gloss
    )
    return grades if one_each and (alike or own) else {}


def map_hint(
    cells: Iterable[Cell], words: Mapping[str, float], option: str = "--label-map"
) -> str | None:
    """Return the option to type for the words of a column that say nothing by themselves; None
    where all do.
    """
    grades = {
        text: _stands_for(text, words)
        for text in _texts(cells)
        if _is_word(text) or text.casefold() in words
    }
    if all(grade is not None for grade in grades.values()):
        return None
    if len(grades) > _MOST_WORDS or max(map(len, grades)) > _LONGEST_WORD:
        return f"is it the right column? name it with --{option[2:].removesuffix('-map')} COLUMN"
    pairs = write_grade_map(
        {text: "?" if grade is None else grade for text, grade in grades.items()}
    )
    return (
        f"say what they stand for, with a number or none for each ?: {option} {shlex.quote(pairs)}"
    )


def write_grade_map(mapped: Mapping[str, float | str | None]) -> str:
    """Write a map as `parse_grade_map` reads it; NaN is none, too."""
    pairs: list[str] = []
    for text, grade in mapped.items():
        target = (
            grade
            if isinstance(grade, str)
            else "none"
            if grade is None or math.isnan(grade)
            else f"{grade:g}"
        )
        pairs.append(f"{_quoted(text)}={target}")
    return ",".join(pairs)


def split_pairs(text: str) -> list[str]:
    """Return the parts of `a=1,b=0`; one with a comma in it stands in quotation marks."""
    return next(csv.reader([text], skipinitialspace=True), None) or [text]


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if set(text) & {",", '"'} else text
