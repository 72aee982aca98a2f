"""The grade from which a row passes, where a prompt's words say it: "4 or more is a hit", "below 6 fails"."""

from __future__ import annotations

import re
from functools import cache

from ...judges import OutputScale
from .stated_labels import answer_words

_N = r"(?P<n>[0-9]+(?:[.,][0-9]+)?)(?:\s?/\s?[0-9]+)?(?![\w%])"
_NOTE = r"(?:(?:a|an|an? score of|scores?|grade|note|eine|die) )?"
_THEN = (
    r"(?=\s*(?:$|[,;:.!=)→–—-]|(?:is|are|gets?|goes|go|counts?|counted|means?|pass(?:es)?|fails?|will|must|should|as"
    r"|gilt|gelten|ist|sind|wird|werden|geht|gehen|heißt|zählt|est|sont|passe|es|son|se|points?|punkten?)\b))"
)
_FORMS = {
    # "or worse" goes by the order of the scale, so it comes before what goes by the number
    "worse": (rf"{_N}\s(?:or|and|oder|und|ou|o)\s(?:worse|schlechter|pire|peor)\b{_THEN}",),
    "better": (rf"{_N}\s(?:or|and|oder|und|ou|o)\s(?:better|besser|mieux|mejor)\b{_THEN}",),
    "from": (
        rf"{_N}\s(?:or|and|oder|und|ou|o)\s(?:more|higher|above|up|upwards?|mehr|höher|plus|más)\b{_THEN}",
        rf"\b(?:from|ab|à partir de|a partir de)\s{_NOTE}{_N}(?:\s(?:on|up|upwards?|onwards?))?{_THEN}",
        rf"(?:\b(?:at least|mindestens|au moins|al menos)|≥|>=)\s?{_NOTE}{_N}{_THEN}",
    ),
    "above": (rf"(?:\b(?:above|over|more than|higher than|über|mehr als|plus de|más de)|>(?!=))\s?{_NOTE}{_N}{_THEN}",),
    "below": (
        rf"(?:\b(?:below|under|less than|lower than|unter|weniger als|moins de|menos de)|<(?!=))\s?{_NOTE}{_N}{_THEN}",
    ),
    "upto": (
        rf"(?:\b(?:at most|up to|höchstens|au plus|como máximo)|≤|<=)\s?{_NOTE}{_N}{_THEN}",
        rf"{_N}\s(?:or|and|oder|und|ou|o)\s(?:less|lower|below|fewer|weniger|niedriger|moins|menos)\b{_THEN}",
    ),
    "only": (rf"\b(?:only|nur|seule?|solo|sólo)\s(?:a|an|eine?|une?|un|una)?\s?{_N}{_THEN}",),
}
_NAMED = re.compile(
    r"\b(?:threshold|cut-?off|pass(?:ing)? (?:mark|score|grade)|schwelle|schwellenwert|bestehensgrenze|seuil|umbral)\b"
    rf"[^.\n\d]{{0,30}}?{_N}",
    re.IGNORECASE,
)
_ON_SCORES = re.compile(
    r"\b(?:anything|everything|scores?|grades?|ratings?|numbers?|values?|alles|noten?|punkte?|werte?|tout|notes?|todo)"
    r"\b",
    re.IGNORECASE,
)
_MOST_NAMED = 20
"""The most grades, less one, that are named to turn a scale round."""
_NOT = r"\b(?:not|never|no|nicht|kein\w*|ne|pas)\s+(?:\w+\s+)?|n[o']t\s+(?:\w+\s+)?"


