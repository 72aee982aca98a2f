"""What others printed about their judges: figures to stand beside ours, marked, and never ranked
among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import InputError
from ..files.small_file import read_small_text


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
    remark: str

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
            "remark": self.remark,
        }


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


Fraction = Annotated[Decimal, Field(ge=-1, le=100, allow_inf_nan=False)]


class _Row(_Strict):
    evaluator: str = Field(min_length=1)
    data: str = ""
    metrics: dict[str, Fraction] = Field(min_length=1)
    counts: dict[str, int] = {}
    remark: str = ""


class _File(_Strict):
    source: str = Field(min_length=1)
    data: str = Field(min_length=1)
    unit: Literal["fraction", "percent"] = "fraction"
    rows: list[_Row] = Field(min_length=1)


def load_published(paths: Iterable[Path]) -> tuple[PublishedRow, ...]:
    """Return the figures of some files, such as those in `docs/published`; each file once.

    Raises:
        InputError: A file cannot be read, or is none of published figures.
    """
    rows: list[PublishedRow] = []
    for path in dict.fromkeys(paths):
        try:
            # Every scalar is read as text, so that the digits that were printed stay: 1.0000 is not
            # 1.0.
            body = yaml.load(read_small_text(path), Loader=yaml.BaseLoader)  # noqa: S506  # text, lists, dicts
            figures = _File.model_validate(body)
        except OSError as error:
            raise InputError(
                f"{path}: cannot be read ({error.strerror or error})",
                hint="name a file of YAML with source, data and rows, as those in docs/published",
            ) from None
        except (yaml.YAMLError, UnicodeDecodeError, ValidationError) as error:
            reason = str(error)
            if isinstance(error, ValidationError):
                first = error.errors()[0]
                reason = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
            raise InputError(
                f"{path}: not a file of published figures: {reason}",
                hint="it is YAML with source, data and rows, as the files in docs/published",
            ) from None
        shift = -2 if figures.unit == "percent" else 0
        rows += [
            PublishedRow(
                set=path.stem,
                evaluator=row.evaluator,
                data=row.data or figures.data,
                source=figures.source,
                metrics={metric: value.scaleb(shift) for metric, value in row.metrics.items()},
                counts=row.counts,
                remark=row.remark,
            )
            for row in figures.rows
        ]
    return tuple(rows)
