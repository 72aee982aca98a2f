"""A judge's measurement as one HTML file: every table and picture inside it, no script, nothing
fetched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...judges import (
    Benchmark,
    BoolArray,
    Estimate,
    FloatArray,
    JudgedDataset,
    OutputScale,
    Row,
    Verdict,
)
from ...judges.metrics.reliability_bins import reliability_bins
from ..terminal import inline, visible
from .numbers import number
from .plots import Picture, confusion_chart, f1_by_threshold, metrics_by_slice
from .plots import reliability_curve as draw_reliability
from .plots import threshold_curve as tabulate_thresholds
from .terminal_report import ordered_metrics

if TYPE_CHECKING:
    from markupsafe import Markup

DISAGREEMENTS = 20
SLICE_METRICS = ("precision", "recall", "f1", "kappa")
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One estimate as the page prints it."""

    name: str
    value: str
    interval: str
    n: str
    remark: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One text of a row."""

    name: str
    glance: str
    text: str
    """All of it, or as much as the page carries; empty where the glance is everything."""
    left_out: int
    """Characters the page does not carry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """A row that people and judge decided differently."""

    row_id: str
    group: str
    label: str
    score: str
    confidence: str
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """A confusion table: people in rows, the judge in columns."""

    names: tuple[str, ...]
    lines: tuple[tuple[str, tuple[tuple[int, str], ...]], ...]
    """For each label its name, and for each of the judge's labels the count and its share of the
    line.
    """


