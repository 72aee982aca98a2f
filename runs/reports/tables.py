"""The tables of a run and of a decision: each is made here once, and terminal, page, Markdown and
comment write the same lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...judges.metrics import CHOICE_METRICS
from ...optimize.outcome import in_words
from .numbers import (
    BRIEF,
    NONE,
    count,
    interval,
    number,
    ordered_metrics,
    p_value,
    signed,
    span,
)

if TYPE_CHECKING:
    from ...judges import Benchmark
    from ...judges.metrics.reliability_bins import Bin
    from ...optimize.events import ChancesReckoned, Evidence, Json, Remeasured, SliceChosen

P_MEANS = "p is against no gain; that of a guard against a loss of its margin"
"""What the p-values beside the gate's changes are about."""
ESTIMATED_MEANS = "estimated: from the open rows, before the holdout was opened"
MOST_UNDEFINED = 12
"""Figures that are named beside one reason why they are n/a."""
MOST_SLICES = 12
MOST_OUTPUTS = 4
"""Outputs of judges whose values are shown."""
COSTS = ("tp", "fp", "fn", "tn", "fp_near", "fn_near")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Lines of cells below a head."""

    head: Sequence[str]
    lines: Sequence[Sequence[str]]
    left: int = 1
    """So many columns hold words; the others hold figures."""
    notes: Sequence[str] = ()
    """What stands below."""

    def __bool__(self) -> bool:
        return bool(self.lines)


def metric_line(name: str, metric: Json) -> tuple[str, str, str, str]:
    """Return a metric as a line of a table: name, value, interval, n."""
    return name, number(metric["value"]), interval(metric, missing=""), count(metric["n"])


def undefined(figures: Iterable[tuple[str, Json]]) -> list[str]:
    """Say why figures of a table are `n/a`, those with the same reason together."""
    by_reason: dict[str, dict[str, None]] = {}
    for name, figure in figures:
        if figure["value"] is None:
            by_reason.setdefault(figure.get("reason") or "no reason was kept", {})[name] = None
    lines: list[str] = []
    for reason, names in by_reason.items():
        named = list(names)[:MOST_UNDEFINED]
        more = [f"{len(names) - len(named):,} more"] if len(names) > len(named) else []
        lines.append(f"n/a: {', '.join(named + more)} ({reason})")
    return lines


def gate_changes(evidence: Evidence) -> list[tuple[str, Json, float | None]]:
    """Return the changes that a decision rests on, each with its role and the p-value that was
    tested.
    """
    changes: list[tuple[str, Json, float | None]] = []
    if evidence.target:
        changes.append(("target", evidence.target, evidence.target["p"]))
    for guard in evidence.guards:
        if guard.change:
            changes.append((f"guard, {guard.state}", guard.change, guard.p))
    if evidence.slice_change:
        changes.append(("slice", evidence.slice_change, evidence.slice_change["p"]))
    return changes


def evidence_table(evidence: Evidence) -> Table:
    """Return what changed on the holdout, target, guards and slice, beside what was estimated
    before it was opened.
    """
    estimated = evidence.estimated
    before = ("estimated",) if estimated else ()
    head = ("", "metric", "before", "after", *before, "change", "95 % interval", "p", "n", "groups")
    lines: list[tuple[str, ...]] = []
    for role, change, p in gate_changes(evidence):
        metric = change["metric"]
        values = [number(change["before"]), number(change["after"])]
        if estimated:
            one = None if role == "slice" else estimated.get(metric)
            values.append("" if one is None else _give_or_take(one["change"], one["error"]))
        rows = (count(change[name]) for name in ("n", "groups", "bearing_groups"))
        spread = (signed(change["difference"]), interval(change, change=True))
        lines.append((role, metric, *values, *spread, p_value(p), *rows))
    notes = (P_MEANS, ESTIMATED_MEANS) if estimated else (P_MEANS,)
    return Table(head=(*head, "bear on it"), lines=lines, left=2, notes=notes)


def _give_or_take(change: float, error: float) -> str:
    return f"{signed(change)} ± {number(error)}"


def arms_table(chances: ChancesReckoned | None) -> Table:
    """Return what each arm would have given on rows that its prompts had not seen; of runs of
    earlier versions nothing.
    """
    lines: list[tuple[str, ...]] = []
    metrics: list[str] = []
    for place, one in enumerate(chances.candidates if chances else ()):
        if chances is None or "arm" not in one:
            continue
        metrics = list(one["expected"])
        rule = "" if one["rule"] is None else f"{one['rule']['threshold']:g}"
        cells: list[str] = []
        for metric in metrics:
            promise = _give_or_take(one["expected"][metric], one["error"][metric])
            cells += [signed(one["measured"][metric]), promise]
        chosen = "chosen" if place == chances.chosen else ""
        steps = str(one["steps"] or "")
        lines.append((one["arm"], steps, rule, *cells, in_words(one["accepted"]), chosen))
    head = ["arm", "steps", "threshold"]
    for metric in metrics:
        head += [metric, "estimated"]
    return Table(head=(*head, "chance", ""), lines=lines)


def slices_table(event: SliceChosen) -> Table:
    """Return the slices that a run's search found; below, the confirmed ones that are no target."""
    head = ("slice", "n", "value", "rest", "95 % bound", "p", "direction", "evidence", "target")
    lines: list[tuple[str, ...]] = []
    notes: list[str] = []
    for one in event.slices[:MOST_SLICES]:
        direction = one["direction"] or "-"
        figures = (number(one["value"]), number(one["rest"]), number(one.get("bound")))
        words = (
            direction.upper() if direction in ("fp", "fn") else direction,
            slice_evidence(one),
            "yes" if one["prompt_target"] else "no",
        )
        lines.append((one["predicate"], str(one["n"]), *figures, p_value(one["p"]), *words))
        # Earlier versions did not write why a slice is no target.
        if one["confirmed"] and not one["prompt_target"] and one.get("why_no_target"):
            notes.append(f"confirmed, but no target: {one['predicate']} ({one['why_no_target']})")
    return Table(head=head, lines=lines, notes=notes)


