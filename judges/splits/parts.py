"""The parts of a dataset: their names, the shares asked for, and the rows of each."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ..errors import InputError
from ..notebook_display import html_table
from ..rows import Dataset, Row
from .sealed_rows import SealedRows

if TYPE_CHECKING:
    import pandas as pd

Part = Literal["train", "validation", "holdout", "final"]
PARTS: tuple[Part, ...] = ("train", "validation", "holdout", "final")

Side = Part | Literal["open"]
"""Where a group was before; `open` if in train or validation, and nobody wrote down in which of
them.
"""
SIDES: tuple[Side, ...] = ("train", "open", "validation", "holdout", "final")
"""What most has been seen of comes first."""
SEALED: frozenset[Side] = frozenset({"holdout", "final"})

Shares = tuple[float, float, float, float]
"""Percent of the rows for train, validation, holdout and final."""

DEFAULT_SHARES: Shares = (30, 20, 30, 20)
FEW_LABELS, FEW_SHARES = 200, (40.0, 15.0, 45.0, 0.0)
"""Under so many labelled rows the default is another: a decision on 60 of them says little, and
final rows less.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Splits:
    """The four parts of a dataset."""

    train: Dataset = field(repr=False)
    validation: Dataset = field(repr=False)
    holdout: SealedRows
    final: SealedRows
    drawn: Dataset = field(repr=False)
    """Rows that were drawn with a probability below 1: training may use them, and no figure may."""
    shares: Shares
    seed: int
    merged: int
    """How many groups were lost by joining groups with near-duplicate rows."""
    notes: tuple[str, ...] = ()

    @property
    def training(self) -> Dataset:
        """The rows that training may use: those of the part, then those that were not drawn
        evenly.
        """
        if not len(self.drawn):
            return self.train
        rows = (*self.train.rows, *self.drawn.rows)
        return Dataset.of(rows, labels=self.train.labels, name=self.train.name)

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        rows: Mapping[Part, Iterable[Row]],
        drawn: Iterable[Row],
        *,
        shares: Shares,
        seed: int,
        groups: Mapping[Part, int],
        merged: int,
        notes: Sequence[str],
    ) -> Splits:
        """Make the parts of a dataset from their rows.

        Args:
            dataset: What is split; the parts have its labels, and their names after its own.
            rows: The rows of each part; they are put in an order drawn by the seed, so that the
                first so many are a fair sample.
            drawn: Rows that were drawn with a probability below 1.
            shares: Percent asked for.
            seed: Of the order of rows.
            groups: How many groups each sealed part has.
            merged: How many groups were lost by joining.
            notes: What is to be said; what an audit corrected is added.
        """

        def part_of(name: str, some: Iterable[Row]) -> Dataset:
            full = f"{dataset.name}/{name}" if dataset.name else name
            return Dataset.of(some, labels=dataset.labels, name=full)

        parts: dict[Part, Dataset] = {}
        for part in PARTS:
            in_order = sorted(rows.get(part, ()), key=lambda row: hash_of(seed, row.id))
            parts[part] = part_of(part, in_order)
        return cls(
            train=parts["train"],
            validation=parts["validation"],
            holdout=SealedRows(parts["holdout"], name="holdout", groups=groups["holdout"]),
            final=SealedRows(parts["final"], name="final", groups=groups["final"]),
            drawn=part_of("drawn", drawn),
            shares=shares,
            seed=seed,
            merged=merged,
            notes=(*notes, *_review_notes(parts)),
        )

    def __repr__(self) -> str:
        sizes = (len(self.train), len(self.validation), len(self.holdout), len(self.final))
        parts = ", ".join(f"{part} {size:,}" for part, size in zip(PARTS, sizes, strict=True))
        return f"Splits({parts} rows; holdout and final sealed)"

    def _repr_html_(self) -> str:
        return html_table(self.to_frame(), title=repr(self), notes=self.notes)

    def to_frame(self) -> pd.DataFrame:
        """Return one line a part: its rows, its groups, and whether it is sealed."""
        import pandas as pd

        lines: list[dict[str, object]] = []
        for part, rows in (("train", self.train), ("validation", self.validation)):
            groups = len({row.group_key for row in rows.rows})
            lines.append({"part": part, "rows": len(rows), "groups": groups, "sealed": False})
        for sealed in (self.holdout, self.final):
            line = {"part": sealed.name, "rows": len(sealed), "groups": sealed.groups}
            lines.append({**line, "sealed": True})
        return pd.DataFrame(lines)


def parse_shares(text: str) -> Shares:
    """Read `30/20/30/20`: percent for train, validation, holdout and final.

    Raises:
        InputError: The text is not four numbers that make 100, the first three of them above 0.
    """
    try:
        shares = tuple(float(part) for part in text.split("/"))
    except ValueError:
        shares = ()
    return check_shares(shares, text)


def write_shares(shares: Sequence[float]) -> str:
    """Write them as `parse_shares` reads them."""
    return "/".join(f"{share:g}" for share in shares)


def check_shares(shares: Sequence[float], text: str) -> Shares:
    """Return the shares.

    Args:
        shares: Percent for train, validation, holdout and final.
        text: As they were written.

    Raises:
        InputError: They are not four numbers that make 100, the first three of them above 0.
    """
    makes_100 = len(shares) == 4 and abs(sum(shares) - 100) < 1e-6
    if not makes_100 or min(shares) < 0 or not all(shares[:3]):
        raise InputError(
            f"the split {text!r} is not four percentages that make 100",
            hint="train/validation/holdout/final, for example 30/20/30/20; only the last may be 0",
        )
    return shares[0], shares[1], shares[2], shares[3]


def hash_of(seed: int, *parts: str) -> bytes:
    """Return what decides an order that nothing else does."""
    # Each part stands behind its length, so that text cannot move from one part to the next.
    body = "\0".join((str(seed), *(f"{len(part)}:{part}" for part in parts)))
    return hashlib.blake2b(body.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _review_notes(parts: Mapping[Part, Dataset]) -> list[str]:
    """Say how many labels an audit has corrected in each part; it moved none of them."""
    counts: Counter[str] = Counter()
    for part, rows in parts.items():
        for row in rows.rows:
            counts[part] += row.review is not None and row.label != row.review.before
    listed = ", ".join(f"{part} {count:,}" for part, count in counts.items() if count)
    where = "every row is where its label in the file has it"
    return [f"labels that an audit corrected: {listed}; {where}"] if listed else []
