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
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Literal, get_args

from ..errors import DataError, InputError
from ..files.small_file import read_small_text
from ..metrics.catalog import is_metric
from .compute import Value, VerdictFile
from .rules import Rule, read_rule, shipped_rule

_MOST_BYTES = 64_000_000

Printed = Decimal | tuple[Decimal, ...] | None
"""A figure, or several, with the digits that were printed."""
Status = Literal["equal", "misprint", "differs", "not computed"]
STATUSES: tuple[Status, ...] = get_args(Status)

ROUNDING = 1e-12
"""What floats may add to half a unit of the last digit that was printed."""
_SHOWN = 300
"""Characters of a reason that are shown: it is one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One figure: published, computed by others, and ours."""

    file: str
    figure: str
    published: Printed = None
    computed: Printed = None
    misprint: str = ""
    """Why the published figure is not what the verdicts give, as the file says."""
    ours: Value | None = None
    difference: float | None = None
    """Ours less the published figure, or less the computed one where none was published; of counts
    the largest.
    """
    status: Status = "not computed"
    definition: str = ""
    n: int | None = None
    """Rows with a label and a verdict, or items after aggregation."""
    remark: str = ""
    """Why it was misprinted, differs or could not be computed."""
    rule: Rule | None = None
    """How ours is computed; None where nothing says how."""
    rule_stated: bool = True
    """False where the rule is no more than the name of a metric."""

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

    Raises:
        DataError: The file of expectations cannot be read.
    """
    lines: list[Line] = []
    for name, entries in read_expected(expected).items():
        verdicts = VerdictFile(path=folder / name)
        lines += [_computed(verdicts, entry) for entry in entries]
    return tuple(lines)


def all_agree(lines: tuple[Line, ...]) -> bool:
    """Say whether no figure differs and at least one could be compared."""
    return any(line.accepted for line in lines) and all(line.status != "differs" for line in lines)


def read_expected(path: Path) -> dict[str, list[Line]]:
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
    expectations: dict[str, list[Line]] = {}
    for name, figures in body.items():
        file = _clean(name)
        if isinstance(figures, dict):
            lines = [_read_entry(file, _clean(figure), one) for figure, one in figures.items()]
        else:
            problem = f"{_kind(figures)} stands where an object of figures should"
            lines = [Line(file=file, figure="", remark=problem)]
        expectations[file] = lines
    return expectations


def _not_expectations(path: Path, reason: str) -> DataError:
    shape = "an object of files, each with an object of figures"
    return DataError(f"{path}: not a file of expectations: {reason}", hint=f"it is JSON: {shape}")


def _read_entry(file: str, figure: str, entry: Any) -> Line:  # Any: JSON
    if not isinstance(entry, dict):
        example = '{"published": 0.71}'
        problem = f"the entry is {_kind(entry)}; it should be an object such as {example}"
        return Line(file=file, figure=figure, remark=problem)
    problems: list[str] = []
    status, definition = (_read_text(entry, key, problems) for key in ("status", "definition"))
    published, computed = (_read_printed(entry, key, problems) for key in ("published", "computed"))
    rule, stated = None, True
    try:
        rule, stated = _rule_of(file, figure, entry.get("rule"), definition)
    except InputError as error:
        problems.append(str(error))
    return Line(
        file=file,
        figure=figure,
        published=published,
        computed=computed,
        misprint="" if status == "exact" else status,
        definition=definition,
        rule=rule,
        rule_stated=stated,
        remark=_one_line("; ".join(problems)),
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
        try:
            number = Decimal("nan" if isinstance(part, bool | float) else part)
        except (InvalidOperation, TypeError, ValueError):
            number = Decimal("nan")
        if not number.is_finite() or not math.isfinite(float(number)):
            problems.append(f"{key} is {_kind(value)}; a figure is a number, or a list of numbers")
            return None
        numbers.append(number)
    return tuple(numbers) if isinstance(value, list) else numbers[0]


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
    text = str(value) if len(str(value)) <= 40 else f"{str(value)[:40]}…"
    return repr(text) if isinstance(value, str) else text


def _clean(text: str) -> str:
    # A lone surrogate can be neither printed nor a file's name.
    return text.encode("utf-8", "replace").decode()


def _one_line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _computed(verdicts: VerdictFile, entry: Line) -> Line:
    """Return an entry with our figure."""
    if entry.remark or entry.rule is None:
        return entry
    try:
        ours, n = verdicts.compute(entry.rule, stated=entry.rule_stated)
    except InputError as error:
        return replace(entry, remark=_one_line(str(error)))
    status, remark = _compared(ours, entry)
    reference = entry.computed if entry.published is None else entry.published
    return replace(
        entry,
        ours=ours,
        n=n,
        difference=_difference(ours, reference),
        status=status,
        remark=_one_line(remark),
    )


def _compared(ours: Value, entry: Line) -> tuple[Status, str]:
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
    if entry.computed is None or not entry.misprint:
        return "differs", "from the published figure"
    return "misprint", entry.misprint


def _same(ours: Value, printed: Printed) -> bool:
    """Return whether ours is the printed figure to the digits that were printed."""
    if isinstance(ours, tuple) and isinstance(printed, tuple):
        return len(ours) == len(printed) and all(map(_same, map(float, ours), printed))
    if not isinstance(ours, float) or not isinstance(printed, Decimal):
        return False
    # Equal to half a unit of the last digit that was printed.
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
