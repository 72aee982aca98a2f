"""A person's way through the page, in a real browser: open the link, read, untick, accept, find it
on the shelf.
"""

import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from judgewright.runs.actions import read_optimization
from judgewright.runs.store import HoldoutLedger, RunJournal, Workspace, list_runs

from .conftest import GOOD, HARMFUL, Made

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
SERVE = "from judgewright.runs.commands.review import review; review()"
PATIENCE = 240_000
"""Milliseconds: the gate judges a holdout on a machine that may be busy."""


@contextmanager
def serving(root: Path) -> Iterator[str]:
    """Serve a workspace with the command, and yield the link that it prints."""
    command = [sys.executable, "-c", SERVE, "--port", "0", "--workspace", str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:  # a test that fails must not wait for a server that goes on
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=600)
        assert server.returncode == 0


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


def test_a_harmful_hunk_is_unticked_and_the_rest_goes_through_the_gate_onto_the_shelf(
    link: str, own: Made, browser: "sync_api.Browser"
) -> None:
    """Read the run, leave a hunk out by key, accept; what stands on the shelf is the very text that
    was judged.
    """
    complaints: list[str] = []
    page = open_page(browser, complaints)
    page.goto(link)
    assert "token" not in page.url
    page.click(f"text={own.run_id}")
    page.click("summary:has-text('Rows that changed sides')")
    page.wait_for_selector("details.later svg")
    assert "SIMULATED" in page.inner_text("main")
    page.click("nav >> text=Flips")
    page.wait_for_selector("article.flip")
    page.wait_for_load_state()
    assert "<script>document.title" in page.inner_text("main")
    assert page.title() == f"Run {own.run_id} · Judgewright"
    page.click("nav >> text=Review")
    page.wait_for_url(f"**/{own.run_id}")
    for _ in range(page.locator("li.hunk").count()):
        page.keyboard.press("j")
        if HARMFUL in page.inner_text("li.hunk.selected"):
            page.keyboard.press("r")
    assert page.locator("input[name=hunk]:not(:checked)").count() == 1
    page.fill("li.hunk:has(input[name=hunk]:not(:checked)) .comment", "too strict with paraphrase")
    page.click("text=Next run from the comments")
    page.wait_for_url("**/start?*objective=too+strict+with+paraphrase.*")
    page.go_back()
    page.locator("li.hunk", has_text=HARMFUL).locator("input[name=hunk]").uncheck()
    page.fill("input[name=comment]", "lenience is not what we asked for")
    page.fill("input[name=who]", "Ada")
    page.click("text=Accept the ticked hunks")
    page.wait_for_selector("text=the gate says accepted")
    page.click("text=among the judges")
    with Workspace(own.root) as place:
        kept = place.registry.get("groundedness")
        last = list_runs(place.database)[-1]
        verdict = read_optimization(place, own.run_id).reviews[-1]
        looks = HoldoutLedger(place.database).looks(holdout(place, own))
    assert GOOD in kept.criteria
    assert HARMFUL not in kept.criteria
    assert looks[-1].look.after == kept.version == verdict.version
    assert (last.kind, last.config["question"]["after"]["version"]) == ("hunks", kept.version)
    assert verdict.who == "Ada"
    assert re.fullmatch(
        "lenience is not what we asked for(; hunk [0-9]: too strict with paraphrase)?",
        verdict.comment,
    )
    assert page.locator("li.current h3 code").inner_text() == kept.version
    assert complaints == []


def holdout(place: Workspace, own: Made) -> str:
    """Return the hash of the run's holdout."""
    events = RunJournal(place.database, own.run_id).events()
    return next(event.payload["seals"]["holdout"] for event in events if event.kind == "split")


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


def test_a_run_is_rejected_without_script(
    link: str, own: Made, browser: "sync_api.Browser"
) -> None:
    """By plain forms; that no page is wider than a narrow screen is looked at with its keys."""
    page = open_page(browser, [], java_script_enabled=False)
    page.goto(link)
    page.goto(re.sub(r"\?token=.*", f"runs/{own.run_id}", link))
    page.click("text=Reject the run")
    page.wait_for_selector("text=is rejected")
