"""The walk with a real language model keeps its folds apart and its labels out of sight."""

from __future__ import annotations

import json
import runpy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks" / "walk"
DATA = FOLDER.parents[2] / "shared" / "data"

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data is not here")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> tuple[Mapping[str, Any], Path]:
    """The names of `drawn_rows.py`, and a folder with the rows of its task."""
    names = runpy.run_path(str(FOLDER / "drawn_rows.py"))
    folder = tmp_path_factory.mktemp("walk")
    for part, lines in names["draw"](names["TASKS"]["groundedness"], []).items():
        path = folder / f"groundedness.{part}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return names, folder


def test_folds_and_sealed_rows_share_no_group_and_no_source(
    rows: tuple[Mapping[str, Any], Path],
) -> None:
    """What is written on a fold, or on all open rows, has not seen what judges it."""
    names, folder = rows
    task = names["TASKS"]["groundedness"]
    whole = names["read_rows"](folder, task, "open").rows
    fold_of = names["read_folds"](folder, task)
    parts = [[row for row in whole if fold_of[row.id] == fold] for fold in range(5)]
    parts.append(names["read_rows"](folder, task, "sealed").rows)
    assert all(len(part) >= 30 for part in parts)
    for what in (lambda row: row.group, lambda row: row.inputs["source"].lower()):
        sets = [{what(row) for row in part} for part in parts]
        assert len(set.union(*sets)) == sum(map(len, sets))


def test_a_request_file_has_neither_labels_nor_names_of_data_sets(
    rows: tuple[Mapping[str, Any], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two draws with opposite labels make the same file, which names no sub-set."""
    script, folder = rows
    monkeypatch.syspath_prepend(str(FOLDER))
    files = runpy.run_path(str(FOLDER / "request_files.py"))
    task = script["TASKS"]["groundedness"]
    path = folder / "groundedness.open.jsonl"
    texts: list[str] = []
    for turned in (False, True):
        other = tmp_path / str(turned)
        other.mkdir()
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            line["label"] = 1 - line["label"] if turned else line["label"]
        (other / path.name).write_text("".join(json.dumps(line) + "\n" for line in lines))
        exchange = files["Exchange"](other)
        with pytest.raises(files["Missing"]):
            exchange.judge(task.prompt, script["read_rows"](other, task, "open"), "which-arm")
        written = sorted((other / "ask").iterdir())
        texts.append("".join(one.read_text() for one in written).replace(str(other), ""))
        assert all(one.stem.isdigit() for one in written)
    assert texts[0] == texts[1]
    names = [name for name in task.shares if name not in ("begin", "wice")]  # parts of words
    assert not any(name in texts[0] for name in ("which-arm", *names))
