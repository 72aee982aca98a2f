"""What looks at many rows cost later commands, counted in calls of functions and in what is
read.
"""

from pathlib import Path

import pytest

from judgewright.judges import BINARY, Dataset, Row, WorkspaceError
from judgewright.optimize.holdout import RowFingerprints
from judgewright.runs.store import HoldoutLedger, Workspace
from judgewright.runs.store.sealed_rows import enter_look, seal_of

from ...function_calls import count_calls


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
            "run",
            open=RowFingerprints.of(rows(0, 20)),
            sealed={"h": RowFingerprints.of(rows(20, 40))},
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
        ledger.remember(
            "next", open=RowFingerprints(), sealed={"k": RowFingerprints.of(rows(40, 60))}
        )
        with pytest.raises(WorkspaceError, match="tampered"):
            ledger.begin("k", run_id="next", before="a", after="b")


@pytest.mark.parametrize("first", [10_000, 120], ids=["of other rows", "of some of them"])
def test_more_rows_that_were_measured_cost_a_comparison_hardly_more_calls(
    tmp_path: Path, first: int
) -> None:
    """Each costs the step over it, where any is met again, and nothing else."""
    mine = RowFingerprints.of(rows(100, 130))
    with Workspace(tmp_path) as place:
        ledger = HoldoutLedger(place.database)
        for n in (1_000, 3_000):
            ledger.measured(str(n), RowFingerprints.of(rows(first, first + n)), by="slices")

        def compare(version: str) -> int:
            one = next(
                one
                for one in HoldoutLedger(place.database).history().measured
                if one.version == version
            )
            return count_calls(lambda: mine.shared_with(one.rows))

        compare("1000")  # what is made once
        few, many = compare("1000"), compare("3000")
    assert (many - few) / 2_000 <= (0.5 if first > 130 else 4)
