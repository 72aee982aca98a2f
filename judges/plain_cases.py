"""Which decided cases stand before a row, and how they are written, in plain Python.

Judgewright shows cases with this file, and a Python export carries it as it stands, so that it
shows the same ones; it imports nothing but the standard library. `nearest_cases.py` makes the same
comparison quicker, with numpy.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

CASE_FENCE = "decided_case"
"""The name of the fence round a case."""
HEADING = (
    "Decided cases: rows that people have graded, each with their grade. They show where these"
    " people draw the line, and are no part of the row to judge, which stands after them."
)
ROW_HEADING = "The row to judge:"

SIMILAR = 0.8
"""Jaccard similarity of shingles from which two rows are near-duplicates."""
SHINGLE = 5
# One changed word spoils five shingles of a long row's hundreds, but most of a short row's;
# three-word ones bear it.
SHORT_ROW, SHORT_SHINGLE = 60, 3
ASCII_WORDS = "".join(
    chr(i).lower() if chr(i).isalnum() or chr(i) == "_" else " " for i in range(128)
)
"""For `str.translate`: each ASCII letter in lower case, digits and the underscore as they are, a
space for all else.
"""
# Chinese and Japanese put no spaces between words, so each character counts as one.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")

LEAST_WORDS = 5
"""A shorter text, such as `yes`, stands in many rows and tells nothing about which one it is."""
LONG = 20
"""Words of a text from which an edited one is known again."""
MANY = 50
"""A text that more than one group in so many has, and more than a few, is a phrase that rows share.
"""

WIDTH = 4
"""Characters of a gram."""
UNIT = 1000.0
"""Weights are rounded to a thousandth and counted in it."""
COMMON = 8
"""A gram that more than one text in so many holds says little of any of them, and costs most of the
search; see `most_texts`.
"""
CHEAP = 400
"""Texts of one gram that are compared in a fraction of a millisecond. A small bank keeps grams of
up to three texts in ten: the form of a kind of text, a letter's or a chat's, is in no rarer ones.
"""
_64_BITS = (1 << 64) - 1


class CaseText(Protocol):
    """What is shown of a case, and what tells that it was the row itself."""

    @property
    def inputs(self) -> Mapping[str, str]: ...
    @property
    def reason(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def group(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """How a judge shows the cases of a bank."""

    inputs: Sequence[str]
    """What the judge reads of a row."""
    count: int
    by: str
    """`near`, `fixed` or `random`; for any other word whoever chooses gives the order."""
    tag: str
    """Closes the fences of all cases. A case cannot know it; in a row it is broken up."""
    what: str
    """What people gave a case: a grade, or a label."""
    verdicts: Sequence[str]
    """Of each case, as the judge would write it."""
    decisions: Sequence[int]
    """Of each case; each gets the same number of cases. All are equal where that is not wanted."""
    max_tokens: int | None = None
    tokens: Sequence[int] = ()
    """Of each case, where there is a limit."""


class CaseChoice:
    """Chooses and writes the cases of one judge, never one that would give a row's own label away.

    The rule holds wherever a judge is asked, so that a judge does in use what was measured.
    """

    def __init__(
        self,
        cases: Sequence[CaseText],
        showing: Showing,
        groups: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        """Prepare a choice; what `groups_of_texts` returns is worked out where it is not at
        hand.
        """
        self.cases = cases
        self.showing = showing
        self._kinds = sorted(set(showing.decisions))
        self._twice = ""
        self._groups_of_texts = groups
        self._nearest: PlainNearestTexts | None = None

    @property
    def texts(self) -> list[Mapping[str, str]]:
        """The inputs of each case."""
        return [case.inputs for case in self.cases]

    def text(self, inputs: Mapping[str, str]) -> str:
        """Return what stands before a row in the user message; empty where no case may."""
        return self.written(self.choose(inputs, self.order(inputs)))

    def first_text(self) -> str:
        """Return the same for a prompt that shows every row one set of cases: the first ones of the
        bank.
        """
        return self.written(self.choose(None, range(len(self.cases))))

    def written(self, numbers: Sequence[int]) -> str:
        """Return cases as they stand before a row."""
        if not numbers:
            return ""
        return "\n\n".join([HEADING, *map(self.case_text, numbers), f"{ROW_HEADING}\n\n"])

    def without_tag(self, inputs: Mapping[str, str]) -> dict[str, str]:
        """Return a row's inputs with the tag of the cases broken up, so that it cannot write one
        itself.
        """
        return {name: self._broken(text) for name, text in inputs.items()}

    def choose(
        self,
        inputs: Mapping[str, str] | None,
        order: Iterable[int],
        *,
        id: str = "",
        group: str = "",
    ) -> tuple[int, ...]:
        """Return the numbers of the cases for a row, in the order in which they are shown.

        The nearest stands last, next to the row; fixed ones stand in the order of the bank.

        Args:
            inputs: The row's; None for a set that stands before all rows.
            order: The numbers of all cases, the one to be shown first.
            id: The row's, where it has one.
            group: Likewise.
        """
        order, showing = list(order), self.showing
        row = None if inputs is None else RowWords(self._read(inputs))
        related = set[str]() if row is None else self._related(row)

        def may_show(case: CaseText, number: int) -> bool:
            if _group_of(case, number) in related or _same_row_or_group(case, id, group):
                return False
            return row is None or not self._alike(row, RowWords(self._read(case.inputs)))

        queues = [self._places(kind, order, may_show) for kind in self._kinds]
        places: list[int] = []
        left = showing.max_tokens
        while queues and len(places) < showing.count:
            # One of each decision, the nearest first; a last round that is too short for all has
            # the nearest of them.
            heads: list[tuple[int, Iterator[int]]] = []
            for queue in queues:
                heads += [(place, queue) for place in islice(queue, 1)]
            queues = [queue for _, queue in heads]
            while heads and len(places) < showing.count:
                place, queue = heads.pop(heads.index(min(heads, key=lambda head: head[0])))
                if left is None:
                    places.append(place)
                elif showing.tokens[order[place]] <= left:
                    places.append(place)
                    left -= showing.tokens[order[place]]
                else:
                    heads += [(place, queue) for place in islice(queue, 1)]
        places.sort(reverse=showing.by != "fixed")
        return tuple(order[place] for place in places)

    def _places(
        self, decision: int, order: Sequence[int], may_show: Callable[[CaseText, int], bool]
    ) -> Iterator[int]:
        """Yield the places in an order whose case is of a decision and may stand before a row."""
        for place, number in enumerate(order):
            if self.showing.decisions[number] == decision and may_show(self.cases[number], number):
                yield place

    def _related(self, row: RowWords) -> set[str]:
        """Return the groups of cases that have one of a row's longer texts, such as its source."""
        if self._groups_of_texts is None:
            self._groups_of_texts = groups_of_texts(self.cases, self.showing.inputs)
        texts = self._groups_of_texts
        return {group for text in row.long_texts() for group in texts.get(text, ())}

    def _alike(self, row: RowWords, case: RowWords) -> bool:
        """Whether a case is nearly the row, or has nearly one of its texts that tell its group."""
        if row.whole(case.whole.words):
            return True
        for mine, theirs in zip(row.texts, case.texts, strict=True):
            if len(mine.words) >= LONG and mine(theirs.words):
                tells = " ".join(theirs.words) in (self._groups_of_texts or {})
                if tells:
                    return True
        return False

    def order(self, inputs: Mapping[str, str]) -> Sequence[int]:
        """Return the numbers of all cases, the one to be shown first."""
        numbers = range(len(self.cases))
        if self.showing.by == "fixed":
            return numbers
        text = self.retrieval_text(inputs)
        if self.showing.by == "random":
            seed = int.from_bytes(seed_of(text), "little")
            return sorted(numbers, key=lambda number: _mixed((number + seed) & _64_BITS))
        scores = self.nearest().scores(text)
        return sorted(numbers, key=lambda number: -scores[number])

    def nearest(self) -> PlainNearestTexts:
        """Return the cases, counted once."""
        if self._nearest is None:
            self._nearest = PlainNearestTexts(retrieval_texts(self.texts, self.showing.inputs))
        return self._nearest

    def retrieval_text(self, inputs: Mapping[str, str]) -> str:
        """Return what is compared of a row with the cases."""
        if not self._twice:
            self._twice = shortest_input(self.texts, self.showing.inputs)
        return retrieval_text(inputs, self.showing.inputs, self._twice)

    def case_text(self, number: int) -> str:
        """Return a case in its fence."""
        case, showing = self.cases[number], self.showing
        parts = [self._fenced(name, case.inputs[name]) for name in showing.inputs]
        parts.append(f"People's {showing.what}: {self._broken(showing.verdicts[number])}")
        if case.reason.strip():
            parts.append(f"People's reason:\n{self._fenced('reason', case.reason)}")
        return self._tagged(CASE_FENCE, "\n".join(parts))

    def _fenced(self, name: str, text: str) -> str:
        return self._tagged(name, self._broken(text))

    def _tagged(self, name: str, text: str) -> str:
        return f"<{name}-{self.showing.tag}>\n{text}\n</{name}-{self.showing.tag}>"

    def _broken(self, text: str) -> str:
        tag = self.showing.tag
        return text.replace(tag, f"{tag[:4]} {tag[4:]}")

    def _read(self, inputs: Mapping[str, str]) -> dict[str, str]:
        return {name: inputs[name] for name in self.showing.inputs}


