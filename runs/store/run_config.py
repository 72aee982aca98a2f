"""What a run depends on, as it is stored with the run, and which proposer it uses."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ...judges import (
    Dataset,
    DecisionRule,
    InputError,
    JudgePrompt,
    JudgeSettings,
    load_prompt,
    with_holdout_file,
    with_split_column,
)
from ...judges.files import with_audited_labels
from ...judges.models import ModelSettings
from ...optimize import (
    PARTS,
    Gepa,
    HumanEdit,
    Mipro,
    ObjectiveWords,
    Part,
    Proposer,
    Rewrite,
    RunSettings,
    ShowCases,
    TextGrad,
    parse_loss,
)
from ...optimize.options import (
    GateOptions,
    SearchOptions,
    changed_options,
    option_fields,
    spelling,
)
from ..config.command_options import Via
from ..config.optimize_options import GONE_PROPOSERS, PROPOSERS, OptimizeOptions, ProposerOptions
from ..plugins import brought, load
from .banks import hidden_notes
from .bench_config import read_rows
from .engines import engine_of_run

_RETIRED = (
    "aggregate",
    "ablate",
    "candidates",
    "gradients",
    "hunks",
    "screen_model",
    "scheduler",
    "workers",
)
"""Options of earlier versions: their runs are still read."""


@dataclass(frozen=True, kw_only=True)
class RunConfig(OptimizeOptions):
    """Everything a run depends on but the replies; written when it starts, read when it is resumed.

    The edit is stored as the text of its YAML file, the loss as JSON.
    """

    prompt: str
    """The judge's YAML."""
    rule: Mapping[str, Any] | None = None  # Any: JSON
    """The decision rule kept for the judge when the run started; it decides for every version in
    the run.
    """
    data: str
    data_hash: str = ""
    reading: Mapping[str, Any] | None = None  # Any: JSON
    """The objective as it was read when the run started; None in runs of versions before 0.3."""
    saved_slices: Mapping[str, str] | None = None
    """Predicates of the slices that were saved when the run started; a loss may name them."""
    model_settings: Mapping[str, Mapping[str, Any]] | None = None  # Any: JSON
    """By model: its settings that may change an answer. The run keeps them, whatever the files say
    later.
    """
    identity: str = ""
    """By which the same command finds the run again, see `identify`; empty in runs of earlier
    versions.
    """
    hidden_cases: tuple[str, ...] = ()
    """Keys of decided cases that were sealed when the run started, which it does not show."""
    banks: Path | None = None
    """Where the large banks are that the judge or the edit names; each workspace has its own, and
    it is not stored."""

    @classmethod
    def from_json(
        cls, body: Mapping[str, Any], banks: Path | None = None
    ) -> RunConfig:  # Any: JSON
        """Read what `to_json` wrote, in this version or an earlier one.

        Args:
            banks: See `banks_of`.
        """
        values = {name: value for name, value in body.items() if name not in _RETIRED}
        values["engine"] = engine_of_run(body)
        if parts := values.pop("parts", None):  # --editable had two names
            values["editable"] = values.get("editable") or parts
        if "look_anyway" in values:
            values["gate_anyway"] = values.pop("look_anyway")
        for name, value in values.items():
            if isinstance(value, list):  # JSON has no tuples
                values[name] = tuple(value)
        return cls(**values, banks=banks)

    def for_edit(self, edit: str) -> RunConfig:
        """Return the configuration of a run that tries a person's edit on the same terms.

        What belongs to another proposer goes back to its default.
        """
        others: dict[str, Any] = {}  # Any: each field has its own type
        for field, option in option_fields(ProposerOptions):
            if option.proposers and "human" not in option.proposers:
                others[field.name] = field.default
        # A person may change all that a proposer might, and all that a person may anyway.
        others["editable"] = PARTS if "anchors" in self.editable else ()
        return replace(self, **{**others, "proposer": "human", "edit": edit, "steps": 1})

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the configuration as JSON; it holds no key."""
        body = asdict(self)
        del body["banks"]
        return body

    @cached_property
    def judge(self) -> JudgePrompt:
        """The prompt the run starts from."""
        prompt = load_prompt(self.prompt, origin="the run's prompt", folder=self.banks)
        return prompt.hiding(self.hidden_cases)

    @cached_property
    def edited_judge(self) -> JudgePrompt | None:
        """A person's edit of it; None where another proposer writes."""
        if self.edit is None:
            return None
        edited = load_prompt(self.edit, origin="the edit", folder=self.banks)
        return edited.hiding(self.hidden_cases)

    @property
    def arms(self) -> tuple[str, ...]:
        """The proposers by name."""
        return tuple(filter(None, (name.strip() for name in self.proposer.split(","))))

    @property
    def named_models(self) -> tuple[str, ...]:
        """The models that the run may call, each once: the judge's and the optimizer's."""
        names = (self.model, self.optimizer_model)
        return tuple(dict.fromkeys(name for name in names if name is not None))

    @property
    def optimizer_access(self) -> tuple[str, Via]:
        """The model that writes loss and criteria, and how: through a batch each of its requests
        may take a day.
        """
        usual: Via = "live" if self.via == "batch" else self.via
        return self.optimizer_model or self.model, self.optimizer_via or usual

    @property
    def model_access(self) -> tuple[tuple[str, Via], ...]:
        """The models that the run may call and how each is reached, each pair once."""
        access: list[tuple[str, Via]] = [(self.model, self.via), self.optimizer_access]
        return tuple(dict.fromkeys(access))

    @property
    def judge_settings(self) -> ModelSettings:
        """See `settings_of`."""
        return self.settings_of(self.model)

    def settings_of(self, model: str) -> ModelSettings:
        """Return the settings of a model that may change an answer, as the run started with
        them.
        """
        return ModelSettings().answering_as((self.model_settings or {}).get(model, {}))

    @property
    def decision_rule(self) -> DecisionRule | None:
        """The kept rule; None where the prompt's own threshold decides."""
        return None if self.rule is None else DecisionRule.from_json(self.rule)

    @property
    def objective_words(self) -> ObjectiveWords:
        """What the person said about the goal."""
        return ObjectiveWords(
            text=self.objective,
            target=self.target,
            guards=self.guards,
            floors=self.floors,
            yes=self.yes,
        )

    def settings(self) -> RunSettings:
        """Return what the optimizer needs of it."""
        chosen: dict[str, Any] = {}  # Any: each field has its own type
        for options in (SearchOptions, GateOptions):
            for field, _ in option_fields(options):
                chosen[field.name] = getattr(self, field.name)
        if self.proposer == "human":
            chosen["steps"] = min(self.steps, 1)
        return RunSettings(
            **chosen,
            loss=None if self.loss is None else parse_loss(self.loss, written_by="person"),
            judge=JudgeSettings(max_tokens=self.max_tokens, confidence=self.confidence),
            rule=self.decision_rule,
            decides=self.judge_settings.api is not None,
            claims=self.claims,
            saved_slices=self.saved_slices or {},
        )

    def dataset(self) -> Dataset:
        """Read the rows, and make sure they are still the ones the run started with."""
        rows = read_rows(self.judge, Path(self.data), self, drawn=True)
        if self.holdout is not None and self.split_column is not None:
            raise InputError(
                "--holdout and --split-column both say which rows are sealed",
                hint="give one of them",
            )
        if self.holdout is not None:
            rows = with_holdout_file(
                rows, read_rows(self.judge, Path(self.holdout), replace(self, limit=None))
            )
        if self.split_column is not None:
            rows = with_split_column(rows, self.split_column)
        if self.audited is not None:
            complete = self.limit is None and not self.skip_incomplete
            rows = with_audited_labels(rows, self.audited, complete=complete)
        if self.data_hash and rows.content_hash != self.data_hash:
            files = self.data if self.audited is None else f"{self.data} or {self.audited}"
            raise InputError(
                f"{files} has changed since the run started", hint="start a new run on the new rows"
            )
        return replace(rows, notes=(*rows.notes, *hidden_notes(self.judge)))


