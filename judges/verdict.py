"""What came back for a row: a verdict, or the reason why there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from .scale import DecisionRule, OutputScale

UnscoredReason = Literal[
    "parse", "refused", "truncated", "endpoint", "budget", "oversized", "logprobs"
]
"""`oversized`: over the size cap and never sent; `logprobs`: its token log-probabilities give no
confidence.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One judge's answer for one row."""

    row_id: str
    score: float
    """The grade on the judge's scale (the index of the label for a choice)."""
    positive: bool
    """Whether the score counts as positive under the decision rule."""
    confidence: float | None = None
    """Confidence in this decision, in [0, 1]; None where it was neither stated nor measured."""
    mass: float | None = None
    """Share of probability that lay on grades of the scale, where the confidence comes from tokens.
    """
    distribution: tuple[float, ...] = ()
    """The probability of each grade of the judge's own scale, or of each label, where a decision
    model gave one; of yes/no first no.
    """
    rationale: str = ""
    parser: str = ""
    """Which parser found the verdict in the reply."""
    model: str = ""
    """The slow model of a cascade, where it decided; no rule decides its verdict anew."""
    reply_hash: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None
    """US dollars; None where the price is unknown."""
    latency: float = 0.0
    """Seconds; 0 for a recorded reply."""
    before: Verdict | None = None
    """The verdict as the judge gave it, where a decision rule has changed decision or confidence.
    """

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


def as_given(answer: Answer) -> Answer:
    """Return an answer as the judge gave it, before any decision rule."""
    if isinstance(answer, Unscored) or answer.before is None:
        return answer
    return answer.before


def decided_probability(verdict: Verdict, scale: OutputScale) -> float:
    """Return the probability of a verdict on a probability scale, on the side of its threshold that
    was decided.

    It is the score; of a verdict that a rule or a slow model decided anew, it is in the confidence.
    """
    if verdict.before is None or verdict.probability is None:
        return verdict.score
    if verdict.positive:
        return max(verdict.probability, scale.threshold)
    return min(verdict.probability, math.nextafter(scale.threshold, 0.0))


def apply_rule(answer: Answer, scale: OutputScale, rule: DecisionRule) -> Answer:
    """Decide anew, from what the judge gave; a rule applied before counts for nothing. The score
    stays as it is.

    The raw probability of the positive label is the score on a probability scale; elsewhere it
    follows from the confidence in the judge's own decision, at the threshold of its prompt. It is
    calibrated, and the confidence becomes that in the new decision. On a probability scale the
    calibrated score is compared with the threshold.
    """
    # A rule on top of another would calibrate twice.
    before = as_given(answer)
    if isinstance(before, Unscored) or before.model:
        return answer
    is_probability = scale.kind == "probability"
    probability = before.score if is_probability else before.probability
    if rule.calibration is not None and probability is not None:
        probability = rule.calibration(probability)
    positive = before.score >= rule.threshold
    if is_probability and probability is not None:
        positive = probability >= rule.threshold
    if positive == before.positive and rule.calibration is None:
        return before  # not 1 - (1 - confidence), which may differ in its last digit
    confidence = probability
    if probability is not None and not positive:
        confidence = 1.0 - probability
    return replace(before, positive=positive, confidence=confidence, before=before)
