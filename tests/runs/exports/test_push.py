"""Pushing is a flag: a real registry takes the export, and what cannot be pushed is refused before anything happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from judgewright.judges import InputError, ModelError, Registry
from judgewright.runs.exports import TARGETS, push_export, stem, write_export

PROMPT = Registry().get("groundedness")


@pytest.mark.parametrize(("target", "called"), [("mlflow", "prompts:/groundedness/1"), ("trulens", "prompt_version")])
def test_a_registry_in_sqlite_takes_the_export(target: str, called: str, tmp_path: Path, context, program) -> None:
    """The tool's own client stores it, and says what it is called there."""
    python = program(target)
    export = write_export(context(PROMPT), TARGETS[target], tmp_path / "out")
    uri = f"sqlite:///{tmp_path}/registry.db"
    name = push_export(export.folder, stem(PROMPT), TARGETS[target], uri, interpreter=python)
    assert name.startswith(called)
    assert (tmp_path / "registry.db").stat().st_size > 0


def test_a_registry_that_refuses_is_the_worlds_fault(tmp_path: Path, context, program) -> None:
    """A folder that does not exist holds no database."""
    python = program("trulens")
    export = write_export(context(PROMPT), TARGETS["trulens"], tmp_path / "out")
    with pytest.raises(ModelError, match="did not take the export"):
        push_export(export.folder, stem(PROMPT), TARGETS["trulens"], "sqlite:////nowhere/x.db", interpreter=python)


def test_a_tool_without_a_registry_is_refused(tmp_path: Path) -> None:
    """Ragas has none."""
    with pytest.raises(InputError, match="no registry"):
        push_export(tmp_path, "groundedness", TARGETS["ragas"], "sqlite:///x.db")
