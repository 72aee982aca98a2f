"""A slice: the rows for which a readable predicate over their columns holds.

A column is one of metadata, a feature of the texts such as `statement:words` (`text.py`), or a text
itself. A predicate is a conjunction. Its text, such as `dataset = RAGTruth and source_words in
[150, 400) and statement contains refund`, is how it is shown, stored and typed, and parses back to
an equal predicate.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import orjson

from ..judges import BoolArray, InputError, Row
from ..judges.retrieval import words as split_words
from ..judges.rows import Scalar
from .text import Columns

ALL_ROWS = "all rows"
"""How the slice without conditions is written."""
UNTESTED = "poorest, untested"
"""The evidence for a slice that was picked for its rate alone."""
_BARE = re.compile(r"[^\s\"()\[\],<>=!]+")
_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|<=|>=|==|!=|[<>=\[\](),]|[^\s"()\[\],<>=!]+)')
_WORDS = frozenset({"and", "contains", "in", "is", "missing"})
_MAX_TEXT = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Equals:
    """The column holds this value; numbers and truth values are compared by their text (`3`, `0.5`,
    `true`).
    """

    column: str
    value: str

    def holds(self, value: Scalar) -> bool:
        """Whether a row with this value in the column is inside."""
        return not is_missing(value) and text_of(value) == self.value

    def __str__(self) -> str:
        return f"{_quoted(self.column)} = {_quoted(self.value)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """The column has no value: it is absent, null or NaN."""

    column: str

    def holds(self, value: Scalar) -> bool:
        """Whether a row with this value in the column is inside."""
        return is_missing(value)

    def __str__(self) -> str:
        return f"{_quoted(self.column)} is missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """The column holds a number in [low, high); an infinite end is open."""

    column: str
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise InputError(
                f"the interval of {self.column!r} is empty: [{self.low!r}, {self.high!r})"
            )

    def holds(self, value: Scalar) -> bool:
        """Whether a row with this value in the column is inside."""
        return is_number(value) and self.low <= float(value) < self.high  # type: ignore[arg-type]  # a number

    def __str__(self) -> str:
        name = _quoted(self.column)
        if self.low == -math.inf:
            return f"{name} < {number_text(self.high)}"
        if self.high == math.inf:
            return f"{name} >= {number_text(self.low)}"
        return f"{name} in [{number_text(self.low)}, {number_text(self.high)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contains:
    """The column's text has this word, or these words in a row; case and punctuation do not
    count.
    """

    column: str
    word: str

    def __post_init__(self) -> None:
        if not split_words(self.word):
            raise InputError(f"{self.word!r} holds no word that a text could contain")

    def holds(self, value: Scalar) -> bool:
        """Whether a row with this value in the column is inside."""
        if is_missing(value):
            return False
        wanted, text = split_words(self.word), text_of(value)
        # A cheap look first: most texts do not have the word and need not be taken apart.
        if text.isascii() and wanted[0] not in text.lower():
            return False
        words = split_words(text)
        if len(wanted) == 1:
            return wanted[0] in words
        return any(words[start : start + len(wanted)] == wanted for start in range(len(words)))

    def __str__(self) -> str:
        return f"{_quoted(self.column)} contains {_quoted(self.word)}"


Condition = Equals | Missing | Interval | Contains


def join(first: Condition, last: Condition) -> Condition:
    """Return the interval from the first to the last of neighbouring ones; any other condition
    stands alone.
    """
    if isinstance(first, Interval) and isinstance(last, Interval):
        return Interval(column=first.column, low=first.low, high=last.high)
    return first


@dataclass(frozen=True, slots=True, init=False)
class Predicate:
    """Every condition holds; the order in which they are given does not matter. Without conditions:
    all rows.
    """

    conditions: tuple[Condition, ...]

    def __init__(self, conditions: Sequence[Condition] = ()) -> None:
        object.__setattr__(self, "conditions", tuple(sorted(set(conditions), key=str)))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it looks at."""
        return tuple(dict.fromkeys(condition.column for condition in self.conditions))

    def mask(self, rows: Sequence[Row]) -> BoolArray:
        """Return whether each row is inside; shape (rows,).

        Features of texts are worked out here.
        """
        columns = Columns()
        inside = np.ones(len(rows), np.bool_)
        for condition in self.conditions:
            values = (columns.value(row, condition.column) for row in rows)
            inside &= np.fromiter(map(condition.holds, values), np.bool_, len(rows))
        return inside

    def __str__(self) -> str:
        return " and ".join(map(str, self.conditions)) or ALL_ROWS


