"""Kill `judgewright optimize` at random moments on real rows, resume it, and compare with an undisturbed run.

    python benchmarks/kills.py ../shared/data/groundedness_multi.jsonl [PROPOSER ...] [--kills 4] [--seed 0]

Every proposer is killed so often, at moments drawn from its progress: half of it calls kept, half events written, as
shares of the undisturbed run's. By the clock most kills would hit the import of TextGrad or DSPy. Prints the moments,
whether every event (prompts, evidence, decision) and the closing summary are those of the undisturbed run, and how many
calls were repeated or may have been billed beyond the finished ones.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from judgewright.judges import Simulated
from judgewright.optimize import VOLATILE, first_difference
from judgewright.runs.store import CallStore, RunJournal, Workspace, list_runs

OPTIMIZE = (
    "--objective",
    "do not call unsupported statements grounded",
    "--target",
    "precision",
    "--guard",
    "recall:-0.05",
    "--model",
    "simulated",
)
PROPOSERS: Mapping[str, tuple[str, ...]] = {
    "textgrad": ("--hunks", "4", "--gradients", "2"),
    "gepa": (),
    "mipro": (),
    "fewshot": (),
    "rewrite": (),
}
_REACHED = "SELECT (SELECT count(*) FROM call WHERE state = 'done'), (SELECT count(*) FROM event)"
_POLL = 0.01
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
    """Wait for the end of a run; return what it is compared by: the main parts of its summary, and every event."""
    out, errors = process.communicate()
    if process.returncode not in (0, 1):
        sys.exit(f"the run failed with exit code {process.returncode}: {errors.decode()}")
    summary = json.loads(out)
    with Workspace(folder) as workspace:
        events = RunJournal(workspace.database, summary["run"]).events()
    lasting = [
        (event.kind, {key: value for key, value in event.payload.items() if key != VOLATILE}) for event in events
    ]
    return {key: summary[key] for key in COMPARED} | {"events": lasting}


def kill_at(process: subprocess.Popen[bytes], folder: Path, total: tuple[int, int], share: float) -> bool:
    """Kill a run once it has come so far; say whether it was still running then."""
    while process.poll() is None:
        calls, events = reached(folder)
        if (calls / total[0] + events / total[1]) / 2 >= share:
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
            print(f"  killed at {share:.0%}: {calls:,} calls finished, {events} events written", flush=True)
            return True
        time.sleep(_POLL)
    return False


def compare(arguments: tuple[str, ...], kills: int, rng: random.Random) -> bool:
    """Run once undisturbed and once with kills; print the comparison, and say whether both are equal."""
    with tempfile.TemporaryDirectory() as calm, tempfile.TemporaryDirectory() as rough:
        started = time.monotonic()
        expected = read_end(command(arguments, Path(calm)), Path(calm))
        total = reached(Path(calm))
        outcome = expected["decision"]["outcome"]
        print(f"  undisturbed: {time.monotonic() - started:.1f} s, {total[0]:,} calls, {total[1]} events, {outcome}")
        folder, killed = Path(rough), 0
        process = command(arguments, folder)
        for share in sorted(rng.random() for _ in range(kills)):
            if kill_at(process, folder, total, share):
                killed += 1
                run = last_run(folder)
                process = command(("runs", "resume", run) if run else arguments, folder)
        resumed = read_end(process, folder)
        with Workspace(folder) as workspace:
            summary = CallStore(workspace.database, last_run(folder) or "").summary()
    differing = [key for key, value in expected.items() if resumed[key] != value]
    print(f"  after {killed} kills: {'differs in ' + ', '.join(differing) if differing else 'equal'}; ", end="")
    for wanted, got in zip(expected["events"], resumed["events"], strict=False):
        if wanted != got:
            print(f"\n  {wanted[0]}: {first_difference(wanted[1], got[1])}")
            break
    print(f"calls finished {summary.done:,}, attempts {summary.attempts:,}, repeated {summary.repeated}, ", end="")
    print(f"in flight at a kill and perhaps billed {summary.in_doubt}", flush=True)
    return not differing and summary.repeated == 0 and killed == kills


def main() -> None:
    """Compare for each proposer, and leave with 1 where one was not equal or repeated a call."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("proposers", nargs="*", choices=[*PROPOSERS, []])
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    arguments = ("optimize", "groundedness", str(options.data.resolve()), *OPTIMIZE)
    rng, good = random.Random(options.seed), True
    print(f"simulated model {Simulated().version}, {options.data.name}")
    for proposer in options.proposers or PROPOSERS:
        flags = ("--proposer", proposer, *PROPOSERS[proposer])
        print(f"{' '.join(flags[1:])}:", flush=True)
        good &= compare((*arguments, *flags), options.kills, rng)
    print("all equal, no finished call repeated" if good else "NOT EQUAL, a call repeated, or not killed so often")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
