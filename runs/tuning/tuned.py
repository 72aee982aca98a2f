"""Which question a study of the loop's settings answers, and the settings it found for it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

from ...judges import Dataset, InputError
from ..actions.optimize import pin_config
from ..config.environment import Environment, open_model
from ..store.journal import RunJournal, list_runs
from ..store.run_config import RunConfig
from ..store.workspace import Workspace

TUNE = "tune"
"""The kind of a study's run."""
TUNED = "tuned"
"""The event that holds what a study found."""
TUNABLE = ("batch", "temperature", "gradients")
"""What is tuned, by the names of the configuration's fields."""
_NO_OTHER_QUESTION = {
    *TUNABLE,
    *("prompt", "rule", "data"),  # their versions and the hash of the rows stand for them
    *("label", "id_", "group", "columns", "label_scale", "limit", "skip_incomplete"),
    *("budget", "concurrency", "allow_opened", "hunks", "by", "edit"),
}
_MAY_DIFFER = {"steps", "seed", "program"}
"""What of a question need not be as in the walk that takes the settings over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedSettings:
    """What a study says about a walk's settings, and what is to be said about taking it over."""

    changes: Mapping[str, int | float]
    """New values, by the name of the configuration's field."""
    said: tuple[str, ...]

    def onto(self, config: RunConfig) -> RunConfig:
        """Return the configuration with the tuned settings."""
        changes: dict[str, Any] = dict(self.changes)  # Any: each field has its own type
        return replace(config, **changes)


def tuned_settings(
    workspace: Workspace, config: RunConfig, *, environment: Environment | None = None, by_hand: Sequence[str] = ()
) -> TunedSettings:
    """Return the settings that the newest finished study of this judge, these rows and this objective chose.

    Args:
        workspace: Where the study is.
        config: The walk that is to use them; its steps and its seed may be others.
        environment: The walk's; without it a study of the same models on any server will do.
        by_hand: Names in `TUNABLE` that the caller gave; those stay as they are.

    Raises:
        InputError: No study has answered this question.
    """
    config, dataset = pin_config(workspace, config)
    may_differ = _MAY_DIFFER if environment else _MAY_DIFFER | {"endpoints"}
    question = _comparable(question_of(config, dataset, environment or Environment()), may_differ)
    for info in reversed(list_runs(workspace.database) if workspace.exists else ()):
        if info.kind == TUNE and _comparable(info.config["question"], may_differ) == question:
            events = RunJournal(workspace.database, info.run_id).events()
            if found := next((event.payload for event in reversed(events) if event.kind == TUNED), None):
                return _take_over(info.run_id, found, by_hand)
    raise InputError(
        "no finished study here has tuned the loop for this judge, these rows and this objective",
        hint="run `judgewright tune` with the same options first",
    )


def _take_over(
    run_id: str,
    found: Mapping[str, Any],  # Any: JSON
    by_hand: Sequence[str],
) -> TunedSettings:
    about = f"study {run_id} ({len(found['trials'])} trials of {found['steps']} steps)"
    if found["chosen"] is None:
        return TunedSettings(changes={}, said=(f"{about} found no better prompt: the settings stay as they are",))
    chosen = {name: value for name, value in found["chosen"].items() if name in TUNABLE and value is not None}
    changes = {name: value for name, value in chosen.items() if name not in by_hand}
    told = ", ".join(f"{name} {value:g}" for name, value in changes.items())
    shown = "" if found["held"]["better_than_first"] else "; held rows do not show them to beat its first trial's"
    said = [f"{about} chose {told}{shown}" if told else f"{about} is not followed"]
    said += [f"{name} stays as given by hand; the study chose {chosen[name]:g}" for name in chosen if name in by_hand]
    return TunedSettings(changes=changes, said=tuple(said))


def question_of(config: RunConfig, dataset: Dataset, environment: Environment) -> dict[str, Any]:  # Any: JSON
    """Return all that trials depend on, but for the settings that they search."""
    prompt = config.judge
    models = (config.model, config.optimizer_model or config.model, *filter(None, [config.screen_model]))
    columns = hashlib.blake2b(digest_size=16)
    for row in sorted(dataset.rows, key=lambda row: row.id):  # slices are searched over them
        columns.update(json.dumps([row.id, dict(row.meta)], sort_keys=True).encode())
    named = {
        "judge": f"{prompt.name}@{prompt.version}",
        "rule": (config.decision_rule or prompt.rule).version,
        "columns_hash": columns.hexdigest(),
        "endpoints": [open_model(name, environment, concurrency=1).endpoint for name in models],
        "program": version("judgewright"),
    }
    rest = {name: value for name, value in config.to_json().items() if name not in _NO_OTHER_QUESTION}
    question: dict[str, Any] = json.loads(json.dumps({**rest, **named}))
    return question


def _comparable(question: Mapping[str, Any], may_differ: Set[str]) -> dict[str, Any]:  # Any: JSON
    return {name: value for name, value in question.items() if name not in may_differ}
