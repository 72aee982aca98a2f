"""The script that reads each tool's judges, in the Python that has the tool."""

from __future__ import annotations

from pathlib import Path

from .installed_tools import ToolReader

_SCRIPTS = Path(__file__).parent / "tool_readers"
DEEPEVAL = ToolReader(
    tool="deepeval", script=_SCRIPTS / "import_deepeval.py", installed_as="deepeval"
)
MLFLOW = ToolReader(tool="mlflow", script=_SCRIPTS / "import_mlflow.py", installed_as="mlflow")
RAGAS = ToolReader(tool="ragas", script=_SCRIPTS / "import_ragas.py", installed_as="ragas")
TRULENS = ToolReader(
    tool="trulens", script=_SCRIPTS / "import_trulens.py", installed_as="trulens-feedback"
)
UMBRELA = ToolReader(tool="umbrela", script=_SCRIPTS / "import_umbrela.py", installed_as="umbrela")
