"""The gate's answer for people: the question, the decision, and the evidence."""

from __future__ import annotations

from typing import Any

from ...optimize.events import DecisionRecord
from ..actions.bench import describe_spending
from ..actions.decide import Gated, label_next
from .gate_sentences import change_cells, gate_changes
from .numbers import count
from .printing import say_template

HEAD = (
    *("", "metric", "before", "after", "change", "95 % interval", "p", "n", "groups"),
    "bear on it",
)


def say_gated(gated: Gated) -> None:
    """Print an answer of the gate."""
    answer = gated.answer
    notes = [*answer.notes, *(describe_spending(gated.stats) if gated.stats else ())]
    if gated.repeated:
        notes.append(
            f"the same question was answered in run {gated.run_id}; this is that answer, and no"
            " look is spent"
        )
    say_template(
        "gated",
        gated=gated,
        answer=answer,
        notes=notes,
        command=label_next(answer.decision),
        **evidence_values(answer.decision) | {"slice": answer.slice},
    )


def evidence_values(decision: DecisionRecord) -> dict[str, Any]:  # Any: what the template names
    """Return what the template of a decision's evidence names."""
    evidence = decision.evidence
    moved, worst = [], None
    if evidence is not None:
        changes = gate_changes(evidence)
        moved = [(*change_cells(*line), count(line[1]["changed_groups"])) for line in changes]
        if min(evidence.coverage_before, evidence.coverage_after) < 1:
            worst = evidence.worst_case
    return {
        "decision": decision,
        "evidence": evidence,
        "head": HEAD,
        "moved": moved,
        "worst": worst,
        "slice": "",
    }
