"""The judge that an export carries, read by the code that lies beside it."""

from __future__ import annotations

import importlib.util
import itertools
import json
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from judgewright.judges import Registry
from judgewright.runs.exports import TARGETS, ExportContext, write_export

NUMBERS = itertools.count()


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


@cache
def reader() -> Any:
    """The module that reads a judge in every Python export, loaded from one."""
    prompt = Registry().get("groundedness")
    context = ExportContext(prompt=prompt, rule=prompt.rule, provenance={})
    folder = Path(_folder().name) / "export"
    write_export(context, TARGETS["python"], folder)
    spec = importlib.util.spec_from_file_location(
        "exported_reader", folder / "judgewright_judge.py"
    )
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.path.append(str(folder))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    return module


def exported_judge(context: ExportContext) -> Any:
    """The judge as an export has it."""
    folder = Path(_folder().name) / str(next(NUMBERS))
    folder.mkdir()
    for name, text in TARGETS["python"].write(context).files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")
    sys.path.append(str(folder))
    try:
        return reader().Judge(folder / "judge.json")
    finally:
        sys.path.remove(str(folder))


def judge_data(target: str, context: ExportContext) -> dict[str, Any]:
    """The judge of an export as data."""
    return json.loads(TARGETS[target].write(context).files["judge.json"])
