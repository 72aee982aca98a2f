"""Second looks as a user would take them, through the commands: each is counted, told, or kept from
sealed rows.
"""

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from judgewright.judges import Registry, split_dataset
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.store import HoldoutLedger, RunConfig, RunJournal, Workspace, list_runs

from .run_command import run_code as run

SIMULATED = ("--model", "simulated")
TARGET = ("--target", "precision", "--guard", "recall:-0.30")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with made-up rows, the judge in use and three edits of it."""
    monkeypatch.chdir(tmp_path)
    write_demo_rows(tmp_path / "rows.jsonl", documents=40)
    prompt = Registry().get("groundedness")
    for number in (1, 2, 3):
        edit = f"{prompt.criteria}\nNumbers must match the source; this is variant {number}."
        (tmp_path / f"v{number}.yaml").write_text(
            prompt.edited(criteria=edit, note="").to_yaml(), encoding="utf-8"
        )
    return tmp_path


Say = Callable[..., str]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    """Run a command and return what it printed."""

    def said(*arguments: str) -> str:
        capsys.readouterr()
        code = run(*arguments)
        told = capsys.readouterr()
        assert code in (0, 1), told.err
        return told.out

    return said


def look(say: Say, before: str, after: str, *rows: str) -> tuple[int, str]:
    """Gate a candidate; return which look it was and the reason."""
    model = () if before.endswith(".jsonl") else SIMULATED
    decision = json.loads(say("gate", before, after, *rows, *TARGET, *model, "--json"))["decision"]
    return decision["look"], decision["reason"]


def test_the_ordinary_path_costs_nothing(folder: Path, say: Say) -> None:
    """Bench the judge, look at its slices and figures on the whole file, then optimize on it: the
    first look.
    """
    assert "sealed" not in say(
        "bench", "groundedness", "rows.jsonl", *SIMULATED, "--out", "verdicts.jsonl"
    )
    say("slices", "verdicts.jsonl")
    say("slices", "verdicts.jsonl", "--where", "metadata.channel = chat", "--json")
    say("score", "verdicts.jsonl")
    steps = ("--objective", "precision", "--gate-anyway")
    body = json.loads(say("optimize", "groundedness", "rows.jsonl", *steps, *SIMULATED, "--json"))
    assert body["decision"]["look"] == 1
    assert "measured on these rows before" not in body["decision"]["reason"]


def test_prompts_measured_before_the_gate_are_looks(folder: Path, say: Say) -> None:
    """By bench, or by score and slices of verdicts that came from elsewhere."""
    for judge in ("groundedness", "v1.yaml", "v2.yaml", "v3.yaml", "v3.yaml"):
        say("bench", judge, "rows.jsonl", *SIMULATED, "--out", f"{Path(judge).stem}.jsonl")
    number, reason = look(say, "groundedness", "v3.yaml", "rows.jsonl")
    assert number == 3
    assert "2 other prompts were measured on these rows before; each counted as a look" in reason


def test_verdict_files_that_were_scored_are_looks(folder: Path, say: Say) -> None:
    """Each judge of another tool whose figures were seen beside those of the two that are gated."""
    say("bench", "groundedness", "rows.jsonl", *SIMULATED, "--limit", "3")  # makes the workspace
    lines = [
        json.loads(line) for line in Path("rows.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    for flipped in range(4):
        verdicts = [
            {
                "id": r["id"],
                "label": r["label"],
                "score": float((i % 3 == 0) ^ (i % 7 == flipped)),
                "source": r["source"],
            }
            for i, r in enumerate(lines)
        ]
        Path(f"judge{flipped}.jsonl").write_text(
            "".join(json.dumps(v) + "\n" for v in verdicts), encoding="utf-8"
        )
    say("score", "judge0.jsonl", "judge1.jsonl", "judge3.jsonl")
    say("slices", "judge2.jsonl")
    number, reason = look(say, "judge0.jsonl", "judge3.jsonl")
    assert (number, "2 other prompts" in reason) == (3, True)


def test_rows_under_other_ids_in_our_own_verdict_files_are_known(folder: Path, say: Say) -> None:
    """They say by a key which row each verdict is about."""
    for judge in ("groundedness", "v1.yaml"):
        say("bench", judge, "rows.jsonl", *SIMULATED, "--out", f"{Path(judge).stem}.jsonl")
    assert look(say, "groundedness", "v1.yaml", "rows.jsonl")[0] == 1
    for name in ("groundedness", "v1"):
        lines = [
            json.loads(line)
            for line in Path(f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        ]
        renamed = "".join(
            json.dumps({**line, "id": f"q{i}"}) + "\n" for i, line in enumerate(lines)
        )
        Path(f"{name}-q.jsonl").write_text(renamed, encoding="utf-8")
    number, reason = look(say, "groundedness-q.jsonl", "v1-q.jsonl")
    assert (number, "1 look at other holdouts" in reason) == (2, True)


@pytest.fixture
def split(folder: Path, say: Say) -> set[str]:
    """Verdicts of the judge in use, and a run that split the rows since; the ids of its open
    rows.
    """
    say("bench", "groundedness", "rows.jsonl", *SIMULATED, "--out", "verdicts.jsonl")
    say(
        *shlex.split("optimize groundedness rows.jsonl --objective precision --steps 0"), *SIMULATED
    )
    with Workspace(folder) as place:
        parts = split_dataset(RunConfig.from_json(list_runs(place.database)[-1].config).dataset())
    return {row.id for part in (parts.train, parts.validation) for row in part.rows}


def test_single_rows_of_a_split_file_are_shown_from_open_rows(split: set[str], say: Say) -> None:
    """In slices and their rows, label errors, and the verdicts that bench writes; figures
    are of all rows.
    """
    told = json.loads(
        say(
            *shlex.split("slices verdicts.jsonl --rows 'metadata.source_words >= 0'"),
            *shlex.split("--limit 999 --json"),
        )
    )
    assert {row["id"] for row in told["rows"]} == split
    say("score", "verdicts.jsonl", "--audit", "suspects.jsonl")
    out = say(
        "bench",
        "groundedness",
        "rows.jsonl",
        *SIMULATED,
        *shlex.split("--out again.jsonl --audit own.jsonl"),
    )
    rows = len(Path("rows.jsonl").read_text(encoding="utf-8").splitlines())
    assert f"{rows - len(split)} of the {rows} rows are sealed to run" in out
    assert f"{rows} rows scored" in out
    for name in ("suspects.jsonl", "own.jsonl", "again.jsonl"):
        lines = [json.loads(line) for line in Path(name).read_text(encoding="utf-8").splitlines()]
        ids = {str(line.get("id", line.get("row"))) for line in lines}
        assert ids, name
        assert ids <= split, name
    assert {
        json.loads(line)["id"]
        for line in Path("again.jsonl").read_text(encoding="utf-8").splitlines()
    } == split


def test_all_opens_the_holdout_and_the_ledger_says_so(
    split: set[str], say: Say, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    """Every row is shown; then no decision on them without --allow-opened, which the decision
    tells.
    """
    told = json.loads(
        say(
            *shlex.split("slices verdicts.jsonl --all --rows"),
            *shlex.split("'metadata.source_words >= 0' --limit 999 --json"),
        )
    )
    assert {row["id"] for row in told["rows"]} > split
    with Workspace(folder) as place:
        memories = HoldoutLedger(place.database).history().memories
        assert memories[-1].run_id.startswith("slices --all")
        assert memories[-1].open.rows == len({row["id"] for row in told["rows"]}) - len(split)
    again = (
        *shlex.split("optimize groundedness rows.jsonl --objective precision --steps 1"),
        *shlex.split("--proposer textgrad"),
        *SIMULATED,
    )
    assert run(*again) == 2
    assert "no group is left for the holdout part" in capsys.readouterr().err
    capsys.readouterr()
    assert run(*again, "--allow-opened", "--gate-anyway") in (0, 1)
    assert "were open to run slices --all" in capsys.readouterr().out


def test_a_file_of_sealed_rows_alone_shows_nothing(
    folder: Path, say: Say, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the gate decided on is a holdout: its slices are refused, with what can be done."""
    say("bench", "groundedness", "rows.jsonl", *SIMULATED, "--out", "verdicts.jsonl")
    look(say, "groundedness", "v1.yaml", "rows.jsonl")
    assert run("slices", "verdicts.jsonl") == 2
    told = capsys.readouterr().err
    assert "every row of" in told
    assert "--all opens the holdout" in told


