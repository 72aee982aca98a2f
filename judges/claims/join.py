"""From the verdicts on a response's claims to the verdict on the response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..errors import InputError
from ..scale import PROBABILITY, OutputScale
from ..verdict import Answer, Unscored, Verdict

Aggregate = Literal["min", "mean", "share"]

_Judged = tuple[int, str, Verdict]
"""A claim's position, its text and its verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """The answer for a response, and the position of the claim that decides it where there is
    one.
    """

    answer: Answer
    deciding: int | None = None


def aggregate_scale(scale: OutputScale, aggregate: Aggregate) -> OutputScale:
    """Return the scale a response is graded on: the judge's own for `min`, [0, 1] for `mean` and
    `share`.

    Raises:
        InputError: The judge chooses among labels, which have no lowest and no mean.
    """
    if scale.kind == "choice":
        raise InputError(
            f"verdicts on claims cannot be joined: the labels {', '.join(scale.labels)} have no"
            " order"
        )
    if aggregate == "min":
        return scale
    if aggregate == "share":
        return replace(PROBABILITY, threshold=1.0)
    return replace(PROBABILITY, threshold=_position(scale.threshold, scale))


def join_claims(
    row_id: str,
    claims: Sequence[tuple[str, Answer | None]],
    scale: OutputScale,
    aggregate: Aggregate,
) -> Joined:
    """Join the verdicts on the claims of one response.

    A response with an unscored claim is unscored, unless `min` is asked for and another claim is
    unsupported: that already makes the response unsupported, and its score is then the most it can
        be.

    Args:
        row_id: The response.
        claims: Text and answer of each claim; None for one that was not judged. At least one was.
        scale: The judge's.
        aggregate: How to join; see `judge_claims`.
    """
    judged: list[_Judged] = []
    unscored: list[tuple[int, Unscored]] = []
    for i, (text, answer) in enumerate(claims):
        if isinstance(answer, Verdict):
            judged.append((i, text, answer))
        elif answer is not None:
            unscored.append((i, answer))
    decided = aggregate == "min" and not all(verdict.positive for _, _, verdict in judged)
    if unscored and not decided:
        i, first = unscored[0]
        detail = (
            f"{len(unscored)} of {len(claims)} claims have no verdict; claim {i + 1}:"
            f" {first.detail}"
        )
        return Joined(
            answer=_with_costs(Unscored(row_id=row_id, reason=first.reason, detail=detail), claims)
        )
    supported = sum(verdict.positive for _, _, verdict in judged)
    summary = f"{supported} of {len(judged)} judged claims supported"
    skipped = len(claims) - len(judged) - len(unscored)
    if skipped:
        summary += f", {skipped} not judged"
    if aggregate == "min":
        joined = _lowest(row_id, judged, summary, len(unscored))
    else:
        joined = _mean(row_id, judged, summary, scale, aggregate)
    return replace(joined, answer=_with_costs(joined.answer, claims))


def _lowest(row_id: str, judged: Sequence[_Judged], summary: str, unscored: int) -> Joined:
    """Let the claim with the lowest grade decide; of several, the one that is least likely to be
    supported.
    """

    def order(claim: _Judged) -> tuple[float, float]:
        verdict = claim[2]
        probability = (
            float(verdict.positive) if verdict.probability is None else verdict.probability
        )
        return verdict.score, probability

    i, text, lowest = min(judged, key=order)
    if unscored:
        summary += f"; {unscored} without a verdict could only lower it"
    quoted, reason = " ".join(text.split())[:200], " | ".join(lowest.rationale.splitlines())
    verdict = Verdict(
        row_id=row_id,
        score=lowest.score,
        positive=lowest.positive,
        confidence=lowest.confidence,
        rationale=f"{summary}; claim {i + 1} decides: {quoted!r}: {reason}",
        parser="claims:min",
    )
    return Joined(answer=verdict, deciding=i)


def _mean(
    row_id: str, judged: Sequence[_Judged], summary: str, scale: OutputScale, aggregate: Aggregate
) -> Joined:
    if aggregate == "share":
        grades = [float(verdict.positive) for _, _, verdict in judged]
    else:
        grades = [_position(verdict.score, scale) for _, _, verdict in judged]
    score = sum(grades) / len(grades)
    unsupported = [str(i + 1) for i, _, verdict in judged if not verdict.positive]
    if unsupported:
        summary += f"; not supported: {', '.join(unsupported)}"
    verdict = Verdict(
        row_id=row_id,
        score=score,
        positive=aggregate_scale(scale, aggregate).positive(score),
        rationale=summary,
        parser=f"claims:{aggregate}",
    )
    return Joined(answer=verdict)


def _position(grade: float, scale: OutputScale) -> float:
    return (grade - scale.low) / (scale.high - scale.low)


def _with_costs(answer: Answer, claims: Sequence[tuple[str, Answer | None]]) -> Answer:
    """Add up what judging the claims took; splitting them is counted by the client alone."""
    tokens_in = tokens_out = 0
    cost: float | None = 0.0
    latency = 0.0
    for _, claim in claims:
        if claim is None:
            continue
        tokens_in += claim.tokens_in
        tokens_out += claim.tokens_out
        latency += claim.latency
        # One unknown price makes the sum unknown.
        cost = None if cost is None or claim.cost is None else cost + claim.cost
    return replace(answer, tokens_in=tokens_in, tokens_out=tokens_out, cost=cost, latency=latency)
