"""The gate's answer for people: the question, the decision, and the evidence."""

from __future__ import annotations

from ...optimize.events import Evidence
from ..actions.bench import describe_spending
from ..actions.decide import Gated, label_next
from ..terminal import inline, say, say_table, simulated_mark
from .gate_sentences import (
    P_MEANS,
    change_cells,
    describe_evidence,
    describe_unanswered,
    gate_changes,
)
from .numbers import count, number, percent, signed
from .objective_report import say_objective

HEAD = (
    "",
    "metric",
    "before",
    "after",
    "change",
    "95 % interval",
    "p",
    "n",
    "groups",
    "bear on it",
)


def say_gated(gated: Gated) -> None:
    """Print an answer of the gate."""
    answer, decision = gated.answer, gated.answer.decision
    simulated = simulated_mark(answer.simulated)
    by = f" with {inline(answer.model)}" if answer.model else ""
    say(
        f"{inline(answer.before)} -> {inline(answer.after)} on {inline(answer.data)}{by}{simulated}"
    )
    say_objective(answer.objective)
    say(f"  {count(answer.rows)} rows in {count(answer.groups)} groups")
    for note in answer.notes:
        say(f"  note: {inline(note)}")
    for note in describe_spending(gated.stats) if gated.stats else ():
        say(f"  note: {note}")
    if gated.repeated:
        say(
            f"  note: the same question was answered in run {gated.run_id}; this is that answer,"
            " and no look is spent"
        )
    say(f"\n{decision.outcome.upper()}: {inline(decision.reason)}")
    if decision.evidence is not None:
        _say_evidence(decision.evidence, slice_=answer.slice)
    say(f"run {gated.run_id}")
    if command := label_next(decision):
        say(f"Label the rows that it takes:  {command} --run {gated.run_id}")


def _say_evidence(evidence: Evidence, *, slice_: str) -> None:
    lines = [
        (*change_cells(*line), count(line[1]["changed_groups"])) for line in gate_changes(evidence)
    ]
    if lines:
        say_table(HEAD, lines, left=2)
        say(f"  {P_MEANS}")
    if slice_:
        say(f"  slice: {inline(slice_)}")
    for line in describe_evidence(evidence):
        say(f"  {inline(line)}")
    before, after = percent(evidence.coverage_before), percent(evidence.coverage_after)
    answered = f"rows answered: {before} before, {after} after"
    if evidence.worst_case and min(evidence.coverage_before, evidence.coverage_after) < 1:
        low, high = evidence.worst_case
        answered += f"; the rest could make the change {signed(low)} or {signed(high)}"
    say(f"  {answered}")
    for line in describe_unanswered(evidence):
        say(f"  {line}")
    say(f"  look {evidence.look} at this holdout: alpha {number(evidence.alpha, 4)}")
