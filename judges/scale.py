"""The scale a judge or a person grades on, and the decision rule that turns a grade into a
label.
"""

from __future__ import annotations

import hashlib
import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, cast

import orjson
from pydantic import BeforeValidator

from .errors import InputError, PromptError
from .reply_reading import turned

MOST_LEVELS = 1001
"""The most grades a scale may have; a table of all pairs of grades still fits into memory."""
FARTHEST_GRADE = 1_000_000
"""The largest distance of a grade from zero."""

ScaleKind = Literal["graded", "binary", "probability", "choice"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputScale:
    """What answers are possible: graded integers, yes/no, a probability, or one of k labels."""

    __pydantic_config__: ClassVar[Mapping[str, str]] = {"extra": "forbid"}  # in a prompt's file

    kind: ScaleKind = "graded"
    low: int = 0
    high: int = 3
    labels: tuple[str, ...] = ()
    """The k labels of a choice, the words for 0 and 1 of a binary scale, or the names of grades,
    the worst first.
    """
    anchors: Mapping[str, str] = field(default_factory=dict)
    """What each grade means, in the words the judge sees."""
    threshold: float = 2.0
    """A grade at or above it counts as positive."""
    low_is_good: bool = False
    """Whether replies give the probability of the bad; the grade is 1 minus it, so that a high
    grade is always good.
    """

    def __post_init__(self) -> None:
        if self.low_is_good and self.kind != "probability":
            raise PromptError(
                f"low_is_good is said of a probability, not of a scale that is {self.kind}",
                hint="write other labels and grades with the worst first",
            )
        if self.kind == "graded" and self.labels:
            if len(set(self.labels)) != len(self.labels):
                raise PromptError(
                    f"a scale of named grades needs different labels, got {list(self.labels)!r}"
                )
            object.__setattr__(self, "low", 0)
            object.__setattr__(self, "high", len(self.labels) - 1)
        if self.kind == "graded":
            _check_range(self.low, self.high)
        # The ends follow from the kind, so that scales that mean the same are equal.
        if self.kind == "probability":
            object.__setattr__(self, "low", 0)
            object.__setattr__(self, "high", 1)
        if self.kind == "binary":
            object.__setattr__(self, "low", 0)
            object.__setattr__(self, "high", 1)
            if self.labels and len(self.labels) != 2:
                raise PromptError(
                    f"a binary scale has two labels (negative, positive), got {list(self.labels)!r}"
                )
        if self.kind == "choice":
            if len(self.labels) < 2 or len(set(self.labels)) != len(self.labels):
                raise PromptError(
                    f"a choice scale needs two or more different labels, got {list(self.labels)!r}"
                )
            object.__setattr__(self, "low", 0)
            object.__setattr__(self, "high", len(self.labels) - 1)
        if not math.isfinite(self.threshold):
            raise PromptError(f"threshold {self.threshold!r} is not a number")

    @property
    def levels(self) -> tuple[float, ...]:
        """Every grade in order; empty for a probability, which has no levels."""
        if self.kind == "probability":
            return ()
        return tuple(float(g) for g in range(self.low, self.high + 1))

    @property
    def anchors_text(self) -> str:
        """The anchors as messages show them: a line for each grade that has one."""
        return "\n".join(f"{grade}: {anchor}" for grade, anchor in self.anchors.items())

    def same_grades(self, other: OutputScale) -> bool:
        """Whether two scales differ at most in what their anchors say of a grade."""
        return replace(self, anchors={}) == replace(other, anchors={})

    def with_anchors(self, text: str) -> OutputScale:
        """Return the scale with the wording of its anchors changed; grades and threshold stay.

        Args:
            text: What `anchors_text` is to be.

        Raises:
            InputError: The text does not have a line for each grade that had one, in the same
                order.
        """
        if text == self.anchors_text:
            return self
        pattern = r"\n".join(rf"{re.escape(grade)}: ([\s\S]*)" for grade in self.anchors)
        match = re.fullmatch(pattern, text)
        if match is None:
            raise InputError(
                f"the scale no longer says what {', '.join(self.anchors)} mean, a line each"
            )
        return replace(self, anchors=dict(zip(self.anchors, match.groups(), strict=True)))

    def positive(self, grade: float) -> bool:
        """Whether a grade counts as positive at the threshold."""
        return grade >= self.threshold

    def contains(self, grade: float) -> bool:
        """Whether a grade is possible on this scale."""
        if not math.isfinite(grade):
            return False
        if self.kind == "probability":
            return 0.0 <= grade <= 1.0
        return float(grade).is_integer() and self.low <= grade <= self.high

    def written(self, grade: float) -> float:
        """Return the number that a reply has for a grade, or the grade for a number of a reply."""
        return turned(grade) if self.low_is_good else grade

    def name(self, grade: float) -> str:
        """Write a grade as a reply has it: the class of a choice, the name of a grade, else the
        number.
        """
        if self.kind in ("choice", "graded") and self.labels and self.contains(grade):
            return self.labels[int(grade)]
        return f"{self.written(grade):g}"

    def describe(self) -> str:
        """Name the scale the way messages do, such as `0..3, positive at 2`."""
        if self.kind == "choice":
            return "one of " + ", ".join(self.labels)
        if self.kind == "binary":
            return "0/1"
        if self.low_is_good:
            up_to = f"{self.written(self.threshold):g}"
            return (
                f"a probability of which low is good, positive up to {up_to}; its grade is 1"
                " minus it"
            )
        if self.kind == "probability":
            return f"a probability, positive at {self.threshold:g}"
        if self.labels:
            least = next(
                (name for grade, name in enumerate(self.labels) if self.positive(grade)),
                "none of them",
            )
            return f"{' < '.join(self.labels)}, positive at {least}"
        return f"{self.low}..{self.high}, positive at {self.threshold:g}"


def _check_range(low: int, high: int) -> None:
    if low >= high:
        raise PromptError(f"scale low {low!r} is not below high {high!r}")
    if max(abs(low), abs(high)) > FARTHEST_GRADE:
        raise PromptError(
            f"scale {low!r:.20}..{high!r:.20} reaches beyond {FARTHEST_GRADE:,}; grades are small"
            " whole numbers"
        )
    if high - low >= MOST_LEVELS:
        raise PromptError(
            f"scale {low!r}..{high!r} has {high - low + 1:,} levels, the most is {MOST_LEVELS:,}"
        )


_THRESHOLDS: Mapping[str, float] = {"graded": 2.0, "binary": 1.0, "probability": 0.5, "choice": 1.0}
"""Where a scale is positive that states no threshold, by its kind."""


def _with_threshold(scale: Any) -> Any:  # Any: YAML nodes
    if not isinstance(scale, dict):
        return scale
    node = cast("dict[str, Any]", scale)
    if node.get("threshold") is not None:
        return node
    return node | {"threshold": _THRESHOLDS.get(node.get("kind", "graded"), 0.0)}


StatedScale = Annotated[OutputScale, BeforeValidator(_with_threshold)]
"""A scale as a file states it, which may leave the threshold to its kind."""

BINARY = OutputScale(kind="binary", threshold=1.0)
PROBABILITY = OutputScale(kind="probability", threshold=0.5)
LOW_PROBABILITY = OutputScale(kind="probability", threshold=0.5, low_is_good=True)


def infer_label_scale(labels: Iterable[float], judge_scale: OutputScale) -> OutputScale:
    """Read from the labels themselves which scale people graded on.

    Labels that are all 0 or 1 are binary, whatever the judge's scale; whole numbers inside the
    judge's scale are its grades; fractions in [0, 1] are probabilities with 0.5 as the threshold.

    Raises:
        InputError: The labels fit none of these, or are fractions that may be numbers of the
            judge's or its grades.
    """
    values = {float(v) for v in labels}
    if judge_scale.kind == "choice" and all(judge_scale.contains(v) for v in values):
        return judge_scale
    if values <= {0.0, 1.0}:
        return BINARY
    if judge_scale.low_is_good and all(judge_scale.contains(v) for v in values):
        raise InputError(
            "the judge's numbers are good where they are low, and the labels between 0 and 1 may be"
            " such or not",
            hint=(
                "say --label-scale probability where a high label is the good one, low-probability"
                " where a low one is"
            ),
        )
    if all(judge_scale.contains(v) for v in values):
        return judge_scale
    if all(0.0 <= v <= 1.0 for v in values):
        return PROBABILITY
    outside = sorted(v for v in values if not judge_scale.contains(v))[:5]
    raise InputError(
        f"labels {outside!r} are outside the judge's scale ({judge_scale.describe()})",
        hint=(
            "give the scale of the labels: --label-scale"
            f" {math.floor(min(values))}..{math.ceil(max(values))}"
        ),
    )


def parse_label_scale(text: str) -> OutputScale:
    """Read `binary`, `probability`, `0..3` or `1..5@4` (the part after @ is the threshold); `6..1`
    where 1 is the best.

    `low-probability@0.3` is one of which low is good: a reply of 0.3 or less is positive.

    Raises:
        InputError: The text is none of these.
    """
    body, _, threshold = text.partition("@")
    try:
        if body == "binary":
            return BINARY
        if body == "probability":
            return OutputScale(kind="probability", threshold=float(threshold or 0.5))
        if body == "low-probability":
            return replace(LOW_PROBABILITY, threshold=turned(float(threshold or 0.5)))
        low, _, high = body.partition("..")
        bounds = int(low), int(high)
        if bounds[0] > bounds[1]:
            names = tuple(str(grade) for grade in range(bounds[0], bounds[1] - 1, -1)[:MOST_LEVELS])
            least = names.index(threshold) if threshold else len(names) // 2
            return OutputScale(kind="graded", labels=names, threshold=float(least))
        middle = math.ceil((bounds[0] + bounds[1]) / 2)
        return OutputScale(low=bounds[0], high=bounds[1], threshold=float(threshold or middle))
    except ValueError:
        raise InputError(
            f"label scale {text!r} is not binary, probability, low-probability, LOW..HIGH or"
            " LOW..HIGH@THRESHOLD"
        ) from None


def label_scale_text(scale: OutputScale) -> str:
    """Return what `parse_label_scale` reads as a scale of the same grades and decisions.

    A choice has no such text, and names and anchors of grades are not in it.
    """
    if scale.kind == "binary":
        return "binary"
    body = "probability" if scale.kind == "probability" else f"{scale.low}..{scale.high}"
    return f"{body}@{scale.threshold!r}"


def split_class_metric(name: str) -> tuple[str, str | None]:
    """Split `recall[billing]` into the metric and the class of a choice; the class is None where
    there is none.
    """
    metric, bracket, rest = name.partition("[")
    if not bracket or not rest.endswith("]"):
        return name, None
    return metric, rest[:-1]


LOGIT_EDGE = 0.001
"""Platt scaling takes a probability nearer to 0 or 1 for this, since the logit of a stated 1 does
not exist.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Isotonic:
    """A calibration that never falls: linear between knots, constant outside them (Zadrozny and
    Elkan 2002).
    """

    x: tuple[float, ...]
    """Raw probabilities of the positive label, rising."""
    y: tuple[float, ...]
    """Calibrated ones, never falling."""

    def __post_init__(self) -> None:
        inside = all(0.0 <= value <= 1.0 for value in (*self.x, *self.y))
        rising = all(a < b for a, b in pairwise(self.x)) and all(
            a <= b for a, b in pairwise(self.y)
        )
        if len(self.x) != len(self.y) or not self.x or not inside or not rising:
            raise InputError(
                f"{len(self.x)} knots to {len(self.y)} are not a calibration that rises within"
                " [0, 1]"
            )

    def __call__(self, probability: float) -> float:
        """Return the calibrated probability."""
        above = bisect_right(self.x, probability)
        if above == 0 or above == len(self.x):
            return self.y[max(0, above - 1)]
        low, high = self.x[above - 1], self.x[above]
        slope = (self.y[above] - self.y[above - 1]) / (high - low)
        # Rounding may carry the line past its upper end.
        return min(self.y[above], self.y[above - 1] + slope * (probability - low))

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what `calibration_from_json` reads."""
        return {"method": "isotonic", "x": list(self.x), "y": list(self.y)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Platt:
    """A logistic calibration on the logit of the raw probability (after Platt 1999); 1 and 0 change
    nothing.
    """

    slope: float
    """At least 0, so that the order of rows stays."""
    intercept: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.slope) and math.isfinite(self.intercept) and self.slope >= 0):
            raise InputError(
                f"slope {self.slope!r} and intercept {self.intercept!r} are not a rising"
                " calibration"
            )

    def __call__(self, probability: float) -> float:
        """Return the calibrated probability."""
        inside = min(max(probability, LOGIT_EDGE), 1.0 - LOGIT_EDGE)
        z = self.slope * math.log(inside / (1.0 - inside)) + self.intercept
        return 1.0 / (1.0 + math.exp(-z)) if z >= 0 else math.exp(z) / (1.0 + math.exp(z))

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what `calibration_from_json` reads."""
        return {"method": "platt", "slope": self.slope, "intercept": self.intercept}


Calibration = Isotonic | Platt
"""A rising map from the judge's raw probability of the positive label to a calibrated one."""


