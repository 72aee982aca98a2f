"""How often the 95 % interval of the gain at equal recall holds the truth, over planted pairs of
judges.

    python benchmarks/equal_gain.py [--pairs 200] [--rows 300]

Two judges see the same rows, which share what is hard about them by row and by group, and each has
an error of its own. A *move*: the new judge is the old one asked again, with another threshold; the
truth is 0. A *skill*: the new judge tells the labels apart better and has another threshold too;
the truth comes from a million rows. The old judge grades 0 to 4, gives a probability, or says yes
or no with a confidence in steps of .05. Held equal is recall, for recall itself the false positive
rate. Of 200 intervals 180 to 198 should hold the truth; where the old judge's thresholds do not
reach so far there is none, and another pair is drawn.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from judgewright.judges import (
    BINARY,
    PROBABILITY,
    BoolArray,
    Dataset,
    FloatArray,
    IntArray,
    JudgedDataset,
    OutputScale,
    Row,
    Verdict,
    equal_gain,
)

GRADES = OutputScale(low=0, high=4, threshold=3)
CUTS = (-0.5, 0.2, 0.8, 1.5)
"""Between the grades, on the judge's own line."""
OLD_CUT = 0.8
NEW_CUT = {"move": 0.2, "skill": 0.5}
SIGNAL = {"move": 1.4, "skill": 2.0}
"""How far apart the new judge puts the labels; the old one 1.4."""
SCALES = ("grades", "probability", "confidence")
METRICS = ("precision", "recall", "f1", "kappa")
POPULATION = 1_000_000


@dataclass(frozen=True, slots=True)
class Drawn:
    """Rows that two judges have put on a line."""

    label: BoolArray
    groups: IntArray
    old: FloatArray
    decided: BoolArray
    """By the new judge."""


def draw(kind: str, rows: int, rng: np.random.Generator) -> Drawn:
    """Draw rows in groups of one to five, a third of them positive."""
    sizes = rng.integers(1, 6, rows)
    groups = np.repeat(np.arange(rows), sizes)[:rows]
    label = rng.random(rows) < np.clip(rng.normal(0.35, 0.15, rows), 0.02, 0.98)[groups]
    hard = rng.normal(0, 0.4, rows)[groups] + rng.normal(0, 0.6, rows)
    old = 1.4 * label + hard + rng.normal(0, 0.6, rows)
    new = SIGNAL[kind] * label + hard + rng.normal(0, 0.6, rows)
    return Drawn(label, groups, old, new >= NEW_CUT[kind])


def answers(drawn: Drawn, scale: str) -> tuple[JudgedDataset, JudgedDataset]:
    """Return the old judge's answers on a scale, and the new one's of yes and no."""
    rows = tuple(
        Row(id=str(i), inputs={}, label=float(y), group=f"g{g}")
        for i, (y, g) in enumerate(zip(drawn.label, drawn.groups, strict=True))
    )
    dataset = Dataset(rows=rows, labels=BINARY)
    decided = drawn.old >= OLD_CUT
    sure = [None] * len(rows)
    score, judge_scale = decided.astype(np.float64), BINARY
    if scale == "grades":
        score, judge_scale = (
            np.searchsorted(CUTS, drawn.old, side="right").astype(np.float64),
            GRADES,
        )
    elif scale == "probability":
        score, judge_scale = 1 / (1 + np.exp(OLD_CUT - drawn.old)), PROBABILITY
    else:
        probability = 1 / (1 + np.exp(2 * (OLD_CUT - drawn.old)))
        sure = (np.round(np.where(decided, probability, 1 - probability) * 20) / 20).tolist()

    def side(
        scores: FloatArray, yes: BoolArray, confidence: list[float | None], its: OutputScale
    ) -> JudgedDataset:
        verdicts = tuple(
            Verdict(row_id=row.id, score=float(s), positive=bool(p), confidence=c)
            for row, s, p, c in zip(rows, scores, yes, confidence, strict=True)
        )
        return JudgedDataset(dataset=dataset, answers=verdicts, scale=its)

    before = side(score, decided, sure, judge_scale)
    return before, side(drawn.decided.astype(np.float64), drawn.decided, [None] * len(rows), BINARY)


def truth(kind: str, scale: str, metric: str) -> float:
    """Return the gain at equal recall on a population, from sorted scores alone."""
    drawn = draw(kind, POPULATION, np.random.default_rng(1))
    label, old = drawn.label, drawn.old
    if scale == "grades":
        old = np.searchsorted(CUTS, old, side="right")
    elif scale == "confidence":
        probability = 1 / (1 + np.exp(2 * (OLD_CUT - old)))
        yes = old >= OLD_CUT
        sure = np.round(np.where(yes, probability, 1 - probability) * 20) / 20
        old = np.where(yes, 1 + sure, -sure)
    thresholds = np.unique(old)[1:]
    p, n = int(label.sum()), int((~label).sum())
    tp, fp = (
        len(s) - np.searchsorted(s, thresholds) for s in (np.sort(old[label]), np.sort(old[~label]))
    )
    new_tp, new_fp = int((label & drawn.decided).sum()), int((~label & drawn.decided).sum())
    if metric == "recall":
        return new_tp / p - float(np.interp(new_fp, fp[::-1], tp[::-1])) / p
    mixed_fp = float(np.interp(new_tp, tp[::-1], fp[::-1]))

    def value(fp: float) -> float:
        yes, total = new_tp + fp, p + n
        if metric == "precision":
            return new_tp / yes
        if metric == "f1":
            return 2 * new_tp / (yes + p)
        agree = (new_tp + n - fp) / total
        chance = (yes * p + (total - yes) * n) / total**2
        return (agree - chance) / (1 - chance)

    return value(new_fp) - value(mixed_fp)


def main() -> None:
    """Print, for every kind of pair, scale and metric, how many intervals hold the truth."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--rows", type=int, default=300)
    options = parser.parse_args()
    print(
        f"{'pair':6} {'scale':12} {'metric':10} {'truth':>7} {'mean':>7} {'sd':>6} {'mean se':>7}"
        f" {'held':>9} none"
    )
    for kind in SIGNAL:
        for scale in SCALES:
            for metric in METRICS:
                true = 0.0 if kind == "move" else truth(kind, scale, metric)
                print(
                    f"{kind:6} {scale:12} {metric:10} {true:+7.3f}"
                    f" {_covered(kind, scale, metric, true, options)}"
                )


def _covered(kind: str, scale: str, metric: str, true: float, options: argparse.Namespace) -> str:
    gains, errors, held, none, seed = [], [], 0, 0, 0
    while len(gains) < options.pairs:
        seed += 1
        change = equal_gain(
            metric, *answers(draw(kind, options.rows, np.random.default_rng(1000 + seed)), scale)
        ).change
        if change is None or change.low is None or change.high is None or change.se is None:
            none += 1
            continue
        gains.append(change.difference)
        errors.append(change.se)
        held += change.low <= true <= change.high
    spread = f"{np.mean(gains):+7.3f} {np.std(gains):6.3f} {np.mean(errors):7.3f}"
    return f"{spread} {held:4} / {len(gains)} {none}"


if __name__ == "__main__":
    main()
