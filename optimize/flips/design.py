"""What is fixed before the first label: the rows with both verdicts, what is claimed, and how rows
are drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...judges import InputError, JudgedDataset, Verdict
from ..losses.objective import Guard
from .scores import require_linear

ABOUT = "new groups like these"
"""What the decision is about."""
VERSION = 1


@dataclass(frozen=True, slots=True)
class PoolRow:
    """A row with both verdicts: 1 for yes, 0 for no, None where unscored."""

    id: str
    group: str
    before: int | None
    after: int | None
    positive: bool | None = None
    """What people said of it; known of the sealed holdout's rows alone."""
    same_as: str = ""
    """The id of an earlier row with the same texts, whose label is this one's too; empty where
    there is none.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipDesign:
    """The frozen design of a queue: with it and the labels everything is computed again."""

    target: str
    guards: tuple[Guard, ...]
    alpha: float
    """What this look may spend on the target."""
    seed: int
    """Of the order of groups and the draws within them."""
    positive_from: float
    """The least label that counts as positive."""
    rows: tuple[PoolRow, ...]
    unit: str = ""
    """What the rows of a group share, such as `passage`; empty where it has no name."""

    def __post_init__(self) -> None:
        for metric in (self.target, *(guard.metric for guard in self.guards)):
            require_linear(metric)
        if not 0 < self.alpha < 1:
            raise InputError(f"alpha is {self.alpha!r}; it lies between 0 and 1")
        drawn = [row.id for row in self.rows if row.positive is None]
        if len(set(drawn)) < len(drawn):
            raise InputError(
                "two rows of the pool have the same id", hint="give each row an id of its own"
            )

    @property
    def about(self) -> str:
        """What the decision is about, in words."""
        return f"{ABOUT}, one {self.unit} each" if self.unit else ABOUT

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> FlipDesign:  # Any: JSON
        """Read what `to_json` wrote.

        Raises:
            InputError: A newer version wrote it, or it asks about the rows of its pool alone.
        """
        if body["version"] != VERSION:
            raise InputError(
                f"the design has version {body['version']}; this Judgewright reads {VERSION}"
            )
        if body.get("estimand", "groups") != "groups":
            raise InputError("the queue asks about its own rows alone, which nothing does any more")
        rows = {"same_as": [""] * len(body["rows"]["id"]), **body["rows"]}
        columns = (rows[name] for name in PoolRow.__slots__)
        return cls(
            target=body["target"],
            guards=tuple(Guard(**guard) for guard in body["guards"]),
            alpha=body["alpha"],
            seed=body["seed"],
            positive_from=body["positive_from"],
            rows=tuple(PoolRow(*values) for values in zip(*columns, strict=True)),
            unit=body.get("unit", ""),
        )

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the design, its rows column by column."""
        return {
            "version": VERSION,
            "target": self.target,
            "guards": [asdict(guard) for guard in self.guards],
            "alpha": self.alpha,
            "seed": self.seed,
            "estimand": "groups",
            "positive_from": self.positive_from,
            "unit": self.unit,
            "rows": {name: [getattr(row, name) for row in self.rows] for name in PoolRow.__slots__},
        }


def pool_rows(
    before: JudgedDataset, after: JudgedDataset, *, labelled: bool = False
) -> tuple[PoolRow, ...]:
    """Return the rows of two answers to the same dataset.

    Args:
        before, after: Answers to the same rows, in the same order.
        labelled: Whether the rows' labels count, as the sealed holdout's do; they are passed over
            otherwise, and rows with the same texts share one.
    """
    rows: list[PoolRow] = []
    first: dict[tuple[tuple[str, str], ...], str] = {}
    for row, old, new in zip(before.dataset.rows, before.answers, after.answers, strict=True):
        if labelled and row.label is None:
            continue
        positive = before.dataset.positive(row) if labelled else None
        same_as = ""
        if row.inputs and not labelled:
            earlier = first.setdefault(tuple(sorted(row.inputs.items())), row.id)
            same_as = "" if earlier == row.id else earlier
        rows.append(PoolRow(row.id, row.group_key, _said(old), _said(new), positive, same_as))
    return tuple(rows)


def _said(answer: object) -> int | None:
    return int(answer.positive) if isinstance(answer, Verdict) else None


def count_flips(rows: Sequence[PoolRow]) -> int:
    """Count the rows that both scored, and not alike."""
    return sum(row.before != row.after and None not in (row.before, row.after) for row in rows)
