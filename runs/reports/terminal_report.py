"""What a person reads: benchmarks as tables, and each event of a run as a few lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...judges import Benchmark
from ...judges.metrics import CHOICE_METRICS, headline_metrics
from ...judges.metrics.macro_average import MacroMean
from ...optimize import BY_GATE
from ...optimize.events import (
    Benchmarked,
    BestCandidate,
    ChancesReckoned,
    DecisionRecord,
    GateDecided,
    HunksMeasured,
    Json,
    LossFrozen,
    ProposalRecord,
    Remeasured,
    Reviewed,
    RowsSplit,
    RunEvent,
    SearchStarted,
    SliceChosen,
    Started,
    StepTaken,
    ThresholdTuned,
)
from ...slices.search_result import CALIBRATION
from ..actions.decide import OF_HOLDOUT, label_next
from ..terminal import inline, say, say_table, simulated_mark
from .gate_sentences import (
    describe_chance,
    describe_equal_gain,
    describe_evidence,
    describe_final,
    describe_threshold,
    describe_unanswered,
    gate_changes,
    spread_of,
)
from .numbers import NONE, count, interval, number, p_value, percent, signed, step_result
from .objective_report import say_objective
from .search_report import archive_table, describe_origin, seen_part

Payload = Mapping[str, Any]  # Any: JSON out of the journal
METRIC_ORDER = (
    *("precision", "recall", "specificity", "f1", "accuracy", "balanced_accuracy", "mcc", "kappa"),
    *(
        "accuracy_grades",
        "f1_macro_grades",
        "kappa_grades",
        "kappa_linear",
        "kappa_quadratic",
        "off_by_one",
        "mae",
    ),
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


def ordered_metrics(names: Iterable[str]) -> list[str]:
    """Return the names of metrics in the order of every report."""
    left = set(names)
    return [*(name for name in METRIC_ORDER if name in left), *sorted(left - set(METRIC_ORDER))]


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
    simulated = simulated_mark(body["simulated"])
    say(f"\n{inline(title)}{simulated}")
    unscored = sum(body["unscored"].values())
    why = ", ".join(f"{count} {reason}" for reason, count in body["unscored"].items())
    say(
        f"  {body['n']:,} rows scored in {body['groups']:,} groups, {unscored}"
        f" unscored{f' ({why})' if why else ''}"
    )
    if body["unscored"].get("truncated"):
        say(
            "  truncated: cut at the limit of tokens, and again with twice the room; a larger"
            " --max-tokens gives more"
        )
    cells, names = body["confusion"], ordered_metrics(body["metrics"])
    if not brief and "precision" in names:
        say(
            f"  judge says yes: {cells['tp']} right, {cells['fp']} wrong; no: {cells['tn']} right,"
            f" {cells['fn']} wrong"
        )
    # Benchmarks of earlier versions have no warning.
    if body.get("warning"):
        say(f"  {inline(body['warning'])}")
    shown: Sequence[str] = names
    if brief:
        shown = [name for name in _brief(body) if name in names]
    elif headline:
        shown = headline_metrics(names)
    metrics = {name: body["metrics"][name] for name in shown}
    say_table(
        ("metric", "value", "95 % interval", "n"),
        [_metric_line(name, m) for name, m in metrics.items()],
    )
    say_undefined(metrics.items())
    if headline and len(names) > len(shown):
        say(f"  {len(names) - len(shown)} more metrics: --metrics all, or --json")
    for note in body["notes"]:
        say(f"  note: {inline(note)}")


def say_macro(means: Mapping[str, MacroMean], *, column: str) -> None:
    """Print the means over the values of a column, each with how many values it is over, and what
    it leaves out.
    """
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
    return name, number(metric["value"]), interval(metric, missing=""), count(metric["n"])


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


def say_event(event: RunEvent) -> None:
    """Print one event of a run; a kind that is not for people prints nothing."""
    if isinstance(event, Benchmarked):
        _say_measured(
            event.benchmark,
            title="1. Benchmark: the judge as it is, on training and validation rows",
        )
    elif isinstance(event, BestCandidate):
        say(f"  best on validation: {event.version or 'none; the prompt stays as it is'}")
        heading, lines = archive_table(event.archive)
        if lines:
            say(
                "  candidates that no other beats in everything, with their changes on validation"
                " rows:"
            )
            say_table(heading, lines, left=2)
    elif event.kind in _SAY:
        _SAY[event.kind](event)


def _started(event: Started) -> None:
    simulated = simulated_mark(event.simulated)
    data, model = inline(event.data), inline(event.model)
    say(f"Optimizing {inline(event.judge)} on {data} ({event.rows:,} rows) with {model}{simulated}")
    say_objective(event.objective)
    for note in event.notes:
        say(f"  note: {inline(note)}")


def _split(event: RowsSplit) -> None:
    parts = ", ".join(f"{name} {event.rows[name]}" for name in PARTS)
    say(f"\nSplit: {parts} rows (holdout and final are sealed)")
    if event.next_look and event.next_look["number"] > 1:
        number_, alpha = event.next_look["number"], event.next_look["alpha"]
        spent = "; ".join(event.next_look.get("spent", ())) or "earlier looks were spent on them"
        say(
            f"  the gate would be look {number_} at these rows (alpha {alpha:.4f}): {inline(spent)}"
        )
    for note in event.notes:
        say(f"  {inline(note)}")


def _slice(event: SliceChosen) -> None:
    say(f"\n2. Slice: {slice_heading(event)}")
    slices = event.slices[:8]
    if slices:
        head = ("slice", "n", "value", "rest", "surely", "p", "direction", "standing", "target")
        say_table(head, [_slice_line(one) for one in slices])
    for predicate, reason in missed_targets(slices):
        say(f"  confirmed, but no target: {inline(predicate)} ({inline(reason)})")
    outputs = event.judge_outputs or ()
    say_outputs(outputs, event.metric or "value", indent="  ")
    printed = {output["column"] for output in outputs}
    skipped = event.skipped_columns or {}
    for line in describe_left_out(
        {name: why for name, why in skipped.items() if name not in printed}
    ):
        say(f"  not searched: {line}")
    say(f"  chosen: {inline(event.name)}")
    say(f"  why:    {inline(event.why)}")


def slice_heading(event: SliceChosen) -> str:
    """Say what kind of slice a run chose: a confirmed target, the likeliest of several, one that
    was named, or none.
    """
    if event.standing not in (None, "confirmed", "likely"):
        return event.standing
    chosen = next((one for one in event.slices if one["predicate"] == event.name), None)
    if chosen is not None and chosen["prompt_target"]:
        return "where the errors point one way"
    if chosen is not None:
        return "none is a target, the likeliest is taken"
    if event.predicate is None:
        return "none, the run is unguided: all rows are taken"
    return "named by the caller"


def slice_standing(one: Json) -> str:
    """Say how sure a slice is; earlier versions wrote only whether it is confirmed."""
    return one.get("standing") or ("confirmed" if one["confirmed"] else "not confirmed")


def missed_targets(slices: Sequence[Json]) -> list[tuple[str, str]]:
    """Return the confirmed slices that are no target, each with the reason; earlier versions did
    not write it.
    """
    missed = []
    for one in slices:
        if one["confirmed"] and not one["prompt_target"] and one.get("why_no_target"):
            missed.append((one["predicate"], one["why_no_target"]))
    return missed


def say_outputs(outputs: Sequence[Payload], metric: str, *, indent: str = "") -> None:
    """Print the metric at the values of what judges said; of many outputs the first few.

    Args:
        outputs: As `JudgeOutput.to_json` gives them.
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


