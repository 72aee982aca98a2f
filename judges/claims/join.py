"""From the verdicts on a response's claims to the verdict on the response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..verdict import Answer, Unscored, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """The answer for a response, and the position of the claim that decides it where there is
    one.
    """

    answer: Answer
    deciding: int | None = None


def join_claims(row_id: str, claims: Sequence[tuple[str, Answer | None]]) -> Joined:
    """Let the claim with the lowest grade decide about a response; of several, the one that is
    least likely to be supported.

    A response with an unscored claim is unscored, unless another claim is unsupported: that already
    makes the response unsupported, and its score is then the most it can be.

    Args:
        row_id: The response.
        claims: Text and answer of each claim; None for one that was not judged. At least one was.
    """
    judged: list[tuple[int, str, Verdict]] = []
    unscored: list[tuple[int, Unscored]] = []
    for i, (text, answer) in enumerate(claims):
        if isinstance(answer, Verdict):
            judged.append((i, text, answer))
        elif answer is not None:
            unscored.append((i, answer))
    supported = sum(verdict.positive for _, _, verdict in judged)
    if unscored and supported == len(judged):
        i, first = unscored[0]
        detail = (
            f"{len(unscored)} of {len(claims)} claims have no verdict; claim {i + 1}:"
            f" {first.detail}"
        )
        return Joined(
            answer=_with_costs(Unscored(row_id=row_id, reason=first.reason, detail=detail), claims)
        )
    summary = f"{supported} of {len(judged)} judged claims supported"
    skipped = len(claims) - len(judged) - len(unscored)
    if skipped:
        summary += f", {skipped} not judged"
    if unscored:
        summary += f"; {len(unscored)} without a verdict could only lower it"

    def order(claim: tuple[int, str, Verdict]) -> tuple[float, float]:
        verdict = claim[2]
        probability = verdict.probability
        return verdict.score, float(verdict.positive) if probability is None else probability

    i, text, lowest = min(judged, key=order)
    quoted, reason = " ".join(text.split())[:200], " | ".join(lowest.rationale.splitlines())
    verdict = Verdict(
        row_id=row_id,
        score=lowest.score,
        positive=lowest.positive,
        confidence=lowest.confidence,
        rationale=f"{summary}; claim {i + 1} decides: {quoted!r}: {reason}",
        parser="claims:min",
    )
    return Joined(answer=_with_costs(verdict, claims), deciding=i)


def _with_costs(answer: Answer, claims: Sequence[tuple[str, Answer | None]]) -> Answer:
    """Add up what judging the claims took; splitting them is counted by the client alone."""
    judged = [claim for _, claim in claims if claim is not None]
    costs = [claim.cost for claim in judged if claim.cost is not None]
    return replace(
        answer,
        tokens_in=sum(claim.tokens_in for claim in judged),
        tokens_out=sum(claim.tokens_out for claim in judged),
        # One unknown price makes the sum unknown.
        cost=sum(costs) if len(costs) == len(judged) else None,
        latency=sum(claim.latency for claim in judged),
    )
