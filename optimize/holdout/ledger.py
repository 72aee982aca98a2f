"""The ledger of looks: how often a holdout has been opened, what each look may spend, and which rows were open before.

Every decision on a holdout teaches something about it. So that many tries do not add up to an
accident, look t since the last accept is tested at alpha_t = alpha * 6 / (pi^2 t^2); over all t
these sum to alpha (alpha spending by the Basel series). An accept starts the count anew: the
accepted prompt is a new null hypothesis. A look is entered before the rows are opened, so that one
that was cut off counts too.

A holdout is its rows and not its name: each run says which rows it sees and which are sealed to it.
Rows that some run saw are no holdout any more, and looks at other holdouts with more than a few of
the same groups count here too. A look is any prompt other than the one in use measured on sealed
rows: `bench` and its like say which they measured, and each counts when the next prompt is gated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ...judges import Splits
from .look import ALPHA, MAX_LOOKS, SHARED, History, Look, LookOutcome, LookRecord, Measured, SeenRows
from .look_counting import (
    LookRequest,
    alpha_of_look,
    find_look,
    find_memory,
    remember_rows,
    requested_look,
    require_allowed,
    require_open,
)
from .row_fingerprints import RowFingerprints, sealed_fingerprints

__all__ = [
    "ALPHA",
    "MAX_LOOKS",
    "SHARED",
    "Ledger",
    "Look",
    "LookOutcome",
    "LookRecord",
    "LookRequest",
    "MemoryLedger",
    "SeenRows",
    "alpha_of_look",
    "remember_split",
    "requested_look",
]


class Ledger(Protocol):
    """Where runs say which rows they see, and looks are entered before the rows are opened."""

    def remember(
        self, run_id: str, *, open: RowFingerprints, sealed: Mapping[str, RowFingerprints], allow_opened: bool = False
    ) -> SeenRows:
        """Enter, once for a run, which rows it sees and which are sealed to it.

        Args:
            run_id: The run; asking again for it changes nothing.
            open: The rows anybody in it may look at, such as training and validation.
            sealed: The rows of each sealed part, by its content hash.
            allow_opened: Whether sealed parts may hold rows that an earlier run saw; the decision
                then says so.

        Raises:
            InputError: They do, and that was not allowed; nothing is entered.
            WorkspaceError: The ledger cannot be written, or has been tampered with.
        """
        ...

    def begin(
        self,
        holdout: str,
        *,
        run_id: str,
        before: str,
        after: str,
        purpose: str = "gate",
        line: str = "",
        known_as: tuple[str, ...] = (),
    ) -> Look:
        """Enter a look, durably, before the holdout is opened.

        The same run asking again with the same prompts goes on with its look and spends no other.

        Args:
            holdout: Content hash of the rows.
            run_id: The run that looks.
            before: Version of the prompt in use.
            after: Version of the candidate.
            purpose: Which command looks.
            line: Whose looks it is counted among.
            known_as: Other versions under which either was measured, which are then no other
                prompts.

        Raises:
            InputError: The looks on this holdout are spent; fresh labels are needed.
            WorkspaceError: The ledger cannot be written, or has been tampered with.
        """
        ...

    def measured(self, version: str, rows: RowFingerprints, *, by: str) -> None:
        """Enter that a prompt's figures on some rows were seen; entering the same again does nothing.

        Args:
            version: Of the prompt, or of a verdict file.
            rows: What it was measured on.
            by: Which command showed the figures.
        """
        ...

    def conclude(self, look: Look, *, outcome: LookOutcome, reason: str) -> None:
        """Enter what the look decided; entering the same again does nothing.

        Raises:
            WorkspaceError: The look was never begun, or was concluded otherwise.
        """
        ...

    def looks(self, holdout: str) -> tuple[LookRecord, ...]:
        """Return every look on a holdout, in order."""
        ...


def remember_split(ledger: Ledger, run_id: str, parts: Splits, *, allow_opened: bool = False) -> SeenRows:
    """Enter a run's split: training and validation are open, holdout and final sealed. See `Ledger.remember`."""
    sealed = {part.content_hash: sealed_fingerprints(part) for part in (parts.holdout, parts.final) if len(part)}
    opened = RowFingerprints.of(parts.train, parts.validation)
    return ledger.remember(run_id, open=opened, sealed=sealed, allow_opened=allow_opened)


class MemoryLedger:
    """A ledger that lives as long as the process; for notebooks and tests, where nothing is at stake."""

    def __init__(self, *, max_looks: int = MAX_LOOKS) -> None:
        self._max_looks = max_looks
        self._records: list[LookRecord] = []
        self._memories: list[SeenRows] = []
        self._measured: list[Measured] = []

    def remember(
        self, run_id: str, *, open: RowFingerprints, sealed: Mapping[str, RowFingerprints], allow_opened: bool = False
    ) -> SeenRows:
        """See `Ledger.remember`."""
        memory = find_memory(self._memories, run_id)
        if memory is None:
            memory = remember_rows(self._memories, run_id, open=open, sealed=sealed, allow_opened=allow_opened)
            self._memories.append(memory)
        return memory

    def begin(
        self,
        holdout: str,
        *,
        run_id: str,
        before: str,
        after: str,
        purpose: str = "gate",
        line: str = "",
        known_as: tuple[str, ...] = (),
    ) -> Look:
        """See `Ledger.begin`."""
        request = LookRequest(
            holdout=holdout,
            run_id=run_id,
            before=before,
            after=after,
            purpose=purpose,
            line=line,
            known_as=known_as,
        )
        history = History(records=self._records, memories=self._memories, measured=self._measured)
        look = requested_look(history, request)
        if find_look(self._records, look) is None:
            require_allowed(look, self._max_looks)
            self._records.append(LookRecord(look=look))
        return look

    def measured(self, version: str, rows: RowFingerprints, *, by: str) -> None:
        """See `Ledger.measured`."""
        looks = len(self._records)
        entered = {(one.version, one.rows.hash, one.looks) for one in self._measured}
        if (version, rows.hash, looks) not in entered:
            self._measured.append(Measured(version=version, by=by, rows=rows, looks=looks))

    def conclude(self, look: Look, *, outcome: LookOutcome, reason: str) -> None:
        """See `Ledger.conclude`."""
        if require_open(self._records, look, outcome):
            position = [record.look for record in self._records].index(look)
            self._records[position] = LookRecord(look=look, outcome=outcome, reason=reason)

    def looks(self, holdout: str) -> tuple[LookRecord, ...]:
        """See `Ledger.looks`."""
        return tuple(record for record in self._records if record.look.holdout == holdout)
