"""Which decided cases stand before a row, and how they are written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
import orjson

from .cases import CASE_FENCE, WAYS, Case, CaseBank, Cases, grade_of
from .duplicates import NearDuplicateOf, mix
from .errors import PromptError
from .judged_arrays import FloatArray, IntArray
from .models.tokens import approximate_tokens
from .nearest_cases import NearestTexts, retrieval_text, shortest_input
from .rows import Row
from .scale import OutputScale

_HEADING = (
    "Decided cases: rows that people have graded, each with their grade. They show where these"
    " people draw the line, and are no part of the row to judge, which stands after them."
)
_ROW = "The row to judge:"


class ShownCases:
    """The cases of one judge: chosen by the row, never one that would give the row's own label
    away.

    The rule holds wherever a judge is asked, so that a judge does in use what was measured.
    """

    def __init__(
        self, cases: Cases, *, judge: str, version: str, inputs: Sequence[str], scale: OutputScale
    ) -> None:
        """Prepare what does not depend on a row; `require_cases` has been passed."""
        self._cases = cases
        self._judge = judge
        self._inputs = tuple(inputs)
        self._scale = scale
        self.tag = hashlib.blake2b(orjson.dumps([version, CASE_FENCE]), digest_size=4).hexdigest()
        """Closes the fences of all cases. A case cannot know it, since it is made of the bank's
        own version; in a row it is broken up.
        """
        grades = [grade_of(case, cases.bank.labels or scale) for case in cases.bank.cases]
        self._grades: list[float] = [grade for grade in grades if grade is not None]
        self._decisions: IntArray = np.zeros(len(cases.bank), np.int64)
        if cases.balanced:
            for number, grade in enumerate(self._grades):
                self._decisions[number] = self._decision(grade)
        self._kinds: list[int] = np.unique(self._decisions).tolist()
        self._vectors: FloatArray | None = None
        """Of the bank, by the embeddings model; asked for once."""
        self._tokens: list[int] | None = None
        if cases.max_tokens is not None:
            texts = map(self._case_text, range(len(cases.bank)))
            self._tokens = [approximate_tokens(text) for text in texts]

    def text(self, row: Row) -> str:
        """Return what stands before the row in the user message; empty where no case may."""
        numbers = self.choose(row)
        if not numbers:
            return ""
        return "\n\n".join([_HEADING, *map(self._case_text, numbers), f"{_ROW}\n\n"])

    def without_tag(self, inputs: Mapping[str, str]) -> dict[str, str]:
        """Return a row's inputs with the tag of the cases broken up, so that it cannot write one
        itself.
        """
        return {name: self._broken(text) for name, text in inputs.items()}

    def choose(self, row: Row) -> tuple[int, ...]:
        """Return the numbers of the cases for a row, in the order in which they are shown.

        The nearest stands last, next to the row; fixed ones stand in the order of the bank.
        """
        cases = self._cases
        order = self._order(row)
        decisions = self._decisions[order]
        queues = [iter(np.flatnonzero(decisions == decision)) for decision in self._kinds]
        near_duplicate = NearDuplicateOf(self._read(row.inputs))

        def next_place(queue: Iterator[np.intp]) -> int | None:
            for place in queue:
                number = int(order[place])
                case = cases.bank.cases[number]
                if not self._fits(number, left) or _same_row_or_group(case, row):
                    continue
                if not near_duplicate(self._read(case.inputs)):
                    return int(place)
            return None

        places: list[int] = []
        left = cases.max_tokens
        while queues and len(places) < cases.count:
            # One of each decision, the nearest first; a last round that is too short for all has
            # the nearest of them.
            heads: list[tuple[int, Iterator[np.intp]]] = []
            for queue in queues:
                place = next_place(queue)
                if place is not None:
                    heads.append((place, queue))
            queues = [queue for _, queue in heads]
            while heads and len(places) < cases.count:
                place, queue = heads.pop(heads.index(min(heads, key=lambda head: head[0])))
                if not self._fits(int(order[place]), left):
                    later = next_place(queue)
                    if later is not None:
                        heads.append((later, queue))
                    continue
                places.append(place)
                if left is not None and self._tokens is not None:
                    left -= self._tokens[int(order[place])]
        places.sort(reverse=cases.by != "fixed")
        return tuple(int(order[place]) for place in places)

    def _fits(self, number: int, left: int | None) -> bool:
        return left is None or self._tokens is None or self._tokens[number] <= left

    def _order(self, row: Row) -> IntArray:
        """Return the numbers of all cases, the one to be shown first."""
        by, bank = self._cases.by, self._cases.bank
        if by == "fixed":
            return np.arange(len(bank))
        text = retrieval_text(row.inputs, self._inputs, _shortest(bank, self._inputs))
        if by == "near":
            return _best_first(_nearest(bank, self._inputs).scores(text))
        if by == "random":
            seed = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            numbers = np.arange(len(bank), dtype=np.uint64)
            return np.argsort(mix(numbers + np.frombuffer(seed, "<u8")), kind="stable")
        return _best_first(self._cosines(text))

    def _cosines(self, text: str) -> FloatArray:
        """Return how near each case is to a row by the embeddings model."""
        encode, bank = self._cases.encode, self._cases.bank
        if encode is None:
            raise PromptError(
                f"the cases of {self._judge!r} are chosen by {self._cases.by!r}, and no embeddings"
                " model of this name is at hand",
                hint=f"choose them by one of {', '.join(WAYS)}",
            )
        if self._vectors is None:
            self._vectors = _unit(encode(_texts(bank, self._inputs)))
        return self._vectors @ _unit(encode([text]))[0]

    def _decision(self, grade: float) -> int:
        """Return the label of a choice, else whether people called the case positive."""
        labels = self._cases.bank.labels or self._scale
        return int(grade) if labels.kind == "choice" else int(labels.positive(grade))

    def _case_text(self, number: int) -> str:
        case = self._cases.bank.cases[number]
        parts = [self._fenced(name, case.inputs[name]) for name in self._inputs]
        what = "label" if self._scale.kind == "choice" else "grade"
        parts.append(f"People's {what}: {self._broken(self._verdict(self._grades[number]))}")
        if case.reason.strip():
            parts.append(f"People's reason:\n{self._fenced('reason', case.reason)}")
        body = "\n".join(parts)
        return f"<{CASE_FENCE}-{self.tag}>\n{body}\n</{CASE_FENCE}-{self.tag}>"

    def _verdict(self, grade: float) -> str:
        """Return people's grade as the judge would write it.

        People who graded on another scale decided between the judge's grades on either side of its
        threshold, and no more is said.
        """
        labels, scale = self._cases.bank.labels, self._scale
        if labels is None or labels.same_grades(scale):
            return scale.name(grade)
        return _side(scale, labels.positive(grade))

    def _fenced(self, name: str, text: str) -> str:
        return f"<{name}-{self.tag}>\n{self._broken(text)}\n</{name}-{self.tag}>"

    def _broken(self, text: str) -> str:
        return text.replace(self.tag, f"{self.tag[:4]} {self.tag[4:]}")

    def _read(self, inputs: Mapping[str, str]) -> dict[str, str]:
        return {name: inputs[name] for name in self._inputs}


def _same_row_or_group(case: Case, row: Row) -> bool:
    """Whether a case was the row itself, or stands in its group.

    A claim of a row without a group has the row's id as its group.
    """
    own_group = case.group or case.id
    return bool((case.id and case.id == row.id) or (own_group and own_group == row.group))


def _side(scale: OutputScale, positive: bool) -> str:
    """Return the grades of one decision as a judge would write them."""
    grades = [grade for grade in scale.levels if scale.positive(grade) == positive]
    if not grades:
        way = "at least" if positive != scale.low_is_good else "at most"
        if not positive:
            way = "over" if scale.low_is_good else "under"
        return f"{way} {scale.name(scale.threshold)}"
    first, last = scale.name(grades[0]), scale.name(grades[-1])
    if len(grades) == 1:
        return first
    return f"{first} {'or' if len(grades) == 2 else 'to'} {last}"


@lru_cache(maxsize=8)
def _shortest(bank: CaseBank, inputs: tuple[str, ...]) -> str:
    return shortest_input([case.inputs for case in bank.cases], inputs)


def _texts(bank: CaseBank, inputs: tuple[str, ...]) -> list[str]:
    twice = _shortest(bank, inputs)
    return [retrieval_text(case.inputs, inputs, twice) for case in bank.cases]


@lru_cache(maxsize=4)
def _nearest(bank: CaseBank, inputs: tuple[str, ...]) -> NearestTexts:
    """Count a bank's grams once for all judges that have it."""
    return NearestTexts(_texts(bank, inputs))


def _best_first(scores: FloatArray) -> IntArray:
    """Return the positions of the scores, the highest first, the lower position on a tie."""
    # Sorting twice is quicker than once in a way that keeps the order of ties.
    order = np.argsort(-scores)
    ordered = scores[order]
    rank = np.concatenate([[0], np.cumsum(ordered[1:] != ordered[:-1])])
    return np.sort(rank * len(scores) + order) % len(scores)


def _unit(vectors: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
