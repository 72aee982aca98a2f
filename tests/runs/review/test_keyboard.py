"""Every page by keys alone, and what axe-core finds on it: Tab reaches all, one sees where one is,
the key acts.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import Workbench
from .every_page import PAGES, WORKING, Bench, every_page, page_of, pages_of_the_app
from .test_walk import CHROMIUM, browser, open_page, sync_api

__all__ = ["browser"]

pytestmark = pytest.mark.skipif(
    not CHROMIUM, reason="no Chromium on this machine: the browser's way is not walked"
)
AXE = Path(__file__).parent / "axe" / "axe.min.js"
RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],
    "preload": False,
}
EVERY = bool(os.environ.get("JUDGEWRIGHT_AXE_EVERY"))
"""Set by `make axe`: every line of a list, of which else two stay."""
LOOKS = ((400, "light"), (1440, "dark"), (400, "dark"), (1440, "light"))
"""Width and colours."""
THIN = """() => {
  const seen = new Map();
  for (const line of document.querySelectorAll('[data-item]')) {
    seen.set(line.parentElement, (seen.get(line.parentElement) || 0) + 1);
    if (seen.get(line.parentElement) > 2) line.remove();
  }
}"""
"""Of a list's lines, which are alike, two stay."""
WANTED = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']"
PREPARE = """() => {
  window.pressed = 0;
  const hold = (event) => { window.pressed += 1; event.preventDefault(); };
  window.addEventListener('click', (event) => { if (event.target.closest('a[href], [type=file]')) hold(event); });
  window.addEventListener('submit', hold);
  window.addEventListener('invalid', hold, true);
  window.stateOf = (one) => JSON.stringify([one.value, one.checked, one.parentElement.open, window.pressed]);
}"""  # noqa: E501
"""What a key would load or send is counted and not done, so that every element of a page is tried
where it stands.
"""
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
    html: at.outerHTML.slice(0, 160), tag: at.tagName.toLowerCase(), type: at.type || '', state: stateOf(at),
    outlined: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2
      && Math.max(...lights) / Math.min(...lights) >= 3,
    inSight: Boolean(seen) && (at.contains(seen) || (seen.contains(at) && !seen.closest('header'))),
    again: Boolean(line && line !== line.parentElement.querySelector('[data-item]')),
    everywhere: Boolean(at.closest('nav')),
    shut: at.tagName === 'SUMMARY' && !at.parentElement.open,
    fetched: Boolean(at.parentElement.dataset.load),
  };
}"""  # noqa: E501
"""Where one is after Tab, and whether it can be seen: a line of two pixels around it, three to one,
nothing over it.
"""
STATE = "() => stateOf(document.activeElement)"
UNREACHED = f"""() => [...document.querySelectorAll("{WANTED}")]
  .filter((one) => !one.dataset.walked && !one.disabled && one.checkVisibility({{visibilityProperty: true}}))
  .map((one) => one.outerHTML.slice(0, 160))"""  # noqa: E501
LOADED = "() => !document.querySelector('details.later[open] > div > p:only-child > a')"
AS_IT_WAS = """() => {
  document.querySelectorAll('details').forEach((one) => { one.open = true; });
  document.querySelectorAll('[aria-busy]').forEach((one) => one.removeAttribute('aria-busy'));
  document.activeElement.blur();
}"""
"""With every fold open, nothing that is on its way, and nothing in focus."""
AUDIT = """async (rules) => {
  const found = (await axe.run(rules)).violations.map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 200)}`);
  const wide = document.documentElement.scrollWidth - window.innerWidth;
  return wide > 0 ? [...found, `${wide} pixels too wide`] : found;
}"""  # noqa: E501


@pytest.fixture(scope="module")
def bench(bench_made: Workbench, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A workspace in which every page can be opened."""
    with every_page(bench_made, tmp_path_factory.mktemp("keys")) as served:
        yield served


@pytest.fixture(scope="module")
def tab(bench: Bench, browser: "sync_api.Browser") -> "sync_api.Page":
    """Somebody who has followed the link, with a browser that lets axe in, which the page's own
    policy forbids.
    """
    page = open_page(browser, [], bypass_csp=True, reduced_motion="reduce")
    page.goto(bench.link)
    # What it tells while one types or looks on would take the place of what was walked.
    page.route(re.compile("/start/reading|/live"), lambda route: route.abort())
    return page


def findings(page: "sync_api.Page") -> list[str]:
    """Return what axe-core finds in both widths and colours, and where the page is wider than the
    window.
    """
    page.add_script_tag(path=AXE)
    found: list[str] = []
    for width, colours in LOOKS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=colours)
        page.evaluate("scrollTo(0, 0)")  # what lies under the header's edge would count as small
        found += [f"{width} {colours}: {one}" for one in page.evaluate(AUDIT, RULES)]
    return found


def walk(page: "sync_api.Page", *, everywhere: bool) -> list[dict[str, str | bool]]:
    """Go through the page by Tab and press the key of each place; return the places with whether
    the key acts.

    Of a list's lines, which are alike, the first is tried, and the navigation where `everywhere`
    says so.
    """
    found: list[dict[str, str | bool]] = []
    page.keyboard.press("Tab")
    while (here := page.evaluate(WHERE)) is not None:
        tried = here["shut"] or not (here["again"] or (here["everywhere"] and not everywhere))
        found.append({**here, "acts": not tried or acts(page, here)})
        if here["fetched"]:
            page.wait_for_function(LOADED)
        page.keyboard.press("Tab")
    return found


def key_of(place: dict[str, str | bool]) -> str:
    """Return the key that does what an element is there for."""
    if place["tag"] in ("a", "summary") or place["type"] == "file":
        return "Enter"
    if place["tag"] == "textarea" or (
        place["tag"] == "input" and place["type"] not in ("checkbox", "submit")
    ):
        return "7"
    return "Space"


def acts(page: "sync_api.Page", place: dict[str, str | bool]) -> bool:
    """Press the key; tell whether it follows or sends something, or changes the element, or is told
    what is missing.
    """
    if place["tag"] not in ("a", "button", "input", "select", "textarea", "summary"):
        return True  # a part that scrolls
    for key in ("ArrowDown", "ArrowUp") if place["tag"] == "select" else (key_of(place),):
        page.keyboard.press(key)
        if page.evaluate(STATE) != place["state"]:
            return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("path", PAGES)
def test_every_page_works_by_keys_and_axe_finds_nothing_on_it(
    path: str, bench: Bench, tab: "sync_api.Page"
) -> None:
    """Every button, link and field is reached by Tab, seen and works by key, also what is folded.

    Then axe looks at it, with every fold open, on a phone and on a desk, light and dark.
    """
    tab.set_viewport_size({"width": 1000, "height": 700})
    tab.goto(bench.address(path))
    if not EVERY:
        tab.evaluate(THIN)
    tab.evaluate(PREPARE)
    found = walk(tab, everywhere=path == "/")
    assert tab.evaluate(UNREACHED) == []
    assert [place["html"] for place in found if not place["outlined"]] == []
    assert [place["html"] for place in found if not place["inSight"]] == []
    assert [place["html"] for place in found if not place["acts"]] == []
    tab.evaluate(AS_IT_WAS)
    assert findings(tab) == []


def test_axe_finds_nothing_where_one_waits(bench: Bench, tab: "sync_api.Page") -> None:
    """A large file is read by a process of its own, and the page says so."""
    tab.goto(bench.address("/label"))
    tab.select_option("select[name=data]", bench.large)
    tab.fill("form[method=post] [name=annotator]", "ann")
    tab.click("text=Make the queue and begin")
    tab.wait_for_url("**/work/*")
    assert tab.inner_text("h1") == "One moment"
    assert findings(tab) == []
    tab.unroute_all()
    tab.goto(tab.url)
    tab.wait_for_url("**/label/*annotator=*")
    assert findings(tab) == []


def test_no_page_is_forgotten() -> None:
    """The pages that are tried here are those that the application has."""
    assert {page_of(path) for path in PAGES} - {None} == pages_of_the_app() - {WORKING}
