"""Race eight candidates on validation rows, and compare the winner and the calls with a full
validation.

    python benchmarks/race.py ROWS.jsonl [SEEDS] [CANDIDATES]

The rows are such as `groundedness_multi.jsonl`. Each seed draws a validation part and candidates of
its own: the shipped judge, and versions of it with one to three sentences added, some of use, some
not, some that mislead. The judge is the simulated model. Calls are counted by the client, which
starts each race with an empty record. Asked for is the candidate that full validation picks, or one
whose mean validation loss is within half a point of it, in nine of ten seeds, with at most a third
of the calls.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from judgewright.judges import (
    Client,
    Dataset,
    FloatArray,
    JudgedDataset,
    JudgePrompt,
    Registry,
    Simulated,
    judge,
    load_dataset,
)
from judgewright.optimize import default_loss, read_objective, row_losses
from judgewright.optimize.racing import RaceResult, run_race
from judgewright.optimize.racing.race import RaceSettings

SENTENCES = (
    (
        "Compare every number, date and amount with the source; one that differs makes the"
        " statement unsupported."
    ),
    "Check that names of people, places and firms are those of the source.",
    "If one part of the statement is not in the source, the whole statement is not supported.",
    "Do not give credit for shared words when the meaning differs.",
    "A negation in one of the two texts and not in the other is a contradiction.",
    "A paraphrase that keeps the meaning counts as support.",
    "Do not use what you know yourself.",
    "Read the source to its end before you decide.",
    "Write in a calm tone.",
    "Give the statement the benefit of the doubt.",
    "A statement that sounds plausible is supported.",
    "Accept a statement on the same topic as the source.",
)
VALIDATION = 540


def candidates(prompt: JudgePrompt, k: int, rng: np.random.Generator) -> list[JudgePrompt]:
    """Return the judge itself and k - 1 versions with sentences added."""
    candidates = {prompt.version: prompt}
    while len(candidates) < k:
        drawn = rng.choice(len(SENTENCES), rng.integers(1, 4), replace=False)
        added = prompt.edited(criteria="\n".join([prompt.criteria, *(SENTENCES[i] for i in drawn)]))
        candidates.setdefault(added.version, added)
    return list(candidates.values())


def validation(rows: Dataset, rng: np.random.Generator) -> Dataset:
    """Draw whole groups until there are enough rows."""
    groups: dict[str, list[int]] = {}
    for i, row in enumerate(rows.rows):
        groups.setdefault(row.group or row.id, []).append(i)
    drawn: list[int] = []
    for members in rng.permutation(np.array(list(groups.values()), dtype=object)):
        drawn += members
        if len(drawn) >= VALIDATION:
            break
    return replace(rows, rows=tuple(rows.rows[i] for i in drawn))


def run(
    field: list[JudgePrompt],
    rows: Dataset,
    loss_of: Callable[[JudgedDataset], FloatArray],
    settings: RaceSettings,
) -> RaceResult:
    """Race with an empty record."""
    with Client(Simulated()) as client:
        return run_race(
            field,
            rows,
            lambda prompt, batch: judge(prompt, batch, client),
            loss_of,
            settings=settings,
            calls=lambda: client.stats.calls,
        )


def main(data: str, seeds: int = 10, k: int = 8) -> None:
    """Print a line a seed, and how often the race ended well."""
    prompt = Registry().get("groundedness")
    rows = load_dataset(Path(data), inputs=prompt.inputs, scale=prompt.scale)
    loss = default_loss(read_objective("raise precision", target="precision"))
    print(f"simulated model {Simulated().version}; {k} candidates; losses in points")
    print(
        "seed  rows  same   regret    2nd  worst   calls  of full  with winner  by the bound  bound"
        " alone"
    )
    good, shares, alone = 0, [], []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        field, part = candidates(prompt, k, rng), validation(rows, rng)

        def loss_of(judged: JudgedDataset) -> FloatArray:
            return row_losses(loss, judged, np.ones(len(judged.rows), bool))

        with Client(Simulated()) as client:
            full = np.array([loss_of(judge(p, part, client)).mean() for p in field]) * 100
        outcome, bound = (
            run(field, part, loss_of, RaceSettings(seed=seed, share=share))
            for share in (1 / 3, None)
        )
        picked = [p.version for p in field].index(outcome.winner.version)
        regret = full[picked] - full.min()
        good += regret <= 0.5
        share = outcome.calls / outcome.full_calls
        completed = share + (len(part) - outcome.standings[picked].rows) / outcome.full_calls
        shares.append(share)
        dropped = sum(standing.dropped == "cannot win" for standing in outcome.standings)
        alone.append(bound.calls / bound.full_calls)
        order = np.sort(full) - full.min()
        print(
            f"{seed:4} {len(part):5}  {regret == 0!s:5} {regret:7.2f} {order[1]:6.2f}"
            f" {order[-1]:6.2f}  {outcome.calls:6,} {share:8.3f} {completed:12.3f} {dropped:13}"
            f" {alone[-1]:12.3f}",
            flush=True,
        )
    print(f"{good} of {seeds} picked the best or one within half a point of loss")
    print(
        f"calls: {np.mean(shares):.3f} of full validation; {np.mean(alone):.3f} where only the"
        " bound drops candidates"
    )
    sys.exit(0 if good >= 0.9 * seeds and max(shares) <= 1 / 3 else 1)


if __name__ == "__main__":
    main(sys.argv[1], *(int(a) for a in sys.argv[2:]))