def is_missing(value: Scalar) -> bool:
    """Whether a metadata value stands for no value."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def is_number(value: Scalar) -> bool:
    """Whether a metadata value is a number; truth values are not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and not is_missing(value)


def text_of(value: Scalar) -> str:
    """Return the text by which a metadata value is compared and shown."""
    if isinstance(value, bool):
        return "true" if value else "false"
    # Beyond 2**53 a float no longer holds every whole number.
    if isinstance(value, int | float) and abs(value) < 2**53:
        return number_text(float(value))
    return str(value)


def number_text(value: float) -> str:
    """Write a number as short as it reads back exactly, whole ones without a point."""
    exact = float(value)
    if exact.is_integer() and abs(exact) < 1e15:
        return str(int(exact))
    return repr(exact)


def parse_predicate(text: str) -> Predicate:
    """Read a predicate: conditions joined by `and`.

    A condition is `column = value`, `column is missing`, `column contains word`, `column in [low,
    high)`, or a column compared with a number by `>=`, `>`, `<` or `<=`. Names and values that hold
    spaces, brackets or operators stand in double quotes. `all rows` has no conditions.

    Raises:
        InputError: The text is none of that.
    """
    if text.strip() == ALL_ROWS:
        return Predicate()
    tokens = _tokens(text)
    conditions: list[Condition] = []
    while True:
        condition, tokens = _condition(tokens, text)
        conditions.append(condition)
        if not tokens:
            return Predicate(conditions)
        if tokens[0] != "and":
            raise _unreadable(text, f"expected `and` before {tokens[0]!r}")
        tokens = tokens[1:]


def _tokens(text: str) -> list[str]:
    if len(text) > _MAX_TEXT:
        raise InputError(f"the slice has {len(text):,} characters; at most {_MAX_TEXT:,} are read")
    tokens: list[str] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        token = _TOKEN.match(text, position)
        if token is None:
            raise _unreadable(text, f"cannot read {text[position : position + 10]!r}")
        tokens.append(token[1])
        position = token.end()
    return tokens


def _condition(tokens: list[str], text: str) -> tuple[Condition, list[str]]:
    match tokens:
        case [column, "is", "missing", *rest]:
            return Missing(column=_unquoted(column, text)), rest
        case [column, "contains", word, *rest]:
            return Contains(column=_unquoted(column, text), word=_unquoted(word, text)), rest
        case [column, "=" | "==", value, *rest]:
            return Equals(column=_unquoted(column, text), value=_unquoted(value, text)), rest
        case [column, "in", "[", low, ",", high, ")", *rest]:
            return (
                Interval(
                    column=_unquoted(column, text), low=_number(low, text), high=_number(high, text)
                ),
                rest,
            )
        case [column, ">=", low, *rest]:
            return Interval(column=_unquoted(column, text), low=_number(low, text)), rest
        case [column, "<", high, *rest]:
            return Interval(column=_unquoted(column, text), high=_number(high, text)), rest
        # An interval is closed below and open above: the other two end at the next number.
        case [column, ">", low, *rest]:
            return Interval(column=_unquoted(column, text), low=_next(_number(low, text))), rest
        case [column, "<=", high, *rest]:
            return Interval(column=_unquoted(column, text), high=_next(_number(high, text))), rest
    raise _unreadable(
        text,
        "expected `column = value`, `column is missing`, `column contains word`, `column in [low,"
        " high)` or `column >= number`",
    )


def _next(bound: float) -> float:
    return math.nextafter(bound, math.inf)


def _number(token: str, text: str) -> float:
    try:
        value = float(token)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise _unreadable(text, f"{token!r} is not a number")
    return value


def _quoted(word: str) -> str:
    if _BARE.fullmatch(word) and word not in _WORDS:
        return word
    return orjson.dumps(word).decode()


def _unquoted(token: str, text: str) -> str:
    if not token.startswith('"'):
        if token in _WORDS or not _BARE.fullmatch(token):
            raise _unreadable(text, f"{token!r} is not a name or value here")
        return token
    try:
        return str(orjson.loads(token))
    except orjson.JSONDecodeError:
        raise _unreadable(text, f"{token} is not a quoted text") from None


def _unreadable(text: str, reason: str) -> InputError:
    return InputError(
        f"slice {text[:200]!r} cannot be read: {reason}",
        hint="for example: dataset = RAGTruth and source_words in [150, 400)",
    )
