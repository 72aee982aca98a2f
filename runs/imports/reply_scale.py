"""The scale of a person's prompt and what passes on it: by their options, by its tool, and by a
model's reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...judges import InputError, OutputScale, parse_label_scale
from .add_options import AddOptions
from .foreign_judge import ForeignJudge, Question
from .model_reading import ModelReading

_SCALE_FORM = "--labels WORST,...,BEST, --scale 1..5@4, or --labels A,B --choice for no order"


def named_scale(labels: Sequence[str]) -> OutputScale:
    """Return the scale of labels, the worst first; those above the middle pass, as of wrong,
    partial and right.

    Raises:
        InputError: There are fewer than two.
    """
    if len(labels) < 2:
        raise InputError(
            f"{','.join(labels)!r} are not two or more labels",
            hint="write them as FAIL,PASS, the worst first",
        )
    if len(labels) == 2:
        return OutputScale(kind="binary", labels=tuple(labels), threshold=1.0)
    middle = float((len(labels) + 1) // 2)
    return OutputScale(kind="graded", labels=tuple(labels), threshold=middle)


def read_scale(
    judge: ForeignJudge,
    options: AddOptions,
    reading: ModelReading,
    questions: list[Question],
) -> OutputScale | None:
    """Return the scale with what is known of it; what is not is put to the questions."""
    if options.choice and not options.labels:
        raise InputError("--choice needs the labels", hint="--labels A,B,C --choice")
    if options.labels:
        return _of_labels(options.labels, unordered=options.choice)
    if options.scale:
        return parse_label_scale(options.scale)
    if judge.scale:
        return judge.scale
    if judge.labels:
        ordered = {label.casefold() for label in reading.labels}
        if ordered == {label.casefold() for label in judge.labels} and not reading.open:
            return _of_labels(reading.labels, unordered=reading.unordered)
        listed = ",".join(judge.labels)
        form = f"--labels WORST,...,BEST (of {listed}), and --choice where they have no order"
        text = f"in which order are {', '.join(judge.labels)}?"
        questions.append(Question("labels", text, form, judge.labels))
        return None
    if reading.open:
        text = f"its answers are not clear, as the model says: {reading.open}"
        questions.append(Question("scale", text, _SCALE_FORM, reading.labels))
        return None
    if reading.labels:
        return _of_labels(reading.labels, unordered=reading.unordered)
    if reading.scale:
        return reading.scale
    questions.append(Question("scale", "which answers does it allow?", _SCALE_FORM))
    return None


def _of_labels(labels: tuple[str, ...], *, unordered: bool) -> OutputScale:
    if unordered:
        return OutputScale(kind="choice", labels=labels, threshold=1.0)
    return named_scale(labels)


def read_threshold(
    scale: OutputScale,
    judge: ForeignJudge,
    options: AddOptions,
    reading: ModelReading,
    questions: list[Question],
) -> OutputScale:
    """Return the scale with what passes on it; a threshold that is not on it is asked about."""
    if options.threshold is not None:
        placed = _placed(options.threshold, scale)
        if placed is None:
            allowed = ", ".join(scale.labels) or f"a number from {scale.low} to {scale.high}"
            message = f"the threshold {options.threshold!r} is not on the scale"
            raise InputError(message, hint=allowed)
        return replace(scale, threshold=placed)
    if scale.kind not in ("graded", "probability") or _is_said(judge, options):
        return scale
    if not reading.threshold:
        return scale
    placed = _placed(reading.threshold, scale)
    is_quoted = reading.threshold not in reading.unfounded
    if placed is None or not is_quoted or placed <= scale.low:  # all answers would pass
        text = f"which grades pass? The model reads {reading.threshold!r:.80}"
        questions.append(Question("threshold", text, "--threshold GRADE", scale.labels))
        return scale
    return replace(scale, threshold=placed)


def _is_said(judge: ForeignJudge, options: AddOptions) -> bool:
    """Whether a person or the tool says what passes."""
    if options.scale is not None:
        return "@" in options.scale
    return judge.scale is not None and not options.labels


def _placed(words: str, scale: OutputScale) -> float | None:
    """Return the grade for a label or number of a reply; None where the scale has none such."""
    folded = [label.casefold() for label in scale.labels]
    if words.strip().casefold() in folded:
        return float(folded.index(words.strip().casefold()))
    if scale.labels:
        return None
    try:
        grade = scale.written(float(words.replace(",", ".").rstrip("%")))
    except ValueError:
        return None
    return grade if scale.low <= grade <= scale.high else None


def describe_default(
    scale: OutputScale,
    judge: ForeignJudge,
    options: AddOptions,
    reading: ModelReading,
    notes: list[str],
) -> None:
    """Say which grades pass where nobody says it."""
    is_stated = options.threshold or reading.threshold or _is_said(judge, options)
    if is_stated or scale.kind not in ("graded", "probability"):
        return
    at = scale.name(scale.threshold)
    passing = f"up to {at}" if scale.low_is_good else f"from {at} on"
    notes.append(
        f"It does not say which answers pass: {passing} they do here; --threshold says another."
    )
