"""What a person reads: benchmarks as tables, and each event of a run as a few lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...judges import Benchmark
from ...judges.metrics import CHOICE_METRICS
from ...judges.metrics.macro_average import MacroMean
from ...slices.search_result import CALIBRATION
from ...slices.slice import ALL_ROWS
from ..terminal import inline, say, say_table
from .gate_sentences import describe_final, describe_guard, describe_unanswered
from .numbers import number

Payload = Mapping[str, Any]  # Any: JSON out of the journal
METRIC_ORDER = (
    *("precision", "recall", "specificity", "f1", "accuracy", "balanced_accuracy", "mcc", "kappa"),
    *("accuracy_grades", "f1_macro_grades", "kappa_grades", "kappa_linear", "kappa_quadratic", "off_by_one", "mae"),
    *("krippendorff_alpha", "auroc", "average_precision", "brier", "ece"),
    *("pearson", "spearman", "kendall_tau", "map", "ndcg@10", "ndcg_exp@10", "uncertainty_ap"),
    *("diras_binary", "diras_calibration", "diras_ranking", "diras_uncertainty", "diras_mean"),
)
OUTPUTS_SHOWN = 4
"""Outputs of judges whose values are printed."""
PARTS = ("train", "validation", "holdout", "final")
COST_COLUMNS = ("place", "confidence", "tp", "fp", "fn", "tn", "fp_near", "fn_near")
MOST_UNDEFINED = 12
"""Figures that are named beside one reason why they are n/a."""
_BRIEF = ("precision", "recall", "f1", "kappa")


def say_benchmark(benchmark: Benchmark, *, title: str, brief: bool = False) -> None:
    """Print a benchmark: what was scored, the confusion table, the metrics with their intervals."""
    _say_measured(benchmark.to_json(), title=title, only=_BRIEF if brief else None)


def _say_measured(body: Payload, *, title: str, only: Sequence[str] | None = None) -> None:
    simulated = "  [SIMULATED: says nothing about real models]" if body["simulated"] else ""
    say(f"\n{inline(title)}{simulated}")
    unscored = sum(body["unscored"].values())
    why = ", ".join(f"{count} {reason}" for reason, count in body["unscored"].items())
    say(f"  {body['n']:,} rows scored in {body['groups']:,} groups, {unscored} unscored{f' ({why})' if why else ''}")
    cells, chosen = body["confusion"], "accuracy_grades" in body["metrics"]
    if only is not None and chosen:
        only = tuple(CHOICE_METRICS)
    if only is None and not chosen:
        say(f"  judge says yes: {cells['tp']} right, {cells['fp']} wrong; no: {cells['tn']} right, {cells['fn']} wrong")
    found = body["metrics"]
    ordered = [*(name for name in METRIC_ORDER if name in found), *sorted(set(found) - set(METRIC_ORDER))]
    metrics = {name: found[name] for name in ordered if only is None or name in only}
    say_table(("metric", "value", "95 % interval", "n"), [_metric_line(name, m) for name, m in metrics.items()])
    say_undefined(metrics.items())
    for note in body["notes"]:
        say(f"  note: {inline(note)}")


def say_macro(means: Mapping[str, MacroMean], *, column: str) -> None:
    """Print the means over the values of a column, each with how many values it is over, and what it leaves out."""
    say(f"\nby {inline(column)}: means over its values, each counting the same")
    lines = []
    for name, mean in means.items():
        line = _metric_line(name, mean.to_json())
        lines.append((*line[:3], f"{mean.values:,} of {mean.of:,}", line[3]))
    say_table(("mean", "value", "95 % interval", "values", "n"), lines)
    for name, mean in means.items():
        if mean.estimate.reason:
            say(f"  note: {name}: {inline(mean.estimate.reason)}")


def _metric_line(name: str, metric: Payload) -> tuple[str, str, str, str]:
    interval = "" if metric["low"] is None else f"{metric['low']:.3f} .. {metric['high']:.3f}"
    return name, number(metric["value"]), interval, f"{metric['n']:,}"


def say_undefined(figures: Iterable[tuple[str, Payload]]) -> None:
    """Print why figures of a table are `n/a`, those with the same reason together."""
    by_reason: dict[str, dict[str, None]] = {}
    for name, figure in figures:
        if figure["value"] is None:
            by_reason.setdefault(figure.get("reason") or "no reason was kept", {})[name] = None
    for reason, names in by_reason.items():
        shown = list(names)[:MOST_UNDEFINED]
        more = [f"{len(names) - len(shown):,} more"] if len(names) > len(shown) else []
        say(f"  n/a: {inline(', '.join(shown + more))} ({inline(reason)})")


def say_event(kind: str, payload: Payload) -> None:
    """Print one event of a run; an unknown kind prints nothing."""
    if kind in _SAY:
        _SAY[kind](payload)


def _started(p: Payload) -> None:
    simulated = "  [SIMULATED: says nothing about real models]" if p["simulated"] else ""
    on, model = inline(p["data"]), inline(p["model"])
    say(f"Optimizing {inline(p['judge'])} on {on} ({p['rows']:,} rows) with {model}{simulated}")
    say(f"  objective: {inline(p['objective']['text'])}")
    say(f"  read as:   {inline(p['objective']['read_as'])}")
    for note in (*p["notes"], *p["objective"]["notes"]):
        say(f"  note: {inline(note)}")


def _split(p: Payload) -> None:
    parts = ", ".join(f"{name} {p['rows'][name]}" for name in PARTS)
    say(f"\nSplit by group: {parts} rows (holdout and final are sealed)")
    for note in p["notes"]:
        say(f"  {inline(note)}")


def _benchmark(p: Payload) -> None:
    _say_measured(p, title="1. Benchmark: the judge as it is, on training and validation rows")


def _slice(p: Payload) -> None:
    say(f"\n2. Slice: {slice_heading(p)}")
    shown = p["found"][:8]
    if shown:
        lines = [_slice_line(s) for s in shown]
        say_table(("slice", "n", "value", "rest", "p", "direction", "confirmed", "target"), lines)
    for predicate, why in missed_targets(shown):
        say(f"  confirmed, but no target: {inline(predicate)} ({inline(why)})")
    say_outputs(p.get("judge_outputs", ()), p.get("metric", "value"), indent="  ")
    outputs = {output["column"] for output in p.get("judge_outputs", ())}
    say_left_out({name: why for name, why in p.get("left_out", {}).items() if name not in outputs}, indent="  ")
    say(f"  chosen: {inline(p['name'])}")
    say(f"  why:    {inline(p['why'])}")


def slice_heading(p: Payload) -> str:
    """Say what kind of slice a run chose: a confirmed target, the likeliest of several, one that was named, or none."""
    chosen = next((s for s in p["found"] if s["predicate"] == p["name"]), None)
    if chosen is not None and chosen["prompt_target"]:
        return "where the errors point one way"
    if chosen is not None:
        return "none is a target, the likeliest is taken"
    if p["name"] == ALL_ROWS:
        return "none, all rows are taken"
    return "named by the caller"


def missed_targets(found: Sequence[Payload]) -> list[tuple[str, str]]:
    """Return the confirmed slices that are no target, each with the reason; runs of old do not hold it."""
    missed = [s for s in found if s["confirmed"] and not s["prompt_target"]]
    return [(s["predicate"], s["why_no_target"]) for s in missed if s.get("why_no_target")]


def say_outputs(outputs: Sequence[Payload], metric: str, *, indent: str = "") -> None:
    """Print the metric at the values of what judges said; of many outputs the first few.

    Args:
        outputs: As `JudgeOutput.to_json` gives them.
        metric: The metric.
        indent: Stands before each line.
    """
    if not outputs:
        return
    say(f"\n{indent}{CALIBRATION}")
    lines = [
        (level["predicate"], *_metric_line("", level)[1:])
        for output in outputs[:OUTPUTS_SHOWN]
        for level in output["levels"]
    ]
    say_table(("output", metric, "95 % interval", "n"), lines)
    if more := [output["column"] for output in outputs[OUTPUTS_SHOWN:]]:
        say(f"{indent}  and {len(more)} more, in the JSON: {inline(', '.join(more))}")
    by_reason: dict[str, list[str]] = {}
    for output in outputs:
        by_reason.setdefault(output["reason"], []).append(output["column"])
    for why, columns in by_reason.items():
        say(f"{indent}  {inline(', '.join(columns))}: {inline(why)}")


def say_left_out(left_out: Mapping[str, str], *, indent: str = "") -> None:
    """Print the columns that were not searched, those with the same reason together."""
    by_reason: dict[str, list[str]] = {}
    for column, why in left_out.items():
        by_reason.setdefault(why, []).append(column)
    for why, columns in by_reason.items():
        say(f"{indent}not searched: {inline(', '.join(columns))} ({inline(why)})")


def _slice_line(s: Payload) -> tuple[str, ...]:
    yes = {True: "yes", False: "no"}
    return (
        str(s["predicate"]),
        str(s["n"]),
        number(s["value"]),
        number(s["rest"]),
        number(s["p"], 4),
        str(s["direction"] or "-").upper(),
        yes[bool(s["confirmed"])],
        yes[bool(s["prompt_target"])],
    )


def _loss(p: Payload) -> None:
    say(f"\n3. Loss, written by {inline(p['written_by'])}, checked and frozen as {p['version']}")
    for refusal in p["refusals"]:
        say(f"  refused before: {inline(refusal)}")
    say(f"  {inline(p['expression'])}")
    say(f"  because: {inline(p['reason'])}")
    if p["cost_table"]:
        say("  what an answer costs (near: the two grades beside the threshold):")
        say_table(COST_COLUMNS, [tuple(_cell(line[name]) for name in COST_COLUMNS) for line in p["cost_table"]])


def _cell(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _validation(p: Payload) -> None:
    say(f"\n4. Better prompts; validation loss to beat: {p['loss']:.4f} ({_named_metrics(p)})")


def _named_metrics(p: Payload) -> str:
    known = ("precision", "recall", "specificity", "f1", "accuracy", "balanced_accuracy", "kappa", "mcc", "off_by_one")
    return ", ".join(f"{name} {number(p[name])}" for name in known if name in p)


def _step(p: Payload) -> None:
    line = f"  step {p['step']:>2}: batch loss {p['batch_loss']:.3f}"
    if "loss" in p:
        line += f", validation loss {p['loss']:.4f} ({_named_metrics(p)})"
    say(f"{line}: {inline(p['result'])}")
    _why(p)
    for other in p.get("others", ()):
        say(f"           beside it {other.get('version', 'none')}: {inline(other['result'])}")
        _why(other)


def _why(p: Payload) -> None:
    for violation in p.get("violations", ()):
        say(f"           {violation['name']}: {inline(violation['detail'])}")
    if p.get("reason"):
        say(f"           {inline(p['reason'])}")


def _survivor(p: Payload) -> None:
    say(f"  best on validation: {p['version'] or 'none; the prompt stays as it is'}")


def _decision(p: Payload) -> None:
    say(f"\n5. Gate, on the holdout: {p['outcome'].upper()}")
    say(f"  {inline(p['reason'])}")
    if p.get("target"):
        lines = [_change_line("target", p["target"])]
        lines += [_change_line(f"guard, {g['state']}", g["change"]) for g in p["guards"] if g["change"]]
        lines += [_change_line("slice", p["slice_change"])] if p["slice_change"] else []
        say_table(("", "metric", "before", "after", "change", "95 % interval", "n", "groups"), lines, left=2)
        for guard in p["guards"]:
            say(f"  {inline(describe_guard(guard))}")
        answered = f"rows answered {p['coverage_before']:.1%} before, {p['coverage_after']:.1%} after"
        say(f"  look {p['look']} at this holdout, alpha {p['alpha']:.4f}; {answered}")
        for line in describe_unanswered(p):
            say(f"  {line}")
    if p.get("simulated"):
        say("  [SIMULATED: says nothing about real models]")


def say_verdict(decision: Payload) -> None:
    """Print a gate's decision in a few lines: the outcome, and what the sealed rows say of each metric."""
    simulated = "  [SIMULATED: says nothing about real models]" if decision.get("simulated") else ""
    say(f"\n{decision['outcome'].upper()}{simulated}")
    if not decision.get("target"):
        say(f"  {inline(decision['reason'])}")
        return
    changes = [("target", decision["target"])]
    changes += [("guard", guard["change"]) for guard in decision["guards"] if guard["change"]]
    for role, change in changes:
        interval = "no interval" if change["low"] is None else f"95 % {change['low']:+.3f} .. {change['high']:+.3f}"
        moved = f"{number(change['before'])} -> {number(change['after'])}"
        say(f"  {role:<6}  {change['metric']} {moved}: {change['difference']:+.3f} ({interval})")
    say(f"  on {decision['target']['n']:,} sealed rows that nobody tuned on")


