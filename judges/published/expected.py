"""Published figures computed again: what a file of expectations says about verdict files, and what
comes out.

The file is JSON, `{file: {figure: {published, computed, status, definition, rule}}}`: `published`
is what its authors printed, `computed` what somebody found in the released verdicts, either of them
null where there is none, and `rule` how the figure is computed (`rules.py`). An entry that cannot
be read or computed costs itself alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, Field, TypeAdapter, ValidationError

from ..errors import DataError, InputError
from ..files.small_file import read_small_text
from ..metrics.catalog import is_metric
from .compute import Value, VerdictFile
from .rules import Rule, explain, refuse_truth, shipped_rule

_MOST_BYTES = 64_000_000

Printed = Decimal | tuple[Decimal, ...] | None
"""A figure, or several, with the digits that were printed."""
Status = Literal["equal", "misprint", "differs", "not computed"]
STATUSES: tuple[Status, ...] = get_args(Status)

ROUNDING = 1e-12
"""What floats may add to half a unit of the last digit that was printed."""
_SHOWN = 300
"""Characters of a reason that are shown: it is one line."""


Digits = Annotated[Decimal, BeforeValidator(refuse_truth), Field(ge=-1e300, le=1e300)]


class _Entry(BaseModel):
    """What a file of expectations says of one figure."""

    published: Digits | tuple[Digits, ...] | None = None
    computed: Digits | tuple[Digits, ...] | None = None
    status: str = ""
    definition: str = ""
    rule: Rule | None = None


_FILE = TypeAdapter(dict[str, dict[str, Any]])  # Any: each entry is read by itself


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
        text = read_small_text(path, limit=_MOST_BYTES)
        body = _FILE.validate_python(json.loads(text, parse_float=Decimal))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:
        shape = "an object of files, each with an object of figures"
        reason = explain(error) if isinstance(error, ValidationError) else str(error)
        raise DataError(
            f"{path}: not a file of expectations: {reason}", hint=f"it is JSON: {shape}"
        ) from None
    return {
        file: [_read_entry(file, figure, entry) for figure, entry in figures.items()]
        for file, figures in body.items()
    }


def _read_entry(file: str, figure: str, body: object) -> Line:
    try:
        entry = _Entry.model_validate(body)
        rule, stated = _rule_of(file, figure, entry)
    except ValidationError as error:
        return Line(file=file, figure=figure, remark=_one_line(explain(error)))
    except InputError as error:
        return Line(file=file, figure=figure, remark=_one_line(str(error)))
    return Line(
        file=file,
        figure=figure,
        published=entry.published,
        computed=entry.computed,
        misprint="" if entry.status == "exact" else entry.status,
        definition=entry.definition,
        rule=rule,
        rule_stated=stated,
    )


def _rule_of(file: str, figure: str, entry: _Entry) -> tuple[Rule, bool]:
    """Return the rule of an entry and whether somebody stated it: its own, or ours, or no more than
    a metric's name.

    Raises:
        InputError: There is none.
    """
    stated = entry.rule or shipped_rule(file, figure)
    if stated is not None:
        return stated, True
    by_name = Rule(metric=figure or "?", times=100.0 if "x100" in entry.definition else 1.0)
    if not is_metric(by_name.name):
        raise InputError(
            f'no rule says how {figure!r} is computed; add "rule": {{"metric": ...}} to the entry'
        )
    return by_name, False


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
