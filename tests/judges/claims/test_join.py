"""Joining the verdicts on claims: by hand on small cases, and laws on random ones."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import (
    BINARY,
    PROBABILITY,
    Answer,
    InputError,
    OutputScale,
    Unscored,
    Verdict,
)
from judgewright.judges.claims import aggregate_scale, join_claims

GRADED = OutputScale()


def claim(
    score: float | None, confidence: float | None = None, scale: OutputScale = GRADED
) -> tuple[str, Answer]:
    """A claim with a score, or unscored without one."""
    if score is None:
        return "c", Unscored(row_id="c", reason="endpoint", detail="down", tokens_in=3)
    verdict = Verdict(
        row_id="c",
        score=score,
        positive=scale.positive(score),
        confidence=confidence,
        tokens_in=3,
        cost=0.5,
    )
    return "c", verdict


def test_the_lowest_claim_decides_and_lends_its_confidence() -> None:
    """One unsupported claim among supported ones makes the response unsupported."""
    joined = join_claims(
        "r", [claim(3, 0.9), ("t", None), claim(0, 0.8), claim(2, 0.7)], GRADED, "min"
    )
    assert isinstance(joined.answer, Verdict)
    assert (joined.answer.score, joined.answer.positive, joined.answer.confidence) == (
        0.0,
        False,
        0.8,
    )
    assert joined.deciding == 2
    assert "2 of 3 judged claims supported, 1 not judged" in joined.answer.rationale
    assert (joined.answer.tokens_in, joined.answer.cost) == (9, 1.5)


@pytest.mark.parametrize(("score", "deciding"), [(0, 1), (3, 0)])
def test_of_equal_grades_the_one_least_likely_supported_decides(
    score: float, deciding: int
) -> None:
    """The surest among unsupported claims, the least sure among supported ones."""
    joined = join_claims("r", [claim(score, 0.6), claim(score, 0.9)], GRADED, "min")
    assert joined.deciding == deciding


def test_an_unscored_claim_leaves_the_response_unscored_unless_the_minimum_is_decided() -> None:
    """An unsupported claim decides already, which the rationale says; supported ones do not; a mean
    never is.
    """
    decided = join_claims("r", [claim(None), claim(1)], GRADED, "min").answer
    assert isinstance(decided, Verdict)
    assert not decided.positive
    assert "1 without a verdict could only lower it" in decided.rationale
    assert decided.cost is None
    for claims, how in (
        ([claim(3), claim(None)], "min"),
        ([claim(0), claim(None)], "mean"),
        ([claim(None)], "share"),
    ):
        open_one = join_claims("r", claims, GRADED, how).answer  # type: ignore[arg-type]
        assert isinstance(open_one, Unscored)
        assert open_one.reason == "endpoint"
        assert "have no verdict" in open_one.detail


def test_mean_and_share_are_on_a_scale_of_their_own() -> None:
    """The threshold of 2 of 0..3 is two thirds of the way; a share is positive when every claim is
    supported.
    """
    assert aggregate_scale(GRADED, "min") is GRADED
    assert aggregate_scale(GRADED, "mean").threshold == pytest.approx(2 / 3)
    assert aggregate_scale(
        OutputScale(low=1, high=5, threshold=4), "mean"
    ).threshold == pytest.approx(0.75)
    assert (aggregate_scale(BINARY, "share").kind, aggregate_scale(BINARY, "share").threshold) == (
        "probability",
        1.0,
    )
    with pytest.raises(InputError, match="have no order"):
        aggregate_scale(OutputScale(kind="choice", labels=("a", "b")), "min")


@given(grades=st.lists(st.integers(0, 3), min_size=1, max_size=8))
@settings(max_examples=200, deadline=None)
def test_joined_scores_are_what_the_words_say(grades: list[int]) -> None:
    """min, mean and share agree with Python's own, and min is positive exactly where the whole
    share is.
    """
    claims = [claim(grade) for grade in grades]
    low, mean, share = (
        join_claims("r", claims, GRADED, how).answer for how in ("min", "mean", "share")
    )  # type: ignore[arg-type]
    assert isinstance(low, Verdict)
    assert isinstance(mean, Verdict)
    assert isinstance(share, Verdict)
    assert low.score == min(grades)
    assert mean.score == pytest.approx(statistics.mean(grades) / 3)
    assert share.score == pytest.approx(statistics.mean(grade >= 2 for grade in grades))
    assert low.positive == share.positive == all(grade >= 2 for grade in grades)


@given(shares=st.lists(st.floats(0, 1), min_size=1, max_size=6))
@settings(max_examples=50, deadline=None)
def test_probabilities_are_joined_as_they_are(shares: list[float]) -> None:
    """On a probability scale the mean of the grades needs no shifting."""
    answer = join_claims(
        "r", [claim(s, scale=PROBABILITY) for s in shares], PROBABILITY, "mean"
    ).answer
    assert isinstance(answer, Verdict)
    assert answer.score == pytest.approx(statistics.fmean(shares))
