"""Slices as a person reads them in a terminal: tables of at most 110 places, and what they mean in
words.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from ...judges import Estimate, JudgedDataset
from ...slices import SliceReport
from ...slices.effect import Parts
from ...slices.inspect_slice import WITHOUT_GAIN, MeasuredSlice
from ...slices.refine import Tree
from ...slices.slice_rows import SliceRow, SliceRows
from ..actions.find_slices import advise
from ..terminal import inline, say, say_table, simulated_mark
from .numbers import interval, number, p_equals, p_value, signed, span
from .terminal_report import describe_left_out, say_outputs

WIDTH = 110
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
    simulated = simulated_mark(judged.simulated)
    say(f"{inline(title)}: where {report.metric} is poorer than elsewhere{simulated}")
    unscored = sum(judged.unscored.values())
    left = f", {unscored:,} unscored" if unscored else ""
    groups = int(judged.groups.max()) + 1 if len(judged.groups) else 0
    scored = f"{len(judged.scored):,} scored in {groups:,} groups{left}"
    _say_wrapped(f"{_value(report.metric, report.overall)} on all rows; {scored}", indent="  ")
    if report.slices:
        say("")
        _say_found(report)
        say("")
        _say_made_of(report)
    say_outputs([output.to_json() for output in report.judge_outputs], report.metric)
    say("")
    for note in (*judged.dataset.notes, *report.notes):
        _say_wrapped(inline(note), indent="note: ")
    shown = {output.column for output in report.judge_outputs}
    for line in describe_left_out(
        {name: why for name, why in report.left_out.items() if name not in shown}
    ):
        _say_wrapped(line, indent="not searched: ")
    say("")
    advice = advise(report)
    target = "nothing yet" if advice.number is None else f"slice {advice.number}"
    _say_wrapped(f"What to optimize on: {target}. {inline(advice.why)}.")


def say_measured(measured: MeasuredSlice) -> None:
    """Print a slice that a person chose."""
    _say_wrapped(inline(str(measured.predicate)))
    say(
        f"  {measured.support:,} scored rows in {measured.groups:,} groups, chosen by hand and"
        " measured on all rows"
    )
    sides = (("in the slice", measured.value), ("elsewhere", measured.rest))
    lines = [
        (f"{measured.metric} {where}", *_figures(side), f"{side.n:,}") for where, side in sides
    ]
    say_table(("", "value", "95 % interval", "n"), lines)
    if measured.p is None:
        say("  not tested against the rest: there is nothing to compare with")
    else:
        _say_wrapped(
            f"poorer than elsewhere: {p_equals(measured.p)} (one-sided, rows of a group together;"
            " not corrected, as the slice was chosen by hand: one that was looked for in these"
            " rows would need a correction)",
            indent="  ",
        )
    _say_wrapped(f"errors: {_errors(measured)}", indent="  ")
    if measured.parts is not None:
        unit = " (log-odds)" if measured.metric in LOG_ODDS else ""
        base, tpr, fpr = _parts(measured.parts)
        say(
            f"  the gap{unit}: base rate {base}, true positive rate {tpr}, false positive rate"
            f" {fpr}"
        )
    if measured.gain is not None:
        better = f"{measured.metric} over all rows would be {measured.gain:.4f} better"
        say(f"  gain: {better} if the slice did as well as the rest")


def say_tree(tree: Tree) -> None:
    """Print a slice and the conditions that make it poorer still."""
    root = tree.root
    _say_wrapped(
        f"{inline(str(root.predicate))}: {_value(root.metric, root.value)}, n = {root.value.n:,}"
    )
    if not tree.refinements:
        say(f"  none of {tree.looked_at:,} further conditions makes it poorer")
        return
    head = ("and", "n", _short(root.metric), "95 % interval", "rest of slice", "p")
    lines = []
    for one in tree.refinements:
        cells = (f"{one.value.n:,}", *_figures(one.value), number(one.rest), p_value(one.p))
        lines.append((str(one.condition), cells))
    _say_named(head, lines)
    _say_wrapped(
        f"p: against the slice's other rows, one-sided, corrected for all {tree.looked_at:,}"
        " conditions looked at but not held out: a hint where to look, not a finding",
        indent="  ",
    )


def say_rows(found: SliceRows) -> None:
    """Print the rows of a slice, texts shortened."""
    _say_wrapped(
        f"{inline(str(found.predicate))}: {found.errors:,} errors in {found.support:,} scored rows"
    )
    if len(found.rows) < found.found:
        say(
            f"  the first {len(found.rows):,} of {found.found:,} (--limit): errors first, the worst"
            " at the top"
        )
    for one in found.rows:
        say("")
        _say_row(one)


def _say_row(one: SliceRow) -> None:
    people = f"{one.row.label:g} ({'yes' if one.labelled else 'no'})"
    said = f"{one.verdict.score:g} ({'yes' if one.verdict.positive else 'no'})"
    if one.classes is not None:
        people, said = map(inline, one.classes)
    sure = "" if one.verdict.confidence is None else f", confidence {one.verdict.confidence:.2f}"
    _say_wrapped(
        f"{inline(one.row.id)}: {inline(one.outcome)}; people {people}, judge {said}{sure}",
        indent="  ",
    )
    texts = {
        **one.row.inputs,
        **({"rationale": one.verdict.rationale} if one.verdict.rationale else {}),
    }
    for name, text in texts.items():
        line = inline(" ".join(text[: 4 * SHOWN].split()))
        if len(line) > SHOWN or len(text) > 4 * SHOWN:
            line = f"{line[:SHOWN]}… ({len(text):,} characters)"
        _say_wrapped(f"{inline(name)}: {line}", indent="    ")


def _say_found(report: SliceReport) -> None:
    head = (
        "#",
        "slice",
        "n",
        _short(report.metric),
        "95 % interval",
        "rest",
        "surely",
        "p",
        "standing",
    )
    numbers = {found.predicate: i for i, found in enumerate(report.slices, 1)}
    lines = [
        (
            (
                f"{found.predicate} (inside {numbers[found.within]})"
                if found.within
                else str(found.predicate)
            ),
            (
                f"{found.n:,}",
                number(found.value),
                interval({"low": found.low, "high": found.high}, missing="one group"),
                number(found.rest),
                number(found.bound),
                p_value(found.p),
                found.standing,
            ),
        )
        for found in report.slices
    ]
    _say_named(head, lines)
    _say_wrapped(
        f"n: rows {report.metric} is about; {report.metric}, interval and rest: on the rows that"
        " the slice was picked on, which flatters it; surely: it is at least so poor, by a 95 %"
        " bound for all that was searched; p: corrected for all that was searched; confirmed: p <"
        " 0.05; likely: p < 0.25, which one table in four without any slice gives; only seen: may"
        " well be chance",
        indent="  ",
    )


def _say_made_of(report: SliceReport) -> None:
    head = ("#", "for a prompt", "errors FP / FN", "base rate", "TPR", "FPR", "gain", "at least")
    lines = []
    for one in report.slices:
        target = f"no: {one.why_no_target}"
        if one.prompt_target:
            target = (
                f"yes: {'false positives' if one.direction == 'fp' else 'false negatives'} prevail"
            )
            if one.confusion is not None:
                target = f"yes: {one.confusion}"
        share = one.fp_share
        errors = "none" if share is None else f"{share:.0%} / {1 - share:.0%}"
        parts = ("-", "-", "-") if one.parts is None else _parts(one.parts)
        gains = (one.expected_gain, one.gain_low)
        shown = ["-" if one.metric in WITHOUT_GAIN else number(gain, 4) for gain in gains]
        lines.append((target, (errors, *parts, *shown)))
    _say_named(head, lines)
    unit = "log-odds of precision" if report.metric in LOG_ODDS else report.metric
    gap = ""
    if any(found.parts for found in report.slices):
        gap = (
            f"base rate, TPR, FPR: what the gap to the rest is made of, in {unit}; only the last"
            " two are the judge's; "
        )
    _say_wrapped(
        f"{gap}errors: those that {report.metric} counts; gain: how much better {report.metric}"
        " over all rows would be if the slice did as well as the rest, less what selection"
        " flattered; at least: by the 95 % bound",
        indent="  ",
    )


def _say_named(head: Sequence[str], lines: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Print a table whose names are broken where it would be wider than the terminal; numbered
    where the head is.
    """
    numbered = head[0] == "#"
    figures = [line for _, line in lines]
    shown = head[1 + numbered :]
    widths = [max(len(cell) for cell in column) for column in zip(shown, *figures, strict=True)]
    taken = (
        sum(widths)
        + len(_GAP) * (1 + numbered + len(widths))
        + (len(str(len(lines))) if numbered else 0)
    )
    room = max(LEAST, WIDTH - taken)
    table: list[tuple[str, ...]] = []
    for i, (name, line) in enumerate(lines, 1):
        for k, piece in enumerate(_broken(inline(name), room)):
            first = (str(i) if k == 0 else "",) if numbered else ()
            table.append((*first, piece, *(line if k == 0 else ("",) * len(line))))
    say_table(head, table, left=1 + numbered)


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


