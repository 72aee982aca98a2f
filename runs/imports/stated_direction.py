"""Which end of a scale is the good one, by a prompt's own words: the one place that decides it, or leaves it open.

What is said of the ends comes first ("0 = no error", "yes: something is made up", "lower is better", "above 3 is
rejected"), then what is measured ("severity", `contains_pii`). Where they contradict each other, or a word may mean
either, nobody is guessed for: the person is asked.
"""

from __future__ import annotations

import re
from typing import Literal

from ...judges import OutputScale
from .prompt_words import words_of
from .stated_threshold import good_side

Direction = Literal["up", "down", "open", "unsaid"]
"""Whether higher grades are better, lower ones, or nobody can tell; or no word says so, and more is better."""

BARE = frozenset(
    [
        "yes",
        "no",
        "true",
        "false",
        "ja",
        "nein",
        "oui",
        "non",
        "sí",
        "si",
        "0",
        "1",
        "wahr",
        "falsch",
        "vrai",
        "faux",
        "verdadero",
        "falso",
        "y",
        "n",
    ]
)
_AFFIRMS = ("yes", "true", "ja", "oui", "sí", "si", "1", "wahr", "vrai", "verdadero", "y")
MOST_NAMED = 100
"""The most grades, less one, whose numbers stay as names where the lowest is the best."""
_NEGATION = re.compile(
    r"\b(?:no|not|non|none|nobody|nothing|never|without|free|zero|avoid\w*|absence|lack\w*|isn't|aren't|doesn't|hardly"
    r"|kein\w*|ohne|frei|nicht|nie|niemand|sans|aucune?|pas|sin|ningun[ao]?|ningún|nada|évite\w*|evita\w*|vermeide\w*)"
    r"\b(?:\W+\w+){0,4}\W*$",
    re.IGNORECASE,
)
_NOT_THERE = re.compile(
    r"\b(?:isn't|aren't|is not|are not|not|nicht|n'est pas|ne sont pas|pas|no está|no consta)(?: \w+){0,2} "
    r"(?:in|im|from|by|contained|mentioned|stated|found|present|given|dans|en|aus|von)\b|\bhinzugefügt|\bajouté|\bañadid"
    r"|\bnowhere in\b",
    re.IGNORECASE,
)
"""Words for what stands in a text and not in its source."""
_NOTHING = re.compile(r"\b(?:none|nothing|nobody|nichts|niemand|rien|nada)\b", re.IGNORECASE)
_FREE_AFTER = re.compile(r"^\W*(?:free|frei|are absent|is absent)\b", re.IGNORECASE)
_MEASURES = re.compile(
    r"\b(?:(?:rate|score|measure|estimate|bewerte|judge|grade|assess|évalue[rz]?|evalúa|note[rz]?)[^\w\n.]+"
    r"(?:the |how |wie |la |le |el |die |den |das |à quel point |level of |degree of |amount of |grad der )*"
    r"|\bhow |\bwie )(?P<after>\w+)(?=\s*(?:[.,:;()\n]|$)|\s(?:of|in|the|this|that|an?|is|are|was|were|from|on"
    r"|between|its?|they|he|she|each"
    r"|every|der|die|das|des|dieser?|im|ist|sind|von|la|le|les|el|los|de|du|est|es|level|score|rating|with)\b)"
    r"|\b(?:number|count|counts|anzahl|zahl|amount|nombre|número|level|degree|severity) (?:of|der|von|de) "
    r"(?P<counted>(?:\w+[^\w\n.]+){0,2}\w+)"
    r"|\b(?P<scaled>\w+)(?: level| score)? (?:from|between|of|on a scale|von|zwischen|de|entre|da) (?:\w+ )?\d"
    r"|\b(?P<before>\w+)[ _-](?:score|level|rating|count|wert|stufe|grad)\b",
    re.IGNORECASE,
)
_COUNTS = re.compile(
    r"(?m)^[ \t]*(?:please )?(?:count|zähle?|compte[rz]?|cuenta)\b(?P<counted>[^.\n]{3,90})", re.IGNORECASE
)
_LOW_IS_BETTER = re.compile(
    r"\b(?:lower|smaller|fewer|less|niedriger\w*|weniger|kleiner\w*|plus bas\w*|moins)\b[^.\n]{0,24}?"
    r"\b(?:is|are|=|means?|,? the|ist|sind|desto|umso|est|es)\s*(?:better|best|safer|good|besser|gut|mieux|mejor)\b"
    r"|\b(?:higher|bigger|larger|more|höher\w*|mehr)\b[^.\n]{0,24}?"
    r"\b(?:is|are|=|means?|,? the|ist|sind|desto|umso|est|es)\s*(?:worse|worst|bad|schlechter|schlimmer|pire|peor)\b",
    re.IGNORECASE,
)
_HIGH_IS_BETTER = re.compile(
    r"\b(?:higher|bigger|larger|more|höher\w*|mehr|plus haut\w*)\b[^.\n]{0,24}?"
    r"\b(?:is|are|=|means?|,? the|ist|sind|desto|umso|est|es)\s*(?:better|best|safer|good|besser|gut|mieux|mejor)\b"
    r"|\b(?:lower|smaller|fewer|less|niedriger\w*|weniger)\b[^.\n]{0,24}?"
    r"\b(?:is|are|=|means?|,? the|ist|sind|desto|umso|est|es)\s*(?:worse|worst|bad|schlechter|schlimmer|pire|peor)\b",
    re.IGNORECASE,
)
_NEXT_VALUE = re.compile(
    r",?\s-?\d+\s?[=:(]|(?:,|\s(?:and|or|und|oder|et|ou|y|o))\s+[\"'`]?(?:no|false|nein|non|falsch|\d+)\b",
    re.IGNORECASE,
)
_HAS_FAULT = re.compile(
    r"\b(?:contain\w*|includ\w+|ha[sd]|have|having|mak\w+|made|introduc\w+|invent\w*|commit\w*|violat\w+|break\w*|contradict\w*|leak\w*"
    r"|reveal\w*|disclos\w+|hallucinat\w+|fabricat\w+|promis\w+|us(?:es|ing)|add\w*|there|is|are|was|were|be|enthält|enthalten|erfindet|hat|ist|sind"
    r"|gibt|steht|verletzt|verstößt|contient|invente|est|sont|contredit|commet|contiene|inventa|hay|tiene|es|está|hallucinations?|errors?|any)\b",
    re.IGNORECASE,
)
"""Words by which a question says that the text itself has the fault."""
_BARE_FIRST = rf"\W*(?:{'|'.join(sorted(BARE))})\b(?! \w)"
_HOLDS = ("contains", "has", "includes", "enthält", "contient", "contiene", "hat")
_ASKS_WHETHER = re.compile(
    r"(?P<asked>[^.\n?!]*\?)|\b(?:whether|ob|(?:decide|determine|check|judge|assess|evaluate|tell|say|detect|identify"
    r"|verify|see|décide[rz]?|vérifie[rz]?|détermine[rz]?|dis|dites|decide|determina|comprueba|evalúa) (?:if|si))\b"
    r"(?P<whether>[^.\n?!:]{4,160})|\b(?:detect|flag|spot|find|erkenne|détecte[rz]?|detecta)\b(?P<found>[^.\n?!:]{3,60})",
    re.IGNORECASE,
)
_COMPARED = re.compile(
    r"\b(?:below|under|above|over|than|least|most|from|only|unter|über|als|ab|mindestens|höchstens|de|desde|to|bis|exactly)"
    r"(?: an?| eine?| une?)?\s*$",
    re.IGNORECASE,
)
"""What stands before a number that is compared with, and of which the words after it say nothing."""


