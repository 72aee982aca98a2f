"""What travels between a driver and its workers: requests and what came of them, but no key and no
reply.

Replies go from the worker into the workspace, where the driver finds them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ...judges import JudgewrightError, ModelError
from ...judges.models import ModelSettings, Prices, Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """What all shards of one client have in common."""

    version: str
    """Of Judgewright."""
    workspace: str
    """Where the call table is."""
    run_id: str
    driver: str
    """Whose orders the worker follows."""
    model: str
    """Its name with its address; which key belongs there, the worker's own environment says."""
    endpoint: str
    settings: ModelSettings
    prices: Prices
    tries: int
    row_seconds: float
    concurrency: int
    """Requests in flight at most."""
    first_limit: int
    """Requests in flight at first."""
    workers: int = 1
    """Among how many the two are divided."""

    def divided(self, workers: int) -> Errand:
        """Return the part of one of so many workers."""
        return replace(
            self,
            concurrency=max(1, self.concurrency // workers),
            first_limit=max(1, self.first_limit // workers),
            workers=workers,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardCall:
    """One call of a shard."""

    key: bytes
    request: Request
    again: bool
    """Whether it asks once more for a reply that was cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """Calls that one worker sends, and what they may cost."""

    id: str
    calls: tuple[ShardCall, ...]
    money: float
    """US dollars that are reserved for it; 0 where the budget has no such limit."""
    tokens: int
    limits: tuple[bool, bool]
    """Whether the budget is limited in money, and in tokens."""
    unsupported: frozenset[str]
    """Parameters that the endpoint has refused."""
    forecast: tuple[float, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardReport:
    """What became of a shard, other than its replies."""

    elsewhere: tuple[bytes, ...] = ()
    """Calls that another process has leased."""
    failed: dict[bytes, ModelError] = field(default_factory=dict[bytes, ModelError])
    stopped: JudgewrightError | None = None
    """Why the calls without reply and failure were not sent."""
    attempts: int = 0
    retries: int = 0
    notes: tuple[str, ...] = ()
    unsupported: frozenset[str] = frozenset()
    forecast: tuple[float, int, int] | None = None
