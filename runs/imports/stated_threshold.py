"""The grade from which a row passes, where a prompt's words say it: "4 or more is a hit", "below 6
fails".
"""

from __future__ import annotations

import re
from functools import cache

from ...judges import OutputScale
from .file_facts import FileFacts, probability_from, split_in_code, threshold_in_code
from .prompt_words import pattern_of, words_of

_N = r"(?P<n>[0-9]+(?:[.,][0-9]+)?)(?:\s?/\s?[0-9]+)?(?![\w%])"
_PLUS = r"(?P<n>[0-9]{1,3})\+(?![\w+])"
_NOTE = r"(?:(?:a|an|an? score of|scores?|grade|note|eine|die) )?"
_THEN = rf"(?=\s*(?:$|[,;:.!=)→–—-]|(?:{pattern_of('after_grades')})\b))"
"""What follows a grade: a word such as "is" or "the"; a noun says that something else is counted.
"""
_UNIT = r"(?:points?|punkten?|stars?|sternen?|puntos)"
_FORMS = {
    # "or worse" goes by the order of the scale, so it comes before what goes by the number
    "worse": (
        rf"{_N}(?:\s{_UNIT})?\s(?:or|and|oder|und|ou|o)\s(?:worse|schlechter|pire|peor)\b{_THEN}",
    ),
    "better": (
        rf"{_N}(?:\s{_UNIT})?\s(?:or|and|oder|und|ou|o)\s(?:better|besser|mieux|mejor)\b{_THEN}",
    ),
    "from": (
        rf"(?<![\w.]){_PLUS}{_THEN}",
        rf"{_N}(?:\s{_UNIT})?\s(?:or|and|oder|und|ou|o)\s(?:more|higher|above|up|upwards?|mehr|höher|plus|más)\b{_THEN}",
        (
            r"\b(?:from|ab|à partir de|a partir"
            rf" de)\s{_NOTE}{_N}(?:\s(?:on|up|upwards?|onwards?))?{_THEN}"
        ),
        rf"(?:\b(?:at least|mindestens|au moins|al menos)|≥|>=)\s?{_NOTE}{_N}{_THEN}",
    ),
    "enough": (
        rf"(?:^|[,;]\s){_N}\s(?:is|ist|est|es)\b",
        r"\b(?:an?|eine?|une?|un|score of|grade|rating"
        rf" of|note|nota)\s{_N}\s(?:is|are|ist|est|es|counts? as"
        rf"|genügt|reicht|suffit"
        r"|basta)\b",
    ),
    "above": (rf"(?:\b(?:{pattern_of('above')})|>(?!=))\s?{_NOTE}{_N}{_THEN}",),
    "below": (rf"(?:\b(?:{pattern_of('below')})|<(?!=))\s?{_NOTE}{_N}{_THEN}",),
    "upto": (
        rf"(?:\b(?:{pattern_of('upto')})|≤|<=)\s?{_NOTE}{_N}{_THEN}",
        rf"{_N}(?:\s{_UNIT})?\s(?:or|and|oder|und|ou|o)\s(?:less|lower|below|fewer|weniger|niedriger|moins|menos)\b{_THEN}",
    ),
    "only": (rf"\b(?:only|nur|seule?|solo|sólo)\s(?:a|an|eine?|une?|un|una)?\s?{_N}{_THEN}",),
}
_NAMED = re.compile(
    rf"\b(?:{pattern_of('named_thresholds')})\b(?:[^.\n\d]{{0,30}}?\b(?:at|of|is|ist|bei|est|es|requires?|von|de|à|en)\b)?"
    rf"[^\w.\n]{{0,4}}(?:an? |eine |une? |una? )?{_N}{_THEN}",
    re.IGNORECASE,
)
_SET_ELSEWHERE = re.compile(
    r"\bcut-?offs?\b|\bpass(?:ing)?"
    r" (?:mark|score|grade)s?\b|\b(?:score|quality|acceptance|judge|release|pass"
    r"|passing) threshold"
    r"|\bthresholds? (?:is|are|comes?|lives?|set|per|for|depends?|in|wird|ist|steht)\b"
    r"|\bschwelle(?:nwert)? (?:wird|ist|steht|kommt)\b"
    r"|\bseuil (?:est|vient|dépend)\b|\bumbral (?:es|está|viene|depende)\b",
    re.IGNORECASE,
)
"""Words on a threshold whose number stands somewhere else."""
_ON_SCORES = re.compile(
    r"\b(?:anything|everything|scores?|grades?|ratings?|numbers?|values?|alles|noten?|punkte?|werte?|tout|notes?|todo)"
    r"\b",
    re.IGNORECASE,
)
_FIRST_PLACE = 0xE000
_PLACE = "[\ue000-\ue0ff]"
_ALL_BUT = (
    r"\b(?:anything|everything|all|alles|tout|todo) (?:but|except|außer|sauf|menos|salvo) (?:an?"
    r" |the )?$"
)
_LISTED = (
    r"(?P<only>\b(?:only|nur|seule?|solo)"
    rf" )?(?P<all>{_PLACE}(?:\s?(?:,|/|and|or|und|oder|et|ou|y|o|&)+\s?{_PLACE})*)"
    r"(?P<up> (?:or|and|oder|und) (?:better|above|higher|up|besser|höher))?"
    r"(?P<down> (?:or|and|oder|und) (?:worse|below|lower|schlechter))?"
)
_NO_ANSWER = (
    r"(?!(?:use|answer|give|choose|say|return|write|reply|output|respond|label|mark|call|assign|pick|select|with|one"
    r"|antworte|schreibe?|gib|wähle|vergib|réponde?[sz]?|écri\w+)\b)"
)
"""What follows "only" in words that ask for the answer, and that say nothing of what passes."""
_REST = (
    r"\b(?:everything|anything|all(?:es)?|tout|todo) "
    r"(?:else|(?:the )?others?|the rest|andere|übrige|le reste|lo demás)\b"
)
_ALL_BEYOND = re.compile(
    r",\s(?:(?:and|und|et|y)"
    r" )?(?:everything|anything|all|alles|tout|todo)\s(?:above|below|higher|lower|beyond|over"
    r"|under|worse|darüber|darunter|au-dessus|en dessous|por encima|por debajo)\b(?!\W*\d).*",
    re.IGNORECASE,
)
_SEVERAL = re.compile(
    rf"{_N.replace('(?![', '(?!(?:[.,][0-9])|[')}(?:\s?(?:,|and|or|und|oder|et|ou|y|o|-|–|to|bis"
    r"|/)+\s?(?:(?:and|or|und|oder|et|ou|y|o)\s)?(?:an? |eine |une? |una?"
    rf" )?(?P<last>[0-9]+))+{_THEN}",
    re.IGNORECASE,
)
_ALONE = re.compile(
    rf"(?<![\w.]){_N}\s?[=:→](?P<said>[^,;\n]*)[,;] ?(?:anything|everything|all|alles)"
    r" (?:else|andere)\b",
    re.IGNORECASE,
)
_NOT = r"\b(?:not|never|no|nicht|kein\w*|ne|pas)\s+(?:\w+\s+)?|n[o']t\s+(?:\w+\s+)?"


