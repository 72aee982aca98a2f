"""A decision by labels of flips, for people: the question, how far it has come, and what to do next."""

from __future__ import annotations

from ...optimize.flips import ClaimState
from ..actions.bench import describe_spending
from ..actions.flip_gate import FlipGated
from ..terminal import inline, say, say_table, simulated_mark
from .numbers import count, number

HEAD = ("", "metric", "may fall by", "e-value for it", "accepts at", "e-value against", "refuses at")
EVIDENCE = "the highest so far, which counts: by chance x is reached at most once in x times, however often one looks"


def say_flips(gated: FlipGated) -> None:
    """Print how far a queue has come, or what it decided."""
    about, decision = gated.about, gated.decision
    by = (f" with {inline(about['model'])}" if about["model"] else "") + simulated_mark(about["simulated"])
    say(f"{inline(about['before'])} -> {inline(about['after'])} on {inline(about['data'])}{by}")
    rows = f"{count(about['rows'])} rows in {count(about['groups'])} groups, {count(about['flipped'])} of them flip"
    say(f"  {rows}; read as: {inline(about['objective']['read_as'])}")
    for note in (*about["notes"], *about["objective"]["notes"]):
        say(f"  note: {inline(note)}")
    for note in describe_spending(gated.stats) if gated.stats else ():
        say(f"  note: {note}")
    if decision.unused:
        say(f"  note: {count(decision.unused)} labels are not used, as other rows were drawn after a correction")
    say(f"\n{gated.outcome.upper()}: {inline(gated.reason)}")
    claims = [("target", decision.target), *(("guard", guard) for guard in decision.guards)]
    say_table(HEAD, [_cells(*claim) for claim in claims], left=2)
    say(f"  {EVIDENCE}")
    skipped = f", {count(decision.skipped)} skipped" if decision.skipped else ""
    taken = f"; {count(decision.holdout_labels)} of the holdout were taken in" if decision.holdout_labels else ""
    say(f"  {count(decision.labels - decision.skipped)} rows labelled{skipped}{taken}")
    say(f"  look {gated.look.number} at these rows: alpha {number(gated.look.alpha, 4)}; about {decision.estimand}")
    say(f"run {gated.run_id}")
    if gated.answer is None:
        if decision.left is not None and decision.left.hopeless:
            say(f"  {count(decision.left.most)} rows that can tell are left; they will hardly decide it")
        elif decision.left is not None:
            say(f"  labels likely left: {decision.left}, by what was labelled so far and what prompts usually do")
        say(f"Label:  judgewright label {gated.run_id}\nThen run this command again.")


def _cells(role: str, claim: ClaimState) -> tuple[str, ...]:
    margin = number(claim.margin) if role == "guard" else ""
    values = (min(claim.e_value, 1e6), claim.needed, min(claim.e_against, 1e6), claim.needed_against)
    return role, claim.metric, margin, *(f"{value:,.1f}" for value in values)