@dataclass(frozen=True, slots=True)
class _ExportedCase:
    """A line of a bank that an export carries."""

    inputs: Mapping[str, str]
    label: str
    reason: str = ""
    id: str = ""
    group: str = ""


def read_choice(node: Mapping[str, Any], folder: Path) -> CaseChoice:
    """Return the cases of a judge as `cases` of an export's `judge.json` names them.

    Args:
        node: The bank, how it is shown, and what each label of it is to the judge.
        folder: Where the bank lies.
    """
    lines = (folder / node["bank"]).read_text(encoding="utf-8").split("\n")
    cases = [_ExportedCase(**json.loads(line)) for line in lines if line]
    verdicts, decisions = zip(*(node["labels"][case.label] for case in cases), strict=True)
    how = Showing(**node["showing"], verdicts=verdicts, decisions=decisions)
    choice = CaseChoice(cases, how, groups_of_texts(cases, how.inputs))
    if how.by == "near":
        choice.nearest()  # before a tool asks in several threads, of which each would count
    return choice


def groups_of_texts(
    cases: Sequence[CaseText], names: Sequence[str]
) -> Mapping[str, Collection[str]]:
    """Return, by each longer text of a bank, the groups of cases that have it: so a row's group is
    known where it has another name. A phrase that many groups share tells nothing and is left out.
    """
    groups: defaultdict[str, set[str]] = defaultdict(set)
    for number, case in enumerate(cases):
        for text in RowWords({name: case.inputs[name] for name in names}).long_texts():
            groups[text].add(_group_of(case, number))
    count = len({_group_of(case, number) for number, case in enumerate(cases)})
    most = max(count / MANY, min(20, count / 4))
    return {text: those for text, those in groups.items() if len(those) <= most}


