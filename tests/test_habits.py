"""What CONTRIBUTING relies on: the near tests of a change, the workflow of public CI, the list of
strict files.
"""

import re
import runpy
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PRODUCT = [
    path.relative_to(ROOT)
    for room in ("judges", "slices", "optimize", "runs")
    for path in (ROOT / room).rglob("*.py")
    if path.parent.name != "checks"  # scripts for another tool's Python are not type-checked
]
STRICT_FILES = 99
"""As many files are type-checked strictly; raise it when the list has grown."""
NEAR = runpy.run_path(str(ROOT / ".ci" / "near.py"))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with one module, its test, a test that uses it through the face, and one that does
    not.
    """
    for name, text in {
        "judges/rows.py": "class Row: ...\n\nclass Dataset: ...\n",
        "judges/prompts/short.yaml": "criteria: x\n",
        "tests/judges/test_rows.py": "",
        "tests/judges/test_judge.py": "from judgewright.judges import Row, judge\n",
        "tests/judges/test_reply.py": "from judgewright.judges import read_reply\n",
        "tests/judges/files/test_reading.py": "from judgewright.judges.rows import Dataset\n",
        "tests/runs/test_bench.py": "from judgewright.judges import Row\n",
        "tests/test_docs.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_near_a_module_are_its_own_test_and_those_of_its_folder_that_use_it(checkout: Path) -> None:
    """By name, through the face, and from the file; the rest of the house is left to `make
    test`.
    """
    assert NEAR["near_tests"](["judges/rows.py"], checkout) == [
        "tests/judges/files/test_reading.py",
        "tests/judges/test_judge.py",
        "tests/judges/test_rows.py",
    ]


def test_near_a_data_file_are_the_tests_of_its_folder(checkout: Path) -> None:
    """Nothing imports a YAML file."""
    near = NEAR["near_tests"](["judges/prompts/short.yaml"], checkout)
    assert near == [f"tests/judges/test_{name}.py" for name in ("judge", "reply", "rows")]


def test_a_changed_test_and_a_changed_page_bring_themselves(checkout: Path) -> None:
    """A test that was deleted brings nothing."""
    changed = ["docs/index.md", "tests/judges/test_reply.py", "tests/judges/test_gone.py"]
    assert NEAR["near_tests"](changed, checkout) == [
        "tests/judges/test_reply.py",
        "tests/test_docs.py",
    ]


def test_the_workflow_runs_the_tests_on_every_version_we_name() -> None:
    """The versions of the classifiers, by `make test`, and no secret."""
    text = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    job = yaml.safe_load(text)["jobs"]["test"]
    named = [
        line.rpartition(" ")[2]
        for line in PROJECT["project"]["classifiers"]
        if re.search(r"3\.\d+$", line)
    ]
    assert job["strategy"]["matrix"]["python"] == named
    assert "make test PYTHON=python" in [step.get("run") for step in job["steps"]]
    assert "secrets." not in text


def test_make_names_what_it_has() -> None:
    """Every target of the Makefile that CONTRIBUTING names is one."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", page, re.MULTILINE))
    assert named
    assert [
        name for name in sorted(named) if not re.search(rf"^{name}:", makefile, re.MULTILINE)
    ] == []


def test_the_list_of_strict_files_does_not_shrink() -> None:
    """Every entry exists, and together they cover what they covered before."""
    strict = [Path(entry) for entry in PROJECT["tool"]["pyright"]["strict"]]
    assert [str(entry) for entry in strict if not (ROOT / entry).exists()] == []
    covered = [
        path for path in PRODUCT if any(path == entry or entry in path.parents for entry in strict)
    ]
    assert len(covered) >= STRICT_FILES
