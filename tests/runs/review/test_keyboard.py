"""Every action of every page by the keyboard alone: Tab reaches it, one sees where one is, and the key does it."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from urllib.parse import urlencode

import pytest

from judgewright.judges import Registry

from .conftest import Workbench, settled, visit
from .test_walk import CHROMIUM, FLAGS, open_page, serving, sync_api
from .test_workbench import post

pytestmark = pytest.mark.skipif(not CHROMIUM, reason="no Chromium on this machine: the browser's way is not walked")
START = urlencode(
    {"data": "rows.jsonl", "judge": "groundedness", "model": "simulated", "objective": "raise precision", "plan": "1"}
)
PAGES = (
    "/",
    "/runs/{run}",
    "/runs/{run}/evidence",
    "/runs/{run}/flips",
    "/runs/{after}",
    "/runs/{after}/rows?column=channel&value=print",
    "/runs/{after}/slices?column=channel",
    "/compare",
    "/compare?run={before}&run={after}",
    "/compare/flips?a={before}&b={after}",
    "/judges",
    "/judges/groundedness",
    "/judges/groundedness/diff?from={first}&to={second}",
    "/judges/groundedness/handover/{second}",
    "/judges/groundedness/handover/{second}/mlflow",
    "/judges/groundedness/handover/{second}/mlflow/push",
    "/label",
    "/label/{queue}?annotator=ann",
    "/start",
    "/start?{start}",
    "/jobs",
    "/jobs/{job}",
    "/nothing/here",
)
WANTED = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']"
HOLD_BACK = """() => {
  window.pressed = 0;
  const hold = (event) => { window.pressed += 1; event.preventDefault(); };
  window.addEventListener('click', (event) => { if (event.target.closest('a[href], [type=file]')) hold(event); });
  window.addEventListener('submit', hold);
  window.addEventListener('invalid', hold, true);
}"""
"""What a key would load or send is counted and not done, so that every element of a page is tried where it stands."""
WHERE = """() => {
  const at = document.activeElement;
  if (!at || at === document.body || at.dataset.walked) return null;
  at.dataset.walked = String(document.querySelectorAll('[data-walked]').length + 1);
  const style = getComputedStyle(at), box = at.getBoundingClientRect(), line = at.closest('[data-item]');
  const light = (css) => {
    const [r, g, b] = css.match(/[0-9.]+/g).map((part) => Number(part) / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const lights = [style.outlineColor, getComputedStyle(document.body).backgroundColor].map(light);
  const middle = (low, high, most) => (Math.max(low, 0) + Math.min(high, most)) / 2;
  const [x, y] = [middle(box.left, box.right, innerWidth), middle(box.top, box.bottom, innerHeight)];
  const seen = box.bottom > 0 && box.top < innerHeight && document.elementFromPoint(x, y);
  return {
    number: at.dataset.walked, html: at.outerHTML.slice(0, 160), tag: at.tagName.toLowerCase(), type: at.type || '',
    outlined: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2
      && Math.max(...lights) / Math.min(...lights) >= 3,
    inSight: Boolean(seen) && (at.contains(seen) || (seen.contains(at) && !seen.closest('header'))),
    again: Boolean(line && line !== line.parentElement.querySelector('[data-item]')),
    everywhere: Boolean(at.closest('nav')),
    shut: at.tagName === 'SUMMARY' && !at.parentElement.open,
  };
}"""
"""Where one is after Tab, and whether it can be seen: a line of two pixels around it, three to one, nothing over it."""
UNREACHED = f"""() => [...document.querySelectorAll("{WANTED}")]
  .filter((one) => !one.dataset.walked && !one.disabled && one.checkVisibility({{visibilityProperty: true}}))
  .map((one) => one.outerHTML.slice(0, 160))"""
LOADED = "() => !document.querySelector('details.later[open] > div > p:only-child > a')"
STATE = """(number) => {
  const one = document.querySelector(`[data-walked="${number}"]`);
  return JSON.stringify([one.value, one.checked, one.parentElement.open, window.pressed]);
}"""


@dataclass(frozen=True)
class Bench:
    """A workspace that is served, and what the addresses of its pages name."""

    link: str
    names: dict[str, str]


@pytest.fixture(scope="module")
def bench(bench_made: Workbench, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A workspace with runs, benchmarks, a queue, a job and a registry; no test changes it."""
    folder = tmp_path_factory.mktemp("keys")
    made = replace(bench_made, root=folder / "work")
    shutil.copytree(bench_made.root, made.root)
    with visit(made.root) as client:
        fields = {"data": "rows.jsonl", "judge": "groundedness", "model": "simulated", "objective": "raise precision"}
        assert post(client, "/start/ask", **fields)[0] == 303
        job = settled(made.root)
    (folder / "tools.yaml").write_text("mlflow: {push: 'http://127.0.0.1:9', with: /nowhere/python}\n")
    first, second = (prompt.version for prompt in Registry(made.root / "prompts").versions("groundedness")[:2])
    names = {"run": made.run_id, "before": made.before, "after": made.after, "queue": made.queue, "job": job.job_id}
    names |= {"first": first, "second": second, "start": START}
    os.environ["JUDGEWRIGHT_MODELS"], before = str(folder / "models.yaml"), os.environ.get("JUDGEWRIGHT_MODELS")
    try:
        with serving(made.root) as link:
            yield Bench(link=link, names=names)
    finally:
        if before is None:
            del os.environ["JUDGEWRIGHT_MODELS"]
        else:
            os.environ["JUDGEWRIGHT_MODELS"] = before


@pytest.fixture(scope="module")
def tab(bench: Bench) -> Iterator["sync_api.Page"]:
    """Somebody who has followed the link, in one browser for all pages."""
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = open_page(browser, [], viewport={"width": 1000, "height": 700})
        page.goto(bench.link)
        # What it tells while one types would take the place of what was walked.
        page.route("**/start/reading", lambda route: route.abort())
        yield page
        browser.close()


def walk(page: "sync_api.Page") -> list[dict[str, str | bool]]:
    """Go through the page by Tab, opening each fold by Enter; return where one came, in that order."""
    found: list[dict[str, str | bool]] = []
    page.keyboard.press("Tab")
    while (here := page.evaluate(WHERE)) is not None:
        found.append(here)
        if here["shut"]:
            page.keyboard.press("Enter")
            page.wait_for_function("document.activeElement.parentElement.open")
            page.wait_for_function(LOADED)
        page.keyboard.press("Tab")
    return found


def key_of(place: dict[str, str | bool]) -> str:
    """Return the key that does what an element is there for."""
    if place["tag"] in ("a", "summary") or place["type"] == "file":
        return "Enter"
    if place["tag"] == "textarea" or (place["tag"] == "input" and place["type"] not in ("checkbox", "submit")):
        return "7"
    return "Space"


def acts(page: "sync_api.Page", place: dict[str, str | bool]) -> bool:
    """Press the key; tell whether it follows or sends something, or changes the element, or is told what is missing."""
    if place["tag"] not in ("a", "button", "input", "select", "textarea", "summary"):
        return True  # a part that scrolls
    number = place["number"]
    page.evaluate("(number) => document.querySelector(`[data-walked='${number}']`).focus()", number)
    before = page.evaluate(STATE, number)
    for key in ("ArrowDown", "ArrowUp") if place["tag"] == "select" else (key_of(place),):
        page.keyboard.press(key)
        if page.evaluate(STATE, number) != before:
            if place["tag"] == "summary":
                page.keyboard.press(key)  # what it holds comes next
            return True
    return False


@pytest.mark.parametrize("path", PAGES)
def test_every_button_link_and_field_is_reached_seen_and_works_by_key(
    path: str, bench: Bench, tab: "sync_api.Page"
) -> None:
    """Also what is folded. Of a list's lines, which are alike, the first is tried; the navigation is on one page."""
    tab.goto(bench.link.partition("/?")[0] + path.format(**bench.names))
    found = walk(tab)
    assert tab.evaluate(UNREACHED) == []
    assert [place["html"] for place in found if not place["outlined"]] == []
    assert [place["html"] for place in found if not place["inSight"]] == []
    tab.evaluate(HOLD_BACK)
    tried = [place for place in found if not place["again"] and (path == "/" or not place["everywhere"])]
    assert [place["html"] for place in tried if not acts(tab, place)] == []
