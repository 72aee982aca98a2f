"""Hold five ways to a better prompt side by side, at equal numbers of requests, on rows that none
of them saw.

    python benchmarks/methods.py [SITUATION ...] [--splits 20] [--json FILE]

Three published situations on real rows and the simulated model: a judge of low precision, one of
low precision though its grades are rarely far off, one of low recall. The unit is a split: two
thirds of the rows, whole groups drawn anew, are cut into training, validation and holdout as a run
cuts them; the rest is an evaluation part, which no run sees. Guided TextGrad, TextGrad on all rows
with a plain loss, one rewrite a step, GEPA and MIPROv2 start from the same judged rows and take as
many steps as surely fit the budget: what five steps of TextGrad ask at most. A request
counts once a run, as if the run had begun with the verdicts on the open rows and an empty record:
that the methods of a split share a record saves time and nothing else.

Each survivor is decided by the gate, as the first look at its holdout, whatever its chance of
acceptance, and measured against the start on the evaluation part; no survivor is no change. Parts
of different splits overlap, so that intervals over splits are a little too short.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

from real_rows import DATA, cut, open_services

from judgewright.judges import (
    Change,
    Client,
    Completion,
    Dataset,
    JudgedDataset,
    JudgePrompt,
    Registry,
    Simulated,
    Splits,
    compare,
    load_dataset,
    point,
)
from judgewright.judges.models import FailedCall, MemoryRecord
from judgewright.optimize import (
    Decision,
    Gepa,
    Goal,
    Mipro,
    Objective,
    Proposer,
    Rewrite,
    RunContext,
    RunSettings,
    Services,
    Survivor,
    Target,
    TextGrad,
    benchmark,
    choose_survivor,
    construct_loss,
    decide_on_holdout,
    find_target,
    judge_rows,
    read_objective,
    search,
    split_rows,
)

STEPS = 5
"""Steps of TextGrad that the budget is made of."""
SHARES = (25.0, 25.0, 50.0, 0.0)
"""Of the rows that a run may split; half go to the holdout, so that the queries of TREC Deep
Learning are enough.
"""
GUIDED, UNGUIDED = "TextGrad, guided", "TextGrad, unguided"
METHODS: Mapping[str, Proposer] = {
    GUIDED: TextGrad(),
    UNGUIDED: TextGrad(),  # the difference is in the settings of the run
    "rewrite": Rewrite(),
    "GEPA": Gepa(),
    "MIPROv2": Mipro(),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A judge that errs in one direction, and what is wanted of it."""

    title: str
    file: str
    judge: str
    text: str
    target: str
    guards: tuple[str, ...]


SITUATIONS: Mapping[str, Situation] = {
    "precision": Situation(
        title="Low precision: groundedness",
        file="groundedness_multi.jsonl",
        judge="groundedness",
        text="do not call unsupported statements grounded",
        target="precision",
        guards=("recall:-0.05",),
    ),
    "off-by-1": Situation(
        title="Low precision at high off-by-1: context relevance",
        file="context_relevance_trec_dl.jsonl",
        judge="context_relevance",
        text="do not call passages relevant that do not answer the query",
        target="precision",
        guards=("recall:-0.05", "off_by_one:-0.05"),
    ),
    "recall": Situation(
        title="Low recall: answer relevance",
        file="answer_relevance.jsonl",
        judge="answer_relevance",
        text="do not reject answers that address the question",
        target="recall",
        guards=("precision:-0.05",),
    ),
}


class Counted(MemoryRecord):
    """A record that counts the requests of one run, each once, those that it can answer
    included.
    """

    def __init__(self) -> None:
        super().__init__()
        self._common: frozenset[bytes] = frozenset()
        self._asked: set[bytes] = set()

    def lookup(self, keys: Sequence[bytes]) -> Mapping[bytes, Completion | FailedCall]:
        """See `CallRecord.lookup`."""
        self._asked.update(keys)
        return super().lookup(keys)

    @property
    def requests(self) -> int:
        """Different requests of this run so far, beside those that all runs have in common."""
        return len(self._asked - self._common)

    def share(self) -> None:
        """Take what was asked so far for common to all runs."""
        self._common = frozenset(self._asked)

    def begin(self) -> None:
        """Begin to count for another run."""
        self._asked.clear()


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What all methods have in common on one split of a situation."""

    situation: Situation
    prompt: JudgePrompt
    objective: Objective
    parts: Splits
    baseline: JudgedDataset
    evaluation: Dataset
    client: Client
    record: Counted
    split: int
    """Its number; it seeds the parts, the slice search and what proposers draw."""
    budget: int
    """Requests of one method, from the loss to the survivor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one method made of one split."""

    method: str
    split: int
    slice: str
    loss: str
    requests: int
    steps: int
    results: Mapping[str, int]
    """How often a step ended so, by the first words of its result."""
    survivor: str | None
    """Version of the prompt."""
    decision: Decision | None
    changes: Mapping[str, Change]
    """Of the target and each guarded metric on the evaluation part; empty without a survivor."""

    def change(self, metric: str) -> float:
        """The change of a metric on the evaluation part, in points."""
        return 100 * self.changes[metric].difference if metric in self.changes else 0.0

    def adopted(self, metric: str) -> float:
        """The same where the gate accepted; what it did not is not put to use."""
        return self.change(metric) if self.decision is not None and self.decision.accepted else 0.0

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the run; what it tells of sealed rows are aggregates."""
        return {
            **{
                name: getattr(self, name)
                for name in ("method", "split", "slice", "loss", "requests", "steps")
            },
            "results": dict(self.results),
            "survivor": self.survivor,
            "outcome": self.decision.outcome if self.decision else None,
            "reason": self.decision.reason if self.decision else None,
            "evaluation": {metric: asdict(change) for metric, change in self.changes.items()},
        }


