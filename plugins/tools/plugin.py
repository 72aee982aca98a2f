"""What this plug-in brings: the judges that other tools ship or saved, and prompts in code, for
`judges add`.
"""

from ...runs.plugins import Plugin

_HERE = "judgewright.plugins.tools"
_READERS = f"{_HERE}.readers"
PLUGIN = Plugin(
    name="tools",
    summary="Add the judges of DeepEval, MLflow, Ragas, TruLens and other tools.",
    judge_readers={
        "deepeval": f"{_READERS}:DEEPEVAL",
        "mlflow": f"{_READERS}:MLFLOW",
        "ragas": f"{_READERS}:RAGAS",
        "trulens": f"{_READERS}:TRULENS",
        "umbrela": f"{_READERS}:UMBRELA",
    },
    prompt_readers={
        "saved objects": f"{_HERE}.saved_objects:READER",
        "Python": f"{_HERE}.python_files:READER",
        "source files": f"{_HERE}.source_strings:READER",
    },
)
