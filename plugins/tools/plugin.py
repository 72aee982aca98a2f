"""What this plug-in brings: the judges that other tools ship, for `judges add --from`."""

from ...runs.plugins import Plugin

_READERS = "judgewright.plugins.tools.readers"
PLUGIN = Plugin(
    name="tools",
    summary="Add the judges that DeepEval, MLflow, Ragas, TruLens and UMBRELA ship.",
    judge_readers={
        "deepeval": f"{_READERS}:DEEPEVAL",
        "mlflow": f"{_READERS}:MLFLOW",
        "ragas": f"{_READERS}:RAGAS",
        "trulens": f"{_READERS}:TRULENS",
        "umbrela": f"{_READERS}:UMBRELA",
    },
)
