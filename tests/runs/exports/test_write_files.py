"""Where an export is put: whole, and over nothing but an earlier export."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from judgewright.judges import InputError
from judgewright.runs.cli import cli
from judgewright.runs.exports import put_files, text_digest

NAME = "manifest.json"


def export(out: Path, text: str, *, force: bool = False) -> None:
    """Put an export of two files and its manifest into a folder."""
    files = {"judge.py": text, "parts/criteria.txt": f"criteria of {text}"}
    digests = {name: text_digest(content) for name, content in files.items()}
    manifest = orjson.dumps(
        {"schema_version": 1, "target": "t", "judge": {}, "files": digests}
    ).decode()
    put_files({**files, NAME: manifest}, out, NAME, force=force)


def tree(folder: Path) -> dict[str, str]:
    """Return every file below a folder with its text."""
    return {
        str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()
    }


def test_an_earlier_export_is_overwritten(tmp_path: Path) -> None:
    """Its files are known by its manifest; what else lies there stays."""
    export(tmp_path / "out", "one")
    (tmp_path / "out" / "mine.txt").write_text("mine")
    export(tmp_path / "out", "two")
    written = tree(tmp_path / "out")
    assert written.keys() == {"judge.py", "parts/criteria.txt", NAME, "mine.txt"}
    assert (written["judge.py"], written["mine.txt"]) == ("two", "mine")
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("name", ["judge.py", "parts/criteria.txt", NAME])
def test_a_file_of_the_users_is_not_overwritten(tmp_path: Path, name: str) -> None:
    """It is named, nothing else is written either, and `force` overwrites it."""
    place = tmp_path / "out" / name
    place.parent.mkdir(parents=True)
    place.write_text('{"name": "my web app"}')
    with pytest.raises(InputError, match=name) as caught:
        export(tmp_path / "out", "one")
    assert "--force" in str(caught.value.hint)
    assert tree(tmp_path / "out") == {name: '{"name": "my web app"}'}
    export(tmp_path / "out", "one", force=True)
    assert len(tree(tmp_path / "out")) == 3


def test_an_export_that_was_edited_is_not_overwritten(tmp_path: Path) -> None:
    """The edit may be a day's work."""
    export(tmp_path / "out", "one")
    (tmp_path / "out" / "judge.py").write_text("one, edited")
    with pytest.raises(InputError, match=r"judge\.py is there already"):
        export(tmp_path / "out", "two")
    assert tree(tmp_path / "out")["judge.py"] == "one, edited"


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    """Whatever it points to."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "judge.py").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"judge\.py"):
        export(tmp_path / "out", "one")
    export(tmp_path / "out", "one", force=True)
    assert not (tmp_path / "elsewhere").exists()


KILLED = """
import os, signal, sys
from pathlib import Path
from judgewright.runs.exports import put_files
flush, flushed = os.fsync, []
def killed(file):
    flush(file)
    flushed.append(file)
    if len(flushed) == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
os.fsync = killed
put_files({"judge.py": "two", "manifest.json": sys.argv[3]}, Path(sys.argv[1]), "manifest.json", force=False)
"""  # noqa: E501


@pytest.mark.skipif(os.name != "posix", reason="kills itself with a signal")
@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize("earlier", [False, True])
def test_what_a_killed_export_leaves_the_next_one_repairs(
    tmp_path: Path, earlier: bool, at: int
) -> None:
    """Each file is as it was or new, and the next export, of another process, takes the place and
    removes the draft.
    """
    out = tmp_path / "somewhere" / "out"
    digests = {"judge.py": text_digest("two")}
    body = {"schema_version": 1, "target": "t", "judge": {}, "files": digests}
    manifest = orjson.dumps(body).decode()

    def export_until(write: int) -> int:
        command = [sys.executable, "-c", KILLED, str(out), str(write), manifest]
        return subprocess.run(command, check=False).returncode

    if earlier:
        export(out, "one")
    assert export_until(at) == (-signal.SIGKILL if at < 3 else 0)
    texts = {name: text for name, text in tree(out).items() if ".tmp" not in name}
    assert texts.get("judge.py") in (("one", "two") if earlier else (None, "two"))
    assert export_until(3) == 0
    assert tree(out).keys() - {"parts/criteria.txt"} == {"judge.py", NAME}
    assert (tree(out)["judge.py"], tree(out)[NAME]) == ("two", manifest)


def test_the_command_says_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of one's own beside, a first and a second export, and --force."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "groundedness.json").write_text("my notes")
    command = ["export", "groundedness", "--to", "jinja", "--out", "groundedness.json"]
    refused = CliRunner().invoke(cli, command)
    assert isinstance(refused.exception, InputError)
    assert "groundedness.json is there already" in str(refused.exception)
    assert (tmp_path / "groundedness.json").read_text() == "my notes"
    assert CliRunner().invoke(cli, [*command, "--force"]).exit_code == 0
    assert CliRunner().invoke(cli, command).exit_code == 0
    assert not [p.name for p in tmp_path.iterdir() if "tmp" in p.name]