def calibration_from_json(body: Mapping[str, Any]) -> Calibration:  # Any: JSON
    """Read what a calibration's `to_json` wrote; numbers may stand as text.

    Raises:
        InputError: It is no calibration.
    """
    try:
        if body["method"] == "isotonic":
            return Isotonic(x=tuple(map(float, body["x"])), y=tuple(map(float, body["y"])))
        if body["method"] == "platt":
            return Platt(slope=float(body["slope"]), intercept=float(body["intercept"]))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"the calibration cannot be read: {type(error).__name__}: {error}"
        ) from None
    raise InputError(f"calibration {body['method']!r} is neither isotonic nor platt")


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRule:
    """How a grade becomes a decision; it has a hash of its own beside the prompt's version."""

    threshold: float
    """A grade at or above it is positive; on a probability scale, a calibrated score."""
    calibration: Calibration | None = None

    def __post_init__(self) -> None:
        if not math.isfinite(self.threshold):
            raise InputError(f"threshold {self.threshold!r} is not a number")
        object.__setattr__(
            self, "threshold", float(self.threshold)
        )  # 2 and 2.0 are one rule and have one hash

    @property
    def version(self) -> str:
        """Twelve hexadecimal digits that change whenever the rule does."""
        body = {key: value for key, value in self.to_json().items() if value is not None}
        return hashlib.blake2b(orjson.dumps(body), digest_size=6).hexdigest()

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return threshold and calibration."""
        calibration = None if self.calibration is None else self.calibration.to_json()
        return {"threshold": self.threshold, "calibration": calibration}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> DecisionRule:  # Any: JSON
        """Read what `to_json` wrote.

        Raises:
            InputError: It is no rule.
        """
        calibration = body.get("calibration")
        try:
            threshold = float(body["threshold"])
        except (KeyError, TypeError, ValueError):
            raise InputError(
                f"the rule has no threshold that is a number: {body.get('threshold')!r}"
            ) from None
        return cls(
            threshold=threshold,
            calibration=calibration_from_json(calibration) if calibration else None,
        )
