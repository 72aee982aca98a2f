"""Which end of a scale is the good one, by a prompt's own words: the one place that decides it, or
leaves it open.

What is said of the ends comes first ("0 = no error", "1 is the best grade", "lower is better",
"above 3 is rejected"), then what is measured ("severity", `contains_pii`). Where they contradict
each other, or a word may mean either, nobody is guessed for: the person is asked.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal

from ...judges import OutputScale
from .prompt_words import means, pattern_of, rows_of, without_accents, words_of
from .stated_threshold import good_side

Direction = Literal["up", "down", "open", "unsaid"]
"""Whether higher grades are better, lower ones, or nobody can tell; or no word says so, and more is
better.
"""

MOST_NAMED = 100
"""The most grades, less one, whose numbers stay as names where the lowest is the best."""
_NEGATION = re.compile(rf"\b(?:{pattern_of('negations')})\b(?:\W+\w+){{0,4}}\W*$", re.IGNORECASE)
_NEGATED_AFTER = re.compile(rf"^\W*(?:{pattern_of('absent')})\b", re.IGNORECASE)
_NOT_IN_SOURCE = re.compile(
    rf"\b(?:{pattern_of('not_there')})(?: \w+){{0,2}} "
    rf"(?:in|im|from|by|contained|mentioned|stated|found|present|given|dans|en|aus|von)\b"
    rf"|\b(?:{pattern_of('added')})",
    re.IGNORECASE,
)
_MEASURES = re.compile(
    rf"\b(?:{pattern_of('rates')})\W+(?:\w{{1,4}}\W+){{0,4}}(?P<after>\w{{4,}}(?:\W+of\W+\w+)?)"
    rf"|\b(?:{pattern_of('about')})\s(?P<about>\w+(?:/\w+)?)"
    rf"|\b(?:{pattern_of('counts')})\W+(?P<counted>(?:\w+[^\w\n.]+){{0,3}}\w+)"
    r"|\b(?P<scaled>\w+)(?: level| score)? (?:from|between|of|on a scale|von|zwischen|de|entre|da)"
    r" (?:\w+ )?\d"
    r"|\b(?P<before>\w+)[ _-](?:score|level|rating|count|wert|stufe|grad)\b",
    re.IGNORECASE,
)
_HOW = re.compile(rf"\b(?:{pattern_of('how')})\s(?P<how>[^.,;:\n(?!]{{4,90}})", re.IGNORECASE)
_OF_SEVERAL = [
    word for kind in ("better", "worse", "faults") for word in words_of(kind) if "_" in word
]
_OF_SEVERAL_FAULTS = [without_accents(word) for word in words_of("faults") if "_" in word]
_PHRASES = re.compile(
    rf"\b(?:{'|'.join(word.replace('_', ' ') for word in _OF_SEVERAL)})\b(?! to\b)"
)
"""What has its meaning only together, such as "in order"."""
_NOTHING = re.compile(rf"\b(?:{pattern_of('nothing')})\b", re.IGNORECASE)
_COMPARES = (
    rf"\b(?:{{side}})\b[^.\n]{{{{0,24}}}}?(?:\b(?:{pattern_of('is')})|=|,)\s*(?:the"
    r" )?(?:{quality})\b"
)
_MORE_GOOD, _LESS_BAD, _MORE_BAD, _LESS_GOOD = (
    re.compile(
        _COMPARES.format(side=pattern_of(side), quality=pattern_of(quality))
        .replace("{{", "{")
        .replace("}}", "}"),
        re.IGNORECASE,
    )
    for side, quality in (
        ("more", "good_of_numbers"),
        ("less", "bad_of_numbers"),
        ("more", "bad_of_numbers"),
        ("less", "good_of_numbers"),
    )
)
_NEXT_VALUE = re.compile(
    rf",?\s-?\d+\s?[=:(,]|(?:,|\s(?:{pattern_of('or')}))\s+[\"'`]?(?:{pattern_of('no')}|\d+)\b",
    re.IGNORECASE,
)
_COMPARED = re.compile(rf"\b(?:{pattern_of('compares')})(?: an?| eine?| une?)?\s*$", re.IGNORECASE)
"""What stands before a number that is compared with, and of which the words after it say nothing.
"""
_FAULTY = ("faults", "worse", "doubtful")
_HAS_FAULT = re.compile(rf"\b(?:{pattern_of('has_fault')})\b", re.IGNORECASE)
"""Words by which a question says that the text itself has the fault."""
_ASKS_WHETHER = re.compile(
    rf"(?P<asked>[^.\n?!]*\?)|\b(?:whether|ob|(?:{pattern_of('decides')})"
    r" (?:if|si))\b(?P<whether>[^.\n?!:]{4,160})"
    rf"|\b(?:{pattern_of('detects')})\b(?P<found>[^.\n?!:]{{3,60}})",
    re.IGNORECASE,
)


def with_direction(
    scale: OutputScale, text: str, name: str, *, is_field: bool = False
) -> OutputScale | None:
    """Return a scale with the worst first; None where nobody can tell which end that is.

    Args:
        scale: Numbers as they go up, positive from the middle on, or labels as their own words
            order them.
        text: All of the prompt.
        name: What the answer calls the verdict: a field of JSON, or the word before it.
        is_field: Whether that is a field of JSON, which has its name from what it measures.
    """
    if scale.kind == "choice":
        return scale
    bare = {*words_of("yes"), *words_of("no")}
    if scale.kind == "binary" and (
        not scale.labels or {label.casefold() for label in scale.labels} <= bare
    ):
        labels = scale.labels or ("0", "1")
        found = _of_bare_words(labels, text, name)
        if found == "open":
            return None
        return (
            scale
            if found == "up"
            else OutputScale(kind="binary", labels=labels[::-1], threshold=1.0)
        )
    if scale.labels or scale.kind == "binary":
        return scale
    found = _of_numbers(scale, text, name)
    if found == "unsaid":
        found = "open" if is_field and scale.low >= 0 and not _is_usual(name) else "up"
    if found == "up":
        return scale
    if found == "open" or scale.high - scale.low > MOST_NAMED:
        return None
    if scale.kind == "probability":
        return replace(scale, low_is_good=True)
    return downwards(scale.low, scale.high)


def downwards(low: int, high: int) -> OutputScale:
    """Return the numbers as names of grades, the highest first, because it is the worst."""
    names = tuple(str(number) for number in range(high, low - 1, -1))
    return OutputScale(kind="graded", labels=names, threshold=float(len(names) // 2))


def order_of_ladder(labels: tuple[str, ...], name: str) -> tuple[str, ...] | None:
    """Return labels such as low and high with the worst first, by the field that they are of; None
    where it is open.
    """
    words = {label.casefold().replace(" ", "_"): label for label in labels}
    ladder = next((row for row in rows_of("ladders") if words.keys() <= set(row)), None)
    side = _side_of_name(name) if ladder else 0
    if ladder is None or not side:
        return None
    return tuple(words[word] for word in ladder if word in words)[::side]


def _of_numbers(scale: OutputScale, text: str, name: str) -> Direction:
    more = bool(_MORE_GOOD.search(text) or _LESS_BAD.search(text))
    less = bool(_LESS_GOOD.search(text) or _MORE_BAD.search(text))
    plain = re.sub(
        _MORE_GOOD,
        " ",
        re.sub(_LESS_GOOD, " ", re.sub(_MORE_BAD, " ", re.sub(_LESS_BAD, " ", text))),
    )
    low, high = (side_of(rf"{end}(?:[.,]0)?(?:\s?%)?", plain) for end in (scale.low, scale.high))
    signs = {_sign(more - less), good_side(text, scale), _of_school(scale, text)}
    ends = _sign(high - low)
    measured = _by_measure(text, name)
    if ends and (ends > 0 or (low and high) or _superlative(scale, plain)):
        signs.add(ends)
    signs -= {0}
    if len(signs) > 1:
        return "open"
    if signs:
        return "up" if signs == {1} else "down"
    return (
        "open" if ends < 0 and measured in ("up", "unsaid") else measured
    )  # one end alone may be misread


def _superlative(scale: OutputScale, text: str) -> bool:
    """Whether one end is said to be the best or the worst, which needs no word on the other."""
    ends = rf"(?:{scale.low}|{scale.high})"
    best = rf"(?:{pattern_of('best')}|{pattern_of('worst')})"
    return (
        re.search(
            rf"(?<![\w.,]){ends}(?![\w]|[.,]\d)[^\d.\n]{{0,30}}\b{best}\b", text, re.IGNORECASE
        )
        is not None
    )


def _of_school(scale: OutputScale, text: str) -> int:
    """Return -1 for a school grade from 1 to 6, which is German."""
    return (
        -1
        if (scale.low, scale.high) == (1, 6) and re.search(r"\bschulnoten?\b", text, re.IGNORECASE)
        else 0
    )


def _by_measure(text: str, name: str) -> Direction:
    """Decide by what is measured: a fault is better where there is less of it."""
    if side := _side_of_name(name):
        return "down" if side < 0 else "up"
    signs: set[int] = set()
    doubted = any(means("doubtful", word) for word in _words(name))
    for match in _MEASURES.finditer(text):
        words = _words(next(part for part in match.groups() if part))
        sides = [-1 for word in words if means("faults", word)] + [
            1 for word in words if means("better", word)
        ]
        negated = _NEGATION.search(" ".join(words)) or any(_NEGATION.match(word) for word in words)
        signs |= {-side if negated else side for side in sides}
        doubted |= any(means("doubtful", word) for word in words)
    for match in _HOW.finditer(text):
        words = _words(match["how"])
        doubted |= any(means("doubtful", word) and not means("faults", word) for word in words[:3])
        signs |= {0 if doubted else _side_of_words(match["how"])} - {0}
    if signs == {-1}:
        return "down"
    if -1 in signs or (doubted and 1 not in signs):
        return "open"
    return "up" if signs else "unsaid"


def _is_usual(name: str) -> bool:
    """Whether a field has a usual name of a grade, which says nothing of what is measured."""
    words = set(re.split(r"[\W_]+", name.casefold()))
    return bool(words & (words_of("verdict_fields").keys() | words_of("usual_fields").keys()))


def _side_of_name(name: str) -> int:
    """Return -1 where a field is named after a fault, 1 where after something good, 0 where it does
    not tell.
    """
    words = _words(without_accents(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)))
    negated = any(word in words_of("negations") for word in words)
    spelled = "_".join(words)
    bad = any(means("faults", word, plain=True) for word in words) or any(
        w in spelled for w in _OF_SEVERAL_FAULTS
    )
    good = any(
        means("better", word, plain=True) and word not in words_of("negations") for word in words
    )
    if bad and good and words[0] in words_of("lacking"):
        good = False  # "missing_safety_info"
    if bad == good:
        return 0
    return (1 if negated else -1) if bad else (-1 if negated else 1)


def _of_bare_words(labels: tuple[str, ...], text: str, name: str) -> Direction:
    """Decide whether the second of two words such as no and yes is the good one."""
    yes = next((label for label in labels if label.casefold() in words_of("yes")), labels[1])
    no = next((label for label in labels if label != yes), labels[0])
    said = side_of(re.escape(yes), text), side_of(re.escape(no), text)
    sign = _sign(said[0] - said[1]) or _side_of_name(name)
    if not sign and _of_faults(re.escape(yes), text):
        return "open"  # "TRUE if quality issues are found"
    if not sign:
        asked = [next(filter(None, match.groups())) for match in _ASKS_WHETHER.finditer(text)]
        sides = {side for words in asked if (side := _side_of_words(words))}
        words = _words(name)
        if (
            words
            and words[0] in words_of("holds")
            and not any(means("better", word) for word in words)
        ):
            return "open"
        if any(means("doubtful", word) for word in words):
            return "open"
        if sides == {-1} and not any(
            _side_of_words(words) < 0 and _says_fault(words) for words in asked
        ):
            return "open"  # a comment that points at a defect is no bad comment
        if sides == {-1, 1} or (
            asked and not sides and yes.casefold() in words_of("yes_elsewhere")
        ):
            return "open"  # of languages whose words of faults we hardly know
        sign = -1 if sides == {-1} else 1
    good = yes if sign > 0 else no
    return "up" if good == labels[1] else "down"


def _says_fault(question: str) -> bool:
    """Whether a question says that the text itself has the fault: "is it ...", "does it contain
    ...", "misleads it".
    """
    words = _words(question)
    return bool(_HAS_FAULT.search(question) or (words and means("faults", words[0])))


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+(?:-[^\W_]+)*", text.casefold())


def side_of(value: str, text: str) -> int:
    """Return 1 where what a text says of a value is good, -1 where it is bad, 0 where it does not
    tell.
    """
    sides = {_side_of_words(words) for words in _said_of(value, text)} - {0}
    return sides.pop() if len(sides) == 1 else 0


def _of_faults(value: str, text: str) -> bool:
    """Whether what a text says of a value has a fault in it beside something good: "quality issues
    are found".
    """
    for said in _said_of(value, text):
        words = [word for word in _words(said) if word not in words_of("negations")]
        faulty = any(means(kind, word) for word in words for kind in _FAULTY)
        if faulty and len(words) == len(_words(said)) and not _side_of_words(said):
            return True
    return False


def _said_of(value: str, text: str) -> list[str]:
    """Return what a text says of a value: after a colon, a sign of equality, or a word such as
    "if".
    """
    said = re.compile(
        rf"(?<![\w.,/-])[\"'`*_\[(]{{0,3}}{value}(?![\w])[\"'`*_\])]{{0,3}}\s?(?:points?|punkte?)?\s?"
        r"(?:[=:–—|-]|\(|→|->|,(?= (?:that|dass|que))"
        rf"|(?P<verb>(?:is|if|when|wenn|falls|for|für|si|{pattern_of('means')})\b:?,?))"
        r"\s*\(?(?P<said>[^\n;.)]{2,90})",
        re.IGNORECASE,
    )
    if re.match(r"\d", value):  # a line that opens with a grade
        text = re.sub(rf"(?m)^([ \t]*{value})[ \t]+(?=[^\W\d_])", r"\1: ", text)
    bare = rf"\W*(?:{pattern_of('yes')}|{pattern_of('no')})\b(?! \w)"
    return [
        re.split(_NEXT_VALUE, match["said"])[0]
        for match in said.finditer(text)
        if not re.match(bare, match["said"], re.IGNORECASE)
        and not (
            match["verb"] and _COMPARED.search(text[max(0, match.start() - 20) : match.start()])
        )
    ]


def _side_of_words(words: str) -> int:
    """Return 1 for words of something good, -1 for words of a fault, 0 where there are both or
    none.
    """
    words = re.sub(
        r"\bsounds? like\b|\bneeds?\b(?! (?:edit|work|fix|chang|improv|revis))", "", words
    )
    words = re.sub(_PHRASES, lambda match: match.group().replace(" ", "-"), words.casefold())
    if (match := _NOTHING.search(words)) and not any(
        means("faults", w) for w in _words(words[match.end() :])[:3]
    ):
        return 0  # "none of it", which may be good or bad
    sides: list[int] = []
    for match in re.finditer(r"[^\W\d_]+(?:-[^\W\d_]+)*", words.casefold()):
        word = match.group()
        bad = any(means(kind, word) for kind in _FAULTY)
        harmless = word.startswith("un") and (
            means("faults", word[2:]) or means("doubtful", word[2:])
        )
        side = 1 if harmless or means("harmless", word) else -1 if bad else 0
        side = side or (1 if means("better", word) or means("fulfils", word) else 0)
        if not side or word in words_of("negations"):
            continue
        negated = _NEGATION.search(words[: match.start()]) or _NEGATED_AFTER.match(
            words[match.end() :]
        )
        sides.append(-side if negated else side)
    if _NOT_IN_SOURCE.search(words):
        sides.append(-1)
    return sides[0] if len(set(sides)) == 1 else 0
