"""How many labels tell two judges apart: rows drawn by their verdicts against rows drawn at random;
and false accepts.

    python benchmarks/labels.py [order] [equal] [--runs N] [--seeds N] [--only METRIC]

Real verdicts, labels hidden and shown one by one, the same stopping rule for both orders. Order:
twelve judges of LLMJudge in pairs (accuracies within 8 points, both say yes to at least 2 %),
prompts of DIRAS on one model; the better one of each pair is the new one. A pair counts where the
random order decides before the labels are used up; of the others wrong decisions are counted.
"rows" takes each row for a group, "queries" the queries. Beside it
the labels that a test at a fixed number would take for the same gain with a power of .8
(independent rows). Equal: 500 runs each on 600 rows of a random pair, stopped at the first
crossing: verdicts swapped by a fair coin for each group, or labels drawn so that the metric is
    equal though one says yes oftener; at most 33 of 500 accepted.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from unittest.mock import patch

import numpy as np

from judgewright.optimize import Guard
from judgewright.optimize.flips import (
    FlipDecision,
    FlipDesign,
    FlipQueue,
    GivenLabel,
    PoolRow,
    score_table,
)
from judgewright.optimize.holdout.ledger import alpha_of_look

VERDICTS = Path(__file__).resolve().parents[2] / "shared/data/verdicts"
MATRIX = VERDICTS / "llmjudge_test.verdicts_matrix_dev12.jsonl"
DIRAS = ("gpt-4-nodef", "gpt-4-nocot", "gpt-4-0125-preview")
METRICS = ("accuracy", "precision", "recall", "f1")
GUARDS = {"accuracy": "recall", "precision": "recall", "recall": "precision", "f1": "recall"}
MARGIN = 0.05
POWER = 0.84
ROWS = 600
"""Rows of a pool of equal judges."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two judges on the same rows; verdicts are 1, 0 or NaN."""

    name: str
    before: np.ndarray
    after: np.ndarray
    label: np.ndarray
    group: np.ndarray

    def swapped(self) -> Pair:
        """Return the pair with the judges exchanged."""
        return Pair(self.name, self.after, self.before, self.label, self.group)

    def change(self, metric: str) -> float:
        """Return by how much the metric rises, on the rows that both scored."""
        both = ~(np.isnan(self.before) | np.isnan(self.after))
        return value(metric, self.after[both], self.label[both]) - value(
            metric, self.before[both], self.label[both]
        )

    def rows(self, group: np.ndarray) -> tuple[PoolRow, ...]:
        """Return the rows of a design."""
        said = [
            [None if np.isnan(v) else int(v) for v in side] for side in (self.before, self.after)
        ]
        return tuple(
            PoolRow(str(i), f"g{g}", a, b)
            for i, (g, a, b) in enumerate(zip(group.tolist(), *said, strict=True))
        )


def value(metric: str, said: np.ndarray, label: np.ndarray) -> float:
    """Return a metric."""
    hits = float((said * label).sum())
    if metric == "accuracy":
        return float((said == label).mean())
    if metric == "precision":
        return hits / max(float(said.sum()), 1.0)
    if metric == "recall":
        return hits / float(label.sum())
    return 2 * hits / float(said.sum() + label.sum())


def matrix_pairs() -> Iterator[Pair]:
    """Yield the pairs of the twelve judges."""
    lines = [json.loads(line) for line in MATRIX.read_text().splitlines()]
    group = np.unique([line["metadata"]["query_id"] for line in lines], return_inverse=True)[1]
    label = np.array([float(line["label"] >= 2) for line in lines])
    said: dict[str, np.ndarray] = {}
    for judge in sorted({judge for line in lines for judge in line["verdicts"]}):
        grades = (line["verdicts"].get(judge) for line in lines)
        said[judge] = np.array([np.nan if grade is None else float(grade >= 2) for grade in grades])
    for first, second in combinations(said, 2):
        pair = Pair(f"{first} / {second}", said[first], said[second], label, group)
        both = ~(np.isnan(pair.before) | np.isnan(pair.after))
        rates = pair.before[both].mean(), pair.after[both].mean()
        if min(rates) >= 0.02 and abs(pair.change("accuracy")) <= 0.08:
            yield pair


def diras_pairs() -> Iterator[Pair]:
    """Yield the prompts of DIRAS on GPT-4: with and without the definition, with and without
    reasons.
    """
    sides: dict[str, dict[str, float]] = {}
    rows: dict[str, tuple[float, str]] = {}
    for name in DIRAS:
        sides[name] = {}
        for line in (VERDICTS / f"diras_chatreport.{name}.jsonl").read_text().splitlines():
            row = json.loads(line)
            sides[name][row["id"]] = np.nan if row["verdict"] is None else float(row["verdict"])
            rows[row["id"]] = float(row["label"] >= 1), row["inputs"]["query"]
    label = np.array([y for y, _ in rows.values()])
    group = np.unique([query for _, query in rows.values()], return_inverse=True)[1]
    for first, second in combinations(DIRAS, 2):
        before, after = (
            np.array([sides[name].get(i, np.nan) for i in rows]) for name in (first, second)
        )
        yield Pair(f"{first} / {second}", before, after, label, group)


