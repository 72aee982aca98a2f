"""From where on a document counts as retrieved: the judge's own decision, or a threshold on its
probability.
"""

from __future__ import annotations

from dataclasses import dataclass

from ....judges.errors import InputError
from ....judges.scale import OutputScale
from ....judges.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """From where on a document counts as retrieved: a threshold on the probability, or the judge's
    own decision.
    """

    origin: str
    """`rule`, `labels` or `given`."""
    threshold: float | None = None
    """None takes the decision of the judge's rule."""

    def passes(self, verdict: Verdict, scale: OutputScale) -> bool | None:
        """Whether a document is retrieved; None where the threshold needs a probability that is not
        there.
        """
        if self.threshold is None:
            return verdict.positive
        probability = probability_of(verdict, scale)
        return None if probability is None else probability >= self.threshold


def parse_cut(text: str) -> Cut:
    """Read `rule`, `labels` or a probability.

    Raises:
        InputError: It is none of these.
    """
    if text in ("rule", "labels"):
        return Cut(origin=text)
    try:
        threshold = float(text)
    except ValueError:
        threshold = -1.0
    if not 0.0 <= threshold <= 1.0:
        raise InputError(f"--threshold-from {text!r} is neither rule nor labels nor a probability")
    return Cut(origin="given", threshold=threshold)


def probability_of(verdict: Verdict, scale: OutputScale) -> float | None:
    """Return the probability that the document is relevant, calibrated where a rule has done so; or
    None.
    """
    if scale.kind == "probability" and verdict.before is None:
        return verdict.score
    return verdict.probability