def open_start(situation: Situation, client: Client, record: Counted, split: int) -> Start:
    """Draw and split the rows, and judge the open ones once for all methods."""
    prompt = Registry().get(situation.judge)
    every = load_dataset(DATA / situation.file, inputs=prompt.inputs, scale=prompt.scale)
    dataset, evaluation = cut(every, split, rows=2 * len(every) // 3)
    objective = read_objective(situation.text, target=situation.target, guards=situation.guards)
    services, settings = open_services(client, TextGrad(), "start"), RunSettings(shares=SHARES)
    parts = split_rows(prompt, dataset, services, settings)
    baseline = benchmark(prompt, parts, services, settings)
    record.share()
    start = Start(
        situation=situation,
        prompt=prompt,
        objective=objective,
        parts=parts,
        baseline=baseline,
        evaluation=evaluation,
        client=client,
        record=record,
        split=split,
        budget=0,
    )
    return replace(start, budget=STEPS * _step_most(start, TextGrad(), settings))


def run_method(start: Start, method: str, proposer: Proposer, target: Target) -> Run:
    """Write the loss, search under the cap, decide, and measure what survived on the evaluation
    part.
    """
    plain = RunSettings(shares=SHARES)
    settings = RunSettings(
        steps=max(1, start.budget // _step_most(start, proposer, plain)),
        gate_anyway=True,
        seed=start.split,
        unguided=method == UNGUIDED,
        shares=SHARES,
    )
    services = open_services(start.client, proposer, f"{method} {start.split}")
    start.record.begin()
    loss = construct_loss(start.objective, target, start.baseline, services, settings)
    goal = Goal(objective=start.objective, target=target, loss=loss)
    run = RunContext(
        prompt=start.prompt, parts=start.parts, goal=goal, services=services, settings=settings
    )
    searched = search(run, start.baseline)
    requests = start.record.requests
    survivor = choose_survivor(run, searched)
    decision = decide_on_holdout(run, survivor)
    return Run(
        method=method,
        split=start.split,
        slice=target.name,
        loss=str(loss.expression),
        requests=requests,
        steps=settings.steps,
        results=_results(services),
        survivor=survivor.prompt.version if survivor else None,
        decision=decision,
        changes=measure_on_evaluation(start, survivor, services, settings) if survivor else {},
    )


def _step_most(start: Start, proposer: Proposer, settings: RunSettings) -> int:
    """Return what a step asks in all folds at most: proposals, their verdicts, and the rows of the
    next brief.
    """
    bound = proposer.bound(training_rows=len(start.baseline.dataset))
    assert bound is not None, f"{proposer.name} has no known bound"
    proposals = bound.optimizer + bound.judge + bound.either
    return settings.folds * (proposals + settings.batch) + len(start.baseline.dataset)


def _results(services: Services) -> dict[str, int]:
    """Count how the steps ended."""
    ended = [
        str(event.payload["result"]).split(":")[0]
        for event in services.journal.events()
        if event.kind == "step"
    ]
    return {result: ended.count(result) for result in sorted({*ended})}


def measure_on_evaluation(
    start: Start, survivor: Survivor, services: Services, settings: RunSettings
) -> dict[str, Change]:
    """Compare both prompts on the rows that no run sees."""
    prompts = start.prompt, survivor.prompt
    before, after = (
        judge_rows("evaluation", prompt, start.evaluation, services, settings) for prompt in prompts
    )
    if survivor.rule is not None:
        after = after.under(survivor.rule)
    changes = {metric: compare(metric, before, after) for metric in start.objective.metrics}
    undefined = [metric for metric, change in changes.items() if change is None]
    assert not undefined, f"{undefined} undefined on the evaluation part"
    return {metric: change for metric, change in changes.items() if change is not None}


def over_splits(values: Sequence[float]) -> str:
    """Return the mean in points with its 95 % interval over splits, by Student's t."""
    from scipy.stats import t as student

    if len(set(values)) == 1:
        return f"{values[0]:+.1f} in every split"
    reach = float(student.ppf(0.975, len(values) - 1)) * stdev(values) / len(values) ** 0.5
    return f"{mean(values):+.1f} [{mean(values) - reach:+.1f}, {mean(values) + reach:+.1f}]"


def write_table(starts: Sequence[Start], runs: Sequence[Run]) -> str:
    """Return the table of a situation as Markdown, with what it is about before it and the slices
    after it.
    """
    first, objective = starts[0], starts[0].objective
    guards = [guard.metric for guard in objective.guards]
    by_method = {
        run.method: [other for other in runs if other.method == run.method] for run in runs
    }
    sizes = [
        [
            len(start.parts.train),
            len(start.parts.validation),
            len(start.parts.holdout),
            len(start.evaluation),
        ]
        for start in starts
    ]
    rows = " / ".join(f"{median(part):,.0f}" for part in zip(*sizes, strict=True))
    before = mean(
        point(objective.target, *start.baseline.compared(objective.target)) or 0.0
        for start in starts
    )
    slices = Counter(run.slice for run in by_method[GUIDED])
    head = (
        f"`{first.situation.file}`, about {rows} rows for training, validation, holdout and"
        f" evaluation; {len(starts)} splits, on whose open rows the start has {objective.target}"
        f" {before:.3f}. {objective.describe()} At most"
        f" {median(start.budget for start in starts):,.0f} requests a method and split. Changes in"
        " points."
    )
    columns = (
        *(
            "method",
            "requests, steps",
            "survivors",
            "accepted / refused / undecided",
            objective.target,
        ),
        *("minus guided TextGrad", f"{objective.target}, where accepted", *guards, "guard broken"),
    )
    table = [columns, ("---",) * len(columns)]
    table += [
        _line(objective, runs_of_method, by_method[GUIDED]) for runs_of_method in by_method.values()
    ]
    names = ", ".join(f"`{name}` {count}" for name, count in slices.most_common(5))
    others = sum(count for _, count in slices.most_common()[5:])
    return "\n".join(
        (
            f"### {first.situation.title} (simulated, rules {Simulated().version})\n\n{head}\n",
            *("| " + " | ".join(cells) + " |" for cells in table),
            f"\nSlices, by splits: {names}{f', others {others}' if others else ''}.",
        )
    )


def _line(objective: Objective, runs: Sequence[Run], guided: Sequence[Run]) -> tuple[str, ...]:
    """Return the cells of one method."""
    target = objective.target
    outcomes = [run.decision.outcome for run in runs if run.decision]
    apart = [
        run.change(target) - other.change(target) for run, other in zip(runs, guided, strict=True)
    ]
    broken = [
        any(run.change(guard.metric) < -100 * guard.margin for guard in objective.guards)
        for run in runs
    ]
    return (
        runs[0].method,
        f"{mean(run.requests for run in runs):,.0f}, {mean(run.steps for run in runs):.1f}",
        f"{len(outcomes)} of {len(runs)}",
        " / ".join(
            str(outcomes.count(outcome)) for outcome in ("accepted", "refused", "undecided")
        ),
        over_splits([run.change(target) for run in runs]),
        "" if runs is guided else over_splits(apart),
        over_splits([run.adopted(target) for run in runs]),
        *(over_splits([run.change(guard.metric) for run in runs]) for guard in objective.guards),
        str(sum(broken)),
    )


def run_situation(name: str, splits: int) -> tuple[list[Start], list[Run]]:
    """Run every method on every split of a situation."""
    starts: list[Start] = []
    runs: list[Run] = []
    for split in range(splits):
        record = Counted()
        with Client(Simulated(), record=record) as client:
            starts.append(open_start(SITUATIONS[name], client, record, split))
            services = open_services(client, TextGrad(), f"slice {split}")
            targets = {
                guided: find_target(
                    starts[-1].baseline,
                    starts[-1].objective,
                    services,
                    RunSettings(seed=split, shares=SHARES, unguided=not guided),
                )
                for guided in (True, False)
            }
            for method, proposer in METHODS.items():
                runs.append(run_method(starts[-1], method, proposer, targets[method != UNGUIDED]))
                _say(name, runs[-1], starts[-1].objective.target)
    return starts, runs


def _say(name: str, run: Run, target: str) -> None:
    ended = run.decision.outcome if run.decision else "no survivor"
    text = (
        f"{name} split {run.split} {run.method:18} {run.requests:6,} requests {run.steps:3} steps,"
        f" {ended:11}"
    )
    print(
        f"{time.process_time():6.0f} s  {text} {run.change(target):+.1f}  [{run.slice}]",
        file=sys.stderr,
        flush=True,
    )


def main() -> None:
    """Run, print the tables, and write what each run found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("situations", nargs="*", choices=[*SITUATIONS, []])
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    body: dict[str, Any] = {
        "simulated": True,
        "simulator": Simulated().version,
        "situations": {},
    }  # Any: JSON
    for name in options.situations or SITUATIONS:
        starts, runs = run_situation(name, options.splits)
        print(write_table(starts, runs) + "\n", flush=True)
        result = {
            "budgets": [start.budget for start in starts],
            "runs": [run.to_json() for run in runs],
        }
        body["situations"][name] = asdict(SITUATIONS[name]) | result
    if options.json:
        options.json.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    print(f"simulated model {Simulated().version}; {time.process_time():.0f} s of CPU")


if __name__ == "__main__":
    main()
