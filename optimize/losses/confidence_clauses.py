"""Clauses about the judge's confidence: honest probabilities, the Brier score, a judge that is too
sure.
"""

from __future__ import annotations

import re

from .clause import Clause, NotRead, Wish, order_of, share_of
from .lexicon import BRIER, Token

OF_PROBABILITIES = (
    "of probabilities it compares the Brier score: say 'calibration', or 'the Brier score must"
    " fall'"
)

_FALLS = re.compile(r"decreas|declin|fall|go down|drop|sink|baiss|chut|baj|ca[eiy]|cal|scend|desc")
_HURTS = re.compile(r"worsen|hurt|harm")
_BETTERS = re.compile(
    r"improv|better|optimi|verbesser|besser|amelior|mieux|meilleur|mejor|miglior|melhor"
)


def read_confidence(clause: list[Token]) -> Clause | None:
    """Read `make its confidence honest`, `too sure when it is wrong`, `the Brier score may rise by
    at most 0.02`.

    Returns:
        What it says; None where not every word of it is understood.
    """
    clause = [token for token in clause if token.symbol != "H"]
    marks = "".join(token.symbol for token in clause)
    wish = Clause(wishes=[Wish(metric=BRIER, direction=None, named=True, order=order_of(marks))])
    if set(marks) <= set("vpXLoN12e"):
        # "Too sure when it is wrong": a judge is never too sure of what is right.
        understood = (
            marks.count("v") == 1
            and marks.count("X") + marks.count("L") <= 1
            and marks.count("N") <= 1
        )
        return wish if understood else None
    if set(marks) <= set("phRV12o"):
        honest = [token for token in clause if token.symbol == "h"]
        # "Be honest" may mean anything, "be calibrated" one thing.
        if (
            len(honest) != 1
            or ("p" not in marks and "alibr" not in honest[0].word)
            or marks.count("V") > 1
        ):
            return None
        return Clause(guards=[(BRIER, None)]) if "V" in marks else wish
    return _of_score(clause, marks, wish)


def _of_score(clause: list[Token], marks: str, wish: Clause) -> Clause | None:
    """Read a clause that names the Brier score, which is better low."""
    if marks.count("c") != 1 or not set(marks) <= set("cLBRXWVQqw#12o"):
        return None
    falls = sum(
        t.symbol == "L" or (t.symbol == "B" and _FALLS.match(t.word) is not None) for t in clause
    )
    betters = sum(t.symbol == "R" and _BETTERS.search(t.word) is not None for t in clause)
    hurts = sum(t.symbol == "B" and _HURTS.match(t.word) is not None for t in clause)
    rises = marks.count("R") - betters
    if (
        marks.count("B") + marks.count("L") > falls + hurts
        or falls + betters + rises + hurts + marks.count("V") > 1
    ):
        return None
    bounded, negated = marks.count("Q"), marks.count("X") + marks.count("W")
    if not set(marks) & set("XWVQqw#") and not rises and not hurts:
        return wish
    if marks.count("#") > 1 or ("#" in marks) != (bounded > 0 or "q" in marks) or falls or betters:
        return None
    amount = next((share_of(token) for token in clause if token.symbol == "#"), None)
    if amount is not None and not 0.0 <= amount < 1.0:
        raise NotRead("a loss of the Brier score is a number such as 0.02")
    if "V" in marks:
        return Clause(guards=[(BRIER, None)]) if not negated and amount is None else None
    forbidden = negated == 1 and not bounded
    allowed = not negated and bounded == 1 and "q" not in marks
    return Clause(guards=[(BRIER, amount)]) if (rises or hurts) and (forbidden or allowed) else None
