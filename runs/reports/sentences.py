"""What a run did and what a decision rests on, in sentences: each is here once, for terminal, page
and files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...judges.asked_question import verdict_scale
from ...judges.metrics.catalog import sign_of
from ...optimize import BY_GATE
from ...optimize.holdout.digits import apart
from ...optimize.outcome import in_words
from .numbers import NONE, count, interval, number, p_value, percent, price, signed

if TYPE_CHECKING:
    from ...optimize.events import (
        ChancesReckoned,
        Evidence,
        FloorRecord,
        GuardRecord,
        Json,
        Remeasured,
        SliceChosen,
        StepTaken,
        ThresholdTuned,
    )
    from ..actions.run_summary import CostSummary, RunSummary


def describe_outcome(outcome: str) -> str:
    """Name an outcome, and the gate where it said so."""
    return f"Gate: {outcome}" if outcome in BY_GATE else outcome.capitalize()


def describe_chance(chances: ChancesReckoned | None) -> list[str]:
    """Say how likely the gate was to accept what the search ended with, and what that rests on."""
    if chances is None:
        return []
    if chances.chosen is None:
        return ["no arm did better than the prompt in use"]
    best, estimate = chances.candidates[chances.chosen], chances.estimate
    target = chances.metric
    parts = [f"{in_words(estimate['target'])} for the gain of {target}"]
    parts += [f"{in_words(chance)} for {name}" for name, chance in estimate["guards"].items()]
    lines = [
        f"chance of acceptance: {in_words(chances.accepted)} ({', '.join(parts)} alone), of"
        f" {_name_arm(best)} on a holdout of {count(chances.holdout_rows)} rows in"
        f" {count(chances.holdout_groups)} groups"
    ]
    rows = f"{count(chances.rows)} open rows that the optimizer model was not shown"
    if chances.training_rows:
        rows += f", {count(chances.training_rows)} of them training rows"
    if "arm" in best:
        rows = f"{count(chances.rows)} open rows, each by a prompt that had not seen its label"
    promise = f"{signed(estimate['expected'][target])} ± {number(estimate['error'][target])}"
    luck = f"without the luck of the best of {count(chances.tried)}, " if chances.tried > 1 else ""
    own = ""
    if chances.own is not None and chances.optimism is not None:
        change, heart = (
            signed(value[target]) for value in (chances.own["measured"], chances.optimism)
        )
        own = (
            f"; the prompt that was written from all of them changes it by {change} there, and"
            f" {heart} is what the arm's prompts do better on rows they were written from"
        )
    lines.append(
        f"on {rows}, {target} changed by {signed(best['measured'][target])}{own}; {luck}the"
        f" estimate for new rows is {promise}"
    )
    return lines


def _name_arm(candidate: Json) -> str:
    """Name what went to the gate, by its arm or, in runs of earlier versions, by its version."""
    rule, arm, steps = candidate["rule"], candidate.get("arm"), candidate.get("steps")
    name = str(candidate["version"])
    if arm is not None:
        name = f"{arm} after {steps} step{'s' * (steps != 1)}" if steps else "the prompt in use"
    return name if rule is None else f"{name} at threshold {rule['threshold']:g}"


def describe_threshold(threshold: ThresholdTuned) -> str:
    """Say what another threshold alone would give, in a run that began with it."""
    if threshold.rules is None:
        return f"no other threshold: {threshold.reason}"
    old, new = (threshold.rules[name]["threshold"] for name in ("old", "before"))
    if "after" in threshold.rules:  # earlier runs chose it after an accept, for both prompts
        after = threshold.rules["after"]["threshold"]
        return (
            f"threshold, chosen again on {count(threshold.n)} validation rows: {new:g} serves the"
            f" old prompt best, {after:g} the new one (in force: {old:g})"
        )
    if old == new:
        return (
            f"the threshold {old:g} in force serves {threshold.metric} best on {count(threshold.n)}"
            " open rows"
        )
    changes = [
        f"{name} {number(change['after'])} for {number(change['before'])},"
        f" {signed(change['difference'])} ({interval(change, change=True, missing=NONE)})"
        for name, change in (threshold.retuned or {}).items()
        if change
    ]
    return (
        f"the threshold {new:g} in place of {old:g} alone would give {', '.join(changes)},"
        f" cross-fitted on {count(threshold.n)} open rows: that is what a new prompt has to beat"
    )


def describe_look(number_of_look: int, level: float) -> str:
    """Say which look at the holdout it was, what a look is, and at which level it was tested."""
    return (
        f"look {number_of_look} at this holdout (a look is a test on its sealed rows, and makes the"
        f" next one stricter), at significance level {number(level, 4)}"
    )


def describe_equal_gain(equal: Json | None, target: Json | None) -> list[str]:
    """Say what is left of the target's change at the same recall, and when the new prompt is below
    the old one's curve.

    Args:
        equal: As `EqualGain` has it; None of older decisions.
        target: The target's change; None where it is not defined.
    """
    if equal is None or target is None:
        return []
    change, metric, where = equal["change"], target["metric"], f"at the same {equal['held']}"
    if change is None:
        return [f"the gain in {metric} {where}: n/a, {equal['reason']}"]
    gains = f"{metric} gains {signed(change['difference'])} ({spread_of(change)})"
    gain = f"{where} ({number(equal['at'])}) {gains}"
    there = f"thresholds, which give {number(change['before'])} there"
    if round(change["difference"], 3) < 0:
        return [f"{gain}: the new prompt is below the curve of the old one's {there}"]
    return [f"{gain} over the old prompt's {there}"]


def describe_guard(guard: GuardRecord) -> str:
    """Say what a guard allows, the one-sided bound that was tested, and what became of it."""
    sign = sign_of(guard.metric)
    broken = guard.state == "broken" and guard.high is not None
    limit = guard.high if broken else guard.low
    margin, tested = apart(-sign * guard.margin, 0.0 if limit is None else sign * limit, sign="+")
    if limit is None:
        bound = "has no bound"
    else:
        against = (
            "" if guard.p is None or broken else f"; p against such a loss: {p_value(guard.p)}"
        )
        least = "least" if (sign > 0) != broken else "most"
        bound = f"is at {least} {tested} (one-sided 95 % bound{against})"
    if guard.worst_low is not None:
        bound += f", or {signed(sign * guard.worst_low)} with unanswered rows counted against it"
    states = {"held": "the guard holds", "broken": "the guard is broken"}
    state = states.get(guard.state, "that is undecided")
    bounds = [low for low in (guard.low, guard.worst_low) if low is not None]
    if guard.state == "undecided" and guard.change and bounds and min(bounds) > -guard.margin:
        state += (
            f", because only {guard.change['bearing_groups']} groups of the holdout bear on"
            f" {guard.metric}"
        )
    worse = "fall" if sign > 0 else "rise"
    return f"{guard.metric} may not {worse} by {margin[1:]}; its change {bound}: {state}"


def describe_floor(floor: FloorRecord) -> str:
    """Say what a floor asks for, the one-sided bound that was tested, and what became of it."""
    broken = floor.state == "broken" and floor.high is not None
    limit = floor.high if broken else floor.low
    bound = "without a bound"
    if limit is not None:
        bound = (
            f"at {'most' if broken else 'least'} {apart(limit, floor.floor)[0]} (one-sided 95 %"
            " bound)"
        )
    if floor.worst_low is not None:
        bound += f", or {number(floor.worst_low)} with unanswered rows counted against it"
    states = {"held": "the floor holds", "broken": "it is under the floor"}
    state = states.get(floor.state, "that is undecided")
    return (
        f"{floor.metric} must be at least {number(floor.floor)}; it is {number(floor.value)},"
        f" {bound}: {state}"
    )


def describe_evidence(evidence: Evidence) -> list[str]:
    """Say what a decision rests on, beside the table of changes: what is left of the gain at the
    same recall, every guard and floor, the rows without an answer, and which look it was.
    """
    lines = describe_equal_gain(evidence.equal_gain, evidence.target) + describe_limits(evidence)
    if evidence.veto:
        lines.append(
            f"where {evidence.veto}, more verdicts went wrong than were mended: that is a veto"
        )
    before, after = evidence.coverage_before, evidence.coverage_after
    answered = f"rows answered: {percent(before)} before, {percent(after)} after"
    if evidence.worst_case and min(before, after) < 1:
        worst, best = map(signed, evidence.worst_case)
        answered += f"; the rest could make the change {worst} or {best}"
    look = describe_look(evidence.look, evidence.alpha)
    return [*lines, answered, *describe_unanswered(evidence), look]


def describe_limits(evidence: Evidence) -> list[str]:
    """Say what became of every guard and every floor."""
    guards = [describe_guard(guard) for guard in evidence.guards]
    return guards + [describe_floor(floor) for floor in evidence.floors or ()]


def describe_unanswered(evidence: Evidence) -> list[str]:
    """Say which rows were asked again, and what those that stayed unanswered on one side make of
    the target.
    """
    lines = []
    if evidence.asked_again:
        rounds = evidence.asked_again
        times = "once" if len(rounds) == 1 else f"up to {len(rounds)} times"
        remaining = f"{rounds[-1]['left']:,} stayed unanswered on a side"
        lines.append(
            f"{rounds[0]['rows']:,} unanswered rows were asked again {times}, on both sides;"
            f" {remaining}"
        )
    if evidence.unanswered:
        worst = evidence.target_worst
        change = "the target is undefined"
        if worst is not None:
            change = (
                f"{worst['metric']} changes by {signed(worst['difference'])} (p"
                f" {p_value(worst['p'])})"
            )
        rows = f"{evidence.unanswered:,} rows that one side alone answered"
        lines.append(f"with {rows} counted against the new prompt {change}")
    return lines


def closing_heading(event: Remeasured) -> list[str]:
    """Say which rows the closing figures are of, and what they are good for."""
    if len(event.sides) == 1:
        return [
            "The open rows as they are (there is no new prompt, so the sealed rows stay sealed)"
        ]
    if event.includes_sealed_rows:
        return ["The whole benchmark, before -> after (includes the rows the prompt was tuned on)"]
    return [
        "The open rows, before -> after (the prompt was tuned on them: no figures to report)",
        "Without an accept the holdout's only figures are the gate's own above; the final rows"
        " stay sealed",
    ]


def describe_final(closing: Remeasured | None) -> list[str]:
    """Describe the paired changes on the final rows, and each guard that they passed; empty where
    none were opened.
    """
    if closing is None:
        return []
    lines = [closing.final_note] if closing.final_note else []
    if closing.final_change is None:
        return lines
    final = closing.final_change
    if final["target"]:
        lines.append(_describe_change(final["target"]))
    lines += [
        f"on the final rows, {line}"
        for line in describe_equal_gain(final.get("equal_gain"), final["target"])
    ]
    for guard in final["guards"]:
        change = guard["change"]
        if change is None:
            continue
        line = _describe_change(change)
        if sign_of(guard["metric"]) * change["difference"] <= -guard["margin"]:
            line += (
                f". The guard is passed there: a loss under {number(guard['margin'])} was allowed"
            )
        lines.append(line)
    return lines


def spread_of(change: Json) -> str:
    """Return the interval of a change, as a sentence has it in brackets."""
    return "no interval" if change["low"] is None else f"95 % {interval(change, change=True)}"


def _describe_change(change: Json) -> str:
    values = f"{number(change['before'])} -> {number(change['after'])}"
    gain = f"{signed(change['difference'])} paired ({spread_of(change)})"
    return f"on the final rows {change['metric']} {values}, {gain}"


def step_name(event: StepTaken) -> str:
    """Name a step: in runs of today with its arm and its fold."""
    if event.arm is None:
        return f"step {event.step:2}"
    fold = "all open rows" if event.fold is None else f"fold {event.fold}"
    return f"{event.arm}, {fold}, step {event.step}"


def judged_part(event: StepTaken) -> str:
    """Say what loss a step's proposal had on which rows; empty where it was judged on none."""
    proposal, rows = event.proposal, event.proposal.validation_rows
    if proposal.loss is None:
        return ""
    name = "validation loss" if event.arm is None else "loss"
    where = "" if rows is None else f" on {rows:,} {'other ' if event.arm else ''}rows"
    return f"{name} {number(proposal.loss, 4)}{where}"


