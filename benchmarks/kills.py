"""Kill `judgewright optimize` at random moments on real rows, give it again, and compare with an
undisturbed run.

    python benchmarks/kills.py ../shared/data/groundedness_multi.jsonl [PROPOSER ...] [--kills 4]
        [--seed 0] [--via live|batch|files] [--rows 300]

Every proposer is killed so often, at moments drawn from its progress: half of it calls kept, half
events written, as shares of the undisturbed run's. By the clock most kills would hit the import of
TextGrad or DSPy. Prints the moments, whether every event (prompts, evidence, decision) and the
closing summary are those of the undisturbed run, and how many calls were repeated or may have been
billed beyond the finished ones.

Through batches and files a kill comes at a random change of the folder of requests and replies,
which is when something could be lost or asked twice. Batches go to `judgewright models simulate`,
files are answered here; both count what they answered, so that a request that was paid for twice
shows.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from judgewright.judges import Simulated
from judgewright.judges.simulated import read_request
from judgewright.optimize import VOLATILE, first_difference
from judgewright.runs.store import CallStore, RunJournal, Workspace, list_runs

OPTIMIZE = (
    "--objective",
    "do not call unsupported statements grounded",
    "--target",
    "precision",
    "--guard",
    "recall:-0.05",
    "--look-anyway",
)
PROPOSERS: Mapping[str, tuple[str, ...]] = {
    "textgrad": ("--hunks", "4", "--gradients", "2"),
    "gepa": (),
    "mipro": (),
    "fewshot": (),
    "rewrite": ("--candidates", "4"),
}
_REACHED = "SELECT (SELECT count(*) FROM call WHERE state = 'done'), (SELECT count(*) FROM event)"
_POLL = 0.01
_WATCH = 0.0005
"""Seconds between looks at the folder of an exchange."""
_CHANGES = 4
"""A kill comes at one of so many changes of the folder, counted from a command's start."""
COMPARED = ("decision", "prompt", "slice", "loss", "benchmark", "everything")


def command(arguments: tuple[str, ...], folder: Path) -> subprocess.Popen[bytes]:
    """Start the command line in a workspace."""
    words = [sys.executable, "-m", "judgewright", *arguments, "--workspace", ".", "--json"]
    return subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def last_run(folder: Path) -> str | None:
    """The newest run of a workspace, if it has begun one."""
    with Workspace(folder) as workspace:
        runs = list_runs(workspace.database) if workspace.exists else ()
    return runs[-1].run_id if runs else None


def reached(folder: Path) -> tuple[int, int]:
    """Count the finished calls and the events so far, without keeping the run from writing."""
    path = Workspace(folder).path
    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            return database.execute(_REACHED).fetchone()
    except sqlite3.OperationalError:  # not made yet
        return 0, 0


def read_end(process: subprocess.Popen[bytes], folder: Path) -> dict[str, Any]:  # Any: JSON
    """Wait for the end of a run; return what it is compared by: the main parts of its summary, and
    every event.
    """
    out, errors = process.communicate()
    if process.returncode not in (0, 1):
        sys.exit(f"the run failed with exit code {process.returncode}: {errors.decode()}")
    summary = json.loads(out)
    with Workspace(folder) as workspace:
        events = RunJournal(workspace.database, summary["run"]).events()
    lasting = [
        (event.kind, {key: value for key, value in event.payload.items() if key != VOLATILE})
        for event in events
    ]
    return {key: summary[key] for key in COMPARED} | {"events": lasting}


class Requests:
    """Who answers, through one of the three ways, and what that cost."""

    def __init__(self, via: str, folder: Path, port: int) -> None:
        self.via, self.folder, self.port = via, folder, port
        self.answered: Counter[str] = Counter()
        self._server: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Requests":
        if self.via == "batch":
            words = ["models", "simulate", "--port", str(self.port), "--faults", "batch_looks=0"]
            self._server = subprocess.Popen(
                [sys.executable, "-m", "judgewright", *words], stdout=subprocess.PIPE
            )
            assert self._server.stdout is not None
            self._server.stdout.readline()
        return self

    def __exit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.kill()
            self._server.wait()

    @property
    def flags(self) -> tuple[str, ...]:
        """The options of `optimize` for this way."""
        if self.via == "files":
            return ("--model", "by-hand", "--via", "files", "--exchange", "x")
        if self.via == "batch":
            return (
                "--model",
                f"simulated@http://127.0.0.1:{self.port}/v1",
                "--via",
                "batch",
                "--optimizer-via",
                "batch",
            )
        return ("--model", "simulated")

    def names(self) -> frozenset[str]:
        """The files of the exchange now."""
        root = self.folder / ("x" if self.via == "files" else ".judgewright/batches")
        return frozenset(
            f"{path}{path.stat().st_mtime_ns}" for path in root.rglob("*") if path.exists()
        )

    def answer(self) -> None:
        """Answer the newest request file that has no answer."""
        newest = sorted((self.folder / "x").glob("requests-*.jsonl"))[-1]
        replies = newest.with_name(newest.name.replace("requests", "replies"))
        if replies.exists():
            return
        lines = []
        for line in newest.read_bytes().splitlines():
            request = json.loads(line)
            self.answered[json.dumps(request["body"])] += 1
            text = asyncio.run(Simulated().complete(read_request(request["body"]))).text
            lines.append(json.dumps({"custom_id": request["custom_id"], "content": text}) + "\n")
        replies.write_text("".join(lines))

    def paid_twice(self) -> int:
        """Count the requests that were answered more than once."""
        if self.via == "files":
            return sum(self.answered.values()) - len(self.answered)
        if self.via == "batch":
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/stats") as answer:
                stats = json.loads(answer.read())
            return stats["billed"] - stats["bodies"]
        return 0


