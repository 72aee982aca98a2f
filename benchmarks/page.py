"""Open every kind of page on growing numbers of rows: server CPU and memory, and Chromium's time to
load.

    python benchmarks/page.py [--documents 290,2900,29000] [--chromium /usr/bin/chromium] [--keep
    DIR] [--only WORDS]

The runs, a benchmark of two versions and a queue are made on the spot with the simulated model and
made-up rows, 3.5 a document; 100,000 rows take some fifteen minutes. Asked for are CPU a page and
memory that do not grow with the rows, after a first opening at which a process of its own reads all
of them: `first` is the server's CPU then, `aside` that of the process, with the most memory it
held, and `waited` the time until the page was there. `again` is one opening more, and `peak` the
most memory that the server held meanwhile. At the end stands each page's ratio, most rows to
fewest.
"""

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from urllib.parse import urlencode

import httpx
from playwright.sync_api import Page, sync_playwright

from judgewright.judges import Registry
from judgewright.runs.demo.rows import DOCUMENTS, demo_rows
from judgewright.runs.store import Workspace, list_runs

OBJECTIVE = "raise precision; recall may fall by 10 points"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
)
TICKS = os.sysconf("SC_CLK_TCK")
AGAIN = 20
WHO = "ann"
SCROLLED = """(tenth) => {
  const box = document.querySelector('.matrix');
  box.scrollTop = (tenth / 10) * (box.scrollHeight - box.clientHeight);
}"""
PAINTED = "() => performance.getEntriesByName('first-contentful-paint').length > 0"
ROW_IN_SIGHT = """() => {
  const box = document.querySelector('.matrix').getBoundingClientRect();
  return document.elementFromPoint(box.left + 60, Math.min(box.bottom, innerHeight) - 60)?.closest('tr')?.dataset.item === '';
}"""  # noqa: E501


@dataclass(frozen=True)
class Opened:
    """What a page took: milliseconds of CPU and megabytes."""

    again: float
    peak: float


def write_rows(path: Path, documents: int) -> None:
    """Write the demo's documents, over and over under other names where more are wanted."""
    lines: list[str] = []
    for first in range(0, documents, DOCUMENTS):
        for row in demo_rows(documents=min(DOCUMENTS, documents - first)):
            copied = {name: f"{row[name]}-{first}" for name in ("id", "group_id")}
            source = f"{row['source']} Copy {first}."
            lines.append(json.dumps({**row, **copied, "source": source}) + "\n")
    path.write_text("".join(lines), encoding="utf-8")


def make_runs(folder: Path, documents: int) -> dict[str, str]:
    """Run once over made-up rows and benchmark two versions on them; return the paths of pages, by
    name.
    """
    if not (folder / "rows.jsonl").exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_rows(folder / "rows.jsonl", documents)
    done = runs_of(folder)
    search = ("--objective", OBJECTIVE, "--steps", "2")
    if "optimize" not in done:
        command(folder, "optimize", "groundedness", "rows.jsonl", "--model", "simulated", *search)
    if len(done.get("bench", ())) < 2:
        registry, judge = Registry(folder / "prompts"), Registry().get("groundedness")
        registry.keep(
            judge.edited(criteria=f"{judge.criteria}\nNumbers must match."), current=False
        )
        versions = [prompt.version for prompt in registry.versions("groundedness")]
        for version in versions[len(done.get("bench", ())) - 2 :]:
            command(
                folder, "bench", f"groundedness@{version}", "rows.jsonl", "--model", "simulated"
            )
    done = runs_of(folder)
    run, (before, after) = done["optimize"][-1], done["bench"][-2:]
    first, second = [
        prompt.version for prompt in Registry(folder / "prompts").versions("groundedness")
    ][:2]
    start = {
        "data": "rows.jsonl",
        "judge": "groundedness",
        "model": "simulated",
        "objective": OBJECTIVE,
    }
    return {
        "list of runs": "/",
        "runs, sorted": "/?sort=change&words=groundedness",
        "run": f"/runs/{run}",
        "evidence": f"/runs/{run}/evidence",
        "flips": f"/runs/{run}/flips",
        "flips, page 2": f"/runs/{run}/flips?page=2",
        "benchmark": f"/runs/{after}",
        "wrong rows": f"/runs/{after}/rows",
        "wrong rows, page 2": f"/runs/{after}/rows?page=2",
        "wrong, one channel": f"/runs/{after}/rows?slice=channel%3Dchat",
        "slices": f"/runs/{after}/slices?column=channel",
        "choose to compare": "/compare",
        "comparison": f"/compare?run={before}&run={after}",
        "its flips": f"/matrix?judge={before}&judge={after}&rows=flips",
        "rows by prompts": "/matrix",
        "rows, window 3": "/matrix/rows?page=3",
        "rows, judges differ": "/matrix/rows?rows=differ",
        "rows with words": "/matrix/rows?words=library+2",
        "judges": "/judges",
        "judge": "/judges/groundedness",
        "diff": f"/judges/groundedness/diff?from={first}&to={second}",
        "hand over": f"/judges/groundedness/handover/{first}",
        "start, empty": "/start",
        "start, checked": f"/start?{urlencode(start)}",
        "start, plan": f"/start?{urlencode({**start, 'plan': 1})}",
        "queues": "/label",
        "jobs": "/jobs",
    }


