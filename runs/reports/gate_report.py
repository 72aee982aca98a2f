"""The gate's answer for people, and how far a decision by labels of flips has come."""

from __future__ import annotations

from ...optimize.flips import ClaimState
from ..actions.bench import describe_spending
from ..actions.decide import Gated
from ..actions.label_flips import FlipGated
from .numbers import number
from .printing import say_template

MARGIN = "may fall by"
HEAD = ("", "metric", MARGIN, "evidence for it", "accepts at", "evidence against", "refuses at")


def say_gated(gated: Gated) -> None:
    """Print an answer of the gate."""
    answer = gated.answer
    notes = [*answer.notes, *(describe_spending(gated.stats) if gated.stats else ())]
    if gated.repeated:
        notes.append(
            f"the same question was answered in run {gated.run_id}; this is that answer, and no"
            " look is spent"
        )
    say_template("gated", gated=gated, answer=answer, decision=answer.decision, notes=notes)


def say_flips(gated: FlipGated, *, there: str = "") -> None:
    """Print how far a queue has come, or what it decided.

    Args:
        gated: The queue.
        there: The option with which a command finds the workspace; empty where it needs none.
    """
    about, decision = gated.about, gated.decision
    claims = [("target", decision.target), *(("guard", guard) for guard in decision.guards)]
    margins = bool(decision.guards)
    notes = [*about["notes"], *about["objective"]["notes"]]
    notes += describe_spending(gated.stats) if gated.stats else ()
    say_template(
        "flips",
        gated=gated,
        about=about,
        decision=decision,
        notes=notes,
        head=HEAD if margins else [name for name in HEAD if name != MARGIN],
        claims=[_cells(*claim, margins=margins) for claim in claims],
        there=there,
    )


def _cells(role: str, claim: ClaimState, *, margins: bool) -> tuple[str, ...]:
    margin = (number(claim.margin) if role == "guard" else "",) if margins else ()
    values = (
        *(min(claim.e_value, 1e6), claim.needed),
        *(min(claim.e_against, 1e6), claim.needed_against),
    )
    return role, claim.metric, *margin, *(f"{value:,.1f}" for value in values)
