"""Labels of a queue that drew unevenly, joined to a data file: they train, and move no figure."""

import json
import runpy
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import judgewright as jw
from judgewright.runs.cli import main
from judgewright.runs.demo import write_demo_rows

BENCHMARK = runpy.run_path(
    str(Path(__file__).resolve().parents[2] / "benchmarks" / "joined_labels.py")
)


@pytest.mark.parametrize("seed", range(5))
def test_no_figure_of_bench_slices_or_gate_moves(seed: int) -> None:
    """The columns of both files are read alike; benchmarks/joined_labels.py does this for 200
    files.
    """
    rng = np.random.default_rng(seed)
    rows = BENCHMARK["make_rows"](rng, BENCHMARK["ROWS"], "r")
    drawn = BENCHMARK["draw"](rng, BENCHMARK["make_rows"](rng, BENCHMARK["POOL"], "p"))
    assert len(drawn) > 50
    assert BENCHMARK["figures"](rows) == BENCHMARK["figures"]([*rows, *drawn])


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """Run a command with --json and return its object."""
    capsys.readouterr()
    with suppress(SystemExit):
        main([*arguments, "--json"])
    return json.loads(capsys.readouterr().out)


def test_optimize_trains_on_them_and_measures_without_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The benchmark and the slices of the run are those of the file without them; the parts are,
    too.
    """
    monkeypatch.chdir(tmp_path)
    write_demo_rows(tmp_path / "all.jsonl", documents=70)
    rows = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    groups = list(dict.fromkeys(row["source"] for row in rows))
    extra = set(groups[50:])
    even = [row for row in rows if row["source"] not in extra]
    drawn = [{**row, "sampling_probability": 0.3} for row in rows if row["source"] in extra]
    events: dict[str, dict[str, Any]] = {}
    for name, content in (("even", even), ("joined", [*even, *drawn])):
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in content))
        data = (f"{name}.jsonl", "--model", "simulated", "--objective", "precision")
        (tmp_path / name).mkdir()
        settings = ("--steps", "1", "--batch", "100", "--workspace", name)
        run(capsys, "optimize", "groundedness", *data, *settings)
        shown = run(capsys, "runs", "show", "latest", "--workspace", name)["events"]
        events[name] = {event["kind"]: event["payload"] for event in shown}
        run(capsys, "optimize", "--plan", "groundedness", *data, "--workspace", name)
    for kind in ("benchmark", "slice"):
        assert events["even"][kind] == events["joined"][kind]
    assert events["even"]["split"]["seals"] == events["joined"]["split"]["seals"]
    assert any("are for training only" in note for note in events["joined"]["split"]["notes"])
    ids = {row["id"] for row in drawn}
    assert ids & set(events["joined"]["step"]["rows"])


def test_a_split_file_has_them_among_the_training_rows(tmp_path: Path) -> None:
    """Their column goes along, so that they stay out of figures."""
    write_demo_rows(tmp_path / "rows.jsonl", documents=60)
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    new = {"id": "new", "statement": "Nobody came to the meeting of the chess club.", "label": 1}
    new |= {
        "source": "The chess club met on a rainy evening without any guests at all.",
        "sampling_probability": 0.1,
    }
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in [*rows, new]))
    main(["data", "split", str(tmp_path / "rows.jsonl"), "--out", str(tmp_path / "parts")])
    train = [
        json.loads(line) for line in (tmp_path / "parts" / "train.jsonl").read_text().splitlines()
    ]
    assert [row["id"] for row in train if row.get("sampling_probability") == 0.1] == ["new"]
    assert len(jw.load_rows(tmp_path / "parts" / "train.jsonl")) == len(train)
