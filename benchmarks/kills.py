"""Kill `judgewright optimize` at random moments on real rows, resume it, and compare with an undisturbed run.

    python benchmarks/kills.py ../shared/data/groundedness_multi.jsonl [KILLS] [SEED]

Prints the moments, whether prompt, decision and evidence are equal, and how many calls were repeated or
may have been billed beyond the finished ones.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from judgewright.runs.calls import CallStore
from judgewright.runs.journal import list_runs
from judgewright.runs.workspace import Workspace

WALK = (
    "--objective",
    "do not call unsupported statements grounded",
    "--target",
    "precision",
    "--guard",
    "recall:-0.05",
    "--model",
    "simulated",
)
COMPARED = ("decision", "prompt", "slice", "loss", "benchmark", "everything")


def command(arguments: tuple[str, ...], folder: Path) -> subprocess.Popen[bytes]:
    """Start the command line in a workspace."""
    whole = [sys.executable, "-m", "judgewright", *arguments, "--workspace", ".", "--json"]
    return subprocess.Popen(whole, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def last_run(folder: Path) -> str | None:
    """The newest run of a workspace, if it has begun one."""
    with Workspace(folder) as place:
        runs = list_runs(place.database) if place.exists else ()
    return runs[-1].run_id if runs else None


def main(data: str, kills: int = 10, seed: int = 0) -> None:
    """Run once in peace, once with kills, and print the comparison."""
    walk = ("optimize", "groundedness", str(Path(data).resolve()), *WALK)
    with tempfile.TemporaryDirectory() as calm, tempfile.TemporaryDirectory() as rough:
        started = time.monotonic()
        expected = json.loads(command(walk, Path(calm)).communicate()[0])
        length = time.monotonic() - started
        print(f"undisturbed: {length:.1f} s, {expected['calls']} calls, {expected['decision']['outcome']}")
        rng = random.Random(seed)
        in_flight, out = [], b""
        while True:
            run = last_run(Path(rough))
            process = command(("runs", "resume", run) if run else walk, Path(rough))
            try:
                wait = rng.uniform(1.0, length * 0.85) if len(in_flight) < kills else None
                out = process.communicate(timeout=wait)[0]
                break
            except subprocess.TimeoutExpired:
                os.kill(process.pid, signal.SIGKILL)
                process.communicate()
            run = last_run(Path(rough))
            with Workspace(Path(rough)) as place:
                in_flight.append(CallStore(place.database, run).summary().in_doubt if run else 0)
            print(f"killed after {wait:.1f} s; in doubt so far: {in_flight[-1]}")
        found = json.loads(out)
        with Workspace(Path(rough)) as place:
            summary = CallStore(place.database, found["run"]).summary()
        same = {key: found[key] == expected[key] for key in COMPARED}
        print(f"after {len(in_flight)} kills, equal to the undisturbed run: {same}")
        print(f"calls kept {summary.done}, attempts {summary.attempts}, repeated {summary.repeated}")
        print(f"may have been billed beyond the kept calls: {summary.in_doubt}, all of them in flight at a kill")
        sys.exit(0 if all(same.values()) and summary.repeated == 0 else 1)


if __name__ == "__main__":
    main(sys.argv[1], *(int(a) for a in sys.argv[2:]))
