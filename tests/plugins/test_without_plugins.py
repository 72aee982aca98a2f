"""The core stands alone: with `plugins/` deleted its commands work and its tests pass."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("judges", "slices", "optimize", "runs")
NO_CHECKOUT = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "Editable" not in repr(finder)]
"""
"""What is not in the copy is not taken from the checkout."""


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package, under its name, without `plugins/`; its folder is importable."""
    folder = tmp_path_factory.mktemp("core")
    package = folder / "judgewright"
    package.mkdir()
    for name in ("__init__.py", "__main__.py", "pyproject.toml"):
        shutil.copy(ROOT / name, package)
    for room in (*ROOMS, "tests"):
        ignored = shutil.ignore_patterns("__pycache__", "plugins" if room == "tests" else "-")
        shutil.copytree(ROOT / room, package / room, ignore=ignored)
    (folder / "sitecustomize.py").write_text(NO_CHECKOUT)
    return folder


def run(core: Path, *arguments: str, cwd: Path) -> str:
    """Run Python with the copy before the checkout; return what it printed."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(core)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow
def test_commands_are_listed_and_the_demo_decides(core: Path, tmp_path: Path) -> None:
    """The first screen names no plug-in, and the main job runs to its decision."""
    where = run(core, "-c", "import judgewright; print(judgewright.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(core)
    first_screen = run(core, "-m", "judgewright", "--help", cwd=tmp_path)
    assert "optimize" in first_screen
    assert "Plug-ins" not in first_screen
    assert "accepted" in run(core, "-m", "judgewright", "demo", "--dir", "demo", cwd=tmp_path)


@pytest.mark.slow
def test_the_tests_of_the_core_pass(core: Path) -> None:
    """Those of the command line, the page, the gate and the optimizer, on the copy."""
    few = (
        *("tests/judges/test_judge.py", "tests/slices/test_find.py", "tests/optimize/test_loop.py"),
        *("tests/runs/test_bench.py", "tests/runs/test_gate.py", "tests/runs/test_optimize.py"),
    )
    package = core / "judgewright"
    run(core, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *few, cwd=package)
