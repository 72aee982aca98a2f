"""What a row's texts are like, worked out from the texts alone: columns to slice by that nobody had
to fill in.

`statement:words` is a feature of one field, `statement:numbers_in_source` one of a field beside
another. It needs nothing but its own row, so a predicate over it holds or not for any row.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Mapping, Sequence

from ..judges import Row
from ..judges.retrieval import words as split_words
from ..judges.rows import Scalar

CACHED_TEXTS = 256
"""Texts whose words are remembered at a time: rows of one group often share a source."""
MAX_FIELDS = 6
"""Fields that are read; of more, those with the most characters."""

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_CAPITALISED = re.compile(r"(?<=[^\s.!?:;\"“”'‘(\[*•–—-] )(?:[^\W\d_]{2}|[^\W\d_]\.)[\w'’.-]*")
"""Words of two letters and more, and initials, that do not begin a sentence."""
LONG_WORD = 4
"""Letters from which a word counts in an overlap: shorter ones mostly carry grammar."""


class _Text:
    """One text, each of whose parts and features is worked out once, when it is first needed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._features: dict[str, Scalar] = {}

    def feature(self, name: str) -> Scalar:
        """Return a feature of the text alone, a name of `ALONE`."""
        if name not in self._features:
            self._features[name] = ALONE[name](self)
        return self._features[name]

    @functools.cached_property
    def words(self) -> list[str]:
        return split_words(self.text)

    @functools.cached_property
    def distinct(self) -> frozenset[str]:
        return frozenset(self.words)

    @functools.cached_property
    def numbers(self) -> frozenset[str]:
        """Its numbers as digits: 1,000 as 1000 and 2.50 as 2.5."""
        return frozenset(map(_plain_number, _NUMBER.findall(self.text)))

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """The words of its capitalised words, but for those that begin a sentence."""
        names: set[str] = set()
        for word in set(_CAPITALISED.findall(self.text)):
            if word[0].isupper():
                names.update(split_words(word))
        return frozenset(names)


def _plain_number(text: str) -> str:
    integer, point, fraction = text.replace(",", "").rpartition(".")
    if not point:
        return fraction.lstrip("0") or "0"
    if "." in integer:  # a date or a version
        return text
    return f"{integer.lstrip('0') or '0'}.{fraction}".rstrip("0").rstrip(".")


def _words_in(text: _Text, other: _Text) -> float | None:
    long = {word for word in text.distinct if len(word) >= LONG_WORD}
    if not long:
        return None
    return round(len(long & other.distinct) / len(long), 2)


def _numbers_in(text: _Text, other: _Text) -> bool | None:
    if not text.numbers:
        return None
    return text.numbers <= other.numbers


def _names_in(text: _Text, other: _Text) -> bool | None:
    if not text.names:
        return None
    return text.names <= other.distinct


# In the order of their turn where rows are few: what most often trips a judge comes first.
COMPARED: Mapping[str, Callable[[_Text, _Text], Scalar]] = {
    "words_in_": _words_in,
    "numbers_in_": _numbers_in,
    "names_in_": _names_in,
}
"""Features of a field beside another, whose name follows: the share of its different words
of four letters and more found there; whether all its numbers are, and all its names, missing where
it has none."""
ALONE: Mapping[str, Callable[[_Text], Scalar]] = {
    "words": lambda text: len(text.words),
    "has_number": lambda text: bool(text.numbers),
    "lines": lambda text: len(text.text.splitlines()),
    "characters": lambda text: len(text.text),
}
"""Features of one field."""


class Columns:
    """Reads columns of rows: a metadata column, a feature of the texts, or a text itself, whichever
    has the name.
    """

    def __init__(self) -> None:
        self._read = functools.lru_cache(maxsize=CACHED_TEXTS)(_Text)

    def value(self, row: Row, name: str) -> Scalar:
        """Return a row's value in a column; None where it has none."""
        if name in row.meta:
            return row.meta[name]
        field, colon, feature = name.rpartition(":")
        if not colon or field not in row.inputs:
            return row.inputs.get(name)
        if feature in ALONE:
            return self._read(row.inputs[field]).feature(feature)
        for prefix, compare in COMPARED.items():
            other = feature.removeprefix(prefix)
            if feature.startswith(prefix) and other in row.inputs:
                return compare(self._read(row.inputs[field]), self._read(row.inputs[other]))
        return row.inputs.get(name)


def is_column(row: Row, name: str) -> bool:
    """Whether a row has a column of this name, be it metadata, a feature of a text, or a text."""
    if name in row.meta or name in row.inputs:
        return True
    field, _, feature = name.rpartition(":")
    if field not in row.inputs:
        return False
    others = [feature.removeprefix(prefix) for prefix in COMPARED if feature.startswith(prefix)]
    return feature in ALONE or any(other in row.inputs for other in others)


def feature_rank(name: str) -> int:
    """Return 0 for metadata; for a feature of texts the later its turn where rows are few, the
    more.
    """
    feature = name.rpartition(":")[2] if ":" in name else ""
    for rank, candidate in enumerate((*COMPARED, *ALONE), 1):
        if feature == candidate or (candidate in COMPARED and feature.startswith(candidate)):
            return rank
    return 0


def feature_names(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the features that rows have, in the order of `feature_rank`.

    The field with fewer characters in all is looked for in the other, as a statement in its source.
    """
    sizes: dict[str, int] = {}
    for row in rows:
        for field, text in row.inputs.items():
            sizes[field] = sizes.get(field, 0) + len(text)
    filled = [field for field, size in sizes.items() if size]
    fields = sorted(filled, key=lambda field: (sizes[field], field))[-MAX_FIELDS:]
    names = [f"{field}:{feature}" for field in fields for feature in ALONE]
    for shorter, longer in itertools.combinations(fields, 2):
        names += [f"{shorter}:{prefix}{longer}" for prefix in COMPARED]
    return tuple(sorted(names, key=lambda name: (feature_rank(name), name)))


def read_columns(
    rows: Sequence[Row], names: Sequence[str], *, progress: Callable[[int, int], None] | None = None
) -> dict[str, list[Scalar]]:
    """Return the values of features for each row, by the feature's name.

    Args:
        rows: The rows.
        names: The features.
        progress: Called with how many rows are done, and of how many.
    """
    columns = Columns()
    table: list[list[Scalar]] = [[] for _ in rows]
    # Row by row, so that each text is taken apart once for all of its features; rows that share
    # their longest text one after the other, so that it is once for all of those.
    order = sorted(
        range(len(rows)), key=lambda i: max(rows[i].inputs.values(), key=len, default="")
    )
    for done, i in enumerate(order, 1):
        table[i] = [columns.value(rows[i], name) for name in names]
        if progress is not None:
            progress(done, len(rows))
    return {name: [line[i] for line in table] for i, name in enumerate(names)}
