"""Hold five ways to a better prompt side by side, at equal numbers of requests, on rows that none of them saw.

    python benchmarks/methods.py [SITUATION ...] [--seeds 10] [--json FILE]

Three published situations on real rows and the simulated model: a judge of low precision, one of low precision though
its grades are rarely far off, one of low recall. Guided TextGrad, TextGrad on all rows with a plain loss, one rewrite a
step, GEPA and MIPROv2 start from the same judged rows and go on until their next step could go over the budget: what
fifteen steps of TextGrad ask when every proposal is validated whole. A request counts once a run, as if the run had
begun with the verdicts on the open rows and an empty record: that the seeds share a record saves time and nothing else.
Seeds vary minibatches, the search for the slice and what proposers draw; the split is one for all seeds.

Each survivor is decided by the gate as if it were the first look at that holdout, and then measured against the start
on the final rows; no survivor is no change. Intervals over seeds say how far a method varies on these rows, and
nothing about others: all seeds share them.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

from judgewright.judges import (
    Change,
    Client,
    Completion,
    JudgedDataset,
    JudgePrompt,
    Registry,
    Simulated,
    Splits,
    compare,
    load_dataset,
)
from judgewright.judges.models import FailedCall, MemoryRecord
from judgewright.optimize import (
    Brief,
    Decision,
    Gepa,
    Goal,
    Mipro,
    NoProposal,
    Objective,
    Part,
    PlannedRun,
    Proposal,
    Proposer,
    Rewrite,
    RunContext,
    RunSettings,
    Services,
    Survivor,
    Target,
    TextGrad,
    Workbench,
    benchmark,
    bound_proposal,
    choose_survivor,
    construct_loss,
    decide_on_holdout,
    find_target,
    judge_rows,
    read_objective,
    split_rows,
)
from judgewright.optimize.search_state import SearchState
from judgewright.optimize.step import Step
from judgewright.runs.store import SqliteDatabase
from judgewright.runs.store.journal import RunJournal, create_run
from judgewright.runs.store.ledger import HoldoutLedger

DATA = Path(__file__).resolve().parents[2] / "shared/data"
STEPS = 15
"""Steps of TextGrad that the budget is made of."""
BATCH = 8
"""Training rows that such a step is taken to judge."""
ENDLESS = 1_000
"""More steps than any budget here covers."""
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


class Spent(Exception):
    """The next step could go over the budget."""


class Counted(MemoryRecord):
    """A record that counts the requests of one run, each once, those that it can answer included."""

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


@dataclass(slots=True)
class Capped:
    """A proposer that ends the search where its next step could go over the cap."""

    inner: Proposer
    record: Counted
    cap: int
    """Requests of the run."""
    step_most: int
    """What may follow until the proposer is asked again."""
    steps: int = 0

    @property
    def name(self) -> str:
        """See `Proposer.name`."""
        return self.inner.name

    @property
    def parts(self) -> tuple[Part, ...]:
        """See `Proposer.parts`."""
        return self.inner.parts

    def propose(self, prompt: JudgePrompt, brief: Brief, bench: Workbench, *, step: int) -> Proposal | NoProposal:
        """See `Proposer.propose`."""
        if self.record.requests + self.step_most > self.cap:
            raise Spent
        self.steps += 1
        return self.inner.propose(prompt, brief, bench, step=step)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What all methods of a situation have in common."""

    situation: Situation
    prompt: JudgePrompt
    objective: Objective
    parts: Splits
    baseline: JudgedDataset
    client: Client
    record: Counted
    budget: int
    """Requests of one method, from the loss to the survivor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one method made of one seed."""

    method: str
    seed: int
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
    """Of the target and each guarded metric on the final rows; empty without a survivor."""

    def change(self, metric: str) -> float:
        """The change of a metric on the final rows, in points."""
        return 100 * self.changes[metric].difference if metric in self.changes else 0.0

    def adopted(self, metric: str) -> float:
        """The same where the gate accepted; what it did not is not put to use."""
        return self.change(metric) if self.decision is not None and self.decision.accepted else 0.0

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the run; what it tells of sealed rows are aggregates."""
        return {
            **{name: getattr(self, name) for name in ("method", "seed", "slice", "loss", "requests", "steps")},
            "results": dict(self.results),
            "survivor": self.survivor,
            "outcome": self.decision.outcome if self.decision else None,
            "reason": self.decision.reason if self.decision else None,
            "final": {metric: asdict(change) for metric, change in self.changes.items()},
        }


def open_start(situation: Situation, client: Client, record: Counted) -> Start:
    """Split the rows, and judge the open ones once for all methods."""
    prompt = Registry().get(situation.judge)
    dataset = load_dataset(DATA / situation.file, inputs=prompt.inputs, scale=prompt.scale)
    objective = read_objective(situation.text, target=situation.target, guards=situation.guards)
    services, settings = open_tools(client, TextGrad(), "start"), RunSettings()
    parts = split_rows(dataset, services, settings)
    baseline = benchmark(prompt, parts, services, settings)
    record.share()
    return Start(
        situation=situation,
        prompt=prompt,
        objective=objective,
        parts=parts,
        baseline=baseline,
        client=client,
        record=record,
        budget=STEPS * (BATCH + 2 + len(parts.validation)),
    )


def open_tools(client: Client, proposer: Proposer, run_id: str) -> Services:
    """Return tools with a workspace of their own, so that each decision is a first look."""
    database = SqliteDatabase(Path(tempfile.mkdtemp()) / "workspace.db")
    run = create_run(database, "optimize", {"name": run_id})
    return Services(
        judge_client=client,
        optimizer_client=client,
        proposer=proposer,
        journal=RunJournal(database, run),
        ledger=HoldoutLedger(database),
        run_id=run,
    )


def run_method(start: Start, method: str, proposer: Proposer, target: Target, seed: int) -> Run:
    """Write the loss, search under the cap, decide, and measure what survived on the final rows."""
    settings = RunSettings(steps=ENDLESS, look_anyway=True, seed=seed, unguided=method == UNGUIDED)
    capped = Capped(proposer, start.record, start.budget, _step_most(start, proposer, settings))
    services = open_tools(start.client, capped, f"{method} {seed}")
    start.record.begin()
    loss = construct_loss(start.objective, target, start.baseline, services, settings)
    goal = Goal(objective=start.objective, target=target, loss=loss)
    run = RunContext(prompt=start.prompt, parts=start.parts, goal=goal, services=services, settings=settings)
    state = SearchState.start(run, start.baseline)
    try:
        for number in range(1, ENDLESS + 1):
            services.record(Step(number=number, state=state, run=run).take())
    except Spent:
        pass
    requests = start.record.requests
    assert requests <= start.budget, f"{method} asked {requests:,} of {start.budget:,} requests"
    survivor = choose_survivor(run, state.archive)
    decision = decide_on_holdout(run, survivor)
    return Run(
        method=method,
        seed=seed,
        slice=target.name,
        loss=str(loss.expression),
        requests=requests,
        steps=capped.steps,
        results=_results(services),
        survivor=survivor.prompt.version if survivor else None,
        decision=decision,
        changes=measure_final(start, survivor, services, settings) if survivor and decision else {},
    )


def _step_most(start: Start, proposer: Proposer, settings: RunSettings) -> int:
    """What the proposals of a step, their validations and the training rows of a new prompt ask at most."""
    planned = PlannedRun(
        prompt=start.prompt,
        dataset=start.baseline.dataset,
        parts=start.parts,
        proposer=proposer,
        settings=settings,
        objective=start.objective,
    )
    bound = bound_proposal(planned)
    assert bound is not None, f"{proposer.name} has no known bound"
    validation = len(start.parts.validation)
    proposals = planned.candidates * (bound.optimizer + bound.judge + bound.either)
    return proposals + planned.candidates * validation + settings.batch_rows(validation)


def _results(services: Services) -> dict[str, int]:
    """Count how the steps ended."""
    ended = [str(event.payload["result"]).split(":")[0] for event in services.journal.events() if event.kind == "step"]
    return {result: ended.count(result) for result in sorted({*ended})}


def measure_final(start: Start, survivor: Survivor, services: Services, settings: RunSettings) -> dict[str, Change]:
    """Open the final rows, whatever the decision was, and compare both prompts on them; no run does that."""
    sealed, versions = start.parts.final, (start.prompt.version, survivor.prompt.version)
    look = services.ledger.begin(sealed.content_hash, run_id=services.run_id, before=versions[0], after=versions[1])
    final = sealed.open(look)
    prompts = start.prompt, survivor.prompt
    before, after = (judge_rows("final", prompt, final, services, settings) for prompt in prompts)
    if survivor.rule is not None:
        after = after.under(survivor.rule)
    metrics = (start.objective.target, *(guard.metric for guard in start.objective.guards))
    changes = {metric: compare(metric, before, after) for metric in metrics}
    undefined = [metric for metric, change in changes.items() if change is None]
    assert not undefined, f"{undefined} undefined on the final rows"
    return {metric: change for metric, change in changes.items() if change is not None}


def over_seeds(values: Sequence[float]) -> str:
    """Return the mean in points with its 95 % interval over seeds, by Student's t."""
    from scipy.stats import t as student

    if len(set(values)) == 1:
        return f"{values[0]:+.1f} in every seed"
    reach = float(student.ppf(0.975, len(values) - 1)) * stdev(values) / len(values) ** 0.5
    return f"{mean(values):+.1f} [{mean(values) - reach:+.1f}, {mean(values) + reach:+.1f}]"