def _change_line(role: str, c: Payload) -> tuple[str, ...]:
    interval = "n/a" if c["low"] is None else f"{c['low']:+.3f} .. {c['high']:+.3f}"
    return (
        role,
        c["metric"],
        number(c["before"]),
        number(c["after"]),
        f"{c['difference']:+.3f}",
        interval,
        str(c["n"]),
        str(c["groups"]),
    )


def _hunks(p: Payload) -> None:
    say(f"\nWhich words earned it, on {p['n']:,} validation rows in {p['groups']} groups that the edit was chosen on")
    lines = [
        (str(h["number"]), h["mark"], how.replace("_", " "), *_effect(h[how]["metric"]))
        for h in p["hunks"]
        for how in ("left_out", "alone")
    ]
    say_table(("hunk", "mark", "measured", p["metric"], "95 % interval"), lines, left=3)
    for h in p["hunks"]:
        words = " ".join((*(f"-[{text}]" for text in h["old"]), *(f"+[{text}]" for text in h["new"])))
        say(f"  {h['number']}. {h['part']}: {inline(words)}")
    for note in p["notes"]:
        say(f"  note: {inline(note)}")


def _effect(found: Payload) -> tuple[str, str]:
    value = "n/a" if found["value"] is None else f"{found['value']:+.3f}"
    return value, "n/a" if found["low"] is None else f"{found['low']:+.3f} .. {found['high']:+.3f}"


