from .base_url import Origin, checked_url
from .batch_queue import BatchQueue
from .budget import Budget, Forecast
from .call_record import CallRecord, FailedCall, MemoryRecord, OpenAttempt, Spending
from .client import Client
from .counters import ClientStats, Progress, Watch, unwatched
from .endpoint import Endpoint
from .engine import Engine, Here
from .exchange import Exchange
from .exchange_folder import RequestFile
from .ignored import ignored_parameters
from .ladder import CHANGES, remembered
from .limits import AdaptiveLimit, SystemClock
from .model import Completion, Message, Model, Request, TokenLogprob
from .price import Price, Prices
from .rates import RateLimits, read_seconds
from .recorded import Recorded
from .response_body import BodyReader, body_of
from .settings import ANSWERING, OMIT, ModelSettings
from .shared_exchange import ask_together
from .speed import Speed
from .tokens import approximate_tokens, count_tokens, estimate_tokens
from .wire import read_answering_fault, read_completion, read_fault, read_retry_after

__all__ = [
    "ANSWERING",
    "CHANGES",
    "OMIT",
    "AdaptiveLimit",
    "BatchQueue",
    "BodyReader",
    "Budget",
    "CallRecord",
    "Client",
    "ClientStats",
    "Completion",
    "Endpoint",
    "Engine",
    "Exchange",
    "FailedCall",
    "Forecast",
    "Here",
    "MemoryRecord",
    "Message",
    "Model",
    "ModelSettings",
    "OpenAttempt",
    "Origin",
    "Price",
    "Prices",
    "Progress",
    "RateLimits",
    "Recorded",
    "Request",
    "RequestFile",
    "Speed",
    "Spending",
    "SystemClock",
    "TokenLogprob",
    "Watch",
    "approximate_tokens",
    "ask_together",
    "body_of",
    "checked_url",
    "count_tokens",
    "estimate_tokens",
    "ignored_parameters",
    "read_answering_fault",
    "read_completion",
    "read_fault",
    "read_retry_after",
    "read_seconds",
    "remembered",
    "unwatched",
]
