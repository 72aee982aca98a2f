"""What came back for a row: a verdict, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

UnscoredReason = Literal["parse", "refused", "truncated", "endpoint", "budget", "oversized"]
"""`oversized`: the row is over the size cap and was never sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One judge's answer for one row."""

    row_id: str
    score: float
    """The grade on the judge's scale (the index of the label for a choice)."""
    positive: bool
    """Whether the score counts as positive under the decision rule."""
    confidence: float | None = None
    """The judge's confidence in this verdict, in [0, 1]; None where it was neither stated nor measured."""
    rationale: str = ""
    parser: str = ""
    """Which parser found the verdict in the reply."""
    reply_hash: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None
    """US dollars; None where the price is unknown."""
    latency: float = 0.0
    """Seconds; 0 for a recorded reply."""

    @property
    def probability(self) -> float | None:
        """Probability that the row is positive, derived from the confidence in the verdict."""
        if self.confidence is None:
            return None
        return self.confidence if self.positive else 1.0 - self.confidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Unscored:
    """A row without a verdict, and why; never counted as wrong and never as zero."""

    row_id: str
    reason: UnscoredReason
    detail: str = ""
    reply_hash: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None
    latency: float = 0.0


Answer = Verdict | Unscored
