"""Compare ways to improve a judge in a world where it is known which sentences help.

    python benchmarks/teachable [--sealed | --controls] [--arms 'NAME;...'] [--worlds
                                slices,plain] [--budgets 1,3,5] [--seeds 200-219] [--jobs 2] [--out
                                FILE]

`world.py` says what the judge gets wrong, `optimizer.py` what the optimizer model can learn from a
request; `lines.py` has three worlds more (`--worlds lines,mislead,nothing`). Everything between
them is the product as it stands: `optimize()` with its split, slice search, loss, proposers, race
and gate, through the client; only the split of a file, which no arm changes, is made once and kept,
and the closing table of a run is left out. The unit is a split: rows, the truth about attributes
and everything drawn are a seed's own. `OPEN` seeds are for work; `--sealed` takes the seeds that
nothing was chosen on: run it once, at the end.

Each arm may ask as many distinct requests (verdicts and optimizer calls, the loss and trials
included) as `BUDGET` steps of TextGrad that validate every proposal whole; it takes as many steps
as fit. The gate's verdicts on the holdout are not counted: only a survivor has them. `useful` is
the change of the target metric on 3,000 rows of the benchmark's own, cut before the product's
split, if every guard holds there, and 0 if one does not or there is no survivor; `adopted` is the
change where the gate accepted. Differences to the first arm are paired by split, with Student's
interval; p-values of an arm's list are corrected by Holm.

`--out FILE` keeps each run as a line of JSON; runs that stand there are not made again. Made on
other code, they would lie: use another file.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
from lines import WORLDS, Lines, LinesJudge, LinesWriter, draw_lines
from lines import draw_rows as draw_lined_rows
from optimizer import TeachableOptimizer
from world import (
    CONTROLS,
    OPEN,
    REFERENCE,
    SEALED,
    TASKS,
    Rule,
    Task,
    TeachableJudge,
    Truth,
    draw_rows,
    draw_truth,
    read_rules,
)

from judgewright.judges import (
    Client,
    Completion,
    Dataset,
    FloatArray,
    JudgePrompt,
    Request,
    Row,
    Splits,
)
from judgewright.judges.models import FailedCall, MemoryRecord
from judgewright.optimize import (
    Event,
    Gepa,
    Loss,
    Mipro,
    Objective,
    Outcome,
    Proposer,
    Rewrite,
    RunSettings,
    Services,
    ShowCases,
    TextGrad,
    compile_expression,
    optimize,
    read_objective,
)
from judgewright.runs.store import SqliteDatabase
from judgewright.runs.store.journal import create_run
from judgewright.runs.store.ledger import HoldoutLedger

ROWS, EVALUATION = 1_000, 3_000
SHARES = (35.0, 25.0, 40.0, 0.0)
BUDGET = 5
STEP_CALLS = 8 + 2
"""What a step of TextGrad asks beside its validation: a minibatch, feedback, and a text."""
ENDLESS = 1_000
MARGINS = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One way to search."""

    proposers: tuple[Proposer, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)  # Any: fields of RunSettings
    plain_loss: bool = False
    """Every wrong decision costs the same, but for what the checks of a loss ask."""
    wording_only: bool = False
    shuffled: bool = False


STUDY = TextGrad(view="all", parts=("criteria", "anchors"))
DEFAULT = (ShowCases(), STUDY, TextGrad())
"""The arms that the product tries unless others are named."""

ARMS: Mapping[str, Arm] = {
    "guided": Arm(proposers=(TextGrad(),)),
    "default": Arm(proposers=DEFAULT),
    "cases": Arm(proposers=(ShowCases(),)),
    "study": Arm(proposers=(STUDY,)),
    "study with cases": Arm(proposers=(replace(STUDY, parts=("criteria", "anchors", "cases")),)),
    "unguided": Arm(proposers=(TextGrad(),), settings={"unguided": True}),
    "rewrite": Arm(proposers=(Rewrite(),)),
    "GEPA": Arm(proposers=(Gepa(),)),
    "MIPROv2": Arm(proposers=(Mipro(),)),
    "rewrite, unguided": Arm(proposers=(Rewrite(),), settings={"unguided": True}),
    "GEPA, unguided": Arm(proposers=(Gepa(),), settings={"unguided": True}),
    "MIPROv2, unguided": Arm(proposers=(Mipro(),), settings={"unguided": True}),
    "slice, plain loss": Arm(proposers=(TextGrad(),), plain_loss=True),
    "all rows, loss": Arm(proposers=(TextGrad(),), settings={"slice": "all"}),
    "all rows, plain loss": Arm(
        proposers=(TextGrad(),), settings={"slice": "all"}, plain_loss=True
    ),
}
CONTROL_ARMS: Mapping[str, Arm] = {
    "shuffled labels": Arm(proposers=DEFAULT, shuffled=True),
    "wording only": Arm(proposers=(STUDY, TextGrad()), wording_only=True),
}


