"""What a run depends on, as it is kept with the run, and which proposer it asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ...judges import (
    Dataset,
    DecisionRule,
    InputError,
    JudgePrompt,
    JudgeSettings,
    Shares,
    load_dataset,
    load_prompt,
    parse_label_scale,
)
from ...optimize import (
    PARTS,
    FewShot,
    Gepa,
    HumanEdit,
    Mipro,
    Part,
    Proposer,
    Rewrite,
    RunSettings,
    TextGrad,
    parse_loss,
)

TEMPERATURE = 0.7
"""Of TextGrad and rewrite, unless given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """Everything a walk depends on but the answers; written when the run starts, read when it is resumed."""

    prompt: str
    """The judge's YAML."""
    rule: Mapping[str, Any] | None = None  # Any: JSON
    """The decision rule kept for the judge when the run started; it decides for every version in the run."""
    data: str
    data_hash: str = ""
    objective: str
    target: str | None = None
    guards: tuple[str, ...] = ()
    model: str
    optimizer_model: str | None = None
    """The judge's model unless given."""
    proposer: str = "textgrad"
    parts: tuple[str, ...] = ()
    """Parts of the prompt that TextGrad may change; the criteria unless given."""
    gradients: int = 1
    """Gradients of each part in one step of TextGrad."""
    temperature: float = TEMPERATURE
    """At which TextGrad and rewrite sample the optimizer model."""
    step_calls: int | None = None
    """Calls that one step of fewshot, gepa or mipro may make; its own default unless given."""
    edit: str | None = None
    """The YAML of a person's edit."""
    loss: str | None = None
    """A person's loss, as JSON."""
    unguided: bool = False
    hunks: int = 0
    allow_opened: bool = False
    budget: str | None = None
    concurrency: int = 64
    label: str | None = None
    id_: str | None = None
    group: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    label_scale: str | None = None
    limit: int | None = None
    skip_incomplete: bool = False
    steps: int = 15
    batch: int = 8
    candidates: int = 1
    screen_model: str | None = None
    """A cheaper judge that looks at several candidates before they race."""
    slice: str = "auto"
    slice_columns: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    """Columns to slice by though their names sound like a label's or a judge's output."""
    shares: Shares = (30, 20, 30, 20)
    by: str | None = None
    seed: int = 0
    max_tokens: int = 512

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> RunConfig:  # Any: JSON
        """Read what `to_json` wrote."""
        tuples = {
            name: tuple(body[name])
            for name in ("guards", "slice_columns", "exclude", "keep", "shares", "parts")
            if name in body
        }
        return cls(**{**body, **tuples})

    def for_edit(self, edit: str) -> RunConfig:
        """Return the configuration of a run that tries a person's edit on the same terms.

        What belongs to another proposer, or to a choice among several candidates, is as it is unless given.

        Args:
            edit: The edited judge's YAML.
        """
        return replace(
            self,
            proposer="human",
            edit=edit,
            steps=1,
            parts=(),
            gradients=1,
            temperature=TEMPERATURE,
            step_calls=None,
            candidates=1,
            screen_model=None,
        )

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the configuration as JSON; it holds no key."""
        return asdict(self)

    @property
    def judge(self) -> JudgePrompt:
        """The prompt the run starts from."""
        return load_prompt(self.prompt, origin="the run's prompt")

    @property
    def named_models(self) -> tuple[str, ...]:
        """The models that the run may ask, each once: the judge's, the optimizer's, the screening one."""
        names = (self.model, self.optimizer_model, self.screen_model)
        return tuple(dict.fromkeys(name for name in names if name is not None))

    @property
    def decision_rule(self) -> DecisionRule | None:
        """The kept rule; None where the prompt's own threshold decides."""
        return None if self.rule is None else DecisionRule.from_json(self.rule)

    def settings(self) -> RunSettings:
        """The walk's settings."""
        return RunSettings(
            steps=min(self.steps, 1) if self.proposer == "human" else self.steps,
            loss=None if self.loss is None else parse_loss(self.loss, written_by="person"),
            unguided=self.unguided,
            hunks=self.hunks,
            allow_opened=self.allow_opened,
            batch=self.batch,
            candidates=self.candidates,
            slice=self.slice,
            columns=self.slice_columns,
            exclude=self.exclude,
            keep=self.keep,
            shares=self.shares,
            by=self.by,
            seed=self.seed,
            judge=JudgeSettings(max_tokens=self.max_tokens),
            rule=self.decision_rule,
        )

    def dataset(self) -> Dataset:
        """Read the rows, and make sure they are still the ones the run started with."""
        prompt = self.judge
        rows = load_dataset(
            Path(self.data),
            inputs=prompt.inputs,
            scale=prompt.scale,
            label=self.label,
            id=self.id_,
            group=self.group,
            columns=self.columns,
            label_scale=parse_label_scale(self.label_scale) if self.label_scale else None,
            limit=self.limit,
            skip_incomplete=self.skip_incomplete,
        )
        if self.data_hash and rows.content_hash != self.data_hash:
            raise InputError(f"{self.data} has changed since the run started", hint="start a new run on the new rows")
        return rows


