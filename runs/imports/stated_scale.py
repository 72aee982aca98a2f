"""The scale of numbers that a prompt's words name: a range, a list of grades, or lines that each
explain a grade.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...judges import OutputScale
from .prompt_words import pattern_of

NUMBER = r"-?[0-9]+(?:[.,][0-9]+)?"
"""Also with a comma, as in German; a list has a blank after its commas."""
_MEANING = r"(?:\s?\([^()\n]{1,60}\)|\s?[=:]\s?[^\n,;()]{1,40}?)?"
_TO = r"\s?,?\s?(?:to|and|through|bis|und|à|et|al?|y|到|至|から|-|–|—|\.\.\.?|~)\s?"
_RANGE = re.compile(
    rf"(?<![A-Za-z0-9_.])(?P<low>{NUMBER})(?:[分点]|级|級|\s?%)?(?P<low_is>{_MEANING}){_TO}\+?(?P<high>{NUMBER})(?:\s?%)?(?![A-Za-z0-9_%]"
    rf"|[.,]\d)(?P<high_is>{_MEANING})",
    re.IGNORECASE,
)
_ENDS = re.compile(
    rf"(?<![\w.])(?P<low>{NUMBER})\s?(?:=|:|is|means|being|bedeutet|ist|heißt)\s?(?P<low_is>[^\n\d,;.]{{1,60}})"
    r"(?:,|;|\.|and|und|to|bis)\s?(?:and |und"
    rf" )?(?P<high>{NUMBER})\s?(?:=|:|is|means|being|bedeutet|ist|heißt)"
    r"\s?(?P<high_is>[^\n\d,;.]{1,60})",
    re.IGNORECASE,
)
_POINTS = re.compile(
    r"\b(?P<high>\d{1,2})[- ](?:point|stufige|punkte)[a-z]*[- ](?:likert|scale" r"|skala)",
    re.IGNORECASE,
)
_LIMITS = re.compile(
    r"\bmin(?:imum)?\W{1,4}(?P<low>-?\d{1,3})\W{1,12}max(?:imum)?\W{1,4}(?P<high>\d{1,3})\b",
    re.IGNORECASE,
)
_BUDGET = re.compile(
    r"\b(?:start(?:s|ing)? (?:with|at|from|out with)|beginne? mit|commence[rz]? (?:avec|à)"
    r"|empieza con) (?:a )?(?P<high>\d{1,3})"
    r"(?=\W[\s\S]{0,200}?\b(?:deduct|subtract|minus|take"
    r" (?:off|away)|lose|zieh|ab|retire[rz]?|resta))",
    re.IGNORECASE,
)
_LISTED = re.compile(
    rf"(?<![\w.])(?P<all>{NUMBER}(?:,\s?(?:or |oder |ou )?{NUMBER}|\s?(?:or|oder|ou|/"
    rf"|\|)\s?{NUMBER}){{1,}})(?![\w%]|\.\d)",
    re.IGNORECASE,
)
_OUT_OF = re.compile(
    r"(?:\b(?:out of|von maximal|von|sur)\b|/)\s?(?P<high>5|10|20|100)\b", re.IGNORECASE
)
_LEVEL = re.compile(
    r"(?m)^[ \t>#|]*(?:[-*•][ \t]*)?[*_\"'`\[(]{0,3}"
    r"(?:(?:score|grade|rating|level|stufe|note|punkte|stars?|points?|\w+:)[ \t]*(?:of )?)?"
    r"(?P<level>-?\d{1,3})[*_\"'`\])]{0,3}[ \t]*(?:points?|punkte?|stars?|sterne?)?[*_]{0,2}[ \t]*"
    r"(?:[:=–—|-]|\(|→|->|means\b|if\b|bedeutet\b|wenn\b)",
    re.IGNORECASE,
)
_BARE_LEVEL = re.compile(r"(?m)^[ \t]*(?P<level>\d{1,2})[ \t]+[^\W\d_]")
"""A line that opens with a number and no mark after it, as nobody writes a list of rules."""
_DECIMALS = re.compile(
    r"\b(?:float|decimals?|continuous|kontinuierlich\w*|probability|fraction|0\.0|1\.0|0\.\d+|wahrscheinlichkeit"
    r"|number between 0 and 1"
    r"|kommazahl|increments|steps of 0|schritten|pas de 0|pasos de 0)\b",
    re.IGNORECASE,
)
_HALVES = re.compile(
    r"\bhalf[ -](?:points?|steps?|stars?|marks?|grades?)\b|\bhalbe[rn]?"
    r" (?:punkte|noten|schritte?n?|sterne)\b"
    r"|\bdemi-(?:points?|étoiles?)\b|\bmedi[oa]s? (?:puntos?|estrellas?)\b"
    r"|\b(?:steps?|increments?|schritten|pas|pasos) (?:of|von|de) 0[.,]5\b"
    r"|\b0[.,]5[ -](?:points? )?(?:steps?|increments?)\b",
    re.IGNORECASE,
)
_NO_HALVES = re.compile(
    r"\b(?:no|not|without|never|avoid|keine|ohne|pas de|sin|deduct\w*|subtract\w*|lose|costs?|take"
    r" off)\b"
    r"(?:\W+\w+)?\W*$",
    re.IGNORECASE,
)
"""What stands before halves that are no grades, or only taken off."""
_IF = r"(?:if|wenn|when|for|means|bedeutet|falls|=|:|\(|for)"
_BIT = re.compile(
    rf"(?<![\d.,-])(?<![\d.,-]\s)[\"'`]?\b(?P<a>[01])\b[\"'`]? ?{_IF}.{{1,160}}?"
    rf"(?:(?<![\d.,-])\b(?P<b>(?!(?P=a))[01])\b[\"'`]? ?(?:{_IF}|otherwise|sonst|andernfalls)"
    r"|\b(?:otherwise|else|sonst|andernfalls|sinon)\b[ :,a-z]{0,20}\b(?!(?P=a))[01]\b)"
    r"|(?<![\d.,-])(?<![\d.,-]\s)(?:\b0 (?:or|oder|ou) 1\b|\b1 (?:or|oder|ou)"
    r" 0\b|\b0/1\b|\b1/0\b)(?![.,]\d)",
    re.IGNORECASE | re.DOTALL,
)
_CUE = re.compile(
    r"scale|score|marks|gets|receives|earns|rat(?:e|ing)|grad(?:e|ing)|skala|punkte|note|noten|from|between|von|zwischen|del?|escala|échelle|entre|likert|point|level"
    r"|stufe|stern|分|点|級|级|評価|スコア|stars?|number|integer|zahl|digit|value|wert|\(\s*$|:\s*$",
    re.IGNORECASE,
)
_NOT_A_SCALE = re.compile(
    r"\W{0,3}(?:short |brief |kurzen?"
    r" )?(?:sentences?|words?|lines?|bullets?|paragraphs?|sätzen?|wörter|zeilen"
    r"|characters|points?"
    r" for|minutes?|days?|hours?|tokens?|examples?|phrases?|mots|items?|steps?|years?|people"
    r"|turns?)\b",
    re.IGNORECASE,
)
_INLINE = re.compile(
    r"(?<![\w.,-])(?P<level>-?\d{1,2})(?: points?| punkte?)?"
    r" (?:if|when|wenn|falls|means|bedeutet|heißt)\b"
)


_CALLED_SCALE = re.compile(
    r"\b(?:scale|skala|échelle|escala)\W+(?:(?:of|from|between|von|zwischen|de|del)\W+)?$",
    re.IGNORECASE,
)
_CALLED_SCORE = re.compile(
    r"\b(?:score|rating|grade|note|punktzahl|puntuación)\W{1,3}$", re.IGNORECASE
)
_COUNTING = (
    "zero one two three four five six seven eight nine ten",
    "null eins zwei drei vier fünf sechs sieben acht neun zehn",
    "zéro un deux trois quatre cinq six sept huit neuf dix",
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez",
)
_NUMBER_WORDS = {
    word: str(number) for words in _COUNTING for number, word in enumerate(words.split())
}
_RANGE_IN_WORDS = re.compile(
    rf"\b(?P<low>{'|'.join(_NUMBER_WORDS)})(?P<to>\s(?:to|through|bis|à|a)\s)(?P<high>{'|'.join(_NUMBER_WORDS)})\b",
    re.IGNORECASE,
)


_EXPLAINED = re.compile(
    r"(?:^|(?<=[,;:<.\n] )|(?<=[(\n])|(?<= [\"'`]))(?P<level>-?\d{1,2})[\"'`]?\s?"
    rf"(?:[=:]|\b(?:for|pour|para|für|{pattern_of('means')})\s)\s?(?=[^\W\d_])",
    re.IGNORECASE,
)
"""A grade in the middle of a sentence with what it means: "0 = nothing, 1 = a part, 2 = all"."""


_TOTAL = re.compile(rf"\b(?:{pattern_of('totals')})\b", re.IGNORECASE)
_PERCENT = re.compile(
    rf"[<(\[{{]?\b(?:{pattern_of('percents')})\b[>)\]}}]?\s?%?|(?:[>\]}}N]|: ?\d{{1,3}})\s?%",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"\b\d{4}-\d\d(?:-\d\d)?\b|\b\d{1,2}\.\d{1,2}\.\d{2,4}\b|\b\d{1,2}:\d\d\b|\b(?:19|20)\d\d\b"
)


def _in_digits(text: str) -> str:
    """Return a text whose ranges in words ("one to five") are in digits."""
    return _RANGE_IN_WORDS.sub(
        lambda match: (
            _NUMBER_WORDS[match["low"].lower()] + match["to"] + _NUMBER_WORDS[match["high"].lower()]
        ),
        text,
    )


def read_numbers(text: str, *, cued: bool = False) -> OutputScale | None:
    """Read a scale of numbers; None where the text names none.

    Args:
        text: The words.
        cued: Whether a range counts only beside a word such as "scale" or "from", as it must where
            the text is not about the answer.
    """
    text = re.sub(_DATE, "_", _in_digits(text))
    explained = [float(match["level"]) for match in _EXPLAINED.finditer(text)]
    steps = sorted(set(explained))
    if len(steps) > 2 and steps[-1] - steps[0] == len(steps) - 1 and steps[0] in (-2, -1, 0, 1):
        return of_numbers(steps)
    ranges = sorted(
        [*_RANGE.finditer(text), *_ENDS.finditer(text)], key=lambda match: match.start()
    )
    of_total = [
        m
        for m in ranges
        if _TOTAL.search(text[max(0, m.start() - 40) : m.start()].rpartition("\n")[2])
    ]
    read = [scale for match in (*of_total, *ranges) if (scale := _of_range(text, match, cued=cued))]
    if not cued and _BIT.search(text) and not (read and read[0].kind == "probability"):
        return OutputScale(kind="binary", threshold=1.0)
    if read:
        return read[0]
    if match := _LIMITS.search(text):
        return of_numbers([float(match["low"]), float(match["high"])])
    if match := _POINTS.search(text):
        return of_numbers([1.0, float(match["high"])])
    if not cued:
        for match in _LISTED.finditer(text):
            numbers = [as_number(number) for number in re.findall(NUMBER, match["all"])]
            if len(set(numbers)) > 1 and not _NOT_A_SCALE.match(text, match.end()):
                return of_numbers(numbers)
    if match := _OUT_OF.search(text):
        return of_numbers([1.0 if match["high"] == "5" else 0.0, float(match["high"])])
    return OutputScale(kind="binary", threshold=1.0) if _BIT.search(text) else None


def named_ranges(answer: str, whole: str) -> list[str]:
    """Return the different ranges that a text calls a scale, or that of a score in the words that
    ask for it.
    """
    called = [
        match for match in _RANGE.finditer(whole) if _CALLED_SCALE.search(whole, 0, match.start())
    ]
    asked = [
        match for match in _RANGE.finditer(answer) if _CALLED_SCORE.search(answer, 0, match.start())
    ]
    return list(dict.fromkeys(f"{match['low']}..{match['high']}" for match in (*called, *asked)))


def read_percent(text: str) -> OutputScale | None:
    """Return the scale of a percentage whose ends nobody names."""
    match = _PERCENT.search(text)
    of_confidence = match and re.search(
        r"confiden|konfidenz", text[max(0, match.start() - 30) : match.end()], re.I
    )
    return of_numbers([0.0, 100.0]) if match and not of_confidence else None


def as_number(text: str) -> float:
    """Read a number with a point or a comma."""
    return float(text.replace(",", "."))


def _of_range(text: str, match: re.Match[str], *, cued: bool) -> OutputScale | None:
    low, high = as_number(match["low"]), as_number(match["high"])
    before = text[max(0, match.start() - 60) : match.start()]
    if (
        cued
        and match.re is not _ENDS
        and not _CUE.search(before)
        and not _CUE.match(text[match.end() : match.end() + 12].strip())
    ):
        return None
    total = _TOTAL.search(before[-40:]) is not None
    if (
        low >= high
        or high > 1000
        or not -10 <= low <= (99 if total else 1)
        or _NOT_A_SCALE.match(text, match.end())
    ):
        return None
    near = text[max(0, match.start() - 120) : match.end() + 120]
    if (low, high) == (0.0, 1.0) and (
        re.search(r"\d[.,]\d", match.group())
        or _DECIMALS.search(near)
        or re.search(
            r"between|zwischen|scale (?:of|from)|skala von|échelle de|escala de",
            before[-16:],
            re.IGNORECASE,
        )
    ):
        return OutputScale(kind="probability", threshold=0.5)
    if not (low.is_integer() and high.is_integer()):
        return None
    return of_numbers([low, high])


_COUNTED = re.compile(
    r"\b(?:count|number of|how many|zähle?|anzahl|compte[rz]?|nombre de|cuenta|número de)\b",
    re.IGNORECASE,
)
_MOST = re.compile(
    r"\b(?:stop(?: counting)? at|capped? at|cap(?: it)? at|at most|no more than|maximum(?: of|"
    r" is)?|max\.?"
    r"|höchstens|maximal"
    r"|au plus|como máximo|up to|write)\s(?P<high>\d{1,3})\b(?!"
    r" (?!(?:if|in|when|wenn|or|points?)\b)[^\W\d_])",
    re.IGNORECASE,
)


def read_count(text: str) -> OutputScale | None:
    """Return the scale of a count, or of points to deduct from, from 0 to the most; None where it
    has no end.
    """
    match = _BUDGET.search(text) or (_MOST.search(text) if _COUNTED.search(text) else None)
    return of_numbers([0.0, float(match["high"])]) if match else None


def read_levels(text: str) -> OutputScale | None:
    """Return the scale of a list whose lines open with the levels; a numbered list of rules is
    none.
    """
    levels = [int(match["level"]) for match in _LEVEL.finditer(text)]
    bare = [int(match["level"]) for match in _BARE_LEVEL.finditer(text)]
    if len(set(levels)) < 2 and len(bare) > 2 and len(set(bare)) == len(bare):
        levels = bare
    levels = (
        levels
        if len(set(levels)) > 1
        else [int(match["level"]) for match in _INLINE.finditer(text)]
    )
    sparse = list(dict.fromkeys(levels))
    in_turn = len(sparse) > 2 and sparse in (sorted(sparse), sorted(sparse, reverse=True))
    if (
        in_turn
        and min(sparse) in (0, 1)
        and max(sparse) in (5, 7, 10, 20, 100)
        and max(sparse) - min(sparse) >= len(sparse)
    ):
        return of_numbers([float(level) for level in sparse])
    steps = max(levels, default=0) - min(levels, default=0) == len(set(levels)) - 1
    if len(set(levels)) >= 2 and steps and (len(set(levels)) > 2 or 0 in levels):
        return of_numbers([float(level) for level in levels])
    return None


def of_numbers(numbers: Sequence[float]) -> OutputScale:
    """Return the scale from the lowest to the highest of these; grades that are no whole numbers
    keep their names.
    """
    low, high = min(numbers), max(numbers)
    if not all(number.is_integer() for number in numbers):
        if low >= 0.0 and high <= 1.0:
            return OutputScale(kind="probability", threshold=0.5)
        return OutputScale(
            kind="graded",
            labels=tuple(f"{n:g}" for n in sorted(numbers)),
            threshold=float(len(numbers) // 2),
        )
    if (low, high) == (0.0, 1.0):
        return OutputScale(kind="binary", threshold=1.0)
    return OutputScale(
        low=int(low), high=int(high), threshold=float(-(-(low + high) // 2))
    )  # the middle, rounded up


def with_halves(scale: OutputScale, text: str) -> OutputScale:
    """Return a scale of numbers with the halves between them as grades, where a text allows half
    points.
    """
    numbers = (
        [float(label) for label in scale.labels] if all(map(str.isdecimal, scale.labels)) else []
    )
    numbers = numbers or ([] if scale.labels else list(scale.levels))
    allowed = any(
        not _NO_HALVES.search(text[: match.start()][-40:]) for match in _HALVES.finditer(text)
    )
    if scale.kind != "graded" or len(numbers) < 2 or not allowed:
        return scale
    least = numbers[int(scale.threshold)] if scale.labels else scale.threshold
    step = 0.5 if numbers[0] < numbers[-1] else -0.5
    names = tuple(f"{numbers[0] + step * at:g}" for at in range(2 * len(numbers) - 1))
    return OutputScale(kind="graded", labels=names, threshold=float(names.index(f"{least:g}")))
