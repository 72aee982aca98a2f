"""Which stretch of a prompt is its criteria: the longest run of rules, or what somebody named
without the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .prompt_words import pattern_of
from .text_units import (
    ABOUT_CRITERIA,
    ALWAYS_ANSWER,
    CONDITIONAL,
    FIELD,
    LINE_FORM,
    OF_FORM,
    SURELY_ASKS,
    Span,
    Unit,
)

_ONLY_GRADES = re.compile(
    r"[^\"'`“„«:{}<>\[\]\n]*\b-?\d+\b[^\d\"'`“„«:{}<>\[\]\n]{1,12}\d+[^\"'`“„«:{}<>\[\]\n]*"
)
"""A sentence that names a range of grades and no form of the answer: "Then give an overall score
from 1 to 5.".
"""
_MARK = re.compile(
    r"\s*(?P<mark>(?:[-*•>]\s*)?(?:\(?\w{1,3}[.):、]\s*)?[*_\"'“„]{0,3}(?:[^\W\d]\w*:\s)?)"
)
"""What stands before the first words of a rule on its line: a bullet, a number, or a word with a
colon.
"""


def find_criteria(text: str, units: Sequence[Unit]) -> Span | None:
    """Return the longest run of rules, one under a heading that says so before others; None where
    there is none.
    """
    best, best_weight = None, 0
    for run, after_heading in _runs(text, units):
        weight = sum(unit.end - unit.start for unit in run) * (3 if after_heading else 1)
        if weight > best_weight:
            best, best_weight = Span(start=run[0].start, end=run[-1].end), weight
    return best


def rules_within(text: str, units: Sequence[Unit], span: Span, forms: Sequence[int]) -> Span | None:
    """Return the longest stretch of a span without a field and without what only says in what form
    to answer.

    Args:
        text: The prompt.
        units: Its units.
        span: What somebody took for its criteria.
        forms: Where sentences on the form of the answer begin. Those that we know ourselves count
            at the span's ends only, since a rule may speak of JSON too.
    """
    inside = [
        unit
        for unit in units
        if unit.start < span.end and unit.end > span.start and unit.kind != "blank"
    ]
    while inside and (
        _only_form(text, inside[-1]) or (len(inside) > 1 and _maps_to_labels(text, inside[-1]))
    ):
        inside.pop()
    while inside and _only_form(text, inside[0]):
        inside.pop(0)
    stretches: list[list[Unit]] = [[]]
    for at, unit in enumerate(inside):
        of_form = any(unit.start <= form < unit.end for form in forms) and not _opens_list(
            text, inside[at : at + 2]
        )
        if FIELD in text[unit.start : unit.end] or of_form:
            stretches.append([])
        else:
            stretches[-1].append(unit)
    spans: list[Span] = []
    for stretch in stretches:
        while stretch and stretch[-1].end < span.end and _leads_on(text, stretch[-1]):
            stretch.pop()
        if stretch:
            start, end = max(stretch[0].start, span.start), min(stretch[-1].end, span.end)
            begun = _MARK.fullmatch(text, stretch[0].start, start)
            spans.append(Span(start=begun.start("mark") if begun else start, end=end))
    return max(spans, key=lambda one: one.end - one.start, default=None)


def _opens_list(text: str, units: Sequence[Unit]) -> bool:
    """Whether the first of two units offers what the second, a rule on its own line, is one of:
    "select an option:".
    """
    if len(units) < 2 or units[1].kind != "rule":
        return False
    words, after = (text[unit.start : unit.end] for unit in units)
    listed = re.match(r"\s*(?:[-*•]|\(?\w{1,3}[.):])\s", after) is not None
    of_form = ALWAYS_ANSWER.search(words) or OF_FORM.search(words)
    return listed and words.rstrip().endswith(":") and not of_form


def _leads_on(text: str, unit: Unit) -> bool:
    """Whether a unit says nothing without the text after it: a heading, a tag, a label."""
    return unit.kind in ("heading", "tag", "row") or text[unit.start : unit.end].rstrip().endswith(
        ":"
    )


def _only_form(text: str, unit: Unit) -> bool:
    """Whether a unit says nothing but how to answer; what begins with a condition may be a rule."""
    words = text[unit.start : unit.end]
    if unit.kind != "answer" or CONDITIONAL.match(words):
        return False
    if ALWAYS_ANSWER.search(words) or LINE_FORM.match(words):
        return True
    conditional = re.search(rf"\b(?:{pattern_of('if')})\b", words, re.IGNORECASE)
    return conditional is None and bool(OF_FORM.search(words) or SURELY_ASKS.match(words))


def _maps_to_labels(text: str, unit: Unit) -> bool:
    """Whether a short last sentence only says which label stands for what: "Return true if ...,
    otherwise false.".
    """
    words = text[unit.start : unit.end]
    either = re.search(
        r"\b(?:otherwise|else|sonst|andernfalls|sinon|de lo contrario|altrimenti)\b",
        words,
        re.IGNORECASE,
    )
    return unit.kind == "answer" and either is not None and len(words.split()) <= 14


def _runs(text: str, units: Sequence[Unit]) -> Iterator[tuple[list[Unit], bool]]:
    """Yield runs of rules, with whether a heading over it names criteria.

    Headings within a run belong to it, and so does a sentence between rules that only names the
    scale.
    """
    run: list[Unit] = []
    held: list[Unit] = []
    heading, kept = "", ""
    for unit in units:
        words = text[unit.start : unit.end]
        if unit.kind == "rule":
            if not run:
                kept = heading
            run += [*held, unit]
            held, heading = [], ""
        elif unit.kind in ("heading", "tag"):
            heading = words
            if unit.kind == "tag" and run:
                yield run, bool(ABOUT_CRITERIA.search(kept))
                run, held = [], []
        elif (
            unit.kind == "answer"
            and run
            and _ONLY_GRADES.fullmatch(words)
            and not OF_FORM.search(words)
        ):
            held.append(unit)
        elif unit.kind != "blank":
            if run:
                yield run, bool(ABOUT_CRITERIA.search(kept))
            run, held, heading = [], [], ""
    if run:
        yield run, bool(ABOUT_CRITERIA.search(kept))
