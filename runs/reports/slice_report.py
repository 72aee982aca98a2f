"""Slices as a person reads them in a terminal: tables of at most 110 places, and what they mean in
words.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from ...judges import Estimate, JudgedDataset
from ...slices import SliceReport
from ...slices.effect import Parts
from ...slices.inspect_slice import WITHOUT_GAIN, MeasuredSlice, SliceRow, SliceRows
from ..actions.find_slices import advise
from ..terminal import inline, table_text
from .numbers import interval, number, p_equals, p_value, signed, span
from .printing import WIDTH, say_template
from .rendering import Exact
from .tables import left_out_columns, outputs_table

LEAST = 24
"""Places a slice's name gets at least."""
SHOWN = 160
"""Characters of a text that a row shows."""
LOG_ODDS = ("precision",)
"""Metrics whose gap is taken apart in log-odds; others are in the metric's own units."""
_GAP = "  "


def say_slices(report: SliceReport, judged: JudgedDataset, *, title: str) -> None:
    """Print the slices found, what their gaps are made of, what was not looked at, and what to
    do.
    """
    outputs = [output.to_json() for output in report.judge_outputs]
    say_template(
        "slices",
        report=report,
        judged=judged,
        title=title,
        unscored=sum(judged.unscored.values()),
        groups=int(judged.groups.max()) + 1 if len(judged.groups) else 0,
        overall=_value(report.metric, report.overall),
        found=_found_table(report) if report.slices else "",
        made_of=_made_of_table(report) if report.slices else "",
        with_parts=any(one.parts for one in report.slices),
        unit="log-odds of precision" if report.metric in LOG_ODDS else report.metric,
        outputs=outputs_table(outputs, report.metric),
        left_out=left_out_columns(report.left_out, outputs),
        advice=advise(report),
    )


def say_measured(measured: MeasuredSlice) -> None:
    """Print a slice that a person chose."""
    lines = []
    for where, side in (("in the slice", measured.value), ("elsewhere", measured.rest)):
        lines.append((f"{measured.metric} {where}", *_figures(side), f"{side.n:,}"))
    say_template(
        "measured_slice",
        measured=measured,
        name=str(measured.predicate),
        lines=lines,
        p_equals=p_equals,
        errors=_errors(measured),
        parts=None if measured.parts is None else _parts(measured.parts),
        unit=" (log-odds)" if measured.metric in LOG_ODDS else "",
    )


def say_rows(listing: SliceRows) -> None:
    """Print the rows of a slice, texts shortened."""
    rows = [(_row_heading(one), _row_texts(one)) for one in listing.rows]
    say_template("slice_rows", found=listing, name=str(listing.predicate), rows=rows)


def _row_heading(one: SliceRow) -> str:
    people = f"{one.row.label:g} ({'yes' if one.labelled else 'no'})"
    judge = f"{one.verdict.score:g} ({'yes' if one.verdict.positive else 'no'})"
    if one.classes is not None:
        people, judge = one.classes
    sure = "" if one.verdict.confidence is None else f", confidence {one.verdict.confidence:.2f}"
    return f"{one.row.id}: {one.outcome}; people {people}, judge {judge}{sure}"


def _row_texts(one: SliceRow) -> list[str]:
    texts = dict(one.row.inputs)
    if one.verdict.rationale:
        texts["rationale"] = one.verdict.rationale
    lines: list[str] = []
    for name, text in texts.items():
        line = inline(" ".join(text[: 4 * SHOWN].split()))
        if len(line) > SHOWN or len(text) > 4 * SHOWN:
            line = f"{line[:SHOWN]}… ({len(text):,} characters)"
        lines.append(f"{name}: {line}")
    return lines


