"""From an empty folder to an exported prompt in a real browser; and without script."""

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from judgewright.judges import Registry
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.store import Workspace, list_runs

from .conftest import serving
from .test_walk import CHROMIUM, PATIENCE, browser, open_page, sync_api

__all__ = ["browser"]
pytestmark = pytest.mark.skipif(
    not CHROMIUM, reason="no Chromium on this machine: the browser's way is not walked"
)


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """An empty workspace folder, with data files beside it."""
    write_demo_rows(tmp_path / "rows.jsonl", documents=200)
    write_demo_rows(tmp_path / "few.jsonl", documents=45)
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def link(empty: Path) -> Iterator[str]:
    """The link that the command prints."""
    with serving(empty) as printed:
        yield printed


def start_the_run(page: "sync_api.Page") -> None:
    """Go from the filled-in form over its plan to the run's end."""
    page.click("text=Show the plan")
    page.wait_for_selector("#plan")
    page.click("text=Start the run")
    page.wait_for_url("**/jobs/*")
    page.click("text=/(Watch|See) run/")
    page.wait_for_url("**/runs/*")
    page.reload()
    page.wait_for_selector("text=by the gate")
    page.wait_for_selector("#run-live", state="detached")


@pytest.mark.slow
def test_from_an_empty_folder_to_an_exported_prompt_without_a_terminal(
    link: str, empty: Path, browser: "sync_api.Browser"
) -> None:
    """File, objective, plan, run watched, a hunk commented, the next run from that, accept,
    download.
    """
    complaints: list[str] = []
    page = open_page(browser, complaints, viewport={"width": 400, "height": 800})
    page.goto(link)
    page.click("a:text-is('Improve my judge')")
    page.wait_for_selector("input[type=file]")
    page.set_input_files("input[type=file]", empty.parent / "rows.jsonl")
    page.click("text=Upload and check")
    page.wait_for_selector("text=200 by group_id")
    assert page.is_visible("label[for=objective]")
    assert page.is_hidden("footer"), "there is nothing that j and k go through"
    page.fill("#objective", "Precision matters most. Do not lose more than 20 points of recall.")
    page.wait_for_selector("text=Let the model read it")
    page.select_option("select[name=target]", "precision")
    page.fill("textarea[name=guards]", "recall=0.2")
    page.wait_for_selector("text=recall may fall by at most 20 points")
    page.click("summary:has-text('More:')")
    page.fill("input[name=proposer]", "rewrite")
    page.fill("input[name=steps]", "3")
    page.fill("input[name=budget]", "9.00")
    page.set_viewport_size({"width": 1440, "height": 900})
    start_the_run(page)
    first = page.url
    hunk = page.locator("li.hunk").first
    hunk.locator("input[name=hunk]").uncheck()
    hunk.locator(".comment").fill("too strict with paraphrase")
    page.click("text=Next run from the comments")
    page.wait_for_url("**/start?*objective=too+strict+with+paraphrase.*")
    page.wait_for_selector("text=recall may fall by at most 20 points")
    page.click("summary:has-text('More:')")
    assert page.input_value("input[name=proposer]") == "rewrite"
    page.fill("input[name=steps]", "3")
    start_the_run(page)
    assert page.url != first
    page.click("text=Accept the ticked hunks")
    page.wait_for_selector("text=is now what")
    page.click("text=among the judges")
    page.click("text=Hand it over")
    page.wait_for_selector("text=Choose where it goes")
    page.click("text=jinja")
    page.wait_for_selector("text=Take it")
    with page.expect_download() as download:
        page.click("text=Download")
    with zipfile.ZipFile(download.value.path()) as archive:
        manifest = json.loads(
            archive.read(next(name for name in archive.namelist() if "manifest" in name))
        )
    page.click("nav >> text=Jobs")
    page.wait_for_selector("text=/done/")
    assert complaints == []
    with Workspace(empty) as workspace:
        assert [(run.kind, run.state) for run in list_runs(workspace.database)] == [
            ("optimize", "done")
        ] * 2
        kept = workspace.registry.get("groundedness")
    assert kept.version != Registry().get("groundedness").version
    assert kept.version in json.dumps(manifest)


@pytest.mark.slow
def test_the_same_works_from_the_keyboard_and_without_script(
    link: str, empty: Path, browser: "sync_api.Browser"
) -> None:
    """Plain forms and pages that load themselves anew; Enter presses what Tab reaches."""
    page = open_page(browser, [], java_script_enabled=False)
    page.goto(link)
    page.goto(re.sub(r"\?token=.*", "start?way=improve", link))
    page.set_input_files("input[type=file]", empty.parent / "few.jsonl")
    page.focus("text=Upload and check")
    page.keyboard.press("Enter")
    page.wait_for_selector("#objective")
    page.fill("#objective", "raise precision")
    page.focus("input[name=other]")
    page.keyboard.press("Enter")
    page.wait_for_selector("#plan")
    page.focus("text=Only measure first")
    page.keyboard.press("Enter")
    page.wait_for_url("**/jobs/*")
    page.wait_for_selector("text=See run", timeout=PATIENCE)


@pytest.mark.slow
def test_the_first_own_figure_takes_a_file_and_two_keys(
    link: str, empty: Path, browser: "sync_api.Browser"
) -> None:
    """By Tab and Enter alone, from the first page over the model's test to the figures; what is
    typed as another model is the model that is chosen.
    """
    complaints: list[str] = []
    page = open_page(browser, complaints, viewport={"width": 400, "height": 800})
    page.goto(link)
    page.focus("a:text-is('Measure my judge')")
    page.keyboard.press("Enter")
    page.wait_for_selector("input[type=file]")
    page.set_input_files("input[type=file]", empty.parent / "few.jsonl")
    page.focus("text=Upload and check")
    page.keyboard.press("Enter")
    page.wait_for_selector("#model-card >> text=Made up.")
    page.focus("text=Test it with one call")
    page.keyboard.press("Enter")
    page.wait_for_selector("#model-card >> text=It answered after")
    page.fill("input[name=other]", "m@http://127.0.0.1:9/v1")
    page.wait_for_selector("#model-card >> text=Its price is not known")
    assert page.input_value("select[name=model]") == "other"
    page.select_option("select[name=model]", "simulated")
    page.wait_for_selector("#model-card >> text=Made up.")
    page.focus("button:text-is('Measure')")
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/*", timeout=PATIENCE)
    assert "SIMULATED" in page.inner_text("header")
    assert complaints == []
