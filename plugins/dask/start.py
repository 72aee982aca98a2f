"""`--engine dask`: what may stand behind it, and how the engines of a run are started."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from ...judges import InputError
from ...judges.models import Engine
from ...judges.models.dispatcher import ClientContext
from ...runs.config.environment import SIMULATED, Environment
from ...runs.store.calls import CallStore
from ...runs.store.database import Database
from ...runs.store.workspace import Workspace
from .cluster import WORKERS, DaskCluster, check_scheduler, is_here, open_cluster, require_dask
from .driver import ShardEngine
from .shard import Errand
from .worker import own_version

MOST_WORKERS = 256


class DaskEngine:
    """The workers of a dask cluster: some processes of this machine, or those of a scheduler."""

    def check(self, where: str) -> None:
        """See `EngineKind.check`."""
        _, scheduler = _read_where(where)
        if scheduler is not None:
            check_scheduler(scheduler)
        require_dask()

    @contextmanager
    def start(
        self,
        where: str,
        workspace: Workspace,
        run_id: str,
        environment: Environment,
        record: CallStore,
    ) -> Generator[Callable[[str], Engine]]:
        """See `EngineKind.start`."""
        workers, scheduler = _read_where(where)
        database = workspace.database
        if scheduler is not None and not database.shared and not is_here(scheduler):
            raise InputError(
                f"the workers of {scheduler} cannot write to {database.name}: it is a file of"
                " this machine",
                hint=(
                    "keep the workspace on a PostgreSQL server: --workspace"
                    " postgresql://user@host/database"
                ),
            )
        # The workers write under this process's lock.
        database.claim()
        # A password of the workspace's address goes to local workers only, from process to process.
        own = replace(
            environment, variables={**environment.process_variables, **workspace.place.secrets}
        )
        # Left in reverse: what the engines have open in the cluster before the cluster.
        with ExitStack() as clusters, ExitStack() as engines:
            opened: list[DaskCluster] = []

            def cluster() -> DaskCluster:
                if not opened:
                    opened.append(clusters.enter_context(open_cluster(workers, scheduler, own)))
                return opened[0]

            def engine_of(model: str) -> Engine:
                errand = partial(errand_of, address_of(database), run_id, environment, model)
                engine = ShardEngine(cluster, database, run_id, errand=errand, record=record)
                engines.callback(engine.close)
                return engine

            yield engine_of


DASK = DaskEngine()


def _read_where(where: str) -> tuple[int, str | None]:
    """Return how many workers a cluster on this machine has, or the address of a scheduler."""
    if "://" in where:
        return 0, where
    workers = where or str(WORKERS)
    if not (workers.isdecimal() and 1 <= int(workers) <= MOST_WORKERS):
        raise InputError(
            f"--engine dask={where} is neither 1 to {MOST_WORKERS} workers nor the address of a"
            " scheduler",
            hint="write --engine dask, dask=8 or dask=tls://HOST:8786",
        )
    return int(workers), None


def address_of(database: Database) -> str:
    """Return where workers find a database: its file, or its server's address without a
    password.
    """
    return database.name if database.shared else str(Path(database.name).resolve())


def errand_of(
    workspace: str,
    run_id: str,
    environment: Environment,
    model: str,
    context: ClientContext,
    driver: str,
) -> Errand:
    address = model
    if model != SIMULATED:
        named = environment.model(model)
        address = f"{named.model}@{named.base_url}"
    return Errand(
        version=own_version(),
        workspace=workspace,
        run_id=run_id,
        driver=driver,
        model=address,
        endpoint=context.model.endpoint,
        settings=environment.settings(model),
        prices=context.prices,
        tries=context.tries,
        row_seconds=context.row_seconds,
        concurrency=context.concurrency,
        first_limit=context.limit.limit,
    )
