"""What looks at many rows cost later commands, counted in calls of functions and in what is
read.
"""

from pathlib import Path

import pytest

from judgewright.judges import BINARY, Dataset, Row, WorkspaceError
from judgewright.optimize.holdout import RowFingerprints
from judgewright.optimize.holdout.sides import SeenRows
from judgewright.runs.store import HoldoutLedger, Workspace
from judgewright.runs.store.sealed_rows import enter_look, seal_of

from ...look_requests import look_at


def rows(first: int, last: int) -> Dataset:
    """Labelled rows, each with a text that no other has."""
    made = (
        Row(
            id=f"r{i}",
            inputs={
                "text": " ".join(f"word{(i + 1) * k * 7919 % 1_000_003}" for k in range(1, 30))
            },
            label=1.0,
        )
        for i in range(first, last)
    )
    return Dataset.of(made, labels=BINARY)


def test_rows_that_were_measured_are_read_only_where_rows_are_compared(tmp_path: Path) -> None:
    """What finds sealed rows and enters a measurement reads nothing of them; the next look does."""
    with Workspace(tmp_path) as place:
        ledger = HoldoutLedger(place.database)
        ledger.remember(
            SeenRows(
                run_id="run",
                open=RowFingerprints.of(rows(0, 20)),
                sealed={"h": RowFingerprints.of(rows(20, 40))},
            )
        )
        large = RowFingerprints.of(rows(100, 600))
        ledger.measured("v1", large, by="slices")
        place.database.submit(
            lambda connection: connection.execute(
                "DELETE FROM known_rows WHERE hash = ?", (large.hash,)
            )
        ).result()
        assert seal_of(place, rows(20, 30), by="bench").count == 10
        enter_look(place, "v2", rows(20, 30), by="bench")
        ledger.remember(SeenRows(run_id="next", sealed={"k": RowFingerprints.of(rows(40, 60))}))
        with pytest.raises(WorkspaceError, match="tampered"):
            ledger.begin(look_at("k", "next", "a", "b"))
