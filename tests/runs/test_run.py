"""Runs: the walk on real calls, kept, killed, resumed, and what never leaves it."""

import base64
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges import (
    BudgetSpent,
    Dataset,
    InputError,
    Registry,
    Unscored,
    judge,
    split_dataset,
)
from judgewright.judges.models import Client, Completion, Request
from judgewright.judges.simulated import Faults, Server, Simulated, make_app
from judgewright.optimize import (
    RUN_OUTCOMES,
    HumanEdit,
    RunSettings,
    Services,
    TextGrad,
    optimize,
    read_objective,
)
from judgewright.runs.actions import (
    NotAccepted,
    RunResult,
    baseline,
    provenance,
    read_optimization,
    record_review,
    resume_run,
    start_run,
)
from judgewright.runs.config import Environment, open_client
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.store import (
    CallStore,
    HoldoutLedger,
    RunConfig,
    RunJournal,
    Workspace,
    create_run,
    list_runs,
)

from ..optimize.in_memory import MemoryJournal, MemoryLedger
from .stored_events import EVIDENCE, stored

IN_FLIGHT = 512
"""What the client has in flight at an embedded model at most."""
OBJECTIVE = "Precision matters most: do not call unsupported statements grounded."
PROMPT = Registry().get("groundedness")


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """About three hundred made-up labelled rows."""
    path = tmp_path / "rows.jsonl"
    write_demo_rows(path, documents=90)
    return path


def config(rows: Path, **changes: Any) -> RunConfig:
    """A short walk."""
    plain = {
        "prompt": PROMPT.to_yaml(),
        "model": "simulated",
        "data": str(rows),
        "objective": OBJECTIVE,
        "target": "precision",
        "steps": 2,
    }
    return RunConfig(**{**plain, **changes})


def start(place: Workspace, chosen: RunConfig, *, new: bool = False) -> RunResult:
    """Start a run and watch nothing."""
    return start_run(place, chosen, Environment(), new=new)


def lasting(result: RunResult) -> list[tuple[str, Mapping[str, Any]]]:
    """Every event of a run, without times."""
    return [(event.kind, event.payload) for event in result.run.events]


def test_a_walk_writes_its_steps_in_order_and_resuming_it_asks_nothing(
    place: Workspace, rows: Path
) -> None:
    """The events name the path; walking again gives the same events from the record alone."""
    first = start(place, config(rows))
    kinds = list(dict.fromkeys(event.kind for event in first.run.events))
    path = [
        "started",
        "split",
        "benchmark",
        "threshold",
        "slice",
        "loss",
        "validation",
        "step",
        "chance",
        "survivor",
        "decision",
        "everything",
    ]
    assert kinds == path
    again = resume_run(place, first.run_id, Environment())
    assert lasting(again) == lasting(first)
    assert sum(stats.calls for stats in again.stats) == 0
    summary = CallStore(place.database, first.run_id).summary()
    assert (summary.repeated, summary.in_doubt) == (0, 0)


def test_another_run_in_the_workspace_pays_for_nothing_it_already_knows(
    place: Workspace, rows: Path
) -> None:
    """Recorded replies are shared; the second run spends its own look at the holdout."""
    mine = config(rows, gate_anyway=True, proposer="textgrad", steps=1)
    first, second = start(place, mine), start(place, mine, new=True)
    assert sum(stats.calls for stats in second.stats) == 0
    looks = [
        next(e.payload for e in r.run.events if e.kind == "decision").get("look")
        for r in (first, second)
    ]
    if looks[0] is not None and not first.run.decided.accepted:
        assert looks == [1, 2]


def test_everything_simulated_is_marked(place: Workspace, rows: Path) -> None:
    """Run, decision and benchmark say that the model was simulated, with the version of its
    rules.
    """
    result = start(place, config(rows, steps=1))
    started = result.run.events[0].payload
    assert started["simulated"]
    assert started["endpoints"][0] == Simulated().endpoint
    assert result.to_json()["benchmark"]["simulated"]
    assert result.to_json()["everything"]["includes_tuned_rows"]


