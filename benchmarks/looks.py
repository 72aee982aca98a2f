"""What rows that were looked at cost later commands, as a ratio to the same commands in a workspace
without them.

    python benchmarks/looks.py [--rows 1000000] [--commands 5]

One prompt was measured on so many rows. Then, each in a process of its own and in turns with a
workspace where nothing was: which rows of 300 are sealed and a measurement of them entered, as
`bench`, `slices` and `score` do; and the next look at 300 fresh rows, or at 300 of the rows, as
`gate` does. Prints seconds of CPU and megabytes, and their ratios.
"""

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

WORK = """
import json, random, resource, sys, time
from pathlib import Path
from judgewright.judges import BINARY, Dataset, Row
from judgewright.optimize.holdout import RowFingerprints
from judgewright.runs.store import HoldoutLedger, Workspace
from judgewright.runs.store.sealed_rows import cost_of_measuring, seal_of

folder, what, first, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
words = ["".join(random.Random(i).choices("abcdefghijklmnop", k=4)) for i in range(5000)]

def rows():
    for i in range(first, first + count):
        dice = random.Random(i)
        texts = {"source": " ".join(dice.choices(words, k=40)), "statement": " ".join(dice.choices(words, k=12))}
        yield Row(id=f"r{i}", inputs=texts, label=1.0)

dataset = Dataset.of(rows(), labels=BINARY)
with Workspace(Path(folder)) as place:
    ledger = HoldoutLedger(place.database)
    began = time.process_time()
    if what == "measure":
        seal_of(place, dataset, by="bench")
        cost_of_measuring(place, dataset, "judge")
        ledger.measured(f"v{first}", RowFingerprints.of(dataset), by="bench")
    else:
        ledger.remember(what, open=RowFingerprints(), sealed={what: RowFingerprints.of(dataset)})
        ledger.begin(what, run_id=what, before="a", after="b")
    spent = time.process_time() - began
print(json.dumps([spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""  # noqa: E501
FRESH = 10_000_000
"""From which number on rows are none that were looked at."""


def work(folder: Path, what: str, first: int, count: int) -> tuple[float, float]:
    """Do it in a process of its own; return seconds of CPU and megabytes."""
    words = [sys.executable, "-c", WORK, str(folder), what, str(first), str(count)]
    cpu, memory = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    return cpu, memory


def main() -> None:
    """Fill two workspaces and compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--commands", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as parent:
        bare, full = Path(parent, "bare"), Path(parent, "full")
        work(bare, "first", FRESH - 1_000, 100)
        shutil.copytree(bare, full)
        cpu, _ = work(full, "measure", 0, options.rows)
        print(f"a measurement of {options.rows:,} rows: {cpu:.1f} s of CPU")
        dice = random.Random(0)
        for what, said in (
            ("measure", "bench"),
            ("fresh", "gate on fresh rows"),
            ("met", "gate on rows of them"),
        ):
            took: dict[Path, list[tuple[float, float]]] = {bare: [], full: []}
            for turn in range(options.commands):
                first = (
                    dice.randrange(options.rows - 300) if what == "met" else FRESH + 1_000 * turn
                )
                for folder, all_took in took.items():
                    all_took.append(
                        work(folder, what if what == "measure" else f"{what}{turn}", first, 300)
                    )
            (cpu, memory), (cpu_full, memory_full) = (
                (
                    statistics.median(one[0] for one in took[folder]),
                    statistics.median(one[1] for one in took[folder]),
                )
                for folder in (bare, full)
            )
            print(
                f"{said}: {cpu:.3f} -> {cpu_full:.3f} s of CPU ({cpu_full / cpu:.2f} times), "
                f"{memory:.0f} -> {memory_full:.0f} MB",
                flush=True,
            )


if __name__ == "__main__":
    main()
