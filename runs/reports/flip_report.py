"""A decision by labels of flips, for people: the question, how far it has come, and what to do
next.
"""

from __future__ import annotations

from ...optimize.flips import ClaimState, FlipDecision, FlipWins
from ..actions.bench import describe_spending
from ..actions.label_flips import FlipGated
from ..terminal import inline, say, say_table, simulated_mark
from .numbers import count, number

MARGIN = "may fall by"
HEAD = ("", "metric", MARGIN, "e-value for it", "accepts at", "e-value against", "refuses at")
EVIDENCE = (
    "the highest so far, which counts: by chance x is reached at most once in x times, however"
    " often one looks"
)


def say_flips(gated: FlipGated, *, there: str = "") -> None:
    """Print how far a queue has come, or what it decided.

    Args:
        gated: The queue.
        there: The option with which a command finds the workspace; empty where it needs none.
    """
    about, decision = gated.about, gated.decision
    by = (f" with {inline(about['model'])}" if about["model"] else "") + simulated_mark(
        about["simulated"]
    )
    say(f"{inline(about['before'])} -> {inline(about['after'])} on {inline(about['data'])}{by}")
    rows = (
        f"{count(about['rows'])} rows in {count(about['groups'])} groups, {count(about['flipped'])}"
        " of them flip"
    )
    say(f"  {rows}; read as: {inline(about['objective']['read_as'])}")
    for note in (*about["notes"], *about["objective"]["notes"]):
        say(f"  note: {inline(note)}")
    for note in describe_spending(gated.stats) if gated.stats else ():
        say(f"  note: {note}")
    if decision.unused:
        say(
            f"  note: {count(decision.unused)} labels are not used, as other rows were drawn after"
            " a correction"
        )
    if not gated.question and gated.answer is None and not decision.labels:
        say(
            "  note: people are asked in general words; --ask TEXT asks in yours, until the first"
            " label"
        )
    say(f"\n{gated.outcome.upper()}: {inline(gated.reason)}")
    if gated.wins is not None:
        _say_wins(gated, gated.wins)
    if gated.tells:
        _say_evidence(decision)
    skipped = f", {count(decision.skipped)} skipped" if decision.skipped else ""
    taken = (
        f"; {count(decision.holdout_labels)} of the holdout were taken in"
        if decision.holdout_labels
        else ""
    )
    say(f"  {count(decision.labels - decision.skipped)} rows labelled{skipped}{taken}")
    look, spent = gated.look, "" if gated.spent else ", spent with the first label"
    say(
        f"  look {look.number} at these rows{spent}: alpha {number(look.alpha, 4)}; about"
        f" {decision.estimand}"
    )
    say(f"run {gated.run_id}")
    if gated.answer is None:
        if gated.most_labels is not None:
            say(
                f"  at most about {count(gated.most_labels)} rows are drawn; it ends as soon as"
                " they decide"
            )
        say(f"Label:  judgewright label {gated.run_id}{there}\nThen run this command again.")


def _say_evidence(decision: FlipDecision) -> None:
    claims = [("target", decision.target), *(("guard", guard) for guard in decision.guards)]
    head = [*HEAD] if decision.guards else [name for name in HEAD if name != MARGIN]
    say_table(head, [_cells(*claim, margins=bool(decision.guards)) for claim in claims], left=2)
    say(f"  {EVIDENCE}")


def _say_wins(gated: FlipGated, wins: FlipWins) -> None:
    """Say how many flips each side won; they tell the direction, and no size that a stop could not
    have flattered.
    """
    before, after = inline(gated.about["before"]), inline(gated.about["after"])
    flips = (
        f"of {count(wins.before + wins.after)} labelled flips {count(wins.after)} went to {after}"
    )
    say(f"  {flips}, {count(wins.before)} to {before}")
    if gated.decision.decided:
        say(
            "  (labelling stops once it is decided, which flatters the winner: of all flips it may"
            " win fewer)"
        )


def _cells(role: str, claim: ClaimState, *, margins: bool) -> tuple[str, ...]:
    margin = (number(claim.margin) if role == "guard" else "",) if margins else ()
    values = (
        min(claim.e_value, 1e6),
        claim.needed,
        min(claim.e_against, 1e6),
        claim.needed_against,
    )
    return role, claim.metric, *margin, *(f"{value:,.1f}" for value in values)
