"""Have a model write a loss for an objective, or check one that a person wrote, and list what every
outcome costs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...judges import ClientStats, InputError, LossError, OutputScale, read_small
from ...optimize import Loss, Objective, compile_expression, parse_loss, write_loss
from ...optimize.losses.axioms import axiom_faults
from ...optimize.losses.classes import Classes
from ...optimize.losses.costs import outcome_costs
from ...optimize.losses.grid import Grades
from ...optimize.losses.loss import WrittenLoss, missing_declaration
from ...optimize.losses.request import scale_facts, slice_facts
from ..config.command_options import ModelOptions
from ..config.environment import Environment
from ..store.run_clients import start_run_client
from ..store.workspace import Workspace
from .read_objective import saved_slices

_MAX_FILE = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LossGrades:
    """The grades on which a loss is tried."""

    grades: OutputScale
    """The judge's."""
    target: str = ""
    """The metric that the loss is for; among classes it says whose errors cost more."""

    @property
    def tried_on(self) -> Grades | Classes:
        """The same as the checks of a loss take it."""
        if self.grades.kind == "choice":
            return Classes.of(self.grades, self.target)
        return Grades.of(self.grades)

    def costs(self, loss: Loss) -> list[dict[str, Any]]:  # Any: JSON
        """Return what every outcome costs; of a choice, what each class costs by what it is
        called.
        """
        return outcome_costs(loss.expression, self.tried_on)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelLoss:
    """A loss that a model wrote, and what that took."""

    written: WrittenLoss
    stats: ClientStats
    simulated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedLoss:
    """A loss that somebody wrote, and every reason against it."""

    loss: Loss | None
    """None where it cannot be read."""
    refusals: tuple[Mapping[str, str], ...]
    """The broken axiom, and how it is broken."""


def ask_for_loss(
    workspace: Workspace,
    objective: Objective,
    slice_name: str,
    grades: LossGrades,
    models: ModelOptions,
    environment: Environment,
) -> ModelLoss:
    """Have the model write a loss, in a run of its own with every reply recorded.

    Raises:
        WorldError: The endpoint, the budget or the disk stopped it.
    """
    config = {"objective": objective.text, "model": models.model}
    grades = replace(grades, target=objective.target)
    facts = [] if grades.grades.kind == "choice" else scale_facts(grades.grades, None)
    slices = saved_slices(workspace)
    facts += slice_facts(slices)
    slice_name = slices.get(slice_name.strip(), slice_name)

    def trial(loss: Loss) -> None:
        loss.expression.require_slices(slices)

    with start_run_client(workspace, "loss", config, models, environment) as (_, client):
        written = write_loss(objective, slice_name, client.ask_one, grades.tried_on, trial, facts)
        return ModelLoss(written=written, stats=client.stats, simulated=client.model.simulated)


def check_loss(
    expression: str,
    declares: str | None,
    objective: Objective | None,
    grades: LossGrades,
    slices: Collection[str],
) -> CheckedLoss:
    """Check a loss against the axioms, and against the errors that an objective cares about.

    Args:
        expression: As `read_loss` takes it.
        declares: The error, `fp` or `fn`, that it claims to charge more for.
        objective: An objective whose direction of errors it must declare.
        grades: The grades on which it is tried.
        slices: The names of saved slices, which it may weigh.
    """
    try:
        loss = read_loss(expression, declares)
        loss.expression.require_slices(slices)
    except LossError as error:
        return CheckedLoss(loss=None, refusals=({"axiom": "language", "reason": str(error)},))
    grades = replace(grades, target=objective.target if objective else "")
    faults = axiom_faults(loss.expression, loss.declares, grades.tried_on)
    refusals = [{"axiom": fault.axiom, "reason": fault.detail} for fault in faults]
    missing = missing_declaration(loss, objective) if objective else None
    if missing:
        refusals.append({"axiom": "objective", "reason": missing})
    return CheckedLoss(loss=loss, refusals=tuple(refusals))


def read_loss(expression: str, declares: str | None = None) -> Loss:
    """Read a loss: an expression, or the .json file that `loss write --out` wrote.

    Raises:
        LossError: It is outside the language.
        InputError: The file cannot be read.
    """
    if not expression.strip().endswith(".json"):
        other = "fn" if declares == "fp" else "fp"
        claims = {f"{declares}_costs_more_than_{other}": True} if declares else {}
        return Loss(expression=compile_expression(expression), declares=claims)
    if declares:
        raise InputError("--declares is for an expression; a file says itself what it declares")
    path = Path(expression.strip())
    try:
        content = read_small(path, limit=_MAX_FILE)
        return parse_loss(content.decode(), written_by="person")
    except OSError as error:
        raise InputError(f"the loss {str(path)!r} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"the loss {str(path)!r} is not UTF-8 text") from error
