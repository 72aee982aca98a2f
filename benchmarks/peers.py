"""Hold ours against the peers that are installed, in one run: how many times our CPU time each of
them takes.

    python benchmarks/peers.py [--quick] [--others PYTHON] [--out TABLE.md]

`make benchmarks` runs it, once sliceline and pysubgroup are installed in an environment of their
own. Every measurement but the last is a process of its own, and ours and the peers take turns, so
that a busy machine changes the ratios little. What a call, a search and an interval are, say
`calls.py`, `planted.py` and `intervals.py`. Behind the table stands how many calls of functions a
row costs, by the test that keeps that number from rising. `--quick` is a first look.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import calls
import intervals
import planted
import streams
from faults import run_test

from judgewright.judges.files import VerdictColumns, stream_verdicts

OTHERS = Path(__file__).resolve().parents[1] / ".verify" / "slices" / "bin" / "python"
CALLS_PER_ROW = (
    "test_a_row_of_a_verdict_file_costs_no_more_calls",
    "test_a_judged_row_costs_no_more_calls",
)


@dataclass(frozen=True)
class Line:
    """One comparison: seconds of CPU and megabytes, each as a median; None where the peer could not
    be measured.
    """

    what: str
    peer: str
    ours: tuple[float, float]
    theirs: tuple[float, float] | None

    def written(self) -> str:
        """Return the line of the table."""
        if self.theirs is None:
            return (
                f"| {self.what} | {self.peer} | {self.ours[0]:.3g} | - | not installed, or out of"
                " memory | |"
            )
        (cpu, memory), (their_cpu, their_memory) = self.ours, self.theirs
        room = f"{their_memory / memory:.1f}" if memory and their_memory else ""
        return (
            f"| {self.what} | {self.peer} | {cpu:.3g} | {their_cpu:.3g} | {their_cpu / cpu:.1f} |"
            f" {room} |"
        )


HEAD = (
    "| what | peer | our CPU, s | its CPU, s | times our CPU | times our memory"
    " |\n|---|---|---|---|---|---|"
)


def middle(found: list[dict[str, float] | None]) -> tuple[float, float] | None:
    """Return the medians of CPU and memory; None where something was not measured."""
    known = [one for one in found if one is not None]
    if not known or len(known) < len(found):
        return None
    return statistics.median(one["cpu"] for one in known), statistics.median(
        one["mb"] for one in known
    )


def take_turns(
    what: str,
    rounds: int,
    ours: Callable[[], dict[str, float] | None],
    peers: dict[str, Callable[[], dict[str, float] | None]],
) -> Iterator[Line]:
    """Measure ours and each peer in turn, so many rounds; a peer that fails is not tried again."""
    found: dict[str, list[dict[str, float] | None]] = {name: [] for name in ("", *peers)}
    for _ in range(rounds):
        for name, measure in {"": ours, **peers}.items():
            if None not in found[name]:
                found[name].append(measure())
    base = middle(found.pop(""))
    if base is None:
        raise SystemExit(f"ours could not be measured: {what}")
    for name, results in found.items():
        yield Line(what, name, base, middle(results))


def of_calls(rounds: int, each: int) -> Iterator[Line]:
    """A judge's call with 64 in flight: ours renders, looks up, stores and reads."""
    server = calls.child("serve", 0.0)
    try:
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"

        def measure(client: str) -> dict[str, float] | None:
            found = calls.measured(client, url, 64, each // 4 if client in calls.SLOW else each)
            return found and {"cpu": found["cpu"], "mb": found["rss"]}

        peers = {
            calls.CLIENTS[one][0]: lambda one=one: measure(one)
            for one in ("aiohttp", "create", "litellm", "dspy")
        }
        yield from take_turns("a judge's call, stored", rounds, lambda: measure("plain"), peers)
    finally:
        server.kill()
        server.wait()


def of_slices(rounds: int, rows: int, others: str) -> Iterator[Line]:
    """One search for slices among 16 columns."""

    def measure(tool: str, python: str) -> dict[str, float] | None:
        words = [python, planted.__file__, "--run", tool, str(rows)]
        try:
            done = subprocess.run(words, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            return None
        return None if done.returncode else json.loads(done.stdout.splitlines()[-1])

    peers = {tool: lambda tool=tool: measure(tool, others) for tool in ("sliceline", "pysubgroup")}
    what = f"one search for slices, {rows:,} rows"
    yield from take_turns(what, rounds, lambda: measure("search", sys.executable), peers)


def read_with(tool: str, path: Path) -> None:
    """Read a file of verdicts, and print what it took; what is imported and made once is not
    counted.
    """
    import resource

    def ours(file: Path) -> object:
        return stream_verdicts(file, VerdictColumns(confidence="confidence"))

    def with_json(file: Path) -> object:
        with file.open(encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]

    def with_pandas(file: Path) -> object:
        import pandas as pd

        return pd.read_json(file, lines=True)

    read = {"ours": ours, "json.loads": with_json, "pandas.read_json": with_pandas}[tool]
    few = path.with_name("few.jsonl")
    streams.write_verdicts(few, 30, grouped=False)
    read(few)
    began = time.process_time()
    read(path)
    cpu = time.process_time() - began
    print(json.dumps({"cpu": cpu, "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


def of_reading(rounds: int, rows: int) -> Iterator[Line]:
    """A file of verdicts: ours checks every row and counts it, the others only hold it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "verdicts.jsonl")
        streams.write_verdicts(path, rows, grouped=False)

        def measure(tool: str) -> dict[str, float] | None:
            words = [sys.executable, __file__, "--read", tool, str(path)]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            return None if done.returncode else json.loads(done.stdout)

        peers = {
            tool: lambda tool=tool: measure(tool) for tool in ("json.loads", "pandas.read_json")
        }
        yield from take_turns(
            f"a file of {rows:,} verdicts", rounds, lambda: measure("ours"), peers
        )


def of_intervals() -> Line:
    """95 % intervals of two metrics, against resampling."""
    label, predicted = intervals.made()
    _, slow = intervals.scikit_learn_loop(label, predicted)
    _, quick = intervals.leaving_out(label, predicted, None)
    what = f"intervals of {' and '.join(intervals.METRICS)}, {intervals.ROWS:,} rows"
    return Line(what, f"scikit-learn, {intervals.RESAMPLES:,} resamples", (quick, 0.0), (slow, 0.0))


def compare(*, quick: bool, others: str) -> Iterator[str]:
    """Yield the table line by line, and then the counts."""
    yield HEAD
    rounds = 1 if quick else 3
    for line in of_calls(rounds, 200 if quick else 1000):
        yield line.written()
    for line in of_slices(rounds, 10_000 if quick else 100_000, others):
        yield line.written()
    for line in of_reading(rounds, 20_000 if quick else 200_000):
        yield line.written()
    yield of_intervals().written()
    yield ""
    for name in CALLS_PER_ROW:
        yield f"{run_test(name, few=True, quiet=True) or 'MORE THAN IS ALLOWED'} (`{name}`)"


def main() -> None:
    """Print the table as it is made."""
    if sys.argv[1:2] == ["--read"]:
        read_with(sys.argv[2], Path(sys.argv[3]))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument(
        "--others", default=str(OTHERS), help="A Python that has sliceline and pysubgroup."
    )
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines: list[str] = []
    for line in compare(quick=options.quick, others=options.others):
        print(line, flush=True)
        lines.append(line)
    if options.out:
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    if any("MORE THAN IS ALLOWED" in line for line in lines):
        sys.exit(1)


if __name__ == "__main__":
    main()
