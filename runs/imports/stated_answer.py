"""What a person's prompt says of the answer: the fields of JSON or the mark in prose, and the scale with its labels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...judges import InputError, OutputScale
from .stated_labels import answer_words, in_order, place_of, read_labels, read_mark

_TEXTS = re.compile(
    r"reason|expla|justif|ration|analy|comment|why|thought|thinking|evidence|critique|feedback|summary|quote|note_|step"
    r"|begründ|erklär|assess|detail|issue|suggest|missing|error|descri|observ|missing",
    re.IGNORECASE,
)
_KEY = re.compile(
    r"(?P<mark>[\"'`])(?P<key>[A-Za-zÄÖÜäöü_][\wÄÖÜäöüß ]{0,40})(?P=mark)|(?P<bare>[A-Za-z_]\w{0,40})(?=\s*:)"
)
_BOOLEAN = re.compile(r"\btrue\b|\bfalse\b|\bbool(?:ean)?\b", re.IGNORECASE)
_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"
_RANGE = re.compile(
    rf"(?<![\w.])(?P<low>{_NUMBER})(?:\s?\([^()\n]{{1,60}}\))?\s?(?:to|and|bis|und|-|–|—|\.\.\.?)\s?(?P<high>{_NUMBER})(?![\w%]|\.\d)",
    re.IGNORECASE,
)
_LISTED = re.compile(
    rf"(?<![\w.])(?P<all>{_NUMBER}(?:,\s?(?:or |oder )?{_NUMBER}|\s?(?:or|oder|/|\|)\s?{_NUMBER}){{1,}})(?![\w.])"
)
_OUT_OF = re.compile(r"\b(?:out of|von maximal|/)\s?(?P<high>5|10|100)\b")
_LEVEL = re.compile(
    r"(?m)^[ \t]*(?:[-*•][ \t]*)?[*_\"']{0,3}(?:score |grade |level |stufe |note )?"
    r"(?P<level>-?\d{1,3})[*_\"']{0,3}[ \t]*(?:[:=–—-]|\(|\.[ \t])",
    re.IGNORECASE,
)
_DECIMALS = re.compile(
    r"\b(?:float|decimal|probability|fraction|0\.0|1\.0|0\.\d|wahrscheinlichkeit|number between 0 and 1)\b", re.I
)
_BIT = re.compile(
    r"\b(?P<a>[01])\b (?:if|wenn|when|for|means)\b.{1,120}?"
    r"\b(?P<b>[01])\b (?:if|wenn|when|for|means|otherwise)\b|\b0 or 1\b|\b1 or 0\b|\b0/1\b",
    re.I | re.S,
)


@dataclass(frozen=True, slots=True)
class Question:
    """What the words leave open and a person has to say."""

    option: str
    """The option that answers it, without its dashes."""
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedAnswer:
    """The form of the answer, as far as the words tell."""

    scale: OutputScale | None = None
    reply_schema: Mapping[str, str] = field(default_factory=dict)
    reply_mark: str = ""
    told: bool = True
    """Whether the words say how to answer at all."""
    questions: tuple[Question, ...] = ()


def read_answer(answer: str, whole: str, labels: tuple[str, ...] = (), score_field: str | None = None) -> StatedAnswer:
    """Read the form of the answer.

    Args:
        answer: The units of the prompt that ask for the answer.
        whole: All of the prompt, where a scale may stand apart from the answer.
        labels: The labels by name, the worst first, where the user says them.
        score_field: The field of a JSON answer with the verdict, where the user says it.

    Raises:
        InputError: There is no field of that name in it.
    """
    keys = _json_keys(answer) if re.search(r"\bjson\b|[{]", answer, re.IGNORECASE) else {}
    if not keys and score_field:
        raise InputError(f"the answer has no field {score_field!r}: it is not asked for as JSON")
    if keys:
        return _json_answer(keys, answer, whole, labels, score_field)
    stated = read_labels(answer)
    scale, questions = None, ()
    mark = stated.mark if stated else ""
    numeric = _numeric_scale(answer)
    if labels:
        scale = _named_scale(labels)
    elif stated and not (numeric and _is_weak(stated.labels)):
        scale, questions = _label_scale(stated.labels)
    else:
        scale = numeric or _level_scale(whole) or _numeric_scale(whole, cued=True)
    mark = mark or read_mark(answer)
    word = mark.removesuffix(": ...").lower()
    if word in ("score", "grade", "rating", "verdict", "label", "answer"):
        mark = ""  # every reader knows these
    else:
        mark = mark or place_of(answer) or _at_start(scale, answer)
    told = bool(answer.strip())
    return StatedAnswer(scale=scale, reply_mark=mark, told=told, questions=questions)


def _at_start(scale: OutputScale | None, answer: str) -> str:
    """Return `start` for a label that is asked for alone: models like to give a reason after it."""
    alone = (
        scale is not None
        and bool(scale.labels)
        and not re.search(r"explain|reason|begründ|comment|first write", answer, re.I)
    )
    return "start" if alone else ""


def _is_weak(labels: tuple[str, ...]) -> bool:
    return in_order(labels) is None


def _json_answer(
    keys: dict[str, str], answer: str, whole: str, labels: tuple[str, ...], score_field: str | None
) -> StatedAnswer:
    if score_field and score_field not in keys:
        raise InputError(f"the answer has no field {score_field!r}", hint=f"its fields: {', '.join(keys)}")
    key, questions = (score_field, ()) if score_field else _score_key(keys)
    schema = dict.fromkeys(keys, "text")
    for name in keys:
        if name.rpartition(".")[2].lower() in ("confidence", "konfidenz"):
            schema[name] = "confidence"
    if key is None:
        return StatedAnswer(reply_schema=schema, questions=questions)
    schema[key] = "score"
    described = keys[key]
    if labels:
        scale = _named_scale(labels)
    elif _BOOLEAN.search(described):
        scale = OutputScale(kind="binary", labels=("false", "true"), threshold=1.0)
    elif stated := read_labels(described.split(":", 1)[-1]):
        scale, more = _label_scale(stated.labels)
        questions += more
    else:
        # 0 to 3 beside the field, in the answer's sentences, in a list of levels, or anywhere
        scale = _numeric_scale(described) or _numeric_scale(answer) or _level_scale(whole)
        if scale is None and (stated := read_labels(answer.replace("{", "\n").replace("}", "\n"))):
            scale, more = _label_scale(stated.labels)
            questions += more
        scale = scale or _numeric_scale(whole, cued=True)
    return StatedAnswer(scale=scale, reply_schema=schema, questions=questions)


def _score_key(keys: Mapping[str, str]) -> tuple[str | None, tuple[Question, ...]]:
    """Return the field with the verdict; None and a question where several could be it."""
    leaves = {key: key.rpartition(".")[2].lower().replace(" ", "_") for key in keys}
    for name in answer_words("verdict_fields"):
        named = [key for key, leaf in leaves.items() if leaf == name]
        if len(named) == 1:
            return named[0], ()
    others = [
        key for key, leaf in leaves.items() if not _TEXTS.search(leaf) and leaf not in ("confidence", "id", "name")
    ]
    told = [key for key in others if _BOOLEAN.search(keys[key]) or _RANGE.search(keys[key]) or read_labels(keys[key])]
    told = told or [key for key in others if re.search(r"score|rating|grade|number|integer|float|0", keys[key], re.I)]
    if len(told or others) == 1:
        return (told or others)[0], ()
    choice = told or others or list(keys)
    return None, (
        Question("verdict", f"which field of the answer is the verdict: {', '.join(choice)}? (--verdict FIELD)"),
    )


def _json_keys(answer: str) -> dict[str, str]:
    """Return the fields that the answer's words name, with what they say of each; `a.b` for one inside another."""
    braces = answer.find("{")
    if braces >= 0:
        found = _keys_in_braces(answer[braces:])
        if found:
            return found
    quoted = [match for match in _KEY.finditer(answer) if match["key"]]
    keys = {}
    for match, following in zip(quoted, [*quoted[1:], None], strict=True):
        described = answer[match.end() : following.start() if following else len(answer)]
        # A label in quotes is not a field: fields are followed by what they are.
        if re.match(r"\s*(?:[(:,–—-]|is\b|\w+ \w+)", described) and match["key"] == match["key"].strip():
            keys.setdefault(match["key"], described)
    return keys