def write_table(start: Start, runs: Sequence[Run]) -> str:
    """Return the table of a situation as Markdown, with what it is about before it and the slices after it."""
    target, parts = start.objective.target, start.parts
    guards = [guard.metric for guard in start.objective.guards]
    seeds = len({run.seed for run in runs})
    by_method = {run.method: [other for other in runs if other.method == run.method] for run in runs}
    sizes = f"{len(parts.train):,} / {len(parts.validation):,} / {len(parts.holdout):,} / {len(parts.final):,}"
    slices = Counter(run.slice for run in runs if run.method == GUIDED)
    at_start = {f", where the start has {target} {run.changes[target].before:.3f}" for run in runs if run.changes}
    head = (
        f"`{start.situation.file}`, {sizes} rows for training, validation, holdout and final, the final ones in "
        f"{parts.final.groups} groups{''.join(at_start)}. {start.objective.describe()} At most "
        f"{start.budget:,} requests a method and seed; {seeds} seeds that share all rows. Changes in points."
    )
    columns = (
        *("method", "requests, steps", "survivors", "accepted / refused / undecided", f"{target}, final rows"),
        *("one survivor over rows", "minus guided TextGrad", f"{target}, where accepted", *guards),
    )
    table = [columns, ("---",) * len(columns)]
    table += [_line(start.objective, runs_of_method, by_method[GUIDED]) for runs_of_method in by_method.values()]
    found_slices = ", ".join(f"`{name}` {count}" for name, count in slices.most_common())
    return "\n".join(
        (
            f"### {start.situation.title} (simulated, rules {Simulated().version})\n\n{head}\n",
            *("| " + " | ".join(cells) + " |" for cells in table),
            f"\nSlices, by seeds: {found_slices}.",
        )
    )


