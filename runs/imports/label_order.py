"""Which of a scale's labels is the worse: by what their words mean, or by a row of words that people rank."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .prompt_words import pattern_of, rows_of, words_of

LETTER_RANGE = re.compile(
    r"\b(?:letters?|grades?|noten?|buchstaben?)\b[^.\n]{0,30}?\b(A)\b[^.\n\w]{0,3}(?:\([^()]*\) ?)?(?:to|bis|-|–)\s?([D-F])\b",
    re.IGNORECASE,
)
_LETTER_GRADES = re.compile(
    r"\bletter grades?\b|\b[Gg](?:rade|RADE)s?\b[^.\n\w]{0,3}(?:\w+[^.\n\w]{1,2}){0,4}\b[A-E]\b|\bnoten?\b[^.\n]{0,20}\bA\b"
)
_NEGATION = re.compile(
    r"(?:not|nicht|non|no|pas|kein|keine|never|niet)[ _-]+|(?:un|in|im|ir|il|dis|on|non|nicht)(?=\w{3})", re.IGNORECASE
)
_OF_FEELING = {"none", "low", "medium", "high", "small", "mittel"}


def in_order(labels: Sequence[str], text: str = "") -> tuple[str, ...] | None:
    """Return labels with the worst first; None where their words do not tell.

    Args:
        labels: As they are offered.
        text: All of the prompt, which says whether letters are grades or the letters of options.
    """
    if all(re.fullmatch(r"[A-F][+-]?", label) for label in labels) and len(labels) > 3:
        if "F" not in labels and not LETTER_RANGE.search(text) and not _LETTER_GRADES.search(text):
            return None
        return tuple(sorted(labels, key=lambda grade: (-ord(grade[0]), "-+".find(grade[1:]) if grade[1:] else 0.5)))
    words = {re.sub(r"[ -]", "_", label.casefold()): label for label in labels}
    for row in rows_of("ranked"):
        if len(labels) > 2 and words.keys() <= set(row):
            return tuple(words[word] for word in row if word in words)
    severities = list(words_of("severities"))
    folded = [label.casefold() for label in labels]
    if set(folded) <= set(severities) and not set(folded) <= _OF_FEELING:
        return tuple(sorted(labels, key=lambda label: -severities.index(label.casefold())))
    first, last = _side(labels[0], labels[-1]), _side(labels[-1], labels[0])
    if first == last or (len(labels) > 2 and 0 in (first, last)):
        return None  # of more than two labels one end alone may be misread, such as "none", which may be good
    if len(labels) > 2:
        middle = [_side(label, labels[0]) for label in labels]
        alike = any(
            one == other and not _is_degree(f"{label} {following}")
            for one, other, label, following in zip(middle, middle[1:], labels, labels[1:], strict=False)
        )
        ends = f"{labels[0]} {labels[-1]}".casefold().replace("_", " ")
        if re.search(pattern_of("abstains"), ends) or (alike and len(labels) == 3):
            return None
    return tuple(labels) if first < last else tuple(reversed(labels))


def ends_differ(labels: Sequence[str]) -> bool:
    """Whether the first and last label mean opposite ends of a scale."""
    return _side(labels[0], labels[-1]) * _side(labels[-1], labels[0]) < 0


def _is_degree(words: str) -> bool:
    return re.search(pattern_of("degrees"), words.casefold()) is not None


def _side(label: str, other: str) -> int:
    """Return -1 for the worse of two labels, 1 for the better, 0 where its words do not tell."""
    folded, opposite = (re.sub(r"[_-]", " ", word.casefold()) for word in (label, other))
    if meant := _meant(folded):
        return meant
    for mine, theirs, side in ((folded, opposite, -1), (opposite, folded, 1)):
        negated = _NEGATION.match(mine)
        if negated and theirs.startswith(mine[negated.end() :][:5]):
            return side
    return -1 if folded in ("n",) and opposite in ("y", "j") else 1 if folded in ("y", "j") and opposite == "n" else 0


def _meant(label: str) -> int:
    """Return -1 for bad words, 1 for good ones, 0 where they do not tell; "not" turns it round."""
    if negated := _NEGATION.match(label):
        rest = _meant(label[negated.end() :])
        if rest or negated.group().endswith((" ", "-")):
            return -rest
    words = set(re.findall(r"[^\W_]+|[\u2190-\u2bff\U0001f000-\U0001faff]", label))
    if words.intersection(words_of("worse")):
        return -1
    return 1 if words.intersection(words_of("better")) else 0