def test_no_verdict_file_without_a_row_is_written(
    folder: Path, say: Say, capsys: pytest.CaptureFixture[str]
) -> None:
    """After a gate every row is sealed: refused before a model is asked; the figures are given."""
    look(say, "groundedness", "v1.yaml", "rows.jsonl")
    bench = ("bench", "v2.yaml", "rows.jsonl", *SIMULATED)
    assert run(*bench, "--out", "verdicts.jsonl") == 2
    told = capsys.readouterr().err
    assert "every row of rows is sealed to run" in told
    assert "without --out the figures alone are given; --all opens the holdout" in told
    assert not Path("verdicts.jsonl").exists()
    assert json.loads(say(*bench, "--json"))["calls"] > 0


def test_outside_a_workspace_score_writes_nothing(folder: Path, say: Say) -> None:
    """It reads verdict files wherever they are; there is no ledger to enter a look in."""
    Path("v.jsonl").write_text(
        '{"id": "a", "label": 1, "score": 1}\n{"id": "b", "label": 0, "score": 1}\n'
    )
    say("score", "v.jsonl")
    assert not (folder / ".judgewright").exists()


def test_an_edit_is_gated_on_the_sealed_rows_of_the_file_it_was_optimized_on(
    folder: Path, say: Say
) -> None:
    """The file holds training rows too: the gate takes the holdout that the run sealed, and says
    so.
    """
    steps = ("--objective", "precision", "--steps", "0")
    say(
        "optimize",
        "groundedness",
        "rows.jsonl",
        *steps,
        *SIMULATED,
        "--split",
        "30/20/30/20",
        "--json",
    )
    sizes = sizes_of_parts(folder)
    body = json.loads(
        say("gate", "groundedness", "v1.yaml", "rows.jsonl", *TARGET, *SIMULATED, "--json")
    )
    assert body["rows"] == sizes["holdout"]
    assert any(f"decides on the {sizes['holdout']:,} of" in note for note in body["notes"])
    assert body["decision"]["look"] == 1
    # Who decides on all rows has to say that some were open.
    body = json.loads(
        say(
            "gate",
            "groundedness",
            "v2.yaml",
            "rows.jsonl",
            *TARGET,
            *SIMULATED,
            "--allow-opened",
            "--json",
        )
    )
    assert body["rows"] == sum(sizes.values())


def sizes_of_parts(folder: Path) -> dict[str, int]:
    """Return how many rows the split of the only run put into each part."""
    with Workspace(folder) as place:
        (record,) = list_runs(place.database)
        events = RunJournal(place.database, record.run_id).events()
        return next(dict(event.payload["rows"]) for event in events if event.kind == "split")