def design_of(
    pair: Pair,
    metric: str,
    *,
    guarded: bool,
    group: np.ndarray,
    seed: int,
) -> FlipDesign:
    """Return a design for a pair."""
    guards = (Guard(metric=GUARDS[metric], margin=MARGIN),) if guarded else ()
    return FlipDesign(
        target=metric,
        guards=guards,
        alpha=alpha_of_look(1),
        seed=seed,
        positive_from=1.0,
        rows=pair.rows(group),
    )


def label_until_decided(design: FlipDesign, pair: Pair) -> FlipDecision:
    """Show one label after the other."""
    queue = FlipQueue(design)
    if len({row.group for row in design.rows}) == len(design.rows):
        # One row a step: with all labels at hand the queue stops at the same one.
        return queue.decide([GivenLabel(str(i), float(y)) for i, y in enumerate(pair.label)])
    shown: list[GivenLabel] = []
    while (draw := queue.next(shown)) is not None:
        shown.append(GivenLabel(draw.row_id, float(pair.label[int(draw.row_id)])))
    return queue.decide(shown)


def fixed(pair: Pair, metric: str) -> tuple[float, float]:
    """Return the labels that a fixed number takes for the gain that there is: at random, and by
    Neyman's allocation.
    """
    both = ~(np.isnan(pair.before) | np.isnan(pair.after))
    cells = (3 * pair.before[both] + pair.after[both]).astype(int)
    label = pair.label[both].astype(int)
    counts = np.bincount(cells, minlength=9).astype(float)
    positive = np.bincount(cells, label, minlength=9) / np.maximum(counts, 1)
    scores = score_table(metric, 0.0, counts, positive, np.zeros(9), better=True)[cells, label]
    spread = sum(scores[cells == c].std() * (cells == c).mean() for c in range(9) if counts[c])
    needed = ((1.876 + POWER) / scores.mean()) ** 2
    return float(scores.var() * needed), float(spread**2 * needed)


def wrong(pair: Pair, decision: FlipDecision, metric: str, guarded: bool) -> bool:
    """Whether all labels say otherwise."""
    broken = guarded and pair.change(GUARDS[metric]) <= -MARGIN
    good = pair.change(metric) > 0 and not broken
    return decision.outcome == ("refused" if good else "accepted")


def order(options: argparse.Namespace) -> bool:
    """Compare the two orders; print the shares of labels."""
    good = True
    for data, pairs in (("judges", list(matrix_pairs())), ("DIRAS", list(diras_pairs()))):
        for metric in options.metrics:
            better = [pair if pair.change(metric) >= 0 else pair.swapped() for pair in pairs]
            at_random, by_cell = np.array([fixed(pair, metric) for pair in better]).T
            print(
                f"{data}: {metric}, {len(better)} pairs: fixed n: median"
                f" {np.median(at_random):,.0f} labels at ",
                end="",
            )
            shares = by_cell / at_random
            print(
                f"random, {np.median(by_cell):,.0f} by cell, share {np.median(shares):.3f}",
                flush=True,
            )
            for guarded in (False, True):
                for about in ("new groups, rows", "this pool", "new groups, queries")[
                    : 1 if guarded else 3
                ]:
                    good &= _compare(data, better, metric, guarded, about, options.seeds)
    return good


def _compare(
    data: str, pairs: list[Pair], metric: str, guarded: bool, about: str, seeds: int
) -> bool:
    shares: list[float] = []
    labels: list[tuple[int, int]] = []
    tallies = Counter[str]()
    for pair in pairs:
        group = pair.group if "queries" in about else np.arange(len(pair.label))
        for seed in range(seeds):
            design = design_of(pair, metric, guarded=guarded, group=group, seed=seed)
            with patch("judgewright.optimize.flips.queue.allocate", lambda *_: np.ones(9)):
                at_random = label_until_decided(design, pair)
            drawn = label_until_decided(design, pair)
            decided = at_random.outcome != "undecided"
            tallies["wrong at random"] += wrong(pair, at_random, metric, guarded)
            tallies["wrong"] += wrong(pair, drawn, metric, guarded)
            if not decided:
                tallies["others"] += 1
                tallies["decided of the others"] += drawn.outcome != "undecided"
                continue
            # Where the drawn rows do not decide, all of them were labelled for nothing: they count
            # in full.
            tallies["left undecided"] += drawn.outcome == "undecided"
            shares.append(drawn.labels / max(at_random.labels, 1))
            labels.append((at_random.labels, drawn.labels))
    guard = f" with a guard on {GUARDS[metric]}" if guarded else ""
    print(f"  {data}: {metric}{guard}, {about}: ", end="")
    others = f"{tallies['others']} others ({tallies['decided of the others']} decided by flips)"
    errors = f"wrong {tallies['wrong']} (at random {tallies['wrong at random']})"
    if not shares:
        print(f"none decided at random; {others}; {errors}", flush=True)
        return True
    middle = np.median(np.array(labels), axis=0)
    print(
        f"{len(shares)} decided at random, share of labels median {np.median(shares):.3f}, ", end=""
    )
    print(
        f"90 % {np.quantile(shares, 0.9):.3f} ({middle[0]:,.0f} -> {middle[1]:,.0f} labels), ",
        end="",
    )
    print(f"{tallies['left undecided']} of them undecided by flips; {others}; {errors}", flush=True)
    return bool(np.median(shares) <= 1 / 3)


