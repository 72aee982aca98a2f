"""Open pages of a run and a benchmark on growing numbers of rows: server CPU and memory, and Chromium's time to load.

    python benchmarks/page.py [--documents 290,2900,29000] [--chromium /usr/bin/chromium] [--keep DIR]

The run and the benchmark are made on the spot with the simulated model and made-up rows, 3.5 a document; 100,000 rows
take some ten minutes. Asked for are CPU a page and memory that do not grow with the rows, after a first opening
that reads all of them (from 5,000 on in a process of its own), and a page that is there in under a second.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from playwright.sync_api import sync_playwright

from judgewright.runs.demo import write_demo_rows
from judgewright.runs.store import Workspace, list_runs

OBJECTIVE = "do not call unsupported statements grounded; do not lose more than 10 points of recall"
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")
TICKS = os.sysconf("SC_CLK_TCK")
AGAIN = 10


def make_runs(folder: Path, documents: int) -> dict[str, str]:
    """Run once over made-up rows and benchmark them; return the paths of pages, by name."""
    if not (folder / "rows.jsonl").exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_demo_rows(folder / "rows.jsonl", documents=documents)
        search = ("--objective", OBJECTIVE, "--steps", "2")
        for command in (("bench",), ("optimize", *search)):
            name, *more = command
            asked = [sys.executable, "-m", "judgewright", name, "groundedness", "rows.jsonl", "--model", "simulated"]
            ran = subprocess.run([*asked, *more, "--json"], cwd=folder, capture_output=True, text=True, check=False)
            assert ran.returncode in (0, 1, 4), ran.stderr
    with Workspace(folder) as workspace:
        runs = {record.kind: record.run_id for record in list_runs(workspace.database)}
    run, bench = runs["optimize"], runs["bench"]
    return {
        "list of runs": "/",
        "run": f"/runs/{run}",
        "flips": f"/runs/{run}/flips",
        "flips, page 2": f"/runs/{run}/flips?page=2",
        "benchmark": f"/runs/{bench}",
        "wrong rows": f"/runs/{bench}/rows",
        "wrong rows, page 2": f"/runs/{bench}/rows?page=2",
    }


@contextmanager
def served(folder: Path) -> Iterator[tuple[int, str]]:
    """Serve the workspace; yield the server's process and its link."""
    command = [sys.executable, "-u", "-m", "judgewright", "review", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, env=os.environ) as server:
        try:
            assert server.stdout
            yield server.pid, next(found.group() for line in server.stdout if (found := re.search(r"http://\S+", line)))
        finally:
            server.terminate()


def used(pid: int) -> float:
    """Milliseconds of CPU that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / TICKS


def resident(pid: int) -> float:
    """Megabytes that a process holds."""
    status = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert status
    return int(status.group(1)) / 1024


def measure(folder: Path, pages: dict[str, str], chromium: str) -> None:
    """Open each page once, then again, then in Chromium; print what it took."""
    with served(folder) as (server, link), httpx.Client(timeout=900, follow_redirects=True) as client:
        base = link.partition("/?")[0]
        client.get(link)
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path=chromium, args=list(FLAGS))
            page = browser.new_page()
            page.goto(link)
            for name, path in pages.items():
                start, before = time.perf_counter(), used(server)
                status = client.get(f"{base}{path}").status_code
                first, waited, before = used(server) - before, time.perf_counter() - start, used(server)
                for _ in range(AGAIN):
                    client.get(f"{base}{path}")
                again, start = (used(server) - before) / AGAIN, time.perf_counter()
                page.goto(f"{base}{path}", wait_until="load")
                print(
                    f"  {name:<18} {status} first {first:5.0f} ms CPU, {waited:5.2f} s waited; again {again:4.0f} ms; "
                    f"in Chromium {time.perf_counter() - start:5.2f} s; server {resident(server):4.0f} MB",
                    flush=True,
                )
            browser.close()


def main() -> None:
    """Make the runs, serve them, measure, for one number of documents after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", default="290,2900,29000")
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--keep", type=Path, help="where the workspaces stay, to be measured again")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for documents in map(int, options.documents.split(",")):
            folder = (options.keep or Path(scratch)) / str(documents)
            pages = make_runs(folder, documents)
            print(f"{len((folder / 'rows.jsonl').read_text().splitlines()):,} rows", flush=True)
            measure(folder, pages, options.chromium)


if __name__ == "__main__":
    main()
