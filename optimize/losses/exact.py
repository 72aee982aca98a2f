"""An objective in exact forms: metric names and numbers, written as a reading is written back.

`raise precision; recall may fall by 5 points; f1 must be at least 0.8; on the slice long`. Clauses
end with a semicolon or a line. Whatever is written otherwise is left to a model or to a question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...judges import InputError
from ...judges.metrics.catalog import LOWER_IS_BETTER
from ...slices import parse_predicate
from .class_names import ClassNames
from .objective import (
    ERRORS,
    OWN_DIRECTION,
    Direction,
    Floor,
    Guard,
    Reading,
    metric_name,
    read_floor,
    read_guard,
    wish,
)

EXAMPLE = "raise precision; recall may fall by 5 points"
_FALLS = (" may fall by at most ", " may fall by ", " may rise by at most ", " may rise by ")
_REACHES = (" must be at least ", " at least ", " >= ")
_CONFIDENCE = " with 95 % confidence"
_FEWER = " by making fewer "
_ROWS, _SLICE = "on the rows with ", "on the slice "
_POINTS = ("point", "points", "%", "percent")


def read_exact(text: str, classes: ClassNames | None, slices: Mapping[str, str]) -> Reading:
    """Read the clauses that are written in exact forms; the others are left over as `unread`.

    Args:
        text: The objective.
        classes: Those among which the judge chooses; None where it decides yes or no.
        slices: The predicates of saved slices, by their names.
    """
    reader = _ExactReader(classes.metric_name if classes else metric_name, slices)
    for line in text.replace(";", "\n").splitlines():
        clause = " ".join(line.split()).removesuffix(".")
        if clause:
            reader.read(clause)
    return reader.reading()


class _ExactReader:
    """Collects what the clauses say."""

    def __init__(self, named: Callable[[str], str], slices: Mapping[str, str]) -> None:
        self._named, self._saved = named, slices
        self._targets: dict[str, Direction | None] = {}
        self._guards: list[Guard] = []
        self._floors: list[Floor] = []
        self._slices: list[str] = []
        self._unread: list[str] = []

    def read(self, clause: str) -> None:
        """Take a clause as it stands, or leave it over with the reason where there is one."""
        rest = clause
        try:
            for opening, read in ((_ROWS, self._predicate), (_SLICE, self._saved_slice)):
                rest, is_there, name = _cut(rest, opening)
                if is_there:
                    self._slices.append(read(name))
            if rest and not self._limit(rest):
                self._wish(rest)
        except InputError as error:
            self._unread.append(f"'{clause}' ({error})" if str(error) else f"'{clause}'")

    def reading(self) -> Reading:
        """Return what was read; several targets, or several slices, are none."""
        target = next(iter(self._targets), None)
        if len(self._targets) > 1:
            both = " and ".join(self._targets)
            self._unread.append(f"{both}: one metric is raised; say how far the other may fall")
            target = None
        slices = list(dict.fromkeys(self._slices))
        if len(slices) > 1:
            self._unread.append(f"the slices {' and '.join(slices)}: a run works on one")
        return Reading(
            target=target,
            direction=None if target is None else self._targets[target],
            guards=tuple(dict.fromkeys(self._guards)),
            floors=tuple(dict.fromkeys(self._floors)),
            slice=slices[0] if len(slices) == 1 else None,
            unread=tuple(self._unread),
        )

    def _wish(self, clause: str) -> None:
        """Read `raise precision`, `lower brier` or the name of a metric."""
        named, _, errors = clause.partition(_FEWER)
        verb, _, words = named.partition(" ")
        if verb.lower() in ("raise", "lower"):
            metric = self._named(words.partition(", ")[0])
            if not wish(metric).startswith(verb.lower()):
                raise InputError(f"{metric} is better {'low' if verb == 'raise' else 'high'}")
        else:
            metric = self._alone(named)
        direction: Direction | None = OWN_DIRECTION.get(metric)
        if errors:
            fought: list[Direction] = [
                side for side, words in ERRORS.items() if words == errors.lower()
            ]
            if not fought or direction not in (None, *fought):
                raise InputError(f"{metric} is not about {errors}")
            direction = fought[0]
        self._targets[metric] = direction

    def _alone(self, name: str) -> str:
        """Return the metric that a clause is the name of; words that name none are no mistake."""
        try:
            return self._named(name)
        except InputError:
            raise InputError("") from None

    def _limit(self, clause: str) -> bool:
        """Read how far a metric may get worse, or what it must reach; say whether it is either."""
        for between in _FALLS:
            metric, is_there, amount = _cut(clause, between)
            if is_there:
                guard = read_guard(f"{metric}={_fraction(amount)}", self._named)
                if ("rise" in between) != (guard.metric in LOWER_IS_BETTER):
                    raise InputError(f"which way does {guard.metric} get worse?")
                self._guards.append(guard)
                return True
        for between in _REACHES:
            metric, is_there, amount = _cut(clause, between)
            if is_there:
                value = _fraction(_cut(amount, _CONFIDENCE)[0])
                self._floors.append(read_floor(f"{metric}={value}", self._named))
                return True
        if "=" in clause:
            self._guards.append(read_guard(clause, self._named))
            return True
        return False

    def _predicate(self, words: str) -> str:
        return str(parse_predicate(words))

    def _saved_slice(self, name: str) -> str:
        name = name.strip("'\"")
        if name in self._saved:
            return self._saved[name]
        saved = ", ".join(sorted(self._saved))
        raise InputError(
            f"saved are {saved}" if saved else "none is saved in the workspace's folder `slices`"
        )


def _cut(clause: str, words: str) -> tuple[str, bool, str]:
    """Return what stands before some words, whether they are there, and what follows them."""
    at = clause.lower().find(words)
    if at < 0:
        return clause, False, ""
    return clause[:at].strip(), True, clause[at + len(words) :].strip()


def _fraction(words: str) -> str:
    """Return `5 points`, `5 %` or `0.05` as the fraction that options have."""
    number, _, unit = words.replace("%", " %").strip().partition(" ")
    unit = unit.strip()
    try:
        amount = float(number)
    except ValueError:
        raise InputError(f"{words!r} is no number of points") from None
    if unit and unit not in _POINTS:
        raise InputError(f"{unit!r} is no unit: say points or %")
    return f"{amount / 100 if unit else amount:g}"
