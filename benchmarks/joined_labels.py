"""Join labels of a biased queue to data files, and compare every figure with the file's own.

    python benchmarks/joined_labels.py [--files 200] [--seed 0]

A file has 300 rows in 100 groups and two judges. A queue draws from 900 rows more, those on which
the judges differ with probability .5 and the others with .05, as a queue of flips does; what it
draws is joined to the file with the column `sampling_probability`. Benchmark, slices and gate are
computed on both files. Prints how many figures changed, and for comparison in how many files each
figure leaves its own 95 % interval if they are joined without that column.
"""

import argparse
import tempfile
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import judgewright as jw
from judgewright.judges import JudgedDataset, measure
from judgewright.judges.rows import SAMPLING_PROBABILITY
from judgewright.slices import find_slices

Record = dict[str, Any]
ROWS, POOL = 300, 900
WEAK = "table"
"""The channel in which the judge in use errs."""


def make_rows(rng: np.random.Generator, count: int, prefix: str) -> list[Record]:
    """Rows of three a group, with a label and the verdicts of two judges; the second repairs half
    of the weak slice.
    """
    rows: list[Record] = []
    for i in range(count):
        channel = str(rng.choice([WEAK, "report", "chat"]))
        label = int(rng.random() < 0.5)
        first = label if rng.random() < (0.6 if channel == WEAK else 0.88) else 1 - label
        second = label if first != label and rng.random() < 0.4 else first
        if rng.random() < 0.04:
            second = 1 - second
        rows.append(
            {
                "id": f"{prefix}{i}",
                "group_id": f"{prefix}g{i // 3}",
                "channel": channel,
                "length": float(rng.normal()),
                "label": label,
                "first": first,
                "second": second,
            }
        )
    return rows


def draw(rng: np.random.Generator, pool: list[Record]) -> list[Record]:
    """Return what a queue of flips draws, with the probability of each."""
    drawn: list[Record] = []
    for row in pool:
        probability = 0.5 if row["first"] != row["second"] else 0.05
        if rng.random() < probability:
            drawn.append({**row, SAMPLING_PROBABILITY: probability})
    return drawn


def sides(rows: list[Record]) -> tuple[JudgedDataset, JudgedDataset]:
    """Both judges' verdicts on the rows, read as a person's file is."""
    texts = [
        {name: value for name, value in row.items() if name not in ("first", "second")}
        for row in rows
    ]
    judges: list[JudgedDataset] = []
    for judge in ("first", "second"):
        scored = [{**text, "score": row[judge]} for text, row in zip(texts, rows, strict=True)]
        judges.append(jw.load_verdicts(scored))
    return judges[0], judges[1]


def figures(rows: list[Record]) -> Record:
    """Every figure of benchmark, slices and gate."""
    before, after = sides(rows)
    bench = {"first": measure(before).to_json(), "second": measure(after).to_json()}
    with tempfile.TemporaryDirectory() as folder:
        gated = jw.gate(
            before, after, target="precision", guard={"recall": 0.1}, workspace=Path(folder)
        )
    report = find_slices(before, metric="precision", columns=["channel", "length"])
    return {
        "bench": bench,
        "slices": [one.to_json() for one in report.slices],
        "gate": asdict(gated.decision),
    }


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    changed: Counter[str] = Counter()
    left: Counter[str] = Counter()
    joined_rows = 0
    for number in range(arguments.files):
        rng = np.random.default_rng((arguments.seed, number))
        rows = make_rows(rng, ROWS, "r")
        drawn = draw(rng, make_rows(rng, POOL, "p"))
        joined_rows += len(drawn)
        own, joined = figures(rows), figures([*rows, *drawn])
        changed.update(part for part in own if own[part] != joined[part])
        naive, _ = sides([*rows, *({**row, SAMPLING_PROBABILITY: None} for row in drawn)])
        before, _ = sides(rows)
        apart, together = measure(before).metrics, measure(naive).metrics
        for name in ("precision", "recall", "accuracy", "kappa"):
            value, low, high = together[name].value, apart[name].low, apart[name].high
            left[name] += value is None or low is None or high is None or not low <= value <= high
    print(
        f"{arguments.files} files of {ROWS} rows, {joined_rows / arguments.files:.0f} joined to"
        " each"
    )
    for part in ("bench", "slices", "gate"):
        print(f"  {part}: any figure changed in {changed[part]} files")
    print("without the column, files in which a figure leaves its 95 % interval:")
    for name, count in left.items():
        print(f"  {name}: {count}")


if __name__ == "__main__":
    main()
