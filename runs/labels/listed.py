"""A queue of the rows of a file, in an order drawn by a seed."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...judges import Row

LISTED = "listed"
"""The name of the design."""
UNEVEN = 0.999
"""The most that the probability of a row of an uneven draw is said to be: it is a fair sample of
nothing.
"""


@dataclass(frozen=True, slots=True)
class Draw:
    """A row to label, and with which probability it was drawn."""

    row_id: str
    probability: float
    design: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedQueue:
    """Every listed row once; stopped anywhere, what is labelled is a random sample of the list."""

    order: Sequence[str]
    """Ids of the rows."""
    probability: Mapping[str, float] = field(default_factory=dict)
    """With which a row was drawn, or came into the file, where that is below 1."""
    design: str = LISTED
    """What the list is called in the records."""

    def draws(self, done: Collection[str]) -> Iterator[Draw]:
        """Yield the rows of the order that are not done."""
        for row_id in self.order:
            if row_id not in done:
                yield Draw(row_id, self.probability.get(row_id, 1.0), self.design)


def drawn_order(rows: Sequence[Row], *, seed: int) -> tuple[str, ...]:
    """Return the ids of rows in an order drawn by a seed, whatever their order in the file."""
    return tuple(sorted((row.id for row in rows), key=lambda row_id: (_draw(seed, row_id), row_id)))


def _draw(seed: int, row_id: str) -> bytes:
    return hashlib.blake2b(
        f"{seed}\0{row_id}".encode("utf-8", "surrogatepass"), digest_size=8
    ).digest()