def _line(objective: Objective, runs: Sequence[Run], guided: Sequence[Run]) -> tuple[str, ...]:
    """Return the cells of one method."""
    target = objective.target
    outcomes = [run.decision.outcome for run in runs if run.decision]
    apart = [run.change(target) - other.change(target) for run, other in zip(runs, guided, strict=True)]
    return (
        runs[0].method,
        f"{mean(run.requests for run in runs):,.0f}, {mean(run.steps for run in runs):.1f}",
        f"{len(outcomes)} of {len(runs)}",
        " / ".join(str(outcomes.count(outcome)) for outcome in ("accepted", "refused", "undecided")),
        over_seeds([run.change(target) for run in runs]),
        _half_width(target, runs),
        "" if runs is guided else over_seeds(apart),
        over_seeds([run.adopted(target) for run in runs]),
        *(over_seeds([run.change(guard.metric) for run in runs]) for guard in objective.guards),
    )


def _half_width(metric: str, runs: Sequence[Run]) -> str:
    """Return the median half-width of the survivors' own intervals over rows, clustered by group."""
    changes = [run.changes[metric] for run in runs if run.changes]
    halves = [100 * (c.high - c.low) / 2 for c in changes if c.low is not None and c.high is not None]
    return f"± {median(halves):.1f}" if halves else ""


def run_situation(name: str, seeds: int) -> tuple[Start, list[Run]]:
    """Run every method on every seed of a situation; the record of calls is the situation's own."""
    runs, record = [], Counted()
    with Client(Simulated(), record=record) as client:
        start = open_start(SITUATIONS[name], client, record)
        for seed in range(seeds):
            settings = RunSettings(seed=seed)
            services = open_tools(client, TextGrad(), f"slice {seed}")
            targets = {
                guided: find_target(start.baseline, start.objective, services, replace(settings, unguided=not guided))
                for guided in (True, False)
            }
            for method, proposer in METHODS.items():
                runs.append(run_method(start, method, proposer, targets[method != UNGUIDED], seed))
                _say(name, runs[-1], start.objective.target)
    return start, runs


def _say(name: str, run: Run, target: str) -> None:
    ended = run.decision.outcome if run.decision else "no survivor"
    text = f"{name} seed {run.seed} {run.method:18} {run.requests:6,} requests {run.steps:3} steps, {ended:11}"
    print(f"{time.process_time():6.0f} s  {text} {run.change(target):+.1f}  [{run.slice}]", file=sys.stderr, flush=True)


def main() -> None:
    """Run, print the tables, and write what each run found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("situations", nargs="*", choices=[*SITUATIONS, []])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    body: dict[str, Any] = {"simulated": True, "simulator": Simulated().version, "situations": {}}  # Any: JSON
    for name in options.situations or SITUATIONS:
        start, runs = run_situation(name, options.seeds)
        print(write_table(start, runs) + "\n", flush=True)
        result = {"budget": start.budget, "runs": [run.to_json() for run in runs]}
        body["situations"][name] = asdict(start.situation) | result
    if options.json:
        options.json.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    print(f"simulated model {Simulated().version}; {time.process_time():.0f} s of CPU")


if __name__ == "__main__":
    main()
