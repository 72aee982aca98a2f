"""The table of export targets: a new one is a file beside this one and a line here."""

from .deepeval import TARGET as DEEPEVAL
from .dspy import TARGET as DSPY
from .inspect import TARGET as INSPECT
from .langchain import TARGET as LANGCHAIN
from .langfuse import TARGET as LANGFUSE
from .mlflow import TARGET as MLFLOW
from .openai import TARGET as OPENAI
from .openevals import TARGET as OPENEVALS
from .opik import TARGET as OPIK
from .phoenix import TARGET as PHOENIX
from .plain import PLAIN
from .promptfoo import TARGET as PROMPTFOO
from .python import TARGET as PYTHON
from .ragas import TARGET as RAGAS
from .target import Target
from .trulens import TARGET as TRULENS

TOOLS = (
    DEEPEVAL,
    DSPY,
    INSPECT,
    LANGCHAIN,
    LANGFUSE,
    MLFLOW,
    OPENAI,
    OPENEVALS,
    OPIK,
    PHOENIX,
    PROMPTFOO,
    PYTHON,
    RAGAS,
    TRULENS,
)
TARGETS: dict[str, Target] = {target.name: target for target in (*PLAIN, *TOOLS)}
"""Every target by the name that `--to` takes."""