def _keys_in_braces(text: str) -> dict[str, str]:
    keys: dict[str, str] = {}
    path: list[str] = []
    last = ""
    at, start = 0, 0
    pattern = re.compile(rf"[{{}}]|(?:{_KEY.pattern})\s*:")
    depth = 0
    while match := pattern.search(text, at):
        at = match.end()
        if last:
            keys[last] += text[start : match.start()]
        start = match.end()
        if match.group() == "{":
            depth += 1
            if last and not keys[last].strip():
                path.append(last)
                del keys[last]
            last = ""
        elif match.group() == "}":
            depth -= 1
            path = path[: max(0, depth - 1)]
            last = ""
            if depth == 0 and keys:
                return keys
        elif depth:
            name = match["key"] or match["bare"]
            last = ".".join([path[-1], name]) if path else name
            keys.setdefault(last, "")
    return keys


def _label_scale(labels: tuple[str, ...]) -> tuple[OutputScale | None, tuple[Question, ...]]:
    if all(re.fullmatch(_NUMBER, label) for label in labels):
        return _of_numbers([float(label) for label in labels]), ()
    folded = {label.casefold() for label in labels}
    if folded <= {"a", "b", "c", "tie", "d", "both", "neither"} and {"a", "b"} <= folded and len(labels) < 4:
        return OutputScale(kind="choice", labels=labels, threshold=1.0), ()
    ordered = in_order(labels)
    if ordered is None:
        return None, (ask_for_order(labels),)
    return _named_scale(ordered), ()


