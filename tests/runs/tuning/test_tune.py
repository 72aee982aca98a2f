"""`tune`: a study of the loop's settings on open rows alone, kept, killed, gone on with, and taken over."""

import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from judgewright.judges.errors import BudgetSpent, InputError, Interrupted, WorkspaceError
from judgewright.judges.models import Client
from judgewright.judges.registry import Registry
from judgewright.judges.simulated.model import Simulated
from judgewright.judges.simulated.serve import Server, make_app
from judgewright.judges.splits import split_dataset
from judgewright.optimize import MemoryJournal, MemoryLedger, Services, TextGrad, read_objective
from judgewright.optimize.tuning import Knobs, halve, lay_ground, walk_with
from judgewright.runs.commands.optimize import optimize
from judgewright.runs.commands.tune import tune as command
from judgewright.runs.config.environment import Environment
from judgewright.runs.demo.rows import write_demo_rows
from judgewright.runs.store.calls import CallStore
from judgewright.runs.store.journal import RunJournal, list_runs
from judgewright.runs.store.ledger import HoldoutLedger
from judgewright.runs.store.run_config import RunConfig
from judgewright.runs.store.workspace import Workspace
from judgewright.runs.tuning.tune import STUDIES, TuneResult, tune
from judgewright.runs.tuning.tuned import tuned_settings

PROMPT = Registry().get("groundedness")
OBJECTIVE = "Precision matters most: do not call unsupported statements grounded."
TRIALS = 4


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """About three hundred made-up labelled rows, each text with a mark that names its row."""
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    write_demo_rows(path, documents=90)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    marked = [
        {**line, **{name: f"{line[name]} CANARY<{line['id']}>" for name in PROMPT.inputs if line.get(name)}}
        for line in lines
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in marked))
    return path


def config(rows: Path, **changes: Any) -> RunConfig:
    """A short walk whose guard lets most candidates pass."""
    chosen = {"data": str(rows), "objective": OBJECTIVE, "guards": ("recall:-0.40",), "steps": 3}
    return RunConfig(**{"prompt": PROMPT.to_yaml(), "model": "simulated", **chosen, **changes})


def search(
    place: Workspace, chosen: RunConfig, *, trials: int = TRIALS, environment: Environment | None = None
) -> tuple[TuneResult, list[int]]:
    """Tune, and return what was found with the trials that were made now."""
    made: list[int] = []
    result = tune(
        place,
        chosen,
        environment or Environment(),
        trials=trials,
        watch=lambda *_: None,
        on_trial=lambda number, *_: made.append(number),
    )
    return result, made


@pytest.fixture(scope="module")
def calm(rows: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workspace, TuneResult]]:
    """A study that nothing disturbed, and its workspace; tests only read it."""
    with Workspace(tmp_path_factory.mktemp("calm")) as place:
        yield place, search(place, config(rows))[0]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Workspace]:
    """An empty workspace."""
    with Workspace(tmp_path / "work") as workspace:
        yield workspace


def states(place: Workspace) -> list[tuple[str, str]]:
    """Study and state of every trial in the file, as SQLite has them."""
    with closing(sqlite3.connect(place.path.with_name(STUDIES))) as connection:
        sql = "SELECT study_name, state FROM trials JOIN studies USING (study_id) ORDER BY trial_id"
        return connection.execute(sql).fetchall()


def requests(place: Workspace) -> list[tuple[str, str]]:
    """Purpose and content of every request in the record."""
    return [(purpose, body.decode()) for purpose, body in place.database.read("SELECT purpose, request_json FROM call")]


def test_no_sealed_row_is_judged_and_no_look_is_spent(calm: tuple[Workspace, TuneResult], rows: Path) -> None:
    """The mark of a holdout or final row stands in no request and in no file; the ledger has no look."""
    place, result = calm
    parts = split_dataset(config(rows).dataset())
    open_ids = {row.id for part in (parts.train, parts.validation) for row in part.rows}
    sealed = [f"CANARY<{row.id}>" for row in config(rows).dataset().rows if row.id not in open_ids]
    assert len(sealed) == len(parts.holdout) + len(parts.final) > 100
    asked = "\n".join(body for _, body in requests(place))
    files = [path.read_bytes() for path in place.root.rglob("*") if path.is_file()]
    assert [mark for mark in sealed if mark in asked or any(mark.encode() in blob for blob in files)] == []
    assert all(f"CANARY<{row_id}>" in asked for row_id in open_ids)
    ledger = HoldoutLedger(place.database)
    assert [ledger.looks(part.content_hash) for part in (parts.holdout, parts.final)] == [(), ()]
    assert sum(result.found["rows"].values()) == len(open_ids)


