"""The registry: judge prompts that ship with the package, and those a workspace holds, version by
version.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from . import prompts
from .cases import BANKS
from .errors import InputError, PromptError, explain_yaml_error
from .files.small_file import read_small_text
from .files.write_beside import write_beside
from .models.question import DecisionApi
from .prompt import JudgePrompt, TextDumper, check_name, load_prompt, read_prompt
from .scale import DecisionRule

_RULE = ".rule.yaml"
_CUT = ".cut.yaml"
"""Ends the file of a rule on what decision models answer, whose threshold is of a probability."""
_MAX_RULE = 1_000_000


class FittedOn(BaseModel):
    """What a decision rule was fitted on."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
    dataset: str
    dataset_hash: str = Field(
        validation_alias=AliasChoices("dataset_hash", "hash"), serialization_alias="hash"
    )
    rows: int
    """Labelled verdicts."""
    model: str
    confidence: Literal["ask", "tok"]
    metric: str
    """What the threshold maximises."""
    simulated: bool
    api: DecisionApi | None = None
    """The interface of the decision model; None where it is a chat model."""
    build: str | None = None
    """The name under which it answered, or several."""


class KeptRule(FittedOn):
    """A decision rule and what it was fitted on; it belongs to one version of one prompt."""

    rule: DecisionRule
    judge: str
    """`name@version` of the prompt."""
    asked_at: float
    """The prompt's own threshold, which the judge's confidence is about."""

    def caveats(self, *, model: str, confidence: str, build: str | None = None) -> Iterator[str]:
        """Yield what differs between where the rule was fitted and where it is used."""
        if build is not None and self.build not in (None, build):
            yield f"the cut {self.rule.version} was chosen on {self.build}, not on {build}"
        if model != self.model:
            yield (
                f"the decision rule {self.rule.version} was fitted on {self.model}, not on {model}"
            )
        if self.rule.calibration is not None and confidence != self.confidence:
            yield (
                f"the calibration {self.rule.version} is of {self.confidence} confidences, these"
                f" are {confidence}"
            )

    @property
    def fitted_on(self) -> dict[str, Any]:  # Any: JSON
        """What it was fitted on, as its file and exports say it."""
        return self.model_dump(include=set(FittedOn.model_fields), by_alias=True, exclude_none=True)

    def to_yaml(self) -> str:
        """Write the rule as YAML; numbers keep every digit."""
        name, _, version = self.judge.partition("@")
        body: dict[str, Any] = {"format": 1, "judge": name, "prompt": version}  # Any: YAML nodes
        body |= {
            "rule": self.rule.version,
            "asked_at": self.asked_at,
            "threshold": self.rule.threshold,
        }
        if self.rule.calibration is not None:
            body["calibration"] = self.rule.calibration.to_json()
        # As in prompt files: plain YAML drops some line breaks that a model's name may hold.
        return yaml.dump(
            body | {"fitted_on": self.fitted_on},
            Dumper=TextDumper,
            sort_keys=False,
            allow_unicode=True,
            default_flow_style=None,
            width=110,
        )


