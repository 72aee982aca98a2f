"""Published figures computed again: what a file of expectations says about verdict files, and what we find there.

The file is JSON, `{file: {figure: {published, computed, status, definition}}}`: `published` is what its authors
printed, `computed` what somebody found in the released verdicts, either of them null where there is none. How we
compute a figure is told by `SHEETS`, one table for each kind of file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from ..benchmark import measure
from ..errors import DataError, InputError
from ..files.verdict_columns import VerdictColumns
from ..files.verdicts import load_judges
from ..judged import Judged
from .figures import load_published
from .recipes import SHEETS, Recipe, Sheet, Value

Printed = Decimal | tuple[Decimal, ...] | None
"""A figure, or several, with the digits that were printed."""
Status = Literal["equal", "misprint", "differs", "not computed"]
STATUSES: tuple[Status, ...] = get_args(Status)

ROUNDING = 1e-12
"""What floats may add to half a unit of the last digit that was printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One figure: published, computed by others, and ours."""

    file: str
    figure: str
    published: Printed
    computed: Printed
    ours: Value
    difference: float | None
    """Ours less the published figure, or less the computed one where none was published; of counts the largest."""
    status: Status
    definition: str
    n: int | None
    """Rows with a label and a verdict, or items after aggregation."""
    remark: str = ""
    """Why it was misprinted, differs or could not be computed."""

    @property
    def accepted(self) -> bool:
        """Whether ours is the figure, or the figure is known to be misprinted."""
        return self.status in ("equal", "misprint")

    def to_json(self) -> dict[str, object]:
        """Return the line as `score --expected --json` prints it."""
        return {
            "file": self.file,
            "figure": self.figure,
            "published": _plain(self.published),
            "computed": _plain(self.computed),
            "ours": self.ours,
            "difference": self.difference,
            "status": self.status,
            "definition": self.definition,
            "n": self.n,
            "remark": self.remark,
        }


def check_expected(expected: Path, folder: Path) -> tuple[Line, ...]:
    """Compute every figure of a file of expectations from the verdicts in a folder.

    The figures of `published.yaml` that name one of these files are computed beside them.

    Raises:
        DataError: The file of expectations cannot be read.
    """
    lines: list[Line] = []
    for name, figures in read_expected(expected).items():
        book = _Book(path=folder / name)
        lines += [_line(book, figure, figure, said) for figure, said in figures.items()]
        lines += [_line(book, *found) for found in _also_published(name)]
    return tuple(lines)


class Expectation(BaseModel):
    """What others say about one figure."""

    model_config = ConfigDict(frozen=True)

    published: Printed = None
    computed: Printed = None
    status: str = "exact"
    definition: str = ""


def read_expected(path: Path) -> dict[str, dict[str, Expectation]]:
    """Read a file of expectations, keeping the digits of its figures.

    Raises:
        DataError: It is not such a file.
    """
    try:
        body = json.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
        return {
            file: {figure: Expectation.model_validate(said) for figure, said in figures.items()}
            for file, figures in body.items()
        }
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, AttributeError, RecursionError) as error:
        first = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        shape = "an object of files, each with an object of figures"
        raise DataError(f"{path}: not a file of expectations: {first}", hint=f"it is JSON: {shape}") from None


@dataclass(kw_only=True)
class _Book:
    """One verdict file, read once for each way of reading it."""

    path: Path
    read: dict[int, dict[str, Judged]] = field(default_factory=dict)

    @cached_property
    def sheet(self) -> Sheet:
        return next(sheet for sheet in SHEETS if fnmatchcase(self.path.name, sheet.files))

    def judges(self, columns: VerdictColumns) -> dict[str, Judged]:
        if id(columns) not in self.read:  # the recipes live as long as the program, and so do their ids
            self.read[id(columns)] = load_judges(self.path, columns)
        return self.read[id(columns)]

    def compute(self, figure: str, definition: str) -> tuple[Value, int]:
        """Return a figure and the rows behind it; without a recipe the definition says whether it is a percentage.

        Raises:
            InputError: The file cannot be read, or nothing is known of such a judge or figure.
        """
        judge, _, name = figure.rpartition(": ") if self.sheet.matrix else ("", "", figure)
        recipe = self.sheet.recipes.get(name.casefold())
        found = self.judges(recipe.columns if recipe else self.sheet.columns)
        judged = found.get(judge) if self.sheet.matrix else next(iter(found.values()))
        if judged is None:
            raise InputError(f"the file has no judge {judge!r}")
        value = _times(recipe, judged) if recipe else _by_name(judged, name, 100.0 if "x100" in definition else 1.0)
        return value, len(judged.scored)


def _times(recipe: Recipe, judged: Judged) -> Value:
    value = recipe.compute(judged)
    return value * recipe.times if isinstance(value, float) else value


def _by_name(judged: Judged, name: str, times: float) -> Value:
    """Look a figure up among our own metrics."""
    metrics = measure(judged, resamples=1).metrics
    key = name.strip().casefold().replace(" ", "_").replace("-", "_")
    if key not in metrics:
        raise InputError(f"no recipe and no metric is called {name!r}")
    value = metrics[key].value
    return None if value is None else value * times


def _also_published(file: str) -> Iterator[tuple[str, str, Expectation]]:
    """Yield the figures that were published about a file's judge: what to call them, their metric, what was said."""
    for row in load_published():
        if row.file != file:
            continue
        for metric, value in row.metrics.items():
            misprint = row.misprints.get(metric)
            said = Expectation(
                published=value.scaleb(2),
                computed=misprint.figure.scaleb(2) if misprint else None,
                status=misprint.reason if misprint else "exact",
                definition=f"x100, of {row.evaluator}; {row.source}",
            )
            yield f"{row.set}: {metric}", metric, said


