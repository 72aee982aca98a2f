"""The scales of a verdict file: read from the grades that occur, or stated; and what lies outside
them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ..errors import InputError
from ..scale import BINARY, FARTHEST_GRADE, MOST_LEVELS, PROBABILITY, OutputScale
from .label_words import WORDS, split_pairs

GradeMap = Mapping[str, float | None]
"""What a cell says to the grade it stands for; None leaves the row without one."""

_NAMED = 5
_FEW = 0.05
"""Share of the scores that may be no grades; with more it is the wrong column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuts:
    """What a label and a score must reach to be positive; None takes each scale's own default."""

    label: float | None
    score: float | None


def parse_grade_map(text: str, *, option: str) -> dict[str, float | None]:
    """Read `no=0,partially=0.5,yes=1`, as an option such as `--label-map` has it.

    `unclear=none` leaves such rows without a grade.

    Raises:
        InputError: A pair is not CELL=GRADE, or a cell stands twice.
    """
    grades: dict[str, float | None] = {}
    for pair in split_pairs(text):
        cell, equals, grade = (part.strip() for part in pair.rpartition("="))
        if not cell or not equals:
            raise InputError(
                f"{option} {pair!r} is not CELL=GRADE", hint="for example no=0,partially=0.5,yes=1"
            )
        if cell.casefold() in grades:
            raise InputError(f"{option} maps {cell!r} twice")
        value = None
        if grade.casefold() not in ("", "none"):
            try:
                value = float(grade)
            except ValueError:
                value = math.nan
            if not math.isfinite(value):
                hint = "write a number, or none for no grade"
                raise InputError(f"{option} {pair!r}: {grade!r} is no grade", hint=hint)
        grades[cell.casefold()] = value
    return grades


def words_for(mapped: GradeMap, usual: Mapping[str, float] = WORDS) -> dict[str, float]:
    """Return what may stand for a grade, in lower case: the map before the words that are usual.

    A number is found however it is written in the file (1, 1.0); a cell that stands for no grade is
    NaN.
    """
    words = dict(usual)
    for cell, grade in mapped.items():
        # NaN, because a cell without an entry is read as it is, which is not what the map says.
        target = math.nan if grade is None else float(grade)
        words[cell.casefold()] = target
        try:
            number = float(cell)
        except ValueError:
            continue
        if math.isfinite(number):
            words |= dict.fromkeys((repr(number), f"{number:g}"), target)
    return words


def map_note(side: str, mapped: GradeMap) -> list[str]:
    """Return what a map did; nothing for an empty one."""
    pairs = [
        f"{cell} as {'nothing' if grade is None else f'{grade:g}'}"
        for cell, grade in mapped.items()
    ]
    return [f"{side} were mapped: {', '.join(pairs)}"] if pairs else []


def infer_scale(values: Iterable[float], threshold: float | None = None) -> OutputScale:
    """Read a scale from the finite grades, at least one, that occur on it.

    A binary scale keeps the threshold 1; None takes each scale's own default.

    Raises:
        InputError: The values are spread too wide, or too far from zero, to be grades.
    """
    grades = set(values)
    if grades <= {0.0, 1.0}:
        return BINARY
    least, largest = min(grades), max(grades)
    if least >= 0.0 and largest <= 1.0:
        return PROBABILITY if threshold is None else replace(PROBABILITY, threshold=threshold)
    low, high = math.floor(least), math.ceil(largest)
    # A lone grade is the top of its scale.
    if low == high:
        low = min(0, low - 1)
    if high - low >= MOST_LEVELS or max(-low, high) > FARTHEST_GRADE:
        raise InputError(
            f"values from {least:g} to {largest:g} are no grades", hint="is it the right column?"
        )
    if threshold is None:
        threshold = _middle(low, high)
    return OutputScale(low=low, high=high, threshold=threshold)


def infer_scales(
    labels: set[float], scores: set[float], cuts: Cuts, notes: list[str]
) -> tuple[OutputScale, OutputScale]:
    """Read the scales of people and judge from their grades; notes say where the two were brought
    together.

    Raises:
        InputError: As `infer_scale`.
    """
    people, judge = infer_scale(labels, cuts.label), infer_scale(scores, cuts.score)
    if _one_scale(people, judge):
        low, high = min(people.low, judge.low), max(people.high, judge.high)
        stated = replace(people, low=low, high=high, threshold=_middle(low, high))
        people, judge = state_scales(stated, cuts)
        notes.append(
            f"labels and scores were read as one scale, {low}..{high}, one end of which one side"
            " never uses"
        )
    elif people.kind == judge.kind == "graded" and (
        judge.low < people.low or judge.high > people.high
    ):
        ends = f"{people.low}..{people.high}"
        notes.append(
            f"scores reach beyond the labels' {ends}; if that is the scale of both, state it:"
            f" --scale {ends}"
        )
    return people, judge


