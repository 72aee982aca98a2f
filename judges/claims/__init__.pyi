from .claims import FIELD, ClaimedResponses, ClaimSettings, judge_as, judge_claims, require_claims
from .join import Aggregate, aggregate_scale, join_claims
from .split import Splitter, Trivial, split_responses, split_sentences

__all__ = [
    "FIELD",
    "Aggregate",
    "ClaimSettings",
    "ClaimedResponses",
    "Splitter",
    "Trivial",
    "aggregate_scale",
    "join_claims",
    "judge_as",
    "judge_claims",
    "require_claims",
    "split_responses",
    "split_sentences",
]
