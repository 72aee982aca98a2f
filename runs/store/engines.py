"""Engines that send a judge's calls from elsewhere than this process; plug-ins bring them.

`--engine NAME` or `--engine NAME=WHERE` takes one; what may stand for WHERE is the engine's to say.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from ...judges import InputError
from ...judges.models import Engine
from ..config.command_options import HERE, JudgeModelOptions
from ..config.environment import Environment
from ..plugins import brought, load

if TYPE_CHECKING:
    from .calls import CallStore
    from .workspace import Workspace


class EngineKind(Protocol):
    """What a plug-in brings."""

    def check(self, where: str) -> None:
        """Refuse what cannot be, before anything is started.

        Raises:
            InputError: It is no place to send calls from, or a package is not installed.
        """
        ...

    def start(
        self,
        where: str,
        workspace: Workspace,
        run_id: str,
        environment: Environment,
        record: CallStore,
    ) -> AbstractContextManager[Callable[[str], Engine]]:
        """Start what sends the calls of a run, and yield what returns the engine of a model's
        client, by the model's name.

        Raises:
            InputError: It cannot write to this workspace.
            WorldError: It cannot be reached.
        """
        ...


def check_engine(options: JudgeModelOptions) -> None:
    """Refuse an engine that cannot be, before anything is started.

    Raises:
        InputError: There is none of that name, it does not fit the other options, or a package is
            not installed.
    """
    if options.engine == HERE:
        return
    kind, where = _find(options.engine)
    if options.via != "live":
        raise InputError(
            f"--engine {options.engine} makes single calls, and --via {options.via} none",
            hint="leave out one of the two options",
        )
    kind.check(where)


@contextmanager
def start_engines(
    workspace: Workspace,
    run_id: str,
    options: JudgeModelOptions,
    environment: Environment,
    record: CallStore,
) -> Generator[Callable[[str], Engine | None]]:
    """Start what the options ask for; see `EngineKind.start`, and `check_engine` for errors."""
    check_engine(options)
    if options.engine == HERE:
        yield lambda _: None
        return
    kind, where = _find(options.engine)
    with kind.start(where, workspace, run_id, environment, record) as engine_of:
        yield engine_of


def engine_record(options: JudgeModelOptions) -> dict[str, str]:
    """Return what a run stores of its engine: nothing where it is the usual one."""
    return {} if options.engine == HERE else {"engine": options.engine}


def engine_of_run(config: Mapping[str, Any]) -> str:  # Any: JSON
    """Return which engine sent the calls of a run, as `--engine` takes it."""
    # Runs of version 0.3 have the two parts as options of their own.
    where = config.get("scheduler") or config.get("workers")
    return f"{config.get('engine', HERE)}{f'={where}' if where else ''}"


def _find(engine: str) -> tuple[EngineKind, str]:
    name, _, where = engine.partition("=")
    engines = brought("engines")
    if name not in engines:
        raise InputError(
            f"no plug-in brings --engine {name}",
            hint="leave it out; for --engine dask, pip install 'judgewright[dask]'",
        )
    return load(engines[name]), where
