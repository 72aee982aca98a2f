"""The ledger of looks: how often a holdout has been opened, and what each look may spend.

Every decision on a holdout teaches something about it. So that many tries do not add up to an accident,
look t since the last accept is tested at alpha_t = alpha * 6 / (pi^2 t^2); over all t these sum to alpha
(alpha spending by the Basel series). An accept starts the count anew: the accepted prompt is a new
null hypothesis. A look is entered before the rows are opened, so that one that was cut off counts too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from ..judges import InputError, WorkspaceError

ALPHA = 0.05
"""What all looks between two accepts spend together."""

MAX_LOOKS = 20
"""Looks on a holdout since the last accept after which fresh labels are asked for."""

LookOutcome = Literal["accepted", "refused", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The permit to open one holdout for one decision."""

    holdout: str
    """Content hash of the holdout rows."""
    number: int
    """Position among the looks on this holdout since the last accept, from 1."""
    alpha: float
    """Level of this look's test; it is spent whatever the outcome."""
    run_id: str
    purpose: str
    """Which command looks, such as `gate` or `recheck`."""
    before: str
    """Version of the prompt in use."""
    after: str
    """Version of the candidate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookRecord:
    """A look as the ledger keeps it; outcome and reason are None while it has not been concluded."""

    look: Look
    outcome: LookOutcome | None = None
    reason: str | None = None


class Ledger(Protocol):
    """Where looks are entered before the rows are opened."""

    def begin(self, holdout: str, *, run_id: str, before: str, after: str, purpose: str = "gate") -> Look:
        """Enter a look, durably, before the holdout is opened.

        The same run asking again with the same prompts goes on with its look and spends no other.

        Raises:
            InputError: The looks on this holdout are spent; fresh labels are needed.
            WorkspaceError: The ledger cannot be written, or has been tampered with.
        """
        ...

    def conclude(self, look: Look, *, outcome: LookOutcome, reason: str) -> None:
        """Enter what the look decided; saying the same again does nothing.

        Raises:
            WorkspaceError: The look was never begun, or was concluded otherwise.
        """
        ...

    def looks(self, holdout: str) -> tuple[LookRecord, ...]:
        """Return every look on a holdout, in order."""
        ...


class MemoryLedger:
    """A ledger that lives as long as the process; for notebooks and tests, where nothing is at stake."""

    def __init__(self, *, max_looks: int = MAX_LOOKS) -> None:
        self._max_looks = max_looks
        self._records: dict[str, list[LookRecord]] = {}

    def begin(self, holdout: str, *, run_id: str, before: str, after: str, purpose: str = "gate") -> Look:
        """See `Ledger.begin`."""
        records = self._records.setdefault(holdout, [])
        asked = look_asked(records, holdout, run_id=run_id, before=before, after=after, purpose=purpose)
        if find_look(records, asked) is None:
            require_allowed(asked, self._max_looks)
            records.append(LookRecord(look=asked))
        return asked

    def conclude(self, look: Look, *, outcome: LookOutcome, reason: str) -> None:
        """See `Ledger.conclude`."""
        records = self._records.get(look.holdout, [])
        if require_open(records, look, outcome):
            position = [record.look for record in records].index(look)
            records[position] = LookRecord(look=look, outcome=outcome, reason=reason)

    def looks(self, holdout: str) -> tuple[LookRecord, ...]:
        """See `Ledger.looks`."""
        return tuple(self._records.get(holdout, ()))


def alpha_of_look(number: int, *, alpha: float = ALPHA) -> float:
    """Return what look `number` (from 1) spends: alpha * 6 / (pi^2 t^2), which sums to alpha over all looks."""
    if number < 1:
        raise ValueError(f"look {number!r}: looks are counted from 1")
    return alpha * 6.0 / (math.pi**2 * number**2)


def look_asked(
    records: Sequence[LookRecord], holdout: str, *, run_id: str, before: str, after: str, purpose: str
) -> Look:
    """Return the look that is asked for: the one this run has begun with these prompts, else the next.

    Looks are counted anew only where the old prompt is one that this holdout accepted: what was tried before
    that was about another prompt. A look that goes on from any other prompt counts all earlier ones.
    """
    asked = (run_id, before, after, purpose)
    for record in records:
        look = record.look
        if (look.run_id, look.before, look.after, look.purpose) == asked:
            return look
    accepted = [i for i, r in enumerate(records) if r.outcome == "accepted" and r.look.after == before]
    number = len(records) - (accepted[-1] + 1 if accepted else 0) + 1
    return Look(
        holdout=holdout,
        number=number,
        alpha=alpha_of_look(number),
        run_id=run_id,
        purpose=purpose,
        before=before,
        after=after,
    )


def find_look(records: Sequence[LookRecord], look: Look) -> LookRecord | None:
    """Return a look's record, or None if it has not been begun."""
    return next((record for record in records if record.look == look), None)


def require_allowed(look: Look, max_looks: int) -> None:
    """Refuse a look beyond the last one.

    Raises:
        InputError: The message asks for fresh labels.
    """
    if look.number > max_looks:
        raise InputError(
            f"the holdout {look.holdout[:12]} has had {max_looks} looks since the last accept; it needs fresh labels",
            hint="label new rows and use them as the holdout; this one can tell nothing more",
        )


def require_open(records: Sequence[LookRecord], look: Look, outcome: LookOutcome) -> bool:
    """Return whether a look is still to be concluded; False when it was, in the same way.

    Raises:
        WorkspaceError: It was never begun, or was concluded otherwise.
    """
    record = find_look(records, look)
    named = f"look {look.number} on holdout {look.holdout[:12]}"
    if record is None:
        raise WorkspaceError(f"{named} was never begun; nothing can conclude it")
    if record.outcome not in (None, outcome):
        raise WorkspaceError(f"{named} was concluded {record.outcome!r}; it cannot become {outcome!r}")
    return record.outcome is None
