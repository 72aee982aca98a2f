"""Scripts run where somebody else's tool is: what they get, where they stand, and what is made of how they end."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from judgewright.judges import InputError
from judgewright.runs.exports import CheckFailed, run_check
from judgewright.runs.exports import conformance as probing

ANSWER = "import json, sys\nfrom pathlib import Path\nanswer = Path(sys.argv[-1])\n"


@pytest.fixture
def probe(tmp_path: Path):
    """Write a Python probe and run it in a folder of its own."""

    def run(code: str, *arguments: str, program: str | None = None, timeout: float = 60.0):
        script, scratch = tmp_path / "probes/one.py", tmp_path / "scratch"
        for folder in (script.parent, scratch):
            folder.mkdir(exist_ok=True)
        script.write_text(ANSWER + code)
        return run_check(program, script, arguments, scratch=scratch, timeout=timeout)

    return run


def test_an_answer_is_what_the_probe_wrote(probe, tmp_path: Path) -> None:
    """Not what it printed; it is given its arguments, stands in its own folder and waits for no one."""
    told = "{'given': sys.argv[1:-1], 'here': str(Path.cwd()), 'typed': sys.stdin.read()}"
    found = probe(f"print('{{}}')\nanswer.write_text(json.dumps({told}))", "a b", "")
    assert found == {"given": ["a b", ""], "here": str((tmp_path / "scratch").resolve()), "typed": ""}


def test_what_stands_beside_a_probe_is_not_imported(probe, tmp_path: Path) -> None:
    """Probes have the names of the tools they import."""
    (tmp_path / "probes").mkdir()
    (tmp_path / "probes/json.py").write_text("raise SystemExit('the probe, not the tool')")
    assert probe("answer.write_text(json.dumps({'tool': 'json'}))") == {"tool": "json"}


@pytest.mark.parametrize(
    ("code", "said", "missing"),
    [
        ("import no_such_tool", "ModuleNotFoundError: No module named 'no_such_tool'", True),
        ("sys.exit('first\\nthe grade is 3')", "the grade is 3", False),
        ("sys.stderr.write('y' * 1_000_000)\nsys.exit(1)", "y" * 500, False),
        ("", "it said nothing", False),
        ("answer.write_text('{')", "it said nothing", False),
        ("answer.write_text('[]')", "it said nothing", False),
        ("answer.write_text('{}')\nsys.exit('changed its mind')", "changed its mind", False),
    ],
)
def test_a_probe_without_an_answer_says_why(probe, code: str, said: str, missing: bool) -> None:
    """The last line of its complaint, and whether something is not installed."""
    with pytest.raises(CheckFailed) as told:
        probe(code)
    assert (told.value.said, told.value.missing, told.value.program) == (said, missing, sys.executable)


def test_a_mountain_is_no_answer(probe, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a tool makes of a row could be of any length."""
    monkeypatch.setattr(probing, "MOST_ANSWER", 13)
    assert probe("answer.write_text(json.dumps({'a': 123456}))") == {"a": 123456}
    with pytest.raises(CheckFailed):
        probe("answer.write_text(json.dumps({'a': 1234567}))")


def test_a_probe_that_takes_too_long_is_ended(probe) -> None:
    """Some tools wait for a network that is not there."""
    with pytest.raises(InputError, match=r"did not run the probe one\.py"):
        probe("import threading\nthreading.Event().wait()", timeout=0.5)


@pytest.mark.skipif(os.name == "nt", reason="a script is run by its first line")
def test_a_plain_name_is_no_file_of_the_folder_one_stands_in(
    probe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plain name comes from the PATH; a path, relative or not, from where one stands."""
    program = tmp_path / "quokka"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    code = "answer.write_text(json.dumps({'ran': True}))"
    with pytest.raises(InputError, match="quokka did not run"):
        probe(code, program="quokka")
    assert probe(code, program="../" + tmp_path.name + "/quokka") == {"ran": True}
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert probe(code, program="quokka") == {"ran": True}


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_module_of_node_is_run_by_node(tmp_path: Path) -> None:
    """Its answer, and a package that it lacks."""
    script = tmp_path / "one.mjs"
    (tmp_path / "scratch").mkdir()
    write = "(await import('node:fs')).writeFileSync(process.argv.at(-1), JSON.stringify({ran: process.argv[2]}))"
    script.write_text(write)
    assert run_check(None, script, ["a"], scratch=tmp_path / "scratch", timeout=60.0) == {"ran": "a"}
    script.write_text("import 'no-such-tool'")
    with pytest.raises(CheckFailed) as told:
        run_check(None, script, [], scratch=tmp_path / "scratch", timeout=60.0)
    assert told.value.missing