def _open_textgrad(config: RunConfig) -> Proposer:
    parts: tuple[Part, ...] = tuple(part for part in PARTS if part in (config.parts or ("criteria",)))
    return TextGrad(parts=parts, gradients=config.gradients, temperature=config.temperature)


def _open_human(config: RunConfig) -> Proposer:
    return HumanEdit(edit=load_prompt(config.edit or "", origin="the edit"))


def _capped(proposer: FewShot | Gepa | Mipro, config: RunConfig) -> Proposer:
    return proposer if config.step_calls is None else replace(proposer, calls=config.step_calls)


PROPOSERS: Mapping[str, Callable[[RunConfig], Proposer]] = {
    "textgrad": _open_textgrad,
    "rewrite": lambda config: Rewrite(temperature=config.temperature),
    "fewshot": lambda config: _capped(FewShot(), config),
    "gepa": lambda config: _capped(Gepa(), config),
    "mipro": lambda config: _capped(Mipro(), config),
    "human": _open_human,
}


def open_proposer(config: RunConfig) -> Proposer:
    """Return the proposer a run asks for.

    Raises:
        InputError: There is none of that name, or a setting does not belong to it.
    """
    if config.proposer not in PROPOSERS:
        raise InputError(f"proposer {config.proposer!r} is none of {', '.join(PROPOSERS)}")
    for given, name, owners in (
        (config.edit is not None, "--edit", ("human",)),
        (bool(config.parts) or config.gradients != 1, "--parts and --gradients", ("textgrad",)),
        (config.temperature != TEMPERATURE, "--temperature", ("textgrad", "rewrite")),
        (config.step_calls is not None, "--step-calls", ("fewshot", "gepa", "mipro")),
    ):
        if given and config.proposer not in owners:
            raise InputError(f"{name} belongs to --proposer {' or '.join(owners)}, not to {config.proposer}")
    if config.proposer == "human" and config.edit is None:
        raise InputError("--proposer human needs the edited prompt", hint="give its YAML file with --edit FILE")
    if unknown := sorted({*config.parts} - {*PARTS}):
        raise InputError(f"--parts {unknown[0]!r} is not a part that may change", hint=f"parts are {', '.join(PARTS)}")
    if config.screen_model is not None and config.candidates < 2:
        raise InputError("--screen-model looks at several candidates of a step; ask for them with --candidates")
    if config.proposer == "human" and config.candidates > 1:
        raise InputError("there is one edit: --candidates says nothing with --proposer human")
    if config.unguided and config.slice != "auto":
        raise InputError("--unguided works on all rows, so that --slice says nothing")
    if config.unguided and config.loss is not None:
        raise InputError("--unguided has a loss of its own, so that --loss says nothing")
    return PROPOSERS[config.proposer](config)
