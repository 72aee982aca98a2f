"""What a notebook and a script get from `jw`: plots, tables, plans, labels, judges of one's own,
types.
"""

import json
import re
import shutil
import subprocess
import sys
import urllib.request
from importlib.metadata import version
from pathlib import Path

import pytest

import judgewright as jw
from judgewright.judges import InputError
from judgewright.runs.cli import main
from judgewright.runs.demo.rows import write_demo_rows
from judgewright.runs.results import Run

ROOT = Path(__file__).resolve().parents[2]
NO_PLOTS = """
import sys, judgewright as jw
sys.modules["matplotlib"] = None  # as if it were not installed
bench = jw.bench(lambda row: True, [{"statement": "a", "source": "b", "label": 1}] * 2)
try:
    bench.plot()
except Exception as error:
    print(error, error.hint)
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    """A folder with the demo's rows and a run on them."""
    folder = tmp_path_factory.mktemp("face")
    write_demo_rows(folder / "rows.jsonl", documents=120)
    run = jw.optimize(
        "groundedness",
        str(folder / "rows.jsonl"),
        objective="raise precision",
        guard={"recall": 0.1},
        model="simulated",
        steps=1,
        workspace=folder,
    )
    return folder, run


@pytest.fixture
def unlabelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Thirty rows without a label, in the working folder."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": f"r{i}", "source": f"It has {40 + i} rooms.", "statement": f"{40 + i % 7} rooms."}
        for i in range(30)
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "rows.jsonl").write_text(text, encoding="utf-8")
    return tmp_path