def test_held_rows_are_judged_at_the_end_and_by_three_prompts_at_most(
    calm: tuple[Workspace, TuneResult], rows: Path
) -> None:
    """No optimizer request shows a held row, and the judge sees it once for the start, the first and the chosen."""
    place, result = calm
    held = halve(split_dataset(config(rows).dataset()).validation)[1]
    marks = [f"CANARY<{row.id}>" for row in held.rows]
    prompts = {None, result.found["trials"][0]["version"], result.found["chosen"]["version"]}
    for mark in marks:
        purposes = [purpose for purpose, body in requests(place) if mark in body]
        assert purposes == ["judge"] * len(prompts)
    assert result.found["held"]["fall"]["n"] == len(held)


def test_each_trial_walks_with_its_own_settings(calm: tuple[Workspace, TuneResult]) -> None:
    """The temperatures that the optimizer model was asked with are those of the trials; the first are the defaults."""
    place, result = calm
    trials = result.found["trials"]
    sent = {json.loads(body)["temperature"] for purpose, body in requests(place) if purpose == "optimizer"}
    assert sent == {trial["temperature"] for trial in trials}
    first = {name: trials[0][name] for name in ("batch", "temperature", "gradients")}
    assert first == {"batch": 8, "temperature": 0.7, "gradients": 1}
    assert len({(t["batch"], t["temperature"], t["gradients"]) for t in trials}) == TRIALS
    assert len({t["gradients"] for t in trials}) > 1


def test_a_trial_counts_what_its_walk_alone_would_ask(calm: tuple[Workspace, TuneResult], rows: Path) -> None:
    """Whatever the record has, a trial's calls are those of the same walk with an empty record, benchmark aside."""
    _, result = calm
    chosen = config(rows)
    for trial in result.found["trials"][:2]:
        knobs = Knobs(**{name: trial[name] for name in ("batch", "temperature", "gradients")})
        with Client(Simulated()) as client:
            tools = Services(
                judge_client=client,
                optimizer_client=client,
                proposer=TextGrad(),
                journal=MemoryJournal(),
                ledger=MemoryLedger(),
                run_id="r",
            )
            objective = read_objective(OBJECTIVE, guards=chosen.guards)
            ground = lay_ground(PROMPT, chosen.dataset(), objective, tools, chosen.settings())
            before = client.stats.calls
            survivor = walk_with(knobs, ground, tools, chosen.settings())
            assert client.stats.calls - before == trial["calls"]
        assert (survivor and survivor.version) == trial["version"]


def test_asking_again_asks_no_model_and_more_trials_go_on(
    place: Workspace, calm: tuple[Workspace, TuneResult], rows: Path
) -> None:
    """The same question is answered from record and study; a study of two becomes the study of four."""
    _, whole = calm
    two, made = search(place, config(rows), trials=2)
    assert (made, len(two.found["trials"])) == ([1, 2], 2)
    again, made = search(place, config(rows), trials=2)
    assert (made, sum(stats.calls for stats in again.stats)) == ([], 0)
    assert (again.run_id, again.found) == (two.run_id, two.found)
    four, made = search(place, config(rows))
    assert (made, four.found) == ([3, 4], whole.found)
    kinds = [event.kind for event in RunJournal(place.database, four.run_id).events()]
    assert kinds == ["tuning", "split", "benchmark", "slice", "loss", "tuned", "tuned"]
    assert [info.kind for info in list_runs(place.database)] == ["tune"]


CHILD = """
import os, signal, sys
from pathlib import Path
from judgewright.runs.config.environment import Environment
from judgewright.runs.store.run_config import RunConfig
from judgewright.runs.tuning.tune import tune
from judgewright.runs.store.workspace import Workspace
import json
def at(doing, *_):
    if str(doing).startswith(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
with Workspace(Path(sys.argv[1])) as place:
    config = RunConfig.from_json(json.loads(sys.argv[2]))
    tune(place, config, Environment(), trials=4, watch=at, on_trial=at)
"""


