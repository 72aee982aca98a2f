"""The command line that starts a run of the same configuration again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

from ...optimize import parse_loss
from ...optimize.options import Kind, Option, changed_options, shares_text, spelling
from ..config.optimize_options import OptimizeOptions
from .run_config import RunConfig
from .run_identity import PACE


def command_of(config: RunConfig, *more: str) -> str:
    """Return the command that starts a run of this configuration; what is as by default is left
    out.

    An edited prompt, and a loss that declares something, are files: EDITED.yaml and LOSS.json stand
    for them. What Python alone sets is a comment at the end.
    """
    judge = config.judge
    words = ["judgewright", "optimize", f"{judge.name}@{judge.version}", Path(config.data).name]
    for field, option, value in _chosen(config):
        typed = f"files={config.exchange}" if (option.kind, value) == ("via", "files") else value
        words += _option_words(spelling(field), option.kind, typed)
    command = shlex.join([*words, *more])
    in_python: list[str] = []
    for field in fields(OptimizeOptions):
        value = getattr(config, field.name)
        is_typed = "option" in field.metadata or field.name == "exchange"
        if not is_typed and value != field.default:
            in_python.append(f"{field.name}={value!r}")
    return f"{command}  # in Python: {', '.join(in_python)}" if in_python else command


def typed_values(config: RunConfig) -> dict[str, list[str]]:
    """Return the values as they are typed, by the field of the option; what is as by default is
    left out.

    A flag is `yes`; of what is a file nothing is said.
    """
    files = ("edit", "loss")
    chosen = (
        (field, option, value)
        for field, option, value in _chosen(config)
        if option.kind not in files
    )
    return {
        field.name: _option_words("", option.kind, value)[1::2] or ["yes"]
        for field, option, value in chosen
    }


def _chosen(
    config: RunConfig,
) -> Iterator[tuple[Field[Any], Option, Any]]:  # Any: what a field holds
    return (
        chosen for chosen in changed_options(config, OptimizeOptions) if chosen[0].name not in PACE
    )


def _option_words(
    name: str, kind: Kind, value: Any
) -> list[str]:  # Any: what a field of this kind holds
    """Return an option and its value as they are typed."""
    match kind:
        case "flag":
            return [name]
        case "repeated":
            return [word for one in value for word in (name, one)]
        case "pairs":
            return [
                word for column, source in value.items() for word in (name, f"{column}={source}")
            ]
        case "names" | "labels":
            return [name, ",".join(value)]
        case "shares":
            return [name, shares_text(value)]
        case "edit":
            return [name, "EDITED.yaml"]
        case "loss":
            loss = parse_loss(value, written_by="person")
            return [name, "LOSS.json" if any(loss.declares.values()) else str(loss.expression)]
        case _:
            return [name, str(value)]
