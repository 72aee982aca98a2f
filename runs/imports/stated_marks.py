"""Where in a reply of prose the verdict stands, as a prompt's words ask for it: a mark beside it,
or a place.
"""

from __future__ import annotations

import re

from .enumerations import BRACKETS, TAGGED
from .stated_labels import TEXTS

_WORD_FOR_VERDICT = (
    r"number|integer|digit|zahl|ziffer|score|rating|note|verdict|label|grade|letter|judge?ment|decision|urteil"
    r"|wert|value"
    r"|points|punkte|one of|either|entweder|nombre|chiffre"
)
_NO_VERDICT = re.compile(
    rf"{TEXTS.pattern}|think|evaluation$|example|note"
    r" that|format|question|context|input|overview|strength"
    rf"|weakness|^outputs?$|^ausgabe$|^response$|^reply$|^sortie$|^salida$|answer"
    rf" key|\blines?$|\bzeile$"
    rf"|\bligne$|\blínea$",
    re.IGNORECASE,
)
_KEYED = re.compile(
    r"(?:^|[\"'`:(«]\s?|\b(?:with|line|as|form|mit|zeile"
    r"|format)\s)[ \t]*[*_#>-]*[ \t]?[*_]*(?P<key>[A-ZÄÖÜ]\w*(?:[ -]\w+){0,2})[*_]*"
    r"(?: \([^()\n]*\))?(?P<gap> ?):[*_]*[ \t]*[\"'`]?"
    rf"(?:[<\[{{(](?:[^<>\[\]{{}}()\n]*)[>\]}})]|[NXn_#]+(?=[\s\"'`.,/)]|$)|[A-Z]{{1,6}}\?|\.\.\.|…|-?\d|(?:(?:the|your|an?"
    rf"|eine?|deine?) )?(?:\w+ )?(?:{_WORD_FOR_VERDICT})\b)",
    re.IGNORECASE | re.MULTILINE,
)
_EQUATED = re.compile(
    rf"(?m)(?:^|[\"'`“:(]|\b(?:as|line|with|mit|zeile"
    rf"|form) )[ \t]*(?P<key>[^\W\d_]\w*(?: \w+)?)(?P<gap> ?)="
    rf" ?(?:[<\[{{(][^<>\[\]{{}}()\n]*[>\]}})]|[NXn_#]+|\d"
    rf"|(?:{_WORD_FOR_VERDICT})\b)",
    re.IGNORECASE,
)
_PREFIXED = re.compile(
    r"\b(?:prefixed (?:with|by)|preceded by|introduced by|(?:starts?|starting|begins?|beginning)"
    r" with"
    r"|after the (?:marker|prefix|sign))"
    r" (?:the (?:word|words|marker|prefix|sign|characters?)"
    r" )?[\"'`“](?P<prefix>[^\"'`”\n]{1,20})[\"'`”]",
    re.IGNORECASE,
)
_QUOTED_KEY = re.compile(r"[\"'`]([A-ZÄÖÜ]\w*(?: \w+){0,2}):\s*[\"'`]")
_QUOTED_EQUALS = re.compile(r"[\"'`“]([^\W\d_]\w*(?: \w+)?) ?= ?[\"'`”]")
_BETWEEN_TAGS = re.compile(r"<([A-Za-z]\w*)>[\"'`”]?\s\w{1,5}\s[\"'`“]?</\1>")
"""Both ends of a tag with a word such as "and" between them."""
_GOES_ON = re.compile(
    r"(?:^|\n)[ \t]*[-*•#]*[ \t]*[*_]*(?P<key>[A-ZÄÖÜ]\w*(?: \w+){0,2})[*_]*(?:"
    r" \([^()\n]*\))?:[*_]*\s*$"
)