def stated_threshold(text: str, beside: FileFacts, scale: OutputScale) -> tuple[float | None, str]:
    """Return the grade from which a row passes, by prompt, comments and code, and the words that
    leave it open.
    """
    read = [
        read_threshold(text, scale),
        read_threshold(beside.comments, scale),
        threshold_in_code(beside, scale),
    ]
    found = {said for said, _ in read if said is not None}
    if len(found) > 1:
        return None, "several thresholds in the prompt and beside it"
    open_words = next((words for _, words in read if words), "")
    if found or open_words:
        return next(iter(found), None), "" if found else open_words
    return split_in_code(beside, scale)


def good_side(text: str, scale: OutputScale) -> int:
    """Return 1 where sentences on scores let high ones pass, -1 where low ones pass, 0 where none
    says so.

    Args:
        text: All of the prompt.
        scale: Numbers as they go up.
    """
    sides: set[int] = set()
    for sentence in _sentences(text):
        if not _ON_SCORES.search(sentence):
            continue
        said = _passing(sentence, _numbers(scale), scale)
        by_order = any(
            re.search(p, sentence, re.I)
            for form in ("worse", "better", "only", "enough")
            for p in _FORMS[form]
        )
        if said is not None and not by_order:
            sides.add(-1 if said == "open" else 1)
    return sides.pop() if len(sides) == 1 else 0


