"""The table of export targets: the Python tools of `targets.yaml`, promptfoo, the plain formats,
and what plug-ins bring.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import yaml

from ...judges import InputError
from ..plugins import brought, load
from .adapter import Adapter
from .plain import PLAIN
from .promptfoo import PROMPTFOO
from .target import Target


def _python_tools() -> Iterator[Target]:
    text = (files("judgewright.runs.exports") / "targets.yaml").read_text(encoding="utf-8")
    tools: dict[str, dict[str, Any]] = yaml.safe_load(text)  # Any: YAML
    for name, tool in tools.items():
        yield Target(
            name=name,
            tool=tool.pop("tool"),
            requires=tuple(tool.pop("requires", ())),
            bundled=tuple(tool.pop("bundled", ())),
            push=tool.pop("push", None),
            question=tool.pop("question", ()),
            check=tool.pop("check", f"{name}.py"),
            write=Adapter(name=name, **tool),
        )


_TOOLS = {target.name: target for target in (*_python_tools(), PROMPTFOO)}
TARGETS: dict[str, Target] = {
    **{target.name: target for target in PLAIN},
    **dict(sorted(_TOOLS.items())),
    **{name: load(path) for name, path in brought("targets").items()},
}
"""Every target by the name that `--to` takes."""
GONE = {
    "json": "the judge as data is judge.json of --to python: export to python instead",
    "messages": "messages with open fields are those of --to jinja: export to jinja instead",
    "openai": "OpenAI shuts down its Evals service, where these graders ran, on 30 November 2026: "
    "export to promptfoo, openevals or python instead",
}
"""Targets that there were, and where their users go."""


def named_target(name: str) -> Target:
    """Return a target by its name.

    Raises:
        InputError: There is none of this name, or none any more.
    """
    if name in TARGETS:
        return TARGETS[name]
    if name in GONE:
        raise InputError(GONE[name])
    raise InputError(
        f"there is no export target {name!r}", hint=f"there are {', '.join(sorted(TARGETS))}"
    )
