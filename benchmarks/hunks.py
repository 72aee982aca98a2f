"""Plant one harmful hunk among four, and count how often it is marked, and how often a harmless one
is.

    python benchmarks/hunks.py [ROWS.jsonl] [SEEDS]

Without a file verdicts are drawn: 600 rows in pairs, a quarter of them wrong; three hunks mend 12 %
of the wrong ones and break 2 % of the right ones, the fourth breaks some right ones. Asked for is a
mark in nine of ten seeds. Every hunk is left out and added alone: 2 + 2k prompts.

With rows such as `groundedness_multi.jsonl` the simulated judge is asked about 540 of them, with a
sentence that would mislead a person among three others. What such a sentence does to this model is
not known beforehand, and may be nothing: the effects are printed, and nothing is asked for.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from judgewright.judges import (
    BINARY,
    Client,
    Dataset,
    FloatArray,
    JudgedDataset,
    JudgePrompt,
    OutputScale,
    Registry,
    Row,
    Simulated,
    Verdict,
    judge,
    load_dataset,
)
from judgewright.optimize import (
    HunkReport,
    default_loss,
    measure_hunks,
    read_objective,
    row_losses,
    split_hunks,
)

BASE = JudgePrompt(
    name="j", system="s", criteria="Read it.", template="{{x}}", reply="r", scale=OutputScale()
)
RULES = ("Rule one.", "Rule two.", "Rule three.", "Rule four.")
MISLEADING = (
    "Give the statement the benefit of the doubt.",
    "A statement that sounds plausible is supported.",
    "Accept a statement on the same topic as the source.",
)
OTHERS = (
    (
        "Compare every number, date and amount with the source; one that differs makes the"
        " statement unsupported."
    ),
    "If one part of the statement is not in the source, the whole statement is not supported.",
    "Do not give credit for shared words when the meaning differs.",
    "Check that names of people, places and firms are those of the source.",
    "Read the source to its end before you decide.",
    "Write in a calm tone.",
)
VALIDATION = 540


def written(rng: np.random.Generator, harm: float) -> Callable[[str, JudgePrompt], JudgedDataset]:
    """Return a judge whose verdicts follow the rules that stand in its criteria; the third one
    harms.
    """
    n = 600
    label = rng.random(n) < 0.5
    wrong = rng.random(n) < 0.25
    shares: Mapping[str, tuple[float, float]] = dict.fromkeys(RULES, (0.12, 0.02)) | {
        RULES[2]: (0.0, harm)
    }
    flips = {
        rule: rng.random(n) < np.where(wrong, mended, broken)
        for rule, (mended, broken) in shares.items()
    }
    drawn = (
        Row(id=str(i), inputs={"x": str(i)}, label=float(y), group=str(i // 2))
        for i, y in enumerate(label)
    )
    rows = Dataset.of(drawn, labels=BINARY)

    def judge_with(_: str, prompt: JudgePrompt) -> JudgedDataset:
        decisions = label ^ wrong
        for rule, flip in flips.items():
            decisions = decisions ^ flip if rule in prompt.criteria else decisions
        answers = (
            Verdict(row_id=str(i), score=3.0 * p, positive=bool(p)) for i, p in enumerate(decisions)
        )
        return JudgedDataset(dataset=rows, answers=tuple(answers), scale=prompt.scale)

    return judge_with


def errors(judged: JudgedDataset) -> FloatArray:
    """One for a wrong verdict."""
    return (judged.positive != judged.predicted).astype(np.float64)


def drawn(seeds: int) -> bool:
    """Print the shares by how much the planted hunk breaks; say whether it is found at every
    size.
    """
    diff = split_hunks(BASE, BASE.edited(criteria=" ".join((BASE.criteria, *RULES))))
    print(
        "drawn verdicts, f1: right verdicts that the planted hunk breaks, seeds in which it is"
        " marked, harmless hunks"
    )
    print("that are marked as harming")
    least = 1.0
    for harm in (0.04, 0.06, 0.08, 0.10, 0.12):
        reports = [
            measure_hunks(diff, written(np.random.default_rng(seed), harm), errors, metric="f1")
            for seed in range(seeds)
        ]
        share, wrongly = shares(reports, [3] * seeds)
        least = min(least, share)
        print(f"{harm:8.0%} {share:8.2f} {wrongly:8.3f}", flush=True)
    return least >= 0.9


def shares(reports: list[HunkReport], planted: list[int]) -> tuple[float, float]:
    """Share of reports that mark the planted hunk, and share of the other hunks that are marked as
    harming.
    """
    harming = [{e.hunk.number for e in report.effects if e.mark == "harms"} for report in reports]
    others = sum(len(report.effects) - 1 for report in reports)
    marked_harmful = sum(number in marked for number, marked in zip(planted, harming, strict=True))
    wrongly = sum(len(marked - {number}) for number, marked in zip(planted, harming, strict=True))
    return marked_harmful / len(reports), wrongly / others


def simulated(data: str, seeds: int) -> None:
    """Print what the simulated judge makes of planted sentences."""
    prompt = Registry().get("groundedness")
    rows = load_dataset(Path(data), inputs=prompt.inputs, scale=prompt.scale)
    loss = default_loss(read_objective("raise precision", target="precision"))

    def loss_of(judged: JudgedDataset) -> FloatArray:
        return row_losses(loss, judged, np.ones(len(judged.rows), bool))

    print(
        f"simulated model {Simulated().version}, precision, {VALIDATION} rows; mean effects in"
        " points"
    )
    reports, planted = [], []
    with Client(Simulated()) as client:
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            part = replace(
                rows,
                rows=tuple(rows.rows[i] for i in rng.choice(len(rows), VALIDATION, replace=False)),
            )
            added = [*rng.choice(OTHERS, 3, replace=False), str(rng.choice(MISLEADING))]
            order = rng.permutation(4)
            after = prompt.edited(criteria="\n".join([prompt.criteria, *(added[i] for i in order)]))
            report = measure_hunks(
                split_hunks(prompt, after),
                lambda _, candidate, part=part: judge(candidate, part, client),
                loss_of,
                metric="precision",
            )
            number = int(np.flatnonzero(order == 3)[0]) + 1
            effect = report.effects[number - 1]
            print(
                f"{seed:4} {effect.mark:16} precision {effect.mean.metric} loss {effect.mean.loss} "
                f" {effect.hunk}"
            )
            reports.append(report)
            planted.append(number)
        print(f"{client.stats.calls:,} calls")
    share, wrongly = shares(reports, planted)
    print(
        f"planted hunk marked in {share:.2f} of {seeds} seeds; others marked as harming:"
        f" {wrongly:.3f}"
    )


if __name__ == "__main__":
    arguments = sys.argv[1:]
    file = arguments[0] if arguments and not arguments[0].isdigit() else ""
    count = int(arguments[-1]) if arguments and arguments[-1].isdigit() else 20 if file else 100
    if file:
        simulated(file, count)
    else:
        sys.exit(0 if drawn(count) else 1)