def runs_of(folder: Path) -> dict[str, list[str]]:
    """Return the runs that ended well, by kind."""
    found: dict[str, list[str]] = {}
    with Workspace(folder) as workspace:
        for record in list_runs(workspace.database) if workspace.exists else ():
            if record.state == "done":
                found.setdefault(record.kind, []).append(record.run_id)
    return found


def command(folder: Path, *words: str) -> None:
    """Run a command of the terminal."""
    asked = [sys.executable, "-m", "judgewright", *words, "--json"]
    ran = subprocess.run(asked, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode in (0, 1, 4), ran.stderr


@contextmanager
def served(folder: Path) -> Iterator[tuple[int, str]]:
    """Serve the workspace; yield the server's process and its link."""
    review = [sys.executable, "-u", "-m", "judgewright", "review", "--port", "0"]
    with subprocess.Popen(
        review, cwd=folder, stdout=subprocess.PIPE, text=True, env=os.environ
    ) as server:
        try:
            assert server.stdout
            yield (
                server.pid,
                next(
                    found.group()
                    for line in server.stdout
                    if (found := re.search(r"http://\S+", line))
                ),
            )
        finally:
            server.terminate()


def used(pid: int) -> tuple[float, float]:
    """Milliseconds of CPU that a process has taken, and those of its own processes that have
    ended.
    """
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own, ended = ((int(fields[at]) + int(fields[at + 1])) * 1000 / TICKS for at in (11, 13))
    return own, ended


def peak(pid: int) -> float:
    """Megabytes that a process held at most since they were last forgotten."""
    held = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(held.group(1)) / 1024 if held else 0.0


class Aside:
    """Watches what memory the processes of the server hold."""

    def __init__(self, server: int) -> None:
        self.most = 0.0
        self._server = server
        self._over = Event()
        self._thread = Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._over.wait(0.05):
            with contextlib.suppress(OSError):
                children = (
                    Path(f"/proc/{self._server}/task/{self._server}/children").read_text().split()
                )
                self.most = max([self.most, *(peak(int(child)) for child in children)])

    def end(self) -> float:
        """Stop watching, and return the most."""
        self._over.set()
        self._thread.join()
        return self.most


def there(client: httpx.Client, answer: httpx.Response) -> httpx.Response:
    """Come back to a page until what it shows has been worked out."""
    while answer.status_code == 202:
        time.sleep(0.2)
        answer = client.get(str(answer.url))
    return answer


def open_page(client: httpx.Client, page: Page | None, server: int, name: str, path: str) -> Opened:
    """Open a page once, then again, then in Chromium; print what it took."""
    aside, (own, ended), start = Aside(server), used(server), time.perf_counter()
    status = there(client, client.get(path)).status_code
    waited, (own_first, ended_first) = time.perf_counter() - start, used(server)
    most = aside.end()
    Path(f"/proc/{server}/clear_refs").write_text("5")
    for _ in range(AGAIN):
        client.get(path)
    again, held, start = (used(server)[0] - own_first) / AGAIN, peak(server), time.perf_counter()
    if page is not None:
        page.goto(
            f"{client.base_url}{path}".replace("//", "/").replace("http:/", "http://"),
            wait_until="load",
        )
    print(
        f"  {name:<19} {status} first {own_first - own:5.0f} ms, "
        f"aside {(ended_first - ended) / 1000:5.1f} s {most:4.0f} MB, "
        f"waited {waited:6.2f} s; again {again:4.0f} ms, peak {held:4.0f} MB; "
        f"in Chromium {time.perf_counter() - start:5.2f} s",
        flush=True,
    )
    return Opened(again, held)


def scroll(page: Page, server: int, origin: str) -> Opened:
    """Scroll the matrix down in ten leaps in Chromium; print what came of it."""
    page.goto(f"{origin}/matrix", wait_until="load")
    page.wait_for_selector(".matrix", timeout=600_000)
    page.wait_for_function(PAINTED)
    paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    first, before = float(page.evaluate(paint)), used(server)[0]
    Path(f"/proc/{server}/clear_refs").write_text("5")
    waited: list[float] = []
    for tenth in range(1, 11):
        start = time.perf_counter()
        page.evaluate(SCROLLED, tenth)
        page.wait_for_function(ROW_IN_SIGHT)
        waited.append(1000 * (time.perf_counter() - start))
    took = (used(server)[0] - before) / len(waited)
    print(
        f"  {'matrix, scrolled':<19} first paint {first:4.0f} ms; a leap {min(waited):.0f} to"
        f" {max(waited):.0f} ms until its rows are in sight, {took:4.0f} ms of the server",
        flush=True,
    )
    return Opened(took, peak(server))


def label(client: httpx.Client, server: int, origin: str) -> dict[str, Opened]:
    """Make a queue of all rows, open it, label rows; print what it took."""
    headers = {"origin": origin, "sec-fetch-site": "same-origin"}
    aside, (own, ended), start = Aside(server), used(server), time.perf_counter()
    fields = {"data": "rows.jsonl", "judge": "groundedness", "again": "1", "annotator": WHO}
    answer = there(client, client.post("/label", data=fields, headers=headers))
    took, made = time.perf_counter() - start, used(server)
    print(
        f"  {'making a queue':<19} {answer.status_code} first {made[0] - own:5.0f} ms, "
        f"aside {(made[1] - ended) / 1000:5.1f} s "
        f"{aside.end():4.0f} MB, waited {took:6.2f} s",
        flush=True,
    )
    path = str(answer.url).removeprefix(origin)
    opened = {"a row to label": open_page(client, None, server, "a row to label", path)}
    Path(f"/proc/{server}/clear_refs").write_text("5")
    before = used(server)[0]
    for _ in range(AGAIN):
        hidden = dict(re.findall(r'name="(record|shown|row)" value="([^"]*)"', answer.text))
        said = {**hidden, "annotator": WHO, "verb": "label", "grade": "1"}
        answer = there(client, client.post(path.partition("?")[0], data=said, headers=headers))
    assert f"{WHO}: {AGAIN} labelled" in answer.text
    took = (used(server)[0] - before) / AGAIN
    print(
        f"  {'one label':<19} {answer.status_code} {took:4.0f} ms with the next row, peak"
        f" {peak(server):4.0f} MB",
        flush=True,
    )
    return {**opened, "one label": Opened(took, peak(server))}


def measure(folder: Path, pages: dict[str, str], chromium: str, only: str) -> dict[str, Opened]:
    """Open all pages of a workspace, or those whose name has some words."""
    with served(folder) as (server, link):
        origin = link.partition("/?")[0]
        with (
            httpx.Client(base_url=origin, timeout=1800, follow_redirects=True) as client,
            sync_playwright() as play,
        ):
            client.get(link)
            browser = play.chromium.launch(executable_path=chromium, args=list(FLAGS))
            page = browser.new_page()
            page.goto(link)
            opened = {
                name: open_page(client, page, server, name, path)
                for name, path in pages.items()
                if only in name
            }
            opened["matrix, scrolled"] = scroll(page, server, origin)
            if only:
                browser.close()
                return opened
            opened |= label(client, server, origin)
            opened["list of runs, then"] = open_page(
                client, page, server, "list of runs, then", "/"
            )
            opened["queues, then"] = open_page(client, page, server, "queues, then", "/label")
            browser.close()
            return opened


def main() -> None:
    """Make the runs, serve them and measure, for one number of documents after the other; compare
    last and first.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", default="290,2900,29000")
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--keep", type=Path, help="where the workspaces stay, to be measured again")
    parser.add_argument("--only", default="", help="open pages whose name has this, such as rows")
    options = parser.parse_args()
    found: list[dict[str, Opened]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for documents in map(int, options.documents.split(",")):
            folder = (options.keep or Path(scratch)) / str(documents)
            pages = make_runs(folder, documents)
            with (folder / "rows.jsonl").open("rb") as file:
                print(f"{sum(1 for _ in file):,} rows", flush=True)
            found.append(measure(folder, pages, options.chromium, options.only))
    print(f"{'ratio, last to first':<21} {'CPU':>15} {'memory':>16}")
    for name, last in found[-1].items():
        first = found[0][name]
        print(
            f"  {name:<19} {first.again:4.0f} {last.again:4.0f} ms"
            f" {last.again / max(first.again, 1):4.1f} {first.peak:4.0f} {last.peak:4.0f} MB"
            f" {last.peak / first.peak:4.2f}"
        )


if __name__ == "__main__":
    main()
