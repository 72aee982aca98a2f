"""Labels that people gave in this workspace: every key press is a record, and none is ever changed
or taken out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from typing import Literal

from .database import Database
from .schema import now
from .writer import Connection

LabelAction = Literal["label", "skip", "undo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLabel:
    """What an annotator did about one row."""

    queue: str
    """The run that asked."""
    action: LabelAction
    row_key: bytes
    """8 bytes of the hash of the row's texts, by which it is known again in another file."""
    row_id: str
    group: str
    label: float | None
    """The grade; None for a row that was skipped, and for an undo."""
    reason: str = ""
    """Why a row was skipped."""
    annotator: str
    seconds: float
    """How long the row was on the screen."""
    probability: float
    """With which the row was drawn, known before it had a label; in (0, 1]."""
    design: str
    replaces: int | None = None
    """The record that this one corrects or takes back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelRecord(NewLabel):
    """One record as it is kept."""

    seq: int
    """Rises with every record of the workspace."""
    created: str
    """UTC, ISO 8601."""


class LabelStore:
    """The labels of a workspace's database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, new: NewLabel, *, after: int) -> bool:
        """Keep a record; it is on the disk when this returns.

        Args:
            after: The last record of the queue that the annotator's command had read.

        Returns:
            False, with nothing kept, where the row has got a later record from another window.

        Raises:
            WorkspaceError: The database cannot be written.
        """

        return self.append_all([new], after=after)

    def append_all(self, several: Sequence[NewLabel], *, after: int) -> bool:
        """Keep records of one queue, as `append` keeps one; False where one of them was not
        kept.
        """

        def write(connection: Connection) -> bool:
            kept = True
            for new in several:
                later = connection.execute(_LATER, (new.queue, new.row_id, after)).fetchone()
                if later is None:
                    connection.execute(_INSERT, (*astuple(new), now()))
                kept &= later is None
            return kept

        if not several:
            return True
        written = self._database.submit(write, alone=f"labels {several[0].queue}").result()
        # An annotator reads for minutes between two key presses: others may write meanwhile.
        self._database.release()
        return written

    def records(self, queue: str | None = None) -> tuple[LabelRecord, ...]:
        """Return the records of a queue, or of all, in the order in which they were made."""
        where, values = ("", ()) if queue is None else (" WHERE queue = ?", (queue,))
        rows = self._database.read(f"{_SELECT}{where} ORDER BY seq", values)
        return tuple(LabelRecord(**dict(zip((*_NEW, "seq"), row, strict=True))) for row in rows)


def counting_records(records: Iterable[LabelRecord]) -> list[LabelRecord]:
    """Return the records that count: the last one of each annotator about a row, unless it was
    taken back.

    They stand in the order in which they were made.
    """
    counting: dict[tuple[str, str, str], LabelRecord] = {}
    for record in records:
        key = (record.queue, record.annotator, record.row_id)
        counting.pop(key, None)
        if record.action != "undo":
            counting[key] = record
    return list(counting.values())


_NEW = (*(field.name for field in fields(NewLabel)), "created")
_COLUMNS = ", ".join(f'"{name}"' for name in _NEW)
_INSERT = f"INSERT INTO label ({_COLUMNS}) VALUES ({', '.join('?' * len(_NEW))})"  # noqa: S608 - our own names
_SELECT = f"SELECT {_COLUMNS}, seq FROM label"  # noqa: S608 - our own names
_LATER = "SELECT seq FROM label WHERE queue = ? AND row_id = ? AND seq > ?"