def equal(options: argparse.Namespace) -> bool:
    """Compare judges that are equally good; print how many were accepted."""
    good = True
    pairs = list(matrix_pairs())
    for guarded in (False, True):
        for kind in ("swapped, rows", "drawn labels", "swapped, queries"):
            for metric in options.metrics:
                good &= _accept_equal(pairs, kind, metric, guarded, options.runs)
    return good


def _accept_equal(pairs: list[Pair], kind: str, metric: str, guarded: bool, runs: int) -> bool:
    outcomes = Counter[str]()
    for seed in range(runs):
        rng = np.random.default_rng([seed, 7])
        pair = _some(pairs[int(rng.integers(len(pairs)))], rng)
        if kind == "drawn labels":
            pair = _made_equal(pair if rng.random() < 0.5 else pair.swapped(), metric, rng)
        group = pair.group if kind == "swapped, queries" else np.arange(len(pair.label))
        if kind != "drawn labels":
            pair = _coined(pair, group, rng)
        design = design_of(pair, metric, guarded=guarded, group=group, seed=seed)
        decision = FlipQueue(design).decide(
            [GivenLabel(str(i), y) for i, y in enumerate(pair.label)]
        )
        outcomes[decision.outcome] += 1
    guard = f" with a guard on {GUARDS[metric]}" if guarded else ""
    print(f"equal: {kind}, {metric}{guard}: ", end="")
    counts = (f"{outcomes[o]} {o}" for o in ("accepted", "refused", "undecided"))
    print(", ".join(counts), f"of {runs}", flush=True)
    return outcomes["accepted"] <= 33 * runs / 500


def _some(pair: Pair, rng: np.random.Generator) -> Pair:
    rows = rng.choice(len(pair.label), ROWS, replace=False)
    return Pair(pair.name, pair.before[rows], pair.after[rows], pair.label[rows], pair.group[rows])


def _coined(pair: Pair, group: np.ndarray, rng: np.random.Generator) -> Pair:
    swap = (rng.random(int(group.max()) + 1) < 0.5)[group]
    before, after = np.where(swap, pair.after, pair.before), np.where(swap, pair.before, pair.after)
    return Pair(pair.name, before, after, pair.label, pair.group)


def _made_equal(pair: Pair, metric: str, rng: np.random.Generator) -> Pair:
    """Draw the labels of the flips so that the metric is the same for both, row by row in the
    mean.
    """
    both = ~(np.isnan(pair.before) | np.isnan(pair.after))
    before, after, label = pair.before[both], pair.after[both], pair.label[both]
    won, lost = (before < after), (before > after)
    chance = np.where(label == 1, 1.0, 0.0)
    if metric == "accuracy":
        chance[won | lost] = 0.5
    elif metric == "precision":
        chance[won | lost] = label[(before == 1) & (after == 1)].mean()
    elif metric == "recall":
        rate = 0.8 * min(won.sum(), lost.sum())
        chance[won], chance[lost] = rate / max(won.sum(), 1), rate / max(lost.sum(), 1)
    else:
        level = 0.5
        for _ in range(100):
            chance[won | lost] = level / 2
            level = 2 * (chance * before).sum() / (before.sum() + chance.sum())
    drawn = (rng.random(len(chance)) < chance).astype(float)
    # The groups are drawn from the pool with replacement, so that the pool's own luck with labels
    # counts as well.
    rows = rng.integers(0, len(drawn), len(drawn))
    return Pair(pair.name, before[rows], after[rows], drawn[rows], np.arange(len(drawn)))


PARTS = {"order": order, "equal": equal}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only", dest="metrics", action="append", choices=METRICS)
    chosen = parser.parse_args()
    chosen.metrics = chosen.metrics or list(METRICS)
    if not MATRIX.exists():
        sys.exit(f"skipped: there is no {MATRIX.name} beside the checkout, in {VERDICTS.parent}")
    held = [PARTS[name](chosen) for name in chosen.parts or PARTS]
    sys.exit(0 if all(held) else 1)
