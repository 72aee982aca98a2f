"""Read once what a run starts from; a plan, a start and a resumed run work on it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ...judges import Dataset, InputError, JudgePrompt
from ...judges.extras import require_extra
from ...optimize import Objective, Proposer, RunSettings
from ...optimize.options import option_fields
from ...optimize.settings import require_judging, require_probability
from ..config.environment import Environment, parse_budget
from ..config.optimize_options import ARMS, ProposerOptions
from ..store.banks import hide_sealed
from ..store.engines import check_engine
from ..store.run_clients import open_exchange
from ..store.run_config import RunConfig, open_proposers
from ..store.run_identity import identify
from ..store.workspace import Workspace
from .read_objective import named_slice, saved_slices

PACKAGES_OF = {
    "study": ("textgrad", "litellm"),
    "textgrad": ("textgrad", "litellm"),
    "gepa": ("dspy", "optuna"),
    "mipro": ("dspy", "optuna"),
}
"""What proposers need of the extra `optimize`, by their import names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRun:
    """A run's configuration with everything that was read for it."""

    config: RunConfig
    prompt: JudgePrompt
    dataset: Dataset
    proposers: tuple[Proposer, ...]
    settings: RunSettings
    environment: Environment

    @classmethod
    def of(cls, config: RunConfig, dataset: Dataset, environment: Environment) -> PreparedRun:
        """Return the run of a configuration that is pinned already."""
        return cls(
            config=config,
            prompt=config.judge,
            dataset=dataset,
            proposers=open_proposers(config),
            settings=config.settings(),
            environment=environment,
        )

    @property
    def columns(self) -> list[str]:
        """The columns of the rows, which an objective's slice may name."""
        return sorted({column for row in self.dataset.rows for column in row.meta})

    def settled(self, objective: Objective) -> PreparedRun:
        """Return the run with what its objective means; the run keeps it, and nobody reads it
        again.

        Raises:
            InputError: The judge cannot give what it asks for.
        """
        require_probability(self.prompt, objective, self.settings)
        config = replace(self.config, reading=objective.to_json())
        if objective.slice is not None and config.slice == "auto" and not config.unguided:
            config = replace(config, slice=objective.slice)
        return replace(self, config=config, settings=config.settings())


def prepare_run(workspace: Workspace, config: RunConfig, environment: Environment) -> PreparedRun:
    """Read a run's rows, judge and models, and write into the configuration what the run keeps of
    its start.

    Args:
        workspace: Its kept rules and saved slices are the run's.
        config: What to do. The user named its models in this command, so that their addresses may
            be asked.

    Raises:
        InputError: The run could not start: the data, a name or a setting cannot be used.
    """
    require_extra(
        "optimize",
        *dict.fromkeys(package for name in config.arms for package in PACKAGES_OF.get(name, ())),
        purpose=f"--proposer {config.proposer}",
    )
    hidden = hide_sealed(workspace, config.judge).hidden_cases
    config = replace(config, hidden_cases=config.hidden_cases or hidden)
    prompt = config.judge
    require_judging(prompt, config.settings())
    dataset = config.dataset()
    parse_budget(config.budget)
    for model, via in config.model_access:
        open_exchange(workspace, model, via, config, environment)
    check_engine(config)
    environment = environment.naming(*config.named_models)
    asked = config.named_models
    if prompt.cascade is not None:
        environment.require_own(prompt.cascade.model, who="the judge's cascade")
        asked = (*asked, prompt.cascade.model)
    config = _for_decisions(config, environment)
    _require_effect(config, environment)
    named = {name: getattr(config, name) for name in ("data", "exchange", "holdout", "audited")}
    files = {name: str(Path(path).resolve()) for name, path in named.items() if path is not None}
    slices = saved_slices(workspace)
    decides = environment.settings(config.model).api is not None
    kept_rule = workspace.registry.kept_rule(prompt, decides=decides)
    config = replace(
        config,
        **files,
        data_hash=dataset.content_hash,
        saved_slices=slices or None,
        slice=named_slice(config.slice, slices),
        rule=kept_rule.rule.to_json() if kept_rule else config.rule,
        model_settings=config.model_settings
        or {name: environment.settings(name).answering() for name in asked},
    )
    config = replace(config, identity=identify(config, dataset, environment))
    return PreparedRun.of(config, dataset, environment)


def _for_decisions(config: RunConfig, environment: Environment) -> RunConfig:
    """Return what a run on a decision model does: unless the user names arms or cases, none that
    shows cases.

    Raises:
        InputError: The optimizer model writes no text, or the reply clause is to change, which a
            decision model is not sent.
    """
    writer = config.optimizer_access[0]
    if environment.settings(writer).api is not None:
        raise InputError(
            f"{writer} is a decision model, which answers questions and writes no text: it cannot"
            " write the loss and the new wording",
            hint="name a chat model for that: --optimizer-model NAME",
        )
    if environment.settings(config.model).api is None:
        return config
    if "reply" in config.editable:
        raise InputError(
            f"--editable reply changes nothing: {config.model} is a decision model, which is sent"
            " no reply clause",
            hint="leave reply out of --editable",
        )
    if config.arms != ARMS or "cases" in config.editable:
        return config
    return replace(config, proposer=",".join(name for name in ARMS if name != "cases"))


def _require_effect(config: RunConfig, environment: Environment) -> None:
    """Refuse a --temperature that the settings of the optimizer model overrule.

    Raises:
        InputError: Both are given.
    """
    name = config.optimizer_access[0]
    chosen = environment.settings(name).temperature
    usual = next(
        field.default for field, _ in option_fields(ProposerOptions) if field.name == "temperature"
    )
    if chosen is not None and config.temperature != usual:
        raise InputError(
            f"--temperature {config.temperature:g} has no effect: the settings of the model"
            f" {name!r} say {chosen}",
            hint="leave it out, or take the temperature out of the settings",
        )