class Registry:
    """Finds prompts by `name`, `name@version` or file path.

    A workspace folder holds `NAME/VERSION.yaml`, one file a version, and `NAME/current`, which
    names the version that plain `NAME` means. Without one, `NAME` means the shipped prompt. A
    fitted decision rule stands beside its version as `NAME/VERSION.rule.yaml`; `NAME/tags/LABEL`
    names the version that has a label. Large banks of decided cases stand in `banks`, each once for
    all versions that have it.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def names(self) -> tuple[str, ...]:
        """Return every prompt name, shipped or registered in the workspace."""
        names = set(_shipped_names())
        if self._folder is not None and self._folder.is_dir():
            names |= {
                path.name
                for path in self._folder.iterdir()
                if path.is_dir() and _prompt_files(path)
            }
        return tuple(sorted(names))

    def get(self, spec: str) -> JudgePrompt:
        """Return one prompt.

        Args:
            spec: `name`, `name@version` (the first digits suffice), or the path of a YAML file.

        Raises:
            PromptError: There is no such prompt, or several versions start with these digits.
        """
        if spec.endswith((".yaml", ".yml")) or os.sep in spec:
            return read_prompt(Path(spec))
        name, _, version = spec.partition("@")
        if name not in self.names():
            raise PromptError(
                f"there is no judge {name!r}",
                hint=f"there are {', '.join(self.names())}, or a path to a YAML file",
            )
        versions = self.versions(name)
        start = version
        if (
            not start
            and self._folder is not None
            and (pointer := self._home(name) / "current").is_file()
        ):
            start = pointer.read_text(encoding="utf-8").strip()
        start = start or versions[0].version
        matches = [p for p in versions if p.version.startswith(start) or p.former.startswith(start)]
        if len(matches) != 1:
            problem = "has several versions starting with" if matches else "has no version"
            raise PromptError(
                f"judge {name!r} {problem} {start!r}",
                hint=f"versions: {', '.join(prompt.version for prompt in versions)}",
            )
        return matches[0]

    def versions(self, name: str) -> tuple[JudgePrompt, ...]:
        """Return every version of a prompt, the shipped one first, then parents before their
        children.
        """
        ordered: dict[str, JudgePrompt] = {}
        if name in _shipped_names():
            text = (files(prompts) / f"{name}.yaml").read_text(encoding="utf-8")
            shipped = load_prompt(text, origin=f"{name} (shipped)")
            ordered[shipped.version] = shipped
        waiting: list[JudgePrompt] = []
        if self._folder is not None:
            own = [read_prompt(path, edited=False) for path in _prompt_files(self._home(name))]
            waiting = sorted((p for p in own if p.version not in ordered), key=lambda p: p.version)
        while waiting:
            known, versions = _by_version(ordered.values()), _by_version(waiting)
            ready = [p for p in waiting if p.parent in known or p.parent not in versions]
            # Two prompts that name each other as parent would wait for ever.
            ready = ready or waiting
            ordered |= {prompt.version: prompt for prompt in ready}
            waiting = [p for p in waiting if p.version not in ordered]
        return tuple(ordered.values())

    def log(self, spec: str) -> tuple[JudgePrompt, ...]:
        """Return a prompt and its ancestors as far as the registry has them, newest first."""
        lineage = [self.get(spec)]
        name = lineage[0].name
        versions: dict[str, JudgePrompt] = {}
        if name in self.names():
            versions = _by_version(self.versions(name))
        while (
            parent := versions.get(lineage[-1].parent or "")
        ) is not None and parent not in lineage:
            lineage.append(parent)
        return tuple(lineage)

    def keep(self, prompt: JudgePrompt, *, current: bool = True) -> Path:
        """Write a version into the workspace and, with `current`, make it what `name` means.

        Raises:
            PromptError: The registry has no workspace folder, or the name would lead outside it.
        """
        folder = self._home(prompt.name)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{prompt.version}.yaml"
        prompt.write(path, banks=folder.parent / BANKS)
        if current:
            write_beside(folder / "current", prompt.version + "\n")
        return path

    def rule(self, prompt: JudgePrompt) -> DecisionRule:
        """Return the rule fitted for this version of a prompt, else the prompt's own.

        Raises:
            PromptError: As `kept_rule`.
        """
        fitted = self.kept_rule(prompt)
        return prompt.rule if fitted is None else fitted.rule

    def kept_rule(self, prompt: JudgePrompt, *, decides: bool = False) -> KeptRule | None:
        """Return the rule fitted for this version of a prompt, with what it was fitted on; None
        without one.

        Args:
            prompt: The prompt.
            decides: Whether a decision model answers: a grade's threshold says nothing of its
                probabilities, nor they of a grade.

        Raises:
            PromptError: The file cannot be read, was edited, or belongs to another version or
                threshold.
        """
        if self._folder is None:
            return None
        end = _CUT if decides else _RULE
        path = self._home(prompt.name) / f"{prompt.version}{end}"
        if prompt.former and not path.is_file():
            path = path.with_name(f"{prompt.former}{end}")
        if not path.is_file():
            return None
        fitted = read_rule(path)
        _require_own(fitted, prompt, str(path))
        return fitted

    def keep_rule(self, prompt: JudgePrompt, fitted: KeptRule) -> Path:
        """Write a fitted rule beside its prompt, in place of an earlier one, which stays as
        `VERSION.RULE.rule.yaml`; a new prompt is registered with it.

        Raises:
            PromptError: The rule was fitted for another version of the prompt or another threshold
                of it, or the registry has no workspace folder.
        """
        _require_own(fitted, prompt, "the rule")
        folder = self._home(prompt.name)
        versions = self.versions(prompt.name) if prompt.name in self.names() else ()
        if prompt.version not in {other.version for other in versions}:
            self.keep(prompt, current=False)
        folder.mkdir(parents=True, exist_ok=True)
        ending = _RULE if fitted.api is None else _CUT
        path = folder / f"{prompt.version}{ending}"
        # What cannot be read is replaced: that is what its error says to do.
        with suppress(PromptError):
            earlier = read_rule(path)
            if earlier.rule != fitted.rule:
                aside = folder / f"{prompt.version}.{earlier.rule.version}{ending}"
                write_beside(aside, earlier.to_yaml())
        write_beside(path, fitted.to_yaml())
        return path

    def _home(self, name: str) -> Path:
        if self._folder is None:
            raise PromptError("this registry has no workspace folder to write prompts to")
        home = self._folder / check_name(name)
        # A link in the workspace must not make us write somewhere else.
        if home.is_symlink() or home.resolve().parent != self._folder.resolve():
            raise PromptError(f"{home.name!r} leads outside the workspace's prompts folder")
        return home


class _RuleFile(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)
    format: Literal["1"]
    judge: str
    prompt: str
    rule: str
    asked_at: float
    threshold: float
    calibration: dict[str, str | list[str]] | None = None
    fitted_on: FittedOn


def read_rule(path: Path) -> KeptRule:
    """Read one rule file; every scalar is read as text first, as in prompt files.

    Raises:
        PromptError: There is no such file, it is not a rule, or its numbers are not those its hash
            was made of.
    """
    try:
        text = read_small_text(path)
        if len(text) > _MAX_RULE:
            raise PromptError(f"a rule file over {_MAX_RULE:,} characters is not read")
        parsed = _RuleFile.model_validate(yaml.load(text, Loader=yaml.BaseLoader))  # noqa: S506  # text and nothing else
        rule = DecisionRule.from_json(
            {"threshold": parsed.threshold, "calibration": parsed.calibration}
        )
    except ValidationError as error:
        raise PromptError(f"{path}: {explain_yaml_error(error)}") from None
    except InputError as error:
        raise PromptError(f"{path}: {error}") from None
    except (OSError, yaml.YAMLError, RecursionError, ValueError, TypeError) as error:
        raise PromptError(
            f"cannot read the rule file {str(path)!r}: {explain_yaml_error(error)}"
        ) from None
    if rule.version != parsed.rule:
        raise PromptError(
            f"{path}: the file says rule {parsed.rule}, its content is {rule.version}",
            hint=(
                "it was edited by hand: fit it again with judgewright calibrate, or delete the file"
            ),
        )
    return KeptRule(
        rule=rule,
        judge=f"{parsed.judge}@{parsed.prompt}",
        asked_at=parsed.asked_at,
        **parsed.fitted_on.model_dump(),
    )


def _require_own(fitted: KeptRule, prompt: JudgePrompt, what: str) -> None:
    own = f"{prompt.name}@{prompt.version}"
    name, _, version = fitted.judge.partition("@")
    if name != prompt.name or not prompt.known_as(version):
        raise PromptError(
            f"{what} was fitted for {fitted.judge}, not for {own}",
            hint="fit one: judgewright calibrate",
        )
    threshold = prompt.scale.threshold
    if fitted.asked_at != threshold:
        raise PromptError(
            f"{what} was fitted when {own} had the threshold {fitted.asked_at:g}, now it has"
            f" {threshold:g}",
            hint="fit it again with judgewright calibrate, or put the old threshold back",
        )


def _by_version(prompts: Iterable[JudgePrompt]) -> dict[str, JudgePrompt]:
    """Return prompts by their versions, and by those they had before judges had cases."""
    return {version: one for one in prompts for version in (one.former or one.version, one.version)}


def _prompt_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.yaml") if not path.name.endswith((_RULE, _CUT)))


def _shipped_names() -> tuple[str, ...]:
    folder = files(prompts)
    return tuple(
        sorted(f.name.removesuffix(".yaml") for f in folder.iterdir() if f.name.endswith(".yaml"))
    )
