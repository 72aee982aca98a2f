"""The labels that a prompt offers for the answer: which of the lists in its words is the scale."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from .enumerations import Enumeration, distinct, enumerations, fold
from .label_order import LETTER_RANGE, ends_differ, in_order
from .prompt_words import pattern_of, words_of

TEXTS = re.compile(pattern_of("text_fields"), re.IGNORECASE)
"""What a field of words is called."""
_WEIGHTS = {
    "framed": 4,
    "marked": 3,
    "capitals": 3,
    "enclosed": 3,
    "conditions": 3,
    "listed": 3,
    "lines": 2,
    "headed": 2,
    "slashed": 2,
    "bare": 2,
}
"""How surely a list of each form is one of labels."""
_WEAK = ("bare", "enclosed", "slashed", "headed")
"""Forms that many a list has which is no scale."""
_EXPLAINED = ("lines", "framed", "conditions", "capitals")
"""Forms in which each word has its meaning or its place beside it, as no other list has."""
SURE = 5
"""From this weight on a list is a scale without being asked for in words that we know."""
_LETTERED = re.compile(
    r"(?m)^[ \t]*(?:[-*•|][ \t]*)?[*_\"'`]*\(?([A-F])(?:[.):][*_)]*|[*_\"'`)]*(?: ?[-–—=|→]|["
    r" \t]))[ \t]+\S"
)
_SHOWN = re.compile(r"(?:^|\n)[ \t]*([^\W\d_][\w ]{0,30}):\s*$")
_KEY_IS_NO_MARK = re.compile(pattern_of("no_keys"), re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedLabels:
    """Labels in the order of the text, and what stands round them in the reply."""

    labels: tuple[str, ...]
    mark: str = ""
    weight: int = 0
    """How surely they are the scale."""


def read_labels(text: str, names: Collection[str] = ()) -> StatedLabels | None:
    """Read the labels that words on the answer offer; None where they offer none.

    Args:
        text: The words.
        names: The fields of the answer, which are no labels.
    """
    return find_labels(text, "", names)


def find_labels(answer: str, whole: str, names: Collection[str] = ()) -> StatedLabels | None:
    """Return the list that most surely is the scale; None where there is none.

    Args:
        answer: What asks for the answer.
        whole: All of the prompt, in which labels may be explained.
        names: The fields of the answer, which are no labels.
    """
    asked = [one for one in (_without(e, names) for e in enumerations(answer, asked=True)) if one]
    others = [one for one in (_without(e, names) for e in enumerations(whole)) if one]
    weighed: list[tuple[int, int, Enumeration]] = []
    for at, one in enumerate([*asked, *others]):
        ordered = in_order(one.items, whole or answer) is not None
        if (
            one.form in _WEAK
            and not one.marked
            and not (ends_differ(one.items) or len(one.items) > 2)
        ):
            ordered = ordered and at < len(asked) and one.form != "slashed"
        told = [
            re.search(rf"(?<!\w){re.escape(item)}(?!\w)", answer, re.IGNORECASE)
            for item in one.items
        ]
        explained = one.form in _EXPLAINED and _are_short(one.items)
        offered = ordered and _are_short(one.items)
        if at >= len(asked) and not (
            offered or (one.form not in _WEAK and (all(told) or explained))
        ):
            continue
        alike = [
            other
            for other in (*asked, *others)
            if other.folded == one.folded and other.form != one.form
        ]
        weight = _WEIGHTS[one.form] + one.marked + 3 * (at < len(asked)) + 3 * ordered
        weight += 2 * any((other.form == "lines") != (one.form == "lines") for other in alike)
        if at >= len(asked):
            weight += 3 * all(told)
        weight -= (
            3
            * sum(len(item.split()) > 3 for item in one.items)
            * (one.form not in ("lines", "listed"))
        )
        weighed.append((weight, -at, one))
    if not weighed:
        return None
    weight, _, best = max(weighed, key=lambda found: found[:2])
    if best not in asked:  # as it is spelled where it is explained
        best = next(
            (one for one in others if one.form == "lines" and one.folded == best.folded), best
        )
    return StatedLabels(labels=best.items, mark=_mark(best, asked), weight=weight)


def _are_short(items: Sequence[str]) -> bool:
    """Whether items are as short as labels are."""
    return all(len(item.split()) <= 2 or item.isupper() for item in items)


def _without(one: Enumeration, names: Collection[str]) -> Enumeration | None:
    """Return a list without names of fields in it; None where no labels are left."""
    known = {fold(name.rpartition(".")[2]) for name in names}
    of_yes = {"n"} if one.folded in (frozenset("yn"), frozenset("jn")) else set[str]()
    items = tuple(
        i for i in one.items if fold(i) not in known and (fold(i) in of_yes or not _is_no_label(i))
    )
    if len(items) < 2:
        return None
    if one.form == "framed" and one.key and TEXTS.search(one.key):
        return None
    return Enumeration(items=items, form=one.form, start=one.start, key=one.key, marked=one.marked)


def _is_no_label(item: str) -> bool:
    """Whether an item says what is to be written in general, such as "one word" or "a number"."""
    words = item.lower().split()
    letter = len(item) == 1 and item.isupper() and item not in "XN"
    return not letter and (
        "_".join(words) in words_of("no_labels")
        or any(word in words_of("no_label_words") for word in words)
    )


def _mark(best: Enumeration, asked: Sequence[Enumeration]) -> str:
    """Return the key that stands before the labels wherever the answer's words write it."""
    keys = [one.key for one in (best, *asked) if one.key and one.folded == best.folded]
    return next((key for key in keys if not _KEY_IS_NO_MARK.search(key)), "")


def read_lettered(text: str) -> tuple[str, ...]:
    """Return the letters of a list whose lines open with A, B, C and so on; empty where there is
    none.
    """
    letters = tuple(dict.fromkeys(_LETTERED.findall(text)))
    return (
        letters
        if len(letters) > 2 and "".join(letters) in ("ABC", "ABCD", "ABCDE", "ABCDEF", "ABCDF")
        else ()
    )


def letter_range(text: str) -> tuple[str, ...]:
    """Return the letters of "grades from A to F"; empty where there is no such range."""
    match = LETTER_RANGE.search(text)
    return tuple("ABCDEF"[: "ABCDEF".index(match[2].upper()) + 1]) if match else ()


def read_shown(text: str) -> StatedLabels | None:
    """Read the labels of examples in a text that ends with their key: `Relevant: Yes`, ...,
    `Relevant:`.
    """
    match = _SHOWN.search(text)
    if match is None:
        return None
    shown = re.findall(
        rf"(?m)^[ \t]*{re.escape(match[1])}:[ \t]+([^\W\d][\w -]{{0,24}})[ \t]*$", text
    )
    labels = distinct(shown)
    return StatedLabels(labels=labels, mark=f"{match[1]}: ...") if len(labels) > 1 else None
