"""Compare one prompt with itself through the gate, many times, with a fresh repeat index for each
side.

    python benchmarks/same_prompt.py ROWS.jsonl [COMPARISONS] [ROWS_EACH]

The simulated judge's verdicts differ from repeat to repeat as an endpoint's do; every accept is a
false one. The guard is wide enough to be decidable, and each comparison is a first look (alpha
.0304) on rows of its own draw.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from judgewright.judges import Client, Registry, Simulated, judge, load_dataset
from judgewright.optimize import decide, read_objective
from judgewright.optimize.holdout.ledger import alpha_of_look


def main(data: str, comparisons: int = 500, size: int = 300) -> None:
    """Print how often the gate accepted a prompt against itself, and how many verdicts differed."""
    prompt = Registry().get("groundedness")
    rows = load_dataset(Path(data), inputs=prompt.inputs, scale=prompt.scale)
    objective = read_objective("raise precision", target="precision", guards=("recall:-0.10",))
    rng = np.random.default_rng(0)
    outcomes: dict[str, int] = {}
    flips = []
    with Client(Simulated()) as client:
        for k in range(comparisons):
            drawn = sorted(rng.choice(len(rows), size, replace=False))
            part = replace(rows, rows=tuple(rows.rows[i] for i in drawn))
            sides = [judge(prompt, part, client, repeat=2 * k + side) for side in (0, 1)]
            decision = decide(*sides, objective, alpha=alpha_of_look(1))
            outcomes[decision.outcome] = outcomes.get(decision.outcome, 0) + 1
            flips.append(float((sides[0].predicted != sides[1].predicted).mean()))
    print(
        f"{comparisons} comparisons of {size} rows: {outcomes}; verdicts that differed:"
        f" {np.mean(flips):.1%}"
    )
    sys.exit(0 if outcomes.get("accepted", 0) <= 33 * comparisons / 500 else 1)


if __name__ == "__main__":
    main(sys.argv[1], *(int(a) for a in sys.argv[2:]))
