"""A matrix of rows by judges: which row of one judge is which of another, which rows are asked
for, and what a window of them says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...judges import BoolArray, FloatArray, IntArray
from ..actions.compare_runs import ComparedSide
from .judged_rows import AGREES, ERRS, NO_LABEL, UNSCORED
from .row_pages import Json, RowPages


class Column(NamedTuple):
    """A judge's verdicts on its rows."""

    side: ComparedSide
    pages: RowPages


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """Which rows are asked for; what is empty is not asked about.

    Args:
        rows: `errs`: any judge errs; `differ`: two judges decide otherwise; `flips`: one of two
            judges errs and the other agrees; `unscored`: one has no verdict; or the name of a side,
            which errs.
        before: With `after`, two sides that decide otherwise.
        slice: A column's value, as `name=value`.
        error: An error that any judge makes, as `Matrix.errors` names it.
        words: In the id or the texts.
    """

    rows: str = ""
    before: str = ""
    after: str = ""
    slice: str = ""
    error: str = ""
    words: str = ""


class Matrix:
    """The rows of some judges, joined: the same where their texts are, and those of a verdict file
    without texts where their ids are.

    Args:
        columns: Judges, each of one or more rows.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self.identity = tuple((column.side.name, column.pages.identity) for column in columns)
        """What no other rows have."""
        self._pages = [column.pages for column in columns]
        self._names = [column.side.name for column in columns]
        keys = [_keys_of(pages, self._pages) for pages in self._pages]
        unique, first = np.unique(np.concatenate([_NONE, *keys]), return_index=True)
        order = np.argsort(first)
        ranks = np.argsort(order)
        self.keys = unique[order]
        """Of each row; 0 for what may not be shown."""
        self._numbers = np.zeros((len(columns), len(order)), np.int64)
        for numbers, of_judge in zip(self._numbers, keys, strict=True):
            numbers[ranks[np.searchsorted(unique, of_judge)]] = np.arange(1, len(of_judge) + 1)
        self._states = self._of_all("states", UNSCORED + 1).astype(np.uint8)
        self._decisions = self._of_all("decisions", np.nan)
        labels = self._of_all("labels", np.nan)
        self._is_relabelled = _differ(labels) if columns else self.keys == 0
        self._labels = self._with_lent(labels)
        named = (self._states == NO_LABEL) & ~np.isnan(self._labels)
        self._states[named] = np.where(self._decisions == self._labels, AGREES, ERRS)[named]
        self.errors = self._errors()
        """Of each kind of error, by its name: the judges that make it, with label and decision."""

    def choose(self, wanted: RowFilter) -> IntArray:
        """Return the positions of the rows that are asked for."""
        if not self._names:
            return np.zeros(0, np.int64)
        chosen = self.keys != 0
        if wanted.rows in _STATES:
            chosen &= (self._states == _STATES[wanted.rows]).any(axis=0)
        elif wanted.rows == "differ":
            chosen &= _differ(self._decisions)
        elif wanted.rows == "flips":
            chosen &= (
                self.both_scored & ~self._is_relabelled & (self._states[0] != self._states[-1])
            )
        elif wanted.rows in self._names:
            chosen &= self._states[self._names.index(wanted.rows)] == ERRS
        if wanted.before in self._names and wanted.after in self._names:
            both = [self._names.index(wanted.before), self._names.index(wanted.after)]
            chosen &= _differ(self._decisions[both])
        if wanted.slice:
            chosen &= self.in_slice(wanted.slice)
        if wanted.error:
            is_made = np.zeros(len(self.keys), np.bool_)
            for judge, label, decision in self.errors.get(wanted.error, ()):
                is_made |= (self._labels[judge] == label) & (self._decisions[judge] == decision)
            chosen &= is_made
        if wanted.words.strip():
            chosen &= self._with_words(" ".join(wanted.words.split()))
        return np.flatnonzero(chosen)

    @property
    def both_scored(self) -> BoolArray:
        """Which labelled rows every judge has answered; shape (rows,)."""
        return (self._states < NO_LABEL).all(axis=0) & (self.keys != 0)

    def erring(self, positions: IntArray, judge: int) -> BoolArray:
        """Return on which of some rows a judge errs."""
        return self._states[judge, positions] == ERRS

    def surest_first(self, positions: IntArray) -> IntArray:
        """Return positions in the order in which the first judge is sure of its errors."""
        ranks = self._pages[0].arrays["surest_first"][self._numbers[0, positions] - 1]
        return positions[np.argsort(ranks, kind="stable")]

    def error_of(self, position: int) -> str:
        """Return the error of the judge that errs on a row."""
        judge = int(np.argmax(self._states[:, position] == ERRS))
        error = judge, self._labels[judge, position], self._decisions[judge, position]
        return next((name for name, made in self.errors.items() if error in made), "")

    def rows(self, positions: IntArray) -> list[Json]:
        """Return some rows, of which nothing else is read: of each what stands for all judges, and
        its cells, None where a judge has not judged it.
        """
        numbers = self._numbers[:, positions]
        briefs = [p.briefs(n[n > 0].tolist()) for p, n in zip(self._pages, numbers, strict=True)]
        rows: list[Json] = []
        for at, of_judges in zip(positions.tolist(), numbers.T.tolist(), strict=True):
            found = [of.get(number) for of, number in zip(briefs, of_judges, strict=True)]
            states = self._states[:, at].tolist()
            cells = [c and {**c, "state": state} for c, state in zip(found, states, strict=True)]
            first = next(cell for cell in cells if cell)
            people = next((cell["people"] for cell in cells if cell and cell["people"]), "")
            key = f"{int(self.keys[at]):016x}"
            rows.append({**first, "key": key, "people": people, "cells": cells})
        return rows

    def find(self, key: str) -> int | None:
        """Return where a row is; None where it may not be shown, or is not there."""
        number = int(key, 16) if _KEY.fullmatch(key) else 0
        at = np.flatnonzero(self.keys == np.uint64(number))
        return int(at[0]) if number and len(at) else None

    def bodies(self, position: int) -> list[Json | None]:
        """Return all that is kept of a row, as each judge has it."""
        numbers = self._numbers[:, position].tolist()
        return [p.at(n) if n else None for p, n in zip(self._pages, numbers, strict=True)]

    def counts(self, positions: IntArray) -> list[tuple[int, int]]:
        """Return for each judge on how many labelled rows it errs, and of how many."""
        states = self._states[:, positions]
        return [(int((of == ERRS).sum()), int((of < NO_LABEL).sum())) for of in states]

    def _of_all(self, name: str, missing: float) -> FloatArray:
        """Return a value of each judge for each row, shape (judges, rows); what is missing is
        number 0, which the value at the end stands for.
        """
        pairs = zip(self._pages, self._numbers, strict=True)
        values = [np.append(pages.arrays[name], missing)[numbers - 1] for pages, numbers in pairs]
        return np.array(values, np.float64).reshape(self._numbers.shape)

    def _with_lent(self, labels: FloatArray) -> FloatArray:
        """Return the labels; where a judge has none, those of the others of the same classes."""
        classes = [pages.head["classes"] for pages in self._pages]
        lent = labels.copy()
        for judge, own in enumerate(classes):
            label = np.fmax.reduce(labels[[own == other for other in classes]])
            lent[judge] = np.where(np.isnan(labels[judge]), label, labels[judge])
        return lent

    def _errors(self) -> dict[str, list[tuple[int, float, float]]]:
        judges, rows = np.nonzero(self._states == ERRS)
        made = self._labels[judges, rows], self._decisions[judges, rows], judges
        errors: dict[str, list[tuple[int, float, float]]] = {}
        triples: set[tuple[float, float, int]] = set(
            zip(*(values.tolist() for values in made), strict=True)
        )
        for label, decision, judge in sorted(triples):
            name = "FP" if decision > label else "FN"
            if classes := self._pages[judge].head["classes"]:
                name = f"{classes[int(label)]} called {classes[int(decision)]}"
            errors.setdefault(name, []).append((judge, label, decision))
        return errors

    def in_slice(self, name: str) -> BoolArray:
        """Return which rows have a value of a column, as `name=value`; shape (rows,)."""
        inside = np.zeros(len(self.keys), np.bool_)
        for pages, numbers in zip(self._pages, self._numbers, strict=True):
            for codes, (cut, values) in zip(pages.arrays["cuts"], pages.head["cuts"], strict=True):
                named = [f"{cut}={value}" for value in values]
                if name in named:
                    inside |= np.append(codes, -1)[numbers - 1] == named.index(name)
        return inside

    def _with_words(self, words: str) -> BoolArray:
        """Find words in the texts of each row, as the first judge has it that has judged it."""
        found, sought = np.zeros((2, len(self.keys)), np.bool_)
        for pages, numbers in zip(self._pages, self._numbers, strict=True):
            mine = (numbers > 0) & ~sought
            if mine.any():
                found |= mine & np.isin(numbers, pages.numbers_with(words, ("inputs", "meta")))
            sought |= mine
        return found


def _differ(values: FloatArray) -> BoolArray:
    return np.fmax.reduce(values) > np.fmin.reduce(values)


def _keys_of(pages: RowPages, every: Sequence[RowPages]) -> IntArray:
    """Return the keys of a judge's rows; 0 for what a file without texts has and no other judge."""
    with_texts = [one for one in every if one.head["texts"]]
    first, keys = (with_texts or every)[0], pages.arrays["keys"]
    if pages is first or pages.head["texts"] or np.isin(keys, first.arrays["keys"]).any():
        return keys
    ids, mine = first.arrays["ids"], pages.arrays["ids"]
    order = np.argsort(ids)
    at = order[np.searchsorted(ids, mine, sorter=order) % len(ids)]
    return np.where(ids[at] == mine, first.arrays["keys"][at], 0 if with_texts else keys)


_KEY = re.compile("[0-9a-f]{16}")
_NONE = np.zeros(1, np.uint64)
_STATES = {"errs": ERRS, "unscored": UNSCORED}