def describe_left_out(left_out: Mapping[str, str]) -> list[str]:
    """Name the columns that were not searched, those with the same reason together."""
    by_reason: dict[str, list[str]] = {}
    for column, why in left_out.items():
        by_reason.setdefault(why, []).append(column)
    return [f"{inline(', '.join(columns))} ({inline(why)})" for why, columns in by_reason.items()]


def _slice_line(s: Payload) -> tuple[str, ...]:
    yes = {True: "yes", False: "no"}
    direction = str(s["direction"] or "-")
    return (
        str(s["predicate"]),
        str(s["n"]),
        number(s["value"]),
        number(s["rest"]),
        # Earlier versions wrote no bound.
        number(s.get("bound")),
        p_value(s["p"]),
        inline(direction.upper() if direction in ("fp", "fn") else direction),
        slice_standing(s),
        yes[bool(s["prompt_target"])],
    )


def _loss(event: LossFrozen) -> None:
    say(f"\n3. Loss, written by {inline(event.written_by)}, checked and frozen as {event.version}")
    for refusal in event.refusals:
        say(f"  refused before: {inline(refusal)}")
    say(f"  {inline(event.expression)}")
    say(f"  because: {inline(event.reason)}")
    say_costs(event.cost_table)


def say_costs(table: Sequence[Mapping[str, Any]]) -> None:  # Any: JSON
    """Print what each outcome costs at two confidences, inside and outside the slice."""
    if table:
        # Of a choice a line is people's class, a column the judge's.
        of_classes = "label" in table[0]
        columns = COST_COLUMNS
        if of_classes:
            first = ("place", "confidence", "label")
            columns = (*first, *(name for name in table[0] if name not in first))
        near = "" if of_classes else " (near: the two grades beside the threshold)"
        say(f"  what an answer costs{near}:")
        lines = []
        for line in table:
            cells = (line[name] for name in columns)
            lines.append(
                [number(cell) if isinstance(cell, float) else inline(str(cell)) for cell in cells]
            )
        say_table([inline(name) for name in columns], lines)


