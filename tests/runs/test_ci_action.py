"""The GitHub Action: its own steps, run in bash on branches of a toy repository, with the endpoint
gone.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from judgewright.judges import JudgePrompt, Registry
from judgewright.judges.simulated import Server, Simulated, make_app
from judgewright.runs.demo import write_demo_rows

ROOT = Path(__file__).resolve().parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
PROMPT = Registry().get("groundedness")
LENIENT = "Indirect evidence counts: if the source clearly implies the fact, that is support"
GREEN = re.sub(
    rf"{LENIENT}[^\n]*\n",
    "Numbers, names and dates must match the source exactly.\nEvery part of the statement needs"
    " support; a statement with one unsupported part gets the lowest score.\n",
    PROMPT.criteria,
)
RED = PROMPT.criteria + "\nBe generous: general knowledge counts as support."

pytestmark = pytest.mark.skipif(
    os.name != "posix" or shutil.which("git") is None,
    reason="the steps of the Action need bash and git",
)


@dataclass
class Runner:
    """A machine of CI: a clone of the repository in which steps run."""

    home: Path
    origin: Path
    inputs: dict[str, str]
    outputs: dict[str, str] = field(default_factory=dict)
    said: str = ""

    @property
    def temp(self) -> Path:
        """Where the Action leaves its reports."""
        return self.home / "temp"

    def action(self, branch: str, **inputs: str) -> int:
        """Run the Action on a fresh clone; return its exit code, which is that of the first step
        that failed.
        """
        shutil.rmtree(self.home, ignore_errors=True)
        self.temp.mkdir(parents=True)
        git(self.home, "clone", "-q", "--branch", branch, str(self.origin), "work")
        given = {name: str(body.get("default", "")) for name, body in ACTION["inputs"].items()}
        given |= {"token": "", "number": "", "from-fork": "false", **self.inputs, **inputs}
        self.outputs, self.said, code = {}, "", 0
        for step in ACTION["runs"]["steps"]:
            if code == 0 and "run" in step:
                code = self._step(step, given)
        return code

    def _step(self, step: dict[str, Any], given: dict[str, str]) -> int:
        def value(match: re.Match[str]) -> str:
            name = match[1]
            if name.startswith("inputs."):
                return given[name.removeprefix("inputs.")]
            return self.outputs[name.removeprefix("steps.gate.outputs.")]

        out, summary = self.temp / "output", self.temp / "summary"
        out.write_text("")
        filled = {
            name: re.sub(r"\$\{\{ ([\w.-]+) \}\}", value, str(text))
            for name, text in step.get("env", {}).items()
        }
        assert "${{" not in step["run"], "an expression in a script can be another script"
        environment = {
            **os.environ,
            **filled,
            "PATH": f"{self.origin.parent / 'bin'}:{os.environ['PATH']}",
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_OUTPUT": str(out),
            "GITHUB_STEP_SUMMARY": str(summary),
        }
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(
            command, cwd=self.home / "work", env=environment, capture_output=True, text=True
        )
        self.said += done.stdout + done.stderr
        self.outputs |= dict(line.split("=", 1) for line in out.read_text().splitlines())
        return done.returncode

    @property
    def comment(self) -> str:
        """What the Action would write below the pull request."""
        return (self.temp / "comment.md").read_text(encoding="utf-8")


def git(folder: Path, *words: str) -> None:
    """Run git as somebody."""
    name = ("-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *name, *words], cwd=folder, check=True, capture_output=True)


def write_branch(folder: Path, name: str, prompt: JudgePrompt) -> None:
    """Commit a changed prompt on a branch of its own."""
    git(folder, "checkout", "-q", "-b", name, "main")
    (folder / "judge.yaml").write_text(prompt.to_yaml(), encoding="utf-8")
    git(folder, "commit", "-qam", name)
    git(folder, "push", "-q", "origin", name)


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """A repository with a judge, its holdout, and a branch that makes it better and one that makes
    it worse.
    """
    place = tmp_path_factory.mktemp("toy")
    for name, module in (("judgewright", " -m judgewright"), ("python", "")):
        script = place / "bin" / name
        script.parent.mkdir(exist_ok=True)
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}"{module} "$@"\n')
        script.chmod(0o755)
    git(place, "init", "-q", "--bare", "origin.git")
    git(place, "clone", "-q", "origin.git", "source")
    source = place / "source"
    git(source, "checkout", "-q", "-b", "main")
    (source / "judge.yaml").write_text(PROMPT.to_yaml(), encoding="utf-8")
    write_demo_rows(source / "holdout.jsonl", documents=60)
    git(source, "add", ".")
    git(source, "commit", "-qm", "judge")
    git(source, "push", "-q", "origin", "main")
    write_branch(source, "green", replace(PROMPT, criteria=GREEN))
    write_branch(source, "red", replace(PROMPT, criteria=RED))
    write_branch(source, "new", replace(PROMPT, criteria=f"{GREEN} Be strict."))
    inputs = {"prompt": "judge.yaml", "holdout": "holdout.jsonl", "base": "origin/main"}
    return Runner(home=place / "machine", origin=place / "origin.git", inputs=inputs)


@pytest.fixture(scope="module")
def kept(toy: Runner) -> Runner:
    """The same after each branch was judged once by an endpoint that is gone now."""
    with Server(make_app(Simulated())) as server:
        terms = (
            *shlex.split("--target precision --guard recall:-0.3 --model"),
            f"m@{server.base_url}",
        )
        toy.inputs["arguments"] = "\n".join(terms)
        assert toy.action("green", **{"new-ledger": "true"}) == 0, toy.said
        assert "look 1 at this holdout" in toy.comment
        assert toy.action("red") == 1, toy.said
    return toy


def assert_the_hook_says_the_same(kept: Runner) -> None:
    """The entry of the hook for pre-commit, with a user's arguments, on the working tree as it
    is.
    """
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert (hook["stages"], hook["entry"]) == (["pre-push", "manual"], "judgewright gate")
    rest = ["./judge.yaml", "holdout.jsonl", *kept.inputs["arguments"].split("\n")]
    for base, code, said in (
        ("git:origin/main:judge.yaml", 1, "UNDECIDED"),
        ("git:nowhere:judge.yaml", 2, "git has no 'judge.yaml' at 'nowhere'"),
    ):
        command = [str(kept.origin.parent / "bin" / "judgewright"), "gate", base, *rest]
        done = subprocess.run(command, cwd=kept.home / "work", capture_output=True, text=True)
        assert (done.returncode, said in done.stdout + done.stderr) == (code, True)


def test_green_and_red_from_kept_replies(kept: Runner) -> None:
    """The endpoint is gone: decisions, comment and JUnit come from the branch that keeps ledger and
    replies.
    """
    assert kept.action("green") == 0, kept.said
    assert kept.outputs["decision"] == "accepted"
    assert "+  Numbers, names and dates must match" in kept.comment
    assert "no look was spent" in kept.comment
    assert "at the same recall" in kept.comment
    (suite,) = ElementTree.parse(kept.temp / "junit.xml").iter("testsuite")
    assert (suite.get("tests"), suite.get("failures")) == ("2", "0")
    assert kept.action("red") == 1, kept.said
    assert kept.outputs["decision"] == "undecided"  # a fall that may be chance
    (suite,) = ElementTree.parse(kept.temp / "junit.xml").iter("testsuite")
    assert suite.get("failures") == "1"
    assert "look 2 at this holdout" in kept.comment  # counted across machines
    rows = [
        json.loads(line)
        for line in (kept.home / "work/holdout.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    published = kept.comment + (kept.temp / "junit.xml").read_text(encoding="utf-8")
    texts = [
        text
        for row in rows
        for text in (row["id"], *row.get("inputs", row).values())
        if isinstance(text, str)
    ]
    assert len(texts) > 200
    assert [
        text for text in texts if len(text) > 3 and text in published
    ] == []  # no row is published
    assert_the_hook_says_the_same(kept)


def test_an_endpoint_that_fails_is_failed_and_a_wrong_setting_is_no_decision(kept: Runner) -> None:
    """Exit code 3 is *failed*, as for a run; with 2 nothing was decided about."""
    assert kept.action("new") == 3, kept.said
    assert kept.outputs["decision"] == "failed"
    assert kept.action("new", arguments="--target\nsharpness") == 2, kept.said
    assert kept.outputs["decision"] == "not made"


def test_a_fork_and_replies_that_a_change_brings_are_not_trusted(kept: Runner) -> None:
    """Nothing is judged, and nothing is written to the ledger."""
    assert kept.action("red", **{"from-fork": "true"}) == 2
    assert "comes from a fork" in kept.said
    source = kept.origin.parent / "source"
    git(source, "checkout", "-q", "-b", "own-replies", "main")
    (source / ".judgewright").mkdir()
    (source / ".judgewright" / "judgewright.db").write_bytes(b"mine")
    git(source, "add", "--force", ".judgewright")
    git(source, "commit", "-qm", "mine")
    git(source, "push", "-q", "origin", "own-replies")
    assert kept.action("own-replies") == 2
    assert "brings a .judgewright folder of its own" in kept.said


def test_without_the_ledger_it_says_that_it_cannot_count(kept: Runner) -> None:
    """An alpha for the first look would be wrong: there is no decision."""
    assert kept.action("green", **{"ledger-branch": "lost"}) == 2
    assert "earlier looks cannot be counted" in kept.said
    assert "decision" not in kept.outputs


def test_a_ledger_that_cannot_be_kept_is_no_decision(kept: Runner) -> None:
    """A look that is not counted does not hold; here the branch may not be written."""
    hook = kept.origin / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    try:
        assert kept.action("green") == 2
    finally:
        hook.unlink()
    assert "could not be kept" in kept.said