def state_scales(scale: OutputScale, cuts: Cuts) -> tuple[OutputScale, OutputScale]:
    """Return one stated scale for people and judge, each with its own threshold where one is given.

    Raises:
        InputError: Low numbers are good on it; files of verdicts hold grades, of which high ones
            are.
    """
    if scale.low_is_good:
        raise InputError(
            "a file of verdicts holds grades, of which a high one is good",
            hint="write 1 minus each number, and --scale probability",
        )
    if scale.kind == "binary":
        return scale, scale
    people = scale if cuts.label is None else replace(scale, threshold=cuts.label)
    judge = scale if cuts.score is None else replace(scale, threshold=cuts.score)
    return people, judge


def describe_scales(
    scales: tuple[OutputScale, OutputScale],
    labels: set[float],
    scores: set[float],
    notes: list[str],
) -> None:
    """Note how both sides were read, and what is odd about them.

    Raises:
        InputError: A threshold that no probability can reach.
    """
    if labels:
        _describe(scales[0], labels, "labels", notes)
    _describe(scales[1], scores, "scores", notes)


def _describe(scale: OutputScale, values: set[float], side: str, notes: list[str]) -> None:
    notes.append(f"{side} were read as {scale.describe()}")
    if scale.kind == "probability" and scale.threshold > 1:
        option = "map them with --label-map" if side == "labels" else "give --threshold"
        raise InputError(
            f"{side} are fractions in [0, 1] and can never reach the threshold {scale.threshold:g}",
            hint=f"{option}, so that both sides can reach one threshold",
        )
    sides = {scale.positive(value) for value in values}
    if len(sides) == 1:
        share = "all" if sides.pop() else "none"
        notes.append(f"{share} of the {side} reach the threshold {scale.threshold:g}")
    fractions = [value for value in values if not value.is_integer()]
    if scale.kind == "graded" and fractions:
        notes.append(f"some {side} lie between the grades, such as {min(fractions):g}")


def say_outside(
    labels: Counter[float], scores: Counter[float], scale: OutputScale, clip: bool, notes: list[str]
) -> None:
    """Note which labels and scores lie beyond the ends of a stated scale, and what becomes of them.

    Raises:
        InputError: A label is beyond them and is not to be clipped.
    """
    ends = f"{scale.low}..{scale.high}"
    if strange := outside(labels, scale):
        if not clip:
            raise InputError(
                f"labels lie outside {ends}: {strange}",
                hint=(
                    "state their scale with --scale, map them with --label-map, or clip them with"
                    " --clip"
                ),
            )
        notes.append(f"labels outside {ends} were clipped to its ends: {strange}")
    if strange := outside(scores, scale):
        consequence = "were clipped to its ends" if clip else "were left unscored"
        notes.append(f"scores outside {ends} {consequence}: {strange}")


def far_scores(scores: Counter[float], notes: list[str]) -> set[float]:
    """Return the scores of a few rows that are so far from zero that they are no grades, and note
    them.
    """
    far = {score: count for score, count in scores.items() if abs(score) > FARTHEST_GRADE}
    count = sum(far.values())
    if not far or count > _FEW * scores.total():
        return set()
    notes.append(
        f"scores that are no grades, left unscored: {count:,} (such as {min(far, key=abs):g})"
    )
    return far.keys() | set()


def outside(values: Counter[float], scale: OutputScale) -> str:
    """Name the values beyond the ends of a scale with their counts, such as `4 (10 rows), -1 (1
    row)`; else nothing.
    """
    counts = Counter(
        {value: n for value, n in values.items() if not scale.low <= value <= scale.high}
    )
    named = []
    for value, n in counts.most_common(_NAMED):
        rows = "row" if n == 1 else "rows"
        named.append(f"{value:g} ({n:,} {rows})")
    if len(counts) > _NAMED:
        named.append(f"{len(counts) - _NAMED:,} other values")
    return ", ".join(named)


def clipped(grade: float, scale: OutputScale | None) -> float:
    """Return a grade; one beyond an end of the scale, where there is one, is moved to that end."""
    if scale is None:
        return grade
    return min(max(grade, float(scale.low)), float(scale.high))


def _middle(low: int, high: int) -> float:
    return float(math.ceil((low + high) / 2))


def _one_scale(people: OutputScale, judge: OutputScale) -> bool:
    """Whether both sides grade on one scale of which one side never used the lowest or the highest
    grade.

    A judge that never gives a 3 still grades 0..3, and its threshold must not move because of that.
    """
    if people.kind != "graded" or judge.kind != "graded" or people.levels == judge.levels:
        return False
    low, high = people.low - judge.low, people.high - judge.high
    return abs(low) <= 1 and abs(high) <= 1 and low * high <= 0