class Overheard:
    """The simulated model, with a note of every request."""

    def __init__(self) -> None:
        self.inner = Simulated()
        self.name, self.endpoint, self.simulated = self.inner.name, self.inner.endpoint, True
        self.heard: list[Request] = []

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Note, then answer."""
        self.heard.append(request)
        return await self.inner.complete(request, unsupported_parameters=unsupported_parameters)

    async def close(self) -> None:
        """Close the inner model."""
        await self.inner.close()


def with_canaries(data: Dataset) -> Dataset:
    """The same rows with a mark in each text that stands in no other row."""
    rows = (
        replace(row, inputs={name: f"CANARY<{row.id}> {text}" for name, text in row.inputs.items()})
        for row in data.rows
    )
    return replace(data, rows=tuple(rows), content_hash="marked")


def test_no_sealed_row_ever_reaches_the_optimizer_model(rows: Path) -> None:
    """A canary in each row's text: those of sealed rows are in no optimizer or loss request, nor in
    an event.
    """
    data = with_canaries(config(rows).dataset())
    parts = split_dataset(data, shares=(30, 20, 30, 20))
    open_ids = {row.id for part in (parts.train, parts.validation) for row in part.rows}
    sealed = [f"CANARY<{row.id}>" for row in data.rows if row.id not in open_ids]
    assert len(sealed) == len(parts.holdout) + len(parts.final) > 100
    model, journal = Overheard(), MemoryJournal()
    with Client(model) as client:
        tools = Services(
            judge_client=client,
            optimizer_client=client,
            proposers=(TextGrad(),),
            journal=journal,
            ledger=MemoryLedger(),
            run_id="r",
        )
        optimize(
            PROMPT,
            data,
            read_objective(OBJECTIVE, judge=PROMPT, target="precision"),
            tools,
            RunSettings(steps=8),
        )
    written = [r for r in model.heard if r.purpose != "judge"]
    assert len(written) > 10
    said = "\n".join(message.content for request in written for message in request.messages)
    said += "\n".join(json.dumps(dict(event.payload)) for event in journal.events())
    assert "CANARY<" in said
    assert [mark for mark in sealed if mark in said] == []


def test_a_spent_budget_stops_the_run_and_a_larger_one_finishes_it(
    place: Workspace, rows: Path
) -> None:
    """The run stops with a hint how to go on; resumed, it ends like a run that never stopped."""
    with pytest.raises(BudgetSpent, match="budget") as stopped:
        start(place, config(rows, budget="60000tokens", folds=1))
    assert stopped.value.hint is not None
    run_id = stopped.value.hint.rsplit(" ", 1)[-1]
    assert CallStore(place.database, run_id).summary().tokens <= 60_000
    resumed = resume_run(
        place,
        run_id,
        Environment(),
        budget="90000000tokens",
    )
    with Workspace(place.root / "other") as other:
        undisturbed = start(other, config(rows, folds=1))
    assert lasting(resumed)[1:] == lasting(undisturbed)[1:]


def test_changed_rows_are_noticed_on_resume(place: Workspace, rows: Path) -> None:
    """A run goes on only with the rows it started with."""
    result = start(place, config(rows, steps=0))
    lines = rows.read_text().splitlines()
    rows.write_text("\n".join(lines[1:]) + "\n")
    with pytest.raises(InputError, match="has changed since"):
        resume_run(place, result.run_id, Environment())


def test_the_baseline_of_a_run_is_read_without_asking(place: Workspace, rows: Path) -> None:
    """`slices RUN` works on the recorded verdicts."""
    result = start(place, config(rows, steps=0))
    judged = baseline(place, result.run)
    recorded = next(event.payload for event in result.run.events if event.kind == "benchmark")
    assert len(judged.scored) == recorded["n"]


def test_accepting_needs_the_gates_word_and_happens_once(place: Workspace, rows: Path) -> None:
    """A refused prompt cannot be adopted; a decision stands."""
    result = start(place, config(rows, steps=0))
    with pytest.raises(NotAccepted, match="no candidate: no search was asked for"):
        record_review(place, result.run_id, accept=True, who="ann", comment="")
    record_review(place, result.run_id, accept=False, who="ann", comment="nothing new")
    assert read_optimization(place, result.run_id).reviews[0].who == "ann"
    with pytest.raises(InputError, match="already rejected by ann"):
        record_review(place, result.run_id, accept=False, who="bob", comment="")


def test_an_accepted_prompt_becomes_current_with_its_parent_beside_it(
    place: Workspace, rows: Path
) -> None:
    """Once a person adopts what the gate accepted, the name means it, the log leads back, exports
    name the run.
    """
    child = PROMPT.edited(criteria=PROMPT.criteria + "\nNumbers must match.")
    run_id = create_run(place.database, "optimize", config(rows).to_json())
    journal = RunJournal(place.database, run_id)
    journal.record("started", stored("started", {}))
    journal.record("survivor", {"version": child.version, "prompt": child.to_yaml()})
    decision = {"accepted": True, "outcome": "accepted", "reason": "precision rose", **EVIDENCE}
    journal.record("decision", decision)
    with pytest.raises(InputError, match="has not finished"):
        record_review(place, run_id, accept=True, who="ann", comment="")
    journal.record("everything", stored("everything", {}))
    adopted = record_review(place, run_id, accept=True, who="ann", comment="reads well")
    assert adopted is not None
    assert place.registry.get("groundedness").version == adopted.version == child.version
    assert [p.version for p in place.registry.log("groundedness")] == [
        child.version,
        PROMPT.version,
    ]
    assert "gated on simulated" in place.registry.get("groundedness").note
    origin = provenance(place, adopted)
    assert (origin["run"], origin["simulated"], origin["outcome"]) == (run_id, True, "accepted")
    assert provenance(place, PROMPT)["outcome"] == "never gated"


def test_over_http_with_faults_garbage_is_unscored_and_the_rest_is_the_same(rows: Path) -> None:
    """10 % 429, 5 % 503, 5 % garbage: nothing is lost but the garbage, which is unscored as
    unreadable, never zero.
    """
    data = config(rows).dataset()
    with Client(Simulated()) as client:
        inside = judge(PROMPT, data, client)
    faults = Faults.parse("429=0.10,503=0.05,garbage=0.05,retry_after=0.01,seed=5")
    with (
        Server(make_app(Simulated(), faults)) as server,
        open_client(f"any-name@{server.base_url}", Environment(), concurrency=32) as client,
    ):
        outside = judge(PROMPT, data, client)
        assert client.stats.retries > 0
    assert outside.simulated
    lost = [answer for answer in outside.answers if isinstance(answer, Unscored)]
    assert {answer.reason for answer in lost} == {"parse"}
    assert 0.01 < len(lost) / len(data) < 0.12
    for here, there in zip(inside.answers, outside.answers, strict=True):
        if not isinstance(there, Unscored):
            assert (here.score, here.positive) == (there.score, there.positive)  # type: ignore[union-attr]


@pytest.mark.slow
def test_a_whole_walk_over_http_with_faults_ends_in_a_decision(
    place: Workspace, rows: Path
) -> None:
    """The same walk against a served model with faults: it finishes, and its record says what was
    unscored.
    """
    faults = Faults.parse("429=0.10,503=0.05,garbage=0.05,retry_after=0.01,seed=5")
    with Server(make_app(Simulated(), faults)) as server:
        result = start(place, config(rows, steps=2, model=f"simulated@{server.base_url}"))
    body = result.to_json()
    assert body["benchmark"]["unscored"]["parse"] > 0
    assert body["decision"]["outcome"] in RUN_OUTCOMES
    again = resume_run(place, result.run_id, Environment())
    assert lasting(again) == lasting(result)


def test_a_resumed_run_does_not_ask_a_given_up_row_again(place: Workspace, rows: Path) -> None:
    """A row that failed for good in a run stays failed in it, so that resuming changes nothing."""
    faults = Faults.parse("500=0.5,seed=1")
    with Server(make_app(Simulated(), faults)) as server:
        chosen = config(rows, steps=1, limit=120, model=f"simulated@{server.base_url}")
        result = start(place, chosen)
    again = resume_run(place, result.run_id, Environment())
    assert lasting(again) == lasting(result)


def test_a_key_is_in_no_file_and_no_event(place: Workspace, rows: Path) -> None:
    """A canary key is sent to the endpoint and found nowhere else: not in the workspace, nor in
    what a run says.
    """
    key = "sk-test-CANARY-4f9d81c27ab3"
    environment = Environment(openai_key=key, own_key=key)
    with Server(make_app(Simulated(), Faults.parse("429=0.05,retry_after=0.01"))) as server:
        chosen = config(rows, steps=1, limit=150, model=f"simulated@{server.base_url}")
        result = start_run(place, chosen, environment)
    place.close()
    told = [repr(environment), json.dumps(result.to_json())]
    kept = [path.read_bytes() for path in place.root.rglob("*") if path.is_file()]
    assert len(kept) >= 2
    forms = (key.encode(), base64.b64encode(key.encode()), key[-8:].encode())
    assert not [
        form for form in forms for blob in (*kept, *(t.encode() for t in told)) if form in blob
    ]


@pytest.mark.parametrize(
    "wrong", [{"by": "colour"}, {"slice": "colour = red"}, {"slice_columns": ("colour",)}]
)
def test_a_column_that_is_not_there_is_refused_before_anything_is_asked(
    place: Workspace, rows: Path, wrong: dict[str, Any]
) -> None:
    """A typing error costs nothing."""
    with pytest.raises(InputError, match="colour"):
        start(place, config(rows, **wrong))
    run_id = list_runs(place.database)[-1].run_id
    assert CallStore(place.database, run_id).summary().attempts == 0
    assert list_runs(place.database)[-1].state == "failed"


def openings(place: Workspace, result: RunResult) -> list[int]:
    """How often a run's holdout and final rows stand in the ledger as opened."""
    seals = next(event.payload["seals"] for event in result.run.events if event.kind == "split")
    return [
        len(HoldoutLedger(place.database).history().looks(seals[part]))
        for part in ("holdout", "final")
    ]


