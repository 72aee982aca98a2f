"""Language models: the seam, the kinds (endpoint, simulated, recorded), and the client that asks them."""

from .budget import Budget
from .client import Client, ClientStats, Progress
from .endpoint import Endpoint
from .faults import Faults
from .model import Completion, Message, Model, Request, TokenLogprob
from .origin import Origin, checked_url
from .price import Prices
from .record import CallRecord, FailedCall, MemoryRecord, Spending
from .recorded import Recorded
from .simulated import Simulated
from .tokens import TokenCount, count_tokens, estimate_tokens

__all__ = [
    "Budget",
    "CallRecord",
    "Client",
    "ClientStats",
    "Completion",
    "Endpoint",
    "FailedCall",
    "Faults",
    "MemoryRecord",
    "Message",
    "Model",
    "Origin",
    "Prices",
    "Progress",
    "Recorded",
    "Request",
    "Simulated",
    "Spending",
    "TokenCount",
    "TokenLogprob",
    "checked_url",
    "count_tokens",
    "estimate_tokens",
]
