"""The cluster that workers are in: one on this machine, or one that somebody keeps, named by its
scheduler's address.

No key travels: a worker asks a model with the keys of its own environment. A scheduler runs what it
is sent, so one on another machine is spoken to through TLS alone, and the one that is started here
lets in nobody without the certificate that was made for it.
"""

from __future__ import annotations

import contextlib
import logging
import signal
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from ...judges import InputError, WorldError
from ...judges.extras import require_extra
from ...runs.config.environment import Environment
from .driver import ShardFuture
from .shard import Errand, Shard
from .worker import close_sender, send_shard

_Dask = Any
"""A client or a future of dask.distributed, whose types are partly unknown."""
WORKERS = 4
"""Processes of a local cluster, where nobody says how many."""
THREADS = 2
"""Shards that each works on at a time: the next one is under way while the last calls of one are
awaited.
"""

_QUIET: Mapping[str, Any] = {  # Any: dask's settings
    # Without pages: they would show rows to everybody on this machine.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    # What they would show is not measured either, a hundred times a second in each process.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.admin.tick.interval": "1s",
}
CLOSING = 5.0
"""Seconds that workers have to close what they opened for a driver; a lost connection closes it as
well.
"""


@contextmanager
def open_cluster(
    workers: int, scheduler: str | None, environment: Environment, *, patience: float = 15.0
) -> Generator[DaskCluster]:
    """Start a cluster on this machine, or find the one of a scheduler; it is left at the end.

    Args:
        workers: Processes of a local cluster.
        scheduler: The address of one that is kept elsewhere, such as `tls://host:8786`.
        environment: What local workers have as theirs.
        patience: Seconds to wait for a scheduler, and for its first worker.

    Raises:
        InputError: dask is not installed, or the address is not safe.
        WorldError: The scheduler cannot be reached, or has no workers.
    """
    require_dask()
    opened = _local(workers, environment) if scheduler is None else _remote(scheduler, patience)
    with opened as client:
        cluster = DaskCluster(client)
        cluster.require_workers(patience)
        yield cluster


def require_dask() -> None:
    """Raise an `InputError` where the packages of a cluster are not installed."""
    require_extra("dask", "distributed", "cryptography", purpose="--engine dask")


def check_scheduler(address: str) -> None:
    """Refuse an address that requests would go to in the open.

    Raises:
        InputError: It is none of a scheduler, or another machine's without TLS.
    """
    hint = "write --engine dask=tls://HOST:8786"
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
        parts = None
    if parts is None or parts.scheme not in ("tcp", "tls") or not host or port is None:
        raise InputError(f"{address!r} is not the address of a scheduler", hint=hint)
    if parts.username or parts.password:
        raise InputError("an address of a scheduler with a password is not taken", hint=hint)
    if parts.scheme == "tcp" and not _is_loopback(host):
        raise InputError(
            f"{address!r}: {host} is another machine, and tcp:// would send rows in the"
            " open and let anybody there run programs",
            hint=f"start the scheduler with TLS and write dask=tls://{host}:{port}",
        )


def is_here(scheduler: str) -> bool:
    """Whether a scheduler's address is this machine's own."""
    return _is_loopback(urlsplit(scheduler).hostname or "")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextmanager
def _local(workers: int, environment: Environment) -> Generator[_Dask]:
    import distributed
    from dask import config

    dask: _Dask = distributed
    security = dask.Security.temporary()
    with (
        config.set(_QUIET),
        dask.LocalCluster(
            n_workers=workers,
            silence_logs=logging.CRITICAL,  # a worker that fails says so in its report
            threads_per_worker=THREADS,
            processes=True,
            host="127.0.0.1",
            protocol="tls",
            security=security,
            # None would still ask for port 8787, which another command may have
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            env=dict(environment.process_variables),
            memory_limit=0,
        ) as cluster,
        dask.Client(cluster, security=security) as client,
    ):
        client.run(_leave_ctrl_c_to_the_driver)
        yield client


@contextmanager
def _remote(scheduler: str, patience: float) -> Generator[_Dask]:
    from distributed import Client

    check_scheduler(scheduler)
    try:
        client = Client(scheduler, timeout=patience, set_as_default=False)
    except (OSError, TimeoutError, ValueError, RuntimeError) as error:
        raise WorldError(
            f"no scheduler can be reached at {scheduler}: {error}",
            hint=(
                "see that it runs, that this machine may reach it, and that both sides have the"
                " certificates"
            ),
        ) from error
    with client:
        yield client


class DaskCluster:
    """A cluster of dask.distributed, as the driver needs it."""

    def __init__(self, client: _Dask) -> None:
        self.client = client

    def require_workers(self, patience: float) -> None:
        """Wait for a worker.

        Raises:
            WorldError: There is none.
        """
        try:
            self.client.wait_for_workers(1, timeout=patience)
        except TimeoutError as error:
            raise WorldError(
                "the scheduler has no workers", hint="start some with `dask worker`"
            ) from error

    def threads(self) -> Mapping[str, int]:
        """See `Cluster.threads`."""
        workers: Mapping[str, Mapping[str, Any]] = self.client.scheduler_info(n_workers=-1)[
            "workers"
        ]  # Any: JSON
        return {address: max(1, int(worker["nthreads"])) for address, worker in workers.items()}

    def submit(self, errand: Errand, shard: Shard, *, avoid: Collection[str]) -> ShardFuture:
        """See `Cluster.submit`."""
        places = [address for address in self.threads() if address not in avoid]
        return self.client.submit(
            send_shard,
            errand,
            shard,
            "",
            key=f"judgewright-shard-{shard.id}",
            workers=places if avoid and places else None,
            pure=False,
        )

    def close_senders(self, driver: str) -> None:
        """See `Cluster.close_senders`; a worker that hangs is waited for `CLOSING` seconds at
        most.
        """
        import distributed

        dask: _Dask = distributed
        with contextlib.suppress(OSError, TimeoutError):
            closing = [
                self.client.submit(close_sender, driver, workers=[address], pure=False, priority=1)
                for address in self.threads()
            ]
            dask.wait(closing, timeout=CLOSING)


def _leave_ctrl_c_to_the_driver() -> None:
    """Ignore the signal that a terminal sends to all its processes: the driver tells the workers
    when to stop.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
