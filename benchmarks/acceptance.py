"""How true the printed chance of acceptance is.

    python benchmarks/acceptance.py tables [--runs 2000]

Tables: rows, labels and verdicts are drawn, no model is asked. Each run draws a few candidates that differ in what they
mend and break, measures them on selection rows, takes the one with the largest chance, and lets the real gate decide on
a holdout of its own. Chances are put into bands; in each the share accepted should be the mean chance.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from judgewright.judges import BINARY, Dataset, JudgedDataset, Row, Verdict
from judgewright.optimize import Changes, Prior, chance_of, decide, read_objective
from judgewright.optimize.holdout.ledger import alpha_of_look

GUARDED = read_objective("", target="precision", guards=("recall:-0.05",))
BANDS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.01)


@dataclass(frozen=True, slots=True)
class World:
    """How candidates of one run differ from the prompt in use: shares of each cell whose verdicts change."""

    rows: int
    holdout: int
    each: int
    """Rows in a group."""
    candidates: int


def draw_rows(count: int, each: int, prevalence: float, name: str, rng: np.random.Generator) -> Dataset:
    """Draw labelled rows; a group leans to one label."""
    groups = np.arange(count) // each
    lean = rng.beta(4 * prevalence, 4 * (1 - prevalence), int(groups.max()) + 1)
    labels = rng.random(count) < (lean[groups] if each > 1 else prevalence)
    rows = (
        Row(id=f"{name}{i}", inputs={}, label=float(label), group=f"{name}{group}")
        for i, (label, group) in enumerate(zip(labels, groups, strict=True))
    )
    return Dataset(rows=tuple(rows), labels=BINARY)


def judged(dataset: Dataset, decisions: np.ndarray) -> JudgedDataset:
    """Return answers with these decisions; shape (rows,)."""
    pairs = zip(dataset.rows, decisions.tolist(), strict=True)
    answers = tuple(Verdict(row_id=row.id, score=float(yes), positive=yes) for row, yes in pairs)
    return JudgedDataset(dataset=dataset, answers=answers, scale=BINARY)


def edit(first: JudgedDataset, flips: np.ndarray, rng: np.random.Generator) -> JudgedDataset:
    """Flip a share of the verdicts of each cell (tn, fp, fn, tp), group by group alike to a half."""
    cell = 2 * first.positive.astype(int) + first.predicted.astype(int)
    own, shared = rng.random(len(cell)), rng.random(int(first.groups.max()) + 1)[first.groups]
    draw = np.where(rng.random(len(cell)) < 0.5, own, shared)
    return judged(first.dataset, first.predicted ^ (draw < flips[cell]))


def draw_flips(rng: np.random.Generator) -> np.ndarray:
    """Draw what a candidate does to each cell; stricter ones mend false positives and lose true ones."""
    strict = rng.gamma(1.5, 0.06)
    noise = rng.gamma(1.0, 0.015)
    luck = rng.uniform(0.0, 1.2)
    flips = np.array([noise, 2 * strict + noise, noise, strict * luck + noise])
    if rng.random() < 0.25:  # a lenient one
        flips = np.array([strict * luck + noise, noise, 2 * strict + noise, noise])
    return np.minimum(flips, 0.9)


def one_table(world: World, rng: np.random.Generator) -> tuple[float, bool, float, float, float]:
    """Return a run's largest chance, whether it is accepted, and the target's change measured, expected, held out."""
    prevalence = rng.uniform(0.35, 0.6)
    selection = draw_rows(world.rows, world.each, prevalence, "s", rng)
    holdout = draw_rows(world.holdout, world.each, prevalence, "h", rng)
    wrong = rng.uniform(0.1, 0.4), rng.uniform(0.08, 0.3)
    sides = []
    for dataset in (selection, holdout):
        labels = np.array([row.label for row in dataset.rows]) > 0
        errs = rng.random(len(labels)) < np.where(labels, wrong[1], wrong[0])
        sides.append(judged(dataset, labels ^ errs))
    edits = [draw_flips(rng) for _ in range(world.candidates)]
    changes = [Changes.of(sides[0], edit(sides[0], flips, rng), GUARDED) for flips in edits]
    known = [one for one in changes if one is not None]
    prior = Prior.of(known, 2)
    groups = len({row.group for row in holdout.rows})
    chances = [
        chance_of(one, GUARDED, prior, alpha=alpha_of_look(1), groups=groups, seed=i) for i, one in enumerate(known)
    ]
    best = max(range(len(chances)), key=lambda i: chances[i].accepted)
    after = edit(sides[1], edits[best], rng)
    decision = decide(sides[1], after, GUARDED, alpha=alpha_of_look(1))
    change = decision.target.difference if decision.target else math.nan
    chance = chances[best]
    return chance.accepted, decision.accepted, chance.measured["precision"], chance.expected["precision"], change


def tables(runs: int) -> None:
    """Print a table of bands for all worlds together, and a line for each world."""
    every = []
    for rows in (60, 150, 400):
        for holdout in (100, 300, 800):
            for each in (1, 3):
                world = World(rows, holdout, each, 4)
                rng = np.random.default_rng(rows + holdout + each)
                found = np.array([one_table(world, rng) for _ in range(runs // 18)])
                every.append(found)
                m = found.mean(axis=0)
                changes = f"change measured {m[2]:+.3f}, expected {m[3]:+.3f}, holdout {np.nanmean(found[:, 4]):+.3f}"
                sizes = f"{rows:>4} selection, {holdout:>4} holdout rows, groups of {each}"
                print(f"{sizes}: chance {m[0]:.3f}, accepted {m[1]:.3f}; {changes}", flush=True)
    found = np.concatenate(every)
    print("| chance | runs | mean chance | accepted | 95 % interval |")
    for low, high in pairwise(BANDS):
        inside = found[(found[:, 0] >= low) & (found[:, 0] < high)]
        if len(inside):
            share = inside[:, 1].mean()
            half = 1.96 * math.sqrt(max(share * (1 - share), 0.25 / len(inside)) / len(inside))
            print(
                f"| {low:.2f} to {min(high, 1):.2f} | {len(inside)} | {inside[:, 0].mean():.3f} | {share:.3f} | "
                f"[{max(0, share - half):.3f}, {min(1, share + half):.3f}] |"
            )
    print(f"all: chance {found[:, 0].mean():.4f}, accepted {found[:, 1].mean():.4f} of {len(found)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("tables",))
    parser.add_argument("--runs", type=int, default=1800)
    arguments = parser.parse_args()
    tables(arguments.runs)