def read_mark(text: str) -> str:
    """Return the mark that a text asks for round the verdict; empty for none."""
    if headed := [
        key
        for key in re.findall(r"\[\[ ## (\w+) ## \]\]", text)
        if key not in ("reasoning", "completed")
    ]:
        return f"[[ ## {headed[-1]} ## ]] ..."  # as DSPy has its answers written
    if BRACKETS.search(text):
        return "[[...]]"
    if match := re.search(
        r"\[([A-Z]{3,20})\](?=\s*[<(\[]?[^\n]{0,30}?(?:number|integer|score|rating|\d))", text
    ):
        return f"{match.group()} ..."
    tags = [(tag, inner) for tag, inner in TAGGED.findall(text) if not _NO_VERDICT.search(tag)]
    said = [
        tag
        for tag, inner in tags
        if re.search(rf"\d|{_WORD_FOR_VERDICT}", f"{tag} {inner}", re.IGNORECASE)
    ]
    for tag, inner in reversed(tags):
        if (
            tag in said
            and not re.search(r"think|reason|expla|justif|analy", inner, re.IGNORECASE)
            and (len(said) == 1 or re.search(_WORD_FOR_VERDICT, f"{tag} {inner}", re.I))
        ):
            return f"<{tag}>...</{tag}>"
    if empty := [tag for tag, inner in tags if not inner.strip(". …")]:
        return f"<{empty[-1]}>...</{empty[-1]}>"
    opened = [
        tag
        for tag in re.findall(r"<([A-Za-z]\w*)>[^<>\n]{0,3} ?tags?\b", text)
        if not _NO_VERDICT.search(tag)
    ]
    if opened:
        return f"<{opened[-1]}>...</{opened[-1]}>"
    if (between := _BETWEEN_TAGS.findall(text)) and not _NO_VERDICT.search(between[-1]):
        return f"<{between[-1]}>...</{between[-1]}>"
    prefixes = [
        match["prefix"].strip()
        for match in _PREFIXED.finditer(text)
        if not _NO_VERDICT.search(match["prefix"])
    ]
    if prefixes:
        return f"{prefixes[-1]} ..."
    keyed = [
        match["key"] + match["gap"]
        for match in _KEYED.finditer(text)
        if not _NO_VERDICT.search(match["key"])
    ]
    keyed = keyed or [key for key in _QUOTED_KEY.findall(text) if not _NO_VERDICT.search(key)]
    if not keyed and (match := _QUOTED_EQUALS.search(text)) and not _NO_VERDICT.search(match[1]):
        return f"{match[1]}= ..."
    if not keyed and (match := _EQUATED.search(text)) and not _NO_VERDICT.search(match["key"]):
        return f"{match['key']}{match['gap']}= ..."
    if (
        not keyed
        and not place_of(text)
        and (match := _GOES_ON.search(text))
        and not _NO_VERDICT.search(match["key"])
    ):
        keyed = [match["key"]]  # a label that the answer goes on from
    return as_mark(keyed[-1]) if keyed else ""


def as_mark(label: str) -> str:
    """Return the mark of a label before a colon, without the "your" that replies leave out."""
    return re.sub(r"^(?:your|the|my|deine?|ihre?|votre) ", "", label, flags=re.IGNORECASE) + ": ..."


def names_verdict(text: str) -> bool:
    """Whether a text names what a verdict is: a number, a score, a label."""
    return re.search(rf"\b(?:{_WORD_FOR_VERDICT}|stars?|sterne)\b", text, re.IGNORECASE) is not None


def place_of(text: str) -> str:
    """Return the place that a text asks for the verdict: `last line`, `start`, or empty."""
    if re.search(
        r"\b(?:last|final|letzten?|own|separate|new|dernière)"
        r" (?:line|zeile|ligne)\b|\b(?:line|zeile) by itself"
        r"|on the last"
        r"|\bend with\b|\bam ende\b",
        text,
        re.IGNORECASE,
    ):
        return "last line"
    first = (
        r"\b(?:grade|score|label|verdict|rating|note|urteil|mark) ?[|;] ?"
        r"(?:reason|comment|why|expla\w+|grund|raison)\b|"
        r"(?:^|\n|[.;,]) ?(?:and )?(?:then|afterwards|dann|danach|puis|luego),?"
        r" (?:explain|justify|give (?:an?"
        r"|one|your|the) "
        r"(?:short |brief )?(?:reason|explanation|sentence)|begründe|ein"
        r" satz|explique|justifie|explica)|"
        r"\b(?:number|score|grade|rating|digit|zahl|note|label|verdict|emoji|sign|symbol|zeichen|signe|letter"
        r"|word|wort|mot), (?:then|dann|puis|an? (?:colon|comma"
        r"|dash|hyphen|space)\b) ?"
        r"|\b(?:rating|label|word|grade|verdict|letter|number) (?:and|followed by) (?:then )?(?:an?"
        r" |one |two "
        r"|the |your )?(?:comma|dash|colon|reason|sentence|why)"
        r"|\w+ first, then (?:an? |the"
        r" )?(?:dash|reason|expla|line|comma|justif|comment)|\b(?:first|ersten?"
        r"|première) (?:line|zeile|word|wort|ligne)\b|\b(?:start|begin) (?:your \w+ )?with\b"
    )
    return "start" if re.search(first, text, re.IGNORECASE) else ""
