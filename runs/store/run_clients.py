"""The clients of a run: their calls are recorded for it, and what these cost counts against its
budget.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...judges import Client, InputError
from ...judges.models import Budget
from ..config.command_options import ExchangeOptions, JudgeModelOptions, ModelOptions, Via
from ..config.environment import (
    SIMULATED,
    Environment,
    open_batch_exchange,
    open_client,
    parse_budget,
)
from .calls import CallStore, read_spending
from .database import Database
from .engines import check_engine, engine_record, start_engines
from .journal import create_run, run_session
from .workspace import Workspace

if TYPE_CHECKING:
    from ...judges.cases import Encode
    from ...judges.models import Exchange

_EARLIER = 50
"""Newest calls of the workspace that show what an endpoint refuses."""


@contextmanager
def open_run_clients(
    workspace: Workspace,
    run_id: str,
    options: ModelOptions,
    environment: Environment,
    *,
    models: Collection[tuple[str, Via]] = (),
    same_budget: Collection[str] = (),
) -> Iterator[dict[tuple[str, Via], Client]]:
    """Open a client for each model of a run, on one record and one budget.

    Args:
        run_id: The run, which somebody keeps in a session.
        models: The models and how each is reached, where there are several.
        same_budget: Other runs whose calls the budget covers as well.

    Raises:
        InputError: The budget or a name is not valid, or only the workspace names the address of a
            model.
    """
    allowance = parse_budget(options.budget)
    record = CallStore(workspace.database, run_id, same_budget=same_budget)
    budget = Budget(money=allowance.money, tokens=allowance.tokens, spent=record.spending())
    with ExitStack() as opened:
        clients: dict[tuple[str, Via], Client] = {}
        exchanges: list[Exchange] = []
        engine_for = None
        if isinstance(options, JudgeModelOptions):
            engine_for = opened.enter_context(
                start_engines(workspace, run_id, options, environment, record)
            )

        def encoder(name: str) -> Encode:
            """Open an embeddings model on the same record and budget."""
            from ...judges.models.embeddings import embed

            client = open_client(name, environment, record=record, budget=budget, embeddings=True)
            return partial(embed, opened.enter_context(client))

        def open_one(name: str, exchange: Exchange | None = None) -> Client:
            client = open_client(
                name,
                environment,
                record=record,
                budget=budget,
                exchange=exchange,
                engine=None if engine_for is None else engine_for(name),
                encoder=encoder,
                opener=second,
                concurrency=options.concurrency,
                max_unreadable=options.max_unreadable,
                earlier=lambda model: record.recent(
                    endpoint=model.endpoint, model=model.name, n=_EARLIER
                ),
            )
            return opened.enter_context(client)

        def second(name: str) -> Client:
            """Open the slow model of a cascade."""
            environment.require_own(name, who="the judge's cascade")
            return open_one(name)

        for model, via in models or ((options.model, options.via),):
            exchange = open_exchange(workspace, model, via, options, environment)
            if exchange is not None:
                exchanges.append(exchange)
            clients[model, via] = open_one(model, exchange)
        yield clients
        for exchange in exchanges:
            exchange.tidy(record.recorded)


def whole_budget(database: Database, run_id: str | None, budget: str | None) -> str | None:
    """Return the budget of a whole run, what it has spent included; `+2.00` is two dollars more
    than that, in this session.

    Args:
        run_id: None for a run that is yet to be made.

    Raises:
        InputError: It is no budget.
    """
    if budget is None or not budget.startswith("+"):
        return budget
    allowance = parse_budget(budget.removeprefix("+"))
    spent = read_spending(database, "run_id = ?", (run_id or "",))
    if allowance.tokens is not None:
        return f"{allowance.tokens + spent.settled_tokens + spent.in_doubt_tokens}tokens"
    return f"{(allowance.money or 0.0) + spent.settled_cost + spent.in_doubt_cost:.6f}"


def open_exchange(
    workspace: Workspace, model: str, via: Via, options: ExchangeOptions, environment: Environment
) -> Exchange | None:
    """Return what asks a model through batches or files; None for single calls.

    Raises:
        InputError: The folder of the files is missing or is none, or the model cannot be reached
            so.
    """
    if via == "live":
        return None
    if environment.model(model).settings.api is not None:
        raise InputError(
            f"{model} is a decision model, which is asked live, not through batches or files",
            hint="leave out --via",
        )
    if model == SIMULATED:
        raise InputError(
            "the simulated model answers in process, not through batches or files",
            hint="leave out --via, or serve it with `judgewright models simulate`",
        )
    if via == "batch":
        return open_batch_exchange(
            model, environment, workspace.folder / "batches", wait=workspace.waits
        )
    if options.exchange is None:
        raise InputError(
            "--via files needs a folder for the files", hint="name one: --via files=DIR"
        )
    from ...judges.models import Exchange

    return Exchange(Path(options.exchange))


@contextmanager
def start_run_client(
    workspace: Workspace,
    kind: str,
    config: Mapping[str, Any],  # Any: JSON
    options: ModelOptions,
    environment: Environment,
) -> Iterator[tuple[str, Client]]:
    """Enter a new run, keep its state true, and open the client of its one model; yield the run's
    id and the client.

    Args:
        kind: Of the run, such as `bench`.

    Raises:
        InputError: The budget or the model's name is not valid.
    """
    # Before there is a run that would stay behind.
    parse_budget(options.budget)
    open_exchange(workspace, options.model, options.via, options, environment)
    if options.via != "live":
        config = {**config, "via": options.via}
    if isinstance(options, JudgeModelOptions):
        check_engine(options)
        config = {**config, **engine_record(options)}
    run_id = create_run(workspace.database, kind, config)
    with (
        run_session(workspace.database, run_id),
        open_run_clients(workspace, run_id, options, environment) as clients,
    ):
        yield run_id, clients[options.model, options.via]