def _found_table(report: SliceReport) -> str:
    head = ("#", "slice", "n", _short(report.metric), "95 % interval", "rest", "95 % bound", "p")
    numbers = {one.predicate: i for i, one in enumerate(report.slices, 1)}
    lines = []
    for one in report.slices:
        name = f"{one.predicate} (inside {numbers[one.within]})" if one.within else one.predicate
        spread = interval({"low": one.low, "high": one.high}, missing="one group")
        figures = (number(one.rest), number(one.bound), p_value(one.p), one.evidence)
        lines.append((str(name), (f"{one.n:,}", number(one.value), spread, *figures)))
    return _named_table((*head, "evidence"), lines)


def _made_of_table(report: SliceReport) -> str:
    head = ("#", "for a prompt", "errors FP / FN", "base rate", "TPR", "FPR", "gain", "at least")
    lines = []
    for one in report.slices:
        target = f"no: {one.why_no_target}"
        if one.prompt_target:
            kind = f"{'false positives' if one.direction == 'fp' else 'false negatives'} prevail"
            target = f"yes: {kind if one.confusion is None else one.confusion}"
        share = one.fp_share
        errors = "none" if share is None else f"{share:.0%} / {1 - share:.0%}"
        parts = ("-", "-", "-") if one.parts is None else _parts(one.parts)
        gains = (one.expected_gain, one.gain_low)
        gain_cells = ["-" if one.metric in WITHOUT_GAIN else number(gain, 4) for gain in gains]
        lines.append((target, (errors, *parts, *gain_cells)))
    return _named_table(head, lines)


def _named_table(head: Sequence[str], lines: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Write a table whose names are broken where it would be wider than the terminal; numbered
    where the head is.
    """
    numbered = head[0] == "#"
    figures = [line for _, line in lines]
    columns = head[1 + numbered :]
    widths = [max(len(cell) for cell in column) for column in zip(columns, *figures, strict=True)]
    number_width = len(str(len(lines))) if numbered else 0
    taken = sum(widths) + len(_GAP) * (1 + numbered + len(widths)) + number_width
    table: list[tuple[str, ...]] = []
    for i, (name, line) in enumerate(lines, 1):
        for k, piece in enumerate(_broken(inline(name), max(LEAST, WIDTH - taken))):
            first = (str(i) if k == 0 else "",) if numbered else ()
            table.append((*first, piece, *(line if k == 0 else ("",) * len(line))))
    return Exact(table_text(head, table, left=1 + numbered))


def _broken(name: str, room: int) -> list[str]:
    """Break a slice's name before `and` where that is enough, else where it must be."""
    pieces: list[str] = []
    for i, condition in enumerate(name.split(" and ")):
        part = f"and {condition}" if i else condition
        if pieces and len(pieces[-1]) + 1 + len(part) <= room:
            pieces[-1] += f" {part}"
        else:
            pieces += textwrap.wrap(part, room) or [""]
    return pieces


def _value(metric: str, estimate: Estimate) -> str:
    if estimate.value is None:
        return f"{metric} is undefined: {estimate.reason}"
    interval_words = f"95 % interval {span(estimate)}" if span(estimate) else estimate.reason
    return f"{metric} is {number(estimate.value)} ({interval_words})"


def _errors(measured: MeasuredSlice) -> str:
    if measured.fp_share is None:
        return "none"
    counts = f"{measured.fp:,} false positives, {measured.fn:,} false negatives"
    if measured.direction is None:
        return f"{counts}; no kind prevails ({p_equals(measured.direction_p)})"
    prevails = "false positives" if measured.direction == "fp" else "false negatives"
    return f"{counts}; {prevails} prevail ({p_equals(measured.direction_p)})"


def _figures(estimate: Estimate) -> tuple[str, str]:
    missing = "" if estimate.value is None else "one group"
    return number(estimate.value), span(estimate, missing=missing)


def _parts(parts: Parts) -> tuple[str, str, str]:
    return signed(parts.prevalence), signed(parts.tpr), signed(parts.fpr)


def _short(metric: str) -> str:
    return metric if len(metric) <= 11 else "value"
