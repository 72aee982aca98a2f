"""Whom a command may ask: the models it names, and the addresses out of a workspace that it
allows.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..config.environment import Environment, read_environment
from ..terminal import plain_progress
from .decorators import takes

allow_origin_option = takes(
    "origins",
    (),
    "An address of the run that you trust, such as https://host; your models.yaml allows it for"
    " good.",
    kind="repeated",
    flag="--allow-origin",
    metavar="URL",
)
"""For commands that take addresses out of the workspace."""


def asking_environment(
    root: Path, *models: str | None, origins: tuple[str, ...] = ()
) -> Environment:
    """Read the environment of a command that may ask models."""
    environment = read_environment().in_workspace(root).naming(*models, origins=origins)
    return replace(environment, watch=plain_progress())