def test_a_study_killed_again_and_again_ends_like_one_that_was_not(
    place: Workspace, calm: tuple[Workspace, TuneResult], rows: Path
) -> None:
    """SIGKILL in the benchmark, after a trial and inside one: same trials, same choice, nothing paid twice."""
    _, undisturbed = calm
    body = json.dumps(config(rows).to_json())
    for moment in ("benchmark", "1", "trial 3 of 4: step 2"):
        child = subprocess.run(
            [sys.executable, "-c", CHILD, str(place.root), body, moment], capture_output=True, check=False
        )
        assert child.returncode == -signal.SIGKILL, child.stderr.decode()
    assert [state for _, state in states(place)] == ["COMPLETE", "COMPLETE", "RUNNING"]
    result, made = search(place, config(rows))
    assert result.found == undisturbed.found
    assert made == [3, 4]
    assert [state for _, state in states(place)] == ["COMPLETE", "COMPLETE", "FAIL", "COMPLETE", "COMPLETE"]
    assert CallStore(place.database, result.run_id).summary().repeated == 0


def test_ctrl_c_keeps_what_is_finished(place: Workspace, calm: tuple[Workspace, TuneResult], rows: Path) -> None:
    """A study that a person stops says how to go on, and goes on from its last finished trial."""

    def stop(doing: str, _: object) -> None:
        if doing.startswith("trial 2 of 4: step 2"):
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="finished trials are kept") as stopped:
        tune(place, config(rows), Environment(), trials=TRIALS, watch=stop, on_trial=lambda *_: None)
    assert stopped.value.hint == "the same command goes on with the study"
    assert list_runs(place.database)[0].state == "stopped"
    result, made = search(place, config(rows))
    assert (made, result.found) == ([2, 3, 4], calm[1].found)


def test_the_budget_is_the_studys_and_a_larger_one_goes_on(
    place: Workspace, calm: tuple[Workspace, TuneResult], rows: Path
) -> None:
    """Trials stop where the budget ends, whatever the number of sittings; a larger one finishes the same study."""
    most = 3 * sum(stats.tokens_in + stats.tokens_out for stats in calm[1].stats) // 4
    for _ in range(2):
        with pytest.raises(BudgetSpent, match="budget") as stopped:
            search(place, config(rows, budget=f"{most}tokens"))
        assert stopped.value.hint == "the same command goes on with the study, given a larger --budget"
        run_id = list_runs(place.database)[0].run_id
        assert CallStore(place.database, run_id).summary().tokens <= most
    assert 0 < [state for _, state in states(place)].count("COMPLETE") < TRIALS
    result, _ = search(place, config(rows, budget="90000000tokens"))
    assert (result.run_id, result.found) == (run_id, calm[1].found)


def test_studies_of_different_questions_are_apart(place: Workspace, rows: Path) -> None:
    """Another objective, seed or slice begins its own study in the same file, with its own first trial."""
    others: list[dict[str, Any]] = [{}, {"objective": "Recall matters most."}, {"seed": 1}, {"slice": "all"}]
    for other in others:
        assert search(place, config(rows, steps=1, **other), trials=1)[1] == [1]
    names = [name for name, _ in states(place)]
    assert len(set(names)) == len(names) == len(others)
    assert all(name.startswith(f"groundedness@{PROMPT.version} ") for name in names)


def test_another_server_is_another_study(place: Workspace, tmp_path: Path) -> None:
    """By base URL or by name; a study whose server changed is left by naming the server, and each is taken over."""
    small = tmp_path / "small.jsonl"
    write_demo_rows(small, documents=40)
    chosen = config(small, steps=1, model="simulated:m")
    with Server(make_app(Simulated())) as one, Server(make_app(Simulated())) as other:
        here, there = Environment(base_url=one.base_url), Environment(base_url=other.base_url)
        first = search(place, chosen, trials=1, environment=here)[0]
        assert search(place, chosen, trials=1, environment=here)[0].run_id == first.run_id
        with pytest.raises(InputError, match="no finished study"):
            tuned_settings(place, chosen, environment=there)
        second = search(place, chosen, trials=1, environment=there)[0]
        named = replace(chosen, model=f"simulated:m@{one.base_url}")
        third = search(place, named, trials=1, environment=here)[0]
        assert len({result.found["study"] for result in (first, second, third)}) == 3
        for result, walk, environment in ((first, chosen, here), (second, chosen, there), (third, named, there)):
            assert f"study {result.run_id} " in tuned_settings(place, walk, environment=environment).said[0]
        assert f"study {second.run_id} " in tuned_settings(place, chosen).said[0]
        questions = [info.config["question"]["endpoints"] for info in list_runs(place.database)]
        assert sorted(questions) == sorted([[one.base_url] * 2, [other.base_url] * 2, [one.base_url] * 2])


def test_what_ends_or_paces_a_walk_makes_no_other_question(place: Workspace, rows: Path, tmp_path: Path) -> None:
    """Another batch size, budget or name of the file is the same study."""
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(rows.read_bytes())
    search(place, config(rows, steps=1), trials=1)
    result, made = search(
        place, config(copy, steps=1, batch=4, gradients=2, budget="90000000tokens", hunks=3), trials=1
    )
    assert (made, sum(stats.calls for stats in result.stats)) == ([], 0)