def _threshold(p: Payload) -> None:
    if "rules" not in p:
        say(f"\nThreshold: not chosen again; {inline(p['reason'])}")
        return
    rules = {name: f"{rule['threshold']:g}" for name, rule in p["rules"].items()}
    say(
        f"\nThreshold, chosen again on {p['n']:,} validation rows: {rules['before']} serves the old prompt best, "
        f"{rules['after']} the new one (in force: {rules['old']})"
    )
    lines = [
        _change_line(role, c)
        for role, found in (("in force", p["at_old"]), ("each its own", p["retuned"]))
        for c in found.values()
        if c
    ]
    say_table(("threshold", "metric", "before", "after", "change", "95 % interval", "n", "groups"), lines, left=2)
    for note in p["notes"]:
        say(f"  note: {inline(note)}")


def _everything(p: Payload) -> None:
    sides = [p[side] for side in ("before", "after") if side in p]
    if len(sides) == 1:
        say("\nThe open rows as they are (there is no new prompt, so the sealed rows stay sealed)")
    elif holds_sealed_rows(p):
        say("\nThe whole benchmark, before -> after (includes the rows the prompt was tuned on)")
    else:
        say("\nThe open rows, before -> after (the prompt was tuned on them: no figures to report)")
        say("  Without an accept the holdout's only figures are the gate's own above; the final rows stay sealed")
    lines = [_sides_line("pooled", [side["pooled"] for side in sides])]
    lines += [_sides_line(name, [side["by"].get(name) for side in sides]) for name in p["before"]["by"]]
    say_table((p["by"] or "rows", "n", *_BRIEF), lines)
    _say_intervals("pooled", [side["pooled"] for side in sides])
    values = {name: [side["by"].get(name) for side in sides] for name in p["before"]["by"]}
    say_undefined(
        (f"{metric} of {name}", table["metrics"][metric])
        for name, tables in values.items()
        for table in tables
        if table
        for metric in _BRIEF
    )
    if "final" in p["before"]:
        say("\nThe figure to report: the final rows, opened after the decision, before -> after")
        _say_intervals("final", [side["final"] for side in sides])
        for line in describe_final(p):
            say(f"  {line}")
    if p["final_opened"] > 1:
        say(f"  these final rows have been opened {p['final_opened']} times by now; fresh labels would say more")