class TeachableModel:
    """The world's judge and its optimizer behind the seam to models."""

    name = "teachable"
    endpoint = "simulated:teachable"
    simulated = True

    def __init__(self, judge: TeachableJudge | LinesJudge, optimizer: TeachableOptimizer) -> None:
        self._judge, self._optimizer = judge, optimizer

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """See `Model.complete`."""
        judging = request.purpose == "judge"
        text = self._judge.reply(request.messages) if judging else self._optimizer.reply(request)
        return Completion(text=text, model_returned=self.name, fingerprint="simulated-teachable")

    async def close(self) -> None:
        """See `Model.close`."""


class Counted(MemoryRecord):
    """A record that counts the different requests of a run, those that it can answer included."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: set[bytes] = set()
        self.free: frozenset[bytes] = frozenset()
        """The first prompt's verdicts on the open rows, which all arms begin with."""

    def lookup(self, keys: Sequence[bytes]) -> Mapping[bytes, Completion | FailedCall]:
        """See `CallRecord.lookup`."""
        self.asked.update(keys)
        return super().lookup(keys)

    @property
    def requests(self) -> int:
        """How many there were so far."""
        return len(self.asked - self.free)


class OverBudget(Exception):
    """The last step went over it."""


class Notes:
    """A journal that counts at each step, and stops a search that is over its budget."""

    def __init__(self, record: Counted, cap: int | None) -> None:
        self._record, self._cap = record, cap
        self._events: list[Event] = []
        self.steps: dict[int, int] = {}
        """Requests after each step, all folds included."""

    def record(self, kind: str, payload: Mapping[str, Any]) -> Event:  # Any: JSON
        """See `Journal.record`."""
        event = Event(
            seq=len(self._events), kind=kind, payload=json.loads(json.dumps(payload)), created=""
        )
        self._events.append(event)
        if kind == "benchmark":
            self._record.free = frozenset(self._record.asked)
        if kind == "step":
            self.steps[payload["step"]] = self._record.requests
            if self._cap is not None and self._record.requests > self._cap:
                raise OverBudget
        return event

    def events(self) -> tuple[Event, ...]:
        """See `Journal.events`."""
        return tuple(self._events)


class CountingLedger(HoldoutLedger):
    """A ledger that notes how many requests there were before the first look."""

    before_look: int | None = None
    counted: Counted

    def begin(self, *arguments: Any, **named: Any) -> Any:  # Any: as in `HoldoutLedger.begin`
        """See `Ledger.begin`."""
        if self.before_look is None:
            self.before_look = self.counted.requests
        return super().begin(*arguments, **named)


@dataclass(slots=True, kw_only=True)
class Place:
    """A split: rows, truth, judge and what has been asked so far."""

    seed: int
    world: str
    task: Task
    truth: Truth | Lines
    judge: TeachableJudge | LinesJudge
    dataset: Dataset
    evaluation: tuple[Row, ...]
    objective: Objective
    record: Counted = field(default_factory=Counted)
    scores: dict[str, FloatArray] = field(default_factory=dict)
    """Of the evaluation rows, by version."""
    parts: Splits | None = None


