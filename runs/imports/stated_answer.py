"""What a person's prompt says of the answer: the fields of JSON or the mark in prose, and the scale
with its labels.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...judges import InputError, OutputScale
from .label_order import LETTER_RANGE, in_order, stated_order
from .prompt_words import pattern_of
from .stated_direction import order_of_ladder, side_of, with_direction
from .stated_fields import BOOLEAN, json_fields, verdict_field
from .stated_labels import (
    SURE,
    StatedLabels,
    find_labels,
    letter_range,
    read_labels,
    read_lettered,
    read_shown,
)
from .stated_marks import as_mark, names_verdict, place_of, read_mark
from .stated_scale import (
    NUMBER,
    as_number,
    named_ranges,
    of_numbers,
    read_count,
    read_levels,
    read_numbers,
    read_percent,
)

_COMPARES = r"\btie\b|\bbetter\b|\bcompare|\bprefer|\bequal|unentschieden|besser|vergleich|meilleur|mejor|winner"  # noqa: E501
"""Words of a prompt that sets two answers side by side, whose labels have no order."""

ASKED = 9
"""The weight of a list that is asked for beside numbers."""


@dataclass(frozen=True, slots=True)
class Question:
    """What the words leave open and a person has to say."""

    option: str
    """The option that answers it, without its dashes."""
    text: str
    labels: tuple[str, ...] = ()
    """The labels whose order is asked for, or of which one is; of a field its name in the prompt
    and here.
    """
    words: str = ""
    """What the prompt or its code says that leaves it open."""
    of_ends: bool = False
    """Whether a scale of numbers is known but for which of its ends is the good one."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedAnswer:
    """The form of the answer, as far as the words tell."""

    scale: OutputScale | None = None
    reply_schema: Mapping[str, str] = field(default_factory=dict[str, str])
    reply_mark: str = ""
    told: bool = True
    """Whether the words say how to answer at all."""
    questions: tuple[Question, ...] = ()


def read_answer(
    answer: str, whole: str, labels: tuple[str, ...] = (), score_field: str | None = None
) -> StatedAnswer:
    """Read the form of the answer.

    Args:
        answer: The units of the prompt that ask for the answer.
        whole: All of the prompt, where a scale may stand apart from the answer.
        labels: The labels by name, the worst first, where the user says them.
        score_field: The field of a JSON answer with the verdict, or the word before its colon in
            prose, where the user says it.

    Raises:
        InputError: There is no field of that name in it.
    """
    fields = json_fields(answer)
    if (
        not fields
        and score_field
        and not re.search(rf"(?i){re.escape(score_field)}[*_`\"']*\s?:", answer)
    ):
        raise InputError(
            f"the answer has no field {score_field!r}: it is not asked for as JSON, nor after"
            f" '{score_field}:'"
        )
    if fields:
        return _json_answer(fields, answer, whole, labels, score_field)
    scale, questions, mark = None, (), ""
    if labels:
        scale = named_scale(labels)
        stated = find_labels(answer, whole)
        stated = stated if stated and stated.weight >= SURE else None
    else:
        stated, scale, questions = _prose_scale(answer, whole)
        if scale and not scale.labels and len(ranges := named_ranges(answer, whole)) > 1:
            scale, questions = (
                None,
                (Question("scale", f"which of its scales holds: {', '.join(ranges)}? (--scale)"),),
            )
    mark = (
        as_mark(score_field)
        if score_field
        else (stated.mark if stated else "") or read_mark(answer)
    )
    mark = mark or place_of(answer) or _place_alone(scale, answer)
    if not labels:
        scale, more = _directed(scale, whole, mark.partition("...")[0])
        questions = (*questions, *more)
    told = bool(
        stated or mark or read_labels(answer) or read_numbers(answer) or names_verdict(answer)
    )
    return StatedAnswer(scale=scale, reply_mark=mark or "last line", told=told, questions=questions)


