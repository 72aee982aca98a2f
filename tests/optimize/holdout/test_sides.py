"""Sides that stay: whatever becomes of a file, every run starts and no row that was open is sealed
later.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import (
    BINARY,
    DEFAULT_SHARES,
    Dataset,
    Row,
    Splits,
    split_dataset,
)
from judgewright.optimize.holdout import seen_rows, split_with_memory
from judgewright.optimize.holdout.row_fingerprints import open_to_hash

from ...look_requests import look_at
from ..in_memory import MemoryLedger

WORDS = [
    "".join(random.Random(i).choices("abcdefghijklmnopqrstuvwxyz", k=3 + i % 6))
    for i in range(3_000)
]


def made_up(seed: int, words: int) -> str:
    """A text of so many words that no other seed has."""
    return " ".join(random.Random(seed).choices(WORDS, k=words))


def group_of(number: int, positives: float = 0.4) -> list[Row]:
    """One to three rows under one source, each with a statement of its own."""
    draw = random.Random(number)
    return [
        Row(
            id=f"r{number}-{i}",
            inputs={
                "source": made_up(number, 40),
                "statement": made_up(10_000 + 10 * number + i, 14),
            },
            label=float(draw.random() < positives),
            group=f"g{number}",
        )
        for i in range(1 + number % 3)
    ]


def parts_of(parts: Splits) -> dict[str, Dataset]:
    """All four parts, opened."""
    sealed = {part.name: open_to_hash(part) for part in (parts.holdout, parts.final)}
    return {"train": parts.train, "validation": parts.validation, **sealed}


def homes(parts: Splits) -> dict[str, str]:
    """The part of each row."""
    return {row.id: name for name, part in parts_of(parts).items() for row in part.rows}


@dataclass
class History:
    """A file that people change, and the runs over it; ids of rows stay what they are, so that a
    test can follow them.

    What a run knows a row by are texts and groups: in the files that it reads the ids are others
    each time.
    """

    rows: list[Row] = field(default_factory=list)
    groups: int = 0
    ledger: MemoryLedger = field(default_factory=MemoryLedger)
    runs: int = 0

    def grow(self, count: int) -> None:
        """Add new groups."""
        for number in range(self.groups, self.groups + count):
            self.rows += group_of(number)
        self.groups += count

    def edit(self, draw: random.Random) -> None:
        """Write a word into a source and into a statement, or another statement under the same
        source.
        """
        i = draw.randrange(len(self.rows))
        source, statement = self.rows[i].inputs["source"], self.rows[i].inputs["statement"]
        if draw.random() < 0.5:
            inputs = {"source": f"Indeed {source}", "statement": f"{statement} or so"}
        else:
            inputs = {"source": source, "statement": made_up(draw.randrange(10**9), 14)}
        self.rows[i] = replace(self.rows[i], inputs=inputs)

    def merge(self, draw: random.Random) -> None:
        """Make two groups one."""
        one, other = draw.sample(sorted({row.group for row in self.rows}), 2)
        self.rows = [replace(row, group=one) if row.group == other else row for row in self.rows]

    def rename(self, draw: random.Random) -> None:
        """Give one group another name."""
        name = draw.choice(sorted({row.group for row in self.rows}))
        anew = f"renamed {draw.randrange(10**9)}"
        self.rows = [replace(row, group=anew) if row.group == name else row for row in self.rows]

    def swap(self, draw: random.Random) -> None:
        """Exchange the names of two groups."""
        one, other = draw.sample(sorted({row.group for row in self.rows}), 2)
        names = {one: other, other: one}
        self.rows = [replace(row, group=names.get(row.group, row.group)) for row in self.rows]

    def run(self, draw: random.Random) -> tuple[Splits, dict[str, str]]:
        """Split as `optimize` does, look at the holdout, and return the part of each row by its
        lasting id.
        """
        order = draw.sample(self.rows, len(self.rows))
        file = Dataset.of([replace(row, id=str(i)) for i, row in enumerate(order)], labels=BINARY)
        self.runs += 1
        parts = split_with_memory(self.ledger.history(), f"run {self.runs}", file, DEFAULT_SHARES)
        self.ledger.remember(seen_rows(f"run {self.runs}", parts))
        again = split_with_memory(self.ledger.history(), f"run {self.runs}", file, DEFAULT_SHARES)
        assert (homes(again), again.notes) == (homes(parts), parts.notes)
        look = self.ledger.begin(
            look_at(parts.holdout.content_hash, f"run {self.runs}", "a", str(self.runs))
        )
        self.ledger.conclude(look, outcome="refused", reason="no gain")
        assert look.number == self.runs
        return parts, {order[int(id_)].id: part for id_, part in homes(parts).items()}


CHANGES: dict[str, Callable[[History, random.Random], None]] = {
    "edit": History.edit,
    "merge": History.merge,
    "rename": History.rename,
    "swap": History.swap,
}


@pytest.mark.slow
@given(
    start=st.integers(40, 80),
    steps=st.lists(
        st.tuples(st.integers(0, 25), st.lists(st.sampled_from(sorted(CHANGES)), max_size=4)),
        min_size=10,
        max_size=10,
    ),
    draw=st.randoms(use_true_random=False),
)
@settings(max_examples=8, deadline=None)
def test_no_row_that_was_open_is_ever_sealed(
    start: int, steps: list[tuple[int, list[str]]], draw: random.Random
) -> None:
    """In any history: every run starts and is split again as it was, each look counts, and what was
    seen stays seen.
    """
    history = History()
    history.grow(start)
    opened: set[str] = set()
    looked_at: set[str] = set()
    for new, changes in [(0, []), *steps]:
        history.grow(new)
        for change in changes:
            CHANGES[change](history, draw)
        _, found = history.run(draw)
        by_part = {
            part: {row for row, home in found.items() if home == part}
            for part in set(found.values())
        }
        assert not opened & (by_part["holdout"] | by_part.get("final", set()))
        assert not looked_at & by_part.get("final", set())
        opened |= by_part["train"] | by_part["validation"]
        looked_at |= by_part["holdout"]


@pytest.mark.slow
@given(start=st.integers(60, 100), steps=st.lists(st.integers(5, 40), min_size=10, max_size=10))
@settings(max_examples=4, deadline=None)
def test_a_holdout_grows_with_the_file(start: int, steps: list[int]) -> None:
    """Its rows, groups and labels are as near to its share as one split of the whole file would
    bring them.
    """
    history, draw = History(), random.Random(start)
    history.grow(start)
    parts, before = history.run(draw)
    for new in steps:
        history.grow(new)
        parts, found = history.run(draw)
        assert before.items() <= found.items()
        before = found
    whole = Dataset.of(history.rows, labels=BINARY)
    today = split_dataset(whole)
    assert abs(len(parts.holdout) - len(today.holdout)) <= 3
    assert parts.holdout.groups >= 0.85 * 0.3 * history.groups
    positives = [sum(map(whole.positive, open_to_hash(one.holdout).rows)) for one in (parts, today)]
    assert abs(positives[0] - positives[1]) <= 3
