from .claims import ClaimedResponses, judge_claims
from .join import Aggregate, aggregate_scale, join_claims
from .split import Splitter, Trivial, split_responses, split_sentences

__all__ = [
    "Aggregate",
    "ClaimedResponses",
    "Splitter",
    "Trivial",
    "aggregate_scale",
    "join_claims",
    "judge_claims",
    "split_responses",
    "split_sentences",
]
