"""A judge's measurement as one HTML file: every table and picture inside it, no script, nothing
fetched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...judges import Benchmark, BoolArray, FloatArray, JudgedDataset, OutputScale
from ...judges.metrics.reliability_bins import reliability_bins
from ..actions.first_figure import FirstFigure, first_figure
from ..terminal import visible
from . import charts
from .first_sentence import first_sentences
from .numbers import BRIEF, ordered_metrics
from .rendering import cut_line, open_templates

DISAGREEMENTS = 20
CHARTED_METRIC = "f1"
MOST_CHARTED = 30
"""Values of a column in the chart, those with the most rows."""
MOST_LISTED = 200
"""Values of a column in the table."""
MOST_GRADES = 25
"""Grades up to which their table is shown."""
ROW_CHARACTERS = 8000
"""Of one row's texts, so that twenty enormous rows still make a page that opens."""
GLANCE = 140
"""Characters of a text that show before it is opened."""
SIGNS = ("negative", "positive")


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
    cells = benchmark.confusion
    decisions = ((cells["tn"], cells["fp"]), (cells["fn"], cells["tp"]))
    grades = benchmark.grades.counts if benchmark.grades else ()
    if len(grades) > MOST_GRADES:
        grades = ()
    label, probability = _probability(judged)
    names = [_grade(level, judged.scale) for level in judged.scale.levels]
    notes = (*benchmark.notes, *judged.dataset.notes)
    return (
        open_templates()
        .get_template("score_report.html.j2")
        .render(
            title=cut_line(title, 200),
            sentences=first_sentences((summary or first_figure(benchmark.to_json())).to_json()),
            judged=judged,
            benchmark=benchmark,
            metrics=[
                (name, benchmark.metrics[name]) for name in ordered_metrics(benchmark.metrics)
            ],
            signs=SIGNS,
            decisions=decisions,
            decisions_chart=charts.confusion_chart(decisions, SIGNS) if benchmark.n else "",
            grade_count=len(benchmark.grades.counts) if benchmark.grades else 0,
            grades=grades,
            grade_names=names,
            grades_chart=charts.confusion_chart(grades, names) if grades else "",
            bins=reliability_bins(label, probability) if len(label) else (),
            reliability=charts.reliability,
            **_threshold(judged),
            **_slices(benchmark, by, by_column),
            notes=[note for note in dict.fromkeys(notes) if note],
            disagreements=[_disagreement(singly, i) for i in singly.disagreements[:DISAGREEMENTS]],
            disagreeing=int((singly.positive != singly.predicted).sum()),
            order=order,
        )
    )


def _grade(value: float, scale: OutputScale) -> str:
    if scale.kind == "choice" and scale.contains(value):
        return cut_line(scale.labels[int(value)], 40)
    return f"{value:.4g}"


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
        "slices": {value: part for value, part in by.items() if value in listed},
        "slice_metrics": BRIEF,
        "slices_chart": chart,
        "slices_uncharted": len(by) - len(charted),
        "slices_left_out": len(by) - len(listed),
    }


def _disagreement(judged: JudgedDataset, i: int) -> dict[str, Any]:  # Any: what the template names
    row, verdict, sure = judged.rows[i], judged.verdicts[i], float(judged.certainty[i])
    label = _grade(float(judged.label[i]), judged.dataset.labels)
    texts = (*row.inputs.items(), ("the judge's reasons", verdict.rationale))
    return {
        "row": row,
        "label": f"{SIGNS[bool(judged.positive[i])]} ({label})",
        "score": f"{SIGNS[verdict.positive]} ({_grade(verdict.score, judged.scale)})",
        "confidence": "" if np.isnan(sure) else f"{sure:.2f}",
        "passages": _passages(texts),
    }


def _passages(texts: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:  # Any: as above
    """Return the texts of a row as far as the page carries them, each with what shows at first."""
    passages: list[dict[str, Any]] = []
    room = ROW_CHARACTERS
    for name, text in texts:
        if not text or room <= 0:
            continue
        readable = visible(text[:room])
        readable_text = readable[:room]
        glance = cut_line(re.sub(r"[ \n\t]+", " ", readable_text), GLANCE)
        passages.append(
            {
                "name": cut_line(name, 60),
                "glance": glance,
                "text": "" if glance == text else readable_text,
                "left_out": max(0, len(text) - room) + len(readable) - len(readable_text),
            }
        )
        room -= len(readable_text) + len(name)
    return passages