def read_threshold(text: str, scale: OutputScale) -> tuple[float | None, str]:
    """Return the grade from which a row passes, and the words that leave it open; neither where
    nothing is said.

    Words such as "anything above 3 is rejected" leave it open where more is better.

    Args:
        text: All of the prompt.
        scale: Numbers, or numbers as the names of its grades.
    """
    if scale.kind == "graded" and scale.labels and not _numbers(scale):
        return _read_on_labels(text, scale.labels)
    numbers = _numbers(scale)
    if not numbers:
        return None, ""
    if numbers[-1] == 100 or numbers[0] == 100:
        text = re.sub(r"(?<=\d)\s?%", "", text)
    found: dict[float, str] = {}
    for sentence in _sentences(text):
        said = _named(sentence, numbers, scale) or _passing(sentence, numbers, scale)
        if said is None:
            continue
        if said == "open":
            return None, sentence.strip()
        found[float(said)] = sentence.strip()
    if len(found) > 1:
        return None, next(reversed(found.values()))
    if not found and (match := _SET_ELSEWHERE.search(text)):
        return None, text[: match.end() + 40].rpartition("\n")[2].strip()
    return next(iter(found), None), ""


def _read_on_labels(text: str, labels: tuple[str, ...]) -> tuple[float | None, str]:
    """Return the place of the worst label that passes ("A and B are sent out", "only 'fully' is
    green").
    """
    found: dict[int, str] = {}
    for clause in (
        clause
        for sentence in _sentences(text)
        for clause in re.split(r";|, (?=(?:but|while|and|aber|und|the others?)\b)", sentence)
    ):
        said = _of_labels(clause, labels)
        if said == "open":
            return None, clause.strip()
        if said is not None:
            found[int(said)] = clause.strip()
    if len(found) > 1:
        return None, next(reversed(found.values()))
    return (float(next(iter(found))), "") if found else (None, "")


def _of_labels(clause: str, labels: tuple[str, ...]) -> int | str | None:
    """Return the threshold of one clause that lets labels pass or fail as its subject; "open" where
    they are no end.
    """
    clause = _with_places(clause, labels)
    if (
        match := re.search(
            rf"{_LISTED}[^;]*?[,;:]? (?:and |und |et )?{_REST}(?P<rest>.*)", clause, re.IGNORECASE
        )
    ) and sum(_says(match["rest"])) == 1:  # "X and Y go to print, everything else goes back"
        places = sorted({ord(place) - _FIRST_PLACE for place in re.findall(_PLACE, match["all"])})
        if _says(match["rest"])[1]:
            return places[0] if places == list(range(places[0], len(labels))) else "open"
        return (
            places[-1] + 1
            if places == list(range(places[-1] + 1)) and places[-1] + 1 < len(labels)
            else "open"
        )
    for good, kind in ((True, "passes"), (False, "fails")):
        words = rf"(?:{_words(kind)})"
        match = re.search(
            rf"{_LISTED}(?:\s?[=:→]\s?|\W+(?:\w+\W+){{0,3}}?){words}", clause, re.IGNORECASE
        ) or re.search(
            rf"\b{words}\w*\W+(?:(?:is|are|for|at|from|with|only|means|on|an?|the|ist|ab|if|grade|label|verdict|counts?"
            rf"|sind|zählt|zählen|gilt|gelten|compte|cuenta)\W+){{0,3}}{_LISTED}",
            clause,
            re.IGNORECASE,
        )
        if match is None or re.match(rf"\W*{_PLACE}\W*[:=–—-]\s*\S+ \S+ \S+", clause):
            continue
        good = good != bool(re.search(rf"(?:{_NOT})", match.group(), re.IGNORECASE))
        good = good != bool(re.search(_ALL_BUT, clause[: match.start("all")], re.IGNORECASE))
        places = sorted({ord(place) - _FIRST_PLACE for place in re.findall(_PLACE, match["all"])})
        top = len(labels) - 1
        if good:
            whole = (
                places == list(range(places[0], top + 1))
                or match["up"]
                or (len(places) == 1 and not match["only"])
            )
            return places[0] if whole and not match["down"] else "open"
        whole = places == list(range(places[-1] + 1)) or match["down"] or len(places) == 1
        return places[-1] + 1 if whole and not match["up"] and places[-1] < top else "open"
    return _only_these(clause, len(labels))