def _validation(event: SearchStarted) -> None:
    metrics = _named_metrics(event.metrics)
    say(f"\n4. Better prompts; validation loss to beat: {number(event.loss, 4)} ({metrics})")


def _named_metrics(metrics: Mapping[str, float | None]) -> str:
    named = (
        "precision",
        "recall",
        "specificity",
        "f1",
        "accuracy",
        "balanced_accuracy",
        "kappa",
        "mcc",
        "off_by_one",
    )
    ordered = [
        *(name for name in named if name in metrics),
        *(name for name in metrics if name not in named),
    ]
    return ", ".join(f"{inline(name)} {number(metrics[name])}" for name in ordered)


def _step(event: StepTaken) -> None:
    proposal = event.proposal
    line = f"  step {event.step:>2}: batch loss {number(event.batch_loss)}"
    if proposal.loss is not None:
        line += (
            f", validation loss {number(proposal.loss, 4)}{seen_part(event)}"
            f" ({_named_metrics(proposal.metrics)})"
        )
    say(f"{line}: {inline(step_result(proposal.result))}")
    _say_details(proposal)
    for other in event.others or ():
        say(f"           beside it {other.version or 'none'}: {inline(step_result(other.result))}")
        _say_details(other)


def _say_details(proposal: ProposalRecord) -> None:
    if origin := describe_origin(proposal):
        say(f"           {inline(origin)}")
    for violation in proposal.violations or ():
        say(f"           {violation.name}: {inline(violation.detail)}")
    if proposal.reason:
        say(f"           {inline(proposal.reason)}")