def with_direction(scale: OutputScale, text: str, name: str, *, is_field: bool = False) -> OutputScale | None:
    """Return a scale with the worst first; None where nobody can tell which end that is.

    Args:
        scale: Numbers as they go up, or labels as their own words order them.
        text: All of the prompt.
        name: What the answer calls the verdict: a field of JSON, or the word before it.
        is_field: Whether that is a field of JSON, which has its name from what it measures.
    """
    if scale.kind == "choice":
        return scale
    if scale.kind == "binary" and (not scale.labels or {label.casefold() for label in scale.labels} <= BARE):
        labels = scale.labels or ("0", "1")
        found = _of_bare_words(labels, text, name)
        if found == "open":
            return None
        return scale if found == "up" else OutputScale(kind="binary", labels=labels[::-1], threshold=1.0)
    if scale.labels or scale.kind == "binary":
        return scale
    found = _of_numbers(scale, text, name)
    if found == "unsaid":
        found = "open" if is_field and scale.low >= 0 and not _is_usual(name) else "up"
    if found == "up":
        return scale
    if found == "open" or scale.kind == "probability" or scale.high - scale.low > MOST_NAMED:
        return None
    return downwards(scale.low, scale.high)


def downwards(low: int, high: int) -> OutputScale:
    """Return the numbers as names of grades, the highest first, because it is the worst."""
    names = tuple(str(number) for number in range(high, low - 1, -1))
    return OutputScale(kind="graded", labels=names, threshold=float(len(names) // 2))


def _of_numbers(scale: OutputScale, text: str, name: str) -> Direction:
    plain = _HIGH_IS_BETTER.sub(" ", _LOW_IS_BETTER.sub(" ", text))
    low, high = (_side_of(rf"{end}(?:[.,]0)?(?:\s?%)?", plain) for end in (scale.low, scale.high))
    signs = {_sign(bool(_HIGH_IS_BETTER.search(text)) - bool(_LOW_IS_BETTER.search(text)))}
    signs |= {good_side(text, scale), _of_grades(scale, text)}
    ends = _sign(high - low)
    measured = _by_measure(text, name)
    if ends and (ends > 0 or (low and high)):
        signs.add(ends)
    signs -= {0}
    if len(signs) > 1:
        return "open"
    if signs:
        return "up" if signs == {1} else "down"
    return "open" if ends < 0 and measured in ("up", "unsaid") else measured  # one end alone may be misread


def _of_grades(scale: OutputScale, text: str) -> int:
    """Return -1 for a school grade from 1 to 6, which is German."""
    return -1 if (scale.low, scale.high) == (1, 6) and re.search(r"\bschulnoten?\b", text, re.IGNORECASE) else 0


def _by_measure(text: str, name: str) -> Direction:
    """Decide by what is measured: a fault is better where there is less of it."""
    if side := _side_of_name(name):
        return "down" if side < 0 else "up"
    faults, doubtful, better = (words_of(kind) for kind in ("faults", "doubtful", "better"))
    signs: set[int] = set()
    doubted = bool(set(re.split(r"[\W_]+", name.casefold())) & doubtful.keys())
    for match in [*_MEASURES.finditer(text), *_COUNTS.finditer(text)]:
        words = re.findall(r"[^\W_]+", next(part for part in match.groups() if part).casefold())
        sides = [-1 for word in words if word in faults] + [1 for word in words if word in better]
        negated = _NEGATION.search(" ".join(words)) or any(_NEGATION.match(word) for word in words)
        signs |= {-side if negated else side for side in sides}
        doubted |= any(word in doubtful for word in words)
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
    """Return -1 where a field is named after a fault, 1 where after something good, 0 where it does not tell."""
    words = [word for word in re.split(r"[\W_]+|(?<=[a-z])(?=[A-Z])", name) if word]
    words = [word.casefold() for word in words]
    faults, better = words_of("faults"), words_of("better")
    negated = any(
        word in ("no", "not", "free", "without", "non", "ohne", "kein", "keine", "sans", "sin") for word in words
    )
    bad = any(word in faults for word in words)
    good = any(word in better and word not in ("no", "not", "free") for word in words)
    if bad == good:
        return 0
    return (1 if negated else -1) if bad else (-1 if negated else 1)


def _of_bare_words(labels: tuple[str, ...], text: str, name: str) -> Direction:
    """Decide whether the second of two words such as no and yes is the good one."""
    yes = next((label for label in labels if label.casefold() in _AFFIRMS), labels[1])
    no = next((label for label in labels if label != yes), labels[0])
    means = _side_of(re.escape(yes), text), _side_of(re.escape(no), text)
    sign = _sign(means[0] - means[1]) or _side_of_name(name)
    if not sign:
        asked = [next(filter(None, match.groups())) for match in _ASKS_WHETHER.finditer(text)]
        sides = {side for words in asked if (side := _side_of_words(words))}
        words = re.findall(r"[^\W_]+", name.casefold())
        if words and words[0] in _HOLDS and not any(word in words_of("better") for word in words):
            return "open"
        if set(words) & words_of("doubtful").keys():
            return "open"
        if sides == {-1} and not any(_side_of_words(words) < 0 and _HAS_FAULT.search(words) for words in asked):
            return "open"  # a comment that points at a defect is no bad comment
        sign = -1 if sides == {-1} else 1
        if sides == {-1, 1}:
            return "open"
    good = yes if sign > 0 else no
    return "up" if good == labels[1] else "down"


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


def _side_of(value: str, text: str) -> int:
    """Return 1 where what a text says of a value is good, -1 where it is bad, 0 where it does not tell."""
    said = re.compile(
        rf"(?<![\w.,/-])[\"'`*_\[(]{{0,3}}{value}(?![\w])[\"'`*_\])]{{0,3}}\s?(?:points?|punkte?)?\s?"
        r"(?:[=:–—|-]|\(|→|->|(?P<verb>(?:is|are|means|being|bedeutet|ist|heißt|if|when|wenn|falls|for|für|si|est"
        r"|significa)\b:?))\s*\(?(?P<said>[^\n;.)]{2,90})",
        re.IGNORECASE,
    )
    sides = {
        _side_of_words(re.split(_NEXT_VALUE, match["said"])[0])
        for match in said.finditer(text)
        if not re.match(_BARE_FIRST, match["said"], re.IGNORECASE)
        and not (match["verb"] and _COMPARED.search(text[max(0, match.start() - 20) : match.start()]))
    }
    sides -= {0}
    return sides.pop() if len(sides) == 1 else 0


def _side_of_words(words: str) -> int:
    """Return 1 for words of something good, -1 for words of a fault, 0 where there are both or none."""
    faults, better, worse = (words_of(kind) for kind in ("faults", "better", "worse"))
    doubtful = words_of("doubtful")
    if (match := _NOTHING.search(words)) and not any(
        w in faults for w in re.findall(r"\w+", words[match.end() :].casefold())[:3]
    ):
        return 0  # "none of it", which may be good or bad
    sides: list[int] = []
    for match in re.finditer(r"[^\W\d_]+", words.casefold()):
        word = match.group()
        harmless = (word.startswith("un") and (word[2:] in faults or word[2:] in doubtful)) or word in (
            "harmless",
            "harmlos",
        )
        bad = word in faults or word in worse or word in doubtful
        side = 1 if harmless else -1 if bad else 1 if word in better else 0
        if not side or _NEGATION.match(word):
            continue
        negated = _NEGATION.search(words[: match.start()]) or _FREE_AFTER.match(words[match.end() :])
        sides.append(-side if negated else side)
    if _NOT_THERE.search(words):
        sides.append(-1)
    return sides[0] if len(set(sides)) == 1 else 0