def holds_sealed_rows(everything: Payload) -> bool:
    """Say whether a closing table is over all rows; earlier versions did not write it down, and left none out."""
    return bool(everything.get("includes_sealed_rows", "after" in everything))


def _say_intervals(name: str, tables: Sequence[Payload]) -> None:
    """The few metrics of a closing table with their 95 % intervals."""
    head = (f"{name}, n = {tables[0]['n']:,}", "before", "95 % interval", "after", "95 % interval")
    lines = []
    for metric in _BRIEF:
        sides = [_metric_line(metric, table["metrics"][metric])[1:3] for table in tables]
        lines.append((metric, *(cell for side in sides for cell in side)))
    say_table(head[: 1 + 2 * len(tables)], lines)
    say_undefined((metric, table["metrics"][metric]) for table in tables for metric in _BRIEF)


def _sides_line(name: str, tables: Sequence[Payload | None]) -> tuple[str, ...]:
    """One line of the closing table: each metric before and after."""
    values = [[number(t["metrics"][metric]["value"]) if t else "n/a" for t in tables] for metric in _BRIEF]
    return name, str(tables[0]["n"] if tables[0] else 0), *(" -> ".join(pair) for pair in values)


def _decided(p: Payload) -> None:
    part = f" (hunks {', '.join(map(str, p['hunks']))} of {p['of']})" if p.get("hunks") else ""
    comment = f": {inline(p['comment'])}" if p["comment"] else ""
    say(f"\n{p['verb'].capitalize()}{part} by {inline(p['who'])}{comment}")


_SAY: dict[str, Callable[[Payload], None]] = {
    "started": _started,
    "split": _split,
    "benchmark": _benchmark,
    "slice": _slice,
    "loss": _loss,
    "validation": _validation,
    "step": _step,
    "survivor": _survivor,
    "hunks": _hunks,
    "decision": _decision,
    "threshold": _threshold,
    "everything": _everything,
    "decided": _decided,
}


def say_nothing(kind: str, payload: Payload) -> None:
    """Listen to a run without printing; the JSON object comes at its end."""