def slice_evidence(one: Json) -> str:
    """Say how sure a slice is; earlier versions wrote other words, or whether it is confirmed."""
    if earlier := one.get("standing"):
        return "exploratory" if earlier == "only seen" else earlier
    return one.get("evidence") or ("confirmed" if one["confirmed"] else "not confirmed")


def outputs_table(outputs: Sequence[Json] | None, metric: str) -> Table:
    """Return the outputs of judges, which are no slices; of many outputs the first few.

    Args:
        outputs: As `JudgeOutput.to_json` gives them.
        metric: Whose values they have.
    """
    reasons: dict[str, list[str]] = {}
    lines: list[tuple[str, ...]] = []
    for i, output in enumerate(outputs or ()):
        reasons.setdefault(output["reason"], []).append(output["column"])
        if i < MOST_OUTPUTS:
            lines += [(one["predicate"], *metric_line("", one)[1:]) for one in output["levels"]]
    more = [output["column"] for output in (outputs or ())[MOST_OUTPUTS:]]
    notes = [f"and {len(more)} more, in the JSON: {', '.join(more)}"] if more else []
    notes += [f"{', '.join(columns)}: {why}" for why, columns in reasons.items()]
    return Table(head=("output", metric, "95 % interval", "n"), lines=lines, notes=notes)


def costs_table(table: Sequence[Json]) -> Table:
    """Return what each outcome costs at two confidences, inside and outside the slice; of a choice
    a line is people's class, a column the judge's.
    """
    words, columns = ["place", "confidence"], list(COSTS)
    if table and "label" in table[0]:
        words.append("label")
        columns = [name for name in table[0] if name not in words]
    lines: list[tuple[str, ...]] = []
    for line in table:
        at = (line["place"], number(line["confidence"]), *(line[name] for name in words[2:]))
        costs = (line[name] for name in columns)
        lines.append((*at, *("" if cost is None else number(cost) for cost in costs)))
    return Table(head=(*words, *columns), lines=lines)


def brief_of(table: Json) -> Sequence[str]:
    """Return the few metrics that stand for a judge: of decisions, or of the classes of a
    choice.
    """
    return BRIEF if "precision" in table["metrics"] else tuple(CHOICE_METRICS)


def by_value_table(event: Remeasured) -> Table:
    """Return the closing figures of all rows and of each value of a column, before and after."""
    sides = list(event.sides.values())
    brief = brief_of(event.before.pooled)
    tables: dict[str, list[Json | None]] = {"pooled": [side.pooled for side in sides]}
    for name in event.before.by:
        tables[name] = [side.by.get(name) for side in sides]
    lines: list[tuple[str, ...]] = []
    figures: list[tuple[str, Json]] = []
    for name, both in tables.items():
        cells = [_before_and_after(both, metric) for metric in brief]
        lines.append((name, str(both[0]["n"] if both[0] else 0), *cells))
        if name != "pooled":
            measured = [one["metrics"] for one in both if one]
            figures += [
                (f"{metric} of {name}", one[metric]) for one in measured for metric in brief
            ]
    head = (event.by or "rows", "n", *brief)
    return Table(head=head, lines=lines, notes=undefined(figures))


def _before_and_after(tables: Sequence[Json | None], metric: str) -> str:
    values = (number(one["metrics"][metric]["value"]) if one else NONE for one in tables)
    return " -> ".join(values)