@pytest.mark.slow
def test_every_opening_of_sealed_rows_stands_in_the_ledger(place: Workspace, rows: Path) -> None:
    """An accept opens holdout and final once each, and the ledger says so; a walk without survivor
    opens nothing.
    """
    write_demo_rows(rows, documents=240)
    result = start(place, config(rows, steps=6, guards=("recall:-0.30",)))
    assert result.to_json()["decision"]["accepted"]
    assert openings(place, result) == [1, 1]
    everything = result.to_json()["everything"]
    assert everything["includes_sealed_rows"]
    assert everything["before"]["pooled"]["n"] == len(config(rows).dataset())
    assert {"final"} <= everything["before"].keys() & everything["after"].keys()
    target = everything["final_change"]["target"]
    assert target["before"] == pytest.approx(
        everything["before"]["final"]["metrics"][target["metric"]]["value"]
    )
    assert target["difference"] == pytest.approx(target["after"] - target["before"])
    assert target["low"] <= target["difference"] <= target["high"]
    idle = start(place, config(rows, steps=0))
    assert idle.run.after is None
    everything = idle.to_json()["everything"]
    assert everything["final_opened"] == 0
    assert everything["before"]["pooled"]["n"] == idle.to_json()["benchmark"]["n"]
    assert openings(place, idle) == [1, 1]


