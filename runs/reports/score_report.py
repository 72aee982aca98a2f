"""A judge's measurement as one HTML file: every table and picture inside it, no script, nothing
fetched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...judges import Benchmark, BoolArray, FloatArray, JudgedDataset, OutputScale
from ...judges.metrics.reliability_bins import reliability_bins
from ..actions.first_figure import FirstFigure, first_figure
from ..actions.show_rows import error_of, in_words, verdict_body, verdict_words
from . import charts
from .first_sentence import first_sentences
from .numbers import BRIEF
from .rendering import cut_line, open_templates, page_style

DISAGREEMENTS = 20
CHARTED_METRIC = "f1"
MOST_CHARTED = 30
"""Values of a column in the chart, those with the most rows."""
MOST_LISTED = 200
"""Values of a column in the table."""
MOST_GRADES = 25
"""Grades up to which their table is shown."""
ROW_CHARACTERS = 6_000
"""Of one row's texts, so that twenty enormous rows still make a page that opens."""


def render_score_report(
    judged: JudgedDataset,
    benchmark: Benchmark,
    *,
    by: Mapping[str, Benchmark],
    by_column: str | None,
    title: str,
    shown: JudgedDataset | None = None,
    summary: FirstFigure | None = None,
) -> str:
    """Return the page's HTML; the same measurement gives the same page, byte for byte.

    Args:
        judged: The rows with their verdicts.
        benchmark: What `measure` found on them.
        by: What it found on each value of a metadata column; may be empty.
        by_column: The column.
        title: Of the page.
        shown: Those of the rows that may be shown one by one; all unless given.
        summary: What is said first; what the benchmark alone tells unless given.
    """
    singly = judged if shown is None else shown
    order = "the farthest apart in grade first" if judged.same_scale else "in the order of the file"
    if np.isfinite(judged.certainty).any():
        order = "the judge's surest first"
    label, probability = _probability(judged)
    bins = reliability_bins(label, probability) if len(label) else ()
    notes = (*benchmark.notes, *judged.dataset.notes)
    body = benchmark.to_json()
    page = open_templates().get_template("score_alone.html")
    return page.render(
        title=cut_line(title, 200),
        style=page_style(),
        simulated=benchmark.simulated,
        sentences=first_sentences((summary or first_figure(body)).to_json()),
        judged=judged,
        benchmark=benchmark,
        body=body,
        **_matrices(judged, benchmark),
        bins=bins,
        reliability=charts.reliability(bins) if bins else "",
        **_threshold(judged),
        **_slices(benchmark, by, by_column),
        notes=[note for note in dict.fromkeys(notes) if note],
        rows=[wrong_row(singly, i) for i in singly.disagreements[:DISAGREEMENTS]],
        disagreeing=int((singly.positive != singly.predicted).sum()),
        order=order,
    )


def grade_names(levels: Sequence[float], scale: OutputScale | None) -> list[str]:
    """Return the names of grades, of which there are not too many for a table; none where there
    are.
    """
    if len(levels) > MOST_GRADES:
        return []
    chooses = scale is not None and scale.kind == "choice"
    return [scale.labels[int(one)] if scale and chooses else f"{one:.4g}" for one in levels]


def wrong_row(judged: JudgedDataset, i: int) -> dict[str, Any]:  # Any: what the template names
    """Return what is shown of a scored row that the judge decided otherwise than people."""
    row, verdict = judged.rows[i], judged.verdicts[i]
    assert row.label is not None  # it is scored
    return {
        "row_id": cut_line(row.id, 80),
        "error": error_of(judged, row, verdict),
        "people": in_words(judged, row.label, positive=judged.dataset.positive(row)),
        "judge": [verdict_words(judged, verdict)],
        "bodies": [verdict_body(judged, verdict)],
        "inputs": row.inputs,
        "meta": {"group": row.group},
        "most": ROW_CHARACTERS // max(len(row.inputs), 1),
    }


def _matrices(judged: JudgedDataset, benchmark: Benchmark) -> dict[str, Any]:  # Any: as above
    """Return the confusion tables of decisions and of grades, each with its picture."""
    cells = benchmark.confusion
    decisions = ((cells["tn"], cells["fp"]), (cells["fn"], cells["tp"]))
    tables: list[tuple[str, Sequence[Sequence[int]], Sequence[str]]] = []
    if benchmark.n and judged.scale.kind != "choice":
        tables.append(("Decisions", decisions, ("no", "yes")))
    grades = benchmark.grades
    names = grade_names(judged.scale.levels, judged.scale) if grades else []
    if grades and names:
        tables.append(("Grades", grades.counts, names))
    return {
        "matrices": [(*one, charts.confusion_chart(*one[1:])) for one in tables],
        "left_out_grades": len(grades.counts) if grades and not names else 0,
    }


def _probability(judged: JudgedDataset) -> tuple[BoolArray, FloatArray]:
    """Return people's decisions and the judge's probabilities of the rows that have one."""
    probability = judged.score if judged.scale.kind == "probability" else judged.probability
    finite = np.isfinite(probability)
    return judged.positive[finite], probability[finite]


def _threshold(judged: JudgedDataset) -> dict[str, str]:
    """Return the picture of the threshold and its words, or why there is none."""
    has_threshold = judged.scale.kind in ("graded", "probability")
    label, score = (judged.positive, judged.score) if has_threshold else _probability(judged)
    why = ""
    if not len(label):
        why = "the judge gives no score to cut"
    elif not label.any():
        why = "no row with a score to cut is labelled positive"
    elif len(np.unique(score)) < 2:
        why = "every row has the same score"
    if why:
        return {"threshold_chart": "", "threshold_words": "", "no_threshold": why}
    curve = charts.threshold_curve(label, score)
    # One threshold was in use only where it gives the judge's decisions.
    used: float | None = judged.scale.threshold if has_threshold else 0.5
    if len(score) != len(judged.predicted) or not np.array_equal(score >= used, judged.predicted):
        used = None
    chart = charts.f1_by_threshold(curve, used=used)
    return {"threshold_chart": chart, "threshold_words": curve.describe(used), "no_threshold": ""}


def _slices(
    benchmark: Benchmark, by: Mapping[str, Benchmark], column: str | None
) -> dict[str, object]:
    largest = sorted(by, key=lambda value: -by[value].n)
    charted = {value for value in largest[:MOST_CHARTED] if by[value].n}
    listed = set(largest[:MOST_LISTED])
    overall = benchmark.metrics[CHARTED_METRIC]
    values = {value: part.metrics[CHARTED_METRIC] for value, part in by.items() if value in charted}
    chart = charts.metric_intervals(CHARTED_METRIC, values, overall=overall) if values else ""
    return {
        "column": cut_line(column or "value", 80),
        "slices": {value: part.to_json() for value, part in by.items() if value in listed},
        "slice_metrics": BRIEF,
        "slices_chart": chart,
        "slices_uncharted": len(by) - len(charted),
        "slices_left_out": len(by) - len(listed),
    }