def slice_heading(event: SliceChosen) -> str:
    """Say what kind of slice a run chose: a confirmed target, the likeliest of several, one that
    was named, or none.
    """
    if event.evidence not in (None, "confirmed", "likely"):
        return event.evidence
    chosen = next((one for one in event.slices if one["predicate"] == event.name), None)
    if chosen is not None and chosen["prompt_target"]:
        return "where the errors point one way"
    if chosen is not None:
        return "none is a target, the likeliest is taken"
    if event.predicate is None:
        return "none, the run is unguided: all rows are taken"
    return "named by the caller"


def describe_new_threshold(run: RunSummary) -> str:
    """Say from which grade on the best candidate's yes begins, where a threshold of its own
    decides; else nothing.
    """
    if run.new_rule is None:
        return ""
    rule = run.config.decision_rule
    scale = run.before.scale
    if run.config.judge_settings.api is not None:
        scale = verdict_scale(scale)
    old = scale.threshold if rule is None else rule.threshold
    new = run.new_rule.threshold
    moved = f"the threshold goes from {old:g} to {new:g}, so that yes begins at a score of {new:g}"
    return (
        moved
        if run.words_differ
        else f"no word of {run.before.name}@{run.before.version} changes: {moved}"
    )


def describe_cost(cost: CostSummary) -> str:
    """Say what a run took for what it gained, resumes included."""
    parts = [f"{cost.calls:,} calls"]
    if cost.points:
        each = f"{cost.calls_per_point:,.0f} calls and {price(cost.cost_per_point)}"
        parts.append(f"{each} for each of {cost.points:.1f} accepted points")
    return "; ".join(parts)
