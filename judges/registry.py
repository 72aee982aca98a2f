"""The shelf: judge prompts that ship with the package, and those a workspace keeps, version by version."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from . import prompts
from .errors import InputError, PromptError
from .files.small_file import read_small_text
from .prompt import JudgePrompt, check_name, load_prompt
from .scale import DecisionRule

_RULE = ".rule.yaml"
_MAX_RULE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRule:
    """A decision rule and what it was fitted on; it belongs to one version of one prompt."""

    rule: DecisionRule
    judge: str
    """`name@version` of the prompt."""
    asked_at: float
    """The prompt's own threshold, which the judge's confidence is about."""
    dataset: str
    dataset_hash: str
    rows: int
    """Labelled verdicts it was fitted on."""
    model: str
    confidence: str
    """`ask` or `tok`."""
    metric: str
    """What the threshold maximises."""
    simulated: bool

    def caveats(self, *, model: str, confidence: str) -> Iterator[str]:
        """Say what is different where the rule is used from where it was fitted."""
        if model != self.model:
            yield f"the decision rule {self.rule.version} was fitted on {self.model}, not on {model}"
        if self.rule.calibration is not None and confidence != self.confidence:
            yield f"the calibration {self.rule.version} is of {self.confidence} confidences, these are {confidence}"

    def to_yaml(self) -> str:
        """Write the rule as YAML; numbers keep every digit."""
        name, _, version = self.judge.partition("@")
        fitted_on = {
            "dataset": self.dataset,
            "hash": self.dataset_hash,
            "rows": self.rows,
            "model": self.model,
            "confidence": self.confidence,
            "metric": self.metric,
            "simulated": self.simulated,
        }
        body: dict[str, Any] = {"format": 1, "judge": name, "prompt": version}  # Any: YAML nodes
        body |= {"rule": self.rule.version, "asked_at": self.asked_at, "threshold": self.rule.threshold}
        if self.rule.calibration is not None:
            body["calibration"] = self.rule.calibration.to_json()
        return yaml.safe_dump(
            body | {"fitted_on": fitted_on}, sort_keys=False, allow_unicode=True, default_flow_style=None, width=110
        )


class Registry:
    """Finds prompts by `name`, `name@version` or file path.

    A workspace folder holds `NAME/VERSION.yaml`, one file a version, and `NAME/current`, which names the
    version that plain `NAME` means. Without one, `NAME` means the shipped prompt. A fitted decision rule stands
    beside its version as `NAME/VERSION.rule.yaml`.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def names(self) -> tuple[str, ...]:
        """Every prompt name, shipped and kept."""
        return tuple(sorted({*_shipped_names(), *self._kept_names()}))

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
                f"there is no judge {name!r}", hint=f"known: {', '.join(self.names())}, or a path to a YAML file"
            )
        versions = self.versions(name)
        wanted = version or self._current(name) or versions[0].version
        found = [prompt for prompt in versions if prompt.version.startswith(wanted)]
        if len(found) != 1:
            known = ", ".join(prompt.version for prompt in versions)
            problem = "has no version" if not found else "has several versions starting with"
            raise PromptError(f"judge {name!r} {problem} {wanted!r}", hint=f"versions: {known}")
        return found[0]

    def versions(self, name: str) -> tuple[JudgePrompt, ...]:
        """Every version of a prompt, the shipped one first, then in the order of lineage."""
        shipped = [load_prompt(_shipped_text(name), origin=f"{name} (shipped)")] if name in _shipped_names() else []
        kept = [read_prompt(path) for path in self._kept_files(name)]
        ordered = {prompt.version: prompt for prompt in shipped}
        waiting = sorted((p for p in kept if p.version not in ordered), key=lambda p: p.version)
        while waiting:
            ready = [
                p for p in waiting if p.parent in ordered or p.parent not in {w.version for w in waiting}
            ] or waiting
            ordered |= {prompt.version: prompt for prompt in ready}
            waiting = [p for p in waiting if p.version not in ordered]
        return tuple(ordered.values())

    def log(self, spec: str) -> tuple[JudgePrompt, ...]:
        """Return a prompt and its ancestors as far as the shelf knows them, newest first."""
        prompt = self.get(spec)
        known = {other.version: other for other in self.versions(prompt.name)} if prompt.name in self.names() else {}
        lineage = [prompt]
        while (parent := known.get(lineage[-1].parent or "")) is not None and parent not in lineage:
            lineage.append(parent)
        return tuple(lineage)

    def keep(self, prompt: JudgePrompt, *, current: bool = True) -> Path:
        """Write a version into the workspace and, unless told otherwise, make it what `name` means.

        Raises:
            PromptError: The shelf has no workspace folder, or it would lead outside it.
        """
        folder = self._home(prompt.name)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{prompt.version}.yaml"
        write_beside(path, prompt.to_yaml())
        if current:
            write_beside(folder / "current", prompt.version + "\n")
        return path

    def rule(self, prompt: JudgePrompt) -> DecisionRule:
        """Return the rule kept for this version of a prompt, else the prompt's own.

        Raises:
            PromptError: As `kept_rule`.
        """
        kept = self.kept_rule(prompt)
        return prompt.rule if kept is None else kept.rule

    def kept_rule(self, prompt: JudgePrompt) -> KeptRule | None:
        """Return the rule kept for this version of a prompt, with what it was fitted on; None where none is.

        Raises:
            PromptError: The file cannot be read, was edited, or belongs to another version or threshold.
        """
        if self._folder is None:
            return None
        path = self._home(prompt.name) / f"{prompt.version}{_RULE}"
        if not path.is_file():
            return None
        kept = read_rule(path)
        _require_own(kept, prompt, str(path))
        return kept

    def keep_rule(self, prompt: JudgePrompt, fit: KeptRule) -> Path:
        """Write a fitted rule beside its prompt, in place of one kept before; the prompt is kept too, if it is not yet.

        Raises:
            PromptError: The rule was fitted for another version of the prompt or another threshold of it, or the
                shelf has no workspace folder.
        """
        _require_own(fit, prompt, "the rule")
        folder = self._home(prompt.name)
        known = self.versions(prompt.name) if prompt.name in self.names() else ()
        if prompt.version not in {other.version for other in known}:
            self.keep(prompt, current=False)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{prompt.version}{_RULE}"
        write_beside(path, fit.to_yaml())
        return path

    def _home(self, name: str) -> Path:
        if self._folder is None:
            raise PromptError("this shelf has no workspace folder to keep prompts in")
        home = self._folder / check_name(name)
        if home.is_symlink() or home.resolve().parent != self._folder.resolve():
            raise PromptError(f"{home.name!r} leads outside the workspace's prompts folder")
        return home

    def _current(self, name: str) -> str | None:
        if self._folder is None:
            return None
        pointer = self._home(name) / "current"
        return pointer.read_text(encoding="utf-8").strip() if pointer.is_file() else None

    def _kept_names(self) -> list[str]:
        if self._folder is None or not self._folder.is_dir():
            return []
        return [d.name for d in self._folder.iterdir() if d.is_dir() and _prompt_files(d)]

    def _kept_files(self, name: str) -> list[Path]:
        return [] if self._folder is None else _prompt_files(self._home(name))


