"""What this plug-in brings: the exports of annotation tools as data sets."""

from ...runs.plugins import Plugin

_READERS = "judgewright.plugins.annotation.tools"
PLUGIN = Plugin(
    name="annotation",
    summary="Read labels from Label Studio, Langfuse, MLflow and promptfoo.",
    data_sources={
        "label_studio": f"{_READERS}:LABEL_STUDIO",
        "langfuse": f"{_READERS}:LANGFUSE",
        "promptfoo": f"{_READERS}:PROMPTFOO",
        "mlflow": f"{_READERS}:MLFLOW",
    },
)