def test_the_chosen_settings_are_taken_over_but_for_those_given_by_hand(
    calm: tuple[Workspace, TuneResult], rows: Path
) -> None:
    """A walk of more steps gets the study's settings, and is told of it; a flag beats them, aloud."""
    place, result = calm
    chosen = result.found["chosen"]
    taken = tuned_settings(place, config(rows, steps=15, seed=3))
    assert taken.changes == {name: chosen[name] for name in ("batch", "temperature", "gradients")}
    assert f"study {result.run_id} (4 trials of 3 steps) chose batch {chosen['batch']}" in taken.said[0]
    by_hand = tuned_settings(place, config(rows, batch=12), by_hand=("batch", "steps"))
    assert set(by_hand.changes) == {"temperature", "gradients"}
    assert by_hand.said[1] == f"batch stays as given by hand; the study chose {chosen['batch']}"
    kept = replace(taken, changes={"batch": 5}).onto(config(rows))
    assert (kept.batch, kept.gradients) == (5, 1)


def test_without_a_finished_study_there_is_nothing_to_take_over(
    place: Workspace, calm: tuple[Workspace, TuneResult], rows: Path
) -> None:
    """Neither an empty workspace nor a study of another question answers."""
    for workspace, chosen in ((place, config(rows)), (calm[0], config(rows, objective="Recall matters most."))):
        with pytest.raises(InputError, match="no finished study"):
            tuned_settings(workspace, chosen)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"proposer": "gepa"}, "none of the settings"), ({"steps": 0}, "no steps"), ({"by": "colour"}, "colour")],
)
def test_what_cannot_be_tuned_is_refused_before_anything_is_asked(
    place: Workspace, rows: Path, wrong: Mapping[str, Any], said: str
) -> None:
    """A proposer without such settings, a walk of no steps, a column that is not there."""
    with pytest.raises(InputError, match=said):
        search(place, config(rows, **wrong))
    assert not place.exists or requests(place) == []


def test_rewrite_is_tuned_without_gradients(place: Workspace, rows: Path) -> None:
    """A proposer that has two of the settings is searched over two."""
    result, _ = search(place, config(rows, proposer="rewrite", steps=1), trials=2)
    assert [trial["gradients"] for trial in result.found["trials"]] == [None, None]
    assert "gradients" not in tuned_settings(place, config(rows, proposer="rewrite")).changes


def test_a_spoilt_file_of_studies_is_named(place: Workspace, rows: Path) -> None:
    """What SQLite cannot read is an error of ours with a way out, and taking that way repeats no call."""
    first, _ = search(place, config(rows, steps=1), trials=1)
    file = place.path.with_name(STUDIES)
    assert file.stat().st_mode & 0o077 == 0
    file.write_bytes(b"no database at all" * 100)
    with pytest.raises(WorkspaceError, match=r"studies\.db cannot be used") as refused:
        search(place, config(rows, steps=1), trials=1)
    assert "move the file away" in str(refused.value.hint)
    file.unlink()
    result, made = search(place, config(rows, steps=1), trials=1)
    assert (made, result.found) == ([1], first.found)
    assert sum(stats.calls for stats in result.stats) == 0


def test_the_command_takes_every_option_of_optimize_and_prints_trials(
    place: Workspace, rows: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A person sees the trials, that they are simulated, and what the figures flatter; Optuna itself says nothing."""
    options = {parameter.name for parameter in command.params}
    assert options == {parameter.name for parameter in optimize.params if parameter.name != "tuned"} | {"trials"}
    said = ["--model", "simulated", "--objective", OBJECTIVE, "--guard", "recall:-0.40"]
    arguments = ["groundedness", str(rows), *said, "--steps", "3"]
    arguments += ["--trials", "2", "--workspace", str(place.root)]
    shown = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert shown.exit_code == 0
    assert "[SIMULATED: says nothing about real models]" in shown.output
    assert "trial 2 of 2: validation loss" in shown.output
    assert "held rows chose neither" in shown.output
    assert "no look was spent" in shown.output
    body = json.loads(CliRunner().invoke(command, [*arguments, "--json"], catch_exceptions=False).stdout)
    assert (body["schema_version"], body["calls"], len(body["trials"])) == (1, 0, 2)
    assert capfd.readouterr() == ("", "")
    assert "Example:  judgewright tune" in CliRunner().invoke(command, ["--help"]).output