def render_score_report(
    judged: JudgedDataset,
    benchmark: Benchmark,
    *,
    by: Mapping[str, Benchmark],
    by_column: str | None,
    title: str,
    shown: JudgedDataset | None = None,
) -> str:
    """Return the page's HTML; the same measurement gives the same page, byte for byte.

    Args:
        benchmark: What `measure` found on them.
        by: What it found on each value of a metadata column; may be empty.
        shown: Those of the rows that may be shown one by one; all unless given.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    singly = judged if shown is None else shown

    environment = Environment(
        loader=PackageLoader(__package__ or "", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    order = "the farthest apart in grade first" if judged.same_scale else "in the order of the file"
    if np.isfinite(judged.certainty).any():
        order = "the judge's surest first"
    grades = benchmark.grades
    cells = benchmark.confusion
    decisions = ((cells["tn"], cells["fp"]), (cells["fn"], cells["tp"]))
    no_yes = (_sign(False), _sign(True))
    return environment.get_template("score_report.html.j2").render(
        title=_line(title, 200),
        benchmark=benchmark,
        facts=_facts(judged, benchmark),
        metrics=[
            _metric(name, benchmark.metrics[name]) for name in ordered_metrics(benchmark.metrics)
        ],
        decisions=_matrix(decisions, no_yes),
        decisions_chart=(
            _inline_svg(confusion_chart(decisions, no_yes), "decisions") if benchmark.n else None
        ),
        **_grades(judged, grades.counts if grades else ()),
        **_calibration(judged, benchmark),
        **_threshold(judged),
        **_slices(benchmark, by, by_column),
        worst_case={
            name: (number(low), number(high), number(benchmark.metrics[name].value))
            for name, (low, high) in benchmark.worst_case.items()
        },
        notes=[
            _line(note, 500)
            for note in dict.fromkeys((benchmark.warning, *benchmark.notes, *judged.dataset.notes))
            if note
        ],
        disagreements=[_disagreement(singly, i) for i in singly.disagreements[:DISAGREEMENTS]],
        disagreeing=int((singly.positive != singly.predicted).sum()),
        order=order,
    )


def _inline_svg(picture: Picture, prefix: str) -> Markup:
    from markupsafe import Markup

    return Markup(picture.to_svg(prefix=prefix))  # noqa: S704  # an XML writer escaped its text


def _line(text: str, most: int) -> str:
    """Return visible text on one line, cut to so many characters."""
    shown = inline(text[: most + 1])
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def _grade(value: float, scale: OutputScale) -> str:
    if scale.kind == "choice" and scale.contains(value):
        return _line(scale.labels[int(value)], 40)
    return f"{value:.4g}"


def _facts(judged: JudgedDataset, benchmark: Benchmark) -> list[tuple[str, str]]:
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in benchmark.unscored.items())
    unscored = sum(benchmark.unscored.values())
    independent = " (each row its own)" if benchmark.groups == benchmark.n else ""
    return [
        ("Judge", _line(benchmark.judge, 200) or "not named"),
        ("Model", _line(benchmark.model, 200) or "not named"),
        ("Data", _line(judged.dataset.name, 200) or "not named"),
        ("Rows measured", f"{benchmark.n:,} of {len(judged.dataset):,}"),
        ("Groups", f"{benchmark.groups:,}{independent}"),
        (
            "Unscored",
            f"{unscored:,} ({reasons}): left out, not counted as wrong" if unscored else "0",
        ),
        ("Without a label", f"{benchmark.unlabelled:,}"),
        ("Coverage", f"{benchmark.coverage:.1%} of the labelled rows have a verdict"),
        ("People's scale", _line(judged.dataset.labels.describe(), 200)),
        ("Judge's scale", _line(judged.scale.describe(), 200)),
    ]


def _metric(name: str, estimate: Estimate) -> Line:
    missing = estimate.low is None or estimate.high is None
    return Line(
        name=name,
        value=number(estimate.value),
        interval="" if missing else f"{number(estimate.low)} to {number(estimate.high)}",
        n=f"{estimate.n:,}",
        remark=_line(estimate.reason, 300),
    )


def _matrix(counts: Sequence[Sequence[int]], names: Sequence[str]) -> Matrix:
    lines = (
        (name, tuple((count, f"{count / sum(line):.0%}" if sum(line) else "") for count in line))
        for name, line in zip(names, counts, strict=True)
    )
    return Matrix(names=tuple(names), lines=tuple(lines))


def _grades(judged: JudgedDataset, counts: Sequence[Sequence[int]]) -> dict[str, object]:
    if not 0 < len(counts) <= MOST_GRADES:
        return {"grade_count": len(counts), "grades": None, "grades_chart": None}
    names = [_grade(level, judged.scale) for level in judged.scale.levels]
    chart = _inline_svg(confusion_chart(counts, names), "grades")
    return {"grade_count": len(counts), "grades": _matrix(counts, names), "grades_chart": chart}


def _probability(judged: JudgedDataset) -> tuple[BoolArray, FloatArray]:
    """Return people's decisions and the judge's probabilities of the rows that have one."""
    probability = judged.score if judged.scale.kind == "probability" else judged.probability
    known = np.isfinite(probability)
    return judged.positive[known], probability[known]


def _calibration(judged: JudgedDataset, benchmark: Benchmark) -> dict[str, object]:
    label, probability = _probability(judged)
    if len(label) == 0:
        return {"reliability_chart": None, "bins": [], "ece": None, "clustered": False}
    error = benchmark.metrics.get("ece")
    bins: list[tuple[str, str, Line]] = []
    for one in reliability_bins(label, probability):
        mean = "" if one.probability is None else number(one.probability)
        bins.append((f"{one.low:.3g} to {one.high:.3g}", mean, _metric("share", one.share)))
    return {
        "reliability_chart": _inline_svg(draw_reliability(label, probability), "reliability"),
        "bins": bins,
        "ece": None if error is None else _metric("ece", error),
        "clustered": benchmark.groups < benchmark.n,
    }


def _threshold(judged: JudgedDataset) -> dict[str, object]:
    why, chart, said = "", None, ""
    label, score = (
        (judged.positive, judged.score)
        if judged.scale.kind in ("graded", "probability")
        else _probability(judged)
    )
    if not label.any():
        why = (
            "no row with a score to cut is labelled positive"
            if len(label)
            else "the judge gives no score to cut"
        )
    elif len(np.unique(score)) < 2:
        why = "every row has the same score"
    else:
        curve = tabulate_thresholds(label, score)
        # One threshold was in use only where it gives the judge's decisions.
        used = judged.scale.threshold if judged.scale.kind in ("graded", "probability") else 0.5
        in_use = len(score) == len(judged.predicted) and np.array_equal(
            score >= used, judged.predicted
        )
        picture = f1_by_threshold(curve, chosen=used if in_use else None)
        chart, said = _inline_svg(picture, "threshold"), picture.description
    return {"threshold_chart": chart, "threshold_said": said, "no_threshold": why}


def _slices(
    benchmark: Benchmark, by: Mapping[str, Benchmark], column: str | None
) -> dict[str, object]:
    largest = sorted(by, key=lambda value: -by[value].n)
    charted = {value for value in largest[:MOST_CHARTED] if by[value].n}
    listed = set(largest[:MOST_LISTED])
    overall = benchmark.metrics[CHARTED_METRIC]
    values = {value: part.metrics[CHARTED_METRIC] for value, part in by.items() if value in charted}
    chart = (
        _inline_svg(metrics_by_slice(CHARTED_METRIC, values, overall=overall), "slices")
        if values
        else None
    )
    return {
        "column": _line(column or "value", 80),
        "slices": [
            (
                _line(value, 80),
                f"{part.n:,}",
                f"{part.groups:,}",
                [_metric(m, part.metrics[m]) for m in SLICE_METRICS],
            )
            for value, part in by.items()
            if value in listed
        ],
        "slice_metrics": SLICE_METRICS,
        "slices_chart": chart,
        "slices_uncharted": len(by) - len(charted),
        "slices_left_out": len(by) - len(listed),
    }


def _disagreement(judged: JudgedDataset, i: int) -> Disagreement:
    row, verdict = judged.rows[i], judged.verdicts[i]
    sure = float(judged.certainty[i])
    return Disagreement(
        row_id=_line(row.id, 80),
        group=_line(row.group, 160),
        label=(
            f"{_sign(judged.positive[i])} ({_grade(float(judged.label[i]), judged.dataset.labels)})"
        ),
        score=f"{_sign(verdict.positive)} ({_grade(verdict.score, judged.scale)})",
        confidence="" if np.isnan(sure) else f"{sure:.2f}",
        passages=tuple(_passages(row, verdict)),
    )


def _sign(positive: bool | np.bool_) -> str:
    return "positive" if positive else "negative"


def _passages(row: Row, verdict: Verdict) -> list[Passage]:
    found = []
    left = ROW_CHARACTERS
    for name, text in (*row.inputs.items(), ("the judge's reasons", verdict.rationale)):
        if not text or left <= 0:
            continue
        taken = visible(text[:left])
        shown = taken[:left]
        glance = _line(re.sub(r"[ \n\t]+", " ", shown), GLANCE)
        found.append(
            Passage(
                name=_line(name, 60),
                glance=glance,
                text="" if glance == text else shown,
                left_out=max(0, len(text) - left) + len(taken) - len(shown),
            )
        )
        left -= len(shown) + len(name)
    return found
