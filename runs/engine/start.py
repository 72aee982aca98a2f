"""The engines of a run: which one its options ask for, and how it is started."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ...judges import InputError
from ...judges.models import Engine
from ...judges.models.dispatcher import ClientContext
from ..config.environment import SIMULATED, Environment
from ..config.options import EngineOptions, JudgeModelOptions
from ..store.calls import CallStore
from ..store.database import Database
from ..store.workspace import Workspace
from .cluster import WORKERS, DaskCluster, check_scheduler, is_here, open_cluster, require_dask
from .driver import ShardEngine
from .shard import Errand
from .worker import own_version


def check_engine(options: JudgeModelOptions) -> None:
    """Refuse options that contradict each other, before anything is started.

    Raises:
        InputError: They do, or dask is not installed.
    """
    if options.engine == "here":
        for name, value in (("--workers", options.workers), ("--scheduler", options.scheduler)):
            if value is not None:
                raise InputError(f"{name} is for --engine dask", hint="add --engine dask")
        return
    if options.via != "live":
        raise InputError(
            f"--engine dask makes single calls, and --via {options.via} none",
            hint="leave out one of the two options",
        )
    if options.scheduler is not None:
        if options.workers is not None:
            raise InputError(
                "--workers is for a cluster on this machine; the one of --scheduler has its own",
                hint="leave out --workers or --scheduler",
            )
        check_scheduler(options.scheduler)
    require_dask()


def engine_record(options: EngineOptions) -> dict[str, str | int]:
    """Return what a run keeps of its engine: nothing where it is the usual one."""
    if options.engine == "here":
        return {}
    where = (
        {"workers": options.workers or WORKERS}
        if options.scheduler is None
        else {"scheduler": options.scheduler}
    )
    return {"engine": options.engine, **where}


def describe_engine(config: Mapping[str, Any]) -> str:  # Any: JSON
    """Say who sent the calls of a run, from what it keeps; empty where it was the process of the
    command.
    """
    if config.get("engine", "here") == "here":
        return ""
    return (
        f"{config['engine']},"
        f" {config.get('scheduler') or str(config.get('workers') or WORKERS) + ' local workers'}"
    )


@contextmanager
def start_engines(
    workspace: Workspace,
    run_id: str,
    options: JudgeModelOptions,
    environment: Environment,
    record: CallStore,
) -> Generator[Callable[[str], Engine | None]]:
    """Start what the options ask for, and yield what returns the engine of a model's client, by the
    model's name.

    Raises:
        InputError: The options contradict each other, or a worker has another version.
        WorldError: The scheduler cannot be reached, or has no workers.
    """
    check_engine(options)
    if options.engine == "here":
        yield lambda _: None
        return
    database = workspace.database
    if options.scheduler is not None and not database.shared and not is_here(options.scheduler):
        raise InputError(
            f"the workers of {options.scheduler} cannot write to {database.name}: it is a file of"
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
                opened.append(
                    clusters.enter_context(open_cluster(options.workers, options.scheduler, own))
                )
            return opened[0]

        def engine_of(model: str) -> Engine:
            errand = partial(errand_of, address_of(database), run_id, environment, model)
            engine = ShardEngine(cluster, database, run_id, errand=errand, record=record)
            engines.callback(engine.close)
            return engine

        yield engine_of


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