def kill_at(
    process: subprocess.Popen[bytes], folder: Path, total: tuple[int, int], share: float
) -> bool:
    """Kill a run once it has come so far; say whether it was still running then."""
    while process.poll() is None:
        calls, events = reached(folder)
        if (calls / total[0] + events / total[1]) / 2 >= share:
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
            print(
                f"  killed at {share:.0%}: {calls:,} calls finished, {events} events written",
                flush=True,
            )
            return True
        time.sleep(_POLL)
    return False


def kill_at_change(process: subprocess.Popen[bytes], requests: Requests, change: int) -> bool:
    """Kill a run at a change of the folder of its requests; say whether it was still running
    then.
    """
    seen, changes = requests.names(), 0
    while process.poll() is None:
        with contextlib.suppress(FileNotFoundError):
            names = requests.names()
            changes += names != seen
            seen = names
        if changes >= change:
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
            print(f"  killed at change {change} of the folder, {len(seen)} files in it", flush=True)
            return True
        time.sleep(_WATCH)
    return False


def go_on(arguments: tuple[str, ...], folder: Path, requests: Requests) -> subprocess.Popen[bytes]:
    """Give the command, which goes on with the run that it has begun."""
    return command((*arguments, *requests.flags), folder)


def to_the_end(
    arguments: tuple[str, ...], folder: Path, requests: Requests, kills: int, rng: random.Random
) -> int:
    """Bring a run through an exchange almost to its end, killed on the way; return how often it
    was.
    """
    killed = 0
    while True:
        process = go_on(arguments, folder, requests)
        if killed < kills and kill_at_change(process, requests, rng.randint(1, _CHANGES)):
            killed += 1
            continue
        process.communicate()
        if process.returncode != 3:
            return killed
        requests.answer()


def compare(arguments: tuple[str, ...], kills: int, rng: random.Random, via: str) -> bool:
    """Run once undisturbed and once with kills; print the comparison, and say whether both are
    equal.
    """
    with tempfile.TemporaryDirectory() as calm, tempfile.TemporaryDirectory() as rough:
        port = free_port()
        started, folder = time.monotonic(), Path(calm)
        with Requests(via, folder, port) as requests:
            to_the_end(arguments, folder, requests, 0, rng)
            expected = read_end(go_on(arguments, folder, requests), folder)
            total = reached(folder)
        outcome = expected["decision"]["outcome"]
        print(
            f"  undisturbed: {time.monotonic() - started:.1f} s, {total[0]:,} calls, {total[1]}"
            f" events, {outcome}"
        )
        folder, killed = Path(rough), 0
        with Requests(via, folder, port) as requests:
            if via == "live":
                process = go_on(arguments, folder, requests)
                for share in sorted(rng.random() for _ in range(kills)):
                    if kill_at(process, folder, total, share):
                        killed += 1
                        process = go_on(arguments, folder, requests)
            else:
                killed = to_the_end(arguments, folder, requests, kills, rng)
                process = go_on(arguments, folder, requests)
            resumed = read_end(process, folder)
            twice = requests.paid_twice()
        with Workspace(folder) as workspace:
            summary = CallStore(workspace.database, last_run(folder) or "").summary()
    differing = [key for key, value in expected.items() if resumed[key] != value]
    print(
        f"  after {killed} kills:"
        f" {'differs in ' + ', '.join(differing) if differing else 'equal'}; ",
        end="",
    )
    for wanted, got in zip(expected["events"], resumed["events"], strict=False):
        if wanted != got:
            print(f"\n  {wanted[0]}: {first_difference(wanted[1], got[1])}")
            break
    print(
        f"calls finished {summary.done:,}, attempts {summary.attempts:,}, repeated"
        f" {summary.repeated}, ",
        end="",
    )
    print(
        f"in flight at a kill and perhaps billed {summary.in_doubt}, paid twice {twice}", flush=True
    )
    return (
        not differing
        and summary.repeated == twice == 0
        and killed == kills
        and summary.done == total[0]
    )


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    """Compare for each proposer, and leave with 1 where one was not equal or repeated a call."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("proposers", nargs="*", choices=[*PROPOSERS, []])
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--via", choices=("live", "batch", "files"), default="live")
    parser.add_argument("--rows", type=int, help="Read only the first rows.")
    parser.add_argument("--steps", type=int, default=15)
    options = parser.parse_args()
    arguments = (
        "optimize",
        "groundedness",
        str(options.data.resolve()),
        *OPTIMIZE,
        "--steps",
        str(options.steps),
    )
    if options.rows:
        arguments += ("--limit", str(options.rows))
    rng, good = random.Random(options.seed), True
    print(f"simulated model {Simulated().version}, {options.data.name}")
    for proposer in options.proposers or PROPOSERS:
        flags = ("--proposer", proposer, *PROPOSERS[proposer])
        print(f"{' '.join(flags[1:])}:", flush=True)
        good &= compare((*arguments, *flags), options.kills, rng, options.via)
    print(
        "all equal, no finished call repeated"
        if good
        else "NOT EQUAL, a call repeated, or not killed so often"
    )
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