def _only_these(clause: str, many: int) -> int | str | None:
    """Return the threshold of "only A and B ...", whatever is done with them: they are the best, or
    the worst.
    """
    match = re.match(
        rf"\W*(?:only|nur|seule?s?|solo|sólo) (?:{_NO_ANSWER}[^\W\d_]+ ){{0,3}}?"
        rf"(?P<all>{_PLACE}(?:\W+(?:and|or|und|oder|et|ou|y)?\W*{_PLACE})*)(?!\W+(?:if|when|where|wenn|falls|si)\b)",
        clause,
        re.IGNORECASE,
    )
    if match is None:
        return None
    places = sorted({ord(place) - _FIRST_PLACE for place in re.findall(_PLACE, match["all"])})
    if places == list(range(places[0], many)):
        return places[0]
    return places[-1] + 1 if places == list(range(places[-1] + 1)) else "open"


def _with_places(text: str, labels: tuple[str, ...]) -> str:
    """Return a text in which each label is one letter that stands for its place on the scale."""
    places = {
        label.casefold().replace("_", " "): chr(_FIRST_PLACE + place)
        for place, label in enumerate(labels)
    }
    names = "|".join(
        re.escape(label).replace("_", "[_ ]") for label in sorted(labels, key=len, reverse=True)
    )
    flags = 0 if any(len(label) == 1 for label in labels) else re.IGNORECASE
    quote = r"[\"'`*“”„‘’(]{0,3}"
    return re.sub(
        rf"(?<![\w-]){quote}({names})(?:(?<=\w{{5}})e?[sn])?[\"'`*“”‘’)]{{0,3}}(?![\w-])",
        lambda match: places[match[1].casefold().replace("_", " ")],
        text,
        flags=flags,
    )


def _sentences(text: str) -> list[str]:
    """Return the sentences and lines of a text but for those that show or name the JSON of an
    answer.
    """
    return [
        words
        for words in re.split(r"\n|(?<=[.!?;])\s", text)
        if not re.search(r"(?i)\bjson\b|[{}]", words)
    ]


def _numbers(scale: OutputScale) -> list[float]:
    """Return the grades as a prompt writes them, the worst first."""
    if scale.kind == "probability":
        return [1.0, 0.0] if scale.low_is_good else [0.0, 1.0]
    if scale.kind != "graded":
        return []
    if scale.labels:
        plain = all(re.fullmatch(r"[0-9]+(?:\.5)?", label) for label in scale.labels)
        return [float(label) for label in scale.labels] if plain else []
    return list(scale.levels)


def _named(sentence: str, numbers: list[float], scale: OutputScale) -> str | float | None:
    match = _NAMED.search(sentence)
    return _place(_number(match), numbers, scale) if match else None


