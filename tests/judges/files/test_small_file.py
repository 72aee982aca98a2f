"""Files that a person writes are read whole, so they must be files and have an end."""

import os
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from judgewright.judges import InputError, JudgewrightError
from judgewright.judges.files import Problems, read_records, read_small, read_small_text
from judgewright.runs.cli import cli


@pytest.fixture(params=["pipe", "socket", "folder", "/dev/zero", "/dev/urandom"])
def endless(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Something that is no file, under a name that ends as data do where it has a name of ours."""
    if request.param.startswith("/"):
        if not Path(request.param).exists():
            pytest.skip(f"no {request.param} here")
        place = tmp_path / "rows.jsonl"
        place.symlink_to(request.param)
        return place
    place = tmp_path / "rows.jsonl"
    if request.param == "folder":
        place.mkdir()
    elif os.name != "posix":
        pytest.skip("pipes and sockets have names on POSIX")
    elif request.param == "pipe":
        os.mkfifo(place)
    else:
        with socket.socket(socket.AF_UNIX) as listening:
            monkeypatch.chdir(tmp_path)  # the path of a socket may have a hundred characters
            listening.bind("rows.jsonl")
    return place


def test_what_is_no_file_is_refused_in_a_line(endless: Path) -> None:
    """As rows and as a small file; nothing is waited for."""
    with pytest.raises(JudgewrightError, match=r"regular file|folder"):
        list(read_records(endless, Problems(endless)))
    with pytest.raises(InputError, match="regular file"):
        read_small(endless)


def test_a_small_file_has_a_limit(tmp_path: Path) -> None:
    """It is said."""
    (tmp_path / "judge.yaml").write_text("x" * 11)
    assert read_small(tmp_path / "judge.yaml", limit=11) == b"x" * 11
    with pytest.raises(InputError, match="more than 10 bytes"):
        read_small(tmp_path / "judge.yaml", limit=10)


def test_line_ends_and_a_byte_order_mark_are_no_content(tmp_path: Path) -> None:
    """As a file that is opened as text is read."""
    (tmp_path / "judge.yaml").write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\rc: 3\n")
    assert read_small_text(tmp_path / "judge.yaml") == "a: 1\nb: 2\nc: 3\n"


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero here")
def test_the_commands_refuse_a_device(tmp_path: Path) -> None:
    """`judges show /dev/zero` read until memory ended."""
    for command in (
        ["judges", "show", "/dev/zero"],
        ["bench", "/dev/zero", "rows.jsonl", "--model", "simulated"],
    ):
        result = CliRunner().invoke(cli, [*command, "--workspace", str(tmp_path)])
        assert result.exit_code != 0
        assert "regular file" in str(result.exception) or "regular file" in result.output
