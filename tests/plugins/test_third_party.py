"""Somebody else's plug-in: one small package that brings a proposer, a target and a command."""

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from judgewright.runs.demo import write_demo_rows

INFO = {
    "METADATA": "Metadata-Version: 2.1\nName: loud-judge\nVersion: 1.0\n",
    "WHEEL": "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "entry_points.txt": "[judgewright.plugins]\nloud = loud_judge:PLUGIN\n",
}
"""What a wheel says about its package."""
MODULE = '''\
"""A plug-in in one file."""

from dataclasses import dataclass, replace

import click

from judgewright.optimize.proposers import Proposal
from judgewright.runs.exports.target import ExportedFiles, Target
from judgewright.runs.plugins import Plugin

SENTENCE = "A statement that adds a number the source does not have is not supported."


@dataclass(frozen=True)
class AddsASentence:
    """Adds one sentence to the criteria, whatever the errors are."""

    name: str = "sentence"
    parts: tuple[str, ...] = ("criteria",)

    def propose(self, prompt, brief, bench, *, step):
        new = prompt.edited(criteria=f"{prompt.criteria}\\n{SENTENCE}")
        return Proposal(prompt=replace(new, note="by hand"), gradient="it lacks a sentence")


def open_proposer(config):
    return AddsASentence()


def write_loud(context):
    text = context.prompt.criteria.upper()
    return ExportedFiles(files={"loud.txt": text}, calibrated=False, usage="cat loud.txt")


TARGET = Target(name="loud", tool="loud", write=write_loud)


@click.command()
def loud():
    """Say it loudly."""
    click.echo("LOUD")


PLUGIN = Plugin(
    name="loud",
    summary="Says it loudly.",
    commands={"loud": "loud_judge:loud"},
    proposers={"sentence": "loud_judge:open_proposer"},
    targets={"loud": "loud_judge:TARGET"},
)
'''


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python of its own that has what this one has, and the plug-in, installed by pip."""
    folder = tmp_path_factory.mktemp("third_party")
    wheel = folder / "loud_judge-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("loud_judge.py", MODULE)
        for name, text in INFO.items():
            archive.writestr(f"loud_judge-1.0.dist-info/{name}", text)
        archive.writestr("loud_judge-1.0.dist-info/RECORD", "")
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    own = sysconfig.get_path("purelib", vars={"base": str(folder / "venv")})
    # The packages of this Python, its editable finder included.
    added = [f"import site; site.addsitedir({path!r})" for path in sys.path if "site-p" in path]
    Path(own, "shared.pth").write_text("\n".join(added))
    install = (python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", str(wheel))
    subprocess.run(install, check=True)
    return python


def run(python: Path, folder: Path, *words: str) -> str:
    """Run the command line of that Python; return what it printed."""
    done = subprocess.run(
        [python, "-m", "judgewright", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1, 4), done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_plugin_of_another_package_works(python: Path, tmp_path: Path) -> None:
    """Its command is listed and runs, its target exports, and its proposer's run is recorded."""
    assert "Says it loudly." in run(python, tmp_path, "--help")
    assert run(python, tmp_path, "loud") == "LOUD\n"
    run(python, tmp_path, "export", "groundedness", "--to", "loud", "--out", "shouted")
    assert "SOURCE" in (tmp_path / "shouted" / "loud.txt").read_text()
    write_demo_rows(tmp_path / "rows.jsonl", documents=60)
    given = ("groundedness", "rows.jsonl", "--model", "simulated", "--objective", "precision")
    run(python, tmp_path, "optimize", *given, "--proposer", "sentence", "--steps", "1")
    shown = run(python, tmp_path, "runs", "show", "latest", "--json")
    assert "number the source does not have" in shown
