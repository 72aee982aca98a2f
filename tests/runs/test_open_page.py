"""`judgewright` alone: the page in the browser at a terminal, the help in a pipe."""

import os
import pty
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

from judgewright.runs.config.environment import has_browser

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
PORT = 8377
START = "from judgewright.runs.cli import main; main()"
SCREENS = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")


@contextmanager
def at_a_terminal(folder: Path, variables: Mapping[str, str]) -> Iterator[Iterator[str]]:
    """Type the bare command in a folder, and yield the lines that it prints."""
    ours, theirs = pty.openpty()
    usual = {name: value for name, value in os.environ.items() if name not in SCREENS}
    command = [sys.executable, "-c", START]
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, cwd=folder, env={**usual, **variables}
    ) as typed:
        os.close(theirs)
        try:
            with open(ours, encoding="utf-8", closefd=True) as printed:
                yield (line.rstrip("\n") for line in printed)
        finally:
            typed.send_signal(signal.SIGINT)
            typed.wait(600)
    assert typed.returncode == 0


def link_in(lines: Iterator[str]) -> tuple[str, list[str]]:
    """Return the link, and the lines above it."""
    above: list[str] = []
    for line in lines:
        if line.startswith("http"):
            return line, above
        above.append(line)
    raise AssertionError(above)


def opened(link: str) -> str:
    """Follow a link as a browser of its own; return the page."""
    with build_opener(HTTPCookieProcessor(CookieJar())).open(link) as answer:
        return answer.read().decode()


def test_in_a_pipe_the_help_is_printed_and_nothing_is_served(tmp_path: Path) -> None:
    """Exit 0: a build that types it goes on."""
    command = [sys.executable, "-c", START]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, input="")
    assert (told.returncode, told.stderr) == (0, "")
    assert "Commands:" in told.stdout
    assert "Begin:      judgewright" in told.stdout
    assert list(tmp_path.iterdir()) == []


def test_at_a_terminal_without_a_browser_the_address_is_said(tmp_path: Path) -> None:
    """With what to type on another machine; the workspace is empty and nothing is made in it."""
    with at_a_terminal(tmp_path, {}) as lines:
        link, above = link_in(lines)
        shown = opened(link)
    assert str(tmp_path) in above[0]
    assert "open this link" in above[0]
    assert "ssh -L" in above[1]
    assert "Measure my judge" in shown
    assert list(tmp_path.iterdir()) == []


def test_a_browser_is_opened_by_a_link_that_works_once(tmp_path: Path) -> None:
    """Whoever reads it in the list of processes comes too late; the printed one goes on working.

    Where another page has the port, a free one is taken.
    """
    seen = tmp_path / "seen"
    os.mkfifo(seen)
    browser = tmp_path / "browser.py"
    browser.write_text("import sys, pathlib; pathlib.Path(sys.argv[1]).write_text(sys.argv[2])")
    variables = {"BROWSER": f"{sys.executable} {browser} {seen} %s"}
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            other.bind(("127.0.0.1", PORT))
            other.listen()
        except OSError:
            pass  # another page has it already
        with at_a_terminal(tmp_path, variables) as lines:
            link, above = link_in(lines)
            given = seen.read_text()
            assert given != link
            assert given.partition("=")[0] == link.partition("=")[0]
            assert f":{PORT}/" not in link
            assert "Measure my judge" in opened(given)
            with pytest.raises(HTTPError, match="403"):
                opened(given)
            assert "Measure my judge" in opened(link)
            assert "Measure my judge" in opened(link)
    assert "opens in your browser" in above[0]


@pytest.mark.parametrize(
    ("platform", "variables", "there"),
    [
        ("linux", {}, False),
        ("linux", {"DISPLAY": ":0"}, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True),
        ("linux", {"DISPLAY": ""}, False),
        ("linux", {"BROWSER": "firefox"}, True),
        ("darwin", {}, True),
        ("darwin", {"SSH_CONNECTION": "1 2 3 4"}, False),
        ("win32", {}, True),
    ],
)
def test_a_browser_is_there_where_there_is_a_screen(
    platform: str, variables: Mapping[str, str], there: bool
) -> None:
    """Text browsers, which would take the terminal, are not opened."""
    assert has_browser(variables, platform) is there
