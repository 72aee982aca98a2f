"""A loss for one objective: written by a model, checked before use, frozen by its hash for the run.

The loss says what each outcome of a row costs. It weighs the errors of a brief and steers the
search of proposers; it never decides acceptance, which belongs to the metric itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import Field

from ...judges import (
    PROBABILITY_METRICS,
    BoolArray,
    Completion,
    FloatArray,
    JudgedDataset,
    LossError,
    OutputScale,
    Request,
)
from ...judges.notebook_display import html_table
from .axioms import DECLARATIONS, check_axioms
from .classes import Classes
from .costs import cost_table
from .expression import MAX_CHARACTERS, Expression, compile_expression
from .grid import Grades
from .objective import Objective
from .outcomes import TARGET_SLICE, outcomes_of
from .replies import Strict, parse_object, reply_text
from .request import REQUIRED_DECLARATION, loss_request

if TYPE_CHECKING:
    import pandas as pd

RETURNS = 3
"""How often a refused loss goes back to the model before the default is taken."""

_GRADED = ("off_by_one",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A checked loss with what it claims about itself."""

    expression: Expression
    declares: Mapping[str, bool] = field(default_factory=dict)
    reason: str = ""
    written_by: str = "person"
    """The model that wrote it, `default`, or `person`."""

    @property
    def version(self) -> str:
        """Twelve hexadecimal digits of the hash of the expression and its declarations."""
        claims = sorted(key for key, claimed in self.declares.items() if claimed)
        body = orjson.dumps({"expression": self.expression.version, "declares": claims})
        return hashlib.blake2b(body, digest_size=6).hexdigest()

    def __repr__(self) -> str:
        return f"Loss({str(self.expression)!r}, written by {self.written_by!r})"

    def _repr_html_(self) -> str:
        notes = ["on a scale of four grades", f"written by {self.written_by}"]
        if self.reason:
            notes.append(self.reason)
        return html_table(self.to_frame(), title=str(self.expression), notes=notes)

    def to_frame(self, *, levels: int = 4, positive_from: float | None = None) -> pd.DataFrame:
        """Return what each outcome costs on a scale of so many grades; see `cost_table`."""
        import pandas as pd

        table = cost_table(self.expression, Grades(levels=levels, positive_from=positive_from))
        return pd.DataFrame([asdict(line) for line in table])

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what `parse_loss` reads."""
        return {
            "expression": str(self.expression),
            "declares": dict(self.declares),
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenLoss:
    """The loss that came out of asking a model, and why earlier answers were refused."""

    loss: Loss
    refusals: tuple[str, ...] = ()


class _Declares(Strict):
    fp_costs_more_than_fn: bool = False
    fn_costs_more_than_fp: bool = False


class _Reply(Strict):
    expression: str = Field(min_length=1, max_length=MAX_CHARACTERS)
    declares: _Declares = Field(default_factory=_Declares)
    reason: str = Field(default="", max_length=2000)


def default_loss(objective: Objective) -> Loss:
    """Return the loss used where no model wrote an acceptable one.

    The error the objective fights costs 1, the other kind 0.4 (both 1 where it fights neither);
    outside the target slice everything costs 0.6 of that, and an answer given without any
    confidence 0.6 of one given with certainty. For a target on the grades themselves, half of the
    cost is the distance between the two grades. A right answer on the right grade costs nothing.
    For the Brier score it is the squared error of the probability, a confidence under 0.55 being
    taken for 0.55. Among classes a wrong one costs 1; where the target is one class's recall or
    precision, the errors that it counts cost 1 and all others 0.4.
    """
    declares: dict[str, bool] = {}
    fought = Classes.of(OutputScale(), objective.target).fought
    if fought is not None:
        error = f"(1 if {fought} else 0.4) * (1 - correct)"
    elif objective.target in _GRADED:
        error = "(0.5 * (1 - correct) + 0.5 * rank_distance / (n_levels - 1))"
    elif objective.direction is None:
        error = "(1 - correct)"
    else:
        error = "(fp + 0.4 * fn)" if objective.direction == "fp" else "(fn + 0.4 * fp)"
        declares = {REQUIRED_DECLARATION[objective.direction]: True}
    sureness = "(0.6 + 0.4 * confidence)"
    if objective.target in PROBABILITY_METRICS:
        error = "(correct - max(confidence, 0.55)) ** 2"
        sureness = "1" if objective.direction is None else f"(1 if {objective.direction} else 0.4)"
    text = f"{error} * (1 if in_slice('{TARGET_SLICE}') else 0.6)" + f" * {sureness}" * (
        sureness != "1"
    )
    return Loss(
        expression=compile_expression(text),
        declares=declares,
        reason=f"The default loss for: {objective.describe()}",
        written_by="default",
    )


def parse_loss(text: str, *, written_by: str = "model") -> Loss:
    """Read a model's reply: one JSON object, a Markdown fence around it allowed, nothing else.

    Raises:
        LossError: It is too long, is not JSON with the right keys, or outside the language.
    """
    try:
        parsed = parse_object(text, _Reply)
    except ValueError as error:
        raise LossError(str(error)) from None
    return Loss(
        expression=compile_expression(parsed.expression),
        declares=parsed.declares.model_dump(),
        reason=parsed.reason.strip(),
        written_by=written_by,
    )


def write_loss(
    objective: Objective,
    slice_description: str,
    ask: Callable[[Request], Completion],
    grades: Grades | Classes,
    trial: Callable[[Loss], object] = lambda loss: None,
    facts: Sequence[str] = (),
) -> WrittenLoss:
    """Have a model write the loss; a refused one goes back with the reasons, three times, then the
    default is taken.

    Args:
        objective: What the person wants; its direction must be declared by the loss.
        slice_description: The predicate of the slice under repair.
        ask: Makes one completion; what it raises (endpoint, budget) passes through.
        grades: The grades or classes that the loss is tried on.
        trial: Tries an accepted loss, such as on the verdicts at hand; a LossError from it refuses
            the loss.
        facts: See `loss_request`.
    """
    refusals: list[str] = []
    classes = grades if isinstance(grades, Classes) else None
    for _ in range(1 + RETURNS):
        completion = ask(loss_request(objective, slice_description, refusals, classes, facts))
        try:
            loss = _read(completion)
            check_loss(loss, objective, grades, trial)
        except LossError as error:
            refusals.append(str(error))
        else:
            return WrittenLoss(loss=loss, refusals=tuple(refusals))
    return WrittenLoss(loss=default_loss(objective), refusals=tuple(refusals))


def check_loss(
    loss: Loss,
    objective: Objective,
    grades: Grades | Classes,
    trial: Callable[[Loss], object] = lambda loss: None,
) -> None:
    """Refuse a loss that does not declare the objective's direction, breaks an axiom, or fails its
    trial.

    Args:
        loss: The loss.
        objective: What the person wants.
        grades, trial: See `write_loss`.

    Raises:
        LossError: It is refused; the message gives every reason of its kind.
    """
    if missing := missing_declaration(loss, objective):
        raise LossError(missing)
    check_axioms(loss.expression, loss.declares, grades)
    trial(loss)


def missing_declaration(loss: Loss, objective: Objective) -> str | None:
    """Say which declaration the objective needs and the loss does not make; None where nothing is
    missing.
    """
    if objective.direction is None:
        return None
    required = REQUIRED_DECLARATION[objective.direction]
    if loss.declares.get(required):
        return None
    return f"the objective needs a loss that declares {required}: {DECLARATIONS[required]}"


def row_losses(
    loss: Loss,
    judged: JudgedDataset,
    inside: BoolArray,
    slices: Mapping[str, BoolArray] = MappingProxyType({}),
) -> FloatArray:
    """Return the loss of each scored row, shape (n,), each in [0, 1].

    Args:
        loss: The loss to apply.
        judged: The table.
        inside: Whether each scored row is in the slice under repair; shape (n,).
        slices: By the name of a saved slice, which scored rows are in it; shape (n,) each.

    Raises:
        LossError: Some row's loss is not in [0, 1], or the loss names a slice that is not there.
    """
    return loss.expression.evaluate(outcomes_of(judged, inside), slices)


def _read(completion: Completion) -> Loss:
    try:
        text = reply_text(completion)
    except ValueError as error:
        raise LossError(str(error)) from None
    return parse_loss(text, written_by=completion.model_returned or "model")
