"""Which of a scale's labels is the worse: by what their words mean, or by a row of words that
people rank.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .prompt_words import means, pattern_of, rows_of, words_of

LETTER_RANGE = re.compile(
    r"\b(?:letters?|grades?|noten?|buchstaben?)\b[^.\n]{0,30}?\b(A)\b[^.\n\w]{0,3}(?:\([^()]*\) ?)?"
    r"(?:to|bis|-|–)\s?([D-F])\b",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"(?:not|nicht|non|no|pas|kein|keine|never|niet)["
    r" _-]+|(?:un|in|im|ir|il|dis|mis|on|non|nicht)(?=\w{3})",
    re.IGNORECASE,
)
_OF_FEELING = {"none", "low", "medium", "high", "small", "mittel"}


def in_order(labels: Sequence[str], text: str = "") -> tuple[str, ...] | None:
    """Return labels with the worst first; None where their words do not tell.

    Args:
        labels: As they are offered.
        text: All of the prompt, which says whether letters are grades or the letters of options.
    """
    if all(re.fullmatch(r"[A-F][+-]?", label) for label in labels) and len(labels) > 3:
        if "F" not in labels and not LETTER_RANGE.search(text) and not _are_grades(text):
            return None
        return tuple(
            sorted(
                labels,
                key=lambda grade: (-ord(grade[0]), "-+".find(grade[1:]) if grade[1:] else 0.5),
            )
        )
    words = {re.sub(r"[ -]", "_", label.casefold()): label for label in labels}
    for row in rows_of("ranked"):
        if len(labels) > 2 and words.keys() <= set(row):
            return tuple(words[word] for word in row if word in words)
    severities = list(words_of("severities"))
    folded = [label.casefold() for label in labels]
    if set(folded) <= set(severities) and not set(folded) <= _OF_FEELING:
        return tuple(sorted(labels, key=lambda label: -severities.index(label.casefold())))
    if any(words.keys() <= set(row) for row in rows_of("ladders")):
        return None  # how much of it is good depends on what it is
    first, last = _side(labels[0], labels[-1]), _side(labels[-1], labels[0])
    if first == last or (len(labels) > 2 and 0 in (first, last)):
        # of more than two labels one end alone may be misread, such as "none", which may be good
        return None
    if len(labels) > 2:
        middle = [_side(label, labels[0]) for label in labels]
        alike = any(
            one == other and not _is_degree(f"{label} {following}")
            for one, other, label, following in zip(
                middle, middle[1:], labels, labels[1:], strict=False
            )
        )
        ends = f"{labels[0]} {labels[-1]}".casefold().replace("_", " ")
        others = middle[:-1] if first < last else middle[1:]
        if len(labels) > 3 and others.count(-1) > 1 and 0 in others and 1 not in others:
            return None  # kinds of faults, beside the label for none
        if re.search(pattern_of("abstains"), ends) or (
            alike and len(labels) == 3 and _negates(labels[1], labels[0 if first > last else 2])
        ):
            return None
    return tuple(labels) if first < last else tuple(reversed(labels))


def _are_grades(text: str) -> bool:
    """Whether letters are called grades and not options; of grades A is the best."""
    return re.search(
        rf"\b(?:{pattern_of('grades')})\b", text, re.IGNORECASE
    ) is not None and not re.search(rf"\b(?:{pattern_of('options')})\b", text, re.IGNORECASE)


def stated_order(labels: Sequence[str], text: str) -> tuple[str, ...] | None:
    """Return labels in the order that a text gives in words: "from worst to best: ...", "(best
    first)"; else None.
    """
    orders: set[tuple[str, ...]] = set()
    for kind, step in (("rising", 1), ("falling", -1)):
        for match in re.finditer(rf"\b(?:{pattern_of(kind)})\b", text, re.IGNORECASE):
            for start in (match.end(), max(0, match.start() - 160)):
                near = text[start : match.end() + 400].casefold()
                places = {
                    label: found.start()
                    for label in labels
                    if (found := re.search(rf"(?<!\w){re.escape(label.casefold())}(?!\w)", near))
                }
                if len(places) == len(labels):
                    orders.add(tuple(sorted(labels, key=lambda label: places[label]))[::step])
                    break
    return orders.pop() if len(orders) == 1 else None


def ends_differ(labels: Sequence[str]) -> bool:
    """Whether the first and last label mean opposite ends of a scale."""
    return _side(labels[0], labels[-1]) * _side(labels[-1], labels[0]) < 0


def _negates(label: str, other: str) -> bool:
    """Whether a label says that the other is not so: then a third one, such as "not answered", may
    be the better.
    """
    negated = _NEGATION.match(label)
    return negated is not None and label[negated.end() :].casefold() == other.casefold()


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
    return (
        -1
        if folded in ("n",) and opposite in ("y", "j")
        else 1
        if folded in ("y", "j") and opposite == "n"
        else 0
    )


def _meant(label: str) -> int:
    """Return -1 for bad words, 1 for good ones, 0 where they do not tell; "not" turns it round."""
    if negated := _NEGATION.match(label):
        rest = _meant(label[negated.end() :])
        if rest or negated.group().endswith((" ", "-")):
            return -rest
    words = set(re.findall(r"[^\W_]+|[\u2190-\u2bff\U0001f000-\U0001faff]", label))
    if any(means("worse", word) for word in words):
        return -1
    return 1 if any(means("better", word) for word in words) else 0
