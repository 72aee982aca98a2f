"""How many more labels would decide an undecided question."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...judges import DEFAULT_SHARES

if TYPE_CHECKING:
    from ...optimize.events import DecisionRecord

OF_HOLDOUT = DEFAULT_SHARES[2] / 100
"""Share of new rows that a split sends to the holdout."""


def needed(decision: DecisionRecord) -> dict[str, int] | None:
    """Say how many rows, in how many groups, an undecided question would take; None where no number
    of rows is known.

    Args:
        decision: The gate's. Decisions of versions that named no groups are read for their rows.
    """
    from ...optimize.holdout.projection import MOST_TIMES

    evidence = decision.evidence
    if evidence is None or not evidence.rows_needed or not evidence.target:
        return None
    rows, target = evidence.rows_needed, evidence.target
    if rows > MOST_TIMES * target["n"]:
        return None
    groups = evidence.groups_needed or math.ceil(rows * target["groups"] / target["n"])
    return {"rows": rows, "groups": groups}


def label_next(decision: DecisionRecord, *, share: float = 1.0) -> str:
    """Return the command that asks for as many labels as would decide; empty where no number of
    rows is known to.

    Args:
        share: Of new rows, what goes to the holdout.
    """
    more, evidence = needed(decision), decision.evidence
    if decision.outcome != "undecided" or more is None or evidence is None:
        return ""
    missing = max(more["rows"] - evidence.n, 1)
    return f"judgewright label --rows FILE --next {math.ceil(missing / share)}"
