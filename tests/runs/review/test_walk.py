"""A person's way through the page, in a real browser: open the link, read, untick, accept, find it
on the shelf.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from judgewright.runs.actions import read_optimization
from judgewright.runs.store import Workspace

from .conftest import Made, serving

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="the package playwright is not installed"
)
CHROMIUM = next(
    (
        path
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (path := shutil.which(name))
    ),
    "",
)
pytestmark = pytest.mark.skipif(
    not CHROMIUM, reason="no Chromium on this machine: the browser's way is not walked"
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]
PATIENCE = 240_000
"""Milliseconds: the gate judges a holdout on a machine that may be busy."""


@pytest.fixture
def link(own: Made) -> Iterator[str]:
    """The link of a workspace with a finished run."""
    with serving(own.root) as printed:
        yield printed


@pytest.fixture(scope="module")
def browser() -> Iterator["sync_api.Browser"]:
    """Chromium without a window."""
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def open_page(
    browser: "sync_api.Browser", complaints: list[str], **options: object
) -> "sync_api.Page":
    """Open a page that writes down what the browser complains of."""
    page = browser.new_context(**options).new_page()  # type: ignore[arg-type]
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "dialog", lambda dialog: (complaints.append(f"dialog {dialog.message}"), dialog.dismiss())
    )
    page.set_default_timeout(PATIENCE)
    return page


def test_another_local_page_can_neither_read_nor_decide(
    link: str, own: Made, browser: "sync_api.Browser", tmp_path: Path
) -> None:
    """A form on another port of this machine, which is the same site and gets the cookie sent, is
    refused.
    """
    address = re.sub(r"\?token=.*", "", link)
    trap = tmp_path / "trap"
    trap.mkdir()
    button = '<button name="verb" value="reject">win</button>'
    form = f'<form method="post" action="{address}runs/{own.run_id}/decide">{button}</form>'
    (trap / "index.html").write_text(f"<title>trap</title>{form}<iframe src='{address}'></iframe>")
    serve = [
        sys.executable,
        "-u",
        "-m",
        "http.server",
        "0",
        "--bind",
        "127.0.0.1",
        "--directory",
        str(trap),
    ]
    with subprocess.Popen(
        serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as other:
        assert other.stdout is not None
        port = re.findall(r"port (\d+)", other.stdout.readline())[0]
        page = open_page(browser, [])
        page.goto(link)
        page.goto(f"http://127.0.0.1:{port}/")
        assert "Judgewright" not in "".join(frame.content() for frame in page.frames)
        page.click("text=win")
        page.wait_for_selector("text=not from another one")
        other.terminate()
    with Workspace(own.root) as place:
        assert read_optimization(place, own.run_id).reviews == ()
