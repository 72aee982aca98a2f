"""A model that counts what it bills, a judge's requests about made-up rows, and a client that sends
from a cluster.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from judgewright.judges import Client, Completion, ModelError, Request
from judgewright.judges.models import Budget, Message
from judgewright.judges.simulated import Simulated
from judgewright.plugins.dask.driver import Cluster, ShardEngine, ShardFuture
from judgewright.plugins.dask.shard import Errand, Shard, ShardReport
from judgewright.plugins.dask.start import address_of, errand_of
from judgewright.plugins.dask.worker import close_sender, send_shard
from judgewright.runs.config import read_environment
from judgewright.runs.config.environment import open_client
from judgewright.runs.store import CallStore, Database
from judgewright.runs.store.journal import create_run


@dataclass
class Counting:
    """The simulated model, which counts the requests that it bills."""

    latency: float = 0.0
    refuses: str = ""
    """Requests with this text fail for good."""
    billed: Counter[str] = field(default_factory=Counter)
    inner: Simulated = field(default_factory=Simulated)
    name: str = "simulated"
    endpoint: str = "counting"
    simulated: bool = True

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Bill at once, and answer after a while."""
        text = request.messages[-1].content
        if self.refuses and self.refuses in text:
            raise ModelError("this row is refused", status=400)
        self.billed[text] += 1
        await asyncio.sleep(self.latency)
        return await self.inner.complete(request, unsupported_parameters=unsupported_parameters)

    async def close(self) -> None:
        """Nothing is open."""

    @property
    def paid_twice(self) -> int:
        """How many requests were billed more than once."""
        return sum(self.billed.values()) - len(self.billed)


def requests(n: int, *, start: int = 0) -> list[Request]:
    """What is asked: a different text each."""
    return [
        Request(messages=(Message("user", f"row <{number}>"),), max_tokens=50, temperature=0.0)
        for number in range(start, start + n)
    ]


class Threads:
    """A cluster whose workers are threads of this process; each shard is worked on by the real
    function.
    """

    def __init__(
        self, n: int = 2, *, work: Callable[[Errand, Shard, str], ShardReport] = send_shard
    ) -> None:
        self._n = n
        self._work = work
        self._pool = ThreadPoolExecutor(2 * n)
        self.shards: list[Shard] = []

    def threads(self) -> Mapping[str, int]:
        """See `Cluster.threads`."""
        return {"threads": self._n}

    def submit(self, errand: Errand, shard: Shard, *, avoid: Collection[str]) -> ShardFuture:
        """See `Cluster.submit`."""
        self.shards.append(shard)
        return self._pool.submit(self._work, errand, shard, "threads")

    def close_senders(self, driver: str) -> None:
        """See `Cluster.close_senders`."""
        close_sender(driver)
        self._pool.shutdown(cancel_futures=True)


def client_on(
    cluster: Cluster,
    database: Database,
    url: str,
    *,
    run_id: str = "",
    budget: Budget | None = None,
    lease: float = 15.0,
    concurrency: int = 8,
) -> tuple[Client, ShardEngine]:
    """A client whose calls a cluster sends, as a command has one; the engine is to be closed."""
    model = f"simulated@{url}"
    environment = read_environment().naming(model)
    run_id = run_id or create_run(database, "bench", {})
    record = CallStore(database, run_id)
    errand = partial(errand_of, address_of(database), run_id, environment, model)
    engine = ShardEngine(
        lambda: cluster, database, run_id, errand=errand, record=record, lease=lease
    )
    client = open_client(
        model, environment, record=record, budget=budget, engine=engine, concurrency=concurrency
    )
    return client, engine