def ask_for_order(labels: tuple[str, ...]) -> Question:
    """Ask which of the labels is the worst."""
    listed = ",".join(labels)
    text = f"in which order are {', '.join(labels)}? (--labels {listed}, the worst first; with --choice: in none)"
    return Question("labels", text)


def _named_scale(labels: tuple[str, ...]) -> OutputScale:
    if len(labels) == 2:
        return OutputScale(kind="binary", labels=labels, threshold=1.0)
    return OutputScale(kind="graded", labels=labels, threshold=float(len(labels) // 2))


def _numeric_scale(text: str, *, cued: bool = False) -> OutputScale | None:
    if _BIT.search(text):
        return OutputScale(kind="binary", threshold=1.0)
    for match in _RANGE.finditer(text):
        low, high = float(match["low"]), float(match["high"])
        before = text[max(0, match.start() - 60) : match.start()]
        if cued and not re.search(
            r"scale|score|rat(?:e|ing)|grade|skala|punkte|note|from|between|von|zwischen", before, re.I
        ):
            continue
        if low >= high or re.search(
            r"(?:sentences?|words?|lines?|points? for|sätze)\W*$", text[match.end() : match.end() + 12], re.I
        ):
            continue
        if (low, high) == (0.0, 1.0) and (
            "." in match.group() or _DECIMALS.search(text) or "between" in before.lower()[-12:]
        ):
            return OutputScale(kind="probability", threshold=0.5)
        if low.is_integer() and high.is_integer() and high - low <= 1000:
            return _of_numbers([low, high])
    if not cued:
        for match in _LISTED.finditer(text):
            numbers = [float(number) for number in re.findall(_NUMBER, match["all"])]
            if len(numbers) > 1:
                return _of_numbers(numbers)
        if match := _OUT_OF.search(text):
            return _of_numbers([1.0 if match["high"] == "5" else 0.0, float(match["high"])])
    return None


def _level_scale(text: str) -> OutputScale | None:
    """Return the scale of a list whose lines open with the levels; a numbered list of rules is none."""
    levels = [int(match["level"]) for match in _LEVEL.finditer(text)]
    dotted = re.findall(r"(?m)^[ \t]*\d{1,3}\.[ \t]", text)
    if len(set(levels)) >= 3 and len(dotted) < len(levels) and max(levels) - min(levels) == len(set(levels)) - 1:
        return _of_numbers([float(level) for level in levels])
    return None


def _of_numbers(numbers: list[float]) -> OutputScale:
    low, high = min(numbers), max(numbers)
    if not all(number.is_integer() for number in numbers):
        if low >= 0.0 and high <= 1.0:
            return OutputScale(kind="probability", threshold=0.5)
        return OutputScale(
            kind="graded", labels=tuple(f"{n:g}" for n in sorted(numbers)), threshold=float(len(numbers) // 2)
        )
    if (low, high) == (0.0, 1.0):
        return OutputScale(kind="binary", threshold=1.0)
    return OutputScale(low=int(low), high=int(high), threshold=float(-(-(low + high) // 2)))  # the middle, rounded up
