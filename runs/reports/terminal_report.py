"""What a person reads of a benchmark and of each event of a run, printed from templates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...judges import Benchmark
from ...judges.metrics import CHOICE_METRICS, headline_metrics
from ...judges.metrics.macro_average import MacroMean
from ...optimize.events import (
    Benchmarked,
    BestCandidate,
    DecisionRecord,
    GateDecided,
    HunksMeasured,
    Json,
    LossFrozen,
    Remeasured,
    RunEvent,
    SliceChosen,
    StepTaken,
)
from ..actions.decide import OF_HOLDOUT, label_next
from ..terminal import inline, table_text
from .gate_report import evidence_values
from .numbers import BRIEF, NONE, count, interval, number, ordered_metrics, p_value, signed
from .printing import Payload, say_template, undefined
from .rendering import Exact
from .search_report import archive_table, missed_targets, seen_part, slice_standing

OUTPUTS_SHOWN = 4
"""Outputs of judges whose values are printed."""
COST_COLUMNS = ("place", "confidence", "tp", "fp", "fn", "tn", "fp_near", "fn_near")
SLICES_SHOWN = 8


def say_benchmark(
    benchmark: Benchmark, *, title: str, brief: bool = False, headline: bool = False
) -> None:
    """Print a benchmark: what was scored, the confusion table, the metrics with their intervals.

    Args:
        benchmark: What was measured.
        title: Of what.
        brief: Whether it is a part of the rows, of which a few metrics are printed and no confusion
            table.
        headline: Whether the four metrics of `headline_metrics` are printed, and how to see the
            others.
    """
    _say_measured(benchmark.to_json(), title=title, brief=brief, headline=headline)


def _say_measured(
    body: Payload, *, title: str, brief: bool = False, headline: bool = False
) -> None:
    names: Sequence[str] = ordered_metrics(body["metrics"])
    if brief:
        names = [name for name in _brief(body) if name in names]
    elif headline:
        names = headline_metrics(names)
    metrics = {name: body["metrics"][name] for name in names}
    say_template(
        "benchmark",
        title=title,
        body={"warning": "", **body},
        brief=brief,
        headline=headline,
        why=", ".join(f"{n} {reason}" for reason, n in body["unscored"].items()),
        metrics=metrics,
        lines=[metric_line(name, metric) for name, metric in metrics.items()],
    )


def say_macro(means: Mapping[str, MacroMean], *, column: str) -> None:
    """Print the means over the values of a column, each with how many values it is over, and what
    it leaves out.
    """
    lines = []
    for name, mean in means.items():
        *figures, n = metric_line(name, mean.to_json())
        lines.append((*figures, f"{mean.values:,} of {mean.of:,}", n))
    say_template("macro_means", means=means, column=column, lines=lines)


def metric_line(name: str, metric: Payload) -> tuple[str, str, str, str]:
    """Return a metric as a line of a table: name, value, interval, n."""
    return name, number(metric["value"]), interval(metric, missing=""), count(metric["n"])


def say_event(event: RunEvent) -> None:
    """Print one event of a run; a kind that is not for people prints nothing."""
    if isinstance(event, Benchmarked):
        title = "1. Benchmark: the judge as it is, on training and validation rows"
        _say_measured(event.benchmark, title=title)
    elif event.kind in _PRINTED:
        values = _VALUES[event.kind](event) if event.kind in _VALUES else {}
        say_template(event.kind, event=event, **values)


def say_nothing(event: RunEvent) -> None:
    """Listen to a run without printing; the JSON object comes at its end."""


def _slice(event: SliceChosen) -> dict[str, Any]:
    outputs = event.judge_outputs or ()
    printed = {output["column"] for output in outputs}
    skipped = event.skipped_columns or {}
    return {
        "slices": [_slice_line(one) for one in event.slices[:SLICES_SHOWN]],
        "missed": missed_targets(event.slices[:SLICES_SHOWN]),
        **output_values(outputs, event.metric or "value"),
        "left_out": describe_left_out(
            {name: why for name, why in skipped.items() if name not in printed}
        ),
    }


def _slice_line(one: Payload) -> tuple[str, ...]:
    direction = str(one["direction"] or "-")
    return (
        one["predicate"],
        str(one["n"]),
        number(one["value"]),
        number(one["rest"]),
        number(one.get("bound")),
        p_value(one["p"]),
        direction.upper() if direction in ("fp", "fn") else direction,
        slice_standing(one),
        "yes" if one["prompt_target"] else "no",
    )


def output_values(outputs: Sequence[Payload], metric: str) -> dict[str, Any]:
    """Return what the template of judges' outputs names; of many outputs the first few.

    Args:
        outputs: As `JudgeOutput.to_json` gives them.
        metric: Whose values they have.
    """
    reasons: dict[str, list[str]] = {}
    for output in outputs:
        reasons.setdefault(output["reason"], []).append(output["column"])
    lines = []
    for output in outputs[:OUTPUTS_SHOWN]:
        lines += [(one["predicate"], *metric_line("", one)[1:]) for one in output["levels"]]
    more = [output["column"] for output in outputs[OUTPUTS_SHOWN:]]
    return {"metric": metric, "lines": lines, "more": more, "reasons": reasons}


def describe_left_out(left_out: Mapping[str, str]) -> list[str]:
    """Name the columns that were not searched, those with the same reason together."""
    by_reason: dict[str, list[str]] = {}
    for column, why in left_out.items():
        by_reason.setdefault(why, []).append(column)
    return [f"{', '.join(columns)} ({why})" for why, columns in by_reason.items()]


def say_costs(table: Sequence[Payload]) -> None:
    """Print what each outcome costs at two confidences, inside and outside the slice."""
    if table:
        say_template("costs", **_cost_values(table))


def _cost_values(table: Sequence[Payload]) -> dict[str, Any]:
    # Of a choice a line is people's class, a column the judge's.
    of_classes = bool(table) and "label" in table[0]
    columns: tuple[str, ...] = COST_COLUMNS
    if of_classes:
        first = ("place", "confidence", "label")
        columns = (*first, *(name for name in table[0] if name not in first))
    lines = [[line[name] for name in columns] for line in table]
    return {"of_classes": of_classes, "columns": columns, "lines": lines}


def _hunks(event: HunksMeasured) -> dict[str, Any]:
    lines = []
    for hunk in event.hunks:
        for how in ("left_out", "alone"):
            effect = hunk[how]["metric"]
            spread = interval(effect, change=True, missing=NONE)
            measured = how.replace("_", " ")
            lines.append((hunk["number"], hunk["mark"], measured, signed(effect["value"]), spread))
    return {"lines": lines}


def _decision(event: GateDecided) -> dict[str, Any]:
    command = label_next(event.decision, share=OF_HOLDOUT)
    return {**evidence_values(event.decision), "command": command}


def say_verdict(decision: DecisionRecord, *, simulated: bool) -> None:
    """Print a gate's decision in a few lines: the outcome, and what the sealed rows say of each
    metric.

    Args:
        decision: The gate's, or that nothing was sent to it.
        simulated: Whether a simulated model answered.
    """
    evidence = decision.evidence
    target = evidence.target if evidence else None
    changes = [("target", target)]
    if evidence is not None:
        changes += [("guard", guard.change) for guard in evidence.guards if guard.change]
    say_template(
        "verdict", decision=decision, is_simulated=simulated, target=target, changes=changes
    )


def _closing(event: Remeasured) -> dict[str, Any]:
    sides = list(event.sides.values())
    brief = _brief(event.before.pooled)
    pooled = [side.pooled for side in sides]
    finals = [side.final for side in sides if side.final is not None]
    tables = {name: [side.by.get(name) for side in sides] for name in event.before.by}
    lines = [_sides_line("pooled", pooled)]
    lines += [_sides_line(name, of_value) for name, of_value in tables.items()]
    figures = []
    for name, of_value in tables.items():
        for table in of_value:
            if table:
                figures += [(f"{metric} of {name}", table["metrics"][metric]) for metric in brief]
    return {
        "sides": sides,
        "head": (event.by or "rows", "n", *brief),
        "lines": lines,
        "pooled": _with_intervals("pooled", pooled),
        "figures": figures,
        "final": _with_intervals("final", finals) if finals else "",
    }


def _with_intervals(name: str, tables: Sequence[Json]) -> str:
    """Write the few metrics of a closing table with their 95 % intervals, and why any is n/a."""
    head = (f"{name}, n = {tables[0]['n']:,}", "before", "95 % interval", "after", "95 % interval")
    lines, brief = [], _brief(tables[0])
    for metric in brief:
        cells = [metric_line(metric, table["metrics"][metric])[1:3] for table in tables]
        lines.append((metric, *(cell for side in cells for cell in side)))
    reasons = undefined((metric, table["metrics"][metric]) for table in tables for metric in brief)
    text = table_text(head[: 1 + 2 * len(tables)], lines)
    return Exact("\n".join((text, *(f"  {inline(line)}" for line in reasons))))


def _brief(table: Json) -> Sequence[str]:
    """Return the few metrics that a closing table shows: of decisions, or of the classes of a
    choice.
    """
    return BRIEF if "precision" in table["metrics"] else tuple(CHOICE_METRICS)


def _sides_line(name: str, tables: Sequence[Json | None]) -> tuple[str, ...]:
    """Return one line of the closing table: each metric before and after."""
    brief = next((_brief(table) for table in tables if table), BRIEF)
    cells = []
    for metric in brief:
        values = [number(one["metrics"][metric]["value"]) if one else NONE for one in tables]
        cells.append(" -> ".join(values))
    return name, str(tables[0]["n"] if tables[0] else 0), *cells


_PRINTED = frozenset(
    {
        *("started", "split", "slice", "loss", "validation", "step", "survivor", "chance"),
        *("hunks", "decision", "threshold", "everything", "decided"),
    }
)
"""Kinds of events that have a template of their name."""
_VALUES: Mapping[str, Callable[[Any], dict[str, Any]]] = {  # Any: the event of that kind
    SliceChosen.kind: _slice,
    LossFrozen.kind: lambda event: _cost_values(event.cost_table),
    StepTaken.kind: lambda event: {"seen": seen_part(event)},
    BestCandidate.kind: lambda event: {"archive": archive_table(event.archive)},
    HunksMeasured.kind: _hunks,
    GateDecided.kind: _decision,
    Remeasured.kind: _closing,
}
