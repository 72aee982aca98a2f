"""How true the printed chance of acceptance is.

    python benchmarks/acceptance.py tables [--runs 3600]
    python benchmarks/acceptance.py walks [--splits 15] [--rows 1200] [--json FILE]

Tables: rows, labels and verdicts are drawn, no model is asked. Each run draws a few candidates that
differ in what they mend and break, measures them on selection rows, takes the one with the largest
chance, and lets the real gate decide on a holdout of its own. Chances are put into bands; in each
the share accepted should be the mean chance.

Walks: whole runs on real rows with the simulated model. Each walk draws a part of the groups of a
file, and cuts it into training, validation and holdout; the groups that are left are an evaluation
part, which the product never sees. What has the largest chance goes to the gate whatever its
chance, and so does, as a first look too, what an earlier version would have sent: the last prompt
that the search kept. Printed are the mean chance and the share accepted, accepts by either rule,
how many accepts each limit of the chance would lose, with 40 holdouts drawn for each candidate from
the evaluation part, and by how much changes on selection rows, as measured and as estimated,
overstate those on the evaluation part.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from real_rows import DATA, cut, open_services

from judgewright.judges import (
    BINARY,
    Client,
    Dataset,
    JudgedDataset,
    Registry,
    Row,
    Simulated,
    Verdict,
    compare,
    load_dataset,
)
from judgewright.judges.metrics import wilson
from judgewright.judges.models import MemoryRecord
from judgewright.optimize import (
    Belief,
    Changes,
    Mipro,
    Objective,
    RunContext,
    RunSettings,
    TextGrad,
    benchmark,
    chance_of,
    choose_survivor,
    decide,
    decide_on_holdout,
    judge_rows,
    read_objective,
    search,
    split_rows,
)
from judgewright.optimize.goal_setting import set_goal
from judgewright.optimize.holdout.ledger import alpha_of_look

GUARDED = read_objective("", target="precision", guards=("recall:-0.05",))
BANDS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.01)


@dataclass(frozen=True, slots=True)
class World:
    """How candidates of one run differ from the prompt in use: shares of each cell whose verdicts
    change.
    """

    rows: int
    holdout: int
    each: int
    """Rows in a group."""
    candidates: int


def draw_rows(
    count: int, each: int, prevalence: float, name: str, rng: np.random.Generator
) -> Dataset:
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
    """Flip a share of the verdicts of each cell (tn, fp, fn, tp), group by group alike to a
    half.
    """
    cell = 2 * first.positive.astype(int) + first.predicted.astype(int)
    own, shared = rng.random(len(cell)), rng.random(int(first.groups.max()) + 1)[first.groups]
    draw = np.where(rng.random(len(cell)) < 0.5, own, shared)
    return judged(first.dataset, first.predicted ^ (draw < flips[cell]))


def draw_flips(rng: np.random.Generator) -> np.ndarray:
    """Draw what a candidate does to each cell; stricter ones mend false positives and lose true
    ones.
    """
    strict = rng.gamma(1.5, 0.06)
    noise = rng.gamma(1.0, 0.015)
    luck = rng.uniform(0.0, 1.2)
    flips = np.array([noise, 2 * strict + noise, noise, strict * luck + noise])
    if rng.random() < 0.25:  # a lenient one
        flips = np.array([strict * luck + noise, noise, 2 * strict + noise, noise])
    return np.minimum(flips, 0.9)


def one_table(world: World, rng: np.random.Generator) -> tuple[float, bool, float, float, float]:
    """Return a run's largest chance, whether it is accepted, and the target's change measured,
    expected, held out.
    """
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
    groups = len({row.group for row in holdout.rows})
    chances = [
        chance_of(
            one,
            GUARDED,
            Belief.of(one, tried=len(known)),
            alpha=alpha_of_look(1),
            groups=groups,
            seed=i,
        )
        for i, one in enumerate(known)
    ]
    best = max(range(len(chances)), key=lambda i: chances[i].accepted)
    after = edit(sides[1], edits[best], rng)
    decision = decide(sides[1], after, GUARDED, alpha=alpha_of_look(1))
    change = decision.target.difference if decision.target else math.nan
    chance = chances[best]
    return (
        chance.accepted,
        decision.accepted,
        chance.measured["precision"],
        chance.expected["precision"],
        change,
    )


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
                changes = (
                    f"change measured {m[2]:+.3f}, expected {m[3]:+.3f}, holdout"
                    f" {np.nanmean(found[:, 4]):+.3f}"
                )
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
                f"| {low:.2f} to {min(high, 1):.2f} | {len(inside)} | {inside[:, 0].mean():.3f} |"
                f" {share:.3f} | [{max(0, share - half):.3f}, {min(1, share + half):.3f}] |"
            )
    print(
        f"all: chance {found[:, 0].mean():.4f}, accepted {found[:, 1].mean():.4f} of {len(found)}"
    )


@dataclass(frozen=True, slots=True)
class Task:
    """A file with what is wanted of its judge."""

    file: str
    judge: str
    text: str
    target: str
    guards: tuple[str, ...]


TASKS = (
    Task(
        "groundedness_multi.jsonl",
        "groundedness",
        "no false alarms",
        "precision",
        ("recall:-0.05",),
    ),
    Task("groundedness_multi.jsonl", "groundedness", "better all round", "f1", ("recall:-0.05",)),
    Task(
        "answer_relevance.jsonl", "answer_relevance", "miss fewer", "recall", ("precision:-0.05",)
    ),
    Task(
        "answer_relevance.jsonl", "answer_relevance", "better all round", "f1", ("precision:-0.05",)
    ),
)
SHARES = (30, 25, 45, 0)
HOLDOUTS = 40


def walk(task: Task, dataset: Dataset, client: Client, split: int, *, rows: int) -> dict[str, Any]:
    """Take one walk, and measure what it ends with on the evaluation part; None in the place of
    what it has not.
    """
    prompt = Registry().get(task.judge)
    objective = read_objective(task.text, target=task.target, guards=task.guards)
    walked, evaluation = cut(dataset, split, rows=rows)
    proposer, steps = (TextGrad(), 3) if split % 2 else (Mipro(), 2)
    settings = RunSettings(steps=steps, seed=split, shares=SHARES, gate_anyway=True)
    services = open_services(client, proposer, f"{task.file} {task.target} {split}")
    parts = split_rows(prompt, walked, services, settings)
    baseline = benchmark(prompt, parts, services, settings)
    goal = set_goal(objective, baseline, services, settings)
    run = RunContext(prompt=prompt, parts=parts, goal=goal, services=services, settings=settings)
    survivor = choose_survivor(run, search(run, baseline))
    result: dict[str, Any] = {
        "task": f"{task.judge} {task.target}",
        "split": split,
        "proposer": proposer.name,
    }
    result |= {"chance": None, "accepted": False}
    if survivor is not None:
        decision = decide_on_holdout(run, survivor)
        assert decision is not None
        chance = survivor.chance
        result |= {
            "chance": chance.accepted,
            "accepted": decision.accepted,
            "rule": survivor.rule is not None,
        }
        result |= {
            "threshold_alone": survivor.prompt is prompt,
            "outcome": decision.outcome,
            "reason": decision.reason,
        }
        tables = [
            judge_rows("evaluation", p, evaluation, services, settings)
            for p in (prompt, survivor.prompt)
        ]
        if survivor.rule is not None:
            tables[1] = tables[1].under(survivor.rule)
        changes = [compare(name, *tables) for name in objective.metrics]
        names = objective.metrics
        result["measured"] = [chance.measured[name] for name in names]
        result["expected"] = [chance.expected[name] for name in names]
        result["evaluation"] = [None if change is None else change.difference for change in changes]
        result["holdout"] = None if decision.target is None else decision.target.difference
        groups = parts.holdout.groups
        result["share"] = accepted_share(tables[0], tables[1], objective, groups=groups, seed=split)
    return result


def accepted_share(
    before: JudgedDataset, after: JudgedDataset, objective: Objective, *, groups: int, seed: int
) -> float | None:
    """Return the share of holdouts of so many groups of these rows that the gate accepts; None
    where there are few.
    """
    names = np.unique(before.groups)
    if len(names) < 2 * groups:
        return None
    rng, accepted = np.random.default_rng(seed), 0
    for _ in range(HOLDOUTS):
        rows = np.flatnonzero(np.isin(before.groups, rng.choice(names, groups, replace=False)))
        decision = decide(before.only(rows), after.only(rows), objective, alpha=alpha_of_look(1))
        accepted += decision.accepted
    return accepted / HOLDOUTS


def walks(splits: range, rows: int, file: Path | None) -> None:
    """Take the walks that `file` (JSON lines) does not hold yet, add each to it, and print what all
    come to.
    """
    found: list[dict[str, Any]] = []
    if file is not None and file.exists():
        found = [json.loads(line) for line in file.read_text().splitlines()]
    taken = {(one["task"], one["split"]) for one in found}
    for task in TASKS:
        prompt = Registry().get(task.judge)
        dataset = load_dataset(DATA / task.file, inputs=prompt.inputs, scale=prompt.scale)
        with Client(Simulated(), record=MemoryRecord()) as client:
            for split in splits:
                if (f"{task.judge} {task.target}", split) in taken:
                    continue
                found.append(walk(task, dataset, client, split, rows=rows))
                print(json.dumps(found[-1]), flush=True)
                if file is not None:
                    with file.open("a") as lines:
                        lines.write(json.dumps(found[-1]) + "\n")
    sent = [one for one in found if one["chance"] is not None]
    chances = [one["chance"] for one in sent]
    accepted = sum(one["accepted"] for one in sent)
    low, high = wilson(accepted, len(sent)) or (0.0, 1.0)
    print(
        f"{len(found)} walks, {len(sent)} with a candidate: mean chance {np.mean(chances):.3f},"
        f" accepted {accepted}"
    )
    print(
        f"  share accepted {accepted / len(sent):.3f}, binomial 95 % interval [{low:.3f},"
        f" {high:.3f}]"
    )
    for least in (0.0, 0.05, 0.1, 0.2):
        looks = [one for one in sent if one["chance"] >= least]
        print(
            f"  --least-chance {least:g}: {len(looks)} looks,"
            f" {sum(one['accepted'] for one in looks)} accepted"
        )
    drawn = [(one["chance"], one["share"]) for one in sent if one.get("share") is not None]
    total = sum(share for _, share in drawn)
    for least in (0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1):
        lost = sum(share for chance, share in drawn if chance < least)
        looks = sum(chance < least for chance, _ in drawn)
        print(
            f"  under {least:g}: {looks} of {len(drawn)} candidates, {lost:.2f} of {total:.2f}"
            " accepts lost"
        )
    for what in ("measured", "expected"):
        off = [
            one[what][0] - one["evaluation"][0] for one in sent if one["evaluation"][0] is not None
        ]
        se = float(np.std(off, ddof=1)) / math.sqrt(len(off))
        print(
            f"  {what} change less that on the evaluation part: {np.mean(off):+.4f}, standard error"
            f" {se:.4f}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=("tables", "walks"))
    parser.add_argument("--runs", type=int, default=3600)
    parser.add_argument("--splits", type=int, default=15)
    parser.add_argument(
        "--first", type=int, default=0, help="the first split; earlier ones may have been looked at"
    )
    parser.add_argument("--rows", type=int, default=1_200, help="of a walk")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.part == "tables":
        tables(arguments.runs)
    else:
        walks(
            range(arguments.first, arguments.first + arguments.splits),
            arguments.rows,
            arguments.json,
        )
