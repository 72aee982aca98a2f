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
    """The answer for a response, and the position of the claim that decides it where there is one."""

    answer: Answer
    deciding: int | None = None


def aggregate_scale(scale: OutputScale, aggregate: Aggregate) -> OutputScale:
    """Return the scale a response is graded on: the judge's own for `min`, [0, 1] for `mean` and `share`.

    Raises:
        InputError: The judge chooses among labels, which have no lowest and no mean.
    """
    if scale.kind == "choice":
        raise InputError(f"verdicts on claims cannot be joined: the labels {', '.join(scale.labels)} have no order")
    if aggregate == "min":
        return scale
    return replace(PROBABILITY, threshold=1.0 if aggregate == "share" else _position(scale.threshold, scale))


def join_claims(
    row_id: str, claims: Sequence[tuple[str, Answer | None]], scale: OutputScale, aggregate: Aggregate
) -> Joined:
    """Join the verdicts on the claims of one response.

    A response with an unscored claim is unscored, unless `min` is asked for and another claim is unsupported: that
    already makes the response unsupported, and its score is then the most it can be.

    Args:
        row_id: The response.
        claims: Text and answer of each claim; None for one that was not judged. At least one was.
        scale: The judge's.
        aggregate: How to join; see `judge_claims`.
    """
    judged = [(i, text, answer) for i, (text, answer) in enumerate(claims) if isinstance(answer, Verdict)]
    unscored = [(i, answer) for i, (_, answer) in enumerate(claims) if isinstance(answer, Unscored)]
    decided = aggregate == "min" and any(not verdict.positive for _, _, verdict in judged)
    if unscored and not decided:
        at, first = unscored[0]
        detail = f"{len(unscored)} of {len(claims)} claims have no verdict; claim {at + 1}: {first.detail}"
        return Joined(answer=_costed(Unscored(row_id=row_id, reason=first.reason, detail=detail), claims))
    skipped = sum(answer is None for _, answer in claims)
    tail = f", {skipped} not judged" if skipped else ""
    if aggregate == "min":
        joined = _lowest(row_id, judged, tail, len(unscored))
    else:
        joined = _mean(row_id, judged, tail, scale, aggregate)
    return replace(joined, answer=_costed(joined.answer, claims))


def _lowest(row_id: str, judged: Sequence[_Judged], tail: str, unscored: int) -> Joined:
    """The claim with the lowest grade decides; of several, the one that is least likely to be supported."""
    at, text, lowest = min(judged, key=lambda one: (one[2].score, _likely(one[2])))
    supported = sum(verdict.positive for _, _, verdict in judged)
    also = f"; {unscored} without a verdict could only lower it" if unscored else ""
    quoted = " ".join(text.split())
    rationale = (
        f"{supported} of {len(judged)} judged claims supported{tail}{also}; "
        f"claim {at + 1} decides: {quoted[:200]!r}: {' | '.join(lowest.rationale.splitlines())}"
    )
    verdict = Verdict(
        row_id=row_id,
        score=lowest.score,
        positive=lowest.positive,
        confidence=lowest.confidence,
        rationale=rationale,
        parser="claims:min",
    )
    return Joined(answer=verdict, deciding=at)


def _mean(row_id: str, judged: Sequence[_Judged], tail: str, scale: OutputScale, aggregate: Aggregate) -> Joined:
    supported = sum(verdict.positive for _, _, verdict in judged)
    if aggregate == "share":
        score = supported / len(judged)
    else:
        score = sum(_position(verdict.score, scale) for _, _, verdict in judged) / len(judged)
    unsupported = [str(at + 1) for at, _, verdict in judged if not verdict.positive]
    named = f"; not supported: {', '.join(unsupported)}" if unsupported else ""
    verdict = Verdict(
        row_id=row_id,
        score=score,
        positive=aggregate_scale(scale, aggregate).positive(score),
        rationale=f"{supported} of {len(judged)} judged claims supported{tail}{named}",
        parser=f"claims:{aggregate}",
    )
    return Joined(answer=verdict)


def _likely(verdict: Verdict) -> float:
    return float(verdict.positive) if verdict.probability is None else verdict.probability


def _position(grade: float, scale: OutputScale) -> float:
    return (grade - scale.low) / (scale.high - scale.low)


def _costed(answer: Answer, claims: Sequence[tuple[str, Answer | None]]) -> Answer:
    """Add up what judging the claims took; splitting them is counted by the client alone."""
    asked = [one for _, one in claims if one is not None]
    prices = [one.cost for one in asked]
    return replace(
        answer,
        tokens_in=sum(one.tokens_in for one in asked),
        tokens_out=sum(one.tokens_out for one in asked),
        cost=None if None in prices else sum(price for price in prices if price is not None),
        latency=sum(one.latency for one in asked),
    )