def _passing(sentence: str, numbers: list[float], scale: OutputScale) -> str | float | None:
    """Return the threshold of one sentence; "open" where it turns the scale round."""
    if (alone := _ALONE.search(sentence)) and _says(alone["said"]) == (True, False):
        return "open" if _number(alone) == numbers[0] else _place(_number(alone), numbers, scale)
    wanted = re.search(
        rf"\b(?:{pattern_of('wants')})\s{_NOTE}(?:at least )?{_N}(?=\s*(?:[.!,;]|$|points?|or\b))",
        sentence,
        re.IGNORECASE,
    )
    if wanted and numbers[0] < numbers[-1]:
        return _place(_number(wanted), numbers, scale)
    passes, fails = _says(sentence)
    if rest := _ALL_BEYOND.search(sentence):
        others, sentence = _says(rest.group()), sentence[: rest.start()]
        passes, fails = _says(sentence)
        if passes == fails:  # what is done with the others says what is done with these
            fails, passes = others
    if passes and fails and (clauses := re.split(r"[,;]\s", sentence))[1:]:
        said = {
            found for clause in clauses if (found := _passing(clause, numbers, scale)) is not None
        }
        return said.pop() if len(said) == 1 else None
    for form, step in (("better", 0), ("worse", 1)) if passes == fails else ():
        if match := re.search(
            _FORMS[form][0], sentence, re.IGNORECASE
        ):  # whatever is done with them
            return _place(_number(match), numbers, scale, step=step)
    if passes == fails:
        return _boundary(sentence, numbers, scale) if not passes else None
    if several := _SEVERAL.search(sentence):
        places = [
            numbers.index(n) for n in (_number(several), float(several["last"])) if n in numbers
        ]
        if sorted(places) == [0, len(numbers) - 1]:
            return None  # all of the scale
        if len(places) == 2 and max(places) == len(numbers) - 1 and passes:
            return _place(numbers[min(places)], numbers, scale)
        if len(places) == 2 and min(places) == 0 and fails:
            return _place(numbers[max(places)], numbers, scale, step=1)
        if len(places) == 2:
            return "open"
    up = numbers[0] < numbers[-1]
    for form, patterns in _FORMS.items():
        match = next(
            (m for pattern in patterns if (m := re.search(pattern, sentence, re.IGNORECASE))), None
        )
        if match is None:
            continue
        number = _number(match)
        if _place(number, numbers, scale) is None:
            return None
        if form in ("better", "only"):
            return _place(number, numbers, scale) if passes else None
        if form == "enough":
            return _place(number, numbers, scale, step=0 if passes else 1)
        if form == "worse":
            return _place(number, numbers, scale, step=1) if fails else None
        high = form in ("from", "above")
        if (high == passes) != up:
            return "open"
        # the number itself passes in "from 4 passes", "below 4 fails", and their opposites where
        # low is good
        itself = (form in ("from", "upto")) == passes
        return _place(number, numbers, scale, step=0 if itself else 1)
    needed = re.findall(
        rf"(?<![\w.])(\d+)\s(?:\w+\s)?(?:{pattern_of('needed')})\b", sentence, re.IGNORECASE
    )
    inside = [number for number in map(float, needed) if number in numbers[1:]]
    return _place(inside[0], numbers, scale) if passes and up and len(inside) == 1 else None


def _boundary(sentence: str, numbers: list[float], scale: OutputScale) -> str | float | None:
    """Return the threshold of a sentence that begins with some grades and says of them what we do
    not know.

    What is below a grade, or from it on, is parted from the others there, whatever is done with it;
    on a scale whose numbers fall, what is above it or up to it. The other two could turn the scale
    round.
    """
    up = numbers[0] < numbers[-1]
    for form in ("from", "above", "below", "upto"):
        for pattern in _FORMS[form]:
            match = re.search(pattern, sentence, re.IGNORECASE)
            before = re.findall(r"\w+", sentence[: match.start()].casefold()) if match else []
            before = [word for word in before if word not in words_of("light")]
            after = re.findall(r"\w+", sentence[match.end() :]) if match else []
            if match is None or len(before) > 2 or len(after) < 2:
                continue
            number = _number(match)
            if number in numbers[1:-1] or (scale.kind == "probability" and 0.0 < number < 1.0):
                parts = ("from", "below") if up else ("above", "upto")
                return _place(number, numbers, scale) if form in parts else "open"
    return None


def _says(sentence: str) -> tuple[bool, bool]:
    """Return whether a sentence says that something passes, and that something fails; "not
    accepted" fails.
    """
    good, bad = _words("passes"), _words("fails")
    denied = re.search(rf"(?:{_NOT})(?:{good})", sentence, re.IGNORECASE) is not None
    left = re.sub(rf"(?:{_NOT})(?:{good})", " ", sentence, flags=re.IGNORECASE)
    return bool(re.search(rf"\b(?:{good})", left, re.I)), denied or bool(
        re.search(rf"\b(?:{bad})", left, re.I)
    )


@cache
def _words(kind: str) -> str:
    return "|".join(
        re.escape(word.replace("_", " ")) + (r"s?\b" if len(word) < 5 else "")
        for word in words_of(kind)
    )


def _number(match: re.Match[str]) -> float:
    return float(match["n"].replace(",", "."))


def _place(number: float, numbers: list[float], scale: OutputScale, step: int = 0) -> float | None:
    """Return a grade of the scale, so many steps better; None where there is none."""
    if scale.kind == "probability":
        return probability_from(number, scale)
    at = numbers.index(number) + step if number in numbers else len(numbers)
    if at >= len(numbers):
        return None
    return float(at) if scale.labels else numbers[at]
