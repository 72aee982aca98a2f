"""`make demo` and `make test` say what they install and how far they are."""

import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / ".ci" / "install.py"
PIP = [
    *(f"Collecting package-{i}>=1 (from judgewright==0.1.0)" for i in range(60)),
    "  Downloading package_1-1.0-py3-none-any.whl.metadata (5.4 kB)",
    "Downloading pyarrow-25.0.0-cp311-cp311-manylinux_2_28_x86_64.whl (55.0 MB)",
    "Downloading small-1.0-py3-none-any.whl (1.2 MB)",
    "Installing collected packages: package-1, pyarrow, small",
    "Successfully installed package-1-1.0 pyarrow-25.0.0 small-1.0",
]
"""What pip prints."""


def test_an_install_shows_a_sign_of_life_and_not_hundreds_of_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Packages counted now and then, each large download, and the long silence at the end."""
    tell = runpy.run_path(str(SCRIPT))["tell"]
    seen = 0
    for line in PIP:
        seen = tell(line.strip(), seen)
    assert capsys.readouterr().out.splitlines() == [
        "  25 packages looked up ...",
        "  50 packages looked up ...",
        "  downloading pyarrow, 55.0 MB ...",
        "  unpacking 3 packages; this takes a minute or two ...",
    ]


def test_an_install_that_fails_says_why_and_leaves_so(tmp_path: Path) -> None:
    """pip's own words come through, and make stops."""
    command = [
        sys.executable,
        str(SCRIPT),
        "--no-index",
        "--target",
        str(tmp_path),
        "no-such-package-of-anyones",
    ]
    failed = subprocess.run(command, capture_output=True, text=True)
    assert failed.returncode == 1
    assert "no-such-package-of-anyones" in failed.stderr


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
def test_both_commands_say_what_is_installed_and_how_long_it_takes() -> None:
    """Before the first package is asked for."""
    for target in (".user", ".dev"):
        output = subprocess.run(
            ["make", "-n", "-W", "pyproject.toml", f".venv/{target}"],
            cwd=ROOT,
            capture_output=True,
            text=True,
        ).stdout
        assert output.index("1 GB on disk, once; two to ten minutes") < output.index("install")


def test_an_index_is_told_what_it_shows() -> None:
    """Name, sentence, README, licence, words to be found by; the files that are named are there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {"description", "readme", "license", "keywords", "classifiers"} <= set(project)
    for name in (project["readme"], *project["license-files"]):
        assert (ROOT / name).is_file()
    assert len(set(project["keywords"])) == len(project["keywords"]) >= 5
    groups = {one.partition(" :: ")[0] for one in project["classifiers"]}
    assert {"Development Status", "Intended Audience", "Programming Language", "Topic"} <= groups
    assert "License" not in groups, "an index refuses it beside `license`"


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
def test_what_goes_to_an_index_is_checked_as_the_index_does() -> None:
    """By twine, with whatever it would only warn of."""
    told = subprocess.run(
        ["make", "-n", "index"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert told.index("-m build") < told.index("twine check --strict dist/*")
