from .claims import FIELD, ClaimedResponses, ClaimSettings, judge_as, judge_claims, require_claims
from .join import join_claims
from .split import Splitter, Trivial, split_responses, split_sentences

__all__ = [
    "FIELD",
    "ClaimSettings",
    "ClaimedResponses",
    "Splitter",
    "Trivial",
    "join_claims",
    "judge_as",
    "judge_claims",
    "require_claims",
    "split_responses",
    "split_sentences",
]