def _group_of(case: CaseText, number: int) -> str:
    return case.group or case.id or f"\0{number}"


def _same_row_or_group(case: CaseText, id: str, group: str) -> bool:
    """Whether a case was the row itself, or stands in its group.

    A claim of a row without a group has the row's id as its group.
    """
    own_group = case.group or case.id
    return bool((case.id and case.id == id) or (own_group and own_group == group))


# --- near-duplicates


class AlikeWords:
    """Tells of texts, one by one, whether they have nearly the words of one text, at a few
    microseconds where they have little in common.
    """

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self._shingles: dict[int, set[tuple[str, ...]]] = {}

    def __call__(self, words: list[str]) -> bool:
        if words == self.words or self._alike(words, SHINGLE):
            return True
        short = max(len(words), len(self.words)) < SHORT_ROW
        return short and self._alike(words, SHORT_SHINGLE)

    def _alike(self, words: list[str], width: int) -> bool:
        """Whether enough shingles of so many words are in common."""
        if width not in self._shingles:
            self._shingles[width] = set(_word_shingles(self.words, width))
        own = self._shingles[width]
        if max(len(words) - width + 1, 1) < SIMILAR * len(own):
            return False
        # At this similarity at most a quarter of what is in common may be missing.
        most = int(len(own) * (1 / SIMILAR - 1)) + 1
        shingles = _word_shingles(words, width)
        # The beginning of nearly all rows has that many more.
        if len(set(islice(shingles, most + most // 4 + 1)) - own) > most:
            return False
        other = set(_word_shingles(words, width))
        common = len(own & other)
        return common / (len(own) + len(other) - common) >= SIMILAR


class RowWords:
    """The words of a row, input by input and all together, to compare rows as
    `join_near_duplicates` compares a pair of whole ones.
    """

    def __init__(self, inputs: Mapping[str, str]) -> None:
        texts = [inputs[name] for name in sorted(inputs)]
        self.texts = [AlikeWords(plain_words(text)) for text in texts]
        words = [word for text in self.texts for word in text.words]
        self.whole = AlikeWords(words or " ".join(texts).split())

    def long_texts(self) -> Iterator[str]:
        """Yield the texts of so many words that they tell a row, in one spelling."""
        for text in self.texts:
            if len(text.words) >= LEAST_WORDS:
                yield " ".join(text.words)


def _word_shingles(words: list[str], width: int) -> Iterator[tuple[str, ...]]:
    """Return the runs of so many words; fewer words are one."""
    width = min(width, len(words))
    return zip(*(words[offset:] for offset in range(width)), strict=False)


def words_of(text: str) -> list[str]:
    """Return a text's words as a reader sees them: without case, accents, width variants and
    invisible characters.

    Where no spaces stand between words each character is one; a text without any word is split at
    its spaces.
    """
    return plain_words(text) or text.split()


def plain_words(text: str) -> list[str]:
    """Return the same, none for a text without letters and digits."""
    if text.isascii():
        return text.translate(
            ASCII_WORDS
        ).split()  # what `_WORD` finds in it, several times as quickly
    # Compatibility forms of Unicode Standard Annex 15; decomposed, so that a mark added to a letter
    # falls away.
    plain = unicodedata.normalize("NFKD", text).casefold()
    for c in set(plain):
        if unicodedata.category(c) in {"Mn", "Me", "Cf"}:
            plain = plain.replace(c, "")
    return _WORD.findall(plain)


# --- nearest texts: TF-IDF over runs of four characters. Weights are whole numbers, so that sums
# are the same in any order, and the only fraction is the last division.


def plain(text: str) -> str:
    """Return a text in lower case, with one space where any stand."""
    return " ".join(text.lower().split())


def retrieval_text(inputs: Mapping[str, str], names: Sequence[str], twice: str) -> str:
    """Return what is compared of a row: its inputs one after the other, one of them again.

    The shortest input is said twice (a statement, and not the source it is held against), or a long
    one would decide alone.
    """
    return plain("\n".join(inputs[name] for name in (*names, twice)))


def retrieval_texts(rows: Sequence[Mapping[str, str]], names: Sequence[str]) -> list[str]:
    """Return the same of each case of a bank."""
    twice = shortest_input(rows, names)
    return [retrieval_text(inputs, names, twice) for inputs in rows]


def shortest_input(rows: Sequence[Mapping[str, str]], names: Sequence[str]) -> str:
    """Return the input that has the fewest characters in all rows together, the first on a tie."""
    return min(names, key=lambda name: sum(len(inputs[name]) for inputs in rows))


def most_texts(texts: int) -> int:
    """Return in how many texts a gram may stand to be compared, of so many."""
    return max(64, min(texts * 3 // 10, CHEAP), texts // COMMON)


class PlainNearestTexts:
    """The texts of a bank, ready to be compared with a row's."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Count the grams of the texts, which must be `plain`."""
        spread: Counter[str] = Counter()
        for text in texts:
            spread.update(set(_grams(text)))
        used = {g: idf(len(texts), n) for g, n in spread.items() if 1 < n <= most_texts(len(texts))}
        self._idf = used
        # Numbers of texts and weights, as bytes: a large bank has millions.
        self._postings = {gram: (array("i"), array("i")) for gram in used}
        squares = [0] * len(texts)
        for number, text in enumerate(texts):
            for gram, n in Counter(_grams(text)).items():
                if gram in used:
                    weight = _weight(n, used[gram])
                    numbers, weights = self._postings[gram]
                    numbers.append(number)
                    weights.append(weight)
                    squares[number] += weight * weight
        self._norms = [math.sqrt(square) for square in squares]

    def scores(self, text: str) -> list[float]:
        """Return how near each text of the bank is to one that is `plain`.

        The cosine but for the length of the row's own vector, which is the same for all.
        """
        dots = [0] * len(self._norms)
        for gram, n in Counter(_grams(text)).items():
            if gram in self._postings:
                own = _weight(n, self._idf[gram])
                for number, weight in zip(*self._postings[gram], strict=True):
                    dots[number] += weight * own
        return [dot / norm if norm else 0.0 for dot, norm in zip(dots, self._norms, strict=True)]


def idf(texts: int, spread: int) -> float:
    """Return what a gram says that stands in so many of the texts."""
    return math.log((1 + texts) / (1 + spread)) + 1.0


def _weight(count: int, idf: float) -> int:
    return round(UNIT * ((1.0 + math.log(count)) * idf))


def _grams(text: str) -> list[str]:
    return [text[i : i + WIDTH] for i in range(len(text) - WIDTH + 1)]


# --- random order


def seed_of(text: str) -> bytes:
    """Return eight bytes that a row's text draws its cases by."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _mixed(value: int) -> int:
    """Scatter one number of 64 bits as `mix` of `duplicates.py` does many."""
    value ^= value >> 30
    value = value * 0xBF58476D1CE4E5B9 & _64_BITS
    value ^= value >> 27
    value = value * 0x94D049BB133111EB & _64_BITS
    return value ^ value >> 31