def _say_wrapped(text: str, *, indent: str = "") -> None:
    say(
        textwrap.fill(
            text,
            WIDTH,
            initial_indent=indent,
            subsequent_indent=" " * len(indent),
            break_on_hyphens=False,
        )
    )


def _value(metric: str, estimate: Estimate) -> str:
    if estimate.value is None:
        return f"{metric} is undefined: {estimate.reason}"
    shown = f"95 % interval {span(estimate)}" if span(estimate) else estimate.reason
    return f"{metric} is {number(estimate.value)} ({shown})"


def _errors(measured: MeasuredSlice) -> str:
    if measured.fp_share is None:
        return "none"
    counts = f"{measured.fp:,} false positives, {measured.fn:,} false negatives"
    if measured.direction is None:
        return f"{counts}; no kind prevails ({p_equals(measured.direction_p)})"
    prevails = "false positives" if measured.direction == "fp" else "false negatives"
    return f"{counts}; {prevails} prevail ({p_equals(measured.direction_p)})"


def _figures(estimate: Estimate) -> tuple[str, str]:
    return number(estimate.value), span(
        estimate, missing="" if estimate.value is None else "one group"
    )


def _parts(parts: Parts) -> tuple[str, str, str]:
    return signed(parts.prevalence), signed(parts.tpr), signed(parts.fpr)


def _short(metric: str) -> str:
    return metric if len(metric) <= 11 else "value"
