"""Open the review page on a run of 10,000 rows in Chromium: seconds to each page, and memory while paging.

    python benchmarks/page.py [--documents 2900] [--pages 100] [--chromium /usr/bin/chromium]

The run is made on the spot with the simulated model and made-up rows. Asked for is a run that opens in under a second,
and a server and a page whose memory stays flat.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from judgewright.runs.demo import write_demo_rows

OBJECTIVE = "do not call unsupported statements grounded; do not lose more than 10 points of recall"
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")


def make_run(folder: Path, documents: int) -> str:
    """Run once over made-up rows and return the run's id."""
    rows = write_demo_rows(folder / "rows.jsonl", documents=documents)
    command = [sys.executable, "-m", "judgewright", "optimize", "groundedness", "rows.jsonl", "--steps", "5", "--json"]
    ran = subprocess.run([*command, "--objective", OBJECTIVE], cwd=folder, capture_output=True, text=True, check=False)
    run = re.search(r'"run":\s*"([^"]+)"', ran.stdout)
    assert run, ran.stderr
    print(f"{rows:,} rows, run {run.group(1)}")
    return run.group(1)


def resident(pid: int) -> int:
    """Kilobytes that a process holds."""
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text()).group(1))


def measure(link: str, run: str, server: int, pages: int, chromium: str) -> None:
    """Open each page, then page through the flips."""
    base = link.split("/?")[0]
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=list(FLAGS))
        page = browser.new_page()
        for name, address in (
            ("runs", link),
            ("run", f"{base}/runs/{run}"),
            ("everything", f"{base}/runs/{run}/evidence"),
            ("flips, first", f"{base}/runs/{run}/flips"),
            ("flips, again", f"{base}/runs/{run}/flips?page=2"),
        ):
            start = time.perf_counter()
            page.goto(address, wait_until="load")
            print(f"{name:<14} {time.perf_counter() - start:6.2f} s")
        before = resident(server)
        heaps = []
        for number in range(pages):
            page.goto(f"{base}/runs/{run}/flips?page={number % 4 + 1}", wait_until="load")
            heaps.append(page.evaluate("performance.memory.usedJSHeapSize"))
        print(f"server: {before:,} kB, after {pages} pages {resident(server):,} kB")
        print(f"page heap: {heaps[4]:,} bytes, at the end {heaps[-1]:,}")
        browser.close()


def main() -> None:
    """Make the run, serve it, measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=2900)
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        run = make_run(folder, options.documents)
        command = [sys.executable, "-u", "-m", "judgewright", "review", "--port", "0"]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, env=os.environ) as server:
            try:
                assert server.stdout
                link = next(match.group() for line in server.stdout if (match := re.search(r"http://\S+", line)))
                time.sleep(1.0)
                measure(link, run, server.pid, options.pages, options.chromium)
            finally:
                server.terminate()


if __name__ == "__main__":
    main()