def open_place(world: str, seed: int, *, shuffled: bool) -> Place:
    """Draw the rows of a seed; the task goes by the seed."""
    task, sliced = TASKS[seed % len(TASKS)], world == "slices"
    truth: Truth | Lines
    judge: TeachableJudge | LinesJudge
    if world in WORLDS:
        truth, judge = draw_lines(world, seed, task), LinesJudge(task)
        dataset, evaluation = draw_lined_rows(
            truth, seed, task, size=ROWS, others=EVALUATION, shuffled=shuffled
        )
    else:
        truth = draw_truth(seed, task, sliced=sliced)
        drawn = draw_rows(seed, task, sliced=sliced, size=ROWS + EVALUATION)
        labels = {_reference(row, task): row.label or 0.0 for row in drawn.rows}
        if shuffled:
            drawn = draw_rows(seed, task, sliced=sliced, size=ROWS + EVALUATION, shuffled=True)
        judge = TeachableJudge(task, truth, labels)
        dataset = Dataset.of(drawn.rows[:ROWS], labels=task.labels, name=drawn.name)
        evaluation = drawn.rows[ROWS:]
    return Place(
        seed=seed,
        world=world,
        task=task,
        truth=truth,
        judge=judge,
        dataset=dataset,
        evaluation=evaluation,
        objective=read_objective(task.wish, target=task.target, guards=task.guards),
    )


def _reference(row: Row, task: Task) -> str:
    match = REFERENCE.search(row.inputs[task.focus])
    assert match is not None
    return match[1]


def run_arm(place: Place, name: str, arm: Arm, cap: int) -> dict[str, Any]:  # Any: JSON
    """Search with as many steps as fit, let the gate decide, and measure the survivor on the
    evaluation rows.
    """
    began = time.process_time()
    notes = Notes(place.record, cap)
    with suppress(OverBudget), _optimizing(place, arm, ENDLESS, notes):
        pass
    steps = sum(count <= cap for count in notes.steps.values())
    while True:
        notes = Notes(place.record, None)
        with _optimizing(place, arm, steps, notes) as (outcome, requests):
            pass
        if requests <= cap or not steps:
            break
        steps -= 1
    payloads = {event.kind: event.payload for event in notes.events()}
    survivor, rule = outcome.after, payloads.get("survivor", {}).get("rule")
    before = measure(place, place.task.prompt)
    after = measure(place, survivor, rule and rule["threshold"]) if survivor else before
    changes = {metric: after[metric] - before[metric] for metric in before}
    held = all(changes[guard.metric] >= -guard.margin - MARGINS for guard in place.objective.guards)
    target = changes[place.objective.target]
    chance = payloads.get("chance", {})
    looked = outcome.decision.outcome if outcome.decision else None
    accepted = looked == "accepted" and chance["sent"]
    results = [
        str(event.payload.get("result", "")).split(":")[0]
        for event in notes.events()
        if event.kind == "step"
    ]
    return {
        "world": place.world,
        "seed": place.seed,
        "task": place.task.name,
        "arm": name,
        "cap": cap,
        "requests": requests,
        "steps": steps,
        "results": results,
        "slice": outcome.target.name,
        "slice_right": (
            bool(place.truth.kind) and f"kind = {place.truth.kind}" in outcome.target.name
        ),
        "survivor": survivor is not None,
        "outcome": "not sent" if looked and not chance["sent"] else looked,
        "looked": looked,
        "chance": chance,
        "reason": outcome.decision.reason if outcome.decision else None,
        "changes": changes,
        "held": held,
        "useful": target if held else 0.0,
        "adopted": target if accepted else 0.0,
        "rules": count_rules(place.truth, survivor),
        "criteria": survivor.criteria if survivor else None,
        "events": [event.kind for event in notes.events()],
        "cpu": time.process_time() - began,
    }


LOOP: Any = sys.modules[optimize.__module__]  # Any: its functions are replaced
SPLIT = LOOP.split_with_memory


@contextmanager
def _split_once(place: Place) -> Iterator[None]:
    """Keep the split of a place, half of the time of a run: fingerprints of rows that no other run
    has seen.
    """

    def split(*arguments: Any, **named: Any) -> Splits:  # Any: as `split_with_memory` has them
        parts = place.parts or SPLIT(*arguments, **named)
        place.parts = parts
        return parts

    with _patched(LOOP, {"split_with_memory": split, "measure_everything": lambda *_: None}):
        yield


