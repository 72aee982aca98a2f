"""What a search found, as frames and in notebooks."""

from __future__ import annotations

import numpy as np
import pytest

from judgewright.judges import BINARY, Dataset, JudgedDataset, Row, Verdict
from judgewright.slices import (
    find_slices,
    measure_slice,
    parse_predicate,
)

TAG = "<b onclick=alert(1)>"


def table(extra: float, n: int = 3000) -> JudgedDataset:
    """A judge with false positives, and so many more of them where the kind is a hostile name."""
    rng = np.random.default_rng(3)
    label, hard = rng.random(n) < 0.5, rng.random(n) < 0.3
    said = label ^ (rng.random(n) < np.where(label, 0.1, 0.1 + extra * hard))
    rows = tuple(
        Row(
            id=f"r{i}",
            inputs={"x": TAG},
            label=float(y),
            meta={"kind": TAG if h else "plain"},
            group=f"g{i // 2}",
        )
        for i, (y, h) in enumerate(zip(label, hard, strict=True))
    )
    answers = tuple(
        Verdict(row_id=f"r{i}", score=float(s), positive=bool(s)) for i, s in enumerate(said)
    )
    return JudgedDataset(dataset=Dataset(rows=rows, labels=BINARY), answers=answers, scale=BINARY)


def test_a_report_as_a_frame_has_a_line_a_slice_that_can_be_recomputed() -> None:
    """Metric, n and rest are those of the rows; the report prints as a line; the hostile name stays
    text.
    """
    judged = table(0.5)
    report = find_slices(judged, metric="precision")
    line = report.to_frame().iloc[0]
    inside = np.array([row.meta["kind"] == TAG for row in judged.rows])
    taken = judged.predicted & inside
    assert (line.n, line.support) == (taken.sum(), inside.sum())
    assert line.value == pytest.approx(judged.positive[taken].mean())
    assert line.confirmed
    assert "confirmed=1" in repr(report)
    assert len(repr(report)) < 150
    assert report.slices[0].describe() in repr(report.slices[0])
    assert TAG not in report._repr_html_()
    assert "&lt;b onclick=alert(1)&gt;" in report._repr_html_()


def test_a_report_without_slices_keeps_its_columns() -> None:
    """An empty frame still says what it would hold."""
    report = find_slices(table(0.0), metric="precision")
    assert report.to_frame().empty
    assert {"predicate", "value", "low", "high", "n", "p"} <= set(report.to_frame().columns)
    assert "<td>" not in report._repr_html_()


def test_a_measured_slice_as_a_frame_has_both_sides() -> None:
    """Inside and elsewhere, each with its interval and n; that it was chosen by hand is shown."""
    measured = measure_slice(table(0.5), parse_predicate("kind = plain"), metric="precision")
    frame = measured.to_frame()
    assert frame.rows.tolist() == ["inside", "elsewhere"]
    assert frame.value.tolist() == [measured.value.value, measured.rest.value]
    assert frame.n.tolist() == [measured.value.n, measured.rest.n]
    assert "chosen by hand" in measured._repr_html_()
    assert len(repr(measured)) < 200
