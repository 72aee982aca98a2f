"""A journal and a ledger that live as long as the process, for tests in which nothing is at
stake.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime

from judgewright.optimize import Event
from judgewright.optimize.holdout import RowFingerprints
from judgewright.optimize.holdout.ledger import (
    MAX_LOOKS,
    GateOutcome,
    History,
    Look,
    LookRecord,
    Measured,
)
from judgewright.optimize.holdout.look_counting import (
    LookRequest,
    remember_rows,
    requested_look,
    require_allowed,
    require_open,
)
from judgewright.optimize.holdout.sides import SeenRows
from judgewright.optimize.journal import Payload, as_json, require_same


class MemoryJournal:
    """A journal that lives as long as the process.

    Args:
        events: What an earlier session recorded; the run is compared with it.
    """

    def __init__(self, events: Sequence[Event] = ()) -> None:
        self._events = list(events)
        self._position = 0

    def record(self, kind: str, payload: Payload) -> Event:
        """See `Journal.record`."""
        content = as_json(kind, payload)
        if self._position < len(self._events):
            event = require_same(self._events[self._position], kind, content)
        else:
            created = datetime.now(UTC).isoformat(timespec="microseconds")
            event = Event(
                seq=self._position, kind=kind, payload=json.loads(content), created=created
            )
            self._events.append(event)
        self._position += 1
        return event

    def events(self) -> tuple[Event, ...]:
        """See `Journal.events`."""
        return tuple(self._events)


class MemoryLedger:
    """A ledger that lives as long as the process; for notebooks and tests, where nothing is at
    stake.
    """

    def __init__(self, *, max_looks: int = MAX_LOOKS) -> None:
        self._max_looks = max_looks
        self._records: list[LookRecord] = []
        self._memories: list[SeenRows] = []
        self._measured: list[Measured] = []

    def history(self) -> History:
        """See `Ledger.history`."""
        return History(records=self._records, memories=self._memories, measured=self._measured)

    def remember(self, seen: SeenRows, *, allow_opened: bool = False) -> None:
        """See `Ledger.remember`."""
        if self.history().memory(seen.run_id) is None:
            self._memories.append(remember_rows(self._memories, seen, allow_opened=allow_opened))

    def begin(self, request: LookRequest) -> Look:
        """See `Ledger.begin`."""
        look = requested_look(self.history(), request)
        if self.history().record(look) is None:
            require_allowed(look, self._max_looks)
            self._records.append(LookRecord(look=look))
        return look

    def measured(self, version: str, rows: RowFingerprints, *, by: str) -> None:
        """See `Ledger.measured`."""
        looks = len(self._records)
        entered = {(one.version, one.rows.hash, one.looks) for one in self._measured}
        if (version, rows.hash, looks) not in entered:
            self._measured.append(Measured(version=version, by=by, rows=rows, looks=looks))

    def conclude(self, look: Look, *, outcome: GateOutcome, reason: str) -> None:
        """See `Ledger.conclude`."""
        if require_open(self.history().record(look), look, outcome):
            position = [record.look for record in self._records].index(look)
            self._records[position] = LookRecord(look=look, outcome=outcome, reason=reason)
