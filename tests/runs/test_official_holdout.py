"""Official splits through the commands: the test part is sealed by the ledger, all of it and
nothing else.
"""

import json
import shlex
from pathlib import Path

import pytest

from judgewright.runs.demo import write_demo_rows

from .run_command import run

RUN = (
    "--objective",
    "precision matters most",
    *shlex.split("--target precision --model simulated --steps 1"),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Made-up rows, whole; with a column that splits them; and cut into two files."""
    monkeypatch.chdir(tmp_path)
    write_demo_rows(tmp_path / "rows.jsonl", documents=40)
    lines = [
        json.loads(line)
        for line in (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    groups = sorted({line["group_id"] for line in lines})
    for line in lines:
        line["orig_split"] = "test" if line["group_id"] in groups[::3] else "dev"
    lines[0]["part"] = "elsewhere"
    files = {
        "columned.jsonl": lines,
        "open.jsonl": [line for line in lines if line["orig_split"] == "dev"],
        "test.jsonl": [line for line in lines if line["orig_split"] == "test"],
    }
    for name, chosen in files.items():
        text = "".join(json.dumps(line) + "\n" for line in chosen)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "options",
    [("columned.jsonl", "--split-column", "orig_split"), ("open.jsonl", "--holdout", "test.jsonl")],
)
@pytest.mark.timeout(300)
def test_the_test_part_is_sealed_and_stays_sealed(
    folder: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    """By a column or by a file; a later measurement of the test rows shows none of them, and
    another run goes on.
    """
    code, out, err = run(capsys, "optimize", "groundedness", *options, *RUN)
    assert code in (0, 1, 4), err
    count = len((folder / "test.jsonl").read_text(encoding="utf-8").splitlines())
    assert f"holdout {count}, final 0 rows" in out
    assert "the split is prescribed" in out
    assert "by group" not in out.split("the split is prescribed")[0]
    _, out, _ = run(capsys, "bench", "groundedness", "test.jsonl", "--model", "simulated")
    assert f"{count} rows are sealed" in out, out
    code, out, err = run(capsys, "optimize", "groundedness", *options, *RUN, "--seed", "3")
    assert code in (0, 1, 4), err
    assert f"holdout {count}, final 0 rows" in out


@pytest.mark.timeout(300)
def test_test_rows_that_a_run_had_open_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The split of the benchmark comes too late: a prompt may have been tuned on its test rows."""
    code, _, err = run(capsys, "optimize", "groundedness", "rows.jsonl", *RUN)
    assert code in (0, 1, 4), err
    code, _, err = run(
        capsys, "optimize", "groundedness", "open.jsonl", "--holdout", "test.jsonl", *RUN
    )
    assert code == 2
    assert "sealed rows" in err
    assert "were open to run" in err


def test_two_official_splits_are_one_too_many(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And a column that does not say of every row where it belongs is no split."""
    both = ("--holdout", "test.jsonl", "--split-column", "orig_split")
    assert run(capsys, "optimize", "groundedness", "columned.jsonl", *both, *RUN)[0] == 2
    code, _, err = run(
        capsys, "optimize", "groundedness", "columned.jsonl", "--split-column", "part", *RUN
    )
    assert code == 2
    assert "does not say of every row where it belongs" in err