def _decision(event: GateDecided) -> None:
    decision, evidence = event.decision, event.decision.evidence
    by_gate = "Gate, on the holdout: " if decision.outcome in BY_GATE else ""
    say(f"\n5. {by_gate}{decision.outcome.upper()}")
    say(f"  {inline(decision.reason)}")
    if evidence is None:
        return
    if evidence.target:
        lines = [_change_line(role, change) for role, change, _ in gate_changes(evidence)]
        say_table(
            ("", "metric", "before", "after", "change", "95 % interval", "n", "groups"),
            lines,
            left=2,
        )
        for line in describe_evidence(evidence):
            say(f"  {inline(line)}")
        before, after = percent(evidence.coverage_before), percent(evidence.coverage_after)
        answered = f"rows answered {before} before, {after} after"
        say(
            f"  look {evidence.look} at this holdout, alpha {number(evidence.alpha, 4)}; {answered}"
        )
        for line in describe_unanswered(evidence):
            say(f"  {line}")
    if evidence.simulated:
        say("  [SIMULATED: says nothing about real models]")
    if command := label_next(decision, share=OF_HOLDOUT):
        say(f"  label rows for it:  {command}")


def say_verdict(decision: DecisionRecord, *, simulated: bool) -> None:
    """Print a gate's decision in a few lines: the outcome, and what the sealed rows say of each
    metric.

    Args:
        decision: The gate's, or that nothing was sent to it.
        simulated: Whether a simulated model answered.
    """
    evidence = decision.evidence
    say(f"\n{decision.outcome.upper()}{simulated_mark(simulated)}")
    if evidence is None or not evidence.target:
        say(f"  {inline(decision.reason)}")
        return
    changes = [("target", evidence.target)]
    changes += [("guard", guard.change) for guard in evidence.guards if guard.change]
    for role, change in changes:
        values = f"{number(change['before'])} -> {number(change['after'])}"
        gain = f"{signed(change['difference'])} ({spread_of(change)})"
        say(f"  {role:<6}  {change['metric']} {values}: {gain}")
    for line in describe_equal_gain(evidence.equal_gain, evidence.target):
        say(f"          {line}")
    say(f"  on {count(evidence.target['n'])} sealed rows that nobody tuned on")


def _change_line(role: str, change: Json) -> tuple[str, ...]:
    return (
        role,
        change["metric"],
        number(change["before"]),
        number(change["after"]),
        signed(change["difference"]),
        interval(change, change=True),
        str(change["n"]),
        str(change["groups"]),
    )


def _hunks(event: HunksMeasured) -> None:
    rows = f"{event.n:,} validation rows in {event.groups} groups"
    say(f"\nWhich words earned it, on {rows} that the edit was chosen on")
    lines = []
    for hunk in event.hunks:
        for how in ("left_out", "alone"):
            effect = hunk[how]["metric"]
            spread = interval(effect, change=True, missing=NONE)
            lines.append(
                (
                    str(hunk["number"]),
                    hunk["mark"],
                    how.replace("_", " "),
                    signed(effect["value"]),
                    spread,
                )
            )
    say_table(("hunk", "mark", "measured", event.metric, "95 % interval"), lines, left=3)
    for hunk in event.hunks:
        words = " ".join(
            (*(f"-[{text}]" for text in hunk["old"]), *(f"+[{text}]" for text in hunk["new"]))
        )
        say(f"  {hunk['number']}. {hunk['part']}: {inline(words)}")
    for note in event.notes:
        say(f"  note: {inline(note)}")


def _chance(event: ChancesReckoned) -> None:
    say("")
    for line in describe_chance(event):
        say(f"  {inline(line)}")


def _threshold(event: ThresholdTuned) -> None:
    if event.rules is None or "after" not in event.rules:
        say(f"  {inline(describe_threshold(event))}")
        for note in event.notes or ():
            say(f"  note: {inline(note)}")
        return
    # Earlier runs chose it after an accept, for both prompts.
    rules = {name: f"{rule['threshold']:g}" for name, rule in event.rules.items()}
    say(
        f"\nThreshold, chosen again on {event.n:,} validation rows: {rules['before']} serves the"
        f" old prompt best, {rules['after']} the new one (in force: {rules['old']})"
    )
    lines = []
    for role, changes in (("in force", event.at_old or {}), ("each its own", event.retuned or {})):
        lines += [_change_line(role, change) for change in changes.values() if change]
    say_table(
        ("threshold", "metric", "before", "after", "change", "95 % interval", "n", "groups"),
        lines,
        left=2,
    )
    for note in event.notes or ():
        say(f"  note: {inline(note)}")


