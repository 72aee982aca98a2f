"""Published figures computed again: what a file of expectations says about verdict files, and what
comes out.

The file is JSON, `{file: {figure: {published, computed, status, definition, rule}}}`: `published`
is what its authors printed, `computed` what somebody found in the released verdicts, either of them
null where there is none, and `rule` how the figure is computed (`rules.py`). An entry that cannot
be read or computed costs itself alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Literal, get_args

from ..errors import DataError, InputError
from ..files.small_file import read_small_text
from ..metrics.catalog import is_metric
from .compute import Value, VerdictFile
from .figures import load_published
from .rules import Rule, read_rule, shipped_rule

_MOST_BYTES = 64_000_000

Printed = Decimal | tuple[Decimal, ...] | None
"""A figure, or several, with the digits that were printed."""
Status = Literal["equal", "misprint", "differs", "not computed"]
STATUSES: tuple[Status, ...] = get_args(Status)

ROUNDING = 1e-12
"""What floats may add to half a unit of the last digit that was printed."""
SHOWN = 300
"""Characters of a reason that are shown: it is one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One figure: published, computed by others, and ours."""

    file: str
    figure: str
    published: Printed
    computed: Printed
    ours: Value | None
    difference: float | None
    """Ours less the published figure, or less the computed one where none was published; of counts
    the largest.
    """
    status: Status
    definition: str
    n: int | None
    """Rows with a label and a verdict, or items after aggregation."""
    remark: str = ""
    """Why it was misprinted, differs or could not be computed."""
    rule: Rule | None = None
    """How ours was computed; None where nothing says how."""

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
            "rule": None if self.rule is None else self.rule.to_json(),
        }


def check_expected(expected: Path, folder: Path) -> tuple[Line, ...]:
    """Compute every figure of a file of expectations from the verdicts in a folder.

    The figures of `published.yaml` that name one of these files are computed beside them.

    Raises:
        DataError: The file of expectations cannot be read.
    """
    lines: list[Line] = []
    for name, entries in read_expected(expected).items():
        verdicts = VerdictFile(path=folder / name)
        lines += [_line(verdicts, entry) for entry in (*entries, *_also_published(name))]
    return tuple(lines)


def all_agree(lines: tuple[Line, ...]) -> bool:
    """Say whether no figure differs and at least one could be compared."""
    return any(line.accepted for line in lines) and all(line.status != "differs" for line in lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What others say about one figure."""

    file: str
    figure: str
    published: Printed = None
    computed: Printed = None
    status: str = "exact"
    definition: str = ""
    rule: Rule | None = None
    """How it is computed; None where nobody says so."""
    rule_stated: bool = True
    """False where the rule is no more than the name of a metric."""
    problem: str = ""
    """Why nothing can be computed, such as a rule with an unknown key; empty where something may
    be.
    """


def read_expected(path: Path) -> dict[str, list[Expectation]]:
    """Read a file of expectations by the names of verdict files, keeping the digits of its figures.

    Raises:
        DataError: It is not such a file. An entry that cannot be read is kept with its problem.
    """
    try:
        body = json.loads(read_small_text(path, limit=_MOST_BYTES), parse_float=Decimal)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:
        raise _not_expectations(path, str(error)) from None
    if not isinstance(body, dict):
        raise _not_expectations(path, f"it holds {_kind(body)}")
    expectations: dict[str, list[Expectation]] = {}
    for name, figures in body.items():
        file = _clean(name)
        if isinstance(figures, dict):
            expectations[file] = [
                _read_entry(file, _clean(figure), entry) for figure, entry in figures.items()
            ]
        else:
            problem = f"{_kind(figures)} stands where an object of figures should"
            expectations[file] = [Expectation(file=file, figure="", problem=problem)]
    return expectations


def _not_expectations(path: Path, reason: str) -> DataError:
    shape = "an object of files, each with an object of figures"
    return DataError(f"{path}: not a file of expectations: {reason}", hint=f"it is JSON: {shape}")


def _read_entry(file: str, figure: str, entry: Any) -> Expectation:  # Any: JSON
    if not isinstance(entry, dict):
        problem = (
            f'the entry is {_kind(entry)}; it should be an object such as {{"published": 0.71}}'
        )
        return Expectation(file=file, figure=figure, problem=problem)
    problems: list[str] = []
    published, computed = (_read_printed(entry, key, problems) for key in ("published", "computed"))
    status, definition = (_read_text(entry, key, problems) for key in ("status", "definition"))
    rule, stated = None, True
    try:
        rule, stated = _rule_of(file, figure, entry.get("rule"), definition)
    except InputError as error:
        problems.append(str(error))
    return Expectation(
        file=file,
        figure=figure,
        published=published,
        computed=computed,
        status=status or "exact",
        definition=definition,
        rule=rule,
        rule_stated=stated,
        problem="; ".join(problems),
    )


def _rule_of(file: str, figure: str, body: Any, definition: str) -> tuple[Rule, bool]:  # Any: JSON
    """Return the rule of an entry and whether somebody stated it: its own, or ours, or no more than
    a metric's name.

    Raises:
        InputError: It cannot be read, or there is none.
    """
    if body is not None:
        return read_rule(body), True
    shipped = shipped_rule(file, figure)
    if shipped is not None:
        return shipped, True
    by_name = Rule(metric=figure or "?", times=100.0 if "x100" in definition else 1.0)
    if not is_metric(by_name.name):
        raise InputError(
            f'no rule says how {figure!r} is computed; add "rule": {{"metric": ...}} to the entry'
        )
    return by_name, False