@contextmanager
def _patched(
    module: Any, values: Mapping[str, Any]
) -> Iterator[None]:  # Any: a module and what is in it
    kept = {name: getattr(module, name) for name in values}
    try:
        for name, value in values.items():
            setattr(module, name, value)
        yield
    finally:
        for name, value in kept.items():
            setattr(module, name, value)


@contextmanager
def _optimizing(place: Place, arm: Arm, steps: int, notes: Notes) -> Iterator[tuple[Outcome, int]]:
    """Run `optimize` once in a workspace of its own; yields how it ended, and the requests before
    the gate's look.
    """
    place.record.asked.clear()
    folder = Path(tempfile.mkdtemp(prefix="teachable-"))
    database = SqliteDatabase(folder / "workspace.db")
    writer = LinesWriter if isinstance(place.truth, Lines) else TeachableOptimizer
    model = TeachableModel(place.judge, writer(place.task, wording_only=arm.wording_only))
    ledger = CountingLedger(database)
    ledger.counted = place.record
    loss = _plain_loss(place.task) if arm.plain_loss else None
    settings = RunSettings(
        steps=steps, seed=place.seed, shares=SHARES, loss=loss, gate_anyway=True, **arm.settings
    )
    try:
        with (
            _split_once(place),
            Client(model, record=place.record) as client,
        ):
            services = Services(
                judge_client=client,
                optimizer_client=client,
                proposers=arm.proposers,
                journal=notes,
                ledger=ledger,
                run_id=create_run(database, "optimize", {"name": "teachable"}),
            )
            outcome = optimize(
                place.task.prompt, place.dataset, place.objective, services, settings
            )
        counted = max(notes.steps.values(), default=0)
        yield outcome, counted if ledger.before_look is None else ledger.before_look
    finally:
        database.close()
        shutil.rmtree(folder, ignore_errors=True)


def _plain_loss(task: Task) -> Loss:
    # The checks want the error that the objective names to cost more; a fiftieth is as little as
    # can be.
    dear, cheap = ("fp", "fn") if task.right == "strict" else ("fn", "fp")
    declares = {f"{dear}_costs_more_than_{cheap}": True}
    return Loss(expression=compile_expression(f"0.51*{dear} + 0.5*{cheap}"), declares=declares)


def measure(place: Place, prompt: JudgePrompt, threshold: float | None = None) -> dict[str, float]:
    """Return the metrics that the objective names, on the evaluation rows."""
    if prompt.version not in place.scores:
        place.scores[prompt.version] = np.array(_scores(place, prompt), float)
    score = place.scores[prompt.version]
    label = np.array([row.label for row in place.evaluation], float)
    least = prompt.scale.threshold if threshold is None else threshold
    positive, predicted = label >= place.task.labels.threshold, score >= least
    both = float((positive & predicted).sum())
    metrics = {
        "precision": both / max(1, int(predicted.sum())),
        "recall": both / max(1, int(positive.sum())),
        "off_by_one": float((np.abs(score - label) <= 1).mean()),
    }
    return {name: metrics[name] for name in place.objective.metrics}


def _scores(place: Place, prompt: JudgePrompt) -> list[int]:
    if isinstance(place.judge, LinesJudge):
        # Row by row in whole messages, since what stands before a row may be the row's own.
        replies = [place.judge.reply(prompt.messages(row)) for row in place.evaluation]
        return [json.loads(reply)["score"] for reply in replies]
    instructions = place.judge.read(prompt.messages(place.evaluation[0])[:-1])
    texts = [row.inputs[place.task.focus] for row in place.evaluation]
    return [place.judge.decide(instructions, text).score for text in texts]


def count_rules(truth: Truth | Lines, survivor: JudgePrompt | None) -> dict[str, int]:
    """Count the survivor's rules by what they are: right, right but for all texts, of no effect,
    harmful.
    """
    if isinstance(truth, Lines):
        return truth.count_rules(survivor.criteria if survivor else "")
    counts = {"right": 0, "too wide": 0, "no effect": 0, "harmful": 0}
    rules = (
        {rule for found in read_rules(survivor.criteria).values() for rule in found}
        if survivor
        else set()
    )
    for rule in rules:
        if rule in truth.right or Rule(rule.attribute, rule.wish) in truth.right:
            counts["right"] += 1
        elif any(
            (right.attribute, right.wish) == (rule.attribute, rule.wish) for right in truth.right
        ):
            counts["harmful" if rule.kind else "too wide"] += 1
        elif truth.role[rule.attribute] == "useless":
            counts["no effect"] += 1
        else:
            counts["harmful"] += 1
    return counts


