"""What others printed about their judges: figures to stand beside ours, marked, and never ranked
among them.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import InputError
from ..files.small_file import read_small_text

Fraction = Annotated[Decimal, Field(ge=-1, le=100, allow_inf_nan=False)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PublishedRow(_Strict):
    """One evaluator's printed figures."""

    evaluator: str = Field(min_length=1)
    metrics: dict[str, Fraction] = Field(min_length=1)
    """As fractions of 1 with the digits that were printed; none of them came with an interval."""
    counts: dict[str, int] = {}
    """Rows of the confusion table, where they were printed."""
    remark: str = ""
    data: str = ""
    set: str = ""
    source: str = ""
    """As its whole file has it."""

    def to_json(self) -> dict[str, object]:
        """Return a leaderboard's line for these figures."""
        body = self.model_dump(exclude={"evaluator", "metrics"})
        metrics = {name: float(value) for name, value in self.metrics.items()}
        return {"name": self.evaluator, "published": True, **body, "metrics": metrics}


class _File(_Strict):
    source: str = Field(min_length=1)
    data: str = Field(min_length=1)
    unit: Literal["fraction", "percent"] = "fraction"
    rows: list[PublishedRow] = Field(min_length=1)


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
        for row in figures.rows:
            metrics = {metric: value.scaleb(shift) for metric, value in row.metrics.items()}
            of_file = {"set": path.stem, "source": figures.source, "metrics": metrics}
            rows.append(row.model_copy(update={**of_file, "data": row.data or figures.data}))
    return tuple(rows)