def open_proposers(config: RunConfig) -> tuple[Proposer, ...]:
    """Return the arms of a run.

    Raises:
        InputError: There is none of that name, or a setting does not belong to it.
    """
    _require_sense(config)
    names = ("study" if one == "textgrad" and config.view == "all" else one for one in config.arms)
    return tuple(_open_proposer(name, config) for name in dict.fromkeys(names))


def editable_parts(proposers: Iterable[Proposer]) -> tuple[Part, ...]:
    """Return the parts that some arm may change, in the order of `PARTS`."""
    parts = {part for proposer in proposers for part in proposer.parts}
    return tuple(part for part in PARTS if part in parts)


def _open_proposer(name: str, config: RunConfig) -> Proposer:
    match name:
        case "textgrad":
            parts = _editable(config.editable, ("criteria",))
            return TextGrad(parts=parts, temperature=config.temperature, cases=show_cases(config))
        case "study":
            parts = _editable(config.editable, ("criteria", "anchors"))
            errors = TextGrad(temperature=config.temperature, cases=show_cases(config))
            return replace(errors, parts=parts, view="all")
        case "rewrite":
            return Rewrite(
                parts=_editable(config.editable, ("criteria",)), temperature=config.temperature
            )
        case "cases":
            return show_cases(config)
        case "gepa":
            return _with_calls(Gepa(), config.step_calls)
        case "mipro":
            return _with_calls(Mipro(), config.step_calls)
        case name if name in (brought_by := brought("proposers")):
            return load(brought_by[name])(config)
        case _:
            edit = config.edited_judge
            assert edit is not None
            return HumanEdit(
                edit=edit, parts=_editable(config.editable, HumanEdit(edit=edit).parts)
            )


