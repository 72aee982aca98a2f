"""Score a million recorded verdicts, and ten million, and say what CPU time and memory that takes.

    python benchmarks/streams.py [ROWS ...]

Each file is made up: labels and scores 0..3, a confidence of two digits, two columns of metadata;
then the same with three rows to a group. `judgewright score` is a process of its own; its CPU time
and its largest memory are the system's. Asked for is that a million rows take under two minutes of
CPU and 1 GB, and ten million without groups no more than 150 MB more than a million: 8 bytes a row
for the ids.

    python benchmarks/streams.py slices [ROWS ...]

Slices are searched of rows that are held: printed are the bytes that a row takes of the largest
memory beyond that of the size before, with texts that two hundred rows share.
"""

import os
import random
import sys
import tempfile
from pathlib import Path

LIMIT_CPU, LIMIT_MB, FLAT_MB = 120.0, 1000.0, 150.0


def write_verdicts(path: Path, rows: int, *, grouped: bool) -> None:
    """Write verdicts line by line."""
    draw = random.Random(rows)
    with path.open("w", encoding="utf-8") as file:
        for i in range(rows):
            label = draw.randrange(4)
            score = min(3, max(0, label + draw.choice((-1, 0, 0, 0, 0, 1))))
            group = f', "group": "q{draw.randrange(rows // 3)}"' if grouped else ""
            file.write(
                f'{{"id": "row-{i}", "label": {label}, "score":'
                f' {score if draw.random() < 0.99 else "null"}, "confidence":'
                f' {draw.uniform(0.5, 1):.2f}, "domain": "d{i % 7}", "words": {i % 300}{group}}}\n'
            )


def write_with_texts(path: Path, rows: int) -> None:
    """Write verdicts beside a source and a statement, both among the metadata."""
    draw = random.Random(rows)
    with path.open("w", encoding="utf-8") as file:
        for i in range(rows):
            label = draw.randrange(2)
            score = label if draw.random() < 0.8 else 1 - label
            file.write(
                f'{{"id": "row-{i}", "source": "{f"source {i // 200} " * 20}", "statement":'
                f' "{f"claim {i // 200} " * 8}", "label": {label}, "score": {score}, "domain":'
                f' "d{draw.randrange(5)}", "words": {draw.randrange(500)}}}\n'
            )


def measure(path: Path, *arguments: str) -> tuple[float, float]:
    """Return the seconds of CPU and the megabytes that a command took on a file."""
    command = [sys.executable, "-m", "judgewright", arguments[0], path.name, *arguments[1:]]
    child = os.fork()
    if child == 0:
        os.chdir(path.parent)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execv(command[0], command)
    _, status, usage = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{path.name}: {arguments[0]} failed ({status})")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure_slices(sizes: list[int]) -> None:
    """Search slices of files of each size, and print what a further row takes."""
    before: tuple[int, float] | None = None
    for rows in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "verdicts.jsonl")
            write_with_texts(path, rows)
            cpu, most = measure(path, "slices")
        print(f"{rows:>12,} rows, slices: {cpu:.1f} s of CPU, {most:.0f} MB", flush=True)
        if before is not None:
            further = (most - before[1]) * (1 << 20) / (rows - before[0])
            print(f"    {further:.0f} bytes for each further row")
        before = rows, most


def main() -> None:
    """Measure each size without and with groups, and hold the figures against what is asked for."""
    if sys.argv[1:2] == ["slices"]:
        measure_slices([int(text) for text in sys.argv[2:]] or [100_000, 200_000])
        return
    sizes = [int(text) for text in sys.argv[1:]] or [1_000_000, 10_000_000]
    memory: list[float] = []
    for rows in sizes:
        for grouped in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "verdicts.jsonl")
                write_verdicts(path, rows, grouped=grouped)
                cpu, most = measure(path, "score", "--confidence", "confidence")
            kind = "three rows a group" if grouped else "no groups"
            print(f"{rows:>12,} rows, {kind}: {cpu:.1f} s of CPU, {most:.0f} MB", flush=True)
            if rows == 1_000_000:
                print(
                    f"    asked for: under {LIMIT_CPU:.0f} s ({cpu < LIMIT_CPU}), {LIMIT_MB:.0f} MB"
                    f" ({most < LIMIT_MB})"
                )
            if not grouped:
                memory.append(most)
    print(
        f"most memory less least, without groups: {max(memory) - min(memory):.0f} MB, asked for:"
        f" {FLAT_MB:.0f}"
    )


if __name__ == "__main__":
    main()