def test_without_an_accept_the_final_rows_stay_sealed_and_nobody_pays_for_them(rows: Path) -> None:
    """A refused walk asks about each holdout row once a prompt and about no final row; its table is
    of open rows.
    """
    data = with_canaries(config(rows).dataset())
    parts = split_dataset(data)
    open_ids = {row.id for part in (parts.train, parts.validation) for row in part.rows}
    model, journal, ledger = Overheard(), MemoryJournal(), MemoryLedger()
    stricter = PROMPT.edited(
        criteria=(
            f"{PROMPT.criteria}\nReserve the top grades for clear cases and avoid false positives."
        )
    )
    with Client(model) as client:
        tools = Services(
            judge_client=client,
            optimizer_client=client,
            proposers=(HumanEdit(edit=stricter),),
            journal=journal,
            ledger=ledger,
            run_id="r",
        )
        # Nobody reaches this floor; a prompt that comes nearer to it goes to the gate all the same.
        objective = read_objective(
            OBJECTIVE,
            judge=PROMPT,
            target="precision",
            guards=("recall:-0.25",),
            floors=("precision=0.999",),
        )
        outcome = optimize(PROMPT, data, objective, tools, RunSettings(steps=1, gate_anyway=True))
    assert outcome.decision is not None
    assert outcome.decision.outcome == "refused"
    asked = [request.messages[-1].content for request in model.heard if request.purpose == "judge"]
    counts = [
        sum(f"CANARY<{row.id}>" in text for text in asked)
        for row in data.rows
        if row.id not in open_ids
    ]
    assert sorted(counts) == [0] * len(parts.final) + [2] * len(parts.holdout)
    everything = next(event.payload for event in journal.events() if event.kind == "everything")
    assert not everything["includes_sealed_rows"]
    assert everything["final_opened"] == len(ledger.history().looks(parts.final.content_hash)) == 0
    for side in ("before", "after"):
        assert everything[side]["pooled"]["n"] == len(open_ids)
        assert "final" not in everything[side]
    assert len(ledger.history().looks(parts.holdout.content_hash)) == 1


def test_no_seed_and_no_other_split_makes_a_fresh_holdout(place: Workspace, rows: Path) -> None:
    """The sealed rows are the same and their looks go on counting."""
    runs = [
        start(place, config(rows, **other))
        for other in ({"seed": 0}, {"seed": 1}, {"shares": (40, 20, 20, 20)})
    ]
    splits = [next(e.payload for e in r.run.events if e.kind == "split") for r in runs]
    assert splits[0]["seals"] == splits[1]["seals"] == splits[2]["seals"]
    assert any("40/20/20/20 is for new ones" in note for note in splits[2]["notes"])


def test_the_closing_table_tells_no_single_row(place: Workspace, rows: Path) -> None:
    """A column with a value of its own for every row has one line, of all rows together."""
    lines = [json.loads(line) for line in rows.read_text().splitlines()]
    rows.write_text("".join(json.dumps({**line, "mine": line["id"]}) + "\n" for line in lines))
    result = start(place, config(rows, steps=2, by="mine"))
    assert list(result.to_json()["everything"]["before"]["by"]) == ["(fewer than 20 rows)"]
