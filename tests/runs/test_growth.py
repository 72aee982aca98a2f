"""A file that grows is optimized again: groups stay in their parts, and every run keeps the split
it had.
"""

import json
from pathlib import Path

import pytest

from judgewright.judges import Registry, Splits, load_dataset
from judgewright.judges.files import RawRoles
from judgewright.judges.splits import PARTS
from judgewright.optimize.events import RowsSplit, read_as
from judgewright.optimize.holdout import split_with_memory
from judgewright.optimize.holdout.row_fingerprints import open_to_hash
from judgewright.runs.actions import baseline, resume_run, start_run
from judgewright.runs.actions.make_data import split_file
from judgewright.runs.actions.optimize import RunResult
from judgewright.runs.config import Environment
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.store import HoldoutLedger, RunConfig, Workspace
from judgewright.runs.store.sealed_rows import seal_of

from ..look_requests import look_at

PROMPT = Registry().get("groundedness")


@pytest.fixture
def lines(tmp_path: Path) -> list[dict[str, object]]:
    """Made-up rows, document by document."""
    write_demo_rows(tmp_path / "all.jsonl", documents=120)
    return [
        json.loads(line)
        for line in (tmp_path / "all.jsonl").read_text(encoding="utf-8").splitlines()
    ]


def write(path: Path, lines: list[dict[str, object]]) -> Path:
    """Write rows."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def start(place: Workspace, path: Path) -> RunResult:
    """A short run, always a new one."""
    config = RunConfig(
        prompt=PROMPT.to_yaml(), model="simulated", data=str(path), objective="Raise F1.", steps=2
    )
    return start_run(place, config, Environment(), new=True)


def split_event(result: RunResult) -> RowsSplit:
    """How a run split its rows."""
    return next(
        read_as(RowsSplit, event.payload) for event in result.run.events if event.kind == "split"
    )


def homes_of(parts: Splits) -> dict[str, str]:
    """The part of each row."""
    homes = {row.id: "train" for row in parts.train.rows} | {
        row.id: "validation" for row in parts.validation.rows
    }
    homes |= {row.id: "holdout" for row in open_to_hash(parts.holdout).rows}
    return homes | {row.id: "final" for row in open_to_hash(parts.final).rows}


def written_homes(folder: Path) -> dict[str, str]:
    """The part of each row by the files that `data split` wrote."""
    homes: dict[str, str] = {}
    for part in PARTS:
        if (folder / f"{part}.jsonl").exists():
            written = (folder / f"{part}.jsonl").read_text(encoding="utf-8").splitlines()
            homes |= {json.loads(line)["id"]: part for line in written}
    return homes


def split_of(place: Workspace, result: RunResult) -> Splits:
    """A run's parts, made again."""
    config = result.run.config
    return split_with_memory(
        HoldoutLedger(place.database).history(), result.run_id, config.dataset(), config.shares
    )


def test_a_run_keeps_its_split_whatever_later_files_join(
    place: Workspace, lines: list[dict[str, object]], tmp_path: Path
) -> None:
    """A sealed group joined with an open one is open from then on; the run before is shown and
    resumed as it was.
    """
    half = lines[: len(lines) // 2]
    first = start(place, write(tmp_path / "rows.jsonl", half))
    parts = split_of(place, first)
    sealed, known = open_to_hash(parts.holdout).rows[0].group, parts.train.rows[0].group
    assert sealed
    grown = [{**line, "group_id": known} if line["group_id"] == sealed else line for line in lines]
    second = start(place, write(tmp_path / "grown.jsonl", grown))
    notes = split_event(second).notes
    assert any(note.startswith("1 sealed group is open from now on") for note in notes)
    assert known in {row.group for row in split_of(place, second).train.rows}
    held = {row.id for row in open_to_hash(split_of(place, second).holdout).rows}
    before = {row.id for row in open_to_hash(parts.holdout).rows if row.group != sealed}
    assert before < held

    third = start(place, tmp_path / "rows.jsonl")
    assert sealed in {row.group for row in split_of(place, third).train.rows}
    assert not any("open from now on" in note for note in split_event(third).notes)

    assert split_of(place, first).holdout.content_hash == parts.holdout.content_hash
    assert len(baseline(place, first.run).dataset) == len(parts.train) + len(parts.validation)
    again = resume_run(place, first.run_id, Environment())
    assert [(event.kind, event.payload) for event in again.run.events] == [
        (event.kind, event.payload) for event in first.run.events
    ]


def test_a_workspace_keeps_the_parts_that_data_split_wrote(
    place: Workspace, lines: list[dict[str, object]], tmp_path: Path
) -> None:
    """Neither a run of the whole file nor another split makes a fresh holdout, and single rows of
    it stay hidden.
    """
    path = write(tmp_path / "rows.jsonl", lines)
    split_file(place, path, tmp_path / "parts", roles=RawRoles(), shares=(25, 25, 25, 25), seed=0)
    written = written_homes(tmp_path / "parts")
    assert homes_of(split_of(place, start(place, path))) == written
    done = split_file(
        place, path, tmp_path / "again", roles=RawRoles(), shares=(40, 30, 30, 0), seed=3
    )
    assert written_homes(tmp_path / "again") == written
    assert any("groups stay in the part they were in" in note for note in done.notes)
    holdout = load_dataset(
        tmp_path / "parts" / "holdout.jsonl", inputs=PROMPT.inputs, scale=PROMPT.scale
    )
    seal = seal_of(place, holdout, by="test")
    assert seal.hides
    assert seal.count == len(holdout)


def test_looks_at_a_holdout_that_has_grown_are_counted(
    place: Workspace, lines: list[dict[str, object]], tmp_path: Path
) -> None:
    """The grown one has another hash, and the same groups in it."""
    ledger = HoldoutLedger(place.database)
    for step in (2, 3, 4):
        run = start(place, write(tmp_path / f"{step}.jsonl", lines[: step * len(lines) // 4]))
        holdout = split_event(run).seals["holdout"]
        ledger.begin(look_at(holdout, f"try {step}", "a", f"try {step}"))
    look = ledger.begin(look_at(holdout, "last", "a", "b"))
    assert look.number >= 4
    assert look.carried >= 2