def _editable(chosen: Collection[str], usual: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return the parts that may change, in the order of `PARTS`."""
    return tuple(part for part in PARTS if part in chosen) or usual


def show_cases(config: RunConfig) -> ShowCases:
    """Return what makes cases of open rows, as the options have it."""
    return ShowCases(
        count=config.cases, by=config.cases_by, only_slice=config.cases_from == "slice"
    )


def _with_calls(proposer: Gepa | Mipro, calls: int | None) -> Proposer:
    return proposer if calls is None else replace(proposer, calls=calls)


def _require_sense(config: RunConfig) -> None:
    """Refuse options that would have no effect.

    Raises:
        InputError: One of them is given, or one is missing.
    """
    unknown = [name for name in config.arms if name not in PROPOSERS]
    if unknown or not config.arms:
        name = unknown[0] if unknown else ""
        raise InputError(
            f"proposer {name!r} is none of {', '.join(PROPOSERS)}", hint=GONE_PROPOSERS.get(name)
        )
    for field, option, _ in changed_options(config, ProposerOptions):
        if option.proposers and not {*config.arms} & {*option.proposers}:
            owners = " or ".join(option.proposers)
            raise InputError(
                f"{spelling(field)} belongs to --proposer {owners}, not to {config.proposer}"
            )
    if "human" in config.arms and config.edit is None:
        raise InputError(
            "--proposer human needs the edited prompt", hint="give its YAML file with --edit FILE"
        )
    no_parts = sorted({*config.editable} - {*PARTS})
    if no_parts:
        raise InputError(
            f"--editable {no_parts[0]!r} is not a part that may change",
            hint=f"parts are {', '.join(PARTS)}",
        )
    if "cases" in config.editable and "rewrite" in config.arms:
        raise InputError(
            "rewrite writes texts alone", hint="--proposer cases, or textgrad with cases beside it"
        )
    if {*config.editable} == {"cases"} and {"study", "textgrad"} & {*config.arms}:
        raise InputError("--editable cases alone leaves no text to write", hint="--proposer cases")
    if "anchors" in config.editable and not config.judge.scale.anchors:
        raise InputError(
            f"the judge {config.judge.name!r} does not say what its grades mean, so no anchor may"
            " change",
            hint=(
                "leave anchors out of --editable, or write anchors into the judge's YAML (scale:"
                " anchors:)"
            ),
        )
    if config.unguided and config.slice != "auto":
        raise InputError("--unguided uses all rows, so --slice has no effect")
    if config.unguided and config.loss is not None:
        raise InputError("--unguided has its own loss, so --loss has no effect")