def python_of(page: str, beginning: str = "") -> str:
    """The Python block of a page of the docs."""
    text = (ROOT / "docs" / "how-to" / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return next(block for block in blocks if beginning in block)


def test_the_version_is_that_of_the_package() -> None:
    """As every package says it."""
    assert jw.__version__ == version("judgewright")


def test_bench_slices_and_run_are_drawn(
    made: tuple[Path, Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each returns axes with the figures that it prints, labelled as made up where they are."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    import matplotlib
    from matplotlib import pyplot

    monkeypatch.setattr(matplotlib, "interactive", False, raising=False)
    pyplot.switch_backend("Agg")
    folder, run = made
    bench = jw.bench("groundedness", folder / "rows.jsonl", model="simulated", workspace=folder)
    axes = bench.plot()
    assert "SIMULATED" in axes.get_title()
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert [name.split("  ")[0] for name in names] == ["precision", "recall", "accuracy", "kappa"]
    assert names[0].endswith(f"(n {bench['precision'].n:,})")
    drawn = [line.get_xdata()[0] for line in axes.lines]
    assert drawn[0] == bench["precision"].value
    with pytest.raises(InputError, match="no metric 'nope'"):
        bench.plot(["nope"])

    report = jw.find_slices(bench, metric="precision")
    own = pyplot.figure().subplots()
    assert report.plot(ax=own) is own
    assert "SIMULATED" in own.get_title()
    full = [line.get_fillstyle() == "full" for line in own.lines[: len(report)]]
    assert full == [one.confirmed for one in report][: len(full)]

    course = run.plot()
    arms = {line.get_label() for line in course.lines}
    assert {"study", "the prompt as it was"} <= arms
    for name, one in (("bench", axes), ("slices", own), ("run", course)):
        one.figure.savefig(tmp_path / f"{name}.png")
    pyplot.close("all")


def test_without_matplotlib_a_plot_says_what_to_install(tmp_path: Path) -> None:
    """One line, with the extra."""
    done = subprocess.run(
        [sys.executable, "-c", NO_PLOTS], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "a plot needs matplotlib" in done.stdout
    assert "pip install 'judgewright[plot]'" in done.stdout


def test_a_notebook_shows_tables(made: tuple[Path, Run]) -> None:
    """Runs, decisions and lists are tables, escaped, with the made-up ones marked."""
    folder, run = made
    html = run._repr_html_()
    assert "<table" in html
    assert "<svg" in html
    assert "SIMULATED" in html
    frame = run.decision.to_frame()
    assert frame["role"].tolist()[:1] == ["target"]
    assert frame["metric"][0] == "precision"
    runs = jw.list_runs(workspace=folder)
    assert "<table" in runs._repr_html_()
    assert runs.to_frame()["kind"].tolist()[-1] == "optimize"
    judges = jw.list_judges()
    assert f"{len(judges)} judges" in judges._repr_html_()
    assert list(judges.to_frame().columns) == ["judge", "version", "inputs", "scale"]


def test_a_plan_is_that_of_the_command(
    made: tuple[Path, Run], capsys: pytest.CaptureFixture[str]
) -> None:
    """The same object, and nothing is asked."""
    folder, _ = made
    before = len(jw.list_runs(workspace=folder))
    planned = jw.plan(
        "groundedness",
        str(folder / "rows.jsonl"),
        objective="raise recall",
        model="simulated",
        guard={"precision": 0.05},
        steps=2,
        workspace=folder,
    )
    assert planned.cost == 0.0
    assert planned.smallest_gain == planned.to_json()["detectable"]["size"]
    assert "calls" in str(planned)
    capsys.readouterr()
    words = "--objective=raise recall --guard=precision:-0.05 --steps=2 --model=simulated --plan"
    options = words.replace(" --", "\n--").split("\n")
    where = f"--workspace={folder}"
    main(["optimize", "groundedness", str(folder / "rows.jsonl"), *options, "--json", where])
    printed = json.loads(capsys.readouterr().out)
    printed.pop("schema_version")
    assert json.loads(json.dumps(planned.to_json())) == printed
    assert len(jw.list_runs(workspace=folder)) == before


def test_a_judge_of_ones_own_is_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not said is asked for; with it the judge is kept, returned, and measured."""
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "how-to" / "own-prompt.md").read_text(encoding="utf-8")
    prompt = page.split("<!-- judge.txt -->\n\n```\n", 1)[1].split("```", 1)[0]
    Path("judge.txt").write_text(prompt, encoding="utf-8")
    with pytest.raises(InputError, match="open") as refused:
        jw.add_judge("judge.txt", name="politeness")
    assert "say scale, verdict, criteria" in str(refused.value.hint)
    judge = jw.add_judge(
        "judge.txt",
        name="politeness",
        labels=["IMPOLITE", "POLITE"],
        verdict="last line",
        criteria="A reply ... greet.",
    )
    assert judge.inputs == ("reply",)
    assert "politeness" in [one.name for one in jw.list_judges()]
    again = jw.add_judge(judge, name="mine")
    assert (again.name, again.version) == ("mine", judge.version)
    rows = [{"reply": f"Hello {i}", "label": i % 2} for i in range(8)]
    assert jw.bench(judge, rows, model="simulated").benchmark.n <= 8


def test_rows_are_labelled_by_a_function_and_by_id(unlabelled: Path) -> None:
    """Each label is kept with who gave it; a row without one is skipped; what is off the scale is
    refused, and the call goes on from there.
    """

    def wrong(row: dict[str, object]) -> float:
        assert "label" not in row
        return 1.0 if row["id"] != "r7" else 5.0

    labels = jw.label("rows.jsonl", ask="Is it right?")
    assert (labels.labelled, labels.left) == (0, 30)
    assert "30 rows are left" in str(labels)
    with pytest.raises(InputError, match=r"'r7': the label 5\.0 is not on"):
        jw.label(labels, wrong, annotator="code")
    by_id = {f"r{i}": float(i % 2) for i in range(20)}
    labels = jw.label(labels, by_id, annotator="code")
    assert labels.labelled + labels.skipped == 30
    assert labels.left == 0
    rows = labels.write("labelled.jsonl")
    assert len(rows) == labels.labelled
    lines = Path("labelled.jsonl").read_text(encoding="utf-8").splitlines()
    body = {one["id"]: one for one in map(json.loads, lines)}
    assert {one["label_annotator"] for one in body.values()} == {"code"}
    with pytest.raises(InputError, match="no label"):
        jw.label([{"statement": "a", "source": "b"}] * 2, judge="groundedness").write("x.jsonl")


def test_the_page_of_a_queue_opens(unlabelled: Path) -> None:
    """The link leads to its first row, and needs no browser to be had."""
    labels = jw.label("rows.jsonl", ask="Is it right?")
    link = labels.open(browser=False)
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with opener.open(link, timeout=60) as answer:
        page = answer.read().decode()
    assert "Is it right?" in page
    assert "rooms." in page


def test_the_docs_examples_run(unlabelled: Path, made: tuple[Path, Run]) -> None:
    """The lines about labelling, and the test for pytest: it fails with the decision, passes with a
    better prompt, and asks nothing the second time.
    """
    shutil.copy(unlabelled / "rows.jsonl", "unlabelled.jsonl")
    code = python_of("label-rows.md")
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert Path("labelled.jsonl").exists()

    _, run = made
    assert run.after is not None
    test = python_of("ci-gate.md", "def test_").replace("your-model", "simulated")
    Path("test_judge.py").write_text(test, encoding="utf-8")
    write_demo_rows(unlabelled / "holdout.jsonl", documents=200)
    Path("judges").mkdir()
    outcomes: list[bool] = []
    for prompt in (run.before, run.after, run.after):
        text = prompt.to_yaml()
        if prompt is run.before:
            text = text.replace("Break the statement", "Say yes always. Break the statement")
        Path("judges/groundedness.yaml").write_text(text, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_judge.py"],
            capture_output=True,
            text=True,
            check=False,
        )
        outcomes.append(done.returncode == 0)
        assert done.returncode in (0, 1), done.stdout + done.stderr
        if done.returncode:
            assert "precision" in done.stdout
    assert outcomes[1] == outcomes[2]
    assert not outcomes[0]
    gates = [one for one in jw.list_runs(workspace=unlabelled) if one.info.kind == "gate"]
    assert len(gates) == 2


@pytest.mark.slow
def test_a_users_script_passes_the_strict_type_checker(tmp_path: Path) -> None:
    """What `jw` returns has types, its attributes too; a wrong argument is an error."""
    (tmp_path / "judgewright").symlink_to(ROOT)
    script = tmp_path / "script.py"
    script.write_text((Path(__file__).parent / "typed_script.txt").read_text(encoding="utf-8"))
    settings = {"typeCheckingMode": "strict", "include": ["script.py"], "extraPaths": ["."]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    pyright = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable]
    done = subprocess.run(
        [*pyright, "-p", str(tmp_path), "--outputjson"], capture_output=True, text=True, check=False
    )
    found = json.loads(done.stdout)["generalDiagnostics"]
    lines = script.read_text(encoding="utf-8").splitlines()
    wrong = {number for number, line in enumerate(lines) if line.endswith("# wrong")}
    assert {one["range"]["start"]["line"] for one in found} == wrong, found


def test_an_export_after_a_run_that_changed_nothing_says_so(
    unlabelled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the version that is exported; before any run nothing is said."""
    write_demo_rows(unlabelled / "rows.jsonl", documents=60)
    jw.export("groundedness", to="python", out="first")
    assert capsys.readouterr().err == ""
    words = {"objective": "raise precision", "model": "simulated", "steps": 0}
    run = jw.optimize("groundedness", "rows.jsonl", **words)
    assert not run.accepted
    capsys.readouterr()
    jw.export("groundedness", to="python", out="second")
    began = f"run {run.run_id} began with groundedness@{run.before.version}, which is exported"
    ended = f"it ended {run.decision.outcome}, and nothing is adopted"
    assert f"note: {began}: {ended}" in capsys.readouterr().err
    main(["export", "groundedness", "--to", "python", "--out", "third"])
    assert f"note: {began}: {ended}" in capsys.readouterr().out