def sides_table(name: str, sides: Sequence[Json], *, brief: bool = False) -> Table:
    """Return the metrics of some rows before and after, each with its interval.

    The poorest label of a choice may be another one on either side, which has no figure of it then.

    Args:
        name: Of the rows.
        sides: As `Benchmark.to_json` gives them.
        brief: Whether a few metrics are enough.
    """
    names = ordered_metrics({metric for side in sides for metric in side["metrics"]})
    lines: list[tuple[str, ...]] = []
    figures: list[tuple[str, Json]] = []
    for metric in brief_of(sides[0]) if brief else names:
        estimates: list[Json | None] = [side["metrics"].get(metric) for side in sides]
        cells = [metric_line("", one)[1:3] if one else (NONE, "") for one in estimates]
        figures += [(metric, one) for one in estimates if one]
        lines.append((metric, *(cell for side in cells for cell in side)))
    head = (f"{name}, n = {sides[0]['n']:,}", "before", "95 % interval", "after", "95 % interval")
    return Table(head=head[: 1 + 2 * len(sides)], lines=lines, notes=undefined(figures))


def pooled_table(event: Remeasured, *, brief: bool = False) -> Table:
    """Return the closing figures of all rows that were measured, before and after."""
    return sides_table("pooled", [side.pooled for side in event.sides.values()], brief=brief)


def final_table(event: Remeasured, *, brief: bool = False) -> Table | None:
    """Return the figures to report; None where no final rows were opened."""
    finals = [side.final for side in event.sides.values() if side.final is not None]
    return sides_table("final", finals, brief=brief) if finals else None


def left_out_columns(
    skipped: Mapping[str, str] | None, outputs: Sequence[Json] | None
) -> list[str]:
    """Name the columns that were not searched, those with the same reason together; the outputs of
    judges have a table.
    """
    listed = {output["column"] for output in outputs or ()}
    by_reason: dict[str, list[str]] = {}
    for column, why in (skipped or {}).items():
        if column not in listed:
            by_reason.setdefault(why, []).append(column)
    return [f"{', '.join(columns)} ({why})" for why, columns in by_reason.items()]


def confusion_table(counts: Sequence[Sequence[int]], names: Sequence[str]) -> Table:
    """Return how often people's label, in lines, met the judge's, in columns; a share is of its
    line.
    """
    lines: list[tuple[str, ...]] = []
    for name, line in zip(names, counts, strict=True):
        total = sum(line)
        cells = (f"{one:,} ({one / total:.0%})" if total else "0" for one in line)
        lines.append((name, *cells))
    return Table(head=("people \\ judge", *names), lines=lines)


def bins_table(bins: Sequence[Bin]) -> Table:
    """Return how often people say yes where the judge's probability of yes lies in each bin."""
    head = ("probability", "mean", "people say yes", "95 % interval", "rows")
    lines: list[tuple[str, ...]] = []
    for one in bins:
        mean = "" if one.probability is None else number(one.probability)
        share = (number(one.share.value), span(one.share), count(one.share.n))
        lines.append((f"{one.low:.3g} to {one.high:.3g}", mean, *share))
    return Table(head=head, lines=lines)


def worst_table(benchmark: Benchmark) -> Table:
    """Return what the metrics would be if every row without a verdict were wrong, or right."""
    lines: list[tuple[str, ...]] = []
    for name, (low, high) in benchmark.worst_case.items():
        lines.append((name, *map(number, (low, benchmark.metrics[name].value, high))))
    return Table(head=("metric", "all wrong", "as measured", "all right"), lines=lines)


def comparison_table(comparison: Json) -> Table:
    """Return how one judge's figures differ from another's on the rows that both judged.

    Args:
        comparison: As `Comparison.to_json` writes it.
    """
    head = ("metric", "first", "this", "difference", "95 % interval", "at the same recall")
    lines: list[tuple[str, ...]] = []
    notes: dict[str, None] = {}
    for change, equal in zip(comparison["changes"], comparison["equal_gains"], strict=True):
        same = NONE
        if gain := equal["change"]:
            spread_there = interval(gain, change=True, missing="no interval")
            same = f"{signed(gain['difference'])} ({spread_there})"
        if equal["held"] != "recall":
            notes["recall itself is held at the same false positive rate"] = None
        if equal["reason"]:
            notes[f"{NONE}: {equal['reason']}"] = None
        spread = interval(change, change=True, missing="no interval")
        values = (number(change["before"]), number(change["after"]), signed(change["difference"]))
        lines.append((change["metric"], *values, spread, same))
    return Table(head=head, lines=lines, notes=list(notes))
