"""What a person wants of a judge: the target metric, the errors to fight, and what must not be lost
for it.

A false positive is a row that the judge calls positive and people do not, whatever the judge's
positive class is.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ...judges import CLASS_METRICS, InputError, split_class_metric
from ...judges.metrics.catalog import LOWER_IS_BETTER, METRICS, metric_of

Direction = Literal["fp", "fn"]

TARGETS: tuple[str, ...] = (
    "precision",
    "recall",
    "specificity",
    "f1",
    "accuracy",
    "balanced_accuracy",
    "mcc",
    "kappa",
    "off_by_one",
    "brier",
)
"""The metrics an objective may name as its target, guard or floor."""
DEFAULT_MARGIN = 0.05
"""How much a guarded metric may fall where nobody said how much."""
MAX_CHARACTERS = 4000

OWN_DIRECTION: Mapping[str, Direction] = {"precision": "fp", "specificity": "fp", "recall": "fn"}
COUNTERPARTS = {
    "precision": "recall",
    "specificity": "recall",
    "recall": "precision",
    "brier": "accuracy",
}
ERRORS: Mapping[Direction, str] = {"fp": "false positives", "fn": "false negatives"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """A metric that may not get worse by more than `margin` (a fraction: 0.03 is three points)."""

    metric: str
    margin: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """A metric whose one-sided 95 % lower bound must be at or above `value` (a fraction)."""

    metric: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """What to improve, which errors to fight, and what must not be lost for it."""

    text: str
    target: str
    direction: Direction | None
    """Which errors the target is about; None where it is about both kinds."""
    guards: tuple[Guard, ...] = ()
    floors: tuple[Floor, ...] = ()
    slice: str | None = None
    """A predicate: the rows that it is about; None where the sentence names none."""
    notes: tuple[str, ...] = ()
    """What was assumed, overruled or left out while reading, for the person to see."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The target and every guarded or floored metric, each once."""
        others = (*self.guards, *self.floors)
        return tuple(dict.fromkeys((self.target, *(other.metric for other in others))))

    def describe(self) -> str:
        """Read the objective back in plain words."""
        reading = Reading(
            target=self.target,
            direction=self.direction,
            guards=self.guards,
            floors=self.floors,
            slice=self.slice,
        )
        words = reading.describe()
        return f"{words[0].upper()}{words[1:]}."

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the objective, as it was put and as it was read."""
        body: dict[str, Any] = {
            "text": self.text,
            "read_as": self.describe(),
            "target": self.target,
            "direction": self.direction,
            "guards": [asdict(guard) for guard in self.guards],
            "notes": list(self.notes),
        }
        # Questions and runs of earlier versions have neither; equal questions stay equal.
        if self.floors:
            body["floors"] = [asdict(floor) for floor in self.floors]
        if self.slice is not None:
            body["slice"] = self.slice
        return body

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Objective:  # Any: JSON
        """Read what `to_json` wrote."""
        return cls(
            text=body["text"],
            target=body["target"],
            direction=body["direction"],
            guards=tuple(Guard(**guard) for guard in body["guards"]),
            floors=tuple(Floor(**floor) for floor in body.get("floors", ())),
            slice=body.get("slice"),
            notes=tuple(body["notes"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was made of an objective; the target is None where it names none, or several without
    an order.
    """

    target: str | None = None
    direction: Direction | None = None
    guards: tuple[Guard, ...] = ()
    floors: tuple[Floor, ...] = ()
    slice: str | None = None
    """A predicate."""
    unread: tuple[str, ...] = ()
    """The clauses that were not understood, each with the reason where there is one."""
    notes: tuple[str, ...] = ()

    def describe(self) -> str:
        """Say the reading in plain words."""
        words = [wish(self.target) if self.target else "no target"]
        if self.target and self.direction:
            words[0] += f" by making fewer {ERRORS[self.direction]}"
        words += [
            f"{guard.metric} may {describe_margin(guard.metric, guard.margin)}"
            for guard in self.guards
        ]
        words += [
            f"{floor.metric} must be at least {floor.value:g} with 95 % confidence"
            for floor in self.floors
        ]
        if self.slice:
            words.append(f"on the rows with {self.slice}")
        if self.unread:
            words.append(f"not read: {', '.join(self.unread)}")
        return "; ".join(words)

    def flags(self) -> str:
        """Return the options that say the same."""
        words = [f"--target {self.target}"] if self.target else []
        words += [f"--guard {guard.metric}={guard.margin:g}" for guard in self.guards]
        words += [f"--floor {floor.metric}={floor.value:g}" for floor in self.floors]
        return " ".join(words)


