"""The clients of a run: their calls are recorded for it, and what these cost counts against its budget."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from ...judges import Client
from ...judges.models import Budget
from ..config.environment import Environment, open_client, parse_budget
from ..config.options import ModelOptions
from .calls import CallStore
from .journal import create_run, run_session
from .workspace import Workspace


@contextmanager
def open_run_clients(
    workspace: Workspace,
    run_id: str,
    options: ModelOptions,
    environment: Environment,
    *,
    models: Collection[str] = (),
    same_budget: Collection[str] = (),
) -> Iterator[dict[str, Client]]:
    """Open a client for each model of a run, on one record and one budget.

    Args:
        workspace: Where replies are recorded.
        run_id: The run, which somebody keeps in a session.
        options: The model, and how fast and for how much it is called.
        environment: Base URL and keys.
        models: The models, where there are several.
        same_budget: Other runs whose calls the budget covers as well.

    Raises:
        InputError: The budget or a name is not valid, or only the workspace names the address of a model.
    """
    allowance = parse_budget(options.budget)
    record = CallStore(workspace.database, run_id, same_budget=same_budget)
    budget = Budget(money=allowance.money, tokens=allowance.tokens, spent=record.spending())
    with ExitStack() as opened:
        clients: dict[str, Client] = {}
        for model in models or (options.model,):
            client = open_client(model, environment, record=record, budget=budget, concurrency=options.concurrency)
            clients[model] = opened.enter_context(client)
        yield clients


@contextmanager
def start_run_client(
    workspace: Workspace,
    kind: str,
    config: Mapping[str, Any],  # Any: JSON
    options: ModelOptions,
    environment: Environment,
) -> Iterator[tuple[str, Client]]:
    """Enter a new run, keep its state true, and open the client of its one model; yield the run's id and the client.

    Args:
        workspace: Where the run is entered.
        kind: Of the run, such as `bench`.
        config: What the run keeps.
        options: The model, and how fast and for how much it is called.
        environment: Base URL and keys.

    Raises:
        InputError: The budget or the model's name is not valid.
    """
    parse_budget(options.budget)  # before there is a run that would stay behind
    run_id = create_run(workspace.database, kind, config)
    with (
        run_session(workspace.database, run_id),
        open_run_clients(workspace, run_id, options, environment) as clients,
    ):
        yield run_id, clients[options.model]
