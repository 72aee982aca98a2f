"""What `optimize` is told, such as `--target` and `--guard`; each field is an option there."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from ...optimize.options import (
    ClaimOptions,
    ConfidenceOptions,
    GateOptions,
    SearchOptions,
    described,
    option,
)
from ..plugins import brought
from .command_options import VIA_FORM, AuditedRowOptions, JudgeModelOptions, Via

if TYPE_CHECKING:
    from ...optimize import ObjectiveWords

PROPOSERS = (
    *("cases", "study", "textgrad", "rewrite", "gepa", "mipro", "human"),
    *brought("proposers"),
)
ARMS = ("cases", "study", "textgrad")
"""The proposers of a run unless others are named."""
GONE_PROPOSERS = {"fewshot": "--proposer cases --cases-by fixed"}
"""Those of earlier versions, with what to type instead."""

_goal = partial(option, "Goal")
_data = partial(option, "Data")
_model = partial(option, "Model")
_search = partial(option, "Search")


@dataclass(frozen=True, kw_only=True)
class TargetOptions:
    """What an objective says, in exact words."""

    target: str | None = _goal(None, "The metric to improve; overrides what the objective says.")
    guards: tuple[str, ...] = _goal(
        (),
        "How far a metric may fall, such as recall=0.05.",
        kind="repeated",
        flag="--guard",
        metavar="METRIC=LOSS",
    )
    floors: tuple[str, ...] = _goal(
        (),
        "What a metric must reach with 95 % confidence, such as precision=0.9.",
        kind="repeated",
        flag="--floor",
        metavar="METRIC=VALUE",
    )

    def words(self, objective: str) -> ObjectiveWords:
        """Return an objective with what these say of it."""
        from ...optimize import ObjectiveWords

        return ObjectiveWords(
            text=objective, target=self.target, guards=self.guards, floors=self.floors
        )


@dataclass(frozen=True, kw_only=True)
class ReadingOptions(TargetOptions):
    """The same of an objective that a model may read."""

    yes: bool = _goal(False, "Take the model's reading of the objective without asking.")


@dataclass(frozen=True, kw_only=True)
class GoalOptions(ReadingOptions):
    """What a better prompt is."""

    objective: str = field(
        metadata=described(
            "Goal",
            "What to improve, in exact words such as 'raise precision', else in a sentence that the"
            " model reads.",
        )
    )
    loss: str | None = _goal(
        None,
        "Your own loss: an expression, or the file of `loss write --out` [default: the model writes"
        " one].",
        kind="loss",
    )


@dataclass(frozen=True, kw_only=True)
class OfficialSplitOptions:
    """A split that somebody prescribes."""

    holdout: str | None = _data(
        None, "A file of rows to seal, all of them and no other.", metavar="FILE"
    )
    split_column: str | None = _data(
        None,
        "Column that says of each row whether it is of train, validation (dev) or test; test is"
        " sealed.",
    )


@dataclass(frozen=True, kw_only=True)
class ProposerOptions:
    """Who writes the new prompts, and with which models' help."""

    proposer: str = _search(
        ",".join(ARMS),
        f"Who writes new prompts, comma-separated, of {', '.join(PROPOSERS)}; the one with the best"
        " chance goes to the gate.",
    )
    editable: tuple[str, ...] = _search(
        (),
        "Comma-separated parts that may change: criteria, anchors (what each grade means), system,"
        " cases (with study or textgrad), reply [default: criteria; of study anchors too; in your"
        " own edit all but anchors].",
        kind="names",
        proposers=("study", "textgrad", "rewrite", "human"),
    )
    view: str = _search(
        "errors",
        "What TextGrad shows of the rows: errors, the slice's costliest, or all, each row right or"
        " wrong, which is study.",
        choices=("errors", "all"),
        proposers=("textgrad",),
    )
    temperature: float = _search(
        0.7,
        "Temperature at which TextGrad and rewrite sample the optimizer model.",
        low=0,
        high=2,
        proposers=("study", "textgrad", "rewrite"),
    )
    step_calls: int | None = _search(
        None,
        "Calls in one step of gepa or mipro [120].",
        kind="integer",
        low=20,
        proposers=("gepa", "mipro"),
    )
    cases: int = _search(
        4,
        "Decided cases that the judge is shown before each row.",
        low=1,
        high=64,
        proposers=("cases", "study", "textgrad"),
    )
    cases_by: str = _search(
        "near",
        "Which cases: near (most like the row), fixed, random, or the name of an embeddings model.",
        proposers=("cases", "study", "textgrad"),
    )
    cases_from: str = _search(
        "all",
        "The open rows that cases are taken from: all, or those of the slice.",
        choices=("all", "slice"),
        proposers=("cases", "study", "textgrad"),
    )
    edit: str | None = _search(
        None,
        "With --proposer human: the YAML file of your edited prompt.",
        kind="edit",
        proposers=("human",),
    )
    optimizer_model: str | None = _model(
        None, "The model that writes loss and criteria [default: the judge's]."
    )
    optimizer_via: Via | None = _model(
        None,
        "How the optimizer's model is reached [default: as --via; live with --via batch].",
        kind="via",
        metavar=VIA_FORM,
    )


@dataclass(frozen=True, kw_only=True)
class OptimizeOptions(
    GateOptions,
    SearchOptions,
    ProposerOptions,
    ClaimOptions,
    ConfidenceOptions,
    JudgeModelOptions,
    OfficialSplitOptions,
    AuditedRowOptions,
    GoalOptions,
):
    """The options of `optimize`; a run stores each under its field's name."""
