"""Language models: the seam, the kinds (endpoint, recorded), and the client that asks them."""

from .base_url import Origin, checked_url
from .budget import Budget
from .call_record import CallRecord, FailedCall, MemoryRecord, Spending
from .client import Client, ClientStats, Progress
from .endpoint import Endpoint
from .model import Completion, Message, Model, Request, TokenLogprob
from .price import Prices
from .recorded import Recorded
from .tokens import TokenCount, count_tokens, estimate_tokens

__all__ = [
    "Budget",
    "CallRecord",
    "Client",
    "ClientStats",
    "Completion",
    "Endpoint",
    "FailedCall",
    "MemoryRecord",
    "Message",
    "Model",
    "Origin",
    "Prices",
    "Progress",
    "Recorded",
    "Request",
    "Spending",
    "TokenCount",
    "TokenLogprob",
    "checked_url",
    "count_tokens",
    "estimate_tokens",
]