def read_prompt(path: Path) -> JudgePrompt:
    """Read one prompt file.

    Raises:
        PromptError: There is no such file, or it is not a prompt.
    """
    try:
        return load_prompt(read_small_text(path), origin=str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"cannot read the prompt file {str(path)!r}: {error}") from None


class _FittedOn(BaseModel):
    model_config = ConfigDict(extra="forbid")
    dataset: str
    hash: str
    rows: int
    model: str
    confidence: Literal["ask", "tok"]
    metric: str
    simulated: bool


class _RuleFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    format: Literal["1"]
    judge: str
    prompt: str
    rule: str
    asked_at: float
    threshold: float
    calibration: dict[str, str | list[str]] | None = None
    fitted_on: _FittedOn


def read_rule(path: Path) -> KeptRule:
    """Read one rule file; every scalar is read as text first, as in prompt files.

    Raises:
        PromptError: There is no such file, it is not a rule, or its numbers are not those its hash was made of.
    """
    try:
        parsed = _parse_rule(read_small_text(path))
        rule = DecisionRule.from_json({"threshold": parsed.threshold, "calibration": parsed.calibration})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise PromptError(f"{path}: {where}: {first['msg']} (got {first['input']!r:.80})") from None
    except InputError as error:
        raise PromptError(f"{path}: {error}") from None
    except (OSError, yaml.YAMLError, RecursionError, ValueError, TypeError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise PromptError(f"cannot read the rule file {str(path)!r}: {reason}") from None
    if rule.version != parsed.rule:
        raise PromptError(
            f"{path}: the file says rule {parsed.rule}, its content is {rule.version}",
            hint="it was edited by hand: fit it again with judgewright calibrate, or delete the file",
        )
    on = parsed.fitted_on
    return KeptRule(
        rule=rule,
        judge=f"{parsed.judge}@{parsed.prompt}",
        asked_at=parsed.asked_at,
        dataset=on.dataset,
        dataset_hash=on.hash,
        rows=on.rows,
        model=on.model,
        confidence=on.confidence,
        metric=on.metric,
        simulated=on.simulated,
    )


def _parse_rule(text: str) -> _RuleFile:
    if len(text) > _MAX_RULE:
        raise PromptError(f"a rule file over {_MAX_RULE:,} characters is not read")
    return _RuleFile.model_validate(yaml.load(text, Loader=yaml.BaseLoader))  # noqa: S506  # text and nothing else


def _require_own(kept: KeptRule, prompt: JudgePrompt, what: str) -> None:
    own = f"{prompt.name}@{prompt.version}"
    if kept.judge != own:
        raise PromptError(f"{what} was fitted for {kept.judge}, not for {own}", hint="fit one: judgewright calibrate")
    if kept.asked_at != prompt.scale.threshold:
        raise PromptError(
            f"{what} was fitted when {own} had the threshold {kept.asked_at:g}, now it has {prompt.scale.threshold:g}",
            hint="fit it again with judgewright calibrate, or put the old threshold back",
        )


def _prompt_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.yaml") if not path.name.endswith(_RULE))


def write_beside(path: Path, text: str) -> None:
    """Write a whole file beside its place, flush it to disk, and rename it there.

    A crash leaves the old file or the new one, never a part. It does not keep two writers from
    overwriting each other.
    """
    # A new file under a name that nobody can know, so that a link put there beforehand is not followed.
    beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    with beside.open("x", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def _shipped_names() -> tuple[str, ...]:
    folder = files(prompts)
    return tuple(sorted(f.name.removesuffix(".yaml") for f in folder.iterdir() if f.name.endswith(".yaml")))


def _shipped_text(name: str) -> str:
    return (files(prompts) / f"{name}.yaml").read_text(encoding="utf-8")
