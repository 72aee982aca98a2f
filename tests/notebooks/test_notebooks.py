"""The notebooks run from a clean checkout, use what is public, and carry their outputs."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import nbformat
import pytest

from .store_outputs import NOTEBOOKS, PUBLISHED, ROOT, execute

SHARED = (ROOT / "../shared/data").resolve()
MOST_LINES = 14

pytestmark = pytest.mark.filterwarnings("default")


def read(name: str) -> Any:
    """Return a notebook as it is in the repository."""
    return nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)


def run(notebook: Any, place: Path, **parameters: str) -> Any:
    """Execute every cell in a folder of its own, with other values for the parameters."""
    for cell in notebook.cells:
        if "parameters" in cell.metadata.get("tags", ()):
            cell.source = "\n".join(f"{name} = {value!r}" for name, value in parameters.items())
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    execute(notebook, place)
    return notebook


def shown(notebook: Any) -> str:
    """Return all that the cells printed or showed as text and tables."""
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", ())]
    data = [out.get("data", {}) for out in outputs]
    texts = [out.get("text", "") for out in outputs]
    return "\n".join([*texts, *(one.get(kind, "") for one in data for kind in ("text/plain", "text/html"))])


def shared(path: str) -> str:
    """Return the place of published data beside the checkout, or skip aloud."""
    if not (SHARED / path).exists():
        pytest.skip(f"shared/data/{path} is not beside the checkout")
    return str(SHARED / path)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_with_its_outputs(path: Path) -> None:
    """A reader on the web sees tables and plots, no error, and nothing of the machine they were
    made on.
    """
    notebook, text = nbformat.read(path, as_version=4), path.read_text(encoding="utf-8")
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == [*range(1, len(cells) + 1)], "run it whole: make notebooks"
    outputs = [output for cell in cells for output in cell.outputs]
    assert {output.output_type for output in outputs} <= {"stream", "execute_result", "display_data"}
    assert {output.name for output in outputs if output.output_type == "stream"} == {"stdout"}
    assert sum("image/svg+xml" in output.get("data", {}) for output in outputs) >= 2
    assert set(notebook.metadata) == {"kernelspec"}
    assert len(text) < 1_000_000
    assert not [place for place in ("/work", "/home/", "/root/", "/tmp", "/Users/") if place in text]


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_what_is_stored_is_about_published_verdicts(name: str) -> None:
    """Not about the made-up ones of a machine without the data, nor with a text of theirs."""
    text = shown(read(name))
    assert "MADE UP" not in text
    assert "left out: the verdicts are made up" not in text


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_few_lines_a_cell_and_no_code_of_its_own(path: Path) -> None:
    """It defines no function and no class, and imports no private name: what it would need belongs
    in the product.
    """
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type != "code":
            continue
        assert len(cell.source.splitlines()) <= MOST_LINES, cell.source
        nodes = list(ast.walk(ast.parse(cell.source)))
        assert not [node for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda)]
        imported = [node for node in nodes if isinstance(node, ast.ImportFrom)]
        names = [part for node in imported for part in (node.module or "").split(".")]
        names += [alias.name for node in imported for alias in node.names]
        assert not [name for name in names if name.startswith("_")]


@pytest.mark.slow
def test_the_tour_walks_from_rows_to_a_verified_export(tmp_path: Path) -> None:
    """It finds the slice that the rows were made with, the gate accepts, and the export reads as
    our own judge.
    """
    text = shown(run(read("tour"), tmp_path))
    assert "Raise precision by making fewer false positives" in text
    assert "channel = table" in text
    assert "ACCEPTED  [SIMULATED: says nothing about real models]" in text
    assert "passed 8 rows rendered alike" in text
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_the_study_ranks_the_published_judges(tmp_path: Path) -> None:
    """Twelve judges with all their pairs, slices that 25 queries do not confirm, and the caution
    about eleven questions.
    """
    text = shown(run(read("real_verdicts"), tmp_path, VERDICTS=shared("verdicts")))
    assert "Leaderboard('kappa', 12 judges, 66 pairs, 0 published rows)" in text
    assert "of 66 pairs differ at 5 % after Holm's correction (n = 4,423, 25 queries)" in text
    assert "slices=5, confirmed=0" in text
    assert "the 660 rows belong to only 11 groups" in text
    assert "SIMULATED" not in text


@pytest.mark.slow
def test_the_diras_walk_gets_the_printed_figures_and_an_undecided_gate(tmp_path: Path) -> None:
    """No figure differs from the printed one; eleven questions decide nothing; what is simulated
    says so.
    """
    shared("diras.jsonl")
    notebook = run(read("diras_walk"), tmp_path, DATA=shared("verdicts").removesuffix("/verdicts"))
    text = shown(notebook)
    assert "differs" not in text
    assert "UNDECIDED: only 11 groups" in text
    assert "about 1,740 holdout rows in 29 groups would decide" in text
    assert "SIMULATED, n = 30 pairs of 3 questions" in text
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_student_is_trained_and_questions_are_routed(tmp_path: Path) -> None:
    """From Python alone, and what is simulated says so."""
    text = shown(run(read("students_and_routing"), tmp_path))
    assert "SIMULATED: says nothing about real models" in text
    assert "chats to train on" in text
    assert "staff: Shifts, salaries and holidays." in text
    assert not list(tmp_path.iterdir())


def test_ways_to_answer_are_compared_and_a_search_is_tuned(tmp_path: Path) -> None:
    """From Python alone."""
    text = shown(run(read("answers_and_search"), tmp_path))
    assert "recursive 900/150, context document, top 5" in text
    assert "equal weights" in text
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(("name", "parameter"), [("real_verdicts", "VERDICTS"), ("diras_walk", "DATA")])
def test_a_notebook_without_the_published_data_runs_on_made_up_verdicts(
    name: str, parameter: str, tmp_path: Path
) -> None:
    """In a clone every cell runs, and the first output says that no figure means anything."""
    text = shown(run(read(name), tmp_path, **{parameter: "nowhere"}))
    assert "MADE UP: no figure below says anything about a judge" in text
    assert ("left out: the verdicts are made up" in text) is (name == "diras_walk")
    assert not list(tmp_path.iterdir())
