"""What others printed about their judges: figures to stand beside ours, marked, and never ranked
among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from importlib.resources import files
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from ..errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Misprint:
    """What should have been printed, and the reason to think so."""

    figure: Decimal
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRow:
    """One evaluator's printed figures."""

    set: str
    evaluator: str
    data: str
    source: str
    metrics: Mapping[str, Decimal]
    """As fractions of 1 with the digits that were printed; none of them came with an interval."""
    counts: Mapping[str, int]
    """Rows of the confusion table, where they were printed."""
    file: str | None
    """The released verdicts of this evaluator, by the name they have among our shared files."""
    misprints: Mapping[str, Misprint]
    """Metrics that were printed wrongly."""

    def to_json(self) -> dict[str, object]:
        """Return a leaderboard's line for these figures."""
        return {
            "name": self.evaluator,
            "published": True,
            "set": self.set,
            "data": self.data,
            "source": self.source,
            "metrics": {name: float(value) for name, value in self.metrics.items()},
            "counts": dict(self.counts),
            "misprints": {
                name: {"figure": float(misprint.figure), "reason": misprint.reason}
                for name, misprint in self.misprints.items()
            },
        }


def load_published(names: Iterable[str] | None = None) -> tuple[PublishedRow, ...]:
    """Return the published figures of some sets, or of all, in the order asked for.

    Raises:
        InputError: There is no set of such a name.
    """
    text = (
        files("judgewright.judges.published").joinpath("published.yaml").read_text(encoding="utf-8")
    )
    # Every scalar is read as text, so that the digits that were printed stay: 1.0000 is not 1.0.
    sets = _File.model_validate(yaml.load(text, Loader=yaml.BaseLoader)).sets  # noqa: S506  # builds text, lists, dicts
    rows: list[PublishedRow] = []
    for name in sets if names is None else dict.fromkeys(names):
        if name not in sets:
            raise InputError(
                f"no published figures are called {name!r}", hint=f"there are {', '.join(sets)}"
            )
        rows += _rows(name, sets[name])
    return tuple(rows)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


Fraction = Annotated[Decimal, Field(ge=-1, le=100, allow_inf_nan=False)]


class _Misprint(_Strict):
    figure: Fraction
    reason: str = Field(min_length=1)


class _Row(_Strict):
    evaluator: str = Field(min_length=1)
    data: str | None = None
    metrics: dict[str, Fraction] = Field(min_length=1)
    counts: dict[str, int] = {}
    file: str | None = None
    misprints: dict[str, _Misprint] = {}


class _Set(_Strict):
    source: str = Field(min_length=1)
    data: str = Field(min_length=1)
    unit: Literal["fraction", "percent"] = "fraction"
    rows: list[_Row] = Field(min_length=1)


class _File(_Strict):
    format: Literal["1"]
    sets: dict[str, _Set]


def _rows(name: str, figures: _Set) -> list[PublishedRow]:
    shift = 2 if figures.unit == "percent" else 0
    return [
        PublishedRow(
            set=name,
            evaluator=row.evaluator,
            data=row.data or figures.data,
            source=figures.source,
            metrics={metric: value.scaleb(-shift) for metric, value in row.metrics.items()},
            counts=row.counts,
            file=row.file,
            misprints={
                metric: Misprint(figure=misprint.figure.scaleb(-shift), reason=misprint.reason)
                for metric, misprint in row.misprints.items()
            },
        )
        for row in figures.rows
    ]
