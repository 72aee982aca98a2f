"""The cases of one judge: what its bank and its scale make of the plain choice, and the quick ways
to put them in order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import orjson

from .cases import WAYS, Case, CaseBank, Cases, grade_of
from .duplicates import mix
from .errors import PromptError
from .judged_arrays import FloatArray, IntArray
from .models.tokens import approximate_tokens
from .nearest_cases import NearestTexts
from .plain_cases import CASE_FENCE, CaseChoice, Showing, groups_of_texts, retrieval_texts, seed_of
from .rows import Row
from .scale import OutputScale

_AT_ONCE = 1000
"""Rows that an embeddings model is asked about together."""


class ShownCases:
    """The cases of one judge, chosen by the row as `plain_cases.py` does it in an export."""

    def __init__(
        self, cases: Cases, *, judge: str, version: str, inputs: Sequence[str], scale: OutputScale
    ) -> None:
        """Prepare what does not depend on a row; `require_cases` has been passed."""
        self._cases = cases
        self._judge = judge
        self._labels = cases.bank.labels or scale
        self._scale = scale
        tag = hashlib.blake2b(orjson.dumps([version, CASE_FENCE]), digest_size=4).hexdigest()
        said = [self.said_of(case) for case in cases.bank.cases]
        self.showing = Showing(
            inputs=tuple(inputs),
            count=cases.count,
            by=cases.by,
            tag=tag,
            what="label" if scale.kind == "choice" else "grade",
            verdicts=[verdict for verdict, _ in said],
            decisions=[decision for _, decision in said],
        )
        groups = _groups_of_texts(cases.bank, self.showing.inputs)
        self.choice = CaseChoice(cases.bank.cases, self.showing, groups)
        if cases.max_tokens is not None:
            texts = map(self.choice.case_text, range(len(cases.bank)))
            tokens = [approximate_tokens(text) for text in texts]
            self.showing = replace(self.showing, max_tokens=cases.max_tokens, tokens=tokens)
            self.choice = CaseChoice(cases.bank.cases, self.showing, groups)
        keys = enumerate(case.key for case in cases.bank.cases) if cases.hidden else ()
        self._hidden = {number for number, key in keys if key in cases.hidden}
        self._vectors: FloatArray | None = None
        """Of the bank, by the embeddings model; asked for once."""
        self._of_rows: dict[str, FloatArray] = {}

    def prepare(self, rows: Sequence[Row]) -> None:
        """Ask the embeddings model about many rows at once; nothing where none chooses."""
        if self.showing.by not in WAYS:
            texts = {self.choice.retrieval_text(row.inputs) for row in rows} - self._of_rows.keys()
            ordered = sorted(texts)
            for start in range(0, len(ordered), _AT_ONCE):
                part = ordered[start : start + _AT_ONCE]
                vectors = _unit(self._encode(part)).astype(np.float32)
                self._of_rows |= zip(part, vectors, strict=True)

    def text(self, row: Row) -> str:
        """Return what stands before the row in the user message; empty where no case may."""
        return self.choice.written(self.choose(row))

    def choose(self, row: Row) -> tuple[int, ...]:
        """Return the numbers of the cases for a row, in the order in which they are shown."""
        order = self._order(row)
        if self._hidden:
            order = [number for number in order if number not in self._hidden]
        return self.choice.choose(row.inputs, order, id=row.id, group=row.group)

    def said_of(self, case: Case) -> tuple[str, int]:
        """Return a case's label as the judge would write it, and which decision it is: the label of
        a choice, else whether people called the case positive; 0 where cases are not balanced.

        People who graded on another scale decided between the judge's grades on either side of its
        threshold, and no more is said.
        """
        grade = grade_of(case, self._labels)
        assert grade is not None, "require_cases has been passed"
        positive = self._labels.positive(grade)
        alike = self._cases.bank.labels is None or self._labels.same_grades(self._scale)
        verdict = _written(self._scale, grade) if alike else _side(self._scale, positive)
        if not self._cases.balanced:
            return verdict, 0
        return verdict, int(grade) if self._labels.kind == "choice" else int(positive)

    def _order(self, row: Row) -> Sequence[int]:
        """Return the numbers of all cases, the one to be shown first."""
        by, bank = self.showing.by, self._cases.bank
        if by == "fixed":
            return range(len(bank))
        text = self.choice.retrieval_text(row.inputs)
        if by == "near":
            scores = _nearest(bank, self.showing.inputs).scores(text)
            return _best_first(scores).tolist()
        if by == "random":
            numbers = np.arange(len(bank), dtype=np.uint64)
            drawn = mix(numbers + np.frombuffer(seed_of(text), "<u8"))
            return np.argsort(drawn, kind="stable").tolist()
        return _best_first(self._cosines(text)).tolist()

    def _cosines(self, text: str) -> FloatArray:
        """Return how near each case is to a row by the embeddings model."""
        if self._vectors is None:
            texts = retrieval_texts(self.choice.texts, self.showing.inputs)
            self._vectors = _unit(self._encode(texts))
        row = self._of_rows.get(text)
        return self._vectors @ (_unit(self._encode([text]))[0] if row is None else row)

    def _encode(self, texts: Sequence[str]) -> FloatArray:
        encode = self._cases.encode
        if encode is None:
            raise PromptError(
                f"the cases of {self._judge!r} are chosen by {self._cases.by!r}, and no embeddings"
                " model of this name is at hand",
                hint=f"choose them by one of {', '.join(WAYS)}",
            )
        return encode(texts)


def _written(scale: OutputScale, grade: float) -> str:
    """Write a grade as the judge's replies have it, which may say yes and no in words."""
    return scale.labels[int(grade)] if scale.labels else scale.name(grade)


def _side(scale: OutputScale, positive: bool) -> str:
    """Return the grades of one decision as a judge would write them."""
    grades = [grade for grade in scale.levels if scale.positive(grade) == positive]
    if not grades:
        way = "at least" if positive != scale.low_is_good else "at most"
        if not positive:
            way = "over" if scale.low_is_good else "under"
        return f"{way} {scale.name(scale.threshold)}"
    first, last = _written(scale, grades[0]), _written(scale, grades[-1])
    if len(grades) == 1:
        return first
    return f"{first} {'or' if len(grades) == 2 else 'to'} {last}"


@lru_cache(maxsize=4)
def _nearest(bank: CaseBank, inputs: tuple[str, ...]) -> NearestTexts:
    """Count a bank's grams once for all judges that have it."""
    return NearestTexts(retrieval_texts([case.inputs for case in bank.cases], inputs))


@lru_cache(maxsize=4)
def _groups_of_texts(bank: CaseBank, inputs: tuple[str, ...]) -> Mapping[str, Collection[str]]:
    return groups_of_texts(bank.cases, inputs)


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
