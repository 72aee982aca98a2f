"""Measure what choosing decided cases costs: milliseconds of CPU a row, and once for a bank.

    python benchmarks/decided_cases.py [--cases 3000] [--characters 2000] [--rows 300] [--memory]

Texts are made of words drawn as often as Zipf's law has them, 20,000 different ones, so that
neighbours share what rows of one kind share. The bank and the rows are disjoint. `--memory` gives
the peak of a process that benches 1,000 rows and of one that benches ten times as many, instead.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from judgewright.judges import BINARY, Case, CaseBank, Cases, Registry, Row
from judgewright.judges.nearest_cases import NearestTexts
from judgewright.judges.plain_cases import CaseChoice, plain

WORDS = 20_000
LETTERS = "etaoinshrdlucmfwypvbgkjqxz"


def texts(count: int, characters: int, rng: random.Random) -> list[str]:
    """Return so many texts of about so many characters."""
    shares = [1 / (len(LETTERS) - i) for i in reversed(range(len(LETTERS)))]
    words = ["".join(rng.choices(LETTERS, shares, k=rng.randint(2, 9))) for _ in range(WORDS)]
    often = [1 / (rank + 1) for rank in range(WORDS)]
    return [" ".join(rng.choices(words, often, k=characters // 6)) for _ in range(count)]


def milliseconds(work: Sequence[object], of: object) -> float:
    """Return the median of CPU for a call of `of` with each."""
    spent: list[float] = []
    for one in work:
        start = time.process_time()
        of(one)  # type: ignore[operator]
        spent.append(1000 * (time.process_time() - start))
    return statistics.median(spent)


def peak_of_bench(cases: int, rows: int, characters: int) -> None:
    """Print the most memory that the command takes, with a bank and without."""
    made = texts(cases + rows, characters, random.Random(7))
    lines = [{"source": text[150:], "statement": text[:150], "label": 1} for text in made]
    bank = CaseBank(
        cases=tuple(
            Case(inputs={"source": one["source"], "statement": one["statement"]}, label=1)
            for one in lines[:cases]
        ),
        labels=BINARY,
    )
    with tempfile.TemporaryDirectory() as folder:
        judge = Registry().get("groundedness")
        replace(judge, cases=Cases(bank=bank)).write(Path(folder, "judge.yaml"))
        file = Path(folder, "rows.jsonl")
        file.write_text("".join(json.dumps(line) + "\n" for line in lines[cases:]))
        for name in ("judge.yaml", "groundedness"):
            words = ["-m", "judgewright", "bench", name, str(file), "--model", "simulated"]
            child = subprocess.Popen(
                [sys.executable, *words],
                cwd=folder,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            _, status, used = os.wait4(child.pid, 0)
            assert status == 0
            print(f"bench of {rows:,} rows, {name}: {used.ru_maxrss / 1024:.0f} MB")


def main() -> None:
    """Print a line for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--characters", type=int, default=2000)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--memory", action="store_true")
    options = parser.parse_args()
    if options.memory:
        for rows in (1_000, 10_000):
            peak_of_bench(options.cases, rows, options.characters)
        return
    rng = random.Random(7)
    made = texts(options.cases + options.rows, options.characters, rng)
    inputs = [{"source": text[150:], "statement": text[:150]} for text in made]
    bank = CaseBank(
        cases=tuple(
            Case(inputs=one, label=i % 2, id=f"c{i}")
            for i, one in enumerate(inputs[: options.cases])
        ),
        labels=BINARY,
    )
    rows = [Row(id=f"r{i}", inputs=one) for i, one in enumerate(inputs[options.cases :])]
    judge = Registry().get("groundedness")
    shown = replace(judge, cases=Cases(bank=bank))
    start = time.process_time()
    shown.messages(rows[0])
    print(f"once for a bank of {options.cases:,}: {time.process_time() - start:.2f} s")
    whole = [plain(one["source"] + "\n" + one["statement"]) for one in inputs]
    nearest = NearestTexts(whole[: options.cases])
    choose = milliseconds(rows, shown.shown_cases.choose)  # type: ignore[arg-type]
    figures = {
        "compare with all cases": milliseconds(whole[options.cases :], nearest.scores),
        "choose, with the rule against leaks": choose,
        "messages, with cases": milliseconds(rows, shown.messages),  # type: ignore[arg-type]
        "messages, without": milliseconds(rows, judge.messages),  # type: ignore[arg-type]
    }
    for what, spent in figures.items():
        print(f"{what}: {spent:.3f} ms a row")
    exported = CaseChoice(bank.cases, shown.shown_cases.showing)
    start = time.process_time()
    exported.text(inputs[-1])
    print(f"an export, in plain Python, once: {time.process_time() - start:.2f} s")
    spent = milliseconds(inputs[options.cases :], exported.text)  # type: ignore[arg-type]
    print(f"an export, in plain Python: {spent:.3f} ms a row")


if __name__ == "__main__":
    main()
