"""The script that reads each tool's judges, in the Python that has the tool."""

from __future__ import annotations

from pathlib import Path

from ...runs.imports import ToolReader

_SCRIPTS = Path(__file__).parent / "tool_readers"
DEEPEVAL = ToolReader(script=_SCRIPTS / "import_deepeval.py", installed_as="deepeval")
MLFLOW = ToolReader(script=_SCRIPTS / "import_mlflow.py", installed_as="mlflow")
RAGAS = ToolReader(script=_SCRIPTS / "import_ragas.py", installed_as="ragas")
TRULENS = ToolReader(script=_SCRIPTS / "import_trulens.py", installed_as="trulens-feedback")
UMBRELA = ToolReader(script=_SCRIPTS / "import_umbrela.py", installed_as="umbrela")
