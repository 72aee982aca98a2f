"""A holdout that a person sets aside before anything is measured: `bench --seal`, as a user would
go on from there.
"""

import json
import shlex
from pathlib import Path

import pytest

import judgewright as jw
from judgewright.judges import Registry, split_dataset
from judgewright.judges.files import RawRoles
from judgewright.runs.actions import read_run
from judgewright.runs.actions.check_data import CheckOptions
from judgewright.runs.actions.show_rows import shown_rows
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.review.file_data import names_of_check
from judgewright.runs.review.row_data import RowQuery, find_row_pages, make_row_pages
from judgewright.runs.store import HoldoutLedger, RunConfig, Workspace, list_runs

from .test_sealing import SIMULATED, Say, run, say  # noqa: F401 - a fixture

GOAL = ("--objective", "precision", "--steps", "1", "--gate-anyway")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with made-up rows and one edit of the judge."""
    monkeypatch.chdir(tmp_path)
    write_demo_rows(tmp_path / "rows.jsonl", documents=80)
    prompt = Registry().get("groundedness")
    edit = f"{prompt.criteria}\nNumbers must match the source."
    (tmp_path / "v1.yaml").write_text(
        prompt.edited(criteria=edit, note="").to_yaml(), encoding="utf-8"
    )
    return tmp_path


def bench(say: Say, judge: str = "groundedness", *more: str) -> dict:  # noqa: F811
    """Measure a judge on the rows."""
    return json.loads(say("bench", judge, "rows.jsonl", *SIMULATED, *more, "--json"))


def sides(folder: Path) -> tuple[int, int]:
    """How many rows there are, and how many are sealed as `optimize` would seal them."""
    rows = len((folder / "rows.jsonl").read_text(encoding="utf-8").splitlines())
    with Workspace(folder) as place:
        config = next(
            RunConfig.from_json(one.config)
            for one in list_runs(place.database)
            if one.kind == "optimize"
        )
    parts = split_dataset(config.dataset())
    return rows, len(parts.holdout) + len(parts.final)


def test_sealed_rows_are_read_by_no_command_and_are_the_holdout_of_the_run(
    folder: Path,
    say: Say,  # noqa: F811
) -> None:
    """Every edit is measured on open rows and costs nothing; the run's gate is the first look."""
    measured = bench(say, "groundedness", "--seal", "--out", "open.jsonl")
    for judge in ("groundedness", "v1.yaml"):
        assert bench(say, judge)["metrics"]["accuracy"]["n"] == measured["metrics"]["accuracy"]["n"]
    body = json.loads(say("optimize", "groundedness", "rows.jsonl", *GOAL, *SIMULATED, "--json"))
    assert body["decision"]["look"] == 1
    rows, sealed = sides(folder)
    n = rows - sealed
    said = f"{n:,} of {rows:,} rows are read, {sealed:,} sealed by bench --seal"
    assert measured["metrics"]["accuracy"]["n"] == n
    assert any(note.startswith(said) for note in measured["notes"])
    lines = [
        json.loads(line)
        for line in (folder / "open.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert len(lines) == n
    report = json.loads(say("data", "check", "rows.jsonl", "--json"))
    assert report["rows"] == n
    assert any(note.startswith(said) for note in report["notes"])
    fitted = json.loads(say("calibrate", "groundedness", "rows.jsonl", *SIMULATED, "--json"))
    assert fitted["dataset"] == "rows/validation"


def test_verdicts_of_sealed_rows_are_left_out_of_scores_and_slices(folder: Path, say: Say) -> None:  # noqa: F811
    """Of a file that was written before, or elsewhere; `--sealed` reads them, and each time a look
    is spent.
    """
    bench(say, "groundedness", "--out", "all.jsonl")
    bench(say, "groundedness", "--seal")
    everything = len((folder / "all.jsonl").read_text(encoding="utf-8").splitlines())
    scored = json.loads(say("score", "all.jsonl", "--json"))
    assert scored["metrics"]["accuracy"]["n"] < everything
    assert any("sealed by bench --seal" in note for note in scored["reading"])
    assert "sealed by bench --seal" in say("slices", "all.jsonl", "--no-text")
    with Workspace(folder) as place:
        history = HoldoutLedger(place.database).history()
        assert not [
            one.version for one in history.measured if one.version.endswith("on sealed rows")
        ]
    whole = json.loads(say("score", "all.jsonl", "--sealed", "--json"))
    assert whole["metrics"]["accuracy"]["n"] == everything
    assert run("slices", "all.jsonl", "--sealed", "--rows", "1") == 2
    body = json.loads(say("optimize", "groundedness", "rows.jsonl", *GOAL, *SIMULATED, "--json"))
    assert body["decision"]["look"] == 2
    assert "1 other prompt was measured on these rows before" in body["decision"]["reason"]


def test_a_run_that_placed_its_sides_before_keeps_them(folder: Path, say: Say) -> None:  # noqa: F811
    """Sealing afterwards seals what it sealed, and the page reads the rows of a bench again."""
    say(
        *shlex.split("optimize groundedness rows.jsonl --objective precision --steps 0"), *SIMULATED
    )
    with Workspace(folder) as place:
        before = HoldoutLedger(place.database).history().memories[-1]
    measured = bench(say, "groundedness", "--seal")
    assert bench(say, "groundedness", "--seal")["metrics"] == measured["metrics"]
    with Workspace(folder) as place:
        after = HoldoutLedger(place.database).history().memories
        assert [memory.run_id.startswith("bench --seal") for memory in after] == [False, True]
        assert list(after[-1].sealed) == list(before.sealed)
        newest = next(one for one in reversed(list_runs(place.database)) if one.kind == "bench")
        shown = shown_rows(place, read_run(place, newest.run_id))
        assert len(shown.judged.dataset) == measured["metrics"]["accuracy"]["n"]


def test_from_python_too(folder: Path) -> None:
    """A prompt and a function; and rows that are asked about by people are open ones."""
    rows = folder / "rows.jsonl"
    first = jw.bench("groundedness", rows, model="simulated", seal=True)
    again = jw.bench("groundedness", rows, model="simulated")
    whole = jw.bench("groundedness", rows, model="simulated", sealed=True)
    sizes = [len(one.judged.dataset) for one in (first, again, whole)]
    assert sizes[0] == sizes[1] < sizes[2]
    assert any("sealed by bench --seal" in note for note in again.notes)


def test_what_a_measurement_costs_is_said_before_a_model_is_asked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With who spent what; `--seal` is offered at the first contact, and nothing is sealed unless
    somebody says it.
    """
    for judge in ("groundedness", "v1.yaml"):
        capsys.readouterr()
        assert run("bench", judge, "rows.jsonl", *SIMULATED) == 0
        said = capsys.readouterr().err
        assert "on these rows are a look" in said
        assert ("spent on these rows before: bench of 134907a0740b" in said) == (judge == "v1.yaml")
        assert "--seal sets a holdout aside first" in said
    with Workspace(folder) as place:
        assert not HoldoutLedger(place.database).history().memories
    run(
        *shlex.split("optimize --plan groundedness rows.jsonl --objective precision --yes"),
        *SIMULATED,
    )
    told = capsys.readouterr().out
    assert "look 2, significance level 0.0076" in told
    assert "spent on these rows before: bench of " in told


def test_an_edit_is_gated_on_the_rows_that_were_sealed_first(folder: Path, say: Say) -> None:  # noqa: F811
    """Though it was measured on the others many times: the first look, at the sealed holdout
    alone.
    """
    bench(say, "groundedness", "--seal")
    bench(say, "v1.yaml")
    words = (
        *shlex.split("gate groundedness v1.yaml rows.jsonl --target precision"),
        *SIMULATED,
        "--json",
    )
    body = json.loads(say(*words))
    with Workspace(folder) as place:
        first, *_ = HoldoutLedger(place.database).history().memories
        sizes = {part.rows for part in first.sealed.values()}
        (record,) = HoldoutLedger(place.database).history().records
    assert body["rows"] in sizes
    assert (record.look.number, record.look.spent) == (1, ())


@pytest.fixture
def three_hundred(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, say: Say) -> Path:  # noqa: F811
    """A folder with 300 rows in 300 groups, a file of verdicts of them all, and then half of them
    sealed.
    """
    monkeypatch.chdir(tmp_path)
    words = ("claim {i} of the report", "passage {i} says what happened in year {i}")
    with (tmp_path / "rows.jsonl").open("w", encoding="utf-8") as file:
        for i in range(300):
            claim, source = (text.format(i=f"{i:03}") for text in words)
            row = {"id": f"r{i}", "statement": claim, "source": source, "label": i % 2}
            print(json.dumps(row), file=file)
    bench(say, "groundedness", "--out", "all.jsonl")
    bench(say, "groundedness", "--seal")
    return tmp_path


SAID = "150 of 300 rows are read, 150 sealed by bench --seal"


def test_each_command_says_how_many_rows_it_reads(
    three_hundred: Path,
    say: Say,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`bench`, `score`, `slices`, `data check` and `label` read 150 of 300; `calibrate` a part of
    those.
    """
    assert SAID in say("score", "all.jsonl")
    assert SAID in say("slices", "all.jsonl", "--no-text")
    assert SAID in say("data", "check", "rows.jsonl")
    assert any(note.startswith(SAID) for note in bench(say)["notes"])
    run("label", "--rows", "rows.jsonl", "--again", "--annotator", "a", "--json")
    assert SAID in capsys.readouterr().err
    with Workspace(three_hundred) as place:
        (queue,) = list_runs(place.database, "queue")
        assert len(queue.config["rows"]) == 150
    fitted = say("calibrate", "groundedness", "rows.jsonl", *SIMULATED)
    assert "validation rows are read; 150 of all 300 rows are sealed by bench --seal" in fitted
    assert "--sealed" not in fitted


def test_python_reads_sealed_verdicts_where_it_is_said(three_hundred: Path) -> None:
    """`jw.score` and `jw.find_slices` as `jw.bench`: a look, entered in the ledger."""
    file = three_hundred / "all.jsonl"
    assert jw.score(file)["accuracy"].n == 150
    assert len(jw.find_slices(file).judged.dataset) == 150
    with Workspace(three_hundred) as place:
        entered = len(HoldoutLedger(place.database).history().measured)
    assert jw.score(file, sealed=True)["accuracy"].n == 300
    assert len(jw.find_slices(file, sealed=True).judged.dataset) == 300
    assert len(jw.find_slices(jw.load_verdicts(file), sealed=True).judged.dataset) == 300
    with Workspace(three_hundred) as place:
        measured = HoldoutLedger(place.database).history().measured
    assert {one.version.endswith("on sealed rows") for one in measured[entered:]} == {True}


def test_a_page_checks_a_file_again_once_some_of_it_is_sealed(folder: Path, say: Say) -> None:  # noqa: F811
    """The check that was made before is of rows that are sealed now; any other measurement leaves
    it as it is.
    """
    with Workspace(folder) as place:
        options = CheckOptions(roles=RawRoles())
        names = names_of_check(place, folder / "rows.jsonl", options, ("simulated", None))
    query = RowQuery("check", names)

    def rows() -> int | None:
        with Workspace(folder) as place:
            pages = find_row_pages(place, query)
            if pages is None:
                make_row_pages(place, query)
            return None if pages is None else pages.head["report"]["rows"]

    assert rows() is None
    every = rows()
    bench(say)
    assert rows() == every
    bench(say, "groundedness", "--seal")
    assert rows() is None
    assert (rows() or 0) < (every or 0)


def test_a_file_behind_a_link_has_the_name_that_was_typed(folder: Path, say: Say) -> None:  # noqa: F811
    """The run shows the link's name and reads the file it leads to."""
    (folder / "d").mkdir()
    (folder / "rows.jsonl").rename(folder / "d" / "rows.jsonl")
    (folder / "latest.jsonl").symlink_to(folder / "d" / "rows.jsonl")
    say("bench", "groundedness", "latest.jsonl", *SIMULATED, "--seal")
    jw.bench("groundedness", "latest.jsonl", model="simulated")
    listed = json.loads(say("runs", "list", "--json"))
    assert [one["data"] for one in listed["runs"]] == ["latest.jsonl", "latest.jsonl"]
    with Workspace(folder) as place:
        paths = {one.config["data"] for one in list_runs(place.database)}
    assert paths == {str((folder / "d" / "rows.jsonl").resolve())}
