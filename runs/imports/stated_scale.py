"""The scale of numbers that a prompt's words name: a range, a list of grades, or lines that each explain a grade."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...judges import OutputScale

NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"
_MEANING = r"(?:\s?\([^()\n]{1,60}\)|\s?[=:]\s?[^\n,;()]{1,40}?)?"
_TO = r"\s?,?\s?(?:to|and|through|bis|und|à|et|a|-|–|—|\.\.\.?|~)\s?"
_RANGE = re.compile(
    rf"(?<![\w.])(?P<low>{NUMBER})(?P<low_is>{_MEANING}){_TO}(?P<high>{NUMBER})(?![\w%]"
    rf"|[.,]\d)(?P<high_is>{_MEANING})",
    re.IGNORECASE,
)
_ENDS = re.compile(
    rf"(?<![\w.])(?P<low>{NUMBER})\s?(?:=|:|is|means|being|bedeutet|ist|heißt)\s?(?P<low_is>[^\n\d,;.]{{1,60}})"
    rf"(?:,|;|\.|and|und|to|bis)\s?(?:and |und )?(?P<high>{NUMBER})\s?(?:=|:|is|means|being|bedeutet|ist|heißt)"
    r"\s?(?P<high_is>[^\n\d,;.]{1,60})",
    re.IGNORECASE,
)
_POINTS = re.compile(
    r"\b(?P<high>\d{1,2})[- ](?:point|stufige|punkte)[a-z]*[- ](?:likert|scale"
    r"|skala)",
    re.IGNORECASE,
)
_LISTED = re.compile(
    rf"(?<![\w.])(?P<all>{NUMBER}(?:,\s?(?:or |oder |ou )?{NUMBER}|\s?(?:or|oder|ou|/"
    rf"|\|)\s?{NUMBER}){{1,}})(?![\w%]|\.\d)",
    re.IGNORECASE,
)
_OUT_OF = re.compile(r"(?:\b(?:out of|von maximal|von|sur)\b|/)\s?(?P<high>5|10|20|100)\b", re.IGNORECASE)
_LEVEL = re.compile(
    r"(?m)^[ \t>#|]*(?:[-*•][ \t]*)?[*_\"'`\[(]{0,3}"
    r"(?:(?:score|grade|rating|level|stufe|note|punkte|stars?|points?|\w+:)[ \t]*(?:of )?)?"
    r"(?P<level>-?\d{1,3})[*_\"'`\])]{0,3}[ \t]*(?:points?|punkte?|stars?|sterne?)?[*_]{0,2}[ \t]*"
    r"(?:[:=–—|-]|\(|→|->|means\b|if\b|bedeutet\b|wenn\b)",
    re.IGNORECASE,
)
_DECIMALS = re.compile(
    r"\b(?:float|decimals?|probability|fraction|0\.0|1\.0|0\.\d|wahrscheinlichkeit|number between 0 and 1"
    r"|kommazahl|increments)\b",
    re.IGNORECASE,
)
_IF = r"(?:if|wenn|when|for|means|bedeutet|falls|=|:|\(|for)"
_BIT = re.compile(
    rf"(?<![\d.,-])(?<![\d.,-]\s)[\"'`]?\b(?P<a>[01])\b[\"'`]? ?{_IF}.{{1,160}}?"
    rf"(?:(?<![\d.,-])\b(?P<b>(?!(?P=a))[01])\b[\"'`]? ?(?:{_IF}|otherwise|sonst|andernfalls)"
    r"|\b(?:otherwise|else|sonst|andernfalls|sinon)\b[ :,a-z]{0,20}\b(?!(?P=a))[01]\b)"
    r"|(?<![\d.,-])(?<![\d.,-]\s)(?:\b0 (?:or|oder|ou) 1\b|\b1 (?:or|oder|ou) 0\b|\b0/1\b|\b1/0\b)(?![.,]\d)",
    re.IGNORECASE | re.DOTALL,
)
_CUE = re.compile(
    r"scale|score|rat(?:e|ing)|grad(?:e|ing)|skala|punkte|note|noten|from|between|von|zwischen|likert|point|level"
    r"|stufe|stern|stars?|number|integer|zahl|digit|value|wert|\(\s*$|:\s*$",
    re.IGNORECASE,
)
_NOT_A_SCALE = re.compile(
    r"\W{0,3}(?:short |brief |kurzen? )?(?:sentences?|words?|lines?|bullets?|paragraphs?|sätzen?|wörter|zeilen"
    r"|characters|points? for|minutes?|days?|hours?|tokens?|examples?|phrases?|mots|items?|steps?|years?|people"
    r"|turns?)\b",
    re.IGNORECASE,
)
_BEST = re.compile(
    r"\b(?:best|beste[rn]?|sehr gut|hervorragend|excellent|perfect|perfekt|flawless|ausgezeichnet|highest"
    r"|very good)\b",
    re.IGNORECASE,
)
_WORST = re.compile(
    r"\b(?:worst|ungenügend|schlechteste[rn]?|very poor|terrible|mangelhaft|unusable|sehr schlecht|poor|lowest"
    r"|very bad)\b",
    re.IGNORECASE,
)


_INLINE = re.compile(
    r"(?<![\w.,-])(?P<level>-?\d{1,2})(?: points?| punkte?)? (?:if|when|wenn|falls|means|bedeutet|heißt)\b"
)


def read_numbers(text: str, *, cued: bool = False) -> OutputScale | None:
    """Read a scale of numbers; None where the text names none.

    Args:
        text: The words.
        cued: Whether a range counts only beside a word such as "scale" or "from", as it must where the text is not
            about the answer.
    """
    if not cued and _BIT.search(text):
        return OutputScale(kind="binary", threshold=1.0)
    for match in sorted([*_RANGE.finditer(text), *_ENDS.finditer(text)], key=lambda match: match.start()):
        if scale := _of_range(text, match, cued=cued):
            return scale
    if match := _POINTS.search(text):
        return of_numbers([1.0, float(match["high"])])
    if not cued:
        for match in _LISTED.finditer(text):
            numbers = [float(number) for number in re.findall(NUMBER, match["all"])]
            if len(set(numbers)) > 1 and not _NOT_A_SCALE.match(text, match.end()):
                return of_numbers(numbers)
    if match := _OUT_OF.search(text):
        return of_numbers([1.0 if match["high"] == "5" else 0.0, float(match["high"])])
    return OutputScale(kind="binary", threshold=1.0) if _BIT.search(text) else None


def _of_range(text: str, match: re.Match[str], *, cued: bool) -> OutputScale | None:
    low, high = float(match["low"]), float(match["high"])
    before = text[max(0, match.start() - 60) : match.start()]
    if (
        cued
        and match.re is not _ENDS
        and not _CUE.search(before)
        and not _CUE.match(text[match.end() : match.end() + 12].strip())
    ):
        return None
    if low >= high or high > 1000 or _NOT_A_SCALE.match(text, match.end()):
        return None
    near = text[max(0, match.start() - 120) : match.end() + 120]
    if (low, high) == (0.0, 1.0) and (
        "." in match.group() or _DECIMALS.search(near) or re.search(r"between|zwischen", before[-12:], re.IGNORECASE)
    ):
        return OutputScale(kind="probability", threshold=0.5)
    if not (low.is_integer() and high.is_integer()):
        return None
    meant = (match["low_is"] or "", match["high_is"] or "")
    if high - low <= 10 and _BEST.search(meant[0]) and _WORST.search(meant[1]):
        names = tuple(str(number) for number in range(int(high), int(low) - 1, -1))
        return OutputScale(kind="graded", labels=names, threshold=float(len(names) // 2))
    return of_numbers([low, high])


def read_levels(text: str) -> OutputScale | None:
    """Return the scale of a list whose lines open with the levels; a numbered list of rules is none."""
    levels = [int(match["level"]) for match in _LEVEL.finditer(text)]
    levels = levels if len(set(levels)) > 1 else [int(match["level"]) for match in _INLINE.finditer(text)]
    steps = max(levels, default=0) - min(levels, default=0) == len(set(levels)) - 1
    if len(set(levels)) >= 2 and steps and (len(set(levels)) > 2 or 0 in levels):
        said = {int(match["level"]): text[match.end() :].partition("\n")[0] for match in _LEVEL.finditer(text)}
        ends = said.get(min(levels), ""), said.get(max(levels), "")
        if max(levels) - min(levels) <= 10 and _BEST.search(ends[0]) and _WORST.search(ends[1]):
            names = tuple(str(level) for level in range(max(levels), min(levels) - 1, -1))
            return OutputScale(kind="graded", labels=names, threshold=float(len(names) // 2))
        return of_numbers([float(level) for level in levels])
    return None


def of_numbers(numbers: Sequence[float]) -> OutputScale:
    """Return the scale from the lowest to the highest of these; grades that are no whole numbers keep their names."""
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
