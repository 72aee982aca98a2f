"""Which language a text is in: a cheap guess from its letters and its commonest words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set

LETTERS_READ = 2000
"""Characters of a text that are looked at for its script."""

_SCRIPTS: Mapping[str, re.Pattern[str]] = {
    "ja": re.compile("[\u3040-\u30ff]"),
    "zh": re.compile("[\u3400-\u9fff]"),
    "ko": re.compile("[\u1100-\u11ff\uac00-\ud7af]"),
    "cyrillic": re.compile("[\u0400-\u052f]"),
    "arabic": re.compile("[\u0600-\u06ff\u0750-\u077f]"),
    "el": re.compile("[\u0370-\u03ff\u1f00-\u1fff]"),
    "he": re.compile("[\u0590-\u05ff]"),
    "devanagari": re.compile("[\u0900-\u097f]"),
    "th": re.compile("[\u0e00-\u0e7f]"),
}
_LETTER = re.compile(r"[^\W\d_]")

_FUNCTION_WORDS = {
    "en": (
        "the a an and or of to in on at by for from with as is are was were be been being has have"
        " had do does did it its this that these those he she they we you i his her their our your"
        " my who whom whose what which when where why how not no if then than so but can could will"
        " would may should about into over after before between also"
    ),
    "de": (
        "der die das den dem des ein eine einen einem einer und oder von zu im in am auf mit für"
        " als ist sind war waren wird werden hat haben es sie er wir ihr nicht kein keine aber auch"
        " bei nach aus um dass wie was wer sich"
    ),
    "fr": (
        "le la les un une des du de et ou à au aux en dans sur par pour avec est sont était ont il"
        " elle ils elles nous vous je ce cette ces qui que quoi dont ne pas plus mais comme son sa"
        " ses leur se été être"
    ),
    "es": (
        "el la los las un una unos unas y o de del al en con por para como es son era fue han hay"
        " lo se su sus que qué quien no más pero este esta estos ese esa entre sobre también ha ser"
    ),
    "it": (
        "il lo la i gli le un uno una e o di del della dei delle da dal in nel nella con su per tra"
        " come è sono era ha hanno che chi non più ma questo questa anche si suo sua essere al alla"
    ),
    "pt": (
        "o a os as um uma uns umas e ou de do da dos das em no na nos nas com por para como é são"
        " era foi que quem não mais mas este esta isso se seu sua também ao à pelo pela ser"
    ),
    "nl": (
        "de het een en of van in op te met voor als is zijn was waren wordt worden heeft hebben er"
        " ze hij wij niet geen maar ook bij naar uit om dat die deze dit wie wat aan door nog"
    ),
}
FUNCTION_WORDS: Mapping[str, frozenset[str]] = {
    language: frozenset(words.split()) for language, words in _FUNCTION_WORDS.items()
}
"""By language, the words that carry grammar rather than meaning."""
_ANY_FUNCTION_WORD = frozenset().union(*FUNCTION_WORDS.values())
_NEGATIONS = {
    "en": (
        "no not never none nobody nothing nowhere neither nor without cannot cant dont doesnt didnt"
        " isnt"
    ),
    "de": "nicht nichts nie niemals niemand kein keine keinen keinem keiner keines ohne weder noch",
    "fr": "ne n pas non jamais rien personne aucun aucune sans ni",
    "es": "no nunca jamás nada nadie ningún ninguna ninguno sin ni tampoco",
    "it": "non no mai niente nulla nessun nessuno nessuna senza né",
    "pt": "não nunca jamais nada ninguém nenhum nenhuma sem nem",
    "nl": "niet niets nooit niemand geen zonder noch",
}
NEGATIONS: Mapping[str, frozenset[str]] = {
    language: frozenset(words.split()) for language, words in _NEGATIONS.items()
}
"""By language, the words that deny."""


def guess_language(text: str, distinct: Set[str]) -> str:
    """Return a language's code, the name of its script where that is all that shows, or `unknown`.

    Latin letters are told apart by the function words among the text's different words. Another
    language than English needs two of them, and more than English has: `in` is at home in several.

    Args:
        text: The text.
        distinct: Its different words.
    """
    if not text.isascii():
        script = _script(text[:LETTERS_READ])
        if script is not None:
            return script
    carrying = distinct & _ANY_FUNCTION_WORD
    hits = {language: len(words & carrying) for language, words in FUNCTION_WORDS.items()}
    best = max(hits, key=lambda language: hits[language])  # the first of equals, which is English
    fewest = 1 if best == "en" else 2
    return best if hits[best] >= fewest else "unknown"


def _script(text: str) -> str | None:
    """The script, other than Latin, in which most of a text's letters stand; None where there is no
    such script.
    """
    letters = len(_LETTER.findall(text))
    counts = {name: len(pattern.findall(text)) for name, pattern in _SCRIPTS.items()}
    if not letters or 2 * sum(counts.values()) <= letters:
        return None
    # Japanese writes Chinese characters among its own.
    if 10 * counts["ja"] > counts["zh"]:
        counts["ja"] += counts.pop("zh")
    return max(counts, key=lambda name: counts[name])
