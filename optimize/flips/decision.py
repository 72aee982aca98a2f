"""What the labels so far decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..outcome import GateOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimState:
    """How far the evidence for one claim has come."""

    metric: str
    margin: float
    e_value: float
    """Highest wealth against the claim's opposite so far; it starts at 1."""
    needed: float
    """The wealth that shows it."""
    e_against: float
    """The same for the claim's opposite, such as that the new prompt is worse."""
    needed_against: float

    @property
    def shown(self) -> bool:
        """Whether the claim is shown."""
        return self.e_value >= self.needed

    @property
    def refuted(self) -> bool:
        """Whether its opposite is."""
        return self.e_against >= self.needed_against


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipWins:
    """On how many of the labelled flips each prompt was right."""

    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipDecision:
    """The state of a queue after some labels."""

    outcome: GateOutcome
    decided: bool
    """Whether the labels show it, or speak against it; else there is too little evidence, for now
    or for good.
    """
    reason: str
    estimand: str
    target: ClaimState
    guards: tuple[ClaimState, ...]
    labels: int
    """Labels that counted, skipped ones among them."""
    skipped: int
    unused: int
    """Labels of rows that are not drawn, as another label was corrected."""
    holdout_labels: int
    """Labels of the sealed holdout that counted."""
    over: bool
    """Whether the queue ends here: decided, or nothing is left to draw."""
    most_left: int | None
    """About how many rows the pool can still give; None where it is over."""

    @property
    def accepted(self) -> bool:
        """Whether the new prompt may replace the one in use."""
        return self.outcome == "accepted"

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the decision as it is recorded."""
        return asdict(self)


def explain(
    outcome: GateOutcome | None, claims: Sequence[ClaimState], about: str, *, over: bool
) -> str:
    """Say in a sentence what is decided, or what is not shown yet.

    Args:
        outcome: What is decided; None where nothing is.
        claims: The target's, then the guards'.
        about: What it is about, such as `new groups like these`.
        over: Whether no row is left to draw.
    """
    target, guards = claims[0], claims[1:]
    about = f"on {about}"
    if outcome == "accepted":
        held = "".join(
            f"; {guard.metric} falls by less than {guard.margin:.3f}" for guard in guards
        )
        return f"{target.metric} rises {about} ({_evidence(target.e_value, target.needed)}){held}"
    if outcome == "refused" and target.refuted:
        return (
            f"{target.metric} falls {about} ({_evidence(target.e_against, target.needed_against)})"
        )
    for guard in guards:
        if outcome == "refused" and guard.refuted:
            fall = f"{guard.metric} falls by more than {guard.margin:.3f} {about}"
            return f"{fall} ({_evidence(guard.e_against, guard.needed_against)})"
    missing: list[str] = []
    if not target.shown:
        missing.append(f"that {target.metric} rises ({_evidence(target.e_value, target.needed)})")
    for guard in guards:
        if not guard.shown:
            evidence = _evidence(guard.e_value, guard.needed)
            missing.append(
                f"that {guard.metric} falls by less than {guard.margin:.3f} ({evidence})"
            )
    end = "the pool is used up and does not show" if over else "not shown yet:"
    return f"{end} {' and '.join(missing)} {about}"


def _evidence(e_value: float, needed: float) -> str:
    return (
        f"evidence {min(e_value, 1e6):,.1f}, and {needed:,.1f} decides, which chance alone reaches"
        f" at most once in {needed:,.0f} times"
    )
