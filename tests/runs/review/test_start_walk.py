"""From an empty folder to a finished run in a real browser: upload, objective, plan, start, watch; axe on each page."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from judgewright.runs.demo import write_demo_rows
from judgewright.runs.store import Workspace, list_runs

from .test_walk import CHROMIUM, PATIENCE, browser, open_page, serving, sync_api

__all__ = ["browser"]
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="no Chromium on this machine: the browser's way is not walked")
AXE = Path(__file__).parent / "axe" / "axe.min.js"
RULES = "axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})"


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """An empty workspace folder, with a data file beside it."""
    write_demo_rows(tmp_path / "rows.jsonl", documents=45)
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def link(empty: Path) -> Iterator[str]:
    """The link that the command prints."""
    with serving(empty) as printed:
        yield printed


def findings(page: "sync_api.Page") -> list[str]:
    """Return what axe-core finds, and whether the page is wider than the window."""
    page.add_script_tag(path=AXE)
    found = [f"{one['id']}: {one['nodes'][0]['html']}" for one in page.evaluate(RULES)["violations"]]
    wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    return [*found, *([f"{wide} pixels too wide"] if wide > 0 else [])]


def test_a_run_is_started_and_watched_without_a_terminal(link: str, empty: Path, browser: "sync_api.Browser") -> None:
    """Each page on the way has no finding, narrow and dark or wide and light; a reload in the middle loses nothing."""
    complaints: list[str] = []
    # Axe is added as a script, which the page's own policy forbids.
    options = {"bypass_csp": True, "viewport": {"width": 400, "height": 800}, "color_scheme": "dark"}
    page = open_page(browser, complaints, **options)
    page.goto(link)
    found = findings(page)
    page.click("text=Start a run")
    found += findings(page)
    page.set_input_files("input[type=file]", empty.parent / "rows.jsonl")
    page.click("text=Upload and check")
    page.wait_for_selector("text=45 by group_id")
    found += findings(page)
    assert page.is_visible("label[for=objective]")
    assert page.is_hidden("footer"), "there is nothing that j and k go through"
    page.fill("#objective", "Precision matters most. Do not lose more than 20 points of recall.")
    page.wait_for_selector("text=recall may fall by at most 20 points")
    page.click("summary:has-text('More:')")
    page.fill("input[name=steps]", "1")
    page.fill("input[name=budget]", "9.00")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.emulate_media(color_scheme="light")
    page.click("text=Show the plan")
    page.wait_for_selector("#plan")
    found += findings(page)
    page.click("text=Start the run")
    page.wait_for_url("**/jobs/*")
    found += findings(page)
    page.click("text=/(Watch|See) run/")
    page.wait_for_url("**/runs/*")
    page.reload()
    found += findings(page)
    page.wait_for_selector("text=by the gate")
    page.wait_for_selector("#run-live", state="detached")
    found += findings(page)
    page.click("nav >> text=Jobs")
    page.wait_for_selector("text=/done/")
    found += findings(page)
    assert found == []
    assert complaints == []
    with Workspace(empty) as workspace:
        assert [run.state for run in list_runs(workspace.database)] == ["done"]


def test_the_same_works_from_the_keyboard_and_without_script(
    link: str, empty: Path, browser: "sync_api.Browser"
) -> None:
    """Plain forms and pages that load themselves anew; Enter presses what Tab reaches."""
    page = open_page(browser, [], java_script_enabled=False)
    page.goto(link)
    page.goto(re.sub(r"\?token=.*", "start", link))
    page.set_input_files("input[type=file]", empty.parent / "rows.jsonl")
    page.focus("text=Upload and check")
    page.keyboard.press("Enter")
    page.wait_for_selector("#objective")
    page.fill("#objective", "raise precision")
    page.focus("text=Show the plan")
    page.keyboard.press("Enter")
    page.wait_for_selector("#plan")
    page.focus("text=Only measure first")
    page.keyboard.press("Enter")
    page.wait_for_url("**/jobs/*")
    page.wait_for_selector("text=See run", timeout=PATIENCE)
