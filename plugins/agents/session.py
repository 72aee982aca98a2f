"""What the agent of one server may do: whose files, which models, and how much money is left."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from ...judges.errors import InputError
from ...judges.models.call_record import Spending
from ...runs.config.environment import SIMULATED, Environment, parse_budget
from ...runs.config.model_kinds import kind_of
from ...runs.config.models_file import read_user_models
from ...runs.config.place import Place
from ...runs.store.calls import read_spending
from ...runs.store.workspace import FOLDER, Workspace
from ...runs.terminal import visible
from .tools import Arguments

_JUDGE = re.compile(r"[\w.-]+(@[\w.-]+)?")
_OF_CHILD = "seq > ? AND run_id IN (SELECT run_id FROM run WHERE pid = ? AND host = ?)"


class Session:
    """One server, from its start to its end.

    Args:
        place: Of the workspace.
        folder: Whose files may be named.
        budget: What all calls may spend together; None for nothing.
        may_write: Whether exports may be written into the folder.
        environment: Of the server: models, keys.

    Raises:
        InputError: The folder is missing, or the budget cannot be read.
    """

    def __init__(
        self,
        place: Place,
        folder: Path,
        *,
        budget: str | None,
        may_write: bool,
        environment: Environment,
    ) -> None:
        if not folder.is_dir():
            raise InputError(f"there is no folder {str(folder)!r}", hint="name one with --folder")
        self.place = replace(place, root=place.root.resolve())
        self.folder = folder.resolve()
        self._allowance = None if budget is None else parse_budget(budget)
        self._may_write = may_write
        self._environment = environment
        self._secrets = self._keys()
        self._cost, self._tokens = 0.0, 0

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment of a command."""
        return {**self._environment.variables, **self.place.secrets}

    # What the agent may name.

    def judge(self, name: str) -> str:
        """Return a judge as a command takes it.

        Raises:
            InputError: It is neither a name nor a YAML file of the folder.
        """
        if name.endswith((".yaml", ".yml")) and not name.startswith("git:"):
            path = self.readable(name)
            if path.suffix not in (".yaml", ".yml"):
                raise InputError(f"{name!r} is no YAML file")
            return str(path)
        if not _JUDGE.fullmatch(name):
            raise InputError(
                f"{name!r} is neither a judge's name nor a YAML file", hint="`judges` lists them"
            )
        return name

    def readable(self, name: str) -> Path:
        """Return the whole path of a file that the agent may have read.

        Raises:
            InputError: It is elsewhere, also by a link, or is no file.
        """
        path = self._inside(name)
        if not path.is_file():
            raise InputError(f"there is no file {name!r} in the folder of this server")
        return path

    def writable(self, name: str) -> Path:
        """Return the whole path of what an export may make.

        Raises:
            InputError: Nothing may be written, or not there.
        """
        if not self._may_write:
            raise InputError(
                "this server writes no files: leave out `out`, and the answer has them",
                hint="a person allows it: judgewright agents mcp --write",
            )
        path = self._inside(name)
        if path.exists():
            raise InputError(f"{name!r} is there already", hint="name another one")
        return path

    def _inside(self, name: str) -> Path:
        try:
            path = (self.folder / name).resolve()
        except (OSError, RuntimeError, ValueError):  # such as links in a circle
            raise InputError(f"{name!r} is not a path that can be used") from None
        roots = (self.folder, self.place.root)
        if not any(path.is_relative_to(root) for root in roots) or FOLDER in path.parts:
            raise InputError(
                f"{name!r} is outside the folder of this server",
                hint="a person says which one that is: judgewright agents mcp --folder FOLDER",
            )
        return path

    def require_model(self, name: str) -> None:
        """Refuse a model that says itself where it is asked.

        Raises:
            InputError: It names an address or a provider that the user has not set up.
        """
        if name in {SIMULATED, *(one.name for one in read_user_models(self._environment.models))}:
            return
        if "@" in name or "://" in name or kind_of(name):
            raise InputError(
                f"the model {name!r} names an address or a provider, which only a person does here",
                hint="a person gives it a name: judgewright models add NAME ...",
            )

    # What it may spend.

    def budget_for(self, arguments: Arguments) -> str | None:
        """Return the budget of a command that asks a model; None where it costs nothing: the
        simulated model, or none.

        Raises:
            InputError: No budget was stated for a model that may cost something.
        """
        model = getattr(arguments, "model", SIMULATED)
        if not arguments.pays or model == SIMULATED:
            return None
        if self._allowance is None:
            raise InputError(
                f"the model {model!r} may cost money, and no budget is stated",
                hint="a person starts this server with one: judgewright agents mcp --budget 2.00;"
                " the model `simulated` is made up and free",
            )
        left = (self.spent() or {})["left"]
        return f"{left:.6f}" if self._allowance.tokens is None else f"{left}tokens"

    def spent(self) -> dict[str, Any] | None:  # Any: JSON
        """Return what is spent and left; None where nothing may be spent."""
        if self._allowance is None:
            return None
        limit, spent, unit = self._allowance.money or 0.0, round(self._cost, 6), "dollars"
        if self._allowance.tokens is not None:
            limit, spent, unit = self._allowance.tokens, self._tokens, "tokens"
        return {unit: limit, "spent": spent, "left": max(0, round(limit - spent, 6))}

    def count(self, spending: Spending) -> None:
        """Take what a command has cost from the budget, with what is in doubt: it was sent and may
        have been charged.
        """
        self._cost += spending.settled_cost + spending.in_doubt_cost
        self._tokens += spending.settled_tokens + spending.in_doubt_tokens

    def last_attempt(self) -> int:
        """Return the number of the newest call in the workspace."""
        with Workspace(self.place) as workspace:
            if not workspace.exists:
                return 0
            rows = workspace.database.read("SELECT coalesce(max(seq), 0) FROM attempt")
            return cast("int", rows[0][0])

    def since(self, attempt: int, pid: int) -> tuple[int, Spending]:
        """Return how many calls a command has made, and what they cost, as the store has it.

        Args:
            attempt: The newest call before it began.
            pid: Its process.
        """
        with Workspace(self.place) as workspace:
            if not workspace.exists:
                return 0, Spending()
            of_child = (attempt, pid, socket.gethostname())
            database = workspace.database
            counted = database.read(f"SELECT count(*) FROM attempt WHERE {_OF_CHILD}", of_child)  # noqa: S608
            return counted[0][0], read_spending(database, _OF_CHILD, of_child)

    # What it may read.

    def clean(self, value: Any) -> Any:  # Any: JSON
        """Return an answer without keys and without characters that a terminal would obey."""
        if isinstance(value, dict):
            items = cast("dict[str, Any]", value).items()
            return {self.clean(name): self.clean(one) for name, one in items}
        if isinstance(value, list):
            return [self.clean(one) for one in cast("list[Any]", value)]
        if not isinstance(value, str):
            return value
        for secret in self._secrets:
            value = value.replace(secret, "***")
        return visible(value)

    def _keys(self) -> tuple[str, ...]:
        """Return every key that the server knows of, the longest first; a word is no key."""
        ring = self._environment.keyring()
        keys = [one.key for one in (*ring.bindings, *ring.providers)]
        keys += [ring.spare, *self.place.secrets.values()]
        return tuple(sorted({key for key in keys if key and len(key) >= 8}, key=len, reverse=True))
