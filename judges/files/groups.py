"""Groups where no column names them: rows that share an input err together and stay on one side of
a split.

Search rows share their query, and rows about a document share its text. The input that repeats far
more than the others makes the groups:

* it has `FEWEST` different values or more, and `FAR_MORE` rows a value or more;
* every other input has at most `1 / FAR_MORE` of its rows a value, but for inputs with fewer than
  `FEWEST` values, such as an instruction, and for those that go along with it: a question that
  always has the same source repeats no less because the source does, and the source makes the
  groups;
* the longest input does not follow from it: questions about a dozen documents leave the documents
  as groups.

Where no input does, rows that share their longest input are a group, as the source is the longest
as a rule.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..rows import Dataset, hash_rows

NO_GROUP = "none"
"""What is said instead of a column for rows that are each a group of their own."""
_NO_COLUMNS: Mapping[str, str] = {}
FEWEST = 20
FAR_MORE = 2.0
_FEW_VALUES = 3
"""An input with fewer values is an instruction rather than something that a decision could be
about.
"""
UNGROUPED = "every row is a group of its own, as no column names the group (--group COLUMN does)"
"""What is said of a file of verdicts without a group."""
_ALONE = f"every row is a group of its own, as --group {NO_GROUP} says"
_COMPARED = 1_000_000
"""Characters up to which white space makes no difference between two texts."""

Texts = Mapping[str, Sequence[str]]
"""By input, its text in every row."""


def longest_input(texts: Texts) -> str:
    """Return the input with the longest texts: the source, which responses share."""
    return max(texts, key=lambda name: sum(map(len, texts[name])))


def repeating_input(texts: Texts, *, fewest: int = FEWEST) -> str | None:
    """Return the input that repeats far more than the others; None where none does."""
    counts = {name: len(set(column)) for name, column in texts.items()}
    rows = len(next(iter(texts.values()), ()))
    able = [name for name, count in counts.items() if count >= fewest and rows >= FAR_MORE * count]
    if not able:
        return None
    # Of two that go along with each other, such as a question and its answer, the longer one.
    first = min(able, key=lambda name: (counts[name], -sum(map(len, texts[name]))))
    longest = longest_input(texts)
    if 1 < counts[longest] < counts[first] and _follows(texts[longest], texts[first]):
        return None
    for name, count in counts.items():
        far_less = count >= FAR_MORE * counts[first]
        if count >= fewest and not far_less and not _follows(texts[first], texts[name]):
            return None
    return first


def shared_input(texts: Texts, *, fewest: int = FEWEST) -> str | None:
    """Return the input that makes the groups of verdicts, whose texts may be no inputs; None for
    rows that stand alone.

    It is the one that repeats far more than the others, else the longest if it repeats at all.
    """
    name = repeating_input(texts, fewest=fewest)
    if name is not None or not texts:
        return name
    longest = longest_input(texts)
    count = len(set(texts[longest]))
    return longest if fewest <= count <= len(texts[longest]) / FAR_MORE else None


def _follows(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether each text of the other has always the same one beside it."""
    return len(set(zip(other, one, strict=True))) == len(set(other))


def key_of(text: str) -> str:
    """Return the name of the group of rows that share a text; white space makes no other text."""
    # The words of a very long text, one by one, would take ten times its size.
    if len(text) > _COMPARED:
        body = hashlib.blake2b(text.encode("utf-8", "surrogatepass")).hexdigest()
        text = f"{text[:_COMPARED]} {len(text)} {body}"
    words = " ".join(text.split()).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(words, digest_size=8).hexdigest()


def group_note(column: str, count: int) -> str:
    """Return which rows are a group, and how many groups there are."""
    groups = "group" if count == 1 else "groups"
    return f"rows that share the same {column} are one group ({count:,} {groups})"


@dataclass(frozen=True, slots=True)
class GuessedGroups:
    """The groups of rows of which no column names them."""

    column: str | None
    """The input that makes them; None where each row is one of its own."""
    keys: Sequence[str] = ()
    """The name of each row's group; empty where each stands alone."""
    longest: bool = True
    """Whether it is the longest one."""
    note: str = ""
    """What else is to be said."""

    @property
    def text(self) -> str:
        """The text whose rows are a group; empty where a column names the groups, or nothing."""
        return self.column or "" if self.keys else ""

    def notes(self, count: int) -> list[str]:
        """Return what to know of so many groups."""
        if self.column is None:
            return [self.note]
        note = group_note(self.column, count)
        if not self.longest:
            note += (
                f", as it repeats far more than other texts (--group COLUMN or --group {NO_GROUP}"
                " says otherwise)"
            )
        return [note, self.note] if self.note else [note]


def guess_groups(
    texts: Texts,
    *,
    ungrouped: bool = False,
    inputs: bool = True,
    fewest: int = FEWEST,
    columns: Mapping[str, str] = _NO_COLUMNS,
) -> GuessedGroups:
    """Group at least one row by one of their texts, or let each stand alone if `ungrouped`.

    Where the texts are no inputs of a judge but columns of a file of verdicts, rows stand alone if
    none with `fewest` values repeats. The note has the names in `columns` for inputs that are
    there.
    """
    if ungrouped:
        return GuessedGroups(None, note=_alone_note(repeating_input(texts)))
    name = (
        repeating_input(texts) or longest_input(texts)
        if inputs
        else shared_input(texts, fewest=fewest)
    )
    if name is None:
        return GuessedGroups(None, note=UNGROUPED)
    keys = [key_of(text) for text in texts[name]]
    return GuessedGroups(
        name,
        keys,
        longest=name == longest_input(texts),
        note=_few_values_note(texts, name, columns),
    )


def _alone_note(repeating: str | None) -> str:
    if repeating is None:
        return _ALONE
    return (
        f"{_ALONE}: intervals take rows that share the same {repeating} for independent, and"
        " metrics of rankings are left out, as no group is a query"
    )


def _few_values_note(texts: Texts, column: str, columns: Mapping[str, str]) -> str:
    """Say that another input repeats far more than the one that makes the groups, though it has few
    values.
    """
    rows = len(texts[column])
    most = len(set(texts[column])) / FAR_MORE**2
    counts = {name: len(set(values)) for name, values in texts.items()}
    fewer = {name: count for name, count in counts.items() if _FEW_VALUES <= count <= most}
    if not fewer:
        return ""
    name = min(fewer, key=lambda name: fewer[name])
    return (
        f"{name} has {fewer[name]:,} values in {rows:,} rows: for a decision about a new {name},"
        f" rather than a new {column}, say --group {columns.get(name, name)}"
    )


def group_by_text(dataset: Dataset, *, fewest: int = FEWEST) -> Dataset:
    """Group rows of which none has a group by the text that repeats, where one does; see
    `guess_groups`.
    """
    names = dict.fromkeys(name for row in dataset.rows for name in row.inputs)
    texts = {name: [row.inputs.get(name, "") for row in dataset.rows] for name in names}
    wanted_alone = any(note.startswith(_ALONE) for note in dataset.notes)
    if not texts or wanted_alone or any(row.group for row in dataset.rows):
        return dataset
    guessed = guess_groups(texts, inputs=False, fewest=fewest)
    if guessed.column is None:
        return dataset
    notes = [note for note in dataset.notes if note != UNGROUPED]
    notes += guessed.notes(len(set(guessed.keys)))
    rows = [replace(row, group=key) for row, key in zip(dataset.rows, guessed.keys, strict=True)]
    return replace(dataset, rows=tuple(rows), content_hash=hash_rows(rows), notes=tuple(notes))