def _prose_scale(
    answer: str, whole: str
) -> tuple[StatedLabels | None, OutputScale | None, tuple[Question, ...]]:
    """Return the labels, the scale and what is left to ask: from the answer's words, else from all
    of them.
    """
    stated, numbers = find_labels(answer, whole), read_numbers(answer) or read_percent(answer)
    letters = read_lettered(whole)
    of_letters = (
        bool(letters)
        and re.search(r"\bletter\b|buchstabe|\blettre", answer, re.IGNORECASE) is not None
    )
    sure = stated is not None and stated.weight >= (ASKED if numbers else SURE)
    if stated and sure and not of_letters and (in_order(stated.labels, whole) or not numbers):
        scale, questions = _label_scale(stated.labels, whole)
        if scale or not (numbers := read_levels(whole)):
            return stated, scale, questions
    if letters and re.search(
        r"\bletter|\boption|\bgrade|\bchoice|buchstabe|lettre", answer, re.IGNORECASE
    ):
        if re.search(r"\b(?:grade|rating|note)\b", answer, re.IGNORECASE) or LETTER_RANGE.search(
            whole
        ):
            return StatedLabels(labels=letters), named_scale(letters[::-1]), ()
        return StatedLabels(labels=letters), None, (ask_for_order(letters),)
    numbers = numbers or read_levels(whole) or read_numbers(whole, cued=True) or read_count(whole)
    if numbers:
        return None, numbers, ()
    if letters := letter_range(answer):
        return StatedLabels(labels=letters), *_label_scale(letters, whole)
    if stated := read_shown(whole) or stated:
        return stated, *_label_scale(stated.labels, whole)
    return None, None, ()


def _directed(
    scale: OutputScale | None, whole: str, name: str, *, is_field: bool = False
) -> tuple[OutputScale | None, tuple[Question, ...]]:
    """Put the worst end of a scale first, or ask which it is."""
    directed = with_direction(scale, whole, name, is_field=is_field) if scale else None
    if scale is None or directed is not None:
        return directed, ()
    if scale.kind == "binary":
        return None, (ask_for_order(scale.labels or ("0", "1")),)
    ends = f"{scale.low}..{scale.high}"
    if scale.kind == "probability":
        how = (
            "--scale probability where a high number is, --scale low-probability where a low one is"
        )
    else:
        how = (
            f"--scale {ends} where a high number is, --scale {scale.high}..{scale.low} where a low"
            " one is"
        )
    return None, (Question("scale", f"which end of {ends} is the good one? ({how})", of_ends=True),)


def _place_alone(scale: OutputScale | None, answer: str) -> str:
    """Return where a verdict stands that is asked for alone: models put a reason after a label, and
    before a number.
    """
    if scale is None or not answer.strip():
        return ""
    if not scale.labels:
        return "last line"
    reason = re.search(
        r"explain|reason|begründ|comment|think|first write|justif|step by step",
        answer,
        re.IGNORECASE,
    )
    return "last line" if reason else "start"


def _json_answer(
    fields: dict[str, str],
    answer: str,
    whole: str,
    labels: tuple[str, ...],
    score_field: str | None,
) -> StatedAnswer:
    if score_field and score_field not in fields:
        raise InputError(
            f"the answer has no field {score_field!r}", hint=f"its fields: {', '.join(fields)}"
        )
    key, candidates = (score_field, ()) if score_field else verdict_field(fields)
    schema = dict.fromkeys(fields, "text")
    for name in fields:
        if name.rpartition(".")[2].lower() in ("confidence", "konfidenz"):
            schema[name] = "confidence"
    if key is None:
        asked = (
            f"which field of the answer is the verdict: {', '.join(candidates)}? (--verdict FIELD)"
        )
        return StatedAnswer(reply_schema=schema, questions=(Question("verdict", asked),))
    schema[key] = "score"
    if labels:
        return StatedAnswer(scale=named_scale(labels), reply_schema=schema)
    scale, questions = _field_scale(key, fields, answer, whole)
    if (
        scale
        and scale.kind == "binary"
        and not scale.labels
        and re.fullmatch(r"[01]?[.,]\d+", fields[key].strip())
    ):
        scale = OutputScale(kind="probability", threshold=0.5)  # its example is no whole number
    if scale is not None:
        scale, questions = _directed(scale, whole, key.rpartition(".")[2], is_field=True)
    return StatedAnswer(scale=scale, reply_schema=schema, questions=questions)


def _field_scale(
    key: str, fields: Mapping[str, str], answer: str, whole: str
) -> tuple[OutputScale | None, tuple[Question, ...]]:
    """Return the scale of a JSON field: from what is said of it, else of the answer, else
    anywhere.
    """
    described = fields[key]
    if BOOLEAN.search(described):
        return OutputScale(kind="binary", labels=("false", "true"), threshold=1.0), ()
    numbers = read_numbers(described)
    if (stated := read_labels(described, fields)) and (not numbers or stated.weight >= ASKED):
        return _label_scale(stated.labels, whole, key.rpartition(".")[2])
    leaf = re.escape(key.rpartition(".")[2])
    if not numbers and (scale := _said_of_total(leaf, whole)):
        return scale, ()
    parent = re.escape(key.rpartition(".")[0].rpartition(".")[2])
    if parent:  # of several fields of one name, what is said of this one
        sentences = re.split(r"\n|(?<=[.!?;])\s", whole)
        own = [s for s in sentences if re.search(rf"\b{parent}\b.*\b{leaf}", s, re.IGNORECASE)]
        if scale := read_numbers("\n".join(own), cued=True):
            return scale, ()
    about = "\n".join(
        line for line in whole.split("\n") if re.search(rf"\b{leaf}\b", line, re.IGNORECASE)
    )
    stated = find_labels(answer, whole, fields)
    if numbers:
        return numbers, ()
    numbers = read_numbers(answer) or read_levels(whole)
    if (
        stated
        and stated.weight >= (ASKED if numbers else SURE)
        and (in_order(stated.labels, whole) or not numbers)
    ):
        return _label_scale(stated.labels, whole, key.rpartition(".")[2])
    if (
        scale := numbers
        or read_numbers(about)
        or read_numbers(whole, cued=True)
        or read_count(whole)
    ):
        return scale, ()
    return _label_scale(stated.labels, whole, key.rpartition(".")[2]) if stated else (None, ())


