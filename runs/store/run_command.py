"""The command line that walks the way of a run again."""

from __future__ import annotations

import shlex
from pathlib import Path

from ...optimize import parse_loss
from .run_config import RunConfig

_OPTIONS = (
    *("objective", "target", "proposer", "model", "optimizer_model", "steps", "batch", "slice", "by", "seed"),
    *("candidates", "screen_model", "temperature"),
    *("label", "group", "label_scale", "limit", "max_tokens", "hunks", "gradients", "step_calls", "budget"),
)
"""Settings of a run that `optimize` takes as an option of the same name."""
_FLAGS = ("unguided", "skip_incomplete", "allow_opened")


def command_of(config: RunConfig) -> str:
    """Return the command that starts a run of this configuration; what is as by default is left out.

    An edited prompt, and a loss that declares something, are files: EDITED.yaml and LOSS.json stand for them.
    """
    judge = config.judge
    plain = RunConfig(prompt="", data="", objective="", model="")
    words = ["judgewright", "optimize", f"{judge.name}@{judge.version}", Path(config.data).name]
    for name in _OPTIONS:
        if (value := getattr(config, name)) != getattr(plain, name):
            words += [f"--{name.replace('_', '-')}", str(value)]
    for flag in _FLAGS:
        if getattr(config, flag):
            words.append(f"--{flag.replace('_', '-')}")
    for option, several in (("--guard", config.guards), ("--column", [f"{k}={v}" for k, v in config.columns.items()])):
        words += [word for value in several for word in (option, value)]
    for option, listed in (
        ("--parts", config.parts),
        ("--columns", config.slice_columns),
        ("--exclude", config.exclude),
        ("--keep", config.keep),
    ):
        words += [option, ",".join(listed)] if listed else []
    words += ["--id", config.id_] if config.id_ else []
    words += ["--split", "/".join(f"{s:g}" for s in config.shares)] if config.shares != plain.shares else []
    words += ["--edit", "EDITED.yaml"] if config.edit else []
    words += [] if config.loss is None else ["--loss", _loss_word(config.loss)]
    return shlex.join(words)


def _loss_word(written: str) -> str:
    loss = parse_loss(written, written_by="person")
    return "LOSS.json" if any(loss.declares.values()) else str(loss.expression)
