"""The labels that a prompt's words offer for the answer, their order, and the mark beside which they stand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

_NEGATION = re.compile(r"(?:not|nicht|non)[ _-]?|(?:un|in|im|ir|il|dis|kein )", re.IGNORECASE)
_Q = r"[\"'`“”„‘’*_]{0,3}"
_OR = r"\s*(?:,?\s*\b(?:or|oder|and|und|bzw\.)\b|[,/|])\s*"
_WORD = r"[^\W\d_][\w+-]*"
_CAPS = r"[A-ZÄÖÜ][A-ZÄÖÜ_-]+(?: [A-ZÄÖÜ][A-ZÄÖÜ_-]+){0,2}"
_QUOTED = r"[\"'`“„‘*]{1,3}(?:[^\"'`“”„‘’*\n:]{1,40}?: ?)?([^\"'`“”„‘’*\n:,]{1,40}?)[\"'`“”’*]{1,3}"
_QUOTED_LIST = re.compile(rf"{_QUOTED}(?:[^\"'`“”„‘’*\n]{{0,40}}?(?:{_OR}|[,;]\s){_QUOTED})+")
_CAPS_LIST = re.compile(rf"\b{_CAPS}{_Q}(?:{_OR}{_Q}{_CAPS})+\b")
_LETTER_LIST = re.compile(rf"\b[A-F]{_Q}(?:{_OR}{_Q}[A-F]\b)+")
_LISTED_AFTER = (
    # after these a label may have several words
    (r"(?:one of|either|the following|labels?|classes|categories)(?: (?:these|the following|labels?|classes))*:?", 3),
    (
        r"(?:one word|the words?|answer|reply|respond|output|return|say|write|with|only|antworte)"
        r"(?: (?:with|only|only with|just|the word|exactly|mit))*[:,]?",
        0,
    ),
)
_CUED_LISTS = tuple(
    re.compile(
        rf"\b{cue}\s+({_Q}{_WORD}(?: {_WORD}){{0,{more}}}?{_Q}(?:{_OR}{_Q}{_WORD}(?: {_WORD}){{0,{more}}}?{_Q})+)"
        r"(?=\s*(?:[.;:\n]|$| only\b| as\b))",
        re.IGNORECASE,
    )
    for cue, more in _LISTED_AFTER
)
_YES_NO = re.compile(rf"\b(?:yes{_Q}{_OR}{_Q}no|no{_Q}{_OR}{_Q}yes)\b", re.IGNORECASE)
_TAGGED = re.compile(r"<([A-Za-z][\w-]*)>\s*([^<>\n]{0,40}?)\s*</\1>")
_BRACKETS = re.compile(r"\[\[\s*([^\[\]\n]{1,30}?)\s*\]\]")
_KEYED = re.compile(
    rf"(?m)(?:^|[\"'`:]|\b(?=[A-ZÄÖÜ]))[ \t]*[*_]*(?P<key>[A-ZÄÖÜ][\w]*(?: \w+){{0,2}})[*_]*:[*_]*[ \t]*[<\[(]?{_Q}"
    rf"(?P<first>{_CAPS}|{_WORD}){_Q}(?P<rest>(?:{_OR}{_Q}(?:(?P=key):[ \t]*)?{_Q}(?:{_CAPS}|{_WORD}){_Q})+)[>\])]?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedLabels:
    """Labels in the order of the text, and what stands round them in the reply."""

    labels: tuple[str, ...]
    mark: str = ""


def read_labels(text: str) -> StatedLabels | None:
    """Read the labels that a text offers; None where it offers none."""
    tags: dict[str, list[str]] = {}
    for tag, inner in _TAGGED.findall(text):
        tags.setdefault(tag, []).append(inner)
    for tag, inner in tags.items():
        labels = _distinct(inner if len(inner) > 1 else re.split(r"\s*(?:[|/]|\bor\b)\s*", inner[0]))
        if len(labels) > 1 and not all(re.fullmatch(r"-?[\d.]+", label) for label in labels):
            return StatedLabels(labels=labels, mark=f"<{tag}>...</{tag}>")
    brackets = _distinct(_BRACKETS.findall(text))
    if len(brackets) > 1 and not any(re.fullmatch(r"[\d.]+", label) for label in brackets):
        return StatedLabels(labels=brackets, mark="[[...]]")
    for match in _KEYED.finditer(text):
        key = match["key"]
        rest = re.sub(rf"{re.escape(key)}:", "", match["rest"])
        labels = _distinct([match["first"], *re.split(_OR, rest)])
        if len(labels) > 1 and not set(_words(labels)).intersection(answer_words("no_labels")):
            return StatedLabels(labels=labels, mark=f"{key}: ...")
    for pattern in (_CAPS_LIST, _QUOTED_LIST, _LETTER_LIST, _YES_NO, *_CUED_LISTS):
        for match in pattern.finditer(text):
            labels = _items(match, quoted=pattern is _QUOTED_LIST)
            if 2 <= len(labels) <= 12 and not set(_words(labels)).intersection(answer_words("no_labels")):
                return StatedLabels(labels=labels)
    return None


def read_mark(text: str) -> str:
    """Return the mark that a text asks for round a number; empty for none or for one of the usual words."""
    if _BRACKETS.search(text):
        return "[[...]]"
    if match := re.search(r"\[([A-Z]{3,20})\](?=\s*[<(\[]?[^\n]{0,30}?(?:number|integer|score|rating|\d))", text):
        return f"{match.group()} ..."
    for tag, inner in _TAGGED.findall(text):
        if not re.search(r"think|reason|explan|analy|comment|justif|rational|begründ", tag, re.IGNORECASE) and (
            inner == "" or re.search(r"\d|score|rating|number|integer|grade|verdict|\.\.\.", inner, re.IGNORECASE)
        ):
            return f"<{tag}>...</{tag}>"
    keyed = re.findall(
        r"(?m)(?:^|[\"'`:])[ \t]*[*_]*([A-ZÄÖÜ]\w*(?: \w+){0,2})[*_]*:[*_]*[ \t]*[<\[(]?(?:-?\d|"
        r"(?:number|integer|zahl|score|rating|note)\b)",
        text,
        re.IGNORECASE,
    )
    if not keyed:  # a label that the answer goes on from
        keyed = re.findall(r"\n[ \t]*[-*•#]*[ \t]*([A-ZÄÖÜ]\w*(?: \w+){0,2}):\s*$", text)
    return f"{keyed[-1]}: ..." if keyed else ""


def place_of(text: str) -> str:
    """Return the place that a text asks for the verdict: `last line`, `start`, or empty."""
    if re.search(
        r"\b(?:last|final|letzten?|own) (?:line|zeile)\b|\b(?:line|zeile) by itself|on the last|\bend with\b",
        text,
        re.I,
    ):
        return "last line"
    if re.search(r"\b(?:first|ersten?) (?:line|zeile|word|wort)\b|\b(?:start|begin) (?:your \w+ )?with\b", text, re.I):
        return "start"
    return ""


def in_order(labels: Sequence[str]) -> tuple[str, ...] | None:
    """Return labels with the worst first; None where their words do not tell."""
    first, last = _side(labels[0], labels[-1]), _side(labels[-1], labels[0])
    if all(re.fullmatch(r"[A-F][+-]?", label) for label in labels) and len(labels) > 3:
        return tuple(sorted(labels, reverse=True))
    if first == last or (first and last and first == last):
        return None
    worse_first = first < last
    return tuple(labels) if worse_first else tuple(reversed(labels))


def _side(label: str, other: str) -> int:
    """Return -1 for the worse of two labels, 1 for the better, 0 where its words do not tell."""
    folded, opposite = label.casefold(), other.casefold()
    negated = _NEGATION.match(folded)
    if negated and (folded[negated.end() :] == opposite or opposite.startswith(folded[negated.end() :][:5] or "\n")):
        return -1
    negated = _NEGATION.match(opposite)
    if negated and opposite[negated.end() :] == folded:
        return 1
    words = re.findall(r"[^\W_]+", folded)
    if set(words).intersection(answer_words("worse")):
        return -1
    return 1 if set(words).intersection(answer_words("better")) else 0


@cache
def answer_words(kind: str) -> dict[str, None]:
    """Return the words of a kind, in the order of the file."""
    path = files("judgewright.runs.imports") / "answer_words.yaml"
    return dict.fromkeys(yaml.safe_load(path.read_text(encoding="utf-8"))[kind].split())


def _items(match: re.Match[str], *, quoted: bool) -> tuple[str, ...]:
    if quoted:
        return _distinct(re.findall(_QUOTED, match.group()))
    text = match.group(1) if match.re in _CUED_LISTS else match.group()
    return _distinct(re.split(_OR, text))


def _words(labels: Sequence[str]) -> set[str]:
    """Return labels as words; a letter, which may be a grade, is none."""
    return {label.lower() for label in labels if not (len(label) == 1 and label.isupper())}


def _distinct(items: Sequence[str]) -> tuple[str, ...]:
    stripped = (item.strip(" \t\n\"'`“”„‘’*_.<>[]()") for item in items)
    found: dict[str, str] = {}
    for item in stripped:
        if item:
            found.setdefault(item.casefold(), item)
    return tuple(found.values())
