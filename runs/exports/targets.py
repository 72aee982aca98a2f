"""The table of export targets. A new one is a file in this folder with a `TARGET`, and its name in `TOOLS`."""

from __future__ import annotations

from importlib import import_module

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
    "openai",
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
"""Every target by the name that `--to` takes."""
