"""Scripts run where somebody else's tool is: what they get, where they stand, and what is made of
how they end.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from judgewright.judges import InputError
from judgewright.runs.exports import SHARED_NAME, ToolScriptFailed, run_tool_script, tool_scripts

ANSWER = "import json, sys\nfrom pathlib import Path\nanswer = Path(sys.argv[-1])\n"


@pytest.fixture
def run_script(tmp_path: Path):
    """Write a Python script and run it in a folder of its own."""

    def run(code: str, *arguments: str, program: str | None = None, timeout: float = 60.0):
        script, scratch = tmp_path / "scripts/one.py", tmp_path / "scratch"
        for folder in (script.parent, scratch):
            folder.mkdir(exist_ok=True)
        script.write_text(ANSWER + code)
        return run_tool_script(program, script, arguments, scratch=scratch, timeout=timeout)

    return run


def test_an_answer_is_what_the_script_wrote(run_script, tmp_path: Path) -> None:
    """Not what it printed; it is given its arguments, stands in its own folder and waits for no
    one.
    """
    answer = "{'given': sys.argv[1:-1], 'here': str(Path.cwd()), 'typed': sys.stdin.read()}"
    found = run_script(f"print('{{}}')\nanswer.write_text(json.dumps({answer}))", "a b", "")
    assert found == {
        "given": ["a b", ""],
        "here": str((tmp_path / "scratch").resolve()),
        "typed": "",
    }


def test_what_stands_beside_a_script_is_not_imported(run_script, tmp_path: Path) -> None:
    """Scripts have the names of the tools they import."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/json.py").write_text("raise SystemExit('the script, not the tool')")
    assert run_script("answer.write_text(json.dumps({'tool': 'json'}))") == {"tool": "json"}


def test_what_the_scripts_of_a_folder_share_is_copied_along(run_script, tmp_path: Path) -> None:
    """That one file, by its name."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / SHARED_NAME).write_text("tool = 'quokka'")
    assert run_script(
        "import script_shared\nanswer.write_text(json.dumps({'tool': script_shared.tool}))"
    ) == {"tool": "quokka"}


@pytest.mark.parametrize(
    ("code", "reason", "missing"),
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
def test_a_script_without_an_answer_says_why(
    run_script, code: str, reason: str, missing: bool
) -> None:
    """The last line of its error output, and whether something is not installed."""
    with pytest.raises(ToolScriptFailed) as caught:
        run_script(code)
    assert (caught.value.reason, caught.value.missing, caught.value.program) == (
        reason,
        missing,
        sys.executable,
    )


def test_a_mountain_is_no_answer(run_script, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a tool makes of a row could be of any length."""
    monkeypatch.setattr(tool_scripts, "MAX_ANSWER_BYTES", 13)
    assert run_script("answer.write_text(json.dumps({'a': 123456}))") == {"a": 123456}
    with pytest.raises(ToolScriptFailed):
        run_script("answer.write_text(json.dumps({'a': 1234567}))")


def test_a_script_that_takes_too_long_is_ended(run_script) -> None:
    """Some tools wait for a network that is not there."""
    with pytest.raises(InputError, match=r"did not run one\.py"):
        run_script("import threading\nthreading.Event().wait()", timeout=0.5)


@pytest.mark.skipif(os.name == "nt", reason="a script is run by its first line")
def test_a_plain_name_is_no_file_of_the_folder_one_stands_in(
    run_script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plain name comes from the PATH; a path, relative or not, from where one stands."""
    program = tmp_path / "quokka"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    code = "answer.write_text(json.dumps({'ran': True}))"
    with pytest.raises(InputError, match="quokka did not run"):
        run_script(code, program="quokka")
    assert run_script(code, program="../" + tmp_path.name + "/quokka") == {"ran": True}
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert run_script(code, program="quokka") == {"ran": True}


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_module_of_node_is_run_by_node(tmp_path: Path) -> None:
    """Its answer, and a package that it lacks."""
    script = tmp_path / "one.mjs"
    (tmp_path / "scratch").mkdir()
    write = (
        "(await import('node:fs')).writeFileSync(process.argv.at(-1), JSON.stringify({ran:"
        " process.argv[2]}))"
    )
    script.write_text(write)
    assert run_tool_script(None, script, ["a"], scratch=tmp_path / "scratch", timeout=60.0) == {
        "ran": "a"
    }
    script.write_text("import 'no-such-tool'")
    with pytest.raises(ToolScriptFailed) as caught:
        run_tool_script(None, script, [], scratch=tmp_path / "scratch", timeout=60.0)
    assert caught.value.missing
