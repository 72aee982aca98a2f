"""Hand a judge to other tools, one file for each, and load what was written in the real tool to prove it."""

from .deepeval import TARGET as DEEPEVAL
from .dspy import TARGET as DSPY
from .inspect import TARGET as INSPECT
from .langchain import TARGET as LANGCHAIN
from .langfuse import TARGET as LANGFUSE
from .manifest import Export, manifest, read_export, write_export
from .mlflow import TARGET as MLFLOW
from .openai import TARGET as OPENAI
from .openevals import TARGET as OPENEVALS
from .opik import TARGET as OPIK
from .phoenix import TARGET as PHOENIX
from .plain import PLAIN
from .promptfoo import TARGET as PROMPTFOO
from .push import push_export
from .python import TARGET as PYTHON
from .ragas import TARGET as RAGAS
from .target import ExportContext, ExportedFiles, Refused, ScoreMap, Target
from .trulens import TARGET as TRULENS
from .verify import Verification, verify_export

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

__all__ = [
    "TARGETS",
    "Export",
    "ExportContext",
    "ExportedFiles",
    "Refused",
    "ScoreMap",
    "Target",
    "Verification",
    "manifest",
    "push_export",
    "read_export",
    "verify_export",
    "write_export",
]
