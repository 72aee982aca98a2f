"""Responses judged claim by claim: split, judged each against the whole source, joined again."""

from .claims import ClaimedResponses, judge_claims
from .join import Aggregate
from .split import Splitter, Trivial

__all__ = [
    "Aggregate",
    "ClaimedResponses",
    "Splitter",
    "Trivial",
    "judge_claims",
]