def _line(book: _Book, shown: str, figure: str, said: Expectation) -> Line:
    ours: Value = None
    n: int | None = None
    try:
        ours, n = book.compute(figure, said.definition)
    except InputError as error:
        status, remark = "not computed", str(error)
    else:
        status, remark = _compared(ours, said)
    reference = said.computed if said.published is None else said.published
    return Line(
        file=book.path.name,
        figure=shown,
        published=said.published,
        computed=said.computed,
        ours=ours,
        difference=_difference(ours, reference),
        status=status,
        definition=said.definition,
        n=n,
        remark=remark,
    )


def _compared(ours: Value, said: Expectation) -> tuple[Status, str]:
    """Hold our figure against both: a published one may be wrong where the file says so, a computed one never."""
    if said.published is None and said.computed is None:
        return "not computed", "nothing is expected: neither a published figure nor a computed one"
    if said.computed is not None and not _same(ours, said.computed):
        return "differs", f"computed elsewhere as {said.computed}"
    if said.published is None or _same(ours, said.published):
        return "equal", ""
    if said.computed is None or said.status == "exact":
        return "differs", "from the published figure"
    return "misprint", said.status


def _same(ours: Value, printed: Printed) -> bool:
    """Whether ours is the printed figure to the digits that were printed."""
    if isinstance(ours, tuple) and isinstance(printed, tuple):
        return len(ours) == len(printed) and all(_same(float(a), b) for a, b in zip(ours, printed, strict=True))
    if not isinstance(ours, float) or not isinstance(printed, Decimal):
        return False
    return abs(ours - float(printed)) <= 0.5 * 10.0 ** int(printed.as_tuple().exponent) + ROUNDING


def _difference(ours: Value, printed: Printed) -> float | None:
    if isinstance(ours, tuple) and isinstance(printed, tuple) and len(ours) == len(printed):
        return max((a - float(b) for a, b in zip(ours, printed, strict=True)), key=abs, default=0.0)
    if isinstance(ours, float) and isinstance(printed, Decimal):
        return ours - float(printed)
    return None


def _plain(printed: Printed) -> float | tuple[float, ...] | None:
    if isinstance(printed, tuple):
        return tuple(float(part) for part in printed)
    return None if printed is None else float(printed)