def wish(target: str) -> str:
    """Say what is wanted of a target."""
    return (
        f"lower {target}, the {METRICS[target].what}"
        if target in LOWER_IS_BETTER
        else f"raise {target}"
    )


def describe_margin(metric: str, margin: float) -> str:
    """Say how far a metric may fall; of one that is better low, how far it may rise."""
    if metric in LOWER_IS_BETTER:
        return f"rise by at most {margin:g}"
    return f"fall by at most {100 * margin:g} points"


def read_guard(text: str, named: Callable[[str], str] | None = None) -> Guard:
    """Read `recall:-0.05` or `recall=0.05`: in both, the loss that is allowed.

    Args:
        text: What is read.
        named: Returns the contract's name of a metric; `metric_name` unless given.

    Raises:
        InputError: It is not a known metric with a margin between 0 and 1.
    """
    name, between, amount = text.rpartition("=" if "=" in text else ":")
    metric = (named or metric_name)(name if between else text)
    margin = abs(_number(amount))
    if not between or not 0.0 <= margin < 1.0:
        raise InputError(
            f"guard {text!r} is not METRIC=LOSS with a loss between 0 and 1",
            hint=f"a loss of three points is written {metric}=0.03, or {metric}:-0.03",
        )
    return Guard(metric=metric, margin=margin)


def read_floor(text: str, named: Callable[[str], str] | None = None) -> Floor:
    """Read `precision=0.9`: the least that the metric must be.

    Args:
        text, named: As `read_guard` takes them.

    Raises:
        InputError: It is not a known metric with a value between 0 and 1.
    """
    name, between, amount = text.rpartition("=")
    metric, value = (named or metric_name)(name if between else text), _number(amount)
    if metric in LOWER_IS_BETTER:
        raise InputError(
            f"{metric} is better low, so it has no floor",
            hint=f"make it the target, or say how far it may rise with --guard {metric}=0.02",
        )
    if not between or not 0.0 < value < 1.0:
        raise InputError(
            f"floor {text!r} is not METRIC=VALUE with a value between 0 and 1",
            hint=f"at least 90 % is written {metric}=0.9",
        )
    return Floor(metric=metric, value=value)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def plain_name(text: str) -> str:
    """Return a metric's name as the contract spells it: `Balanced accuracy`, `off-by-one`."""
    return "_".join(text.lower().replace("-", " ").split())


def metric_name(text: str) -> str:
    """Return the contract's name of a metric, in small or capital letters; one of a choice's
    classes is `recall[billing]`.

    Raises:
        InputError: There is no such target; near names are given.
    """
    plain = plain_name(text)
    if split_class_metric(text.strip())[1] or text.strip() in CLASS_METRICS:
        metric_of(text.strip())  # it says where there is no such metric
        return text.strip()
    if plain in TARGETS:
        return plain
    near = difflib.get_close_matches(plain, TARGETS, n=3, cutoff=0.5)
    suggestion = f": near are {', '.join(near)}" if near else ""
    raise InputError(
        f"{text!r} is not a metric an objective can have{suggestion}",
        hint="it can be " + ", ".join(TARGETS),
    )