def _said_of_total(name: str, whole: str) -> OutputScale | None:
    """Return the range that a sentence gives to a field beside others ("the total is their sum
    (0-30)").
    """
    if not re.match(r"total|sum|overall|final|gesamt", name, re.IGNORECASE):
        return None
    sentences = re.split(r"\n|(?<=[.!?;])\s", whole)
    own = [s for s in sentences if re.search(rf"\b{name}\b", s, re.IGNORECASE)]
    return next((scale for s in own if (scale := read_numbers(s))), None)


def _label_scale(
    labels: tuple[str, ...], whole: str, name: str = ""
) -> tuple[OutputScale | None, tuple[Question, ...]]:
    folded = {label.casefold() for label in labels}
    paired = ({"a", "b"} <= folded or {"1", "2"} <= folded) and len(labels) < 5
    if (
        paired
        and folded != {"1", "2"}
        and folded <= {"a", "b", "c", "1", "2", "tie", "equal", "both", "neither", "same"}
        and re.search(_COMPARES, whole, re.IGNORECASE)
    ):
        return OutputScale(kind="choice", labels=labels, threshold=1.0), ()
    if all(re.fullmatch(NUMBER, label) for label in labels):
        return of_numbers([as_number(label) for label in labels]), ()
    ordered = (
        stated_order(labels, whole) or in_order(labels, whole) or _order_of_meanings(labels, whole)
    )
    ordered = ordered or order_of_ladder(labels, name)
    classes = re.fullmatch(rf"\W*(?:\w+_)?(?:{pattern_of('class_fields')})\W*", name, re.IGNORECASE)
    if ordered is None and (
        classes or re.search(rf"\b(?:{pattern_of('unordered')})\b", whole, re.IGNORECASE)
    ):
        return OutputScale(kind="choice", labels=labels, threshold=1.0), ()
    if ordered is None:
        return None, (ask_for_order(labels),)
    return named_scale(ordered), ()


def _order_of_meanings(labels: tuple[str, ...], whole: str) -> tuple[str, ...] | None:
    """Return labels in the order of what a text says of them ("A: CORRECT", "DROP if ..."), if it
    tells.
    """
    words: dict[str, str] = {}
    for label in labels:
        inline = (
            rf"\b{re.escape(label)}[\"'`*]{{0,2}} ?(?:for|=|means|stands for|für|pour|para"
            rf"|\()\s?[\"'`]?([^\W\d_]+(?: [^\W\d_]+)?)"
        )
        line = rf"(?m)^[ \t]*\(?{re.escape(label)}[:.)=][ \t]*([\w ]{{2,30}})$"
        if match := re.search(line, whole) or (len(label) == 1 and re.search(inline, whole)):
            words[re.sub(r" (?:or|and|oder|und|ou|et)$", "", match[1].strip())] = label
    ordered = in_order(tuple(words)) if len(words) == len(labels) else None
    if ordered:
        return tuple(words[word] for word in ordered)
    first, last = (side_of(re.escape(label), whole) for label in (labels[0], labels[-1]))
    return (labels if first < last else labels[::-1]) if first * last < 0 else None


def ask_for_order(labels: tuple[str, ...]) -> Question:
    """Ask which of the labels is the worst."""
    listed = ",".join(labels)
    text = (
        f"in which order are {', '.join(labels)}? (--labels {listed}, the worst first; with"
        " --choice: in none)"
    )
    return Question("labels", text, labels)


def named_scale(labels: tuple[str, ...]) -> OutputScale:
    """Return the scale of labels, the worst first; those above the middle pass, as of wrong,
    partial and right.
    """
    if len(labels) == 2:
        return OutputScale(kind="binary", labels=labels, threshold=1.0)
    return OutputScale(kind="graded", labels=labels, threshold=float((len(labels) + 1) // 2))
