"""Labelling and marking by keys alone, in a real browser."""

import re
from collections.abc import Iterator

import pytest

from judgewright.judges.reliability import read_audit
from judgewright.runs.store import LabelStore, Workspace

from .conftest import Workbench
from .test_walk import browser, open_page, pytestmark, serving, sync_api

__all__ = ["browser", "pytestmark"]


@pytest.fixture
def link(bench_own: Workbench) -> Iterator[str]:
    """The link that the command prints."""
    with serving(bench_own.root) as printed:
        yield printed


def test_rows_are_labelled_and_marked_by_keys_alone(
    link: str, bench_own: Workbench, browser: "sync_api.Browser"
) -> None:
    """One key labels a row; a key takes it back, another skips with a reason; j and w mark a label."""
    complaints: list[str] = []
    page = open_page(browser, complaints)
    page.goto(link)
    home = page.url.rstrip("/")
    page.goto(f"{home}/label/{bench_own.queue}?annotator=ann")
    for key, said in (("y", "1 labelled"), ("n", "2 labelled"), ("u", "1 labelled"), ("n", "2 labelled")):
        page.keyboard.press(key)
        page.wait_for_selector(f"[role=status]:has-text('ann: {said}')")
    page.keyboard.press("s")
    page.keyboard.press("Enter")
    page.wait_for_selector("[role=status]:has-text('1 skipped')")
    with Workspace(bench_own.root) as place:
        records = LabelStore(place.database).records(bench_own.queue)
    assert [(one.action, one.label) for one in records] == [
        ("label", 1.0),
        ("label", 0.0),
        ("undo", None),
        ("label", 0.0),
        ("skip", None),
    ]
    assert records[1].row_id == records[3].row_id != records[0].row_id
    page.goto(f"{home}/runs/{bench_own.after}/rows")
    row = page.locator("input[name=row]").nth(1).input_value()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("w")
    page.wait_for_url(re.compile("#row-2$"))
    (path,) = (bench_own.root / "marks").glob("*.jsonl")
    assert {name: one.mark for name, one in read_audit(path).items()} == {row: "wrong label"}
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert complaints == []
