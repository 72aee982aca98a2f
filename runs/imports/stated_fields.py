"""The fields of a JSON answer that a prompt's words ask for, and which of them is the verdict."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .prompt_words import words_of
from .stated_labels import TEXTS, read_labels
from .stated_scale import read_numbers

BOOLEAN = re.compile(r"\btrue\b|\bfalse\b|\bbool(?:ean)?\b", re.IGNORECASE)
_NAME = r"[^\W\d][\w -]{0,40}"
_KEY = re.compile(
    rf"(?P<mark>[\"'`])(?P<key>{_NAME})(?P=mark)|(?P<bare>[A-Za-z_]\w{{0,40}})(?=\s*:)"
)
_TOKEN = re.compile(rf"[{{}}\[\]]|(?:{_KEY.pattern})\s*:")
_PROPERTIES = re.compile(r"[\"']properties[\"']\s*:\s*(?=\{)")
_AFTER_CUE = re.compile(
    r"\b(?:fields?|keys?|properties|attributes|felder[n]?|feld|schlüsseln?|champs?|clés?)\b[^\n\"'`{:]{0,30}?:?\s*"
    r"(?P<names>[\"'`]\w[\w ]*[\"'`](?:\s*(?:,|;|and|und|et|,\s?and)\s*(?:an? )?[\"'`]\w[\w"
    r" ]*[\"'`])*"
    r"|[a-z]\w*(?:(?:, | and | und | et |, and )[a-z]\w*)+)",
    re.IGNORECASE,
)
_BULLET = re.compile(
    r"(?m)^[ \t]*(?:[-*•]"
    r"|\d{1,2}[.)])[ \t]*[*_\"'`]{0,3}(?P<key>[A-Za-z_]\w{0,40})[*_\"'`]{0,3}[ \t]*(?:\([^()\n]*\)"
    r"|<[^<>\n]*>)?[*_]*[ \t]*[:=–—-]"
)
_MENTIONED = re.compile(
    rf"[\"'`](?P<key>{_NAME})[\"'`][ \t]*(?=\(|:|,? (?:field|key|should|must|is an?\b|as"
    r" an?\b|contains"
    rf"|with an?\b)|feld|[–—-] "
    r"|, (?:an?|one|two|the|your|which|eine?|ein|un|une)\b)"
)


_OVERALL = re.compile(r"(?:overall|final|total|gesamt)_?")
_ALSO_TEXT = ("note", "result", "answer", "relevance", "comment")
"""Names of a verdict that also are those of a text."""


def json_fields(answer: str) -> dict[str, str]:
    """Return the fields that the answer's words name, with what they say of each; `a.b` for one
    inside another.
    """
    if not re.search(r"\bjson\b|[{]", answer, re.IGNORECASE):
        return {}
    if schema := _PROPERTIES.search(answer):
        return dict(_members(answer[schema.end() :]))
    at = answer.find("{")
    while at >= 0:
        if fields := _flat(answer[at:]):
            for name in fields:
                fields[name] += _said_of(name.rpartition(".")[2], answer[:at])
            return fields
        at = answer.find("{", at + 1)
    names = [
        match["key"] for pattern in (_BULLET, _MENTIONED) for match in pattern.finditer(answer)
    ]
    for match in _AFTER_CUE.finditer(answer):
        names += re.findall(r"[\"'`]([^\"'`]+)[\"'`]", match["names"]) or re.split(
            r",?\s+(?:and|und|et)\s+|,\s*", match["names"]
        )
    if not names:  # whatever is in quotes and could be a key, in a sentence on JSON
        sentences = re.split(r"\n|(?<=[.!?;])\s", answer)
        names = [
            n
            for s in sentences
            if re.search(r"(?i)\bjson\b", s)
            for n in re.findall(r"[\"'`]([a-z]\w{1,40})[\"'`]", s)
        ]
    order = sorted(
        dict.fromkeys(name.strip() for name in names if name.strip()),
        key=lambda name: answer.find(name),
    )
    return {name: _said_of(name, answer, others=order) for name in order}


def _said_of(name: str, text: str, others: list[str] | None = None) -> str:
    """Return what a text says after each mention of a field, up to the next field or the end of the
    line.
    """
    kind = re.search(
        rf"\b(boolean|bool|integer|number|float|string|list)\W+(?:\w+\W+)?[\"'`]{re.escape(name)}[\"'`]",
        text,
    )
    said = kind[1] if kind else ""
    stop = "|".join(re.escape(other) for other in others or () if other != name)
    for match in re.finditer(rf"(?<![\w]){re.escape(name)}(?![\w])[\"'`]?", text):
        rest = text[match.end() :].partition("\n")[0]
        if stop and (end := re.search(rf"[\"'`](?:{stop})[\"'`]", rest)):
            rest = rest[: end.start()]
        said += " " + rest
    return said


def _members(text: str) -> list[tuple[str, str]]:
    """Return the fields of the object that a text begins with, each with the text of its value."""
    members: list[tuple[str, str]] = []
    depth, start, name = 0, 0, ""
    for token in _TOKEN.finditer(text):
        piece = token.group()
        if depth == 1 and (piece == "}" or piece[-1] == ":"):
            if name:
                members.append((name, text[start : token.start()]))
            name, start = token["key"] or token["bare"] or "", token.end()
        if piece in "{[":
            depth += 1
        elif piece in "}]":
            depth -= 1
            if depth == 0:
                break
    else:
        if name:
            members.append((name, text[start:]))
    return members


def _flat(text: str) -> dict[str, str]:
    """Return the fields of an object, those of an object inside it by their path."""
    fields: dict[str, str] = {}
    for name, value in _members(text):
        inner = _flat(value.lstrip()) if value.lstrip().startswith("{") else {}
        if inner:
            fields.update({f"{name}.{key}": said for key, said in inner.items()})
        else:
            fields[name] = value
    return fields


def verdict_field(fields: Mapping[str, str]) -> tuple[str | None, tuple[str, ...]]:
    """Return the field with the verdict; None where several could be it, and which."""
    leaves = {key: key.rpartition(".")[2].lower().replace(" ", "_") for key in fields}
    free = {
        key
        for key, said in fields.items()
        if re.fullmatch(r"\s*[\"'](?:\.\.\.|…|<[^<>]*>)[\"'],?\s*", said)
    }
    if any(leaf in ("pass", "passed") for leaf in leaves.values()) and "score" in leaves.values():
        return None, tuple(
            key for key, leaf in leaves.items() if leaf in ("pass", "passed", "score")
        )
    within = [
        key
        for key, leaf in leaves.items()
        if leaf == "score" and _OVERALL.match(key.rpartition(".")[0])
    ]
    if len(within) == 1 and list(leaves.values()).count("score") > 1:
        return within[0], ()
    for name in words_of("verdict_fields"):
        named = [
            key
            for key, leaf in leaves.items()
            if leaf == name and not (key in free and name in _ALSO_TEXT)
        ]
        if len(named) == 1:
            return named[0], ()
    overall = [key for key, leaf in leaves.items() if _OVERALL.match(leaf)]
    if len(overall) == 1:
        return overall[0], ()
    others = [
        key for key, leaf in leaves.items() if leaf not in ("confidence", "id", "name", "konfidenz")
    ]
    others = [
        key
        for key in others
        if not re.match(r"\s*\[|\s*<?(?:list|array|liste)\b", fields[key], re.IGNORECASE)
    ]
    told = [
        key
        for key in others
        if BOOLEAN.search(fields[key]) or read_numbers(fields[key]) or read_labels(fields[key])
    ]
    if len(told) != 1:
        others = [key for key in others if not TEXTS.search(leaves[key])]
        told = [key for key in told if key in others]
    told = told or [
        key
        for key in others
        if re.search(r"score|rating|grade|number|integer|float|0", fields[key], re.I)
    ]
    if len(told or others) == 1:
        return (told or others)[0], ()
    return None, tuple(told or others or fields)