def cap_of(budget: int) -> int:
    """Return the requests of so many steps of TextGrad that validate whole."""
    return budget * (STEP_CALLS + round(ROWS * SHARES[1] / 100))


def run_seed(
    world: str, seed: int, missing: Sequence[tuple[str, int]]
) -> list[dict[str, Any]]:  # Any: JSON
    """Run arms of a split, each at a budget; they share its record of calls, which saves time and
    nothing else.
    """
    arms = {**ARMS, **CONTROL_ARMS}
    place = open_place(world, seed, shuffled=any(arms[name].shuffled for name, _ in missing))
    return [run_arm(place, name, arms[name], cap_of(budget)) for name, budget in missing]


def over_splits(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean in points, half the width of its 95 % interval, and the two-sided p of
    Student's test.
    """
    from scipy.stats import t as student

    if len(values) < 2 or len(set(values)) == 1:
        return 100 * mean(values), 0.0, 1.0
    error = stdev(values) / len(values) ** 0.5
    half = float(student.ppf(0.975, len(values) - 1)) * error
    return (
        100 * mean(values),
        100 * half,
        2 * float(student.sf(abs(mean(values)) / error, len(values) - 1)),
    )


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return p-values corrected for their number."""
    corrected: dict[str, float] = {}
    least = 0.0
    for done, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        least = max(least, min(1.0, p * (len(p_values) - done)))
        corrected[name] = least
    return corrected


def write_table(runs: Sequence[Mapping[str, Any]], world: str, arms: Sequence[str]) -> str:
    """Return the table of a world as Markdown: the first arm is what the others are held
    against.
    """
    by_arm: dict[str, dict[int, Mapping[str, Any]]] = {name: {} for name in arms}
    for run in runs:
        if run["world"] == world and run["arm"] in by_arm:
            by_arm[run["arm"]][run["seed"]] = run
    by_arm = {name: found for name, found in by_arm.items() if found}
    if not by_arm:
        return ""
    first = next(iter(by_arm))
    seeds = sorted(set.intersection(*(set(found) for found in by_arm.values())))
    apart = {
        name: over_splits([by_arm[first][seed]["useful"] - found[seed]["useful"] for seed in seeds])
        for name, found in by_arm.items()
        if name != first
    }
    corrected = holm({name: p for name, (_, _, p) in apart.items()})
    lines = [
        (
            f"| {world}, {len(seeds)} splits | requests, steps | survivors | accepted | useful |"
            f" {first} minus it | p (Holm) | adopted | guard broken | rules right / too wide / no"
            " effect / harmful |"
        ),
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, found in by_arm.items():
        shown = [found[seed] for seed in seeds]
        useful, half, _ = over_splits([run["useful"] for run in shown])
        adopted, adopted_half, _ = over_splits([run["adopted"] for run in shown])
        difference = ""
        if name in apart:
            value, reach, _ = apart[name]
            difference = f"{value:+.1f} [{value - reach:+.1f}, {value + reach:+.1f}]"
        rules = " / ".join(
            f"{mean(run['rules'][what] for run in shown):.1f}" for what in shown[0]["rules"]
        )
        cells = (
            name,
            (
                f"{mean(run['requests'] for run in shown):,.0f},"
                f" {mean(run['steps'] for run in shown):.1f}"
            ),
            str(sum(run["survivor"] for run in shown)),
            str(sum(run["outcome"] == "accepted" for run in shown)),
            f"{useful:+.1f} ± {half:.1f}",
            difference,
            f"{corrected[name]:.3f}" if name in corrected else "",
            f"{adopted:+.1f} ± {adopted_half:.1f}",
            str(sum(run["survivor"] and not run["held"] for run in shown)),
            rules,
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def write_curve(
    runs: Sequence[Mapping[str, Any]], world: str, arms: Sequence[str], budgets: Sequence[int]
) -> str:
    """Return what each arm reaches with each budget, and the first arm's lead at each, as
    Markdown.
    """
    useful: dict[tuple[str, int], dict[int, float]] = {}
    for run in runs:
        if run["world"] == world:
            useful.setdefault((run["arm"], run["cap"]), {})[run["seed"]] = run["useful"]
    found = [name for name in arms if all((name, cap_of(budget)) in useful for budget in budgets)]
    if len(budgets) < 2 or not found:
        return ""
    lines = [
        f"| {world}: useful, by budget | {' | '.join(map(str, budgets))} |",
        "|---" * (len(budgets) + 1) + "|",
    ]
    for name in found:
        cells: list[str] = []
        for budget in budgets:
            mine, first = useful[name, cap_of(budget)], useful[found[0], cap_of(budget)]
            seeds = sorted(set(mine) & set(first))
            value, half, _ = over_splits([mine[seed] for seed in seeds])
            cell = f"{value:+.1f} ± {half:.1f}"
            if name != found[0]:
                apart, reach, _ = over_splits([first[seed] - mine[seed] for seed in seeds])
                cell += f"; {found[0]} {apart:+.1f} [{apart - reach:+.1f}, {apart + reach:+.1f}]"
            cells.append(cell)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Run what is not there yet, and print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--sealed",
        action="store_true",
        help="the seeds that nothing was chosen on; once, at the end",
    )
    parser.add_argument(
        "--controls", action="store_true", help="shuffled labels, and edits of wording only"
    )
    parser.add_argument(
        "--arms",
        default="",
        help="names of arms with ; between them, the first compared with the rest",
    )
    parser.add_argument("--worlds", default="slices,plain")
    parser.add_argument("--splits", type=int, default=24)
    parser.add_argument(
        "--seeds", help="other seeds to work with, such as 200-219, so that OPEN stays unused"
    )
    parser.add_argument(
        "--budgets",
        default=str(BUDGET),
        help="in steps of TextGrad that validate whole, such as 1,3,5",
    )
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    arms = [name.strip() for name in options.arms.split(";") if name.strip()]
    arms = arms or list(CONTROL_ARMS if options.controls else ARMS)
    seeds: Sequence[int] = (CONTROLS if options.controls else SEALED if options.sealed else OPEN)[
        : options.splits
    ]
    if options.seeds:
        first, _, last = options.seeds.partition("-")
        seeds = range(int(first), int(last) + 1)
    runs: list[dict[str, Any]] = []  # Any: JSON
    if options.out and options.out.exists():
        runs = [json.loads(line) for line in options.out.read_text(encoding="utf-8").splitlines()]
    worlds = options.worlds.split(",")
    budgets = sorted(int(budget) for budget in options.budgets.split(","))
    there = {(run["world"], run["seed"], run["arm"], run["cap"]) for run in runs}
    tasks = []
    for seed in seeds:
        for world in worlds:
            missing = [
                (name, budget)
                for name in arms
                for budget in budgets
                if (world, seed, name, cap_of(budget)) not in there
            ]
            # Shuffled rows are other rows.
            shuffled = [one for one in missing if CONTROL_ARMS.get(one[0], ARMS["guided"]).shuffled]
            for group in (shuffled, [one for one in missing if one not in shuffled]):
                if group:
                    tasks.append(partial(run_seed, world, seed, group))
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("fork")) as pool:
        for done in as_completed([pool.submit(task) for task in tasks]):
            for run in done.result():
                runs.append(run)
                if options.out:
                    with options.out.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(run) + "\n")
                text = (
                    f"{run['world']} {run['seed']} {run['arm']:20} {run['requests']:5}"
                    f" {run['steps']:3}"
                )
                print(
                    f"{text} {run['outcome']} {100 * run['useful']:+.1f} {run['cpu']:.1f} s",
                    file=sys.stderr,
                )
    runs = [run for run in runs if run["seed"] in seeds]
    at_most = [run for run in runs if run["cap"] == cap_of(budgets[-1])]
    for world in worlds:
        for table in (write_table(at_most, world, arms), write_curve(runs, world, arms, budgets)):
            if table:
                print(table + "\n")


if __name__ == "__main__":
    main()