def _closing(event: Remeasured) -> None:
    sides = list(event.sides.values())
    if len(sides) == 1:
        say("\nThe open rows as they are (there is no new prompt, so the sealed rows stay sealed)")
    elif event.includes_sealed_rows:
        say("\nThe whole benchmark, before -> after (includes the rows the prompt was tuned on)")
    else:
        say("\nThe open rows, before -> after (the prompt was tuned on them: no figures to report)")
        say(
            "  Without an accept the holdout's only figures are the gate's own above; the final"
            " rows stay sealed"
        )
    values = {name: [side.by.get(name) for side in sides] for name in event.before.by}
    lines = [_sides_line("pooled", [side.pooled for side in sides])]
    lines += [_sides_line(name, tables) for name, tables in values.items()]
    brief = _brief(event.before.pooled)
    say_table((event.by or "rows", "n", *brief), lines)
    _say_intervals("pooled", [side.pooled for side in sides])
    say_undefined(
        (f"{metric} of {name}", table["metrics"][metric])
        for name, tables in values.items()
        for table in tables
        if table
        for metric in brief
    )
    finals = [side.final for side in sides if side.final is not None]
    if finals:
        say("\nThe figure to report: the final rows, opened after the decision, before -> after")
        _say_intervals("final", finals)
        for line in describe_final(event):
            say(f"  {line}")
    if event.final_opened > 1:
        say(
            f"  these final rows have been opened {event.final_opened} times by now; fresh labels"
            " would say more"
        )


def _say_intervals(name: str, tables: Sequence[Json]) -> None:
    """Print the few metrics of a closing table with their 95 % intervals."""
    head = (f"{name}, n = {tables[0]['n']:,}", "before", "95 % interval", "after", "95 % interval")
    lines, brief = [], _brief(tables[0])
    for metric in brief:
        sides = [_metric_line(metric, table["metrics"][metric])[1:3] for table in tables]
        lines.append((metric, *(cell for side in sides for cell in side)))
    say_table(head[: 1 + 2 * len(tables)], lines)
    say_undefined((metric, table["metrics"][metric]) for table in tables for metric in brief)


def _brief(table: Json) -> Sequence[str]:
    """Return the few metrics that a closing table shows: of decisions, or of the classes of a
    choice.
    """
    return _BRIEF if "precision" in table["metrics"] else tuple(CHOICE_METRICS)


def _sides_line(name: str, tables: Sequence[Json | None]) -> tuple[str, ...]:
    """Return one line of the closing table: each metric before and after."""
    brief = next((_brief(table) for table in tables if table), _BRIEF)
    values = [
        [number(t["metrics"][metric]["value"]) if t else NONE for t in tables] for metric in brief
    ]
    return name, str(tables[0]["n"] if tables[0] else 0), *(" -> ".join(pair) for pair in values)


def _review(event: Reviewed) -> None:
    part = f" (hunks {', '.join(map(str, event.hunks))} of {event.of})" if event.hunks else ""
    comment = f": {inline(event.comment)}" if event.comment else ""
    say(f"\n{event.verb.capitalize()}{part} by {inline(event.who)}{comment}")


_SAY: Mapping[str, Callable[[Any], None]] = {  # Any: the event of that kind
    Started.kind: _started,
    RowsSplit.kind: _split,
    SliceChosen.kind: _slice,
    LossFrozen.kind: _loss,
    SearchStarted.kind: _validation,
    StepTaken.kind: _step,
    ChancesReckoned.kind: _chance,
    HunksMeasured.kind: _hunks,
    GateDecided.kind: _decision,
    ThresholdTuned.kind: _threshold,
    Remeasured.kind: _closing,
    Reviewed.kind: _review,
}


def say_nothing(event: RunEvent) -> None:
    """Listen to a run without printing; the JSON object comes at its end."""