def _read_printed(entry: Mapping[str, Any], key: str, problems: list[str]) -> Printed:  # Any: JSON
    value = entry.get(key)
    if value is None:
        return None
    numbers: list[Decimal] = []
    for part in value if isinstance(value, list) else [value]:
        number = _decimal(part)
        if number is None:
            problems.append(f"{key} is {_kind(value)}; a figure is a number, or a list of numbers")
            return None
        numbers.append(number)
    return tuple(numbers) if isinstance(value, list) else numbers[0]


def _decimal(value: Any) -> Decimal | None:  # Any: JSON
    """Return a number, also one that stands as text, with its digits; None where it is none, or not
    a finite one.
    """
    if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
        return None
    try:
        number = Decimal(value)
    except InvalidOperation:
        return None
    return number if number.is_finite() and math.isfinite(float(number)) else None


def _read_text(entry: Mapping[str, Any], key: str, problems: list[str]) -> str:  # Any: JSON
    value = entry.get(key)
    if isinstance(value, str):
        return _clean(value)
    if value is not None:
        problems.append(f"{key} is {_kind(value)}, not a text")
    return ""


def _kind(value: Any) -> str:  # Any: JSON
    """Name a JSON value for a message, short ones as they stand."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list of lists" if any(isinstance(part, list) for part in value) else "a list"
    return f"{_cut(str(value), 40)!r}" if isinstance(value, str) else _cut(str(value), 40)


def _clean(text: str) -> str:
    # A lone surrogate can be neither printed nor a file's name.
    return text.encode("utf-8", "replace").decode()


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}…"


def _also_published(file: str) -> Iterator[Expectation]:
    """Yield the figures that were published about a file's judge, each by its set and metric."""
    for row in load_published():
        if row.file != file:
            continue
        for metric, value in row.metrics.items():
            misprint = row.misprints.get(metric)
            rule = shipped_rule(file, metric)
            yield Expectation(
                file=file,
                figure=f"{row.set}: {metric}",
                published=value.scaleb(2),
                computed=misprint.figure.scaleb(2) if misprint else None,
                status=misprint.reason if misprint else "exact",
                definition=f"x100, of {row.evaluator}; {row.source}",
                rule=rule,
                problem="" if rule else "no rule ships for it",
            )


def _line(verdicts: VerdictFile, entry: Expectation) -> Line:
    ours: Value | None = None
    n: int | None = None
    status: Status = "not computed"
    remark = entry.problem
    if not remark and entry.rule is not None:
        try:
            ours, n = verdicts.compute(entry.rule, stated=entry.rule_stated)
        except InputError as error:
            remark = str(error)
        else:
            status, remark = _compared(ours, entry)
    reference = entry.computed if entry.published is None else entry.published
    return Line(
        file=entry.file,
        figure=entry.figure,
        published=entry.published,
        computed=entry.computed,
        ours=ours,
        difference=_difference(ours, reference),
        status=status,
        definition=entry.definition,
        n=n,
        remark=_cut(" ".join(remark.split()), SHOWN),
        rule=entry.rule,
    )


def _compared(ours: Value, entry: Expectation) -> tuple[Status, str]:
    """Compare our figure with both: a published one may be wrong where the file says so, a computed
    one never.
    """
    if entry.published is None and entry.computed is None:
        return "not computed", "nothing is expected: neither a published figure nor a computed one"
    for printed in (entry.published, entry.computed):
        if printed is not None and isinstance(printed, tuple) != isinstance(ours, tuple):
            metric, expected = (
                f"a list of {len(figure)}" if isinstance(figure, tuple) else "one number"
                for figure in (ours, printed)
            )
            return "not computed", f"the metric is {metric}, and the entry expects {expected}"
    if entry.computed is not None and not _same(ours, entry.computed):
        return "differs", f"computed elsewhere as {entry.computed}"
    if entry.published is None or _same(ours, entry.published):
        return "equal", ""
    if entry.computed is None or entry.status == "exact":
        return "differs", "from the published figure"
    return "misprint", entry.status


def _same(ours: Value, printed: Printed) -> bool:
    """Return whether ours is the printed figure to the digits that were printed."""
    if isinstance(ours, tuple) and isinstance(printed, tuple):
        return len(ours) == len(printed) and all(
            _same(float(a), b) for a, b in zip(ours, printed, strict=True)
        )
    if not isinstance(ours, float) or not isinstance(printed, Decimal):
        return False
    # Equal to half a unit of the last digit that was printed.
    return abs(ours - float(printed)) <= 0.5 * 10.0 ** int(printed.as_tuple().exponent) + ROUNDING


def _difference(ours: Value | None, printed: Printed) -> float | None:
    if isinstance(ours, tuple) and isinstance(printed, tuple) and len(ours) == len(printed):
        return max((a - float(b) for a, b in zip(ours, printed, strict=True)), key=abs, default=0.0)
    if isinstance(ours, float) and isinstance(printed, Decimal):
        return ours - float(printed)
    return None


def _plain(printed: Printed) -> float | tuple[float, ...] | None:
    if isinstance(printed, tuple):
        return tuple(float(part) for part in printed)
    return None if printed is None else float(printed)