def turned(scale: OutputScale, words: str) -> OutputScale | None:
    """Return a scale of numbers whose lowest is the best; None for too many to name, or words on less than a score."""
    if not _ON_SCORES.search(words):
        return None
    if scale.kind != "graded" or scale.labels or scale.high - scale.low > _MOST_NAMED:
        return None
    names = tuple(str(number) for number in range(scale.high, scale.low - 1, -1))
    return OutputScale(kind="graded", labels=names, threshold=float(len(names) // 2))


def read_threshold(text: str, scale: OutputScale) -> tuple[float | None, str]:
    """Return the grade from which a row passes, and the words that leave it open; neither where nothing is said.

    Words such as "anything above 3 is rejected" leave it open where more is better.

    Args:
        text: All of the prompt.
        scale: Numbers, or numbers as the names of its grades.
    """
    numbers = _numbers(scale)
    if not numbers:
        return None, ""
    found: dict[float, str] = {}
    for sentence in re.split(r"\n|(?<=[.!?;])\s", text):
        said = _named(sentence, numbers, scale) or _passing(sentence, numbers, scale)
        if said is None:
            continue
        if said == "open":
            return None, sentence.strip()
        found[float(said)] = sentence.strip()
    if len(found) > 1:
        return None, next(reversed(found.values()))
    return next(iter(found), None), ""


def _numbers(scale: OutputScale) -> list[float]:
    """Return the grades as a prompt writes them, the worst first."""
    if scale.kind == "probability":
        return [0.0, 1.0]
    if scale.kind != "graded":
        return []
    if scale.labels:
        plain = all(re.fullmatch(r"[0-9]+", label) for label in scale.labels)
        return [float(label) for label in scale.labels] if plain else []
    return list(scale.levels)


def _named(sentence: str, numbers: list[float], scale: OutputScale) -> str | float | None:
    match = _NAMED.search(sentence)
    return _place(_number(match), numbers, scale) if match else None


def _passing(sentence: str, numbers: list[float], scale: OutputScale) -> str | float | None:
    """Return the threshold of one sentence; "open" where it turns the scale round."""
    passes, fails = _says(sentence)
    if passes == fails:
        return None
    up = numbers[0] < numbers[-1]
    for form, patterns in _FORMS.items():
        match = next((m for pattern in patterns if (m := re.search(pattern, sentence, re.IGNORECASE))), None)
        if match is None:
            continue
        number = _number(match)
        if _place(number, numbers, scale) is None:
            return None
        if form in ("better", "only"):
            return _place(number, numbers, scale) if passes else None
        if form == "worse":
            return _place(number, numbers, scale, step=1) if fails else None
        high = form in ("from", "above")
        if (high == passes) != up:
            return "open"
        # the number itself passes in "from 4 passes", "below 4 fails", and their opposites where low is good
        itself = (form in ("from", "upto")) == passes
        return _place(number, numbers, scale, step=0 if itself else 1)
    return None


def _says(sentence: str) -> tuple[bool, bool]:
    """Return whether a sentence says that something passes, and that something fails; "not accepted" fails."""
    good, bad = _words("passes"), _words("fails")
    denied = re.search(rf"(?:{_NOT})(?:{good})", sentence, re.IGNORECASE) is not None
    left = re.sub(rf"(?:{_NOT})(?:{good})", " ", sentence, flags=re.IGNORECASE)
    return bool(re.search(rf"\b(?:{good})", left, re.I)), denied or bool(re.search(rf"\b(?:{bad})", left, re.I))


@cache
def _words(kind: str) -> str:
    return "|".join(
        re.escape(word.replace("_", " ")) + (r"s?\b" if len(word) < 5 else "") for word in answer_words(kind)
    )


def _number(match: re.Match[str]) -> float:
    return float(match["n"].replace(",", "."))


def _place(number: float, numbers: list[float], scale: OutputScale, step: int = 0) -> float | None:
    """Return a grade of the scale, so many steps better; None where there is none."""
    if scale.kind == "probability":
        return number if 0.0 < number <= 1.0 and not step else None
    at = numbers.index(number) + step if number in numbers else len(numbers)
    if at >= len(numbers):
        return None
    return float(at) if scale.labels else numbers[at]
