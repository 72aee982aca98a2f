"""The table of export targets. A new one is a file in this folder with a `TARGET`, and its name in
`TOOLS`.
"""

from __future__ import annotations

from importlib import import_module

from ...judges import InputError
from ..plugins import brought, load
from .plain import PLAIN
from .target import Target

TOOLS = (
    "azure",
    "braintrust",
    "deepeval",
    "dspy",
    "inspect",
    "langchain",
    "langfuse",
    "lmeval",
    "mlflow",
    "openevals",
    "opik",
    "phoenix",
    "promptfoo",
    "python",
    "ragas",
    "trulens",
    "weave",
)
"""The files of this folder that hold one `TARGET` each, called as `--to` calls it."""

TARGETS: dict[str, Target] = {target.name: target for target in PLAIN}
TARGETS |= {name: import_module(f".{name}", __package__).TARGET for name in TOOLS}
TARGETS |= {name: load(path) for name, path in brought("targets").items()}
"""Every target by the name that `--to` takes."""
GONE = {
    "openai": "OpenAI shuts down its Evals service, where these graders ran, on 30 November 2026: "
    "export to promptfoo, openevals or python instead"
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
