"""An objective read by fixed rules, with caution: a clause is understood wholly or it is left over.

Nothing is guessed. Whether "hallucination recall" is about false positives or about false negatives
depends on the class that the judge calls positive, so that this is asked of the judge
(`polarity.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from .class_names import ClassNames
from .clause import Clause, NotRead, Wish
from .clauses import read_clause
from .lexicon import Token, tokens
from .objective import (
    ERRORS,
    OWN_DIRECTION,
    SECOND_MARGIN,
    Guard,
    Reading,
    second_wish,
    usual_margin,
)
from .polarity import Polarity

_SPLIT_BEFORE = "WBVQqZ2:"
_MOST_SPLITS = 12
OF_WHICH_CLASS = (
    "say of which class: 'unsupported statements are called supported', or 'supported ones are"
    " flagged'"
)


def read_by_rules(text: str, polarity: Polarity | ClassNames | None) -> Reading:
    """Read an objective.

    Args:
        text: What the person wants, such as `precision matters most; lose at most 3 points of
            recall`.
        polarity: Which class the judge calls positive, or the classes among which it chooses; None
            where not known.
    """
    whole = list(tokens(text, polarity.words if isinstance(polarity, ClassNames) else ()))
    clauses: list[Clause] = []
    unread: list[str] = []
    for is_break, group in groupby(whole, key=lambda token: token.symbol == "|"):
        if is_break:
            continue
        for part, by_colon in _parts(list(group)):
            words = [token for token in part if token.symbol]
            if not words:
                continue
            try:
                read = _read_parts(words, polarity)
            except NotRead as reason:
                quoted = f"'{text[part[0].start : part[-1].end]}'"
                unread.append(f"{quoted} ({reason})" if str(reason) else quoted)
                continue
            # "Too many false alarms: supported statements are flagged": the second half explains
            # the first.
            if (
                by_colon
                and clauses
                and clauses[-1].errors
                and any(clause.wishes for clause in read)
            ):
                clauses[-1].errors = ""
            clauses += read
    return _put_together(clauses, unread)


def _parts(segment: list[Token]) -> list[tuple[list[Token], bool]]:
    """Cut a segment at its colons and brackets; each part with whether it follows one."""
    parts: list[tuple[list[Token], bool]] = []
    by_colon = False
    for is_colon, group in groupby(segment, key=lambda token: token.symbol == ":"):
        if is_colon:
            by_colon = True
        else:
            parts.append((list(group), by_colon))
    return parts


def _read_parts(part: list[Token], polarity: Polarity | ClassNames | None) -> list[Clause]:
    """Read a part as one clause, else as the fewest clauses that are all understood.

    Raises:
        NotRead: There is no such way to cut it.
    """
    try:
        return [read_clause(part, polarity)]
    except NotRead as reason:
        first_reason = reason
    places = [
        i
        for i, token in enumerate(part)
        if token.symbol in "&~" or (i and token.symbol in _SPLIT_BEFORE)
    ]
    # The fewest clauses from each place to the end.
    best: dict[int, list[Clause]] = {len(part): []}
    starts = sorted({0, *places[:_MOST_SPLITS], len(part)})
    for start in reversed(starts[:-1]):
        for end in starts:
            if end <= start or end not in best:
                continue
            piece = [
                token for i, token in enumerate(part[start:end]) if i or token.symbol not in "&~"
            ]
            try:
                read = [read_clause(piece, polarity)] if piece else []
            except NotRead:
                continue
            if start not in best or len(best[start]) > 1 + len(best[end]):
                best[start] = read + best[end]
    if 0 not in best:
        raise first_reason
    return best[0]


def _put_together(clauses: Sequence[Clause], unread: list[str]) -> Reading:
    """Make one reading of what the clauses say."""
    wishes = list(dict.fromkeys(wish for clause in clauses for wish in clause.wishes))
    floors = tuple(dict.fromkeys(floor for clause in clauses for floor in clause.floors))
    notes = list(dict.fromkeys(note for clause in clauses for note in clause.notes))
    names = {"F": "false positives", "E": "false negatives", "A": "false alarms"}
    for clause in clauses:
        if clause.errors:
            unread.append(f"'{names[clause.errors]}' ({OF_WHICH_CLASS})")
    first, second = _rank(wishes, unread)
    guarded = {metric for clause in clauses for metric, _ in clause.guards}
    if first is not None and not first.named and first.metric in guarded:
        # "Fewer hallucinations let through; precision may not fall": the complaint is then of the
        # other metric.
        if first.metric == "precision" and "specificity" not in guarded:
            first = replace(first, metric="specificity")
        else:
            unread.append(
                f"fewer {ERRORS[first.direction or 'fp']}, but {first.metric} may fall (say which"
                " metric)"
            )
            first = None
    if first is not None and first.order == "second" and unread:
        first = None  # what comes first was not understood
    if first is None and not wishes and not unread and floors:
        first = Wish(
            metric=floors[0].metric, direction=OWN_DIRECTION.get(floors[0].metric), named=True
        )
    target = first.metric if first else None
    guards = _guards(clauses, target, unread)
    if second is not None and second.metric not in guards and second.metric != target:
        guards[second.metric] = SECOND_MARGIN
        notes.append(second_wish(second.metric, target or ""))
    return Reading(
        target=target,
        direction=first.direction if first else None,
        guards=tuple(Guard(metric=metric, margin=margin) for metric, margin in guards.items()),
        floors=floors,
        unread=tuple(unread),
        notes=tuple(notes),
    )


def _rank(wishes: list[Wish], unread: list[str]) -> tuple[Wish | None, Wish | None]:
    """Return the first wish and, where the sentence orders two, the second; several without an
    order are not read.
    """
    named = [wish for wish in wishes if wish.named]
    implied = [wish for wish in wishes if not wish.named]
    metrics = list(dict.fromkeys(wish.metric for wish in named))
    directions = {wish.direction for wish in wishes if wish.direction is not None}
    if len(metrics) == 1 and len(directions) <= 1:
        # A metric of both kinds of error takes its direction from the complaint beside it.
        return replace(named[0], direction=next(iter(directions), None)), None
    if not metrics and len(directions) == 1:
        return implied[0], None
    ranked = list({wish.metric: wish for wish in reversed(wishes)}.values())[::-1]
    if len(ranked) == 2 and (
        ranked[1].order == "second" or (ranked[0].order == "first" and ranked[1].order == "")
    ):
        return ranked[0], ranked[1]
    if len(ranked) == 2 and ranked[1].order == "first" and ranked[0].order == "":
        return ranked[1], ranked[0]
    if wishes:
        shown = [
            wish.metric if wish.named else f"fewer {ERRORS[wish.direction or 'fp']}"
            for wish in ranked
        ]
        unread.append(f"{' and '.join(shown)}: say which comes first")
    return None, None


def _guards(clauses: Sequence[Clause], target: str | None, unread: list[str]) -> dict[str, float]:
    """Return the guarded metrics with their margins; an amount by itself belongs to the guard
    before it.
    """
    margins: dict[str, float | None] = {}
    last: str | None = None
    for clause in clauses:
        for metric, margin in clause.guards:
            if margins.get(metric) is None:
                margins[metric] = margin
            last = metric
        if clause.missing_is_fine:
            if target == "precision":
                margins.setdefault("recall", None)
                last = "recall"
            else:
                unread.append("'missing' (say of which class, or name the metric that may fall)")
        if clause.amount is not None:
            if last is None or margins[last] is not None:
                unread.append(f"'at most {100 * clause.amount:g} %' (of which metric?)")
            else:
                margins[last] = clause.amount
    return {
        metric: usual_margin(metric) if margin is None else margin
        for metric, margin in margins.items()
    }
