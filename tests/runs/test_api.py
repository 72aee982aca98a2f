"""`import judgewright as jw`: the ten lines, what goes in, what comes out, and what is refused."""

import asyncio
import json
import pydoc
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import judgewright as jw
from judgewright.judges import InputError, Registry
from judgewright.judges.errors import DataError
from judgewright.optimize.losses.objective import read_guard
from judgewright.runs.demo.rows import write_demo_rows
from judgewright.runs.results import Bench, Run

README = Path(__file__).resolve().parents[2] / "README.md"
TEN_LINES = next(
    block
    for block in re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    if "import judgewright as jw" in block
)
ROWS = [
    {
        "id": f"r{i}",
        "source": f"The hotel has {40 + i % 3} rooms and was built in {1900 + i}.",
        "statement": f"The hotel has {40 + i % 4} rooms.",
        "label": int(i % 3 == i % 4),
        "group_id": f"g{i // 2}",
        "channel": "ab"[i % 2],
    }
    for i in range(48)
]
ANSWERABLE = [
    {
        "id": f"q{i}",
        "question": f"How many rooms has hotel {i}?",
        "passages": f"Hotel {i} has rooms.",
        "label": i % 2,
    }
    for i in range(200)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the demo's rows; what one test has asked there, the next finds in the
    record.
    """
    folder = tmp_path_factory.mktemp("ten")
    write_demo_rows(folder / "rows.jsonl", documents=120)
    return folder


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def same_rooms(row: dict[str, Any]) -> bool:
    """Compare the number of rooms: a judge that is always right about `ROWS`."""
    return row["statement"].split(" rooms")[0] in row["source"]


def test_the_ten_lines_run_as_a_script(folder: Path) -> None:
    """The README's lines, as printed, in a folder with rows: a table, a decision, an export."""
    done = subprocess.run(
        [sys.executable, "-c", TEN_LINES], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (
        "groundedness@134907a0740b on rows.jsonl  [SIMULATED: says nothing about real models]"
        in done.stdout
    )
    assert re.search(
        r"^  precision +0\.\d{3}  0\.\d{3} \.\. 0\.\d{3} +\d+$", done.stdout, re.MULTILINE
    )
    assert re.search(
        r"^(ACCEPTED|REFUSED|UNDECIDED|NO CANDIDATE|NOT SENT)  \[SIMULATED",
        done.stdout,
        re.MULTILINE,
    )
    assert "\n--- groundedness@134907a0740b\n+++ groundedness@" in done.stdout
    assert (folder / "handover" / "manifest.json").is_file()


@pytest.mark.slow
def test_the_ten_lines_run_in_a_notebook(folder: Path) -> None:
    """A notebook has a running event loop; the same lines run in its kernel."""
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    cells = [nbformat.v4.new_code_cell(TEN_LINES), nbformat.v4.new_code_cell("bench")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(
        notebook, timeout=600, resources={"metadata": {"path": str(folder)}}
    ).execute()
    assert "text/html" in notebook.cells[1].outputs[0].data
    assert "precision" in notebook.cells[0].outputs[0].text


def test_bench_works_in_a_running_loop_and_can_be_awaited(here: Path) -> None:
    """`jw.bench` blocks the loop and works; in a thread it lets it go on meanwhile."""

    async def both() -> tuple[Bench, Bench]:
        blocking = jw.bench("groundedness", ROWS, model="simulated")
        in_thread = asyncio.to_thread(jw.bench, "groundedness", ROWS, model="simulated")
        return blocking, await in_thread

    blocking, awaited = asyncio.run(both())
    assert blocking["precision"] == awaited["precision"]


class HubDataset:
    """A table as the library `datasets` has it: column names, and dicts one by one."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.column_names = list(rows[0])
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._rows)


def test_every_kind_of_rows_reads_the_same(here: Path) -> None:
    """A path, a text, a DataFrame, a list of dicts and a Hugging Face dataset give the same
    rows.
    """
    file = here / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    prompt = Registry().get("groundedness")
    kinds = [file, str(file), pd.DataFrame(ROWS), ROWS, HubDataset(ROWS), iter(ROWS)]
    datasets = [jw.load_rows(kind).dataset(prompt) for kind in kinds]
    assert [dataset.rows for dataset in datasets] == [datasets[0].rows] * len(kinds)
    assert len({dataset.content_hash for dataset in datasets}) == 1


def test_a_real_hugging_face_dataset_reads_the_same(here: Path) -> None:
    """With the library itself, where it is installed."""
    datasets = pytest.importorskip("datasets")
    prompt = Registry().get("groundedness")
    assert (
        jw.load_rows(datasets.Dataset.from_list(ROWS)).dataset(prompt).rows
        == jw.load_rows(ROWS).dataset(prompt).rows
    )


def test_a_frame_with_gaps_reads_as_a_file_with_gaps(here: Path) -> None:
    """pandas writes numbers with gaps as floats, and a gap as NaN or NA: both are missing."""
    frame = pd.DataFrame(ROWS).astype({"label": "Int64"})
    frame["words"] = pd.array([None, *range(1, len(ROWS))], dtype="Int64")
    frame.loc[1, "label"] = pd.NA
    rows = jw.load_rows(frame).dataset(Registry().get("groundedness")).rows
    assert rows[1].label is None
    assert [row.meta["words"] for row in rows[:3]] == [None, 1, 2]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [*ROWS[:16], ROWS[16] | {"label": "perhaps"}, *ROWS[17:]],
            "rows, row 17: field 'label': 'perhaps' is neither",
        ),
        ([*ROWS[:2], {"id": "x"}], "rows: 2 problems\n  row 3: field 'source' is missing"),
        ([{"id": "a", "text": "b"}], "rows: the column 'source' is missing"),
        ([*ROWS, ROWS[3]], "rows, row 49: the id 'r3' was used before, on row 4"),
        ([ROWS[0], "text"], "rows, row 2: a dict is needed, this is str"),
        ({"train": ROWS}, "rows: one mapping is no list of rows"),
        (7, "rows: rows cannot be read from int"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "rows: the column 'a' stands twice"),
    ],
)
def test_rows_that_cannot_be_used_are_named(rows: object, message: str, here: Path) -> None:
    """The same checks as for a file, with the row instead of the line."""
    with pytest.raises(DataError, match=re.escape(message)):
        jw.bench("groundedness", rows, model="simulated")


def test_a_model_must_be_named(here: Path) -> None:
    """Nobody is asked by default."""
    with pytest.raises(InputError, match="no model is named"):
        jw.bench("groundedness", ROWS)


def test_a_function_is_a_judge(here: Path) -> None:
    """It is measured without a model, sync or async, and does not see the label."""

    async def slow(row: dict[str, Any]) -> bool:
        await asyncio.sleep(0)
        assert "label" not in row
        return same_rooms(row)

    assert jw.bench(same_rooms, ROWS)["f1"].value == 1.0
    assert jw.bench(slow, jw.load_rows(ROWS, label_scale="binary", limit=20)).benchmark.n == 20


def test_a_function_on_a_scale_says_so(here: Path) -> None:
    """A number that is neither 0 nor 1 needs a scale."""

    def unsure(row: dict[str, Any]) -> float:
        return 0.9 if same_rooms(row) else 0.2

    with pytest.raises(InputError, match=r"returned 0\.9 for row 'r0', and no scale is stated"):
        jw.bench(unsure, ROWS)
    assert jw.bench(unsure, ROWS, scale="probability")["brier"].value == pytest.approx(
        0.02, abs=0.02
    )


def test_rows_that_a_function_cannot_score_are_unscored(here: Path) -> None:
    """An exception or a value that is no score leaves a row unscored; all of them are an error."""

    def picky(row: dict[str, Any]) -> bool | None:
        if row["id"] == "r1":
            raise ValueError("no such row")
        return None if row["id"] == "r2" else same_rooms(row)

    bench = jw.bench(picky, ROWS)
    assert bench.benchmark.unscored == {"parse": 2}
    with pytest.raises(
        InputError, match=r"scored no row; row 'r0': ZeroDivisionError: division by zero"
    ):
        jw.bench(lambda row: 1 / 0, ROWS)


def test_a_function_is_sliced_and_gated_and_not_optimized(here: Path) -> None:
    """Everything but a prompt to write is there."""

    def wrong_in_a(row: dict[str, Any]) -> bool:
        return row["channel"] == "a" or same_rooms(row)

    assert jw.find_slices(jw.bench(wrong_in_a, ROWS)).report.metric == "precision"
    decision = jw.gate(wrong_in_a, same_rooms, ROWS, target="precision").decision
    assert decision.outcome in ("accepted", "undecided", "refused")
    with pytest.raises(InputError, match="a Python function has no prompt to optimize"):
        jw.optimize(same_rooms, ROWS, objective="raise precision", model="simulated")  # pyright: ignore[reportArgumentType]


def test_a_look_at_rows_is_entered_in_the_ledger(here: Path) -> None:
    """The workspace's ledger is used from Python as from the command line."""
    jw.bench("groundedness", ROWS, model="simulated")
    assert [line.info.kind for line in jw.list_runs()] == ["bench"]


def test_rows_in_memory_are_kept_for_a_run(here: Path) -> None:
    """A run reads its rows again when it is resumed, so that a list of dicts becomes a file in the
    workspace.
    """
    settings = {"objective": "raise precision", "model": "simulated", "steps": 1, "workspace": here}
    rows = jw.load_rows(ROWS, label_scale="binary")
    run = jw.optimize("groundedness", rows, guard={"recall": 0.5}, **settings)
    kept = list((here / ".judgewright" / "rows").glob("rows-*.jsonl"))
    assert len(kept) == 1
    assert jw.load_run(workspace=here).decision.outcome == run.decision.outcome
    run.reject(comment="only a test")
    with pytest.raises(InputError, match="already rejected"):
        run.reject(comment="again")


def holdout_of(run: Run) -> int:
    """How many rows a run sealed for its gate."""
    return next(event.payload for event in run.summary.events if event.kind == "split")["rows"][
        "holdout"
    ]


def test_a_prescribed_split_and_a_floor_are_followed(here: Path) -> None:
    """`holdout` seals the rows it is given, `split_column` those it calls test; the objective's
    options are kept.
    """
    settings = {
        "objective": "do not call unsupported statements grounded",
        "model": "simulated",
        "steps": 0,
        "yes": True,
    }
    groups = sorted({str(row["group_id"]) for row in ROWS})
    sealed = [row for row in ROWS if str(row["group_id"]) in groups[::3]]
    opened = [row for row in ROWS if row not in sealed]
    run = jw.optimize(
        "groundedness", opened, holdout=sealed, floor={"precision": 0.5}, workspace=here, **settings
    )
    assert holdout_of(run) == len(sealed)
    objective = run.summary.objective
    assert [(floor.metric, floor.value) for floor in objective.floors] == [("precision", 0.5)]
    assert "read by simulated, and confirmed" in objective.notes
    parts = [{**row, "part": "test" if row in sealed else "dev"} for row in ROWS]
    run = jw.optimize(
        "groundedness", parts, split_column="part", workspace=here / "other", **settings
    )
    assert holdout_of(run) == len(sealed)


def test_what_may_change_and_peoples_reasons_are_passed_on(here: Path) -> None:
    """`editable` and `explanation` mean what the options mean, and are refused as these are."""
    settings = {"objective": "raise precision", "model": "simulated", "steps": 0, "workspace": here}
    rows = [{**row, "why": f"reason {i}"} for i, row in enumerate(ROWS)]
    run = jw.optimize(
        "groundedness", rows, editable=["criteria", "anchors"], explanation="why", **settings
    )
    config = run.summary.record.config
    assert (config["editable"], config["explanation"]) == (["criteria", "anchors"], "why")
    with pytest.raises(InputError, match="'threshold' is not a part that may change"):
        jw.optimize("groundedness", rows, editable=["threshold"], **settings)


def test_a_setting_that_there_is_not_is_refused_by_its_name(here: Path) -> None:
    """By both functions that take the settings of a run, before anything is asked."""
    for function in (jw.optimize, jw.plan):
        with pytest.raises(TypeError, match="optimize and plan take no stepz"):
            function("groundedness", ROWS, objective="raise f1", model="simulated", stepz=3)  # pyright: ignore[reportCallIssue]


def test_a_guard_is_a_loss_allowed_however_it_is_written() -> None:
    """`recall:-0.05`, `recall:0.05` and `recall=0.05` mean the same."""
    guards = [
        read_guard(text) for text in ("recall:-0.05", "recall:0.05", "recall=0.05", "recall=-0.05")
    ]
    assert guards == [guards[0]] * 4
    with pytest.raises(
        InputError, match="'recall:-3' is not METRIC=LOSS with a loss between 0 and 1"
    ):
        jw.optimize(
            "groundedness", ROWS, objective="precision", guard={"recall": 3}, model="simulated"
        )


def test_two_prompts_are_gated_and_one_is_calibrated(here: Path) -> None:
    """`jw.gate` asks both judges about a holdout; `jw.calibrate` keeps a rule."""
    gated = jw.gate(
        "groundedness", "groundedness_no_reason", ROWS, target="precision", model="simulated"
    )
    assert str(gated).startswith(
        "groundedness@134907a0740b -> groundedness_no_reason@eaa7e7e3bb39 on rows-"
    )
    assert gated.decision.simulated
    calibration = jw.calibrate("answerability", ANSWERABLE, model="simulated", method="none")
    assert str(calibration).splitlines()[1].startswith("  fitted on ")


def test_verdicts_from_memory_are_scored(here: Path) -> None:
    """`jw.score` takes what `jw.load_verdicts` takes."""
    verdicts = [
        {"id": row["id"], "label": row["label"], "score": int(same_rooms(row))} for row in ROWS
    ]
    assert jw.score(verdicts)["f1"].value == 1.0
    assert jw.score(jw.load_verdicts(pd.DataFrame(verdicts)))["f1"].value == 1.0


def test_objects_print_as_a_person_would_want_them(here: Path) -> None:
    """Whole, so that a change of any line is seen."""
    rows = jw.load_rows(ROWS)
    assert str(rows) == "rows: 48 rows\n  columns: id, source, statement, label, group_id, channel"
    bench = jw.bench(same_rooms, rows)
    assert str(bench).splitlines()[:12] == [
        "Your judge agrees with people on 100 % of 48 rows (kappa 1.00 [0.69, 1.00]; so few rows"
        " leave 86 to 100 %",
        "possible).",
        "It errs on none of these 36 bad and 12 good rows.",
        "note: the inputs are source, statement, as the judge groundedness reads them",
        "",
        "same_rooms on rows",
        "  48 rows scored in 24 groups, 0 unscored",
        "  judge says yes: 12 right, 0 wrong; no: 36 right, 0 wrong",
        "  metric     value   95 % interval   n",
        "  ---------  -----  --------------  --",
        "  precision  1.000  0.652 .. 1.000  12",
        "  recall     1.000  0.652 .. 1.000  12",
    ]
    assert (
        repr(bench)
        == "Benchmark('same_rooms', model 'Python function', n=48 in 24 groups, coverage 100.0%)"
    )
    assert bench.summary.agreed is not None
    assert (bench.summary.agreed.count, bench.summary.agreed.of) == (48, 48)
    assert bench.summary.to_json()["bad_called_good"]["of"] == 36
    assert "<table" in bench._repr_html_()
    assert str(jw.list_judges()).splitlines()[0].split() == ["judge", "version", "inputs", "scale"]


def test_help_reads_like_a_table_of_contents() -> None:
    """The ten lines first, then every function with its signature and a sentence."""
    text = pydoc.plain(pydoc.render_doc(jw))
    assert text.index("import judgewright as jw") < text.index("FUNCTIONS")
    for name in jw.__all__:
        assert getattr(jw, name).__doc__
        assert re.search(rf"^    (async )?{name}\(", text, re.MULTILINE), name


def test_the_sub_package_and_the_function_optimize_live_together() -> None:
    """`jw.optimize` is the function, whatever was imported before."""
    code = (
        "from judgewright.optimize import Guard; import judgewright as jw;"
        " print(callable(jw.optimize), Guard.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True Guard\n"
